//! The text format of traces: a node's state changes, and the packets that it sent and received.
//!
//! ```text
//! strata-trace 1 node=1 nodes=4 began=1700000000000000000
//! clock -1250 430
//! state 0 idle
//! state 8 counting
//! 1200 s 8
//! 3810 > 2 24
//! 4005 < 0 24
//! 4400 p 3 65536
//! 5100 a 65536
//! 9000 s 0
//! 9200 end
//! ```
//!
//! The first line is that of a [log](crate::log). `clock` gives this node's clock minus node 0's
//! and a bound on the error, both in ns; the last such line counts. `state` names one of at most
//! [`STATES`] states before its first use. Events begin with a time in ns of the node's clock,
//! which does not decrease:
//!
//! | word | then | meaning |
//! |---|---|---|
//! | `s` | state | enters this state |
//! | `off` | | enters a state that is not recorded |
//! | `>` | node, bytes | sent a packet to that node |
//! | `<` | node, bytes | received a packet from that node |
//! | `p` | node, bytes | started to put bytes into that node's memory |
//! | `a` | bytes | observed that bytes put by others arrived |
//! | `end` | | the node's program ended |
//!
//! A folder has one file a node, `node-0003.trace`. A last line without its end is incomplete
//! because the process was killed.

mod parse;
mod print;

pub use crate::node_files::Head;

/// The extension of trace files.
pub const ENDING: &str = "trace";
/// The most states: the run-time's own eight, and 16 of the program, as many as Brewer's Strata has
/// (manual, §10).
pub const STATES: usize = 24;
/// The most bytes of a state's name.
pub const MAX_NAME: usize = 40;

/// The trace of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The node, and the time at which its clock showed zero.
    pub head: Head,
    /// The difference between its clock and node 0's; `None` if it was not measured.
    pub clock: Option<ClockOffset>,
    /// The names of the states; `None` for an unused one.
    pub states: [Option<String>; STATES],
    /// The events in order of time.
    pub events: Vec<Event>,
    /// True if the last line was incomplete; it is not among the events.
    pub torn: bool,
}

/// The difference of a clock from node 0's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockOffset {
    /// This clock's time minus node 0's at the same moment, in ns.
    pub offset: i64,
    /// Bound on the error of the offset, in ns.
    pub bound: u64,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The time by the node's clock, in ns.
    pub at: u64,
    /// The event.
    pub what: What,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The node enters this state.
    State(u8),
    /// The node enters a state that is not recorded.
    Off,
    /// A packet left.
    Sent {
        /// Receiving node.
        to: u32,
        /// Bytes of data.
        bytes: u32,
    },
    /// A packet was received.
    Taken {
        /// Sending node.
        from: u32,
        /// Bytes of data.
        bytes: u32,
    },
    /// A put of bytes into another node's memory was started.
    Put {
        /// Receiving node.
        to: u32,
        /// Number of bytes.
        bytes: u64,
    },
    /// Bytes that others put have arrived.
    Arrived {
        /// Number of bytes.
        bytes: u64,
    },
    /// The node's program has ended.
    End,
}

/// Checks that a state may have this name: at least one visible character, and a single line.
///
/// # Errors
/// The reason why the name is rejected.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > MAX_NAME || name.trim() != name || name.contains(char::is_control) {
        return Err(format!(
            "a state's name is 1 to {MAX_NAME} bytes in one line, with no space at its ends, but this is `{}`",
            name.escape_debug()
        ));
    }
    Ok(())
}
