//! The kernels: the code that one timing of each executes.

mod collective;
#[cfg(test)]
mod counted;
mod library;
mod load;
mod mail;
mod matrix;
mod measure;
mod memory;
mod messages;
mod point;
mod raw;
mod trial;

pub use collective::{all_gather, all_to_all, barrier, barrier_skewed, broadcast, reduce, reduce_vector};
pub use library::{Call, library};
pub use load::{Order, contention, overlap};
pub use matrix::{Blocks, Direction, column_broadcast, guard, row_broadcast, shift, transpose};
pub use messages::{get, message_round_trip, put, store};
pub use point::{echo, echo_data, echo_late, exchange, gap, poll, receive_overhead, send_overhead};
pub use raw::{raw_all_gather, raw_all_to_all, raw_barrier, raw_echo, raw_exchange, raw_reduce};
