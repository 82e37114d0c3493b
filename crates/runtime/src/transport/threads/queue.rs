//! A bounded queue of one producer and one consumer, without locks.
//!
//! Only the producer advances `tail`, only the consumer advances `head`; each publishes a slot by a
//! release store that the other acquires (Lamport, *Specifying concurrent program modules*, 1983).
//! Each counter has its own cache line. Elements are moved, never copied.

#![allow(unsafe_code, reason = "slots are shared memory whose ownership the two counters hand over")]

use super::sync::{Counter, Ordering, UnsafeCell};
use std::mem::MaybeUninit;

/// A queue of at most `N` elements; `N` is a power of two.
pub(super) struct Queue<T, const N: usize> {
    /// Number of elements taken so far, wrapping.
    head: Counter,
    /// Number of elements put so far, wrapping.
    tail: Counter,
    slots: [UnsafeCell<MaybeUninit<T>>; N],
}

// SAFETY: a slot is accessed by the producer only while head..tail does not cover it and by the
// consumer only while it does; both moves of the boundary are release/acquire pairs. The element
// itself changes threads: `T: Send`.
unsafe impl<T: Send, const N: usize> Sync for Queue<T, N> {}

impl<T, const N: usize> Queue<T, N> {
    const POWER: () = assert!(N.is_power_of_two(), "wrapping counters need a power of two");

    pub(super) fn new() -> Self {
        let () = Self::POWER;
        let slots = std::array::from_fn(|_| UnsafeCell::new(MaybeUninit::uninit()));
        Self { head: Counter::default(), tail: Counter::default(), slots }
    }

    /// Appends `value`, or returns it if the queue is full.
    ///
    /// # Safety
    /// No other thread may be in `push` of this queue.
    pub(super) unsafe fn push(&self, value: T) -> Result<(), T> {
        let tail = self.tail.0.load(Ordering::Relaxed);
        if tail.wrapping_sub(self.head.0.load(Ordering::Acquire)) == N {
            return Err(value);
        }
        // SAFETY: the slot is outside head..tail, so the consumer does not access it, and there is
        // no other producer.
        self.slots[tail % N].with_mut(|slot| unsafe { (*slot).write(value) });
        self.tail.0.store(tail.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    /// Takes the first element, if there is one.
    ///
    /// # Safety
    /// No other thread may be in `pop` of this queue.
    pub(super) unsafe fn pop(&self) -> Option<T> {
        let head = self.head.0.load(Ordering::Relaxed);
        if head == self.tail.0.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: the slot is inside head..tail: the producer wrote it before the store of `tail`
        // that was acquired, and does not access it until `head` has passed. It is read once, as
        // `head` passes it here.
        let value = self.slots[head % N].with(|slot| unsafe { (*slot).assume_init_read() });
        self.head.0.store(head.wrapping_add(1), Ordering::Release);
        Some(value)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.0.load(Ordering::Relaxed) == self.tail.0.load(Ordering::Acquire)
    }

    pub(super) fn is_full(&self) -> bool {
        self.tail.0.load(Ordering::Relaxed).wrapping_sub(self.head.0.load(Ordering::Acquire)) == N
    }
}

impl<T, const N: usize> Drop for Queue<T, N> {
    fn drop(&mut self) {
        // SAFETY: `&mut self`: no other thread has access.
        while unsafe { self.pop() }.is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn order_is_kept_and_nothing_is_lost_between_two_threads() {
        let queue = Queue::<Box<u64>, 4>::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..20_000u64 {
                    let mut value = Box::new(i);
                    // SAFETY: only this thread pushes.
                    while let Err(back) = unsafe { queue.push(value) } {
                        value = back;
                        std::thread::yield_now();
                    }
                }
            });
            for i in 0..20_000u64 {
                loop {
                    // SAFETY: only this thread pops.
                    if let Some(value) = unsafe { queue.pop() } {
                        assert_eq!(*value, i);
                        break;
                    }
                    std::thread::yield_now();
                }
            }
        });
        assert!(queue.is_empty());
    }

    #[test]
    fn what_was_not_taken_is_dropped_with_the_queue() {
        let shared = Arc::new(());
        let queue = Queue::<Arc<()>, 2>::new();
        // SAFETY: there is only one thread.
        unsafe {
            assert!(queue.push(shared.clone()).is_ok());
            assert!(queue.push(shared.clone()).is_ok());
            assert!(queue.is_full());
            assert!(queue.push(shared.clone()).is_err());
            assert!(queue.pop().is_some());
            assert!(queue.push(shared.clone()).is_ok());
        }
        assert_eq!(Arc::strong_count(&shared), 3);
        drop(queue);
        assert_eq!(Arc::strong_count(&shared), 1);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::Queue;
    use crate::transport::threads::explore::explore;
    use loom::{sync::Arc, thread};

    #[test]
    fn loom_one_producer_and_one_consumer() {
        explore(None, "concurrent takes", |seen| {
            let queue = Arc::new(Queue::<Box<usize>, 2>::new());
            let producer = {
                let queue = Arc::clone(&queue);
                seen.spawn(move || {
                    for i in 0..3 {
                        let mut value = Box::new(i);
                        // SAFETY: only this thread pushes.
                        while let Err(back) = unsafe { queue.push(value) } {
                            assert_eq!(*back, i);
                            value = back;
                            thread::yield_now();
                        }
                    }
                })
            };
            // The last one is dropped by the queue.
            for i in 0..2 {
                loop {
                    // SAFETY: only this thread pops.
                    if let Some(value) = unsafe { queue.pop() } {
                        assert_eq!(*value, i);
                        seen.event();
                        break;
                    }
                    thread::yield_now();
                }
            }
            producer.join().unwrap();
            assert!(!queue.is_empty() && !queue.is_full());
        });
    }
}
