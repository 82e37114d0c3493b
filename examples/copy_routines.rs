//! Which copy routine is fastest where, on this machine, and by how much.
//!
//!     cargo run --release -p strata-copy --example copy_routines -- [ROUNDS]
//!
//! For each number of bytes and state of the caches: the routine with the least median, `memcpy`'s
//! time over its own, and the three next ones. What won by luck shows in a second run.

use std::env;
use std::process::ExitCode;
use std::time::Instant;

use strata_copy::profile::{Cell, seconds};
use strata_copy::routines;

#[allow(clippy::disallowed_methods, reason = "a program of its own: nothing else sets its clock")]
fn main() -> ExitCode {
    let rounds = match env::args().nth(1).map_or(Ok(5), |text| text.parse()) {
        Ok(rounds @ 1..=1000) => rounds,
        _ => {
            eprintln!("copy_routines: the argument is a number of rounds, 1 to 1000");
            return ExitCode::from(2);
        }
    };
    let start = Instant::now();
    let mut now = || start.elapsed().as_secs_f64();
    for (cold, read) in [(false, false), (false, true), (true, false), (true, true)] {
        println!(
            "source {}, target {}",
            if cold { "cold" } else { "hot" },
            if read { "read" } else { "left" }
        );
        for exponent in 6..=26 {
            for shift in [0, 24] {
                let cell = Cell { bytes: 1 << exponent, shift, cold, read };
                let mut timings = vec![Vec::new(); routines().len()];
                for _ in 0..rounds {
                    for (routine, timings) in routines().iter().zip(&mut timings) {
                        timings.push(seconds(&mut now, routine, cell));
                    }
                }
                let mut medians: Vec<(f64, &str)> = Vec::new();
                for (routine, timings) in routines().iter().zip(&mut timings) {
                    timings.sort_by(f64::total_cmp);
                    medians.push((timings[timings.len() / 2], routine.name()));
                }
                let memcpy = medians[0].0;
                medians.sort_by(|a, b| a.0.total_cmp(&b.0));
                let best = medians.iter().take(4).map(|(s, name)| format!("{:.2} {name}", memcpy / s));
                let best: Vec<String> = best.collect();
                println!("{:>9} +{shift:<2} {:>10.1} ns  {}", cell.bytes, memcpy * 1e9, best.join(", "));
            }
        }
    }
    ExitCode::SUCCESS
}
