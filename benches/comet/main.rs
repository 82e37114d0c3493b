//! CoMet on simulated machines, where the truth is known: the iPSC/860 of Ganapati's thesis (1993,
//! §5.1), LogGP's parameters, and how often made-up runs are marked.
//!
//!     cargo bench -p strata-benches --bench comet
//!
//! All times are simulated, so the tables are the same on every host.

mod drawn;
#[path = "../../crates/comet/tests/it/unseen.rs"]
mod unseen;

use chacha20::ChaCha8Rng;
use clap::Parser;
use rand::{RngExt as _, SeedableRng as _};
use strata_benches::jobs::{platform, simulated};
use strata_benches::{columns, row};
use strata_comet as comet;
use strata_comet::curve::{Curve, Measured};
use strata_comet::series::contaminated;
use strata_comet::suite::usual_sizes;
use strata_model::samples::Timing;
use strata_runtime::prelude::*;
use strata_runtime::simulation::SimulatedMachine;
use strata_sim::Figures;

#[derive(Parser)]
struct Arguments {
    /// Of the machines and runs that are made up
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

strata_benches::main!(all);

fn all(&Arguments { seed }: &Arguments) -> Result<(), String> {
    let ipsc = ipsc860()?;
    let logarithm = logarithm()?;
    let loggp = loggp(seed)?;
    let recovered = drawn::recovered(seed)?;
    let [medians, lines] = drawn::coverage(seed)?;
    let (idle, loaded) = belief(seed);
    strata_benches::summary(&serde_json::json!({
        "bench": "comet", "seed": seed,
        "ipsc860_worst_error": ipsc, "least_r2_over_log_p": logarithm, "loggp_worst_error": loggp,
        "drawn_figures": recovered.figures, "drawn_within_3_per_cent": recovered.close,
        "drawn_worst_error": recovered.worst, "medians_held": medians, "lines_held": lines,
        "idle_runs_marked": idle, "loaded_runs_marked": loaded,
    }));
    Ok(())
}

/// What the test node of a kernel tells.
fn on(
    machine: &SimulatedMachine,
    nodes: usize,
    kernel: impl Fn(&mut Node) -> f64 + Sync,
) -> Result<f64, String> {
    Ok(simulated(machine, nodes, |node| Ok(kernel(node)))?.into_iter().fold(0.0, f64::max))
}

/// The table of the thesis; the greatest relative error.
fn ipsc860() -> Result<f64, String> {
    let ipsc = platform("ipsc860")?;
    let echo = |size: i64, peer| on(&ipsc, 16, move |node| comet::echo(node, size as usize, peer));
    let mut sizes = usual_sizes();
    // Where the command looks for the break.
    sizes.extend([98, 99, 100, 101, 102, 104]);
    let mut points = Vec::new();
    for size in sizes {
        points.push(Measured { size: size as f64, seconds: echo(size, 1)?, error: 0.0 });
    }
    let curve = Curve::fit(&points).ok_or("no curve")?;
    let (Some(short), Some(long), Some(first)) =
        (curve.pieces.first(), curve.pieces.last(), curve.breaks().first().copied())
    else {
        return Err("no pieces".to_owned());
    };
    // Node 15 is four links away.
    let hop = (echo(4000, 15)? - echo(4000, 1)?) / 3.0;
    println!("iPSC/860, 16 nodes\n");
    columns(" | thesis | found | error");
    let mut worst: f64 = 0.0;
    for (what, thesis, found) in [
        ("t_startup up to 100 bytes, µs", 79.0, 1e6 * short.start.value),
        ("t_startup above, µs", 156.0, 1e6 * long.start.value),
        ("t_per_byte up to 100 bytes, µs", 0.63, 1e6 * short.per_byte.value),
        ("t_per_byte above, µs", 0.41, 1e6 * long.per_byte.value),
        ("a further hop above, µs", 25.0, 1e6 * hop),
        ("the last size of the short protocol, bytes", 100.0, first.after),
    ] {
        let error = found / thesis - 1.0;
        worst = worst.max(error.abs());
        println!("| {what} | {thesis} | {found:.3} | {:+.2} % |", 100.0 * error);
    }
    Ok(worst)
}

/// What is timed on each node, in seconds of one call.
type Kernel = fn(&mut Node) -> f64;

/// R² of times over log₂ P, P = 2 to 128; the least.
fn logarithm() -> Result<f64, String> {
    let ipsc = platform("ipsc860")?;
    println!("\nOver log₂ P, P = 2 to 128\n");
    columns(" | R²");
    let kernels: [(&str, Kernel); 4] = [
        ("broadcast of 8 bytes", |node| comet::broadcast(node, 8)),
        ("broadcast of 1024 bytes", |node| comet::broadcast(node, 1024)),
        ("sum", comet::reduce),
        ("barrier", comet::barrier),
    ];
    let mut least: f64 = 1.0;
    for (name, kernel) in kernels {
        let mut times = Vec::new();
        for bits in 1..=7 {
            times.push((f64::from(bits), on(&ipsc, 1 << bits, kernel)?));
        }
        let n = times.len() as f64;
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| times.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(&|t| t.0), mean(&|t| t.1));
        let (xx, yy) = (mean(&|t| (t.0 - x).powi(2)), mean(&|t| (t.1 - y).powi(2)));
        let r2 = mean(&|t| (t.0 - x) * (t.1 - y)).powi(2) / (xx * yy);
        least = least.min(r2);
        println!("| {name} | {r2:.5} |");
    }
    Ok(least)
}

/// LogGP's parameters beside the platforms'; the greatest relative error.
fn loggp(seed: u64) -> Result<f64, String> {
    let mut machines = vec![platform("cm5")?, platform("ethernet-25g")?];
    for number in 0..10 {
        machines.push(unseen::machine(1000 * seed + number)?);
    }
    println!("\nLogGP, small messages of 8 bytes: found over true\n");
    columns("machine | L | o_s | o_r | g | G");
    let mut worst: f64 = 0.0;
    for machine in &machines {
        let truth = Figures::new(machine, 2).map_err(|error| error.to_string())?;
        let sent = on(machine, 2, |node| comet::send_overhead(node, 8))?;
        let received = on(machine, 2, |node| comet::receive_overhead(node, 8))?;
        let look = on(machine, 2, comet::poll)? / 2.0;
        let one_way = on(machine, 2, |node| comet::echo(node, 8, 1))?;
        let gap = |bytes| on(machine, 2, move |node| comet::gap(node, bytes));
        let each = (gap(65_536)? - gap(16_384)?) / 49_152.0;
        let ratios = [
            (one_way - sent - received) / truth.latency.0.seconds(),
            sent / truth.send.seconds(),
            (received - look) / truth.receive.seconds(),
            gap(8)? / truth.gap.seconds(),
            each / truth.gap_byte,
        ];
        worst = ratios.iter().map(|ratio| (ratio - 1.0).abs()).fold(worst, f64::max);
        let cells = std::iter::once(machine.name.clone()).chain(ratios.iter().map(|r| format!("{r:.3}")));
        row(&cells.collect::<Vec<_>>());
    }
    Ok(worst)
}

/// The shares of made-up idle and loaded runs that are marked.
fn belief(seed: u64) -> (f64, f64) {
    const RUNS: usize = 2000;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let run = |random: &mut ChaCha8Rng, loaded: bool| {
        let (points, sweeps) = (random.random_range(10..60usize), random.random_range(10..40usize));
        let noise = [0.01, 0.03, 0.05][random.random_range(0..3)];
        let (slower, part, periods) =
            (random.random_range(1.25..10.0), random.random_range(0.15..0.85), random.random_range(1.0..6.0));
        let begin = random.random::<f64>();
        let mut all = vec![Vec::new(); points];
        for at in 0..points * sweeps {
            let moment = at as f64 / (points * sweeps) as f64;
            let point = (at * 7) % points;
            let is_slow = loaded && (moment * periods + begin).fract() < part;
            let normal = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
            let outlier = if random.random_range(0..100) == 0 { random.random_range(2.0..8.0) } else { 1.0 };
            let seconds = 1e-6
                * 1.2f64.powi(point as i32)
                * (1.0 + noise * normal)
                * outlier
                * if is_slow { slower } else { 1.0 };
            all[point].push(Timing { seconds, moment });
        }
        all
    };
    let mut share = |loaded| {
        let marked = (0..RUNS).filter(|_| contaminated(&run(&mut random, loaded)).is_some()).count();
        marked as f64 / RUNS as f64
    };
    let (idle, loaded) = (share(false), share(true));
    println!("\nMade-up runs that are marked contaminated, of {RUNS}\n");
    columns(" | marked");
    println!("| idle | {:.2} % |", 100.0 * idle);
    println!("| under a load that comes and goes | {:.2} % |", 100.0 * loaded);
    (idle, loaded)
}
