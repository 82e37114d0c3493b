//! Ctrl-C without losing anything: the signal only sets a flag, and the run ends after the timing under way.
//!
//! The signals are blocked in every thread and one thread waits for them, which needs no handler and so no unsafe
//! code. A second signal ends the program at once; the journal on disk is whole even then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Status of a program that was interrupted.
pub(crate) const INTERRUPTED: u8 = 130;

/// Set once somebody asked the program to stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Watches for SIGINT and SIGTERM from now on. Call it before other threads start: they inherit the block.
    #[cfg(unix)]
    pub(crate) fn watch(&self) {
        use nix::sys::signal::{SigSet, Signal};
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGINT);
        signals.add(Signal::SIGTERM);
        if signals.thread_block().is_err() {
            return;
        }
        let interrupt = self.clone();
        let watch = move || {
            while signals.wait().is_ok() {
                if interrupt.is_set() {
                    std::process::exit(i32::from(INTERRUPTED));
                }
                interrupt.set();
            }
        };
        // Without the thread the program cannot be interrupted softly; it still can be killed, and keeps its journal.
        if std::thread::Builder::new().name("signals".to_owned()).spawn(watch).is_err() {
            let _unblocked = signals.thread_unblock();
        }
    }

    /// Signals are not watched here; an interrupted run still keeps its journal.
    #[cfg(not(unix))]
    pub(crate) fn watch(&self) {}
}
