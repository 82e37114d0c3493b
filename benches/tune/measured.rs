//! Searches on measured times instead of made-up ones (Borg 2006, Figs 6.7 and 6.8): messages
//! between two threads are timed by each pair of copy routines, and policies are replayed on these
//! times.
//!
//! One message is a space of two knobs, of which each may depend on the other. A loop of four
//! messages of different sizes is a space of eight: its time is the sum of theirs. A replayed
//! evaluation draws one of the timings of its pair, so that its noise is the machine's.

use crate::Run;
use crate::ping::{self, Cell, median};
use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use strata_benches::{Timings, columns};
use strata_runtime::Error;
use strata_tune::policy::{Config, Generator, Search, Space};

const SIZES: [usize; 4] = [1 << 12, 1 << 14, 1 << 16, 1 << 18];
const PASSES: usize = 5;
const SEEDS: u64 = 24;

/// The times of messages, each by every pair of routines: of sender `number / routines` and of
/// receiver `number % routines`.
struct Loop<'a> {
    routines: usize,
    messages: &'a [Vec<Vec<f64>>],
}

impl Loop<'_> {
    /// The timings of each message by a configuration.
    fn of(&self, config: &[u16]) -> impl Iterator<Item = &[f64]> {
        let at = |pair: &[u16]| usize::from(pair[0]) * self.routines + usize::from(pair[1]);
        self.messages.iter().zip(config.chunks_exact(2)).map(move |(times, pair)| &times[at(pair)][..])
    }

    /// The time of a configuration: the sum of medians.
    fn time(&self, config: &[u16]) -> f64 {
        self.of(config).map(median).sum()
    }

    /// The least time.
    fn least(&self) -> f64 {
        let least = |times: &Vec<Vec<f64>>| times.iter().map(|of| median(of)).fold(f64::INFINITY, f64::min);
        self.messages.iter().map(least).sum()
    }

    fn space(&self) -> Space {
        Space::new(vec![self.routines as u16; 2 * self.messages.len()])
    }

    /// What a search ends with, over the least.
    fn final_time(&self, search: Search, evaluations: u32, seed: u64) -> f64 {
        let space = self.space();
        let mut policy = search.policy(&space, evaluations);
        let (mut random, mut noise) = (ChaCha8Rng::seed_from_u64(seed), ChaCha8Rng::seed_from_u64(!seed));
        let mut config = Config::new();
        let default = self.time(&space.default_config());
        for _ in 0..evaluations {
            policy.next(&mut random, &mut config);
            let time: f64 = self.of(&config).map(|of| of[noise.random_range(0..of.len())]).sum();
            policy.learn(&mut random, &config, time / default);
        }
        self.time(&policy.best()) / self.least()
    }
}

pub(crate) fn measure(run: Run) -> Result<Value, Error> {
    println!("## Searches on measured times of messages: final time over the least, {SEEDS} seeds\n");
    let mut messages = Vec::new();
    let mut routines = 0;
    for bytes in SIZES {
        let (times, known) = ping::pairs(Cell { bytes, pong: false, touch: true }, PASSES)?;
        messages.push(times);
        routines = known;
    }
    columns("messages of | space | `memcpy` | policy | evaluations | quartiles");
    let mut found = Vec::new();
    let singles = SIZES.iter().zip(&messages).map(|(bytes, times)| {
        (format!("{bytes} B"), Loop { routines, messages: std::slice::from_ref(times) })
    });
    for (name, space) in singles.chain([("all four".to_owned(), Loop { routines, messages: &messages })]) {
        let knobs = 2 * space.messages.len();
        let default = space.time(&space.space().default_config()) / space.least();
        let budgets: &[u32] = if knobs == 2 { &[25, 100, 300] } else { &[150, 500, 1500] };
        for (policy, search) in [
            ("quenching, uniform options", Search::Quench(Generator::Uniform)),
            ("quenching, rated options", Search::Quench(Generator::Rated)),
        ] {
            for &evaluations in budgets {
                let seeds = (0..SEEDS).map(|seed| seed + 1000 * run.seed);
                let finals: Timings = seeds.map(|seed| space.final_time(search, evaluations, seed)).collect();
                let quartiles = [0.25, 0.5, 0.75].map(|q| finals.quantile(q));
                println!(
                    "| {name} | {routines}^{knobs} | {default:.2} | {policy} | {evaluations} | {} |",
                    quartiles.map(|value| format!("{value:.3}")).join(", ")
                );
                found.push(json!({"messages": name, "policy": policy, "evaluations": evaluations,
                    "memcpy": default, "quartiles": quartiles}));
            }
        }
    }
    println!();
    Ok(Value::Array(found))
}
