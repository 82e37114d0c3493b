//! Doorbells: for nodes that access shared memory and do nothing else, they tell whether a poll may
//! find something.
//!
//! Such a node must receive now and then, because its awaited value may be the work of one of its
//! own handlers. Counting its accesses, or polling its queues, takes longer than an access to
//! shared memory. A doorbell is one load of a line that is not written while no message arrives.
//!
//! The handshake is that of [waiting](super::wait): the node silences its doorbell, then polls; a
//! sender makes its packet visible, then rings. A sequentially consistent fence between the two
//! steps on each side ensures that the poll finds the packet, or the doorbell has been rung after
//! it was silenced.

use super::sync::{AtomicUsize, Ordering, fence};
use std::fmt;
use std::sync::Arc;

/// A flag on its own cache lines.
#[repr(align(128))]
struct Flag(AtomicUsize);

/// A flag that is set when a [poll](crate::Node::poll) may find something: see
/// [`Node::doorbell`](crate::Node::doorbell). Clones share the doorbell.
#[derive(Clone)]
pub struct Doorbell(Arc<Flag>);

/// A doorbell that has been rung, and is never silenced.
impl Default for Doorbell {
    fn default() -> Self {
        Self(Arc::new(Flag(AtomicUsize::new(1))))
    }
}

impl Doorbell {
    /// True if it was rung since it was last [answered](crate::Node::answer).
    #[must_use]
    #[inline]
    pub fn is_rung(&self) -> bool {
        self.0.0.load(Ordering::Relaxed) != 0
    }

    /// Rings the doorbell. Between the event that it signals and this call, the caller must have
    /// passed a sequentially consistent fence.
    #[inline]
    pub(crate) fn ring(&self) {
        // Senders find the line in their caches as long as it is not silenced.
        if !self.is_rung() {
            self.0.0.store(1, Ordering::Relaxed);
        }
    }

    /// Silences the doorbell, before a poll.
    #[inline]
    pub(crate) fn silence(&self) {
        self.0.0.store(0, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }
}

impl fmt::Debug for Doorbell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Doorbell({})", if self.is_rung() { "rung" } else { "silent" })
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::transport::threads::explore::explore;

    /// Of two senders, neither is missed both by the poll and by the doorbell.
    #[test]
    fn what_the_poll_misses_rings() {
        explore(None, "packets found while a sender lives", |seen| {
            let bell = Doorbell::default();
            let packets = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
            let senders = [0, 1].map(|i| {
                let (bell, packets) = (bell.clone(), Arc::clone(&packets));
                seen.spawn(move || {
                    packets[i].store(1, Ordering::Release);
                    fence(Ordering::SeqCst);
                    bell.ring();
                })
            });
            bell.silence();
            let found = [0, 1].map(|i| packets[i].load(Ordering::Acquire) == 1);
            found.into_iter().filter(|found| *found).for_each(|_| seen.event());
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            assert!(bell.is_rung() || found == [true; 2], "missed: {found:?}");
        });
    }
}
