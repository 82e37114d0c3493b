//! What a node was doing when, as text: state changes, and packets sent and received.
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
//! The first line is that of a [log](crate::log). `clock` gives this node's clock minus node 0's and the most by which
//! that may be wrong, both in ns; the last such line counts. `state` names one of at most [`STATES`] states, before it is
//! used. Events begin with a time in ns by the node's clock, which does not decrease:
//!
//! | word | then | meaning |
//! |---|---|---|
//! | `s` | state | is in this state from now on |
//! | `off` | | is in a state that is not recorded from now on |
//! | `>` | node, bytes | has sent a packet to that node |
//! | `<` | node, bytes | has taken a packet from that node |
//! | `p` | node, bytes | has put bytes on their way into that node's memory |
//! | `a` | bytes | has seen bytes that others put arrive |
//! | `end` | | the node's program has ended |
//!
//! A folder has one file a node, `node-0003.trace`. A last line without its end was torn when the process was killed.

mod parse;
mod print;

pub use crate::node_files::Head;

/// How the files of traces end.
pub const ENDING: &str = "trace";
/// The most states; as many as Brewer's Strata has (manual, §10).
pub const STATES: usize = 16;
/// The most bytes of a state's name.
pub const MAX_NAME: usize = 40;

/// The trace of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Whose, and since when.
    pub head: Head,
    /// How its clock differs from node 0's; `None` if that was never found out.
    pub clock: Option<ClockOffset>,
    /// The names of the states; `None` where there is none.
    pub states: [Option<String>; STATES],
    /// In the order of time.
    pub events: Vec<Event>,
    /// Whether a last line was torn; it is not among the events.
    pub torn: bool,
}

/// How a clock differs from node 0's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockOffset {
    /// What it shows minus what node 0's shows at the same moment, in ns.
    pub offset: i64,
    /// The offset is wrong by at most this, in ns.
    pub bound: u64,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The time by the node's clock, in ns.
    pub at: u64,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The node is in this state from now on.
    State(u8),
    /// States are not recorded from now on.
    Off,
    /// A packet left.
    Sent {
        /// Where to.
        to: u32,
        /// Its data.
        bytes: u32,
    },
    /// A packet was taken.
    Taken {
        /// Where from.
        from: u32,
        /// Its data.
        bytes: u32,
    },
    /// Bytes were put on their way into another node's memory.
    Put {
        /// Where to.
        to: u32,
        /// How many.
        bytes: u64,
    },
    /// Bytes that others put have arrived.
    Arrived {
        /// How many.
        bytes: u64,
    },
    /// The node's program has ended.
    End,
}

/// Whether a state may have this name: something to see, within one line.
///
/// # Errors
/// Why not.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > MAX_NAME || name.trim() != name || name.contains(char::is_control) {
        return Err(format!(
            "a state's name is 1 to {MAX_NAME} bytes in one line, with no space at its ends, but this is `{}`",
            name.escape_debug()
        ));
    }
    Ok(())
}
