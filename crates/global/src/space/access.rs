//! Blocking access.

use super::Space;
use crate::pointer::Global;
use crate::segment::word_of;
use crate::sync::{Ordering, fence};
use bytemuck::Pod;
use std::rc::Rc;

/// Blocking accesses between two polls if the doorbell is not rung: a program may wait for a value
/// by reading it repeatedly. A power of two.
pub(super) const TURNS: u32 = 64;
/// Blocking accesses after which a node yields its core if there are more nodes than cores: the
/// awaited value may be another node's to write.
const YIELDS: u32 = 1 << 12;

impl Space<'_> {
    /// Reads an element; returns when it has arrived.
    ///
    /// # Participation
    /// Local. `p` must point into a heap; otherwise the job ends, with the pointer and the place of
    /// the call.
    #[track_caller]
    #[inline]
    pub fn read<T: Pod>(&mut self, p: Global<T>) -> T {
        if let Some(word) = self.word(p) {
            let mut value = T::zeroed();
            bytemuck::bytes_of_mut(&mut value).copy_from_slice(&word.load(Ordering::SeqCst).to_ne_bytes());
            self.turn();
            return value;
        }
        self.read_other(p)
    }

    #[track_caller]
    #[inline(never)]
    fn read_other<T: Pod>(&mut self, p: Global<T>) -> T {
        let at = self.check("read", p, 1);
        if let Some(segment) = self.direct(p.node()) {
            let value = segment.read(at);
            self.turn();
            return value;
        }
        let mut value = T::zeroed();
        self.read_far(p, bytemuck::bytes_of_mut(&mut value));
        value
    }

    /// Writes an element, and returns when it is written.
    ///
    /// # Participation
    /// As [`read`](Self::read).
    #[track_caller]
    #[inline]
    pub fn write<T: Pod>(&mut self, p: Global<T>, value: T) {
        if let Some(word) = self.word(p) {
            word.store(word_of(bytemuck::bytes_of(&value)), Ordering::SeqCst);
            self.turn();
            return;
        }
        self.write_other(p, value);
    }

    #[track_caller]
    #[inline(never)]
    fn write_other<T: Pod>(&mut self, p: Global<T>, value: T) {
        let at = self.check("write", p, 1);
        self.check_result("write", p, bytemuck::bytes_of(&value));
        if let Some(segment) = self.direct(p.node()) {
            segment.write(at, &value, Ordering::SeqCst);
            self.turn();
            return;
        }
        self.write_far(p, bytemuck::bytes_of(&value));
    }

    /// Reads `values.len()` contiguous elements from `p` on; returns when they have arrived.
    ///
    /// # Participation
    /// As [`read`](Self::read).
    #[track_caller]
    pub fn read_slice<T: Pod>(&mut self, p: Global<T>, values: &mut [T]) {
        let at = self.check("read_slice", p, values.len());
        let bytes = bytemuck::cast_slice_mut(values);
        match self.direct(p.node()) {
            Some(segment) => segment.read_bytes(at, bytes),
            None => self.read_far(p, bytes),
        }
    }

    /// Writes elements from `p` on, and returns when they are written.
    ///
    /// # Participation
    /// As [`read`](Self::read).
    #[track_caller]
    pub fn write_slice<T: Pod>(&mut self, p: Global<T>, values: &[T]) {
        let at = self.check("write_slice", p, values.len());
        let bytes = bytemuck::cast_slice(values);
        self.check_result("write_slice", p, bytes);
        match self.direct(p.node()) {
            Some(segment) => {
                segment.write_bytes(at, bytes);
                fence(Ordering::SeqCst);
            }
            None => self.write_far(p, bytes),
        }
    }

    /// Called after an access to this node's own heap or to shared memory, or a one-sided one. Such
    /// accesses poll when the doorbell is rung, or now and then, so that a program may wait by
    /// them.
    #[inline]
    pub(crate) fn turn(&mut self) {
        // Counting costs more than a read: each count waits for the previous one to reach memory.
        if self.doorbell.is_rung() {
            self.turns = self.turns.wrapping_add(1);
            if self.turns & self.turns_mask == 0 {
                self.take_turn();
            }
        }
    }

    #[cold]
    fn take_turn(&mut self) {
        if self.turns_mask == 0 {
            self.flush();
            self.node.answer(&self.doorbell);
        } else if self.poll() == 0 && self.yields && self.turns.is_multiple_of(YIELDS) {
            std::thread::yield_now();
        }
    }

    #[track_caller]
    fn read_far<T>(&mut self, p: Global<T>, bytes: &mut [u8]) {
        let length = bytes.len();
        if let Some(exposed) = self.bulk.one_sided(length) {
            exposed.get(p.node(), p.offset() as usize, bytes);
            return self.turn();
        }
        self.value_far(bytes, |space, number| space.ask(p, length, number));
    }

    #[track_caller]
    fn write_far<T>(&mut self, p: Global<T>, bytes: &[u8]) {
        if let Some(exposed) = self.bulk.one_sided(bytes.len()) {
            exposed.put(p.node(), p.offset() as usize, bytes);
            return self.turn();
        }
        let (wire, phase) = (self.wire, self.blocking);
        let book = Rc::clone(&self.served.book);
        wire.put(self, &book, p.node(), p.offset(), bytes, phase);
        self.wait_until(|| book.pending_in(phase) == 0);
        if self.served.marks.is_some() {
            wire.end(self, &book, p.node(), phase);
            self.wait_until(|| book.pending_in(phase) == 0);
        }
    }

    /// Requests `length` bytes from `p` on, as value `number`.
    #[track_caller]
    pub(crate) fn ask<T>(&mut self, p: Global<T>, length: usize, number: usize) {
        let wire = self.wire;
        if self.served.marks.is_some() {
            let left = self.node.last_result().0;
            wire.tell_left(self, p.node(), left);
        }
        wire.read(self, p.node(), p.offset(), length, number);
    }

    /// Waits for the value that the message of `send` requests.
    #[track_caller]
    pub(crate) fn value_far(&mut self, bytes: &mut [u8], send: impl FnOnce(&mut Self, usize)) {
        if bytes.is_empty() {
            return;
        }
        let number = self.await_value(self.blocking, bytes.len());
        send(self, number);
        let book = Rc::clone(&self.served.book);
        self.wait_until(|| book.take_value(number, bytes));
    }
}
