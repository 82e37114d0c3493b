//! Atomic operations on words, and procedures that run at the owner.

use crate::counter::StoreCounter;
use crate::pointer::Global;
use crate::segment::{Segment, WORD};
use crate::space::Space;
use crate::sync::{AtomicU64, Ordering};
use crate::wire::{Header, STORED};
use bytemuck::Pod;
use std::marker::PhantomData;
use std::rc::Rc;
use strata_runtime::message::{Request, Requested};

/// An atomic change of a word: no other change occurs between its read and its write. Sums wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Replaces the word.
    Set,
    /// Adds to the word.
    Add,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

impl Change {
    const ALL: [Self; 5] = [Self::Set, Self::Add, Self::And, Self::Or, Self::Xor];

    /// Its number, counted from 1.
    pub(crate) fn index(self) -> usize {
        self as usize + 1
    }

    pub(crate) fn of(index: usize) -> Self {
        Self::ALL[(index - 1) % Self::ALL.len()]
    }
}

#[inline]
pub(crate) fn apply(word: &AtomicU64, change: Change, operand: u64) -> u64 {
    let order = Ordering::SeqCst;
    match change {
        Change::Set => word.swap(operand, order),
        Change::Add => word.fetch_add(operand, order),
        Change::And => word.fetch_and(operand, order),
        Change::Or => word.fetch_or(operand, order),
        Change::Xor => word.fetch_xor(operand, order),
    }
}

/// Replaces a word if it is `expected`; returns the old one.
#[inline]
pub(crate) fn compare_swap(word: &AtomicU64, expected: u64, new: u64) -> u64 {
    let (Ok(old) | Err(old)) = word.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst);
    old
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u64 {}
    impl Sealed for i64 {}
}

/// Elements on which atomic operations work: `u64` and `i64`.
pub trait Integer: Pod + sealed::Sealed {
    #[doc(hidden)]
    fn word(self) -> u64;
    #[doc(hidden)]
    fn of_word(word: u64) -> Self;
}

impl Integer for u64 {
    #[inline]
    fn word(self) -> u64 {
        self
    }
    #[inline]
    fn of_word(word: u64) -> Self {
        word
    }
}

impl Integer for i64 {
    #[inline]
    fn word(self) -> u64 {
        self.cast_unsigned()
    }
    #[inline]
    fn of_word(word: u64) -> Self {
        word.cast_signed()
    }
}

/// A procedure that runs at the owner of an element; see [`Space::procedure`].
pub struct Procedure<T, A, R> {
    request: Request<[u64; 8]>,
    #[allow(clippy::type_complexity, reason = "only marks the types")]
    types: PhantomData<fn(T, A) -> R>,
}

impl<T, A, R> Clone for Procedure<T, A, R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, A, R> Copy for Procedure<T, A, R> {}

/// Arguments and results are checked at compile time.
struct Fits<A, R>(PhantomData<(A, R)>);

impl<A, R> Fits<A, R> {
    const CHECK: () = assert!(
        size_of::<A>() <= 7 * WORD && size_of::<R>() <= 7 * WORD,
        "arguments and results of procedures have at most 56 bytes"
    );
}

impl Space<'_> {
    /// Changes the integer at `p` atomically, and returns the old one (Split-C's `exchange` is
    /// [`Change::Set`]).
    ///
    /// # Participation
    /// Local. `p` must point into a heap, to a multiple of 8 bytes; otherwise the job ends.
    #[track_caller]
    #[inline]
    pub fn fetch<T: Integer>(&mut self, p: Global<T>, change: Change, operand: T) -> T {
        if let Some(word) = self.word(p) {
            let old = apply(word, change, operand.word());
            self.turn();
            return T::of_word(old);
        }
        self.fetch_other(p, change, operand)
    }

    #[track_caller]
    #[inline(never)]
    fn fetch_other<T: Integer>(&mut self, p: Global<T>, change: Change, operand: T) -> T {
        let at = self.check_word("an atomic operation", p);
        if let Some(segment) = self.direct(p.node()) {
            let old = apply(segment.word(at), change, operand.word());
            self.turn();
            return T::of_word(old);
        }
        T::of_word(self.fetch_far(|space, number| {
            let (wire, to) = (space.wire, p.node());
            wire.change(space, to, p.offset(), (change, operand.word()), number);
        }))
    }

    /// Adds to the integer at `p` atomically, and returns the old one; wraps.
    ///
    /// # Participation
    /// As [`fetch`](Self::fetch).
    #[track_caller]
    #[inline]
    pub fn fetch_add<T: Integer>(&mut self, p: Global<T>, value: T) -> T {
        self.fetch(p, Change::Add, value)
    }

    /// Sets the integer at `p` to 1; returns true if it was 0, which only one node sees.
    ///
    /// # Participation
    /// As [`fetch`](Self::fetch).
    #[track_caller]
    #[inline]
    pub fn test_and_set<T: Integer>(&mut self, p: Global<T>) -> bool {
        self.fetch(p, Change::Set, T::of_word(1)).word() == 0
    }

    /// Replaces the integer at `p` by `new` if it is `expected`.
    ///
    /// # Errors
    /// The integer, if it is not `expected`.
    ///
    /// # Participation
    /// As [`fetch`](Self::fetch).
    #[track_caller]
    #[inline]
    pub fn compare_swap<T: Integer>(&mut self, p: Global<T>, expected: T, new: T) -> Result<(), T> {
        let at = self.check_word("compare_swap", p);
        let (expected, new) = (expected.word(), new.word());
        let old = if let Some(segment) = self.direct(p.node()) {
            let old = compare_swap(segment.word(at), expected, new);
            self.turn();
            old
        } else {
            self.fetch_far(|space, number| {
                let (wire, to) = (space.wire, p.node());
                wire.compare(space, to, p.offset(), [expected, new], number);
            })
        };
        if old == expected { Ok(()) } else { Err(T::of_word(old)) }
    }

    /// Changes the integer at `p` atomically, one-way: it counts as a store of 8 bytes, whose
    /// completion [`store_sync`](Self::store_sync) or [`all_store_sync`](Self::all_store_sync)
    /// reports.
    ///
    /// # Participation
    /// As [`fetch`](Self::fetch).
    #[track_caller]
    #[inline]
    pub fn store_change<T: Integer>(&mut self, p: Global<T>, change: Change, operand: T) {
        self.store_change_on(StoreCounter::IMPLICIT, p, change, operand);
    }

    #[track_caller]
    #[inline]
    pub(crate) fn store_change_on<T: Integer>(
        &mut self,
        counter: StoreCounter,
        p: Global<T>,
        change: Change,
        operand: T,
    ) {
        // The old value is not used, and the count publishes the new one.
        let write = |word: &AtomicU64| {
            apply(word, change, operand.word());
        };
        if !self.store_word(counter, p, write) {
            self.store_change_other(counter, p, change, operand);
        }
    }

    #[track_caller]
    #[inline(never)]
    fn store_change_other<T: Integer>(
        &mut self,
        counter: StoreCounter,
        p: Global<T>,
        change: Change,
        operand: T,
    ) {
        let at = self.check_word("store_change", p);
        if let Some(segment) = self.direct(p.node()) {
            apply(segment.word(at), change, operand.word());
            self.has_stored(p.node(), counter, WORD as u64);
        } else {
            self.count_sent(WORD as u64);
            let wire = self.wire;
            wire.change(self, p.node(), p.offset(), (change, operand.word()), STORED + counter.index());
        }
    }

    /// Registers a procedure that [`at_owner`](Self::at_owner) runs at the owner of an element: it
    /// receives the element and an argument, and returns the new element and a result.
    ///
    /// ```
    /// use strata_global::Space;
    /// use strata_runtime::prelude::*;
    ///
    /// let most = Machine::threads(3)?.run(|node| {
    ///     let mut space = Space::open(node, 1 << 10)?;
    ///     let keep_the_greatest =
    ///         space.procedure(|old: [u64; 3], new: [u64; 3]| (old.max(new), old));
    ///     let best = space.alloc::<[u64; 3]>(1)?;
    ///     let mine = [space.rank() as u64, 2, 3];
    ///     space.at_owner(keep_the_greatest, best.at(0), mine);
    ///     space.barrier();
    ///     Ok(space.read(best.at(0)))
    /// })?;
    /// assert_eq!(most, [[2, 2, 3]; 3]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// Collective: all nodes register procedures of the same types in the same order.
    #[track_caller]
    pub fn procedure<T: Pod, A: Pod, R: Pod>(
        &mut self,
        procedure: impl Fn(T, A) -> (T, R) + 'static,
    ) -> Procedure<T, A, R> {
        let () = Fits::<A, R>::CHECK;
        let own = Rc::clone(&self.served);
        let wire = self.wire;
        let mut handlers = self.handlers();
        let run = move |context: &mut Requested<'_>, [header, data @ ..]: [u64; 8]| {
            let Header { at, number, .. } = Header::of(header);
            let argument = bytemuck::pod_read_unaligned(&bytemuck::bytes_of(&data)[..size_of::<A>()]);
            let result = run_at(&own.segment, at as usize, argument, &procedure);
            // A result without bytes is sent as one byte, because every value has at least one.
            let bytes = if size_of::<R>() == 0 { &[0] } else { bytemuck::bytes_of(&result) };
            context.reply_with_bytes(wire.value, Header { at: 0, length: 1, number }.word(), bytes);
        };
        let request = handlers.request(run);
        self.install(handlers);
        Procedure { request, types: PhantomData }
    }

    /// Runs a procedure on the element at `p`, at its owner, and returns the result.
    ///
    /// Procedures at one owner run one after the other. If the element has 8 bytes, a procedure is
    /// atomic with respect to every other access to it, too; it may then run repeatedly. Other
    /// elements must not be written in other ways meanwhile.
    ///
    /// # Participation
    /// Local; the owner runs it when it polls or waits. `p` must point into a heap.
    #[track_caller]
    pub fn at_owner<T: Pod, A: Pod, R: Pod>(
        &mut self,
        procedure: Procedure<T, A, R>,
        p: Global<T>,
        argument: A,
    ) -> R {
        self.check("at_owner", p, 1);
        let mut result = R::zeroed();
        let mut bytes = [0; 7 * WORD];
        let bytes = &mut bytes[..size_of::<R>().max(1)];
        self.value_far(bytes, |space, number| {
            let mut words = [0; 8];
            words[0] = Header { at: p.offset(), length: 1, number }.word();
            bytemuck::cast_slice_mut(&mut words[1..])[..size_of::<A>()]
                .copy_from_slice(bytemuck::bytes_of(&argument));
            space.send(p.node(), procedure.request, words);
        });
        bytemuck::bytes_of_mut(&mut result).copy_from_slice(&bytes[..size_of::<R>()]);
        result
    }

    /// Sends a message that changes a word, and returns the word's old value.
    #[track_caller]
    fn fetch_far(&mut self, send: impl FnOnce(&mut Self, usize)) -> u64 {
        let mut bytes = [0; WORD];
        self.value_far(&mut bytes, send);
        u64::from_ne_bytes(bytes)
    }
}

/// Runs a procedure on the element at byte `at`.
fn run_at<T: Pod, A: Pod, R: Pod>(
    segment: &Segment,
    at: usize,
    argument: A,
    procedure: &impl Fn(T, A) -> (T, R),
) -> R {
    if size_of::<T>() != WORD || !at.is_multiple_of(WORD) {
        let (new, result) = procedure(segment.read(at), argument);
        segment.write(at, &new, Ordering::SeqCst);
        return result;
    }
    let word = segment.word(at);
    loop {
        let old = word.load(Ordering::SeqCst);
        let (new, result) = procedure(bytemuck::pod_read_unaligned(&old.to_ne_bytes()), argument);
        let new = bytemuck::pod_read_unaligned(bytemuck::bytes_of(&new));
        if compare_swap(word, old, new) == old {
            return result;
        }
    }
}
