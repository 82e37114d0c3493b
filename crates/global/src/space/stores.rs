//! One-way stores, and the detection of their arrival.

use super::Space;
use crate::checker::Marks;
use crate::pointer::Global;
use crate::segment::word_of;
use crate::sync::{AtomicU64, Ordering};
use crate::wire::STORED;
use bytemuck::Pod;
use std::rc::Rc;
use std::sync::Arc;

impl Space<'_> {
    /// Writes an element one-way: this node is not notified of its arrival. The receiver detects it
    /// with [`store_sync`](Self::store_sync), or all nodes together with
    /// [`all_store_sync`](Self::all_store_sync).
    ///
    /// # Participation
    /// As [`read`](Self::read). While there is no room for a message, the node receives messages.
    #[track_caller]
    #[inline]
    pub fn store<T: Pod>(&mut self, p: Global<T>, value: T) {
        let write = |word: &AtomicU64| word.store(word_of(bytemuck::bytes_of(&value)), Ordering::Relaxed);
        if !self.store_word(p, write) {
            self.store_other(p, value);
        }
    }

    #[track_caller]
    #[inline(never)]
    fn store_other<T: Pod>(&mut self, p: Global<T>, value: T) {
        let at = self.check("store", p, 1);
        if let Some(segment) = self.direct(p.node()) {
            segment.write(at, &value, Ordering::Relaxed);
            self.has_stored(p.node(), size_of::<T>() as u64);
        } else {
            self.store_far(p, bytemuck::bytes_of(&value));
        }
    }

    /// Writes elements from `p` on, one-way.
    ///
    /// # Participation
    /// As [`store`](Self::store).
    #[track_caller]
    pub fn store_slice<T: Pod>(&mut self, p: Global<T>, values: &[T]) {
        let at = self.check("store_slice", p, values.len());
        let bytes: &[u8] = bytemuck::cast_slice(values);
        if let Some(segment) = self.direct(p.node()) {
            segment.write_bytes(at, bytes);
            self.has_stored(p.node(), bytes.len() as u64);
        } else {
            self.store_far(p, bytes);
        }
    }

    #[track_caller]
    fn store_far<T>(&mut self, p: Global<T>, bytes: &[u8]) {
        self.count_sent(bytes.len() as u64);
        if !self.gather(p.node(), p.offset(), bytes, STORED) {
            let wire = self.wire;
            wire.write(self, p.node(), p.offset(), bytes, STORED);
        }
    }

    /// Waits until `bytes` more bytes have been stored here, and accounts for them.
    ///
    /// # Participation
    /// Local. If the bytes never arrive, the watchdog ends the job and reports the number that
    /// have.
    #[track_caller]
    pub fn store_sync(&mut self, bytes: u64) {
        self.flush();
        let (own, book, consumed) = (Arc::clone(&self.own), Rc::clone(&self.served.book), self.consumed);
        self.node.wait_for_bytes(bytes, || own.stored().wrapping_add(book.stored()).wrapping_sub(consumed));
        self.account(bytes);
    }

    /// True if `bytes` more bytes have been stored here; they are then accounted for. Polls.
    ///
    /// # Participation
    /// Local.
    pub fn is_store_sync(&mut self, bytes: u64) -> bool {
        self.poll();
        let come = self.stored() >= bytes;
        if come {
            self.account(bytes);
        }
        come
    }

    /// Returns when all stores of all nodes have arrived.
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
                self.consumed = self.consumed.wrapping_add(stored);
                if let (Some(marks), Some(time)) = (&self.served.marks, time) {
                    marks.waited_for(time);
                }
                return;
            }
        }
    }

    /// The bytes of all nodes' stores that are not known to have arrived, and the bytes stored here
    /// that are not accounted for; collective.
    #[track_caller]
    pub(super) fn stores_under_way(&mut self) -> (u64, u64) {
        let stored = self.stored();
        let mine = self.sent.wrapping_add(self.stored_directly()).wrapping_sub(stored);
        self.flush();
        let all = self.node.reduce_add(mine);
        self.node.forget_result();
        (all, stored)
    }

    /// Bytes stored here that have not been accounted for.
    fn stored(&self) -> u64 {
        self.own.stored().wrapping_add(self.served.book.stored()).wrapping_sub(self.consumed)
    }

    /// Accounts for bytes stored here that have been waited for. They are also subtracted from the
    /// bytes that this node has sent, so that the difference of both, which is summed over all
    /// nodes, stays the same.
    fn account(&mut self, bytes: u64) {
        if let Some(marks) = &self.served.marks {
            marks.waited_for(marks.tick());
        }
        self.consumed = self.consumed.wrapping_add(bytes);
        self.sent = self.sent.wrapping_sub(bytes);
    }

    /// The count of bytes that this node has stored directly.
    fn stored_directly(&self) -> u64 {
        self.peers.iter().fold(0, |sum, peer| sum.wrapping_add(peer.total))
    }

    /// Counts bytes that this node is about to store by a message.
    #[inline]
    pub(crate) fn count_sent(&mut self, bytes: u64) {
        self.sent = self.sent.wrapping_add(bytes);
    }

    /// Counts bytes written directly into the heap of node `to`.
    pub(crate) fn has_stored(&mut self, to: usize, bytes: u64) {
        if let Some(peer) = self.peers.get_mut(to) {
            peer.total = peer.total.wrapping_add(bytes);
            peer.segment.has_stored(self.rank, peer.total);
        } else {
            // This node's own heap, while others' are not shared.
            self.count_sent(bytes);
            self.served.stored(bytes);
        }
    }
}
