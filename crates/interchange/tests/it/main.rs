//! Tests of the crate from outside, in one program so that they build quickly.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod cases;
mod emitted_plain;
mod intel;
mod interchange;
mod mpich;
mod prices;
mod results;
mod rules;
