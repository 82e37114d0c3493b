//! The chosen sort beside what else one would call, in one run, alternating.
//!
//!     cargo bench -p strata-benches --bench sort_race
//!
//! Keys of 64 bits lie distributed over the threads of a node, as they do in a parallel program.
//! Contestants: `strata_sort::sort`; gathering everything on node 0, `sort_unstable` there, and
//! handing the shares back; where there are more cores than one, rayon's `par_sort_unstable` of the
//! gathered keys on as many threads as there are nodes, with the same handing back; radsort instead
//! of `sort_unstable`. What gathers pays for moving the keys, as it would in such a program. A
//! ratio above one says how many times as long as ours the fastest other one takes.

use std::process::ExitCode;

use clap::Parser;
use rayon::slice::ParallelSliceMut as _;
use serde_json::json;
use strata_benches::{Timings, at_least, head, machine, row, turns};
use strata_runtime::prelude::*;
use strata_sort::profile;

const CONTESTANTS: [&str; 4] = ["strata", "gather, sort_unstable", "gather, rayon", "gather, radsort"];

const SHAPES: [&str; 6] = ["uniform", "sorted", "reversed", "few distinct", "Zipf", "staggered"];

/// Seconds that a cell may take.
const SECONDS: f64 = 1.5;

#[derive(Parser)]
struct Arguments {
    /// Numbers of nodes
    #[arg(long, value_delimiter = ',', default_value = "1,2,4", value_parser = at_least(1))]
    nodes: Vec<usize>,
}

fn main() -> ExitCode {
    strata_benches::run(|arguments: &Arguments| run(&arguments.nodes))
}

/// This node's keys of a shape.
fn keys(node: &Node, shape: &str, len: usize) -> Vec<u64> {
    let mut keys = profile::keys(node, len, 64, 11);
    let (rank, size) = (node.rank() as u64, node.size() as u64);
    let position = |index: usize| rank * len as u64 + index as u64;
    for (index, key) in keys.iter_mut().enumerate() {
        *key = match shape {
            "sorted" => position(index),
            "reversed" => u64::MAX - position(index),
            "few distinct" => *key % 16,
            "Zipf" => 1_000_000 / (1 + *key % 1_000_000),
            "staggered" => ((rank * 7 + 3) % size) << 32 | *key >> 40,
            _ => *key,
        };
    }
    keys
}

/// Sorts by one contestant; on every node its share is left.
fn sort(node: &mut Node, contestant: usize, pool: &rayon::ThreadPool, items: &mut Vec<u64>) {
    if contestant == 0 {
        drop(strata_sort::sort(node, items));
        return;
    }
    let mut to_first: Vec<Block<u64>> = (0..node.size()).map(|_| Block::zeroed(0)).collect();
    to_first[0] = Block::zeroed(items.len());
    to_first[0].copy_from_slice(items);
    let parts = node.all_to_all_v(to_first);
    let mut shares: Vec<Block<u64>> = (0..node.size()).map(|_| Block::zeroed(0)).collect();
    if node.rank() == 0 {
        let mut all: Vec<u64> = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
        parts.iter().for_each(|part| all.extend_from_slice(part));
        match contestant {
            1 => all.sort_unstable(),
            2 => pool.install(|| all.par_sort_unstable()),
            _ => radsort::sort(&mut all),
        }
        for (share, part) in shares.iter_mut().zip(all.chunks(all.len().div_ceil(node.size()).max(1))) {
            *share = Block::zeroed(part.len());
            share.copy_from_slice(part);
        }
    }
    let mine = node.all_to_all_v(shares);
    items.clear();
    items.extend_from_slice(&mine[0]);
}

fn run(all_nodes: &[usize]) -> Result<(), String> {
    println!("{}\n", machine());
    head(&["nodes", "keys/node", "shape", "ours", "fastest other", "its time", "ratio"]);
    let mut ratios = Vec::new();
    for &nodes in all_nodes {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(nodes).build().map_err(|e| e.to_string())?;
        for exponent in [4, 8, 12, 16, 20] {
            for shape in SHAPES {
                let cell = Machine::threads(nodes)
                    .and_then(|machine| machine.run(|node| Ok(race(node, &pool, shape, 1 << exponent))))
                    .map_err(|e| e.to_string())?;
                let timings: Vec<Timings> = cell[0].iter().map(|all| all.iter().copied().collect()).collect();
                let other = (1..CONTESTANTS.len())
                    .min_by(|a, b| timings[*a].median().total_cmp(&timings[*b].median()))
                    .unwrap_or(1);
                let ratio = timings[other].median() / timings[0].median();
                ratios.push(ratio);
                row(&[
                    nodes.to_string(),
                    (1usize << exponent).to_string(),
                    shape.to_owned(),
                    timings[0].to_string(),
                    CONTESTANTS[other].to_owned(),
                    timings[other].to_string(),
                    format!("{ratio:.2}"),
                ]);
            }
        }
    }
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp();
    let behind = ratios.iter().filter(|ratio| **ratio < 0.95).count();
    strata_benches::summary(&json!({
        "bench": "sort_race", "cells": ratios.len(), "least_ratio": least, "mean_ratio": mean, "behind": behind,
    }));
    Ok(())
}

/// The timings of all contestants, as node 0 saw them.
fn race(node: &mut Node, pool: &rayon::ThreadPool, shape: &str, len: usize) -> Vec<Vec<f64>> {
    let data = keys(node, shape, len);
    let mut timings = vec![Vec::new(); CONTESTANTS.len()];
    let mut expected: Option<Vec<u64>> = None;
    let (mut spent, mut round) = (0.0, 0);
    while round < 3 || (spent < SECONDS && round < 101) {
        for who in turns(round, CONTESTANTS.len()) {
            let mut items = data.clone();
            node.barrier();
            let start = node.now().get();
            sort(node, who, pool, &mut items);
            let seconds = node.reduce_max(node.now().get() - start);
            timings[who].push(seconds);
            spent += seconds;
            let answer = expected.get_or_insert_with(|| items.clone());
            assert!(*answer == items, "{} sorts `{shape}` otherwise", CONTESTANTS[who]);
        }
        round += 1;
    }
    timings
}
