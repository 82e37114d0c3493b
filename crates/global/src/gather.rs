//! Small writes to one node, gathered into fewer messages.
//!
//! A message of one packet has room for the headers and bytes of several writes; writes that follow
//! each other in memory share a header. What waits here leaves when it fills a message, when a
//! write of another kind follows to that node, and before the node does anything else with others:
//! a [`Space`] lends its node only after it has sent all that waits. So a gathered write arrives
//! where a single one would have, as far as any program can tell that waits by a call.

use crate::Way;
use crate::error::GlobalError;
use crate::segment::WORD;
use crate::space::Space;
use crate::stores_models::GlobalStores;
use crate::wire::{Header, MORE, SHORT, STORED};
use strata_runtime::{Node, select::Options};

/// The writes to one node, before anything else, for which the way is chosen: nobody knows the
/// program's.
const COUNT: f64 = 64.0;

/// The kind of messages that models of this machine predict to be the fastest for small writes;
/// collective.
#[track_caller]
pub(crate) fn choose(node: &mut Node) -> Result<Way, GlobalError> {
    let chosen = node.choose::<GlobalStores>(&[COUNT], &Options::default());
    let chosen = chosen.map_err(|error| GlobalError::Select(error.to_string()))?;
    Ok(match chosen.candidate {
        GlobalStores::Messages => Way::Messages,
        GlobalStores::Gathered => Way::Gathered,
    })
}

/// The words of a message.
pub(crate) const WORDS: usize = 8;

/// The longest write that is gathered: two of them fit into a message.
const LONGEST: usize = 3 * WORD;

/// What waits to be sent to one node.
#[derive(Clone, Copy, Default)]
struct Waiting {
    words: [u64; WORDS],
    /// The words that are filled; 0 where nothing waits.
    filled: usize,
    /// The index of the last header.
    last: usize,
    /// The phase whose puts these are, or [`STORED`].
    number: usize,
}

impl Waiting {
    /// The number of all writes of a message but the last: only that is answered.
    fn of_others(&self) -> usize {
        if self.number == STORED { STORED } else { MORE }
    }

    /// Adds a write, unless there is no room for it.
    fn add(&mut self, at: u64, bytes: &[u8]) -> bool {
        if self.filled > 0 {
            let last = Header::of(self.words[self.last]);
            let length = last.length + bytes.len();
            let end = self.last + 1 + length.div_ceil(WORD);
            if last.at + last.length as u64 == at && length <= SHORT && end <= WORDS {
                return self.place(Header { length, ..last }, last.length, bytes);
            }
        }
        if self.filled + 1 + bytes.len().div_ceil(WORD) > WORDS {
            return false;
        }
        self.last = self.filled;
        self.place(Header { at, length: bytes.len(), number: self.of_others() }, 0, bytes)
    }

    /// Places the last header, and bytes from its `from`th on.
    fn place(&mut self, header: Header, from: usize, bytes: &[u8]) -> bool {
        self.words[self.last] = header.word();
        let data: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words[self.last + 1..]);
        data[from..from + bytes.len()].copy_from_slice(bytes);
        self.filled = self.last + 1 + header.length.div_ceil(WORD);
        true
    }

    /// The message, of which this then is empty: its last write is answered to the phase.
    fn take(&mut self) -> [u64; WORDS] {
        let last = Header { number: self.number, ..Header::of(self.words[self.last]) };
        self.words[self.last] = last.word();
        std::mem::take(self).words
    }
}

/// What a node has not sent yet, by node.
pub(crate) struct Gather {
    waiting: Vec<Waiting>,
    /// The nodes for which something waits.
    nodes: Vec<usize>,
}

impl Gather {
    pub(crate) fn new(nodes: usize) -> Self {
        Self { waiting: vec![Waiting::default(); nodes], nodes: Vec::new() }
    }
}

impl Space<'_> {
    /// Lets a small write of `number` wait for others to the same node; false if it is none, or
    /// nothing is gathered.
    #[track_caller]
    pub(crate) fn gather(&mut self, to: usize, at: u64, bytes: &[u8], number: usize) -> bool {
        let Some(gather) = self.gather.as_mut().filter(|_| (1..=LONGEST).contains(&bytes.len())) else {
            return false;
        };
        let waiting = &mut gather.waiting[to];
        if waiting.filled > 0 && waiting.number == number && waiting.add(at, bytes) {
            return true;
        }
        let full = (waiting.filled > 0).then(|| waiting.take());
        if full.is_none() {
            gather.nodes.push(to);
        }
        waiting.number = number;
        waiting.add(at, bytes);
        if number != STORED {
            // Its message, however many writes join it, is answered once.
            self.served.book.begin(number);
        }
        if let Some(words) = full {
            let wire = self.wire;
            wire.write_many(self.node, to, words);
        }
        true
    }

    /// Sends all that waits.
    #[inline]
    #[track_caller]
    pub(crate) fn flush(&mut self) {
        if self.gather.as_ref().is_some_and(|gather| !gather.nodes.is_empty()) {
            self.flush_all();
        }
    }

    #[cold]
    #[track_caller]
    fn flush_all(&mut self) {
        let wire = self.wire;
        while let Some((to, words)) = self.gather.as_mut().and_then(|gather| {
            let to = gather.nodes.pop()?;
            Some((to, gather.waiting[to].take()))
        }) {
            wire.write_many(self.node, to, words);
        }
    }
}

impl Drop for Space<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.flush();
        }
    }
}

/// The writes of a message, in their order: each header, and the bytes from its own on.
pub(crate) fn writes(words: &[u64; WORDS]) -> impl Iterator<Item = (Header, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        // No write has a header of zeros: phase 0 is that of blocking writes, which do not wait
        // here.
        let word = *words.get(at).filter(|word| **word != 0)?;
        let header = Header::of(word);
        let first = at + 1;
        at = first + header.length.div_ceil(WORD);
        let data: &[u8] = bytemuck::cast_slice(words.get(first..at)?);
        Some((header, &data[..header.length]))
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn told(words: &[u64; WORDS]) -> Vec<(u64, usize, Vec<u8>)> {
        writes(words).map(|(header, data)| (header.at, header.number, data.to_vec())).collect()
    }

    #[test]
    fn a_message_holds_what_was_added_and_answers_the_last() {
        let mut waiting = Waiting { number: 3, ..Waiting::default() };
        assert!(waiting.add(40, &[1; 8]) && waiting.add(80, &[2; 3]) && waiting.add(83, &[3; 7]));
        assert!(waiting.add(0, &[4; 8]), "2 + 3 + 2 words");
        assert!(!waiting.add(160, &[5; 1]), "a header and no room for a byte");
        let words = waiting.take();
        let both = [[2; 3].as_slice(), &[3; 7]].concat();
        assert_eq!(told(&words), [(40, MORE, vec![1; 8]), (80, MORE, both), (0, 3, vec![4; 8])]);
        assert_eq!(waiting.filled, 0);
    }

    #[test]
    fn writes_that_follow_each_other_share_a_header() {
        let mut waiting = Waiting { number: STORED, ..Waiting::default() };
        assert!((0..7).all(|i| waiting.add(8 * i, &[i as u8; 8])));
        assert!(!waiting.add(56, &[7; 8]));
        let [(0, STORED, data)] = &told(&waiting.take())[..] else { panic!("one write") };
        assert_eq!(data.len(), SHORT);
    }
}
