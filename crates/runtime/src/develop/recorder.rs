//! A node's trace: events in memory, written when the buffer is full and at the end.

use super::log_file::forget_other_nodes;
use super::state::{Names, State};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use strata_develop::node_file;
use strata_develop::trace::{ClockOffset, ENDING, Event, Head, What};

/// Number of events in memory: 0.75 MiB.
const ROOM: usize = 1 << 15;

/// The buffer of a node's events.
pub(crate) struct Recorder {
    file: File,
    events: Vec<Event>,
    text: String,
    /// For each state, true if its name is already in the file.
    written: [bool; strata_develop::trace::STATES],
    /// True if events are currently recorded.
    on: bool,
}

impl Recorder {
    /// Begins a node's trace, replacing that of an earlier job.
    pub(crate) fn create(folder: &Path, head: Head) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        forget_other_nodes(folder, head, ENDING)?;
        let mut text = String::with_capacity(ROOM * 24);
        let _ = head.print_trace(&mut text);
        let file = File::create(node_file(folder, head.node, ENDING))?;
        let events = Vec::with_capacity(ROOM + 2);
        Ok(Self { file, events, text, written: Default::default(), on: true })
    }

    /// True if there is no room for another event.
    pub(crate) fn is_full(&self) -> bool {
        self.events.len() >= ROOM
    }

    /// Records an event; there must be room for it.
    #[inline]
    pub(crate) fn push(&mut self, at: u64, what: What) {
        if self.on {
            self.events.push(Event { at, what });
        }
    }

    /// Records the end, even if events are not recorded now.
    pub(crate) fn end(&mut self, at: u64) {
        self.events.push(Event { at, what: What::End });
    }

    /// Switches recording on or off; returns the previous setting.
    pub(crate) fn switch(&mut self, on: bool, at: u64, state: State) -> bool {
        let before = self.on;
        if before != on {
            self.on = true;
            self.push(at, if on { What::State(state.0) } else { What::Off });
            self.on = on;
        }
        before
    }

    /// Adds the offset of this node's clock from node 0's.
    pub(crate) fn clock(&mut self, offset: ClockOffset) {
        let _ = writeln!(self.text, "{offset}");
    }

    /// Writes the buffer. An error does not end the program; the trace is then incomplete.
    pub(crate) fn flush(&mut self, names: &Names) {
        for ((number, name), written) in names.all.iter().enumerate().zip(&mut self.written) {
            if let (Some(name), false) = (name, *written) {
                let _ = writeln!(self.text, "state {number} {name}");
                *written = true;
            }
        }
        for event in self.events.drain(..) {
            let _ = writeln!(self.text, "{event}");
        }
        let _ = self.file.write_all(self.text.as_bytes());
        self.text.clear();
    }
}
