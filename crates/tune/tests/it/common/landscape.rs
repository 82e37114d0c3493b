//! A made-up cost of several knobs: a sum over knobs, and over pairs of neighbours, which interact;
//! timings scatter by 2 %. The optimum is computed.

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_tune::policy::{Config, Search, Space};

pub(crate) const KNOBS: usize = 8;
pub(crate) const OPTIONS: usize = 35;

pub(crate) struct Landscape {
    alone: Vec<Vec<f64>>,
    pairs: Vec<Vec<Vec<f64>>>,
}

impl Landscape {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(1000 + seed);
        let mut row = |low: f64, high: f64| -> Vec<f64> {
            (0..OPTIONS).map(|_| low + (high - low) * random.random::<f64>()).collect()
        };
        let alone = (0..KNOBS).map(|_| row(1.0, 3.0)).collect();
        let pairs = (1..KNOBS).map(|_| (0..OPTIONS).map(|_| row(0.0, 1.0)).collect()).collect();
        Self { alone, pairs }
    }

    pub(crate) fn cost(&self, config: &[u16]) -> f64 {
        let at = |knob: usize| usize::from(config[knob]);
        let alone: f64 = (0..KNOBS).map(|knob| self.alone[knob][at(knob)]).sum();
        let pairs: f64 = (1..KNOBS).map(|knob| self.pairs[knob - 1][at(knob - 1)][at(knob)]).sum();
        alone + pairs
    }

    /// The least cost, along the chain of knobs.
    pub(crate) fn optimum(&self) -> f64 {
        let mut least = self.alone[0].clone();
        for knob in 1..KNOBS {
            let to = |option: usize| {
                let from = |before: usize| least[before] + self.pairs[knob - 1][before][option];
                (0..OPTIONS).map(from).fold(f64::INFINITY, f64::min) + self.alone[knob][option]
            };
            least = (0..OPTIONS).map(to).collect();
        }
        least.into_iter().fold(f64::INFINITY, f64::min)
    }
}

/// The cost of what a search ends with, relative to the optimum.
pub(crate) fn final_time(landscape: &Landscape, search: Search, evaluations: u32, seed: u64) -> f64 {
    let space = Space::new([OPTIONS as u16; KNOBS]);
    let mut policy = search.policy(&space, evaluations);
    let (mut random, mut noise) = (ChaCha8Rng::seed_from_u64(seed), ChaCha8Rng::seed_from_u64(!seed));
    let mut config = Config::new();
    let default = landscape.cost(&space.default_config());
    for _ in 0..evaluations {
        policy.next(&mut random, &mut config);
        // The sum of twelve uniform numbers less six is nearly normal.
        let normal: f64 = (0..12).map(|_| noise.random::<f64>()).sum::<f64>() - 6.0;
        let time = landscape.cost(&config) * (1.0 + 0.02 * normal);
        policy.learn(&mut random, &config, time / default);
    }
    landscape.cost(&policy.best()) / landscape.optimum()
}

pub(crate) fn quartiles(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    [1, 2, 3].map(|part| sorted[part * (sorted.len() - 1) / 4])
}
