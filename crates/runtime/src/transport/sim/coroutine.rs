//! Nodes as coroutines: each has its own stack, and one runs at a time, on one thread.

use generator::{Generator, Gn};

/// A program that runs until it [suspends](suspend) itself.
pub(super) struct Coroutine<'a>(Generator<'a, (), ()>);

impl<'a> Coroutine<'a> {
    /// A coroutine with a stack of `stack` bytes, whose memory is allocated when touched. `body`
    /// must not unwind.
    pub(super) fn new(stack: usize, body: impl FnOnce() + Send + 'a) -> Self {
        Self(Gn::new_opt(stack / size_of::<usize>(), body))
    }

    /// Runs it until it suspends itself or ends; returns true if it has ended.
    pub(super) fn resume(&mut self) -> bool {
        if !self.0.is_done() {
            self.0.resume();
        }
        self.0.is_done()
    }
}

/// Returns control to the code that resumed the calling coroutine.
pub(super) fn suspend() {
    // The crate passes a handle down instead; our handle would have to outlive its call.
    #[expect(deprecated, reason = "the only safe way to suspend without a handle")]
    generator::yield_with(());
}
