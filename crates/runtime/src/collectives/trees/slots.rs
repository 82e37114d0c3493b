//! Flow control of tree edges: receive slots and send credits.
//!
//! A sender sends a value only if its receiver has a free slot: it has a credit for each. A value
//! that arrives when all slots are full would overwrite one; every arrival is checked for this.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};

/// Number of words of a message: its header, and up to seven words of data.
pub(super) const WORDS: usize = 8;

/// The bytes of data in a message.
pub(super) const CHUNK: usize = 8 * (WORDS - 1);

/// The kinds of values on an edge; each kind has its own slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Lane {
    /// Broadcasts, down.
    Broadcast,
    /// Values for the root, up.
    ToRoot,
    /// Values that return down: each returned value frees one slot of the other direction.
    Up,
    /// The returned values.
    Down,
}

impl Lane {
    const ALL: [Self; 4] = [Self::Broadcast, Self::ToRoot, Self::Up, Self::Down];

    pub(super) fn of(index: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|lane| *lane as u64 == index)
    }
}

/// A value in transit, with its header.
pub(super) type Words = [u64; WORDS];

/// The edges of one node.
pub(super) struct Edges {
    depth: usize,
    full: RefCell<BTreeMap<(Lane, usize), VecDeque<Words>>>,
    /// Number of values sent whose slots are not known to be free.
    sent: RefCell<BTreeMap<(Lane, usize), usize>>,
    /// Number of free slots that were not reported to the sender.
    owed: RefCell<BTreeMap<(Lane, usize), usize>>,
    /// The most slots that were full at once.
    most: Cell<usize>,
}

impl Edges {
    pub(super) fn new(depth: usize) -> Self {
        Self {
            depth,
            full: RefCell::default(),
            sent: RefCell::default(),
            owed: RefCell::default(),
            most: Cell::default(),
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    #[cfg(test)]
    pub(super) fn most(&self) -> usize {
        self.most.get()
    }

    /// Stores an arrived value of node `from`.
    ///
    /// # Panics
    /// (which ends the job) if all slots are full: a value would overwrite another.
    pub(super) fn come(&self, lane: Lane, from: usize, words: Words) {
        let mut full = self.full.borrow_mut();
        let slots = full.entry((lane, from)).or_default();
        assert!(slots.len() < self.depth, "a value of node {from} would overwrite one of {lane:?}");
        slots.push_back(words);
        self.most.set(self.most.get().max(slots.len()));
    }

    pub(super) fn has(&self, lane: Lane, from: usize) -> bool {
        self.full.borrow().get(&(lane, from)).is_some_and(|slots| !slots.is_empty())
    }

    pub(super) fn take(&self, lane: Lane, from: usize) -> Option<Words> {
        self.full.borrow_mut().get_mut(&(lane, from))?.pop_front()
    }

    /// True if node `to` has a free slot.
    pub(super) fn has_credit(&self, lane: Lane, to: usize) -> bool {
        self.sent.borrow().get(&(lane, to)).is_none_or(|sent| *sent < self.depth)
    }

    pub(super) fn spend(&self, lane: Lane, to: usize) {
        *self.sent.borrow_mut().entry((lane, to)).or_default() += 1;
    }

    /// Adds the credits of `count` slots that node `to` has freed.
    pub(super) fn earn(&self, lane: Lane, to: usize, count: usize) {
        if let Some(sent) = self.sent.borrow_mut().get_mut(&(lane, to)) {
            *sent = sent.saturating_sub(count);
        }
    }

    /// Frees a slot of node `from`'s values; returns the number of slots to report, if a report is
    /// due. Half of the slots are reported together, so that a deep pipeline needs few messages.
    pub(super) fn free(&self, lane: Lane, from: usize) -> Option<usize> {
        let mut owed = self.owed.borrow_mut();
        let count = owed.entry((lane, from)).or_default();
        *count += 1;
        (*count >= self.depth.div_ceil(2)).then(|| std::mem::take(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "would overwrite")]
    fn a_value_without_a_free_slot_is_refused() {
        let edges = Edges::new(2);
        (0..3).for_each(|value| edges.come(Lane::Broadcast, 1, [value; WORDS]));
    }

    #[test]
    fn credits_are_slots() {
        let (sender, receiver) = (Edges::new(3), Edges::new(3));
        for round in 0..10 {
            let mut sent = 0;
            while sender.has_credit(Lane::ToRoot, 1) {
                sender.spend(Lane::ToRoot, 1);
                receiver.come(Lane::ToRoot, 0, [round; WORDS]);
                sent += 1;
            }
            assert!(sent > 0, "round {round}");
            while receiver.take(Lane::ToRoot, 0).is_some() {
                if let Some(count) = receiver.free(Lane::ToRoot, 0) {
                    sender.earn(Lane::ToRoot, 1, count);
                }
            }
        }
        assert_eq!(receiver.most(), 3);
    }
}
