//! The text format of logs: a node's actions, one line an entry, so that a killed node leaves its
//! last position.
//!
//! ```text
//! strata-log 1 node=1 nodes=4 began=1700000000000000000
//! 12034 enter 16 reduce add of 1 u64 at src/main.rs:9
//! 15120 leave 16
//! 20550 say halo 3 is late
//! 31002 start 17 barrier at src/main.rs:12
//! 40177 wait wait_until at src/main.rs:14
//! 48211 go
//! 50000 fail panicked: no memory
//! ```
//!
//! The first line states the node, the number of nodes, and the time at which the node's clock
//! showed zero (ns since 1970, by the system's clock). An entry is a time in ns of the node's
//! clock, a word, and its arguments:
//!
//! | word | then | meaning |
//! |---|---|---|
//! | `enter` | number, call | entered a collective, and stays in it until it is done |
//! | `start` | number, call | started a split-phase collective, and continues |
//! | `leave` | number | the collective is done |
//! | `wait` | call | waits for an event that may need other nodes: space, a packet, a completion |
//! | `go` | | the wait ended |
//! | `say` | text | a message of the program |
//! | `fail` | text | the node's failure |
//! | `stop` | | the job ended because another node failed |
//! | `end` | | the node's program ended |
//!
//! Collectives are numbered from 1 on every node, so equal numbers are the same collective. In
//! texts `\n`, `\r`, `\\` and, for other control characters, `\u{..}` are escapes. A last line
//! without its end is incomplete because the process was killed, and is ignored. A log has a
//! bounded size: a full file is renamed to `node-0001.old.log`, replacing the previous one, and a
//! new file begins with the first line again.
//!
//! [`standing`] derives from the logs of all nodes which node waits where, and for which others.

mod parse;
mod print;
pub mod standing;

pub use crate::node_files::Head;
pub use print::MAX_TEXT;
pub use standing::Standing;

/// The extension of log files.
pub const ENDING: &str = "log";
/// The extension of a log file that was full and has been renamed.
pub const OLD_ENDING: &str = "old.log";

/// The log of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// The node, and the time at which its clock showed zero.
    pub head: Head,
    /// The entries in the order of the file.
    pub entries: Vec<Entry>,
    /// True if the last line was incomplete; it is not among the entries.
    pub torn: bool,
}

/// One line. The text is a `String` when read, and anything with `Display` when written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<T = String> {
    /// Time of the node's clock, in ns.
    pub at: u64,
    /// The event.
    pub what: What<T>,
}

/// An event of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What<T = String> {
    /// The node entered a collective and stays until that is done.
    Enter {
        /// The collective's number, from 1.
        number: u64,
        /// Operation and place.
        call: T,
    },
    /// The node started a split-phase collective.
    Start {
        /// The collective's number, from 1.
        number: u64,
        /// Operation and place.
        call: T,
    },
    /// A collective is done.
    Leave {
        /// The collective's number.
        number: u64,
    },
    /// The node waits.
    Wait(T),
    /// The node no longer waits.
    Go,
    /// The program's message.
    Say(T),
    /// The node's failure.
    Fail(T),
    /// Another node's failure ended the node.
    Stop,
    /// The node's program has ended.
    End,
}
