//! Programs that copy like NAS MG and CG, without and with tuned copies (Borg 2006, tables 6.1 and
//! 6.2, where tuning lost 0.15 and 0.20 %).
//!
//! One node's share, on one core: what is sent is copied to a slot, what is received out of it, and
//! the work between reads what has come.

use crate::{Run, tune};
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Instant;
use strata_benches::{Timings, columns, turns};
use strata_runtime::Error;
use strata_runtime::copy::Hint;
use strata_runtime::tune::copy;
use strata_tune::stats::{Moments, welch};
use strata_tune::{Options, Phase, Tuner};

/// A node's memory: what it computes on, and the slot through which messages pass.
struct Memory {
    grid: Vec<u8>,
    halo: Vec<u8>,
    slot: Vec<u8>,
}

impl Memory {
    fn new() -> Self {
        Self { grid: vec![1; 1 << 20], halo: vec![1; 1 << 18], slot: vec![0; 1 << 18] }
    }

    /// Reads and changes `bytes` of the grid.
    fn work(&mut self, bytes: usize) {
        for part in self.grid[..bytes].chunks_mut(self.halo.len()) {
            for (grid, halo) in part.iter_mut().zip(&self.halo) {
                *grid = grid.wrapping_mul(3).wrapping_add(*halo);
            }
        }
    }
}

type Program = fn(&mut Memory, &mut Tuner, u32);

/// V-cycles: at each level, halos of 8 to 131,072 bytes in three directions, and work on the level.
fn multigrid(memory: &mut Memory, tuner: &mut Tuner, cycles: u32) {
    for _ in 0..cycles {
        for level in (3..=17).rev().chain(4..17) {
            let bytes = 1usize << level;
            for direction in 0..3 {
                let at = direction * bytes;
                let Memory { grid, halo, slot } = memory;
                copy(tuner, Hint::default(), &mut slot[..bytes], &grid[at..at + bytes]);
                copy(tuner, Hint::default(), &mut halo[..bytes], &slot[..bytes]);
            }
            memory.work(4 * bytes);
            tuner.mark("norm");
        }
    }
}

/// Outer iterations of 25 inner ones, each with exchanges of 56,000 bytes and a sum.
fn conjugate(memory: &mut Memory, tuner: &mut Tuner, outer: u32) {
    const BYTES: usize = 56_000;
    for _ in 0..outer {
        for _ in 0..25 {
            for _ in 0..2 {
                let Memory { grid, halo, slot } = memory;
                copy(tuner, Hint::default(), &mut slot[..BYTES], &grid[..BYTES]);
                copy(tuner, Hint::default(), &mut halo[..BYTES], &slot[..BYTES]);
                memory.work(2 * BYTES);
            }
            tuner.mark("sum");
        }
        memory.work(8 * BYTES);
        tuner.mark("norm");
    }
}

pub(crate) fn measure(run: Run) -> Result<Value, Error> {
    let rounds = if run.quick { 10 } else { 60 };
    println!("## Programs with tuned copies, {rounds} rounds\n");
    columns("program |  | a run | against `off`, 99 % | lower quartiles | significant loss");
    let mut summary = Vec::new();
    let programs: [(&str, Program, u32); 2] = [("like MG", multigrid, 200), ("like CG", conjugate, 100)];
    for (name, program, length) in programs {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("found.json");
        let mut memory = Memory::new();
        // Enough runs for every search to end; each goes on where the last one ended.
        let (mut learning, mut started) = (0, 0.0);
        let report = loop {
            let mut tuner = Tuner::new(name, tune(&file, run.seed))?;
            let start = Instant::now();
            program(&mut memory, &mut tuner, length);
            started += start.elapsed().as_secs_f64();
            learning += 1;
            let report = tuner.close()?;
            let ended = |phase| matches!(phase, Phase::Adopted | Phase::Default);
            if learning >= 200 || report.intervals.iter().all(|each| ended(each.phase)) {
                break report;
            }
        };
        let adopted = report.intervals.iter().filter(|each| each.phase == Phase::Adopted).count();
        let with_knobs = report.intervals.iter().filter(|each| !each.knobs.is_empty()).count();
        let mut times = vec![Vec::new(); 3];
        for round in 0..rounds {
            for at in turns(round, 3) {
                let none = folder.path().join("none.json");
                let mut tuner = match at {
                    0 => Tuner::new(name, Options::default())?,
                    1 => Tuner::new(name, tune(&file, run.seed))?,
                    _ => Tuner::new(name, tune(&none, run.seed))?,
                };
                // Reading what was found has filled the caches with other things.
                program(&mut memory, &mut Tuner::new(name, Options::default())?, 10);
                let start = Instant::now();
                program(&mut memory, &mut tuner, length);
                times[at].push(start.elapsed().as_secs_f64());
                // Later runs go on where the last one ended, and so do their rests.
                if at == 1 {
                    tuner.close()?;
                }
            }
        }
        black_box(&memory.grid);
        let clipped = |times: &[f64]| -> Moments {
            let mut sorted = times.to_vec();
            sorted.sort_by(f64::total_cmp);
            let most = sorted[(sorted.len() - 1) * 9 / 10];
            times.iter().map(|time| time.min(most)).collect()
        };
        let none = clipped(&times[0]);
        // Runs that nothing disturbed, on a machine that is not quiet.
        let quartile = |times: &[f64]| Timings::from_iter(times.iter().copied()).quantile(0.25);
        let kinds = [
            format!("`off`; {learning} runs of {:.1} ms learned", 1e3 * started / f64::from(learning)),
            format!("later runs: {adopted} of {with_knobs} intervals adopted another copy"),
            "each the first run, searching".to_owned(),
        ];
        for (at, kind) in kinds.iter().enumerate() {
            let mine = clipped(&times[at]);
            let Some(more) = welch(&mine, &none, 0.99) else { continue };
            let share = |seconds: f64| format!("{:+.2} %", 100.0 * seconds / none.mean);
            let interval =
                format!("{} ± {}", share(more.mean), share(more.half_width).trim_start_matches('+'));
            let undisturbed = quartile(&times[at]) - quartile(&times[0]);
            let loss = if at > 0 && more.is_greater() { "**yes**" } else { "no" };
            println!(
                "| {name} | {kind} | {:.2} ms | {interval} | {} | {loss} |",
                1e3 * mine.mean,
                share(undisturbed)
            );
            if at > 0 {
                summary.push(json!({
                    "program": name, "run": if at == 1 { "later" } else { "first" },
                    "more": more.mean / none.mean, "half_width": more.half_width / none.mean, "undisturbed": undisturbed / none.mean,
                    "loss": more.is_greater(), "adopted": adopted, "intervals": with_knobs,
                }));
            }
        }
    }
    println!();
    Ok(Value::Array(summary))
}
