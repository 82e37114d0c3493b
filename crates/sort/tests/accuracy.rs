//! Choices on a simulated machine by models that `specc` fitted there: the sort that is taken is
//! hardly ever slower than the fastest. `cargo bench --bench sort_accuracy` tries more machines,
//! sizes and sets of keys.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic, its helpers too")]

use std::path::Path;
use strata_runtime::{Simulation, prelude::*, simulation::SimulatedMachine};
use strata_sort::{Options, profile, sort_with};

const NODES: usize = 16;

/// Keys a node and their bits, none of which was measured.
const PROBLEMS: [(usize, u32); 8] =
    [(1, 16), (5, 32), (30, 8), (90, 24), (300, 8), (700, 32), (1300, 13), (2200, 8)];

/// Seeds that calibration did not use.
const SEEDS: std::ops::Range<u64> = 1 << 40..(1 << 40) + 2;

fn machine() -> Simulation {
    Machine::sim(&SimulatedMachine::find("alewife").unwrap(), NODES).unwrap()
}

/// The simulated time of one way to sort.
fn seconds((keys, width): (usize, u32), sort: &(dyn Fn(&mut Node, &mut Vec<u64>) + Sync)) -> f64 {
    machine().run(|node| Ok(profile::seconds(node, keys, width, SEEDS, sort))).unwrap().results[0]
}

/// The name and first parameter of what models choose.
fn chosen((keys, width): (usize, u32)) -> (&'static str, i64) {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/sim-alewife-16/sort/models.toml");
    let run = machine().run(|node| {
        let options = Options::default().models(&models);
        let choice = sort_with(node, &mut profile::keys(node, keys, width, SEEDS.start), &options)?;
        assert!(choice.predicted.is_some(), "the models cover it: {choice}");
        Ok((choice.name, choice.parameters.first().copied().unwrap_or(0)))
    });
    run.unwrap().results[0]
}

#[test]
fn the_sort_that_is_chosen_is_hardly_slower_than_the_fastest() {
    let mut penalties = Vec::new();
    for problem in PROBLEMS {
        let (name, parameter) = chosen(problem);
        let mut all = vec![
            ("batcher", 0, seconds(problem, &|node, keys| profile::batcher(node, keys))),
            ("histogram", 0, seconds(problem, &|node, keys| profile::histogram(node, keys))),
            ("quick", 0, seconds(problem, &|node, keys| profile::quick(node, keys))),
        ];
        if problem.0 < 100 {
            all.push(("gather", 0, seconds(problem, &|node, keys| profile::gather(node, keys))));
        }
        for oversample in [8, 16] {
            let time = seconds(problem, &|node, keys| profile::sample(node, keys, oversample as usize));
            all.push(("sample", oversample, time));
        }
        for bits in [3, 4, 6, 8] {
            let time = seconds(problem, &|node, keys| profile::radix(node, keys, bits as u32));
            all.push(("radix", bits, time));
            if problem.0 < 1000 {
                let time = seconds(problem, &|node, keys| profile::packets(node, keys, bits as u32));
                all.push(("packets", bits, time));
            }
        }
        let best = all.iter().map(|(.., time)| *time).fold(f64::INFINITY, f64::min);
        // What was chosen, if it is none of these.
        let time = match (name, all.iter().find(|(n, p, _)| (*n, *p) == (name, parameter))) {
            (_, Some((.., time))) => *time,
            ("radix", _) => seconds(problem, &|node, keys| profile::radix(node, keys, parameter as u32)),
            ("sample", _) => seconds(problem, &|node, keys| profile::sample(node, keys, parameter as usize)),
            ("packets", _) => seconds(problem, &|node, keys| profile::packets(node, keys, parameter as u32)),
            other => panic!("{other:?} was chosen for {problem:?}"),
        };
        let penalty = (time / best - 1.0).max(0.0);
        assert!(penalty < 0.05, "{problem:?}: {name}:{parameter} is {:.1} % slower", 100.0 * penalty);
        penalties.push(penalty);
    }
    let mean = penalties.iter().sum::<f64>() / penalties.len() as f64;
    assert!(mean < 0.01, "{penalties:?}");
}
