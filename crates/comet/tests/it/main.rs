//! Tests of the crate from outside, in one program so that they build quickly.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod belief;
#[cfg(feature = "kernels")]
mod common;
#[cfg(feature = "kernels")]
mod here;
#[cfg(feature = "kernels")]
mod ipsc860;
#[cfg(feature = "kernels")]
mod kernels;
#[cfg(feature = "kernels")]
mod loggp;
#[cfg(feature = "kernels")]
mod memory;
#[cfg(feature = "kernels")]
mod unseen;
