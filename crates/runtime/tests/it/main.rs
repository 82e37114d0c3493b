//! Tests of the crate from outside, in one program so that they build quickly.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod calibrate;
#[cfg(feature = "tune")]
mod calls;
mod develop;
mod diagnostics;
mod oracle;
mod pacing;
mod select;
mod simulated;
mod simulated_costs;
mod simulation;
mod stderr;
mod suite;
mod threads;
#[cfg(feature = "tune")]
mod tune;
