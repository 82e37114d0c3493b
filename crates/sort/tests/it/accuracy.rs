//! Choices on a simulated machine by models that `specc` fitted there: the sort that is taken is
//! hardly ever slower than the fastest.

use std::path::Path;
use strata_runtime::{
    prelude::*,
    simulation::{SimulatedMachine, Simulation},
};
use strata_select::Library;
use strata_sort::{Options, Sort, profile, sort_with};

const NODES: usize = 16;

/// Keys a node and their bits, none of which was measured.
const PROBLEMS: [(usize, u32); 8] =
    [(1, 16), (5, 32), (30, 8), (90, 24), (300, 8), (700, 32), (1300, 13), (2200, 8)];

/// Seeds that calibration did not use.
const SEEDS: std::ops::Range<u64> = 1 << 40..(1 << 40) + 2;

fn machine() -> Simulation {
    Machine::sim(&SimulatedMachine::find("alewife").unwrap(), NODES).unwrap()
}

/// The simulated time of a candidate.
fn seconds((keys, width): (usize, u32), sort: Sort) -> f64 {
    let run = machine()
        .run(|node| Ok(profile::seconds(node, keys, width, SEEDS, |node, keys| sort.run(node, keys))));
    run.unwrap().results[0]
}

/// What models choose.
fn chosen((keys, width): (usize, u32)) -> Sort {
    let models =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/sim-alewife-16/sort/simulated/models.toml");
    let run = machine().run(|node| {
        let options = Options::default().models(&models);
        let choice = sort_with(node, &mut profile::keys(node, keys, width, SEEDS.start), &options)?;
        assert!(choice.predicted.is_some(), "the models cover it: {choice}");
        Ok(Sort::candidate(choice.index, &choice.parameters))
    });
    run.unwrap().results[0].unwrap()
}

#[test]
fn the_sort_that_is_chosen_is_hardly_slower_than_the_fastest() {
    let mut penalties = Vec::new();
    for problem in PROBLEMS {
        let chosen = chosen(problem);
        let rivals = profile::candidates(&[4, 6, 8]).map(|(_, candidate)| candidate);
        // These two would take minutes to lose.
        let hopeless = |sort| match sort {
            Sort::Gather => problem.0 > 100,
            Sort::Radix { bits } => bits > 8,
            _ => false,
        };
        let rivals = rivals.filter(|sort| !hopeless(*sort)).map(|sort| seconds(problem, sort));
        let (best, time) = (rivals.fold(f64::INFINITY, f64::min), seconds(problem, chosen));
        let penalty = (time / best - 1.0).max(0.0);
        assert!(penalty < 0.05, "{problem:?}: {chosen:?} is {:.1} % slower", 100.0 * penalty);
        penalties.push(penalty);
    }
    let mean = penalties.iter().sum::<f64>() / penalties.len() as f64;
    assert!(mean < 0.01, "{penalties:?}");
}
