//! A connection in memory that two cells share: a ring of cache lines, and a ring of bytes for long
//! blocks.
//!
//! A line's first word holds its number and the count of its bytes, so that a message of up to 56
//! bytes moves one cache line and the receiver polls only that word (Giacomoni, Moseley and
//! Vachharajani, "FastForward for efficient pipeline parallelism", 2008). A piece of a longer
//! message is copied into the ring of bytes, by vectors, and a line announces it: the sender copies
//! a piece while the receiver copies the one before it. The receiver reports its position now and
//! then; the sender waits while there is no room.
//!
//! A message that is longer than what may be under way makes its sender wait for the receiver in
//! any case. Between threads of one process the receiver then lends its memory, and the sender
//! copies the message there: it is copied once. A receiver that waits for such a message, or for
//! one of at least 16 KiB, lends its memory ahead. (The other way, by the receiver, takes four
//! times as long: lines that a core has just written are slow to read by another one.) Between
//! processes the ring of bytes is longer than what may be under way, and the sender of such a
//! message waits at its end.

use super::memory::{APART, Memory};
use super::sink::Sink;
use super::sync::{AtomicU64, Ordering, UNDER_LOOM};
use std::sync::Arc;
use strata_runtime::copy::{Hint, copy_hinted};
use strata_runtime::memory::LendingDesk;

/// Words of a line.
const WORDS: usize = 8;
/// Bytes of data in a line.
const LINE: usize = (WORDS - 1) * size_of::<u64>();

const LAST: u64 = 1 << 7;
/// The count of a line that announces a piece in the ring of bytes; its second word has the piece's
/// bytes.
const LONG: u64 = LAST - 1;
/// The count of a line that announces a message for which the receiver is to lend memory; its
/// second word has the message's bytes.
const LOAN: u64 = LONG - 1;

/// The most bytes that lines carry: a piece in the ring of bytes takes a line, too, and moves at
/// least two more.
const SHORT: usize = 2 * LINE;

/// The most bytes of a piece. In shorter pieces the copies of both cells overlap more; each costs a
/// line.
const PIECE: usize = 8 << 10;

/// Messages of up to so many bytes are not long, however little may be under way.
pub(super) const NEAR: usize = 4096;

/// The bytes of the ring of bytes between processes, which lend each other nothing: so many are
/// under way while a longer message is received.
const PIPE: usize = 64 << 10;

/// From so many bytes on one copy into the receiver's memory is faster than two that overlap: there
/// the models of copies take stores that bypass the caches, and lines that a core has just written
/// are slow to read by another one.
const FAR: usize = 16 << 10;

/// Pieces begin at multiples of so many bytes: cache lines, which only one cell then writes.
const ALIGN: usize = if UNDER_LOOM { 8 } else { 64 };

/// Gaps between pieces for which the ring of bytes has room.
const GAPS: usize = if UNDER_LOOM { 2 } else { 8 };

/// A ring in the memory of its receiver: the counts of lines and bytes taken, alone in their cache
/// lines, then the lines, then the ring of bytes.
pub(super) struct Ring {
    memory: Arc<Memory>,
    /// The number of its desk there.
    desk: usize,
    /// Index of the first count's word.
    first: usize,
    /// Number of lines: a power of two.
    lines: u64,
    /// Number of bytes of the ring of bytes: a multiple of [`ALIGN`].
    bytes: usize,
    /// Bytes that may be under way.
    depth: usize,
}

impl Ring {
    fn lines(depth: usize) -> usize {
        depth.div_ceil(LINE).max(2).next_power_of_two()
    }

    /// A message of `depth` bytes has room when all before it are taken: besides the bytes there
    /// are those that the receiver has not reported, and the gaps between pieces.
    fn bytes(depth: usize, processes: bool) -> usize {
        let bytes = (depth + depth / 2 + GAPS * ALIGN).next_multiple_of(ALIGN);
        if processes { bytes.max(PIPE) } else { bytes }
    }

    /// The words of memory that a ring of at least `depth` bytes takes.
    pub(super) fn words(depth: usize, processes: bool) -> usize {
        APART + Self::lines(depth) * WORDS + Self::bytes(depth, processes) / size_of::<u64>()
    }

    /// One end of the ring at `place` in its receiver's memory, which must have been zero at first.
    pub(super) fn new(
        memory: &Arc<Memory>,
        (place, desk): (usize, usize),
        depth: usize,
        processes: bool,
    ) -> Self {
        let (lines, bytes) = (Self::lines(depth) as u64, Self::bytes(depth, processes));
        Self { memory: Arc::clone(memory), desk, first: place, lines, bytes, depth }
    }

    /// The count of lines taken.
    fn taken(&self) -> &AtomicU64 {
        &self.memory.words()[self.first]
    }

    /// The count of bytes taken, and of the gaps after them.
    fn bytes_taken(&self) -> &AtomicU64 {
        &self.memory.words()[self.first + 1]
    }

    #[inline]
    fn line(&self, number: u64) -> &[AtomicU64] {
        let at = self.first + APART + (number & (self.lines - 1)) as usize * WORDS;
        &self.memory.words()[at..at + WORDS]
    }

    /// The index of the word at which the bytes from this count on lie.
    fn word_of(&self, count: u64) -> usize {
        self.first + APART + self.lines as usize * WORDS + self.offset(count) / size_of::<u64>()
    }

    fn loan(&self, number: u64, bytes: usize) -> Option<Loan> {
        let desk = self.memory.desk(self.desk)?.clone();
        Some(Loan { desk, number, bytes })
    }

    /// As [`loan`](Self::loan), if memory may be lent before the message is announced.
    #[inline]
    fn loan_ahead(&self, number: u64, bytes: usize) -> Option<Loan> {
        if bytes > self.depth.clamp(NEAR, FAR - 1) { self.loan(number, bytes) } else { None }
    }

    fn offset(&self, count: u64) -> usize {
        (count % self.bytes as u64) as usize
    }

    /// The bytes of the next piece in the ring of bytes, from this count on.
    fn piece(&self, count: u64, rest: usize) -> usize {
        let most = (self.bytes / 4 / ALIGN * ALIGN).clamp(ALIGN, PIECE);
        rest.min(most).min(self.bytes - self.offset(count))
    }
}

fn after(count: u64, piece: usize) -> u64 {
    count + piece.next_multiple_of(ALIGN) as u64
}

pub(super) struct Sender {
    ring: Ring,
    next: u64,
    taken: u64,
    next_byte: u64,
    bytes_taken: u64,
}

impl Sender {
    pub(super) fn new(ring: Ring) -> Self {
        Self { ring, next: 0, taken: 0, next_byte: 0, bytes_taken: 0 }
    }

    /// True if there is room for the next piece of so many bytes.
    #[inline]
    pub(super) fn has_room(&mut self, rest: usize) -> bool {
        if self.next - self.taken == self.ring.lines {
            self.taken = self.ring.taken().load(Ordering::Acquire);
        }
        self.next - self.taken < self.ring.lines && (rest <= SHORT || self.has_bytes(rest))
    }

    fn has_bytes(&mut self, rest: usize) -> bool {
        let end = after(self.next_byte, self.ring.piece(self.next_byte, rest));
        let most = self.ring.bytes as u64;
        if end - self.bytes_taken > most {
            self.bytes_taken = self.ring.bytes_taken().load(Ordering::Acquire);
        }
        end - self.bytes_taken <= most
    }

    /// The loan for a message of so many bytes that is sent next; `None` if it goes through the
    /// ring.
    #[inline]
    pub(super) fn loan(&self, bytes: usize) -> Option<Loan> {
        let loan = self.ring.loan_ahead(self.next + 1, bytes)?;
        // A shorter message leaves at once, so its memory must have been lent ahead.
        (bytes > self.ring.depth.max(NEAR) || loan.is_lent()).then_some(loan)
    }

    /// Announces a message for which the receiver is to lend memory. There must be room for a line.
    pub(super) fn announce(&mut self, loan: &Loan) {
        let line = self.ring.line(self.next);
        line[1].store(loan.bytes as u64, Ordering::Relaxed);
        self.next += 1;
        line[0].store(self.next << 8 | LAST | LOAN, Ordering::Release);
    }

    /// True if a message of so many bytes, which has been sent, need not be waited for: no more of
    /// it is under way than the connection's depth.
    #[inline]
    pub(super) fn may_go_on(&mut self, bytes: usize) -> bool {
        let depth = self.ring.depth.max(NEAR);
        if bytes <= depth || self.next_byte - self.bytes_taken <= depth as u64 {
            return true;
        }
        self.bytes_taken = self.ring.bytes_taken().load(Ordering::Acquire);
        self.next_byte - self.bytes_taken <= depth as u64
    }

    /// Sends the next piece of the `rest` of a message, for which there must be room; returns its
    /// length.
    #[inline]
    pub(super) fn send(&mut self, rest: &[u8]) -> usize {
        if rest.len() > SHORT {
            return self.send_long(rest);
        }
        let bytes = &rest[..rest.len().min(LINE)];
        let line = self.ring.line(self.next);
        for (word, bytes) in line[1..].iter().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
        }
        self.next += 1;
        let last = if bytes.len() == rest.len() { LAST } else { 0 };
        line[0].store(self.next << 8 | last | bytes.len() as u64, Ordering::Release);
        bytes.len()
    }

    fn send_long(&mut self, rest: &[u8]) -> usize {
        let piece = self.ring.piece(self.next_byte, rest.len());
        self.ring.memory.write(self.ring.word_of(self.next_byte), &rest[..piece]);
        self.next_byte = after(self.next_byte, piece);
        let line = self.ring.line(self.next);
        line[1].store(piece as u64, Ordering::Relaxed);
        self.next += 1;
        let last = if piece == rest.len() { LAST } else { 0 };
        line[0].store(self.next << 8 | last | LONG, Ordering::Release);
        piece
    }
}

/// What a receiver has taken.
pub(super) enum Taken {
    /// A piece of a message, and not the last one.
    Piece,
    /// The last piece of a message.
    Last,
    /// The announcement of a message for which memory is to be lent.
    Announced(Loan),
}

#[derive(Clone)]
pub(super) struct Loan {
    pub(super) desk: LendingDesk,
    /// Its number: that of the line which announces the message.
    pub(super) number: u64,
    pub(super) bytes: usize,
}

impl Loan {
    pub(super) fn is_lent(&self) -> bool {
        self.desk.is_lent(self.number)
    }

    pub(super) fn is_written(&self) -> bool {
        self.desk.is_written(self.number)
    }

    /// Writes a message into the memory that is lent; nothing if that has another length, which the
    /// receiver reports.
    pub(super) fn write(&self, bytes: &[u8]) {
        self.desk.write(self.number, |memory| {
            if memory.len() == bytes.len() {
                copy_hinted(Hint::SEND, memory, bytes);
            }
        });
    }
}

pub(super) struct Receiver {
    ring: Ring,
    next: u64,
    told: u64,
    next_byte: u64,
    bytes_told: u64,
}

impl Receiver {
    pub(super) fn new(ring: Ring) -> Self {
        Self { ring, next: 0, told: 0, next_byte: 0, bytes_told: 0 }
    }

    /// True if the next line, which must have arrived, announces a message for which memory is
    /// lent.
    pub(super) fn is_announced(&self) -> bool {
        self.ring.line(self.next)[0].load(Ordering::Acquire) & LONG == LOAN
    }

    /// True if a line has arrived.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.ring.line(self.next)[0].load(Ordering::Acquire) >> 8 == self.next + 1
    }

    /// Takes the next piece, which must have arrived: passes its bytes to `sink`.
    #[inline]
    pub(super) fn take(&mut self, sink: &mut impl Sink) -> Taken {
        let line = self.ring.line(self.next);
        let head = line[0].load(Ordering::Acquire);
        let bytes = match head & LONG {
            LOAN | LONG => line[1].load(Ordering::Relaxed) as usize,
            bytes => bytes as usize,
        };
        match head & LONG {
            // Where memory was lent ahead, the message is there; else nothing has come yet.
            LOAN => {}
            LONG => self.take_long(bytes, sink),
            _ => {
                if let Some(room) = sink.room(bytes) {
                    for (chunk, word) in room.chunks_mut(8).zip(&line[1..]) {
                        let word = word.load(Ordering::Relaxed).to_ne_bytes();
                        chunk.copy_from_slice(&word[..chunk.len()]);
                    }
                }
            }
        }
        self.next += 1;
        // Report a quarter of the ring at a time: each read by the sender moves one more cache
        // line.
        if self.next - self.told >= (self.ring.lines / 4).max(1) {
            self.told = self.next;
            self.ring.taken().store(self.next, Ordering::Release);
        }
        if head & LONG == LOAN
            && let Some(loan) = self.ring.loan(self.next, bytes)
        {
            return Taken::Announced(loan);
        }
        if head & LAST != 0 { Taken::Last } else { Taken::Piece }
    }

    /// The loan for the next message, if it will have so many bytes and none has come.
    #[inline]
    pub(super) fn loan_ahead(&self, bytes: usize) -> Option<Loan> {
        self.ring.loan_ahead(self.next + 1, bytes)
    }

    fn take_long(&mut self, piece: usize, sink: &mut impl Sink) {
        // The other process may be of another program: no more than a piece can have.
        let piece = piece.min(self.ring.piece(self.next_byte, usize::MAX));
        if let Some(room) = sink.room(piece) {
            self.ring.memory.read(self.ring.word_of(self.next_byte), room);
        }
        self.next_byte = after(self.next_byte, piece);
        if self.next_byte - self.bytes_told >= (self.ring.depth as u64 / 4).max(1) {
            self.bytes_told = self.next_byte;
            self.ring.bytes_taken().store(self.next_byte, Ordering::Release);
        }
    }
}

#[cfg(test)]
fn ends(depth: usize) -> (Sender, Receiver) {
    let memory = Arc::new(Memory::own(Ring::words(depth, false), 1));
    let ring = || Ring::new(&memory, (0, 0), depth, false);
    (Sender::new(ring()), Receiver::new(ring()))
}

/// Sends what has room of the rest of a message; true if all of it has left.
#[cfg(test)]
fn push(sender: &mut Sender, rest: &mut &[u8]) -> bool {
    while sender.has_room(rest.len()) {
        *rest = &rest[sender.send(rest)..];
        if rest.is_empty() {
            return true;
        }
    }
    false
}

/// Takes what has come of a message; true if that is its end.
#[cfg(test)]
fn pull(receiver: &mut Receiver, came: &mut Vec<u8>) -> bool {
    while receiver.is_ready() {
        if matches!(receiver.take(came), Taken::Last) {
            return true;
        }
    }
    false
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn message(number: u64, length: usize) -> Vec<u8> {
        (0..length).map(|at| (number as usize * 31 + at) as u8).collect()
    }

    /// Messages of all lengths around lines and pieces, some of which end where the ring does; as
    /// many as have room are under way.
    #[test]
    fn messages_arrive_whole_and_in_order() {
        for depth in [0, 1, 56, 57, 100, 1000, 4096, 100_000] {
            let (mut sender, mut receiver) = ends(depth);
            let lines = sender.ring.lines;
            assert!(lines >= 2 && lines * LINE as u64 >= depth as u64);
            assert_eq!(sender.ring.line(lines - 1).as_ptr() as usize % 64, 0, "a line is one cache line");
            let whole = |number: u64| {
                let length = number as usize * if number.is_multiple_of(3) { 1 } else { 7 };
                message(number, length % if number.is_multiple_of(3) { 200 } else { 9000 })
            };
            let (mut sent, mut next) = (0, whole(0));
            let (mut rest, mut most) = (&next[..], 0);
            for number in 0..3000 {
                let mut came = Vec::new();
                loop {
                    let before = (sent, rest.len(), came.len());
                    while push(&mut sender, &mut rest) {
                        sent += 1;
                        next = whole(sent);
                        rest = &next;
                    }
                    most = most.max(sent - number);
                    if pull(&mut receiver, &mut came) {
                        break;
                    }
                    let now = (sent, rest.len(), came.len());
                    assert!(now != before, "depth {depth}, message {number} has no room");
                }
                assert_eq!(came, whole(number), "depth {depth}, message {number}");
            }
            assert!(most > 1, "depth {depth}: one message at a time");
        }
    }

    /// What may be under way leaves before anything is received, also if the receiver has not
    /// reported what it took last.
    #[test]
    fn a_message_as_long_as_the_depth_has_room() {
        for depth in [57, 113, 500, 4096, 100_000] {
            for before in 0..40 {
                let (mut sender, mut receiver) = ends(depth);
                for number in 0..before {
                    let bytes = message(number, depth.min(113 + number as usize));
                    assert!(push(&mut sender, &mut &bytes[..]) && pull(&mut receiver, &mut Vec::new()));
                }
                assert!(push(&mut sender, &mut &message(before, depth)[..]), "depth {depth}, after {before}");
            }
        }
    }

    #[test]
    fn memory_is_lent_for_a_message_beyond_the_depth() {
        const LONG: usize = NEAR + 1;
        let (mut sender, mut receiver) = ends(64);
        assert!(sender.loan(NEAR).is_none() && receiver.loan_ahead(NEAR).is_none());
        let loan = sender.loan(LONG).unwrap();
        sender.announce(&loan);
        assert!(receiver.is_ready());
        let Taken::Announced(same) = receiver.take(&mut Vec::new()) else { panic!("not announced") };
        assert_eq!((same.number, same.bytes), (loan.number, LONG));
        let mut came = [0; LONG];
        assert!(same.desk.lend(same.number, &mut came, || loan.write(&[7; LONG])));
        assert_eq!(came, [7; LONG]);
        sender.send(&[8]);
        assert!(matches!(receiver.take(&mut Vec::new()), Taken::Last));
    }

    /// Memory that is lent for one message is not written by the one after it.
    #[test]
    fn a_loan_ahead_is_for_the_next_message_only() {
        const LONG: usize = NEAR + 1;
        let (mut sender, receiver) = ends(64);
        let ahead = receiver.loan_ahead(LONG).unwrap();
        let mut memory = [0; LONG];
        let written = ahead.desk.lend(ahead.number, &mut memory, || {
            sender.send(&[1]);
            let loan = sender.loan(LONG).unwrap();
            sender.announce(&loan);
            assert!(ahead.is_lent() && !loan.is_lent());
            loan.write(&[7; LONG]);
        });
        assert!(!written && memory == [0; LONG]);
    }

    #[test]
    fn two_threads_agree() {
        let (mut sender, mut receiver) = ends(700);
        let whole = |number: u64| message(number, number as usize % 601 + 1);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for bytes in (0..30_000).map(whole) {
                    let mut rest = &bytes[..];
                    while !push(&mut sender, &mut rest) {
                        std::thread::yield_now();
                    }
                }
            });
            for number in 0..30_000 {
                let mut bytes = Vec::new();
                while !pull(&mut receiver, &mut bytes) {
                    std::thread::yield_now();
                }
                assert_eq!(bytes, whole(number));
            }
        });
    }
}

#[cfg(all(test, loom))]
mod under_loom {
    use super::*;
    use loom::thread;

    fn received(receiver: &mut Receiver) -> Vec<u8> {
        let mut bytes = Vec::new();
        while !pull(receiver, &mut bytes) {
            thread::yield_now();
        }
        bytes
    }

    /// Sends more lines than the ring has, so that lines are reused: every line arrives whole and
    /// in order.
    #[test]
    fn loom_lines_used_again_are_whole_and_in_order() {
        loom::model(|| {
            const LINES: u64 = 4;
            let (mut sender, mut receiver) = ends(0);
            let sends = thread::spawn(move || {
                for number in 1..=LINES {
                    let words = [number, 10 * number];
                    while !push(&mut sender, &mut bytemuck::cast_slice(&words)) {
                        thread::yield_now();
                    }
                }
            });
            for number in 1..=LINES {
                assert_eq!(received(&mut receiver), bytemuck::cast_slice::<u64, u8>(&[number, 10 * number]));
            }
            sends.join().unwrap();
        });
    }

    /// Sends more pieces than the ring of bytes holds: every piece arrives whole.
    #[test]
    fn loom_pieces_whose_place_is_used_again_are_whole() {
        loom::model(|| {
            let (mut sender, mut receiver) = ends(0);
            let pieces = (sender.ring.bytes / ALIGN) as u8 + 1;
            let sends = thread::spawn(move || {
                for number in 1..=pieces {
                    while !sender.has_bytes(ALIGN) {
                        thread::yield_now();
                    }
                    assert_eq!(sender.send_long(&[number; ALIGN]), ALIGN);
                }
            });
            for number in 1..=pieces {
                assert_eq!(received(&mut receiver), [number; ALIGN]);
            }
            sends.join().unwrap();
        });
    }

    /// A counter that is raised after a line was sent publishes the line: data sent before a
    /// barrier has arrived after it.
    #[test]
    fn loom_what_was_sent_before_a_step_is_there_after_it() {
        loom::model(|| {
            let memory = Arc::new(Memory::own(Ring::words(0, false) + APART, 0));
            let ring = || Ring::new(&memory, (0, 0), 0, false);
            let (mut sender, receiver) = (Sender::new(ring()), Receiver::new(ring()));
            let (raised, seen) = (memory.count(Ring::words(0, false)), memory.count(Ring::words(0, false)));
            let sends = thread::spawn(move || {
                sender.send(&[7]);
                raised.raise(1);
            });
            while seen.get() < 1 {
                thread::yield_now();
            }
            assert!(receiver.is_ready());
            sends.join().unwrap();
        });
    }
}
