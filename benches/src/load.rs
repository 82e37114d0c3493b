//! Other programs beside a measurement, made up: threads that compute and rest.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What threads do in a period: how many of them compute, for how many seconds, and for how many
/// all rest then.
pub type Period = (usize, f64, f64);

/// Does `work` while at most so many threads compute and rest, period by period, by a script.
pub fn beside<T>(threads: usize, script: impl Fn(u64) -> Period + Sync, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (over, script) = (&over, &script);
            scope.spawn(move || {
                for (computing, busy, rest) in (0..).map(script) {
                    let start = Instant::now();
                    let within =
                        |seconds: f64| start.elapsed().as_secs_f64() < seconds && !over.load(Relaxed);
                    while thread < computing && within(busy) {
                        std::hint::black_box((0..10_000u64).sum::<u64>());
                    }
                    while within(busy + rest) {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    if over.load(Relaxed) {
                        return;
                    }
                }
            });
        }
        let result = work();
        over.store(true, Relaxed);
        result
    })
}
