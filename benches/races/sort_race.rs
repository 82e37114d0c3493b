//! The chosen sort beside what else one would call, and beside each of its own candidates, over
//! distributions of keys, or over widths of random keys: in one run, alternating.
//!
//!     cargo bench -p strata-benches [--features mpi] --bench sort_race
//!
//! Keys of 64 bits lie distributed over the nodes, as they do in a parallel program. Contestants:
//! `strata_sort::sort`; its rivals, which gather everything on node 0, call `sort_unstable`,
//! rayon's `par_sort_unstable`, `radsort`, `rdst` or `voracious` there, the last by one thread and by
//! several, and hand back; and each candidate by itself, with several values of its parameters.
//! Parallel rivals have as many threads as there are nodes; below two million keys `voracious` calls
//! rayon's sort, above it starts threads in each call. Rivals pay for moving the keys, as they would
//! in such a program. With `--whole` they do not: they find all keys in one slice and leave them
//! there, as in a program of threads that share an array.
//!
//! Each round sorts other keys, all contestants the same, since a processor learns the branches of
//! keys that it has sorted before. The fastest rival and the best candidate are determined by the
//! rounds of odd numbers; the ratio is the median over the other rounds of their time to ours. So
//! the least of many noisy medians does not count as faster than it is. Above one ours is faster.
//!
//! What a cell loses has two causes, told apart by the chosen candidate run as a fixed one: `alone`
//! is its time to ours, below one by the time of the choice. `to alone` is the time of the best
//! candidate to that: below one another candidate suits these keys better. That difference, where
//! the choice loses, is what a choice that knew the distribution would gain, at most.

use clap::Parser;
use rayon::slice::ParallelSliceMut as _;
use rdst::RadixSort as _;
use serde_json::json;
use strata_benches::sorts::{On, named, on_each, pin};
use strata_benches::{Timings, at_least, columns, fastest, turns};
use strata_runtime::prelude::*;
use strata_sort::profile::{self, Distribution};
use strata_sort::{Options, Sort};
use voracious_radix_sort::RadixSort as _;

const RIVALS: [&str; 6] = ["sort_unstable", "rayon", "radsort", "rdst", "voracious", "voracious_mt"];

/// The first of our candidates among the contestants: before them are the choice and the rivals.
const CANDIDATES: usize = 1 + RIVALS.len();

/// Values of the parameters of our candidates.
const VALUES: [i64; 6] = [4, 6, 8, 11, 16, 64];

/// After the first rounds, contestants above this many times the least time are measured no more.
const HOPELESS: f64 = 2.0;

/// The same after the first round alone, whose times one interruption can double.
const HOPELESS_AT_ONCE: f64 = 5.0;

/// Fewer rounds tell little of a cell.
const LEAST_ROUNDS: usize = 8;

#[derive(Parser)]
struct Arguments {
    /// Where the nodes are; on mpi only with `--features mpi`
    #[arg(long, value_enum, default_value = "threads")]
    on: On,
    /// Numbers of nodes
    #[arg(long, value_delimiter = ',', default_value = "2,4", value_parser = at_least(1))]
    nodes: Vec<usize>,
    /// Exponents of two of keys a node, 1 to 24
    #[arg(long, value_delimiter = ',', default_value = "4,8,12,16,20",
        value_parser = clap::value_parser!(u32).range(1..=24))]
    exponents: Vec<u32>,
    /// Distributions of keys by name, as in the table; all by default
    #[arg(long, value_delimiter = ',', value_parser = distribution)]
    only: Vec<Distribution>,
    /// Random keys of so many bits in place of distributions
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64))]
    widths: Vec<u32>,
    /// Rivals find all keys in one slice and leave them there
    #[arg(long)]
    whole: bool,
    /// Seconds that a cell may take
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
}

fn distribution(name: &str) -> Result<Distribution, String> {
    let found = Distribution::ALL.into_iter().find(|one| one.name() == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = Distribution::ALL.iter().map(|one| one.name()).collect();
        format!("there are {}", names.join(", "))
    })
}

/// Which keys a cell has.
#[derive(Clone, Copy)]
enum Keys {
    Of(Distribution),
    Wide(u32),
}

impl Keys {
    fn name(self) -> String {
        match self {
            Self::Of(distribution) => distribution.name().to_owned(),
            Self::Wide(bits) => format!("{bits} bits"),
        }
    }

    fn of(self, node: &Node, len: usize, seed: u64) -> Vec<u64> {
        match self {
            Self::Of(distribution) => distribution.keys(node, len, seed),
            Self::Wide(bits) => profile::keys(node, len, bits, seed),
        }
    }
}

strata_benches::main!(run);

fn run(arguments: &Arguments) -> Result<(), String> {
    let program = |node: &mut Node| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(node.size()).build();
        let pool = pool.map_err(Error::program)?;
        let cells = race(node, &pool, arguments)?;
        if node.rank() == 0 {
            report(node, &cells, arguments.whole);
        }
        Ok(())
    };
    on_each(arguments.on, &arguments.nodes, program)
}

/// One point of the race, as node 0 saw it.
struct Cell {
    keys: usize,
    of: Keys,
    choice: String,
    ours: Timings,
    /// The fastest rival and the best candidate: name, and its time to ours.
    rival: (String, f64),
    candidate: (String, f64),
    /// The time of the chosen candidate as a fixed one to ours, and of the best candidate to that.
    alone: f64,
    to_alone: f64,
}

/// Cells with a ratio below this are behind.
const BEHIND: f64 = 0.95;

impl Cell {
    /// What a cell that is behind loses by.
    fn cause(&self) -> &'static str {
        match (self.candidate.1 < BEHIND, self.to_alone < BEHIND, self.alone < BEHIND) {
            (false, ..) => "",
            (_, true, _) => "candidate",
            (_, _, true) => "choice",
            _ => "noise",
        }
    }

    /// The share of the time that is saved at most by a choice that knows the distribution.
    fn gain(&self) -> f64 {
        (1.0 - self.candidate.1).min(1.0 - self.to_alone).max(0.0)
    }
}

fn race(node: &mut Node, pool: &rayon::ThreadPool, arguments: &Arguments) -> Result<Vec<Cell>, Error> {
    let only = |one: &Distribution| arguments.only.is_empty() || arguments.only.contains(one);
    let of: Vec<Keys> = match arguments.widths.is_empty() {
        true => Distribution::ALL.into_iter().filter(only).map(Keys::Of).collect(),
        false => arguments.widths.iter().map(|bits| Keys::Wide(*bits)).collect(),
    };
    let cells = arguments.exponents.iter().flat_map(|exponent| of.iter().map(move |of| (*of, 1 << exponent)));
    cells.map(|(of, keys)| cell(node, pool, of, keys, arguments)).collect()
}

/// All keys on node 0; nothing on the others.
fn gathered(node: &mut Node, items: &[u64]) -> Vec<u64> {
    let mut to_first: Vec<Block<u64>> = (0..node.size()).map(|_| Block::zeroed(0)).collect();
    to_first[0] = Block::zeroed(items.len());
    to_first[0].copy_from_slice(items);
    let parts = node.all_to_all_v(to_first);
    let mut all = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
    parts.iter().for_each(|part| all.extend_from_slice(part));
    all
}

fn sorted_by(rival: usize, pool: &rayon::ThreadPool, all: &mut [u64]) {
    // On the other nodes there are none.
    if all.is_empty() {
        return;
    }
    match RIVALS[rival] {
        "sort_unstable" => all.sort_unstable(),
        "rayon" => pool.install(|| all.par_sort_unstable()),
        "rdst" => pool.install(|| all.radix_sort_unstable()),
        "voracious" => all.voracious_sort(),
        "voracious_mt" => pool.install(|| all.voracious_mt_sort(pool.current_num_threads())),
        _ => radsort::sort(all),
    }
}

/// Gives every node an equal share of what node 0 has.
fn hand_back(node: &mut Node, all: &[u64], mine: &mut Vec<u64>) {
    let mut shares: Vec<Block<u64>> = (0..node.size()).map(|_| Block::zeroed(0)).collect();
    for (share, part) in shares.iter_mut().zip(all.chunks(all.len().div_ceil(node.size()).max(1))) {
        *share = Block::zeroed(part.len());
        share.copy_from_slice(part);
    }
    let share = node.all_to_all_v(shares);
    mine.clear();
    mine.extend_from_slice(&share[0]);
}

fn cell(
    node: &mut Node,
    pool: &rayon::ThreadPool,
    of: Keys,
    keys: usize,
    &Arguments { whole, seconds, .. }: &Arguments,
) -> Result<Cell, Error> {
    // Contestant 0 is the choice, then come the rivals, then the candidates, the chosen one among
    // them.
    let mut fixed: Vec<(String, Sort)> = profile::candidates(&VALUES).collect();
    let mut keys_of_choice = of.of(node, keys, 1);
    let choice = strata_sort::sort_with(node, &mut keys_of_choice, &Options::default())?;
    let chosen = pin(&choice);
    let alone = match fixed.iter().position(|(of, _)| *of == chosen) {
        Some(at) => CANDIDATES + at,
        None => {
            let sort = named(choice.name, &choice.parameters);
            fixed.push((chosen.clone(), sort.ok_or_else(|| Error::program(format!("no `{chosen}`")))?));
            CANDIDATES + fixed.len() - 1
        }
    };
    let mut timings = vec![Timings::default(); CANDIDATES + fixed.len()];
    let mut racing: Vec<usize> = (0..timings.len()).collect();
    let (mut spent, mut round) = (0.0, 0);
    while round < LEAST_ROUNDS || (spent < seconds && round < 400) {
        let data = of.of(node, keys, round as u64 + 1);
        let mut answer: Option<Vec<u64>> = None;
        for turn in turns(round, racing.len()) {
            let who = racing[turn];
            let mut mine = data.clone();
            let is_rival = (1..CANDIDATES).contains(&who);
            let mut all = if whole && is_rival { gathered(node, &mine) } else { Vec::new() };
            node.barrier();
            let start = node.now().get();
            match who {
                0 => strata_sort::sort(node, &mut mine)?,
                _ if !is_rival => fixed[who - CANDIDATES].1.run(node, &mut mine),
                _ if whole => sorted_by(who - 1, pool, &mut all),
                _ => {
                    all = gathered(node, &mine);
                    sorted_by(who - 1, pool, &mut all);
                    hand_back(node, &all, &mut mine);
                }
            }
            let taken = node.reduce_max(node.now().get() - start);
            if whole && is_rival {
                hand_back(node, &all, &mut mine);
            }
            timings[who].push(taken);
            spent += taken;
            let expected = answer.get_or_insert_with(|| mine.clone());
            assert!(*expected == mine, "contestant {who} sorts {keys} `{}` otherwise", of.name());
        }
        if round == 0 || round == 3 {
            let hopeless = if round == 0 { HOPELESS_AT_ONCE } else { HOPELESS };
            let least = timings[fastest(&timings)].median();
            // Each group keeps one; all nodes the same, as times are those of the slowest.
            let best = |group: std::ops::Range<usize>| {
                let racing = racing.iter().copied().filter(|who| group.contains(who));
                racing.min_by(|a, b| timings[*a].median().total_cmp(&timings[*b].median())).unwrap_or(0)
            };
            let kept = [0, best(1..CANDIDATES), best(CANDIDATES..timings.len()), alone];
            racing.retain(|who| {
                kept.contains(who)
                    || round == 0 && *who < CANDIDATES
                    || timings[*who].median() <= hopeless * least
            });
        }
        round += 1;
    }
    let even = |who: usize, to: usize| {
        timings[who].over(&timings[to]).iter().step_by(2).collect::<Timings>().median()
    };
    let best_of = |group: std::ops::Range<usize>| {
        let in_group = racing.iter().copied().filter(|who| group.contains(who));
        let odd = |who: usize| timings[who].iter().skip(1).step_by(2).collect::<Timings>().median();
        let best = in_group.min_by(|a, b| odd(*a).total_cmp(&odd(*b))).unwrap_or(0);
        (best, even(best, 0))
    };
    let (rival, to_rival) = best_of(1..CANDIDATES);
    let (candidate, to_candidate) = best_of(CANDIDATES..timings.len());
    Ok(Cell {
        keys,
        of,
        choice: chosen,
        alone: even(alone, 0),
        to_alone: even(candidate, alone),
        ours: timings[0].clone(),
        rival: (RIVALS[rival - 1].to_owned(), to_rival),
        candidate: (fixed[candidate - CANDIDATES].0.clone(), to_candidate),
    })
}

fn report(node: &Node, cells: &[Cell], whole: bool) {
    let (transport, nodes) = (node.platform().transport, node.size());
    let rivals = if whole { "rivals find all keys in one slice" } else { "rivals gather and hand back" };
    println!("{transport}, {nodes} nodes; {rivals}; median (10 % to 90 %)\n");
    columns(
        "keys/node | of | chosen | ours | fastest rival | ratio | best candidate | ratio | alone | to alone | behind by",
    );
    for cell in cells {
        println!(
            "| {} | {} | {} | {} | {} | {:.2} | {} | {:.2} | {:.2} | {:.2} | {} |",
            cell.keys,
            cell.of.name(),
            cell.choice,
            cell.ours,
            cell.rival.0,
            cell.rival.1,
            cell.candidate.0,
            cell.candidate.1,
            cell.alone,
            cell.to_alone,
            cell.cause()
        );
    }
    println!();
    columns("keys/node | behind by candidate | by choice | by noise | known distribution gains, mean");
    let mut sizes: Vec<usize> = cells.iter().map(|cell| cell.keys).collect();
    sizes.dedup();
    for keys in sizes {
        let of: Vec<&Cell> = cells.iter().filter(|cell| cell.keys == keys).collect();
        let by = |cause| of.iter().filter(|cell| cell.cause() == cause).count().to_string();
        let gain = of.iter().map(|cell| cell.gain()).sum::<f64>() / of.len().max(1) as f64;
        let [candidate, choice, noise] = ["candidate", "choice", "noise"].map(by);
        println!("| {keys} | {candidate} | {choice} | {noise} | {:.1} % |", 100.0 * gain);
    }
    let mean = |of: &dyn Fn(&Cell) -> f64| {
        (cells.iter().map(|cell| of(cell).ln()).sum::<f64>() / cells.len().max(1) as f64).exp()
    };
    let least = |of: &dyn Fn(&Cell) -> f64| cells.iter().map(of).fold(f64::INFINITY, f64::min);
    let behind = |of: &dyn Fn(&Cell) -> f64| cells.iter().filter(|cell| of(cell) < BEHIND).count();
    let (rival, candidate) = (|cell: &Cell| cell.rival.1, |cell: &Cell| cell.candidate.1);
    // The regret of a cell: what the best candidate would have saved of its own time.
    let regrets: Vec<f64> = cells.iter().map(|cell| (1.0 / cell.candidate.1 - 1.0).max(0.0)).collect();
    strata_benches::summary(&json!({
        "bench": "sort_race", "transport": transport, "nodes": nodes, "whole": whole, "cells": cells.len(),
        "rivals": {"least": least(&rival), "mean": mean(&rival), "behind": behind(&rival)},
        "mean_regret": regrets.iter().sum::<f64>() / regrets.len().max(1) as f64,
        "worst_regret": regrets.iter().copied().fold(0.0, f64::max),
        "above_2_percent": regrets.iter().filter(|regret| **regret > 0.02).count(),
        "candidates": {"least": least(&candidate), "mean": mean(&candidate), "behind": behind(&candidate)},
    }));
}
