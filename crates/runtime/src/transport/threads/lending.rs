//! Memory that one thread lends and another one writes: one copy from the memory of one program to
//! that of another.
//!
//! A *desk* has a state, which only the lender changes while nothing is lent, and which the writer
//! changes by an exchange before it writes. So a lender that must go on, because its job has
//! failed, either takes the memory back or waits for the end of one copy. Each loan has a number,
//! so that a writer finds no memory that was lent for something else.

#![allow(unsafe_code, reason = "follows the address that a thread lends to another one")]

use super::sync::{AtomicU64, Ordering, UnsafeCell, spin_loop, yield_now};
use bytemuck::{Pod, cast_slice_mut};
use std::fmt;
use std::mem::take;
use std::ptr;
use std::sync::Arc;

/// Nothing is lent.
const FREE: u64 = 0;
/// The lender stores the address.
const LENDING: u64 = 1;
/// Memory is lent.
const LENT: u64 = 2;
/// The other thread writes it.
const WRITING: u64 = 3;
const WRITTEN: u64 = 4;

/// Bits of a state below the loan's number.
const BITS: u32 = 3;

/// Polls of a writer's end before the lender yields its core.
const SPINS: u32 = 100;

/// The place at which a thread lends memory to another thread of its process. Clones are the same
/// place.
///
/// ```
/// use strata_runtime::memory::LendingDesk;
///
/// let desk = LendingDesk::default();
/// let mut mine = [0; 3];
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         while !desk.write(1, |memory| memory.copy_from_slice(&[7, 8, 9])) {
///             std::thread::yield_now();
///         }
///     });
///     desk.lend(1, &mut mine, || while !desk.is_written(1) { std::thread::yield_now() });
/// });
/// assert_eq!(mine, [7, 8, 9]);
/// ```
#[derive(Clone, Default)]
pub struct LendingDesk(Arc<Desk>);

#[derive(Default)]
struct Desk {
    state: AtomicU64,
    lent: UnsafeCell<Lent>,
}

/// Where the lent memory lies.
struct Lent {
    address: *mut u8,
    bytes: usize,
}

impl Default for Lent {
    fn default() -> Self {
        Self { address: ptr::dangling_mut(), bytes: 0 }
    }
}

// SAFETY: `lent` is written only by the thread that set the state from `FREE` to `LENDING`, and
// read only by the one that set it from `LENT` to `WRITING`.
unsafe impl Sync for Desk {}
// SAFETY: an address without its memory may go to any thread.
unsafe impl Send for Desk {}

/// A state of loan `number`.
fn of(number: u64, state: u64) -> u64 {
    number << BITS | state
}

impl Desk {
    /// Lends memory, which must stay valid, and be accessed by no other code, until
    /// [`take_back`](Self::take_back) has returned.
    fn lend(&self, number: u64, memory: &mut [u8]) {
        let free = self.state.compare_exchange(FREE, LENDING, Ordering::Acquire, Ordering::Relaxed);
        assert!(free.is_ok(), "a desk at which memory is lent already");
        let lent = Lent { address: memory.as_mut_ptr(), bytes: memory.len() };
        // SAFETY: this thread has set the state to `LENDING`, so no other accesses `lent`.
        self.lent.with_mut(|place| unsafe { *place = lent });
        self.state.store(of(number, LENT), Ordering::Release);
    }

    /// Takes the memory back, after a write in progress; returns true if it was written.
    fn take_back(&self, number: u64) -> bool {
        let lent = of(number, LENT);
        if self.state.compare_exchange(lent, FREE, Ordering::Acquire, Ordering::Acquire).is_ok() {
            return false;
        }
        let mut spins = 0;
        while self.state.load(Ordering::Acquire) != of(number, WRITTEN) {
            if spins < SPINS {
                spins += 1;
                spin_loop();
            } else {
                yield_now();
            }
        }
        self.state.store(FREE, Ordering::Release);
        true
    }
}

impl LendingDesk {
    /// Lends `memory` as loan `number` (below 2⁶¹) while `wait` runs, which returns when it is
    /// [written](Self::is_written), or need not be any more; then takes it back, after a write in
    /// progress. Returns true if it has been written.
    ///
    /// # Panics
    /// If memory is lent here already.
    pub fn lend(&self, number: u64, memory: &mut [u8], wait: impl FnOnce()) -> bool {
        /// Takes the memory back, also if `wait` unwinds.
        struct Back<'a>(&'a Desk, u64);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                self.0.take_back(self.1);
            }
        }
        self.0.lend(number, memory);
        let back = Back(&self.0, number);
        wait();
        let Back(desk, number) = *std::mem::ManuallyDrop::new(back);
        desk.take_back(number)
    }

    /// Lends the memory of a vector, as loan `number`, until it is
    /// [taken back](LentVec::take_back).
    ///
    /// # Panics
    /// If memory is lent here already.
    pub fn lend_vec<T: Pod>(&self, number: u64, mut values: Vec<T>) -> LentVec<T> {
        self.0.lend(number, cast_slice_mut(&mut values));
        LentVec { values, number, desk: Some(self.clone()) }
    }

    /// True if loan `number` is lent and has not been written.
    #[must_use]
    pub fn is_lent(&self, number: u64) -> bool {
        self.0.state.load(Ordering::Acquire) == of(number, LENT)
    }

    /// True if loan `number` has been written, and was not taken back.
    #[must_use]
    pub fn is_written(&self, number: u64) -> bool {
        self.0.state.load(Ordering::Acquire) == of(number, WRITTEN)
    }

    /// Writes the memory of loan `number`; false if it is not lent.
    pub fn write(&self, number: u64, write: impl FnOnce(&mut [u8])) -> bool {
        /// Ends the writing, also if `write` unwinds.
        struct End<'a>(&'a Desk, u64);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.state.store(of(self.1, WRITTEN), Ordering::Release);
            }
        }
        let desk = &*self.0;
        let lent = of(number, LENT);
        if desk.state.compare_exchange(lent, WRITING, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        let _end = End(desk, number);
        // SAFETY: this thread has set the state to `WRITING`. Until it is `WRITTEN` the lender does
        // not return from `take_back`, before which the memory is valid, and no other code accesses it.
        desk.lent
            .with(|lent| write(unsafe { std::slice::from_raw_parts_mut((*lent).address, (*lent).bytes) }));
        true
    }
}

/// A vector whose memory is lent at a [desk](LendingDesk). Forgetting it leaks the memory, which
/// stays valid; dropping it takes the memory back first.
#[must_use = "`take_back` returns the vector"]
pub struct LentVec<T> {
    /// Moving the vector does not move its memory. Nothing reads or writes it before it is taken
    /// back.
    values: Vec<T>,
    number: u64,
    /// `None` when it was taken back.
    desk: Option<LendingDesk>,
}

// Not derived: the elements may be written while this is printed.
impl<T> fmt::Debug for LentVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, is_written) = (&self.number, &self.is_written());
        let mut text = f.debug_struct("LentVec");
        text.field("number", number).field("is_written", is_written).finish_non_exhaustive()
    }
}

impl<T> LentVec<T> {
    /// True if the memory has been written.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.desk.as_ref().is_some_and(|desk| desk.is_written(self.number))
    }

    /// Takes the vector back, after a write in progress.
    #[must_use]
    pub fn take_back(mut self) -> Vec<T> {
        if let Some(desk) = self.desk.take() {
            desk.0.take_back(self.number);
        }
        take(&mut self.values)
    }
}

impl<T> Drop for LentVec<T> {
    fn drop(&mut self) {
        if let Some(desk) = self.desk.take() {
            desk.0.take_back(self.number);
        }
    }
}

impl fmt::Debug for LendingDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a lending desk")
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn memory_is_written_once_and_can_be_taken_back() {
        let desk = LendingDesk::default();
        let mut memory = [1, 2];
        assert!(!desk.write(1, |_| panic!("nothing is lent")));
        assert!(!desk.lend(1, &mut memory, || {}), "nobody wrote it");
        assert!(!desk.write(1, |_| panic!("it was taken back")));
        let written = desk.lend(1, &mut memory, || {
            assert!(desk.is_lent(1) && !desk.is_lent(2));
            assert!(!desk.write(2, |_| panic!("another loan")));
            assert!(desk.write(1, |memory| memory[1] = 7));
            assert!(!desk.write(1, |_| panic!("a second time")));
        });
        assert!(written);
        assert_eq!(memory, [1, 7]);
    }

    #[test]
    fn a_vector_is_lent_until_it_is_taken_back() {
        let desk = LendingDesk::default();
        let lent = desk.lend_vec(1, vec![1u32, 2]);
        assert!(!lent.is_written());
        assert!(desk.write(1, |memory| memory[4..].copy_from_slice(&9u32.to_ne_bytes())));
        assert!(lent.is_written());
        assert_eq!(lent.take_back(), [1, 9]);
        drop(desk.lend_vec(1, vec![1u8]));
        assert!(!desk.write(1, |_| panic!("it was dropped")));
    }

    #[test]
    fn a_lender_and_a_writer_that_unwind_leave_the_desk_free() {
        let desk = LendingDesk::default();
        let lender =
            catch_unwind(AssertUnwindSafe(|| desk.lend(1, &mut [1], || panic!("the job has failed"))));
        assert!(lender.is_err());
        let writer = || catch_unwind(AssertUnwindSafe(|| desk.write(1, |_| panic!("too long")))).is_err();
        assert!(desk.lend(1, &mut [1], || assert!(writer())));
        assert!(!desk.lend(1, &mut [2], || {}));
    }

    #[test]
    #[should_panic(expected = "lent already")]
    fn a_desk_lends_one_thing_at_a_time() {
        let desk = LendingDesk::default();
        desk.lend(1, &mut [1], || _ = desk.lend(1, &mut [2], || {}));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::transport::threads::explore::explore;
    use loom::thread::spawn;

    /// Memory of which loom knows who accesses it.
    struct Watched(UnsafeCell<u8>);
    // SAFETY: loom finds accesses that are not ordered; this is what is tested.
    unsafe impl Sync for Watched {}
    // SAFETY: as for `Sync`.
    unsafe impl Send for Watched {}

    /// The memory is the lender's again after the loan; the other thread writes it only before.
    #[test]
    fn loom_memory_is_the_lenders_again_after_the_loan() {
        explore(Some(3), "loans written before their end", |seen| {
            let desk = LendingDesk::default();
            let memory = Arc::new(Watched(UnsafeCell::new(7)));
            let writer = spawn({
                let (desk, memory, seen) = (desk.clone(), Arc::clone(&memory), Arc::clone(seen));
                move || {
                    // SAFETY: lent, as far as the desk is right.
                    let written = desk.write(1, |_| memory.0.with_mut(|byte| unsafe { *byte = 8 }));
                    if written {
                        seen.before_join();
                    }
                    written
                }
            });
            let written = desk.lend(1, &mut [7], yield_now);
            // SAFETY: the loan is over.
            memory.0.with(|byte| assert_eq!(unsafe { *byte }, if written { 8 } else { 7 }));
            assert_eq!(writer.join().unwrap(), written);
        });
    }
}
