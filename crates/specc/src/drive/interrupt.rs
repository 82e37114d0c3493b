//! Ctrl-C in `specc`: a count of signals that the waiting loops poll.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts how often somebody asked us to stop (SIGINT, SIGTERM, SIGHUP).
#[derive(Clone, Copy, Debug)]
pub struct Interrupt(&'static AtomicUsize);

impl Interrupt {
    /// Starts to listen, the first time it is called. Where a handler cannot be set, Ctrl-C ends
    /// `specc` at once.
    #[must_use]
    pub fn listen() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        static LISTENING: OnceLock<bool> = OnceLock::new();
        LISTENING.get_or_init(|| {
            ctrlc::set_handler(|| {
                COUNT.fetch_add(1, Ordering::Relaxed);
            })
            .is_ok()
        });
        Self(&COUNT)
    }

    /// The number of signals so far.
    #[must_use]
    pub fn count(self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
