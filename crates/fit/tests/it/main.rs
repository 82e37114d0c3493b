//! Tests of the crate from outside, in one program so that they build quickly.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod bad_input;
mod bound;
mod emitted;
mod goldens;
mod method;
mod parameters;
mod search;
mod strd;
mod structure;
mod trust;
