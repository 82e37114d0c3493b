//! Tests of the crate from outside, in one program so that they build quickly.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod barriers;
mod common;
mod delay;
mod every;
mod forms;
mod link;
mod long;
mod patterns;
mod pictures;
mod primitives;
mod rendezvous;
mod run;
mod spools;
mod switch;
