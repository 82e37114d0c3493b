//! What waits on the edges of trees: slots of values at their receiver, credits at their sender.
//!
//! A sender sends a value only if its receiver has a slot for it: it has a credit for each. A value
//! that finds all slots full would overwrite one, which is checked at every arrival.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};

/// The words of a message: what it belongs to, and up to seven of data.
pub(super) const WORDS: usize = 8;

/// The bytes of data in a message.
pub(super) const CHUNK: usize = 8 * (WORDS - 1);

/// What an edge carries; each kind has slots of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Lane {
    /// Broadcasts, down.
    Broadcast,
    /// Values for the root, up.
    ToRoot,
    /// Values that come back down: one slot of the other direction is free for each that came.
    Up,
    /// What comes back.
    Down,
}

impl Lane {
    const ALL: [Self; 4] = [Self::Broadcast, Self::ToRoot, Self::Up, Self::Down];

    pub(super) fn of(index: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|lane| *lane as u64 == index)
    }
}

/// A value on its way, with its first word.
pub(super) type Words = [u64; WORDS];

/// The edges of one node.
pub(super) struct Edges {
    depth: usize,
    full: RefCell<BTreeMap<(Lane, usize), VecDeque<Words>>>,
    /// Values sent whose slots are not known to be free.
    sent: RefCell<BTreeMap<(Lane, usize), usize>>,
    /// Slots that are free, of which the sender does not know.
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

    /// A value of node `from` comes.
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

    /// Whether node `to` has a free slot.
    pub(super) fn has_credit(&self, lane: Lane, to: usize) -> bool {
        self.sent.borrow().get(&(lane, to)).is_none_or(|sent| *sent < self.depth)
    }

    pub(super) fn spend(&self, lane: Lane, to: usize) {
        *self.sent.borrow_mut().entry((lane, to)).or_default() += 1;
    }

    /// Node `to` has freed `count` slots.
    pub(super) fn earn(&self, lane: Lane, to: usize, count: usize) {
        if let Some(sent) = self.sent.borrow_mut().get_mut(&(lane, to)) {
            *sent = sent.saturating_sub(count);
        }
    }

    /// A slot of node `from`'s values is free: how many to tell it of, if it is time to. Half of
    /// the slots are told of together, so that a deep pipeline needs few messages.
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
