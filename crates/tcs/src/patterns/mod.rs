//! Patterns of communication, as families of connection sets and as ordinary messages.
//!
//! [`Pattern`] and [`ReduceBroadcast`] exist in both forms, and models of the machine choose; all
//! blocks have the same length.
//!
//! `STRATA_PIN=pattern_exchange=messages` pins that form, `STRATA_MODELS=FILE` chooses by that
//! model set, `STRATA_EXPLAIN=1` prints the choice on node 0's stderr.

mod forms;
#[allow(clippy::too_many_arguments, reason = "generated: the numbers of a schedule are inputs, one each")]
mod models;
mod moves;
pub mod phases;
mod rooted;

pub use crate::link::schedule::Schedule;
pub(crate) use forms::words;
pub use forms::{Form, Kind};
pub use moves::{Move, Moves, Pattern};
pub use rooted::{Combine, Down, ReduceBroadcast, Up};
