//! Single sorts of the thesis: what models predict of them, what the simulator says, and which of
//! some is the fastest.

use std::cell::RefCell;

use strata_benches::{accuracy::Times, jobs};
use strata_model::LibraryModels;
use strata_runtime::{Machine, simulation::Simulation};
use strata_select::Source as _;
use strata_sort::profile::thesis;

use crate::NODES;

/// Rivals that are predicted to take longer than the best by this factor are not simulated.
const HOPELESS: f64 = 1.25;

/// Radix sort by digits of so many bits, or else sample sort.
pub(crate) type Way = Option<u32>;

pub(crate) fn predicted(library: &LibraryModels, way: Way, keys: usize, width: u32) -> Option<f64> {
    let index = library.candidate(if way.is_some() { "radix" } else { "sample" })?;
    let parameters: Vec<i64> = way.into_iter().map(i64::from).collect();
    library.seconds(index, NODES, &[keys as f64, f64::from(width)], &parameters)
}

/// Times of sorts on a simulated machine.
pub(crate) struct Judge {
    machine: Simulation,
    times: RefCell<Times>,
    /// The first seed of keys.
    seed: u64,
}

impl Judge {
    pub(crate) fn new(platform: &str, seed: u64, times: Times) -> Result<Self, String> {
        let machine = Machine::sim(&jobs::platform(platform)?, NODES).map_err(|e| e.to_string())?;
        // Calibration takes the first seeds.
        Ok(Self { machine, times: RefCell::new(times), seed: (1 << 32) + (seed << 16) })
    }

    /// The mean simulated time of a sort of the first `sets` sets of keys.
    pub(crate) fn mean(&self, way: Way, keys: usize, width: u32, sets: u64) -> Result<f64, String> {
        let mut sum = 0.0;
        for seed in (0..sets).map(|set| self.seed + set) {
            let run = || {
                let simulated =
                    self.machine.run(|node| Ok(thesis::seconds(node, keys, width, way, seed..seed + 1)));
                Ok(simulated.map_err(|e| e.to_string())?.results[0])
            };
            sum += self.times.borrow_mut().get(format!("{way:?} {keys} {width} {seed}"), run)?;
        }
        Ok(sum / sets as f64)
    }

    /// The time of the first of these, which is predicted to be the fastest, over that of the one that
    /// is; each with its predicted time.
    pub(crate) fn penalty(
        &self,
        rivals: &[(Way, f64)],
        keys: usize,
        width: u32,
        sets: u64,
    ) -> Result<f64, String> {
        let open: Vec<_> = rivals.iter().filter(|(_, time)| *time < HOPELESS * rivals[0].1).collect();
        if open.len() < 2 {
            return Ok(1.0);
        }
        let times: Vec<f64> =
            open.iter().map(|(way, _)| self.mean(*way, keys, width, sets)).collect::<Result<_, _>>()?;
        Ok(times[0] / times.iter().copied().fold(f64::INFINITY, f64::min))
    }
}
