//! Times without the waits for a processor that others use.

use std::fs::read_to_string;
use std::time::Instant;

/// One timing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// In seconds, without waits that the system tells of.
    pub seconds: f64,
    /// Whether the thread has waited for a processor meanwhile.
    pub disturbed: bool,
}

/// Times what `work` does on this thread, and the waits for it, on any thread.
pub fn timed(work: impl FnOnce()) -> Timing {
    let before = waited();
    let begun = Instant::now();
    work();
    let seconds = begun.elapsed().as_secs_f64();
    let wait = waited() - before;
    // A wait may have been in between the clocks.
    Timing { seconds: if wait < seconds { seconds - wait } else { seconds }, disturbed: wait > 0.0 }
}

/// The seconds that this thread has waited for a processor; 0 where the system does not tell.
fn waited() -> f64 {
    let text = read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: Option<f64> = text.split_whitespace().nth(1).and_then(|word| word.parse().ok());
    nanoseconds.unwrap_or(0.0) * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_sleep_is_no_wait_for_a_processor() {
        let timing = timed(|| std::thread::sleep(Duration::from_millis(20)));
        assert!(timing.seconds >= 0.0199 || timing.disturbed, "{timing:?}");
        assert!(timing.seconds > 0.0);
    }
}
