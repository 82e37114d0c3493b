//! The kernels: the code that one timing of each executes.

mod collective;
#[cfg(test)]
mod counted;
mod each;
mod library;
mod load;
mod mail;
mod matrix;
mod measure;
mod memory;
mod messages;
mod named;
mod noise;
mod point;
mod stream;
mod trial;

pub use collective::{all_gather, all_to_all, barrier, barrier_skewed, broadcast, reduce, reduce_vector};
pub use each::{Collective, each};
pub use library::{Call, by_algorithm, library, overlapped, raw};
pub use load::{Order, contention, overlap};
pub use matrix::{Blocks, Direction, Matrix, column_broadcast, guard, row_broadcast, shift, transpose};
pub use messages::{get, message_round_trip, put, store};
pub use named::measure;
pub use noise::{fixed_time, fixed_work};
pub use point::{echo, echo_data, echo_late, exchange, gap, poll, receive_overhead, send_overhead};
pub use stream::{bisection, pair, stream, stream_both};
