//! Reserved circuits: connections that a program's linker routes and configures before they are
//! used.
//!
//! They are not simulated packet by packet: a circuit has its rate exclusively, so that the time of
//! a transfer is a sum of constants. The library that reserves them (`strata-tcs`) computes their
//! times from these constants.

use super::fields::{Fields, record};
use std::ops::RangeInclusive;

/// The costs and numbers of connections over reserved circuits. Times are in cycles of the
/// processor, and may be fractions of cycles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Circuits {
    /// A transfer's overhead, at both ends together.
    pub overhead: f64,
    /// Latency from a node to the next.
    pub hop: f64,
    /// Connections at a node at once, those passing through included.
    pub slots: usize,
    /// Starting a DMA transfer: the unit streams a connection's data from or to memory.
    pub spool: f64,
    /// What the unit takes for a word of four bytes at least.
    pub spool_word: f64,
    /// True if connections that pass through a node in which one of them turns share the bandwidth of a
    /// link there.
    pub shared_turns: bool,
    /// Barriers that may be pending at a node.
    pub barriers: usize,
    /// Nodes that may send barrier messages to one node, in one barrier and dimension.
    pub barrier_peers: usize,
    /// Start-up before a barrier's first message.
    pub barrier_startup: f64,
    /// Sending a barrier message.
    pub barrier_send: f64,
    /// Latency of a barrier message to a neighbour.
    pub barrier_latency: f64,
    /// Receiving a barrier message.
    pub barrier_receive: f64,
    /// Additional time of a barrier by rings for each dimension after the first.
    pub barrier_dimension: f64,
    /// Configuring a node's connections anew.
    pub reconfigure: f64,
    /// Additional time of beginning a task.
    pub task_change: f64,
    /// Returning to the previous task.
    pub restore: f64,
}

/// Range of times in cycles: at most some seconds.
const CYCLES: RangeInclusive<f64> = 0.0..=1e9;
/// Range of numbers of connections, barriers, nodes.
const COUNT: RangeInclusive<usize> = 1..=1 << 20;

impl Circuits {
    pub(super) fn read(mut table: Fields<'_>) -> Option<Self> {
        let cycles = |table: &mut Fields<'_>, key: &str, example: &str| table.number(key, CYCLES, example);
        record!(table => Self {
            overhead: cycles(&mut table, "overhead_cycles", "36"),
            hop: cycles(&mut table, "hop_cycles", "5"),
            spool: cycles(&mut table, "spool_cycles", "106"),
            spool_word: cycles(&mut table, "spool_word_cycles", "3"),
            barrier_startup: cycles(&mut table, "barrier_startup_cycles", "62"),
            barrier_send: cycles(&mut table, "barrier_send_cycles", "1.5"),
            barrier_latency: cycles(&mut table, "barrier_latency_cycles", "8.7"),
            barrier_receive: cycles(&mut table, "barrier_receive_cycles", "1.5"),
            barrier_dimension: cycles(&mut table, "barrier_dimension_cycles", "222"),
            reconfigure: cycles(&mut table, "reconfigure_cycles", "152"),
            task_change: cycles(&mut table, "task_change_cycles", "130"),
            restore: cycles(&mut table, "restore_cycles", "69"),
            slots: table.count("slots", COUNT, "15"),
            barriers: table.count("barriers", COUNT, "4"),
            barrier_peers: table.count("barrier_peers", COUNT, "1"),
            shared_turns: table.flag("shared_turns", "true"),
        })
    }
}
