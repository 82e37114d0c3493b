//! Memory that nodes share, or expose to each other's one-sided transfers.

use super::Node;
use crate::transport::{Action, Awaited, Call, Doorbell, ExposedWords, LOOKS, SharedWords};
use std::any::Any;
use std::panic::Location;
use std::sync::{Arc, PoisonError};

impl Node {
    /// Gives every node a reference to the value of each node, by rank, if all nodes are threads
    /// of one process. Otherwise `None`, on every node: nodes then exchange messages.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use strata_runtime::prelude::*;
    ///
    /// let sums = Machine::threads(3)?.run(|node| {
    ///     let cells = node.share(Arc::new(AtomicU64::new(0))).unwrap_or_default();
    ///     cells.iter().for_each(|cell| drop(cell.fetch_add(1, Ordering::Relaxed)));
    ///     node.barrier();
    ///     Ok(cells[node.rank()].load(Ordering::Relaxed))
    /// })?;
    /// assert_eq!(sums, [3, 3, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// Collective, with values of the same type; otherwise the job ends.
    #[track_caller]
    pub fn share<T: Any + Send + Sync>(&mut self, value: Arc<T>) -> Option<Vec<Arc<T>>> {
        let call = Call::plain(Action::Share, Location::caller());
        let (rank, size) = (self.rank(), self.size());
        let shelf = self.transport.extras().process?.shelf();
        // No code panics while it holds the lock.
        shelf.lock().unwrap_or_else(PoisonError::into_inner)[rank] = Some(value);
        self.barrier();
        let all: Option<Vec<Arc<T>>> = self.transport.extras().process.and_then(|process| {
            let values = process.shelf().lock().unwrap_or_else(PoisonError::into_inner);
            values.iter().map(|value| Arc::downcast(Arc::clone(value.as_ref()?)).ok()).collect()
        });
        self.barrier();
        if let Some(process) = self.transport.extras().process {
            process.shelf().lock().unwrap_or_else(PoisonError::into_inner)[rank] = None;
        }
        match all {
            Some(all) if all.len() == size => Some(all),
            _ if !self.may_go_on() => None,
            _ => self.misuse(&call, "the nodes share values of different types"),
        }
    }

    /// Zero words for each node, by rank, if the nodes are processes of one host that can access
    /// each other's words directly (with MPI, on Linux). Otherwise `None`, on every node; threads
    /// use [`share`](Self::share). The memory lasts until all nodes have dropped it.
    ///
    /// # Participation
    /// Collective, with equal `words` that memory can hold; otherwise the job ends.
    #[track_caller]
    pub fn share_words(&mut self, words: usize) -> Option<Vec<SharedWords>> {
        self.agree_on_words(&Call::plain(Action::ShareWords, Location::caller()), words);
        if !self.may_go_on() {
            return None;
        }
        let all = self.transport.extras().words.and_then(|all| all.shared_words(words));
        self.barrier();
        all
    }

    /// Zero words of this node that the others write and read by one-sided transfers (of MPI), if
    /// the transport has them. Otherwise `None`, on every node. The memory is freed in the next
    /// call after all nodes have dropped it, and when the process exits; a process that still has
    /// some at its exit ends the job.
    ///
    /// # Participation
    /// Collective, with equal `words` that memory can hold; otherwise the job ends.
    #[track_caller]
    pub fn expose_words(&mut self, words: usize) -> Option<ExposedWords> {
        self.agree_on_words(&Call::plain(Action::ExposeWords, Location::caller()), words);
        if !self.may_go_on() {
            return None;
        }
        let exposed = self.transport.extras().words.and_then(|all| all.exposed_words(words));
        self.barrier();
        exposed
    }

    /// Ends the job unless all nodes request the same number of words, and memory can hold them:
    /// the bounds of another node's words are checked against this node's own number. Receives
    /// messages for which others still wait.
    #[track_caller]
    fn agree_on_words(&mut self, call: &Call, words: usize) {
        if !self.may_go_on() {
            return;
        }
        let asked = self.all_gather(&[words as u64]);
        if let Some(other) = asked.iter().position(|other| *other != words as u64) {
            self.misuse(call, &format!("{words} words, but node {other} asks for {}", asked[other]));
        }
        // The limit of `byte_length`, at which only one node would panic.
        if words > isize::MAX as usize / size_of::<u64>() {
            self.misuse(call, &format!("{words} words are more than memory can hold"));
        }
    }

    /// This node's doorbell, if each node is a thread on its own core: it is rung when a
    /// [poll](Self::poll) may find something, or the job has ended. A program that accesses only
    /// shared memory need not poll before it is rung; then it must [answer](Self::answer).
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn doorbell(&mut self) -> Option<Doorbell> {
        self.transport.extras().process?.doorbell()
    }

    /// [Polls](Self::poll); later messages ring `doorbell`, which must be this node's, again.
    ///
    /// # Participation
    /// Local.
    pub fn answer(&mut self, doorbell: &Doorbell) -> usize {
        doorbell.silence();
        let handled = self.poll();
        if !self.inbox.outbox.is_empty() {
            // Replies that have found no room are sent in a later poll, for which no other node
            // rings.
            doorbell.ring();
        }
        handled
    }

    /// Receives until `came`, which counts bytes that other nodes write here by messages or into
    /// [shared](Self::share) memory, returns at least `bytes`.
    ///
    /// # Participation
    /// Local. If no node can write more, the job ends, and the error has the number of bytes that
    /// have arrived.
    #[track_caller]
    pub fn wait_for_bytes(&mut self, bytes: u64, mut came: impl FnMut() -> u64) {
        let mut call = Call { length: bytes, ..Call::plain(Action::StoreSync, Location::caller()) };
        let mut pauses = 0;
        while self.may_go_on() {
            let mut now = came();
            if now >= bytes {
                return;
            }
            if self.poll_once() > 0 {
                continue;
            }
            for _ in 0..LOOKS {
                std::hint::spin_loop();
                now = came();
                if now >= bytes {
                    return;
                }
            }
            let now = u32::try_from(now).unwrap_or(u32::MAX);
            if now != call.root {
                (call.root, pauses) = (now, 0);
            }
            self.pause(&call, Awaited::Memory { pauses });
            pauses = pauses.saturating_add(1);
        }
    }
}
