//! Messages for accesses to heaps that this node cannot access directly.
//!
//! | request | words | reply |
//! |---|---|---|
//! | bytes to be written | header, and the bytes beside it | none for a store; else that they are written |
//! | several writes, gathered | headers, each followed by its bytes | none for stores; else that all are written |
//! | a value to be read, up to 56 bytes | header | header, and the bytes beside it |
//! | a range to be read | header, position and length | the same |
//! | an atomic operation | header, 1 or 2 operands | header, and the old value beside it |
//!
//! Longer writes and ranges are divided into parts of 16 KiB, to bound the data waiting at the
//! receiver. Only the last part of a write is answered, because messages to one node arrive in
//! order. The header is one word: an offset, a length and a number, so that an access of up to 8
//! bytes is a message of 16 bytes (one packet of a CM-5).

use crate::atomics::{Change, apply, compare_swap};
use crate::book::Book;
use crate::checker::{Marks, Written};
use crate::gather::{WORDS, writes};
use crate::pointer::OFFSET_BITS;
use crate::segment::{STORE_COUNTERS, Segment, WORD};
use std::rc::Rc;
use strata_runtime::{
    Node,
    message::{Handlers, Reply, Request, Requested, WithBytes},
};

/// The most bytes of data in a message of one packet.
pub(crate) const SHORT: usize = 7 * WORD;
/// The most bytes written or requested by one message: the receiver must buffer its replies.
const RANGE: usize = 16 << 10;
/// The bits of the length of a range.
const RANGE_BITS: u32 = RANGE.ilog2() + 1;
/// Number of numbers for pending values.
pub(crate) const NUMBERS: usize = 1 << 14;
/// From here on, in place of a number: the bytes belong to a one-way store, and are counted on the
/// counter whose index is the rest.
pub(crate) const STORED: usize = NUMBERS - STORE_COUNTERS;
/// In place of a number: further parts of the same write follow.
pub(crate) const MORE: usize = STORED - 1;
/// The most values and phases that may be pending.
pub(crate) const MOST_UNDER_WAY: usize = MORE;

const LENGTH_BITS: u32 = 6;

#[derive(Clone, Copy)]
pub(crate) struct Header {
    /// An offset in the receiver's heap; in a reply, a position in the value.
    pub(crate) at: u64,
    /// The number of bytes, 1 to 64, if it is not given otherwise; for an atomic operation, the
    /// operation.
    pub(crate) length: usize,
    /// The phase or value to which the reply belongs.
    pub(crate) number: usize,
}

impl Header {
    pub(crate) fn word(self) -> u64 {
        let length = (self.length as u64).wrapping_sub(1) & ((1 << LENGTH_BITS) - 1);
        self.at | length << OFFSET_BITS | (self.number as u64) << (OFFSET_BITS + LENGTH_BITS)
    }

    pub(crate) fn of(word: u64) -> Self {
        Self {
            at: word & ((1 << OFFSET_BITS) - 1),
            length: (word >> OFFSET_BITS & ((1 << LENGTH_BITS) - 1)) as usize + 1,
            number: (word >> (OFFSET_BITS + LENGTH_BITS)) as usize,
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Wire {
    ended: Request<u64>,
    left: Request<u64>,
    write: Request<WithBytes<u64>>,
    write_many: Request<[u64; WORDS]>,
    read: Request<u64>,
    read_range: Request<[u64; 2]>,
    change: Request<[u64; 2]>,
    compare: Request<[u64; 3]>,
    pub(crate) value: Reply<WithBytes<u64>>,
}

impl Wire {
    /// Installs the handlers that serve `own`; collective.
    #[track_caller]
    pub(crate) fn install(node: &mut Node, own: &Rc<Served>) -> Self {
        let mut handlers = node.handlers();
        let wire = Self::register(&mut handlers, own);
        node.install(handlers);
        wire
    }

    fn register(handlers: &mut Handlers, own: &Rc<Served>) -> Self {
        let book = || Rc::clone(&own.book);
        let done = handlers.reply({
            let book = book();
            move |_, phase: u64| book.end(phase as usize)
        });
        let value = handlers.reply_with_bytes({
            let book = book();
            move |_, header: u64, data| {
                let header = Header::of(header);
                book.came(header.number, header.at as usize, data);
            }
        });
        let written = {
            let own = Rc::clone(own);
            move |context: &mut Requested<'_>, header: Header, data: &[u8]| {
                own.segment.write_bytes(header.at as usize, data);
                let counter = counter_of(header.number);
                let written = counter.map_or(Written::Put(header.number), Written::Store);
                own.mark(context, written, header.at, data.len());
                match (counter, header.number) {
                    (Some(counter), _) => own.book.has_stored(counter, data.len() as u64),
                    (None, MORE) => {}
                    (None, phase) => context.reply(done, phase as u64),
                }
            }
        };
        let write_many = handlers.request({
            let written = written.clone();
            move |context, words: [u64; WORDS]| {
                writes(&words).for_each(|(header, data)| written(context, header, data));
            }
        });
        let write = handlers
            .request_with_bytes(move |context, header: u64, data| written(context, Header::of(header), data));
        let read = handlers.request({
            let own = Rc::clone(own);
            move |context, header: u64| {
                let header = Header::of(header);
                own.read_by(context, header.at, header.length);
                let mut data = [0; SHORT];
                let data = &mut data[..header.length];
                own.segment.read_bytes(header.at as usize, data);
                context.reply_with_bytes(value, Header { at: 0, ..header }.word(), data);
            }
        });
        let read_range = handlers.request({
            let own = Rc::clone(own);
            let mut data = Vec::new();
            move |context, [header, part]: [u64; 2]| {
                let (position, length) = (part >> RANGE_BITS, part & ((1 << RANGE_BITS) - 1));
                let header = Header::of(header);
                own.read_by(context, header.at, length as usize);
                data.resize(length as usize, 0);
                own.segment.read_bytes(header.at as usize, &mut data);
                context.reply_with_bytes(value, Header { at: position, ..header }.word(), &data);
            }
        });
        let change = handlers.request({
            let own = Rc::clone(own);
            move |context, [header, operand]: [u64; 2]| {
                let Header { at, length, number } = Header::of(header);
                let old = apply(own.segment.word(at as usize), Change::of(length), operand);
                match counter_of(number) {
                    Some(counter) => {
                        own.book.has_stored(counter, WORD as u64);
                        own.mark(context, Written::Change(counter), at, WORD);
                    }
                    None => reply_word(context, value, number, old),
                }
            }
        });
        let compare = handlers.request({
            let own = Rc::clone(own);
            move |context, [header, expected, new]: [u64; 3]| {
                let Header { at, number, .. } = Header::of(header);
                let old = compare_swap(own.segment.word(at as usize), expected, new);
                reply_word(context, value, number, old);
            }
        });
        let ended = handlers.request({
            let own = Rc::clone(own);
            move |context, phase: u64| {
                own.marks.iter().for_each(|marks| marks.has_ended(context.from(), phase as usize));
                context.reply(done, phase);
            }
        });
        let left = handlers.request({
            let own = Rc::clone(own);
            move |context, left: u64| own.marks.iter().for_each(|marks| marks.told(context.from(), left))
        });
        Self { ended, left, write, write_many, read, read_range, change, compare, value }
    }

    /// Writes `bytes` at offset `at` of node `to`; the last message carries `number`.
    #[track_caller]
    pub(crate) fn write(&self, node: &mut Node, to: usize, at: u64, bytes: &[u8], number: usize) {
        let last = bytes.len().saturating_sub(1) / RANGE;
        for (part, data) in bytes.chunks(RANGE).enumerate() {
            let number = if number >= STORED || part == last { number } else { MORE };
            let header = Header { at: at + (part * RANGE) as u64, length: 1, number };
            node.send_with_bytes(to, self.write, header.word(), data);
        }
    }

    /// Sends gathered writes: a single word in the shorter message.
    #[track_caller]
    pub(crate) fn write_many(&self, node: &mut Node, to: usize, words: [u64; WORDS]) {
        let first = Header::of(words[0]).length;
        if first <= WORD && words[2] == 0 {
            node.send_with_bytes(to, self.write, words[0], &words[1].to_ne_bytes()[..first]);
        } else {
            node.send(to, self.write_many, words);
        }
    }

    /// As [`Wire::write`], acknowledged to `phase`.
    #[track_caller]
    pub(crate) fn put(&self, node: &mut Node, book: &Book, to: usize, at: u64, bytes: &[u8], phase: usize) {
        if !bytes.is_empty() {
            book.begin(phase);
            self.write(node, to, at, bytes, phase);
        }
    }

    /// For the checker: everything put to node `to` in `phase`, which is complete, may be accessed.
    #[track_caller]
    pub(crate) fn end(&self, node: &mut Node, book: &Book, to: usize, phase: usize) {
        book.begin(phase);
        node.send(to, self.ended, phase as u64);
    }

    /// For the checker: reports to node `to` that this node has left `left` collectives.
    #[track_caller]
    pub(crate) fn tell_left(&self, node: &mut Node, to: usize, left: u64) {
        node.send(to, self.left, left);
    }

    /// Requests `length` bytes at offset `at` of node `to`, as value `number`.
    #[track_caller]
    pub(crate) fn read(&self, node: &mut Node, to: usize, at: u64, length: usize, number: usize) {
        if length <= SHORT {
            node.send(to, self.read, Header { at, length, number }.word());
            return;
        }
        for position in (0..length).step_by(RANGE) {
            let part = RANGE.min(length - position);
            let header = Header { at: at + position as u64, length: 1, number }.word();
            node.send(to, self.read_range, [header, (position as u64) << RANGE_BITS | part as u64]);
        }
    }

    /// Changes the word at offset `at` of node `to`; the old word arrives as value `number`.
    #[track_caller]
    pub(crate) fn change(
        &self,
        node: &mut Node,
        to: usize,
        at: u64,
        (change, operand): (Change, u64),
        number: usize,
    ) {
        node.send(to, self.change, [Header { at, length: change.index(), number }.word(), operand]);
    }

    /// Replaces the word at offset `at` of node `to` if it is `expected`; the old word arrives as
    /// value `number`.
    #[track_caller]
    pub(crate) fn compare(
        &self,
        node: &mut Node,
        to: usize,
        at: u64,
        [expected, new]: [u64; 2],
        number: usize,
    ) {
        node.send(to, self.compare, [Header { at, length: WORD, number }.word(), expected, new]);
    }
}

/// The index of the counter of stores for which this number stands, if it is none of a phase.
fn counter_of(number: usize) -> Option<usize> {
    number.checked_sub(STORED)
}

/// Replies with a word that is the whole value.
fn reply_word(context: &mut Requested<'_>, value: Reply<WithBytes<u64>>, number: usize, word: u64) {
    context.reply_with_bytes(value, Header { at: 0, length: WORD, number }.word(), &word.to_ne_bytes());
}

/// The data that a node's handlers serve.
pub(crate) struct Served {
    pub(crate) segment: std::sync::Arc<Segment>,
    pub(crate) book: Rc<Book>,
    /// The checker's marks, if accesses are checked.
    pub(crate) marks: Option<Marks>,
}

impl Served {
    fn mark(&self, context: &Requested<'_>, written: Written, at: u64, bytes: usize) {
        if let Some(marks) = &self.marks {
            marks.mark(context.from(), written, at, bytes);
        }
    }

    /// Records that another node reads here.
    ///
    /// # Panics
    /// (which ends the job) if the checker finds that it may be too early.
    fn read_by(&self, context: &Requested<'_>, at: u64, bytes: usize) {
        let Some(marks) = &self.marks else { return };
        if let Err(reason) = marks.read_by(context.from(), at, bytes) {
            panic!("{reason}");
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_back() {
        for (at, length, number) in [(0, 1, 0), ((1 << OFFSET_BITS) - 1, 64, STORED), (77, 56, MORE)] {
            let read = Header::of(Header { at, length, number }.word());
            assert_eq!((read.at, read.length, read.number), (at, length, number));
        }
    }
}
