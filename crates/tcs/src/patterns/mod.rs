//! Patterns of communication as families of connection sets.

mod all_to_all;
pub mod phases;
mod rooted;

pub use all_to_all::{AllToAll, Exchange, Lane};
pub use rooted::{Combine, Down, Gather, In, Out, ReduceBroadcast, Scatter, ScatterGather, Up};
