//! Reserved circuits: connections that a program's linker routes and configures before they are
//! used.
//!
//! They are not simulated packet by packet: a circuit has its rate exclusively, so that the time of
//! a transfer is a sum of constants. The library that reserves them (`strata-tcs`) computes their
//! times from these constants.

use super::fields::Fields;
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
        let mut cycles = |key: &str, example: &str| table.number(key, CYCLES, example);
        let overhead = cycles("overhead_cycles", "36");
        let hop = cycles("hop_cycles", "5");
        let spool = cycles("spool_cycles", "106");
        let spool_word = cycles("spool_word_cycles", "3");
        let barrier_startup = cycles("barrier_startup_cycles", "62");
        let barrier_send = cycles("barrier_send_cycles", "1.5");
        let barrier_latency = cycles("barrier_latency_cycles", "8.7");
        let barrier_receive = cycles("barrier_receive_cycles", "1.5");
        let barrier_dimension = cycles("barrier_dimension_cycles", "222");
        let reconfigure = cycles("reconfigure_cycles", "152");
        let task_change = cycles("task_change_cycles", "130");
        let restore = cycles("restore_cycles", "69");
        let slots = table.count("slots", COUNT, "15");
        let barriers = table.count("barriers", COUNT, "4");
        let barrier_peers = table.count("barrier_peers", COUNT, "1");
        let shared_turns = table.flag("shared_turns", "true");
        table.finish();
        Some(Self {
            overhead: overhead?,
            hop: hop?,
            slots: slots?,
            spool: spool?,
            spool_word: spool_word?,
            shared_turns: shared_turns?,
            barriers: barriers?,
            barrier_peers: barrier_peers?,
            barrier_startup: barrier_startup?,
            barrier_send: barrier_send?,
            barrier_latency: barrier_latency?,
            barrier_receive: barrier_receive?,
            barrier_dimension: barrier_dimension?,
            reconfigure: reconfigure?,
            task_change: task_change?,
            restore: restore?,
        })
    }
}
