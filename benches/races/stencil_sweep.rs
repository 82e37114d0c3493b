//! Sweeps of a red-black solver beside a loop that only moves memory, alternating in one run.
//!
//!     cargo bench -p strata-benches --bench stencil_sweep
//!
//! The loop is STREAM's triad, a[i] = b[i] + s·c[i] over 32 MiB each, 24 bytes an element. An
//! iteration that looks at the largest update sweeps both colours in one pass, which reads and
//! writes every point once: 16 bytes. Without looks a wave of several iterations goes through the
//! rows, and the bytes that the memory moves are fewer than counted here.

use clap::Parser;
use serde_json::json;
use strata_benches::{Timings, at_least, columns, machine};
use strata_runtime::prelude::*;
use strata_stencil::{Grid, layout::Layout, profile};

const SIDES: [usize; 3] = [512, 2048, 4096];
const ROUNDS: usize = 7;
/// Elements of an array of the loop.
const ELEMENTS: usize = 4 << 20;
/// Points swept in a timing.
const POINTS: usize = 1 << 27;

#[derive(Parser)]
struct Arguments {
    /// How many threads
    #[arg(default_value = "2", value_parser = at_least(1))]
    threads: usize,
}

strata_benches::main!(|&Arguments { threads }: &Arguments| {
    let rates = Machine::threads(threads)?.run(race)?;
    report(threads, rates.first().map_or(&[], Vec::as_slice));
    Ok::<(), Error>(())
});

/// For each side the seconds of a pass of the loop, and of an iteration with and without looks.
fn race(node: &mut Node) -> Result<Vec<Vec<Timings>>, Error> {
    let part = ELEMENTS / node.size();
    let (mut a, b, c) = (vec![0.0_f64; part], vec![1.0_f64; part], vec![2.0_f64; part]);
    let mut all = Vec::new();
    for side in SIDES {
        all.push(strata_benches::race(0..ROUNDS, 0, 3, |_, who| match who {
            0 => Ok(triad(node, &mut a, &b, &c)),
            _ => iteration(node, side, who == 1),
        })?);
    }
    Ok(all)
}

fn triad(node: &mut Node, a: &mut [f64], b: &[f64], c: &[f64]) -> f64 {
    const PASSES: usize = 8;
    node.barrier();
    let start = node.now().get();
    for pass in 0..PASSES {
        let factor = std::hint::black_box(pass as f64);
        a.iter_mut().zip(b.iter().zip(c)).for_each(|(a, (b, c))| *a = *b + factor * *c);
        std::hint::black_box(&mut *a);
    }
    node.barrier();
    (node.now().get() - start) / PASSES as f64
}

fn iteration(node: &mut Node, side: usize, looks: bool) -> Result<f64, Error> {
    // Wide halos, as exchanges are not the subject.
    let layout = Layout::new(1, node.size(), if looks { 2 } else { 16 });
    let iterations = (POINTS / (side * side)).max(16) as u64;
    let time = |node: &mut Node, iterations| {
        let grid = Grid::<f64>::new(side, side).omega(1.5).iterations(iterations);
        let grid = if looks { grid.threshold(0.0) } else { grid.no_threshold() };
        node.barrier();
        let start = node.now().get();
        let solution = profile::solve(&grid, node, layout)?;
        node.barrier();
        assert!(!solution.converged);
        Ok::<f64, Error>(node.now().get() - start)
    };
    // The difference has neither allocation nor initial values in it.
    let short = time(node, iterations / 4)?;
    let long = time(node, iterations)?;
    Ok((long - short) / (iterations - iterations / 4) as f64)
}

fn report(threads: usize, rates: &[Vec<Timings>]) {
    println!("{} threads; {}\n", threads, machine());
    columns("grid | triad, GB/s | iteration with looks | GPts/s | GB/s | of triad | without looks | GPts/s");
    let mut worst = f64::INFINITY;
    let mut rows = Vec::new();
    for (side, timings) in SIDES.iter().zip(rates) {
        let [triad, looks, none] = &timings[..] else { continue };
        let points = (side * side) as f64 / 1e9;
        let memory = 24.0 * ELEMENTS as f64 / 1e9 / triad.median();
        let (with, without) = (points / looks.median(), points / none.median());
        let share = 16.0 * with / memory;
        // 512² points fit the caches.
        worst = if *side > 512 { share.min(worst) } else { worst };
        println!(
            "| {side}² | {memory:.2} | {looks} | {with:.3} | {:.2} | {share:.2} | {none} | {without:.3} |",
            16.0 * with
        );
        rows.push(json!({"side": side, "points_per_ns": with, "points_per_ns_in_waves": without, "of_triad": share}));
    }
    strata_benches::summary(&json!({
        "bench": "stencil_sweep", "threads": threads, "least_share_beyond_cache": worst, "grids": rows,
    }));
}
