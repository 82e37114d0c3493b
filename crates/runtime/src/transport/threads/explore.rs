//! Runs a model under loom, and counts the events of its executions.
//!
//! Loom tries only the orders that the model leaves open. A consumer that never yields runs before
//! its producer in every execution and finds an empty queue, so that no mutation of the queue makes
//! it fail. So a model counts the events for which it was written (a take while the producer lives,
//! a sleep while the waker lives), and a model without such events fails.

use loom::model::Builder;
use loom::thread::{JoinHandle, spawn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counters of the events of a model's executions. They are `std`'s atomics: they are not part of
/// the model.
#[derive(Default)]
pub(super) struct Seen {
    executions: AtomicUsize,
    events: AtomicUsize,
    /// Number of threads of this execution that have not ended.
    living: AtomicUsize,
}

/// A thread of a model, until it is dropped at the thread's end.
pub(super) struct Living(Arc<Seen>);

/// Tests by name, each one call.
macro_rules! tests {
    ($($(#[$doc:meta])* $name:ident: $call:expr;)+) => {
        $(
            $(#[$doc])*
            #[test]
            fn $name() {
                $call;
            }
        )+
    };
}
pub(super) use tests;

impl Seen {
    /// Spawns one more thread whose events are awaited.
    pub(super) fn spawn<T: 'static>(
        self: &Arc<Self>,
        program: impl FnOnce() -> T + 'static,
    ) -> JoinHandle<T> {
        let living = self.thread();
        spawn(move || {
            let _living = living;
            program()
        })
    }

    /// Registers one more thread whose events are awaited; the result is moved into the thread.
    pub(super) fn thread(self: &Arc<Self>) -> Living {
        self.living.fetch_add(1, Ordering::Relaxed);
        Living(Arc::clone(self))
    }

    /// Records an event in the calling thread; it is counted if another thread still has steps to
    /// do.
    pub(super) fn event(&self) {
        if self.living.load(Ordering::Relaxed) > 0 {
            self.before_join();
        }
    }

    /// As [`Seen::event`], for a thread's last step that others can observe: counted if the calling
    /// thread has not joined that thread. Loom need not stop the thread before steps that change
    /// nothing.
    pub(super) fn before_join(&self) {
        self.events.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        self.0.living.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Explores `model`, with at most this many preemptions in an execution, and fails if none of its
/// executions had an event. `events` names the events.
pub(super) fn explore(
    preemptions: Option<usize>,
    events: &str,
    model: impl Fn(&Arc<Seen>) + Send + Sync + 'static,
) {
    let seen = Arc::new(Seen::default());
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    let counted = Arc::clone(&seen);
    builder.check(move || {
        counted.executions.fetch_add(1, Ordering::Relaxed);
        counted.living.store(0, Ordering::Relaxed);
        model(&counted);
    });
    let count = seen.events.load(Ordering::Relaxed);
    strata_select::say!("loom: {} executions, {count} {events}", seen.executions.load(Ordering::Relaxed));
    assert!(count > 0, "the model explores no {events}: it tests nothing between its threads");
}
