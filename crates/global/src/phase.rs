//! Split-phase access: complete at the end of a closure, or when a counter is completed.

use crate::counter::Counter;
use crate::pointer::Global;
use crate::segment::word_of;
use crate::space::Space;
use crate::sync::{Ordering, fence};
use bytemuck::Pod;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::rc::Rc;

/// A phase: the gets and puts started in it are complete when its closure has returned, or when its
/// [`Counter`] is completed.
///
/// The destination of a get is borrowed until then (`'e` outlives the closure), so that it can be
/// neither read nor written nor dropped before the value has arrived. The phase is also the space,
/// for blocking accesses, stores and phases within this one.
pub struct Phase<'s, 'n, 'e> {
    space: &'s mut Space<'n>,
    /// Behind this reference a destination's lifetime can be neither lengthened nor shortened.
    counter: &'s mut Counter<'e>,
}

impl<'n> Deref for Phase<'_, 'n, '_> {
    type Target = Space<'n>;
    fn deref(&self) -> &Space<'n> {
        self.space
    }
}

impl<'n> DerefMut for Phase<'_, 'n, '_> {
    fn deref_mut(&mut self) -> &mut Space<'n> {
        self.space
    }
}

impl<'n> Space<'n> {
    /// Runs `f`, in which gets and puts are started, and returns when all of them are complete
    /// (Split-C's `sync`).
    ///
    /// ```
    /// use strata_global::Space;
    /// use strata_runtime::prelude::*;
    ///
    /// let pairs = Machine::threads(3)?.run(|node| {
    ///     let mut space = Space::open(node, 1 << 10)?;
    ///     let ranks = space.alloc::<u32>(3)?;
    ///     space.write(ranks.at(space.rank()), 10 + space.rank() as u32);
    ///     space.barrier();
    ///     let (mut first, mut last) = (0, 0);
    ///     space.phase(|phase| {
    ///         phase.get(&mut first, ranks.at(0));
    ///         phase.get(&mut last, ranks.at(2));      // both are under way
    ///     });
    ///     Ok((first, last))
    /// })?;
    /// assert_eq!(pairs, [(10, 12); 3]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// If `f` panics, its destinations have their old or their new values, and pending accesses
    /// complete before the end of any later phase of the node, or of [`free`](Self::free).
    ///
    /// A destination cannot be touched before the end of the phase:
    ///
    /// ```compile_fail,E0502
    /// # use strata_global::{Global, Space};
    /// fn early(space: &mut Space<'_>, p: Global<u64>) {
    ///     let mut value = 0;
    ///     space.phase(|phase| {
    ///         phase.get(&mut value, p);
    ///         println!("{value}");
    ///     });
    /// }
    /// ```
    ///
    /// ```compile_fail,E0506
    /// # use strata_global::{Global, Space};
    /// fn overwritten(space: &mut Space<'_>, p: Global<u64>) {
    ///     let mut value = 0;
    ///     space.phase(|phase| {
    ///         phase.get(&mut value, p);
    ///         value = 1;
    ///     });
    /// }
    /// ```
    ///
    /// Nor can its lifetime end before the phase:
    ///
    /// ```compile_fail,E0597
    /// # use strata_global::{Global, Space};
    /// fn gone(space: &mut Space<'_>, p: Global<u64>) {
    ///     space.phase(|phase| {
    ///         let mut value = 0;
    ///         phase.get(&mut value, p);
    ///     });
    /// }
    /// ```
    ///
    /// # Participation
    /// Local.
    #[track_caller]
    pub fn phase<'e, R>(&mut self, f: impl FnOnce(&mut Phase<'_, 'n, 'e>) -> R) -> R {
        let mut phase = Phase { space: self, counter: &mut Counter::new() };
        let result = f(&mut phase);
        phase.sync();
        result
    }

    /// The gets and puts started here are counted by `counter`: they are complete when
    /// [`complete`](Self::complete) returns.
    ///
    /// # Participation
    /// Local. The counter may not have been used on another space; otherwise the job ends.
    #[track_caller]
    #[inline]
    pub fn on<'s, 'e>(&'s mut self, counter: &'s mut Counter<'e>) -> Phase<'s, 'n, 'e> {
        counter.used = Some(Location::caller());
        if counter.open.as_ref().is_some_and(|(_, book)| !Rc::ptr_eq(book, &self.served.book)) {
            self.node.fail("the counter has been used on another space");
        }
        Phase { space: self, counter }
    }

    /// Waits until everything started on a counter is complete (Split-C's `sync_ctr`).
    ///
    /// # Participation
    /// Local.
    #[track_caller]
    pub fn complete(&mut self, mut counter: Counter<'_>) {
        self.on(&mut counter).sync();
    }
}

impl<'e> Phase<'_, '_, 'e> {
    /// Starts to read the element at `p` into `into`.
    ///
    /// # Participation
    /// Local. `p` must point into a heap; otherwise the job ends.
    #[track_caller]
    #[inline]
    pub fn get<T: Pod>(&mut self, into: &'e mut T, p: Global<T>) {
        if let Some(word) = self.word(p) {
            let word = word.load(Ordering::Acquire);
            bytemuck::bytes_of_mut(into).copy_from_slice(&word.to_ne_bytes());
            return;
        }
        self.get_other(into, p);
    }

    #[track_caller]
    #[inline(never)]
    fn get_other<T: Pod>(&mut self, into: &'e mut T, p: Global<T>) {
        let at = self.check("get", p, 1);
        match self.direct(p.node()) {
            Some(segment) => *into = segment.read(at),
            None => self.get_far(bytemuck::bytes_of_mut(into), p),
        }
    }

    /// Starts to read `into.len()` elements from `p` on.
    ///
    /// # Participation
    /// As [`get`](Self::get).
    #[track_caller]
    pub fn get_slice<T: Pod>(&mut self, into: &'e mut [T], p: Global<T>) {
        let at = self.check("get_slice", p, into.len());
        let bytes = bytemuck::cast_slice_mut(into);
        match self.direct(p.node()) {
            Some(segment) => segment.read_bytes(at, bytes),
            None => self.get_far(bytes, p),
        }
    }

    /// Starts to write an element to `p`.
    ///
    /// # Participation
    /// As [`get`](Self::get).
    #[track_caller]
    #[inline]
    pub fn put<T: Pod>(&mut self, p: Global<T>, value: T) {
        if let Some(word) = self.word(p) {
            word.store(word_of(bytemuck::bytes_of(&value)), Ordering::Release);
            self.counter.wrote = true;
            return;
        }
        self.put_other(p, value);
    }

    #[track_caller]
    #[inline(never)]
    fn put_other<T: Pod>(&mut self, p: Global<T>, value: T) {
        let at = self.check("put", p, 1);
        self.check_result("put", p, bytemuck::bytes_of(&value));
        if let Some(segment) = self.direct(p.node()) {
            segment.write(at, &value, Ordering::Release);
            self.counter.wrote = true;
        } else {
            self.put_far(p, bytemuck::bytes_of(&value));
        }
    }

    /// Starts to write elements from `p` on; `values` may be reused at once.
    ///
    /// # Participation
    /// As [`get`](Self::get).
    #[track_caller]
    pub fn put_slice<T: Pod>(&mut self, p: Global<T>, values: &[T]) {
        let at = self.check("put_slice", p, values.len());
        let bytes = bytemuck::cast_slice(values);
        self.check_result("put_slice", p, bytes);
        if let Some(segment) = self.direct(p.node()) {
            segment.write_bytes(at, bytes);
            self.counter.wrote = true;
        } else {
            self.put_far(p, bytes);
        }
    }

    /// True if everything started in this phase, or on its counter, is complete (Split-C's
    /// `is_sync`, `is_sync_ctr`). Polls.
    ///
    /// # Participation
    /// Local.
    pub fn is_complete(&mut self) -> bool {
        self.poll();
        self.counter.open.as_ref().is_none_or(|(number, book)| book.pending_in(*number) == 0)
    }

    /// Waits until everything started in this phase, or on its counter, is complete.
    ///
    /// # Participation
    /// Local.
    #[track_caller]
    pub fn sync(&mut self) {
        self.counter.used = None;
        if std::mem::take(&mut self.counter.wrote) {
            // All nodes see the writes before this node continues.
            fence(Ordering::SeqCst);
        }
        if let Some((number, book)) = self.counter.open.clone() {
            self.wait_until(|| book.pending_in(number) == 0);
            self.counter.gets.retain_mut(|(value, into)| !book.take_value(*value, into));
            let wire = self.wire;
            for owner in std::mem::take(&mut self.counter.owners) {
                wire.end(self, &book, owner, number);
            }
            self.wait_until(|| book.pending_in(number) == 0);
        }
        self.complete_abandoned();
    }

    #[track_caller]
    fn get_far<T>(&mut self, into: &'e mut [u8], p: Global<T>) {
        if into.is_empty() {
            return;
        }
        if let Some(exposed) = self.bulk.one_sided(into.len()) {
            exposed.get(p.node(), p.offset() as usize, into);
            return self.turn();
        }
        let phase = self.number();
        let length = into.len();
        let number = match self.served.book.await_value(phase, length) {
            Some(number) => number,
            None => {
                // Destinations may be written at any time; complete those of this phase.
                self.sync();
                self.space.await_value(phase, length)
            }
        };
        self.counter.gets.push((number, into));
        self.ask(p, length, number);
    }

    #[track_caller]
    fn put_far<T>(&mut self, p: Global<T>, bytes: &[u8]) {
        if let Some(exposed) = self.bulk.one_sided(bytes.len()) {
            exposed.put(p.node(), p.offset() as usize, bytes);
            return self.turn();
        }
        let (phase, wire) = (self.number(), self.wire);
        if self.gather(p.node(), p.offset(), bytes, phase) {
            return;
        }
        let book = Rc::clone(&self.served.book);
        wire.put(self, &book, p.node(), p.offset(), bytes, phase);
        if self.served.marks.is_some() && !self.counter.owners.contains(&p.node()) {
            self.counter.owners.push(p.node());
        }
    }

    #[track_caller]
    fn number(&mut self) -> usize {
        if let Some((number, _)) = &self.counter.open {
            return *number;
        }
        let book = &self.served.book;
        let number = match book.open_phase() {
            Some(number) => number,
            None => self.too_many(),
        };
        self.counter.open = Some((number, Rc::clone(&self.served.book)));
        number
    }
}
