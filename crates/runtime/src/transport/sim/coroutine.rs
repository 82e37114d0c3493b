//! Nodes as coroutines: each has its own stack, and one runs at a time, on one thread.

use generator::{Generator, Gn};

/// A program that runs until it [suspends](suspend) itself.
pub(super) struct Coroutine<'a>(Generator<'a, (), ()>);

impl<'a> Coroutine<'a> {
    /// One with a stack of `stack` bytes, of which memory is only taken as it is touched. `body`
    /// does not unwind.
    pub(super) fn new(stack: usize, body: impl FnOnce() + Send + 'a) -> Self {
        Self(Gn::new_opt(stack / size_of::<usize>(), body))
    }

    /// Runs it until it suspends itself or ends; whether it has ended.
    pub(super) fn resume(&mut self) -> bool {
        if !self.0.is_done() {
            self.0.resume();
        }
        self.0.is_done()
    }
}

/// Gives control back to whoever resumed the coroutine that calls this.
pub(super) fn suspend() {
    // The crate would rather have a handle passed down; ours would have to outlive the call that it
    // belongs to.
    #[expect(deprecated, reason = "the only safe way to suspend without a handle")]
    generator::yield_with(());
}
