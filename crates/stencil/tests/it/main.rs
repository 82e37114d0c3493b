//! Tests of the crate from outside, in one program so that they build quickly.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod accuracy;
mod common;
mod fitting;
mod halos;
#[path = "../../../runtime/tests/itself/mod.rs"]
mod itself;
mod layouts;
mod neighbours;
mod solutions;
