//! One-way stores, and the detection of their arrival.

use super::Space;
use crate::atomics::{Change, Integer};
use crate::checker::Marks;
use crate::counter::StoreCounter;
use crate::pointer::Global;
use crate::segment::{STORE_COUNTERS, word_of};
use crate::sync::{AtomicU64, Ordering};
use crate::wire::STORED;
use bytemuck::Pod;
use std::rc::Rc;
use std::sync::Arc;

/// Stores on one [`StoreCounter`]; of [`Space::stores`].
pub struct Stores<'s, 'n> {
    space: &'s mut Space<'n>,
    counter: StoreCounter,
}

impl Stores<'_, '_> {
    /// As [`Space::store`], on this counter.
    ///
    /// # Participation
    /// As there.
    #[track_caller]
    #[inline]
    pub fn store<T: Pod>(&mut self, p: Global<T>, value: T) {
        self.space.store_on(self.counter, p, value);
    }

    /// As [`Space::store_slice`], on this counter.
    ///
    /// # Participation
    /// As there.
    #[track_caller]
    pub fn store_slice<T: Pod>(&mut self, p: Global<T>, values: &[T]) {
        self.space.store_slice_on(self.counter, p, values);
    }

    /// As [`Space::store_change`], on this counter.
    ///
    /// # Participation
    /// As there.
    #[track_caller]
    #[inline]
    pub fn store_change<T: Integer>(&mut self, p: Global<T>, change: Change, operand: T) {
        self.space.store_change_on(self.counter, p, change, operand);
    }

    /// Waits until `bytes` more bytes have been stored here on this counter, and accounts for them.
    ///
    /// # Participation
    /// As [`Space::store_sync`].
    #[track_caller]
    pub fn sync(&mut self, bytes: u64) {
        self.space.store_sync_on(self.counter, bytes);
    }

    /// True if `bytes` more bytes have been stored here on this counter; they are then accounted
    /// for. Polls.
    ///
    /// # Participation
    /// Local.
    pub fn is_sync(&mut self, bytes: u64) -> bool {
        self.space.is_store_sync_on(self.counter, bytes)
    }
}

impl<'n> Space<'n> {
    /// Stores that are counted by `counter`, apart from all others, and the waits for them.
    ///
    /// # Participation
    /// Local.
    #[inline]
    pub fn stores(&mut self, counter: StoreCounter) -> Stores<'_, 'n> {
        Stores { space: self, counter }
    }

    /// Writes an element one-way: this node is not notified of its arrival. The receiver detects it
    /// with [`store_sync`](Self::store_sync), or all nodes together with
    /// [`all_store_sync`](Self::all_store_sync).
    ///
    /// # Participation
    /// As [`read`](Self::read). While there is no room for a message, the node receives messages.
    #[track_caller]
    #[inline]
    pub fn store<T: Pod>(&mut self, p: Global<T>, value: T) {
        self.store_on(StoreCounter::IMPLICIT, p, value);
    }

    #[track_caller]
    #[inline]
    fn store_on<T: Pod>(&mut self, counter: StoreCounter, p: Global<T>, value: T) {
        let write = |word: &AtomicU64| word.store(word_of(bytemuck::bytes_of(&value)), Ordering::Relaxed);
        if !self.store_word(counter, p, write) {
            self.store_other(counter, p, value);
        }
    }

    #[track_caller]
    #[inline(never)]
    fn store_other<T: Pod>(&mut self, counter: StoreCounter, p: Global<T>, value: T) {
        let at = self.check("store", p, 1);
        if let Some(segment) = self.direct(p.node()) {
            segment.write(at, &value, Ordering::Relaxed);
            self.has_stored(p.node(), counter, size_of::<T>() as u64);
        } else {
            self.store_far(counter, p, bytemuck::bytes_of(&value));
        }
    }

    /// Writes elements from `p` on, one-way.
    ///
    /// # Participation
    /// As [`store`](Self::store).
    #[track_caller]
    pub fn store_slice<T: Pod>(&mut self, p: Global<T>, values: &[T]) {
        self.store_slice_on(StoreCounter::IMPLICIT, p, values);
    }

    #[track_caller]
    fn store_slice_on<T: Pod>(&mut self, counter: StoreCounter, p: Global<T>, values: &[T]) {
        let at = self.check("store_slice", p, values.len());
        let bytes: &[u8] = bytemuck::cast_slice(values);
        if let Some(segment) = self.direct(p.node()) {
            segment.write_bytes(at, bytes);
            self.has_stored(p.node(), counter, bytes.len() as u64);
        } else {
            self.store_far(counter, p, bytes);
        }
    }

    #[track_caller]
    fn store_far<T>(&mut self, counter: StoreCounter, p: Global<T>, bytes: &[u8]) {
        self.count_sent(bytes.len() as u64);
        let number = STORED + counter.index();
        if !self.gather(p.node(), p.offset(), bytes, number) {
            let wire = self.wire;
            wire.write(self, p.node(), p.offset(), bytes, number);
        }
    }

    /// Waits until `bytes` more bytes have been stored here, and accounts for them. Stores on a
    /// [`StoreCounter`] do not count.
    ///
    /// # Participation
    /// Local. If the bytes never arrive, the watchdog ends the job and reports the number that
    /// have.
    #[track_caller]
    pub fn store_sync(&mut self, bytes: u64) {
        self.store_sync_on(StoreCounter::IMPLICIT, bytes);
    }

    #[track_caller]
    fn store_sync_on(&mut self, counter: StoreCounter, bytes: u64) {
        self.flush();
        let (own, book, on) = (Arc::clone(&self.own), Rc::clone(&self.served.book), counter.index());
        let consumed = self.consumed[on];
        self.node
            .wait_for_bytes(bytes, || own.stored(on).wrapping_add(book.stored(on)).wrapping_sub(consumed));
        self.account(counter, bytes);
    }

    /// True if `bytes` more bytes have been stored here; they are then accounted for. Polls.
    ///
    /// # Participation
    /// Local.
    pub fn is_store_sync(&mut self, bytes: u64) -> bool {
        self.is_store_sync_on(StoreCounter::IMPLICIT, bytes)
    }

    fn is_store_sync_on(&mut self, counter: StoreCounter, bytes: u64) -> bool {
        self.poll();
        let come = self.stored(counter.index()) >= bytes;
        if come {
            self.account(counter, bytes);
        }
        come
    }

    /// Returns when all stores of all nodes have arrived, those on counters included; all are then
    /// accounted for.
    ///
    /// # Participation
    /// Collective.
    #[track_caller]
    pub fn all_store_sync(&mut self) {
        loop {
            self.poll();
            let time = self.served.marks.as_ref().map(Marks::tick);
            let (under_way, stored) = self.stores_under_way();
            if under_way == 0 || !self.going_on() {
                // Subtract exactly the contributed counts: a node that has left the barrier may
                // have stored here already, and setting the counts to zero (Luna 1994, §4.1.1)
                // would lose its bytes.
                self.sent = self.stored_directly().wrapping_neg();
                for (consumed, stored) in self.consumed.iter_mut().zip(stored) {
                    *consumed = consumed.wrapping_add(stored);
                }
                if let (Some(marks), Some(time)) = (&self.served.marks, time) {
                    marks.waited_for(time, None);
                }
                return;
            }
        }
    }

    /// The bytes of all nodes' stores that are not known to have arrived, and the bytes stored here
    /// that are not accounted for, by counter; collective.
    #[track_caller]
    pub(super) fn stores_under_way(&mut self) -> (u64, [u64; STORE_COUNTERS]) {
        let stored: [u64; STORE_COUNTERS] = std::array::from_fn(|counter| self.stored(counter));
        let sent = self.sent.wrapping_add(self.stored_directly());
        let mine = stored.iter().fold(sent, |left, stored| left.wrapping_sub(*stored));
        self.flush();
        let all = self.node.reduce_add(mine);
        self.node.forget_result();
        (all, stored)
    }

    /// Bytes stored here on a counter that have not been accounted for.
    fn stored(&self, counter: usize) -> u64 {
        let all = self.own.stored(counter).wrapping_add(self.served.book.stored(counter));
        all.wrapping_sub(self.consumed[counter])
    }

    /// Accounts for bytes stored here that have been waited for. They are also subtracted from the
    /// bytes that this node has sent, so that the difference of both, which is summed over all
    /// nodes, stays the same.
    fn account(&mut self, counter: StoreCounter, bytes: u64) {
        if let Some(marks) = &self.served.marks {
            marks.waited_for(marks.tick(), Some(counter.index()));
        }
        self.consumed[counter.index()] = self.consumed[counter.index()].wrapping_add(bytes);
        self.sent = self.sent.wrapping_sub(bytes);
    }

    /// The count of bytes that this node has stored directly.
    fn stored_directly(&self) -> u64 {
        self.peers.iter().flat_map(|peer| &peer.totals).fold(0, |sum, total| sum.wrapping_add(*total))
    }

    /// Counts bytes that this node is about to store by a message.
    #[inline]
    pub(crate) fn count_sent(&mut self, bytes: u64) {
        self.sent = self.sent.wrapping_add(bytes);
    }

    /// Counts bytes written directly into the heap of node `to`.
    pub(crate) fn has_stored(&mut self, to: usize, counter: StoreCounter, bytes: u64) {
        if let Some(peer) = self.peers.get_mut(to) {
            peer.count(self.rank, counter, bytes);
        } else {
            // This node's own heap, while others' are not shared.
            self.count_sent(bytes);
            self.served.book.has_stored(counter.index(), bytes);
        }
    }
}
