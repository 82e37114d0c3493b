//! Iterations on five points of f64 with Strata, Devito and PETSc, alternating in one run.
//!
//!     cargo bench -p strata-benches --bench stencil_race
//!
//! All three update every point of a square once in an iteration, from the mean of its neighbours:
//! Devito on as many threads, PETSc's DMDA on as many processes with Jacobi's method, Strata on
//! threads with Jacobi's method and red-black. Strata runs once with an exchange in every
//! iteration, as the others do, and once with a halo of 16, where one pass through memory does
//! several iterations of red-black. What is absent is left out with a word.

mod peer;

use clap::Parser;
use serde_json::json;
use strata_benches::{at_least, head, machine, row};
use strata_runtime::prelude::*;
use strata_stencil::{Grid, Method, layout::Layout, profile};

const SIDES: [usize; 3] = [512, 2048, 4096];

/// Points updated in a timing.
const POINTS: usize = 1 << 28;

/// Strata's ways: name, method, width of the halo.
const WAYS: [(&str, Method, usize); 3] = [
    ("Strata, Jacobi", Method::Jacobi, 1),
    ("Strata, red-black", Method::RedBlack, 2),
    ("Strata, red-black in waves", Method::RedBlack, 16),
];

#[derive(Parser)]
struct Arguments {
    /// Threads, or processes of PETSc
    #[arg(long, default_value = "2", value_parser = at_least(1))]
    threads: usize,
    /// Rounds of timings
    #[arg(long, default_value = "7", value_parser = at_least(1))]
    rounds: usize,
}

strata_benches::main!(race);

fn race(options: &Arguments) -> Result<(), String> {
    let folder = tempfile::TempDir::new().map_err(|e| e.to_string())?;
    let mut peers = Vec::new();
    for (name, peer) in [
        ("Devito", peer::devito(folder.path(), options.threads)),
        ("PETSc DMDA", peer::petsc(folder.path(), options.threads)),
    ] {
        match peer {
            Ok(peer) => peers.push((name, peer)),
            Err(reason) => eprintln!("{name} is left out: {reason}"),
        }
    }
    let names: Vec<&str> = WAYS.iter().map(|way| way.0).chain(peers.iter().map(|peer| peer.0)).collect();
    println!("{} threads or processes; {}\n", options.threads, machine());
    let mut title = vec!["grid"];
    title.extend(names.iter().copied());
    head(&title);
    let mut grids = Vec::new();
    for side in SIDES {
        let iterations = (POINTS / (side * side)).max(8) as u64;
        let timings = strata_benches::race(0..options.rounds, 0, names.len(), |_, who| {
            // The difference of two runs has neither allocation nor initial values in it.
            let mut seconds = |iterations| match who.checked_sub(WAYS.len()) {
                None => ours(options.threads, side, WAYS[who], iterations),
                Some(peer) => {
                    let (name, peer) = &mut peers[peer];
                    peer.seconds(&format!("{side} {iterations}")).map_err(|e| format!("{name}: {e}"))
                }
            };
            let difference = seconds(iterations)? - seconds(iterations / 4)?;
            Ok::<_, String>(difference / (iterations - iterations / 4) as f64)
        })?;
        let rates: Vec<f64> = timings.iter().map(|t| (side * side) as f64 / 1e9 / t.median()).collect();
        let mut cells = vec![format!("{side}²")];
        cells.extend(timings.iter().zip(&rates).map(|(t, rate)| format!("{rate:.3} GPts/s, {t}")));
        row(&cells);
        let rates: serde_json::Map<_, _> =
            names.iter().zip(&rates).map(|(name, rate)| ((*name).to_owned(), json!(rate))).collect();
        grids.push(json!({"side": side, "points_per_ns": rates}));
    }
    strata_benches::summary(&json!({"bench": "stencil_race", "threads": options.threads, "grids": grids}));
    Ok(())
}

/// The seconds of so many iterations.
fn ours(
    threads: usize,
    side: usize,
    (_, method, halo): (&str, Method, usize),
    iterations: u64,
) -> Result<f64, String> {
    let race = Machine::threads(threads).and_then(|machine| {
        machine.run(|node| {
            let layout = Layout::new(1, node.size(), halo);
            let grid = Grid::<f64>::new(side, side).method(method).iterations(iterations).no_threshold();
            node.barrier();
            let start = node.now().get();
            profile::solve(&grid, node, layout)?;
            node.barrier();
            Ok(node.now().get() - start)
        })
    });
    let seconds = race.map_err(|e| e.to_string())?;
    Ok(seconds.into_iter().fold(0.0, f64::max))
}
