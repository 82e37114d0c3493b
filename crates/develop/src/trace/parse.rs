//! Parsing of traces.

use std::fs;
use std::path::Path;

use super::{ClockOffset, ENDING, Event, Head, STATES, Trace, What, check_name};
use crate::node_files::{FolderError, LineError, Lines, node_file, nodes_with_files};

impl Trace {
    /// Reads a trace. An incomplete last line is ignored.
    ///
    /// # Errors
    /// The first bad line; `file` is only for the message.
    pub fn parse(bytes: &[u8], file: &str) -> Result<Self, LineError> {
        let lines = Lines::of(bytes, file)?;
        // Replaced by the first line: `each` refuses a file without one.
        let head = Head { node: 0, nodes: 1, began: 0 };
        let mut trace =
            Self { head, clock: None, states: Default::default(), events: Vec::new(), torn: lines.torn };
        lines.each(file, |line, first| {
            if first {
                trace.head = Head::parse(line, "strata-trace")?;
                return Ok(());
            }
            trace.line(line)
        })?;
        Ok(trace)
    }

    /// Reads the traces of all nodes in `folder`, in rank order.
    ///
    /// # Errors
    /// The first fault of the folder, a file or a line; also a missing file of a node, or a state
    /// whose name differs between nodes.
    pub fn read_folder(folder: &Path) -> Result<Vec<Self>, FolderError> {
        let together = |message| FolderError::Together { path: folder.to_owned(), message };
        let mut traces: Vec<Self> = Vec::new();
        for node in nodes_with_files(folder, ENDING)? {
            let path = node_file(folder, node, ENDING);
            let bytes = fs::read(&path).map_err(|error| FolderError::Io { path: path.clone(), error })?;
            let trace = Self::parse(&bytes, &path.display().to_string())?;
            if trace.head.node != node {
                return Err(together(format!(
                    "node-{node:04}.trace says that it is of node {}",
                    trace.head.node
                )));
            }
            if node != traces.len() {
                return Err(together(format!("node {} of {} has no trace", traces.len(), trace.head.nodes)));
            }
            if let Some(first) = traces.first() {
                first.agrees(&trace).map_err(together)?;
            }
            traces.push(trace);
        }
        let Some(first) = traces.first() else {
            return Err(FolderError::Empty {
                path: folder.to_owned(),
                ending: ENDING,
                variable: "STRATA_TRACE",
            });
        };
        if first.head.nodes != traces.len() {
            return Err(together(format!("node {} of {} has no trace", traces.len(), first.head.nodes)));
        }
        Ok(traces)
    }

    fn agrees(&self, other: &Self) -> Result<(), String> {
        let (one, two) = (self.head, other.head);
        if one.nodes != two.nodes {
            return Err(format!(
                "node {} belongs to a job of {} nodes and node {} to one of {}: these are the traces of several jobs",
                one.node, one.nodes, two.node, two.nodes
            ));
        }
        for (number, names) in self.states.iter().zip(&other.states).enumerate() {
            if let (Some(mine), Some(others)) = names
                && mine != others
            {
                return Err(format!(
                    "state {number} is `{mine}` on node {} and `{others}` on node {}: name the states alike, and in the \
                     same order, on all nodes",
                    one.node, two.node
                ));
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        match first {
            "clock" => {
                let (offset, bound) =
                    rest.split_once(' ').ok_or_else(|| "expected `clock OFFSET BOUND`".to_owned())?;
                self.clock =
                    Some(ClockOffset { offset: number(offset, "offset")?, bound: number(bound, "bound")? });
            }
            "state" => {
                let (state, name) =
                    rest.split_once(' ').ok_or_else(|| "expected `state NUMBER NAME`".to_owned())?;
                let state: usize = number(state, "state")?;
                check_name(name)?;
                let slot = self.states.get_mut(state);
                *slot.ok_or_else(|| format!("states are 0 to {}, not {state}", STATES - 1))? =
                    Some(name.to_owned());
            }
            _ => {
                let at = number(first, "time")?;
                if let Some(last) = self.events.last().filter(|last| last.at > at) {
                    return Err(format!("the time goes back, from {} to {at}", last.at));
                }
                self.events.push(Event { at, what: self.event(rest)? });
            }
        }
        Ok(())
    }

    fn event(&self, text: &str) -> Result<What, String> {
        let words: Vec<&str> = text.split(' ').collect();
        let node = |word: &str| {
            let node: u32 = number(word, "node")?;
            if (node as usize) < self.head.nodes { Ok(node) } else { Err(format!("there is no node {node}")) }
        };
        Ok(match *words.as_slice() {
            ["s", state] => {
                let state: u8 = number(state, "state")?;
                if !matches!(self.states.get(usize::from(state)), Some(Some(_))) {
                    return Err(format!("state {state} has no name"));
                }
                What::State(state)
            }
            ["off"] => What::Off,
            [">", to, bytes] => What::Sent { to: node(to)?, bytes: number(bytes, "length")? },
            ["<", from, bytes] => What::Taken { from: node(from)?, bytes: number(bytes, "length")? },
            ["p", to, bytes] => What::Put { to: node(to)?, bytes: number(bytes, "length")? },
            ["a", bytes] => What::Arrived { bytes: number(bytes, "length")? },
            ["end"] => What::End,
            _ => return Err(format!("there is no event `{text}`")),
        })
    }
}

fn number<T: std::str::FromStr>(word: &str, what: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("`{word}` is not a {what}"))
}
