//! The checker: detects accesses to a node's own heap that no synchronisation orders after another
//! node's write.
//!
//! All accesses of other nodes are messages, so the owner sees every write that arrives. It marks
//! the written bytes: those of a put until the writer's phase or counter is complete, those of a
//! store until stores on its counter have been waited for. The owner's own access to marked bytes
//! ends the job; an atomic operation may meet atomic changes. The checker detects only races that
//! occur in a run.
//!
//! The result of a collective is another hazard, because nodes do not leave a collective at the
//! same time. A node that reads `x` of another node after `x = scan(x)` may read before the other
//! has stored its result. The owner marks the bytes into which it writes the result of the last
//! collective with the number of that collective. It marks the bytes that another node reads with
//! the number of the last collective that the *reader* had left. Equal numbers on the same bytes
//! mean that a barrier is missing.

use crate::segment::WORD;
use crate::wire::MORE;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// How bytes were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Written {
    /// In a phase of the writer that has not ended, the phase of blocking writes included; or in
    /// [`MORE`], until the last part of the write has come.
    Put(usize),
    /// One-way, on a counter.
    Store(usize),
    /// One-way, by an atomic operation, on a counter.
    Change(usize),
}

/// Identifies the writes to a word by their node, kind, and time in the order of stores.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    word: u64,
    from: usize,
    written: Written,
    time: u64,
}

#[derive(Default)]
pub(crate) struct Marks {
    /// The bytes of each mark as a bit mask.
    bytes: RefCell<BTreeMap<Mark, u8>>,
    /// The nodes of whose last write further parts follow.
    parts: RefCell<BTreeSet<usize>>,
    /// Number of times that waiting for stores has begun.
    time: Cell<u64>,
    /// Bytes of words into which this node has written the result of the collective with this
    /// number.
    results: RefCell<BTreeMap<(u64, u64), u8>>,
    /// Bytes of words that other nodes have read after the collective with this number.
    reads: RefCell<BTreeMap<(u64, u64, usize), u8>>,
    /// The number of the last collective that each other node has reported.
    told: RefCell<BTreeMap<usize, u64>>,
}

/// The words that contain the `bytes` bytes from `at` on, each with a mask of these bytes.
fn words(at: u64, bytes: usize) -> impl Iterator<Item = (u64, u8)> {
    let (word, end) = (WORD as u64, at + bytes as u64);
    (at / word..end.div_ceil(word)).map(move |index| {
        let inside = |byte: &u64| (at..end).contains(&(index * word + byte));
        (index, (0..word).filter(inside).fold(0, |bits, byte| bits | 1 << byte))
    })
}

impl Marks {
    pub(crate) fn mark(&self, from: usize, written: Written, at: u64, bytes: usize) {
        let mut marks = self.bytes.borrow_mut();
        for (word, bits) in words(at, bytes) {
            *marks.entry(Mark { word, from, written, time: self.time.get() }).or_default() |= bits;
        }
        match written {
            Written::Put(MORE) => _ = self.parts.borrow_mut().insert(from),
            // Messages from one node come in order, so the earlier parts are of the same phase.
            Written::Put(_) if self.parts.borrow_mut().remove(&from) => {
                let of_parts = |mark: &&Mark| mark.from == from && mark.written == Written::Put(MORE);
                let parts: Vec<Mark> = marks.keys().filter(of_parts).copied().collect();
                for part in parts {
                    let bits = marks.remove(&part).unwrap_or_default();
                    *marks.entry(Mark { written, ..part }).or_default() |= bits;
                }
            }
            _ => {}
        }
    }

    /// Removes the marks of a phase of node `from`, or of its blocking write, which has ended.
    pub(crate) fn has_ended(&self, from: usize, phase: usize) {
        self.bytes.borrow_mut().retain(|mark, _| mark.from != from || mark.written != Written::Put(phase));
    }

    /// The time of the stores that have arrived; later stores have a later time.
    pub(crate) fn tick(&self) -> u64 {
        let now = self.time.get();
        self.time.set(now + 1);
        now
    }

    /// Removes the marks of stores up to `time`, on this counter or on all, which have been waited
    /// for.
    pub(crate) fn waited_for(&self, time: u64, counter: Option<usize>) {
        self.bytes.borrow_mut().retain(|mark, _| match mark.written {
            Written::Put(_) => true,
            Written::Store(on) | Written::Change(on) => {
                mark.time > time || counter.is_some_and(|counter| counter != on)
            }
        });
    }

    /// Records that node `from` has left this many collectives.
    pub(crate) fn told(&self, from: usize, left: u64) {
        self.told.borrow_mut().insert(from, left);
    }

    /// Records that node `from` reads bytes; the error explains why the read may be too early.
    pub(crate) fn read_by(&self, from: usize, at: u64, bytes: usize) -> Result<(), String> {
        let left = self.told.borrow().get(&from).copied().unwrap_or_default();
        let results = self.results.borrow();
        for (word, bits) in words(at, bytes) {
            if results.get(&(left, word)).is_some_and(|written| written & bits != 0) {
                return Err(early(from, (word * WORD as u64).max(at)));
            }
            *self.reads.borrow_mut().entry((left, word, from)).or_default() |= bits;
        }
        Ok(())
    }

    /// Records that this node writes the result of collective number `left`, the last one; the
    /// error names the node that read too early.
    pub(crate) fn writes_result(&self, left: u64, at: u64, bytes: usize) -> Result<(), String> {
        // Earlier collectives are complete on all nodes; other nodes may be ahead.
        let mut results = self.results.borrow_mut();
        let mut reads = self.reads.borrow_mut();
        *results = results.split_off(&(left, 0));
        *reads = reads.split_off(&(left, 0, 0));
        for (word, bits) in words(at, bytes) {
            let mut of_word = reads.range((left, word, 0)..(left, word + 1, 0));
            if let Some(((_, _, from), _)) = of_word.find(|(_, read)| **read & bits != 0) {
                return Err(early(*from, (word * WORD as u64).max(at)));
            }
            *results.entry((left, word)).or_default() |= bits;
        }
        Ok(())
    }

    /// The reason why these bytes must not be accessed now, if there is one. `atomic` accesses may
    /// meet atomic ones.
    pub(crate) fn reason(&self, at: u64, bytes: usize, atomic: bool) -> Option<String> {
        let marks = self.bytes.borrow();
        let least = |word| Mark { word, from: 0, written: Written::Put(0), time: 0 };
        let mark = words(at, bytes).find_map(|(word, bits)| {
            let of_word = marks.range(least(word)..least(word + 1));
            let mut bad = of_word.filter(|(mark, marked)| {
                *marked & bits != 0 && !(atomic && matches!(mark.written, Written::Change(_)))
            });
            bad.next().map(|(mark, _)| *mark)
        })?;
        let (from, offset) = (mark.from, (mark.word * WORD as u64).max(at));
        Some(match mark.written {
            Written::Put(_) => format!(
                "node {from} has a put under way at offset {offset}; end its phase before, and synchronise"
            ),
            Written::Store(0) | Written::Change(0) => format!(
                "node {from} has stored at offset {offset}, and no store_sync or all_store_sync has waited for it"
            ),
            Written::Store(counter) | Written::Change(counter) => format!(
                "node {from} has stored at offset {offset} on counter {}, and no sync of that counter or \
                 all_store_sync has waited for it",
                counter - 1
            ),
        })
    }
}

/// The message about a node that reads a result too early.
fn early(from: usize, at: u64) -> String {
    format!(
        "node {from} reads offset {at} of this node, which writes there the result of a collective: nodes do not \
         leave it at once; call barrier() between the write and the read"
    )
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_read_after_another_collective() {
        let marks = Marks::default();
        marks.writes_result(3, 8, 8).unwrap();
        marks.told(1, 3);
        assert!(marks.read_by(1, 12, 1).is_err_and(|reason| reason.contains("node 1 reads offset 12")));
        marks.read_by(1, 16, 8).unwrap();
        marks.told(1, 4);
        marks.read_by(1, 8, 8).unwrap();
        // That read was ahead of this node's next write.
        assert!(marks.writes_result(4, 0, 16).is_err_and(|reason| reason.contains("node 1 reads offset 8")));
        marks.writes_result(4, 16, 8).unwrap();
        marks.writes_result(5, 8, 8).unwrap();
        assert!(marks.results.borrow().keys().all(|(left, _)| *left == 5) && marks.reads.borrow().is_empty());
    }

    #[test]
    fn marks_last_until_they_are_waited_for() {
        let marks = Marks::default();
        marks.mark(3, Written::Put(5), 6, 4);
        marks.mark(2, Written::Store(0), 24, 8);
        let before = marks.tick();
        marks.mark(2, Written::Change(0), 40, 8);
        assert!(marks.reason(0, 6, false).is_none());
        assert!(marks.reason(0, 7, false).is_some_and(|reason| reason.starts_with("node 3 has a put")));
        assert!(marks.reason(9, 1, false).is_some() && marks.reason(10, 14, false).is_none());
        marks.has_ended(2, 5);
        assert!(marks.reason(6, 1, false).is_some());
        marks.has_ended(3, 4);
        assert!(marks.reason(6, 1, false).is_some(), "of another phase");
        marks.has_ended(3, 5);
        assert!(marks.reason(0, 24, false).is_none());
        assert!(marks.reason(0, 25, false).is_some_and(|reason| reason.starts_with("node 2 has stored")));
        marks.waited_for(before, Some(0));
        assert!(marks.reason(0, 40, false).is_none());
        assert!(marks.reason(40, 8, false).is_some() && marks.reason(40, 8, true).is_none());
        marks.waited_for(marks.tick(), None);
        assert!(marks.reason(0, 99, false).is_none());
    }

    #[test]
    fn marks_of_other_counters_and_phases_stay() {
        let marks = Marks::default();
        marks.mark(1, Written::Put(MORE), 0, 8);
        marks.mark(1, Written::Put(7), 8, 8);
        marks.mark(1, Written::Put(2), 16, 8);
        marks.mark(1, Written::Store(0), 24, 8);
        marks.mark(1, Written::Store(4), 32, 8);
        marks.has_ended(1, 7);
        assert!(marks.reason(0, 16, false).is_none(), "both parts of one write");
        assert!(marks.reason(16, 1, false).is_some());
        marks.waited_for(marks.tick(), Some(4));
        assert!(marks.reason(32, 8, false).is_none() && marks.reason(24, 8, false).is_some());
        marks.mark(1, Written::Store(4), 40, 1);
        let reason = marks.reason(40, 1, false).unwrap();
        assert!(reason.contains("at offset 40 on counter 3, and no sync of that counter"), "{reason}");
        marks.waited_for(marks.tick(), None);
        assert!(marks.reason(24, 24, false).is_none());
    }
}
