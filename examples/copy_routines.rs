//! Which copy routine is fastest where, on this machine, and by how much; and which mover of blocks.
//!
//!     cargo run --release -p strata-copy --example copy_routines -- [ROUNDS]
//!
//! For each number of bytes and state of the caches: the routine with the least median, `memcpy`'s
//! time over its own, and the three next ones; then the same of blocks at a stride. What won by luck
//! shows in a second run.

use std::env;
use std::process::ExitCode;
use std::time::Instant;

use strata_copy::profile::{Cell, pack, seconds, unpack};
use strata_copy::{movers, routines};

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
    let names: Vec<&str> = routines().iter().map(|routine| routine.name()).collect();
    for (cold, read) in [(false, false), (false, true), (true, false), (true, true)] {
        let target = if read { "read" } else { "left" };
        println!("source {}, target {target}", state(cold));
        for exponent in 6..=26 {
            for shift in [0, 24] {
                let cell = Cell { bytes: 1 << exponent, shift, cold, read };
                let place = format!("{:>9} +{shift:<2}", cell.bytes);
                race(&place, &names, rounds, |which| seconds(&mut now, routines()[which], cell));
            }
        }
    }
    let names: Vec<&str> = movers().iter().map(|mover| mover.name()).collect();
    for (what, unpacked) in [("packed", false), ("unpacked", true)] {
        for cold in [false, true] {
            println!("blocks {what}, {}: bytes and how far apart", state(cold));
            for block in [1, 4, 8, 12, 16, 24, 32, 48, 64, 100, 128, 256, 512, 1024] {
                for stride in [block + 8, block + 1000, 4096] {
                    let place = format!("{block:>6} {stride:>6}");
                    race(&place, &names, rounds, |which| match unpacked {
                        false => pack(&mut now, names[which], block, stride, cold),
                        true => unpack(&mut now, names[which], block, stride, cold),
                    });
                }
            }
        }
    }
    ExitCode::SUCCESS
}

fn state(cold: bool) -> &'static str {
    if cold { "cold" } else { "hot" }
}

/// Prints the first one's time, and which are the fastest beside it.
fn race(place: &str, names: &[&str], rounds: usize, mut sample: impl FnMut(usize) -> f64) {
    let mut timings = vec![Vec::new(); names.len()];
    for _ in 0..rounds {
        for (which, timings) in timings.iter_mut().enumerate() {
            timings.push(sample(which));
        }
    }
    let mut medians: Vec<(f64, &str)> = Vec::new();
    for (name, timings) in names.iter().zip(&mut timings) {
        timings.sort_by(f64::total_cmp);
        medians.push((timings[timings.len() / 2], name));
    }
    let memcpy = medians[0].0;
    medians.sort_by(|a, b| a.0.total_cmp(&b.0));
    let best: Vec<String> =
        medians.iter().take(4).map(|(s, name)| format!("{:.2} {name}", memcpy / s)).collect();
    println!("{place} {:>10.1} ns  {}", memcpy * 1e9, best.join(", "));
}
