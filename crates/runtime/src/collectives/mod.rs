//! Collectives: how a call of a program becomes messages, and every place where that is chosen.
//!
//! `node.reduce(op, values)` goes through these steps:
//!
//! 1. `whole.rs` describes the call as a [`Call`](crate::transport::Call), equal on all nodes.
//!    Short collectives of a program that receives messages go on split-phase (`node/split.rs`).
//! 2. `choice.rs` chooses between the run-time's algorithm and that of the library below the
//!    transport, if there is one and the call is long enough, by models or by what was learnt.
//! 3. `tuned.rs`, a layer that exists only if calls are tuned, replaces that choice by one of the
//!    transport's [ways](crate::transport::Way), found by timing the program's loops.
//! 4. The transport runs the algorithm: `collective_by` of `transport::Endpoint`.
//!
//! A program chooses other algorithms by calling them: for streams of collectives [`trees`], by
//! models through [`trees::Streams`]; for exchanges of blocks [`patterns`], by models of
//! [`patterns::Schedule`]. Models come from [`select`](crate::select), which uses collectives itself
//! to compare them on all nodes: for those `choice.rs` takes the run-time's algorithm.

mod choice;
pub mod patterns;
mod statistics;
pub mod trees;
#[cfg(feature = "tune")]
pub(crate) mod tuned;
mod whole;
