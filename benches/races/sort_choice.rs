//! The chosen sort against each fixed candidate, over keys a node and key widths, in one run,
//! alternating.
//!
//!     cargo bench -p strata-benches --bench sort_choice [-- --nodes 4]
//!
//! A candidate with a parameter competes with several fixed values of it. The loss of a cell is the
//! median over the rounds of (time of the choice) / (time of the fixed candidate with the least
//! median), less one: at zero or below, no fixed candidate would have been faster.

use std::process::ExitCode;

use strata_benches::{Timings, head, machine, row, turns};
use strata_runtime::prelude::*;
use strata_sort::profile;

const WIDTHS: [u32; 4] = [8, 16, 32, 64];

/// After the first rounds, contestants above this many times the least time are measured no more.
const HOPELESS: f64 = 3.0;

/// The fixed candidates.
const FIXED: [(&str, Fixed); 9] = [
    ("radix:4", Fixed::Radix(4)),
    ("radix:6", Fixed::Radix(6)),
    ("radix:8", Fixed::Radix(8)),
    ("radix:11", Fixed::Radix(11)),
    ("radix:16", Fixed::Radix(16)),
    ("sample:16", Fixed::Sample(16)),
    ("sample:64", Fixed::Sample(64)),
    ("sample:256", Fixed::Sample(256)),
    ("gather", Fixed::Gather),
];

#[derive(Clone, Copy)]
enum Fixed {
    Radix(u32),
    Sample(usize),
    Gather,
}

impl Fixed {
    fn run(self, node: &mut Node, keys: &mut Vec<u64>) {
        match self {
            Self::Radix(bits) => profile::radix(node, keys, bits),
            Self::Sample(oversample) => profile::sample(node, keys, oversample),
            Self::Gather => profile::gather(node, keys),
        }
    }
}

/// One point of the race, as node 0 saw it.
struct Cell {
    keys: usize,
    width: u32,
    chosen: Timings,
    best: Timings,
    best_name: &'static str,
    loss: f64,
}

fn main() -> ExitCode {
    let nodes = match nodes() {
        Ok(nodes) => nodes,
        Err(message) => {
            eprintln!("sort_choice: {message}");
            return ExitCode::from(2);
        }
    };
    let cells = Machine::threads(nodes).and_then(|m| m.run(|node: &mut Node| Ok(race(node))));
    match cells {
        Ok(cells) => {
            report(nodes, cells.first().map_or(&[], Vec::as_slice));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("sort_choice: {error}");
            ExitCode::FAILURE
        }
    }
}

fn nodes() -> Result<usize, String> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    match arguments.as_slice() {
        [] => Ok(4),
        [flag, count] if flag == "--nodes" => {
            count.parse().map_err(|_| format!("`{count}` is not a number of nodes"))
        }
        _ => Err("usage: [--nodes N]".into()),
    }
}

fn race(node: &mut Node) -> Vec<Cell> {
    let mut cells = Vec::new();
    for exponent in (4..=20).step_by(2) {
        for width in WIDTHS {
            let keys = 1usize << exponent;
            if node.rank() == 0 {
                eprintln!("{keys} keys/node of {width} bits");
            }
            cells.push(cell(node, keys, width));
        }
    }
    cells
}

fn cell(node: &mut Node, keys: usize, width: u32) -> Cell {
    // Contestant 0 is the choice, the others are fixed.
    let mut timings = vec![Vec::new(); FIXED.len() + 1];
    let mut racing: Vec<usize> = (0..timings.len()).collect();
    let data = profile::keys(node, keys, width, 7);
    let mut answer = None;
    let rounds = (6_000_000 / keys).clamp(15, 101);
    for round in 0..rounds {
        for turn in turns(round, racing.len()) {
            let who = racing[turn];
            let mut mine = data.clone();
            node.barrier();
            let start = node.now().get();
            match who.checked_sub(1) {
                None => drop(strata_sort::sort(node, &mut mine)),
                Some(fixed) => FIXED[fixed].1.run(node, &mut mine),
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
            let least = timings.iter().map(|t| median(t)).fold(f64::INFINITY, f64::min);
            racing.retain(|&who| who == 0 || median(&timings[who]) <= HOPELESS * least);
        }
    }
    let best = (racing.iter().copied().filter(|&who| who > 0))
        .min_by(|&a, &b| median(&timings[a]).total_cmp(&median(&timings[b])))
        .unwrap_or(1);
    let ratios: Vec<f64> = timings[0].iter().zip(&timings[best]).map(|(ours, peer)| ours / peer).collect();
    Cell {
        keys,
        width,
        chosen: timings[0].iter().copied().collect(),
        best: timings[best].iter().copied().collect(),
        best_name: FIXED[best - 1].0,
        loss: median(&ratios) - 1.0,
    }
}

fn median(seconds: &[f64]) -> f64 {
    seconds.iter().copied().collect::<Timings>().median()
}

fn report(nodes: usize, cells: &[Cell]) {
    println!("{}\n{nodes} nodes; median (10 % to 90 %)\n", machine());
    head(&["keys/node", "width", "chosen", "best fixed", "its time", "loss"]);
    for c in cells {
        row(&[
            c.keys.to_string(),
            c.width.to_string(),
            c.chosen.to_string(),
            c.best_name.into(),
            c.best.to_string(),
            format!("{:+.1} %", 100.0 * c.loss),
        ]);
    }
    let mean = cells.iter().map(|c| c.loss).sum::<f64>() / cells.len().max(1) as f64;
    let lost = cells.iter().filter(|c| c.loss > 0.02).count();
    println!("\nmean loss {:+.2} % over {} cells; above 2 % in {lost}", 100.0 * mean, cells.len());
}
