//! How much slower the layout, width of halo and way of exchange that models choose are than the
//! fastest, on this machine.
//!
//!     cargo bench -p strata-benches [--features mpi] --bench stencil_regret
//!
//! On 1, 2 and 4 threads, and with the feature on as many processes of MPI, an iteration on grids
//! that were not measured is timed with every layout, way and width, in rounds, the order turning.
//! The least of many noisy medians is lower than the least time. So the layout that is the fastest
//! in the odd rounds is compared with the choice in the even rounds, and the other way round. The
//! regret is by how much the choice takes longer, the mean of both; chance may make it negative.

use chacha20::ChaCha8Rng;
use clap::Parser;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use strata_benches::{Timings, columns, machine, turns};
use strata_runtime::prelude::*;
use strata_stencil::{Grid, Way, layout::Layout, profile};

const ROUNDS: usize = 20;

/// Regrets above this are printed one by one.
const NOTABLE: f64 = 0.05;

#[derive(Clone, Copy, Parser)]
struct Arguments {
    /// Grids on each number of nodes
    #[arg(default_value_t = 20)]
    grids: usize,
    /// Of the grids that are drawn
    #[arg(default_value_t = 3)]
    seed: u64,
}

strata_benches::main!(|arguments: &Arguments| {
    let judge = |node: &mut Node| judge(node, arguments);
    if strata_benches::is_rank() {
        let result = strata_runtime::launch(judge).map_err(|error| error.to_string())?;
        result.iter().for_each(strata_benches::hand_over);
        return Ok(());
    }
    outside(judge)
});

fn outside(judge: impl Fn(&mut Node) -> Result<Value, Error> + Sync) -> Result<(), String> {
    println!("{}\nmedians of {} rounds\n", machine(), ROUNDS / 2);
    columns("transport | nodes | grids | right | mean regret | worst | where | taken | fastest");
    let mut results = Vec::new();
    for nodes in [1, 2, 4] {
        let run = Machine::threads(nodes).and_then(|machine| machine.run(&judge));
        results.extend(run.map_err(|e| e.to_string())?.into_iter().take(1));
        #[cfg(feature = "mpi")]
        results.extend(strata_benches::mpirun(nodes)?);
    }
    strata_benches::summary(&json!({ "bench": "stencil_regret", "results": results }));
    Ok(())
}

/// Times all layouts on grids; node 0 prints how the choices did. Returns the regrets as node 0 saw
/// them.
fn judge(node: &mut Node, &Arguments { grids, seed }: &Arguments) -> Result<Value, Error> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut regrets, mut worst) = (Vec::new(), (0.0, String::new(), String::new(), String::new()));
    for _ in 0..grids {
        // From 8 to 2048, any ratio.
        let [width, height] = [0; 2].map(|_| 2.0_f64.powf(random.random_range(3.0..11.0)) as usize);
        let chosen = Grid::<f64>::new(width, height).iterations(1).solve(node)?.layout;
        let mut all = layouts(node);
        all.retain(|layout| *layout != chosen);
        all.insert(0, chosen);
        // Those of even rounds, and of odd ones.
        let mut timings: Vec<[Timings; 2]> = all.iter().map(|_| Default::default()).collect();
        for round in 0..ROUNDS {
            for who in turns(round, all.len()) {
                let seconds = profile::seconds_on(node, &Grid::new(width, height), all[who], 1);
                timings[who][round % 2].push(if seconds.is_nan() { f64::INFINITY } else { seconds });
            }
        }
        let [(best, even), (_, odd)] = [1, 0].map(|kept| {
            let median = |who: usize, half: usize| timings[who][half].median();
            let by = |a: &usize, b: &usize| median(*a, kept).total_cmp(&median(*b, kept));
            let best = (0..all.len()).min_by(by).unwrap_or(0);
            (best, median(0, 1 - kept) / median(best, 1 - kept))
        });
        let regret = f64::midpoint(even, odd) - 1.0;
        if regret > NOTABLE && node.rank() == 0 {
            let [ours, theirs] = [0, best].map(|who| &timings[who][0]);
            eprintln!("{width} by {height}: {chosen} {ours} against {} {theirs}", all[best]);
        }
        if regret >= worst.0 {
            worst = (regret, format!("{width} by {height}"), chosen.to_string(), all[best].to_string());
        }
        regrets.push(regret);
    }
    let mean = regrets.iter().sum::<f64>() / regrets.len().max(1) as f64;
    let transport = node.platform().transport;
    if node.rank() == 0 {
        let right = regrets.iter().filter(|regret| **regret < 0.01).count();
        println!(
            "| {transport} | {} | {} | {right} | {:.2} % | {:.1} % | {} | {} | {} |",
            node.size(),
            regrets.len(),
            100.0 * mean,
            100.0 * worst.0,
            worst.1,
            worst.2,
            worst.3
        );
    }
    Ok(json!({ "transport": transport, "nodes": node.size(), "mean_regret": mean, "worst_regret": worst.0 }))
}

/// All that compete on these nodes.
fn layouts(node: &Node) -> Vec<Layout> {
    let nodes = node.size();
    let shapes = (0..=nodes.ilog2()).map(|exponent| 1 << exponent);
    let blocks = shapes.flat_map(|columns| [1, 2, 4, 8].map(|h| Layout::new(columns, nodes / columns, h)));
    // The last two are MPI's own.
    let ways = [Way::Packed, Way::Stored, Way::Transferred, Way::Persistent, Way::Typed];
    let ways = if node.platform().transport == "mpi" { &ways[..] } else { &ways[..3] };
    let all = blocks.flat_map(|layout| {
        ways.iter()
            .copied()
            .flat_map(move |way| [false, true].map(|overlap| Layout { way, overlap, ..layout }))
    });
    // Overlap is of narrow halos, and not of datatypes.
    let all =
        all.filter(|layout| nodes > 1 && (!layout.overlap || layout.halo == 1 && layout.way != Way::Typed));
    std::iter::once(Layout::ONE).chain(all).collect()
}
