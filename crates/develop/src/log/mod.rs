//! What a node did, as text: one line an entry, so that the file tells where a node was when it was killed.
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
//! The first line has the node, the number of nodes, and when the node's clock showed zero (ns since 1970, by the
//! system's clock). An entry is a time in ns by the node's clock, a word, and what the word needs:
//!
//! | word | then | meaning |
//! |---|---|---|
//! | `enter` | number, call | has come to a collective, and returns from it when it is done |
//! | `start` | number, call | has come to a split-phase collective, and goes on working |
//! | `leave` | number | the collective is done |
//! | `wait` | call | waits for something that may need other nodes: room for a message, news, the end of what it has started |
//! | `go` | | the wait is over |
//! | `say` | text | the program's own |
//! | `fail` | text | the node's failure |
//! | `stop` | | the job ended because another node failed |
//! | `end` | | the node's program has ended |
//!
//! Collectives are numbered from 1 on every node, so equal numbers are the same collective. In texts `\n`, `\r` and `\\`
//! stand for what they usually stand for, and `\u{..}` for other control characters. A last line without its end was torn when
//! the process was killed, and is set aside. A log is bounded: beyond a size its file becomes `node-0001.old.log`, in place of
//! the one before, and a new one begins with the first line again.
//!
//! [`standing`] tells from the logs of all nodes who waits where, and for whom.

mod parse;
mod print;
pub mod standing;

pub use crate::node_files::Head;
pub use print::MAX_TEXT;
pub use standing::Standing;

/// How the files of logs end.
pub const ENDING: &str = "log";
/// How the file ends that a full one became.
pub const OLD_ENDING: &str = "old.log";

/// The log of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Whose, and since when.
    pub head: Head,
    /// In the order of the file.
    pub entries: Vec<Entry>,
    /// Whether a last line was torn; it is not among the entries.
    pub torn: bool,
}

/// One line. The text is a `String` in what was read, and anything that can be shown in what is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<T = String> {
    /// The time by the node's clock, in ns.
    pub at: u64,
    /// What happened.
    pub what: What<T>,
}

/// What happened to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What<T = String> {
    /// It came to a collective and stays until that is done.
    Enter {
        /// Which one, from 1.
        number: u64,
        /// Operation and place.
        call: T,
    },
    /// It came to a split-phase collective.
    Start {
        /// Which one, from 1.
        number: u64,
        /// Operation and place.
        call: T,
    },
    /// A collective is done.
    Leave {
        /// Which one.
        number: u64,
    },
    /// It waits.
    Wait(T),
    /// It no longer waits.
    Go,
    /// The program's message.
    Say(T),
    /// Its failure.
    Fail(T),
    /// Another node's failure ended it.
    Stop,
    /// Its program has ended.
    End,
}
