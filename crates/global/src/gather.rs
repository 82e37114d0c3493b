//! Combines small writes to one node into fewer messages.
//!
//! A message of one packet has room for the headers and bytes of several writes; writes to
//! consecutive addresses share a header. The buffered writes to a node are sent when they fill a
//! message, when a write of another kind to that node follows, and before the node communicates in
//! any other way: a [`Space`] lends its node only after it has sent all buffered writes. So for any
//! program that waits by a call, a gathered write arrives where a single one would have.

use crate::Way;
use crate::error::GlobalError;
use crate::segment::WORD;
use crate::space::Space;
use crate::stores_models::GlobalStores;
use crate::wire::{Header, MORE, SHORT, STORED};
use strata_runtime::{Node, select::Options};

/// The assumed number of consecutive writes to one node for which the variant is chosen; the
/// program's own number is unknown.
const COUNT: usize = 64;

/// The kind of messages that models of this machine predict to be the fastest for small writes;
/// collective.
#[track_caller]
pub(crate) fn choose(node: &mut Node) -> Result<Way, GlobalError> {
    let chosen = node.choose::<GlobalStores>(COUNT, &Options::default());
    let chosen = chosen.map_err(|error| GlobalError::Select(error.to_string()))?;
    Ok(match chosen.candidate {
        GlobalStores::Messages => Way::Messages,
        GlobalStores::Gathered => Way::Gathered,
    })
}

pub(crate) const WORDS: usize = 8;

/// The longest write that is gathered, in bytes: two of them fit into a message.
const LONGEST: usize = 3 * WORD;

#[derive(Clone, Copy, Default)]
struct Waiting {
    words: [u64; WORDS],
    /// Number of filled words; 0 if there are no writes.
    filled: usize,
    /// The index of the last header.
    last: usize,
    /// The phase of these puts, or that of stores from [`STORED`] on.
    number: usize,
}

impl Waiting {
    /// The number in the headers of all writes of a message but the last: only the last one is
    /// answered.
    fn of_others(&self) -> usize {
        if self.number >= STORED { self.number } else { MORE }
    }

    /// Adds a write if there is room for it.
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

    /// Writes the last header, and bytes from number `from` on.
    fn place(&mut self, header: Header, from: usize, bytes: &[u8]) -> bool {
        self.words[self.last] = header.word();
        let data: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words[self.last + 1..]);
        data[from..from + bytes.len()].copy_from_slice(bytes);
        self.filled = self.last + 1 + header.length.div_ceil(WORD);
        true
    }

    /// Returns the message and empties the buffer; the answer to its last write belongs to the
    /// phase.
    fn take(&mut self) -> [u64; WORDS] {
        let last = Header { number: self.number, ..Header::of(self.words[self.last]) };
        self.words[self.last] = last.word();
        std::mem::take(self).words
    }
}

/// The buffered writes of a node, by target node.
pub(crate) struct Gather {
    waiting: Vec<Waiting>,
    nodes: Vec<usize>,
}

impl Gather {
    pub(crate) fn new(nodes: usize) -> Self {
        Self { waiting: vec![Waiting::default(); nodes], nodes: Vec::new() }
    }
}

impl Space<'_> {
    /// Buffers a small write of `number`; false if the write is too long, or writes are not
    /// gathered.
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
        if number < STORED {
            // A message is answered once, however many writes it has.
            self.served.book.begin(number);
        }
        if let Some(words) = full {
            let wire = self.wire;
            wire.write_many(self.node, to, words);
        }
        true
    }

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

/// The writes of a message in order: each header, and the message's bytes from the write's first
/// on.
pub(crate) fn writes(words: &[u64; WORDS]) -> impl Iterator<Item = (Header, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        // No write has a header of zeros: phase 0 is that of blocking writes, which are not
        // buffered.
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
