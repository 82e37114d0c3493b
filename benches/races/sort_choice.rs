//! The chosen sort against each fixed candidate, over keys a node and key widths, in one run,
//! alternating.
//!
//!     cargo bench -p strata-benches [--features mpi] --bench sort_choice
//!
//! On as many threads or processes of MPI, with 2^4 to 2^20 keys each. A candidate with a parameter
//! competes with several fixed values of it. The loss of a cell is the median over the rounds of
//! (time of the choice) / (time of the fixed candidate with the least median), less one: at zero or
//! below, no fixed candidate would have been faster. Each round sorts other keys, all contestants
//! the same. The spread is how far the same choice, repeated, lies apart: its times from the 10 %
//! to the 90 % quantile over their median.

use clap::Parser;
use serde_json::json;
use strata_benches::sorts::{On, on_each, pin};
use strata_benches::{Timings, at_least, columns, fastest, turns};
use strata_runtime::prelude::*;
use strata_runtime::select::SelectError;
use strata_sort::{Options, profile};

const WIDTHS: [u32; 4] = [8, 16, 32, 64];

/// After the first rounds, contestants above this many times the least time are measured no more.
const HOPELESS: f64 = 3.0;

/// Values of the parameters of the fixed candidates.
const VALUES: [i64; 6] = [4, 6, 8, 11, 16, 64];

/// One point of the race, as node 0 saw it.
struct Cell {
    keys: usize,
    width: u32,
    choice: String,
    chosen: Timings,
    best: Timings,
    best_name: String,
    loss: f64,
}

#[derive(Parser)]
struct Arguments {
    /// Where the nodes are; on mpi only with `--features mpi`
    #[arg(long, value_enum, default_value = "threads")]
    on: On,
    /// How many nodes
    #[arg(long, default_value = "4", value_parser = at_least(1))]
    nodes: usize,
    /// The greatest exponent of two of keys a node, 4 to 24
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(4..=24))]
    most: u32,
}

strata_benches::main!(run);

fn run(arguments: &Arguments) -> Result<(), String> {
    let program = |node: &mut Node| {
        let cells = race(node, arguments.most)?;
        if node.rank() == 0 {
            report(&node.platform().transport, node.size(), &cells);
        }
        Ok(())
    };
    on_each(arguments.on, &[arguments.nodes], program)
}

fn race(node: &mut Node, most: u32) -> Result<Vec<Cell>, SelectError> {
    let mut cells = Vec::new();
    for exponent in (4..=most).step_by(2) {
        for width in WIDTHS {
            let keys = 1usize << exponent;
            if node.rank() == 0 {
                eprintln!("{keys} keys/node of {width} bits");
            }
            cells.push(cell(node, keys, width)?);
        }
    }
    Ok(cells)
}

fn cell(node: &mut Node, keys: usize, width: u32) -> Result<Cell, SelectError> {
    // Contestant 0 is the choice, the others are fixed.
    let fixed: Vec<_> = profile::candidates(&VALUES).collect();
    let mut timings = vec![Timings::default(); fixed.len() + 1];
    let mut racing: Vec<usize> = (0..timings.len()).collect();
    let rounds = (6_000_000 / keys).clamp(15, 101);
    for round in 0..rounds {
        // Other keys in each round. Of one set, sorted again and again, the processor learns the
        // branches, and sample sort draws the same splitters, which may be bad ones.
        let data = profile::keys(node, keys, width, round as u64);
        let mut answer = None;
        for turn in turns(round, racing.len()) {
            let who = racing[turn];
            let mut mine = data.clone();
            node.barrier();
            let start = node.now().get();
            match who.checked_sub(1) {
                None => strata_sort::sort(node, &mut mine)?,
                Some(number) => fixed[number].1.run(node, &mut mine),
            }
            let seconds = node.reduce_max(node.now().get() - start);
            timings[who].push(seconds);
            let expected = answer.get_or_insert_with(|| mine.clone());
            assert!(
                *expected == mine,
                "contestant {who} sorts {keys} keys of {width} bits otherwise than the first"
            );
        }
        if round == 2 {
            let least = timings[fastest(&timings)].median();
            racing.retain(|&who| who == 0 || timings[who].median() <= HOPELESS * least);
        }
    }
    let best = (racing.iter().copied().filter(|&who| who > 0))
        .min_by(|&a, &b| timings[a].median().total_cmp(&timings[b].median()))
        .unwrap_or(1);
    let mut keys_of_choice = profile::keys(node, keys, width, 0);
    let choice = strata_sort::sort_with(node, &mut keys_of_choice, &Options::default())?;
    let best_timings = timings[best].clone();
    Ok(Cell {
        keys,
        width,
        choice: pin(&choice),
        loss: timings[0].over(&timings[best]).median() - 1.0,
        chosen: timings.swap_remove(0),
        best: best_timings,
        best_name: fixed[best - 1].0.clone(),
    })
}

fn report(transport: &str, nodes: usize, cells: &[Cell]) {
    println!("{transport}, {nodes} nodes; median (10 % to 90 %)\n");
    columns("keys/node | width | chosen | its time | best fixed | its time | loss | spread");
    let mut spreads = Timings::default();
    for c in cells {
        let spread = (c.chosen.quantile(0.9) - c.chosen.quantile(0.1)) / c.chosen.median();
        spreads.push(spread);
        println!(
            "| {} | {} | {} | {} | {} | {} | {:+.1} % | {:.1} % |",
            c.keys,
            c.width,
            c.choice,
            c.chosen,
            c.best_name,
            c.best,
            100.0 * c.loss,
            100.0 * spread
        );
    }
    let count = cells.len().max(1) as f64;
    strata_benches::summary(&json!({
        "bench": "sort_choice", "transport": transport, "nodes": nodes, "cells": cells.len(),
        "mean_loss": cells.iter().map(|c| c.loss).sum::<f64>() / count,
        "mean_regret": cells.iter().map(|c| c.loss.max(0.0)).sum::<f64>() / count,
        "worst_regret": cells.iter().map(|c| c.loss).fold(0.0, f64::max),
        "above_2_percent": cells.iter().filter(|c| c.loss > 0.02).count(),
        "median_spread": spreads.median(),
    }));
}
