//! Tests of the crate from outside, in one program so that they build quickly.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod balance;
mod candidates;
mod common;
mod faults;
mod fitting;
#[path = "../../../runtime/tests/itself/mod.rs"]
mod itself;
mod local;
mod queries;
mod selection;
mod simulation;
mod threads;
