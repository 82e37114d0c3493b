//! Handling of Ctrl-C without losing results: the signal only sets a flag, and the run ends after
//! the current timing, or at once if that takes long, as when a large problem is simulated.
//!
//! The signals are blocked in every thread and one thread waits for them, which needs no handler
//! and so no unsafe code. A second signal ends the program at once; the journal on disk is complete
//! even then.
//!
//! A process that is killed sends no signal to its children. The children therefore read from a
//! pipe on standard input, whose other end the process holds, and exit at end of file.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Status of a program that was interrupted.
pub(crate) const INTERRUPTED: u8 = 130;

/// How long the current timing may take to end after a signal.
const PATIENCE: Duration = Duration::from_secs(2);

/// Set once the program was asked to stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Watches for SIGINT and SIGTERM from now on. Call it before other threads start: they inherit
    /// the blocked signals.
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
                // Without this thread the program ends after the current timing.
                let _patient = std::thread::Builder::new().name("patience".to_owned()).spawn(|| {
                    std::thread::sleep(PATIENCE);
                    std::process::exit(i32::from(INTERRUPTED));
                });
            }
        };
        // Without this thread a signal kills the program at once; the journal is kept.
        if std::thread::Builder::new().name("signals".to_owned()).spawn(watch).is_err() {
            let _unblocked = signals.thread_unblock();
        }
    }

    /// On this system signals are not handled; an interrupted run still keeps its journal.
    #[cfg(not(unix))]
    pub(crate) fn watch(&self) {}
}

/// Ends this process when its standard input ends. Under `mpirun` only node 0 has one, and its end
/// ends the job.
pub(crate) fn end_with_stdin() {
    let wait = || {
        let mut byte = [0];
        while std::io::stdin().read(&mut byte).is_ok_and(|count| count > 0) {}
        std::process::exit(i32::from(INTERRUPTED));
    };
    // Without this thread the program ends in its own time.
    let _unwatched = std::thread::Builder::new().name("stdin".to_owned()).spawn(wait);
}
