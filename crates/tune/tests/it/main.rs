//! Tests of the crate from outside, in one program so that they build quickly.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod adoption;
mod common;
mod example;
mod idle;
mod landscape;
mod pictures;
mod state;
mod strange;
mod timing;
