//! Searches on measured times instead of made-up ones (Borg 2006, Figs 6.7 and 6.8): the times of
//! messages between two threads, of each pair of copy routines, were measured once and stand in a
//! file; policies are replayed on it, so that the result is the same on every machine.
//!
//! One message is a space of pairs. A loop of four messages of different sizes is one of eight
//! knobs: its time is the sum of theirs. A replayed evaluation draws one of the timings of its pair,
//! so that its noise is the machine's.

use crate::Run;
use crate::ping::{self, Cell};
use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;
use strata_benches::{Timings, head, machine, row};
use strata_runtime::Error;
use strata_runtime::copy::Routine;
use strata_tune::policy::{Config, Generator, Search, Space};

/// Times of messages, as measured.
#[derive(Serialize, Deserialize)]
struct Table {
    /// On what, and when.
    machine: String,
    routines: Vec<String>,
    messages: Vec<Message>,
}

/// The times of one message.
#[derive(Serialize, Deserialize)]
struct Message {
    bytes: usize,
    /// Of each pair, the sender's routine first, some timings in ns.
    nanoseconds: Vec<Vec<u32>>,
}

const SIZES: [usize; 4] = [1 << 12, 1 << 14, 1 << 16, 1 << 18];
const PASSES: usize = 3;
const SEEDS: u64 = 24;

/// Measures the table, and writes it.
pub(crate) fn record(file: &Path) -> Result<(), Error> {
    let mut messages = Vec::new();
    for bytes in SIZES {
        let times = ping::pairs(Cell { bytes, pong: false, touch: true }, PASSES)?;
        let whole = |times: &Vec<f64>| times.iter().map(|time| (1e9 * time).round() as u32).collect();
        messages.push(Message { bytes, nanoseconds: times.iter().map(whole).collect() });
    }
    let routines = ping::all().iter().flatten().map(|routine| Routine::name(routine).to_owned()).collect();
    let table = Table { machine: machine(), routines, messages };
    std::fs::write(file, serde_json::to_string(&table).map_err(Error::program)? + "\n")?;
    println!("{}", file.display());
    Ok(())
}

/// A loop of some of the table's messages.
struct Loop<'a> {
    routines: usize,
    messages: Vec<&'a Message>,
}

impl Loop<'_> {
    fn of<'b>(&self, message: &'b Message, config: &[u16]) -> &'b [u32] {
        &message.nanoseconds[usize::from(config[0]) * self.routines + usize::from(config[1])]
    }

    /// The time of a configuration: the sum of medians.
    fn time(&self, config: &[u16]) -> f64 {
        let pairs = self.messages.iter().zip(config.chunks_exact(2));
        pairs.map(|(message, pair)| median(self.of(message, pair))).sum()
    }

    /// One timing of it.
    fn drawn(&self, config: &[u16], random: &mut ChaCha8Rng) -> f64 {
        let pairs = self.messages.iter().zip(config.chunks_exact(2));
        pairs
            .map(|(message, pair)| {
                let times = self.of(message, pair);
                f64::from(times[random.random_range(0..times.len())])
            })
            .sum()
    }

    /// The least time.
    fn least(&self) -> f64 {
        let least = |message: &&Message| {
            message.nanoseconds.iter().map(|times| median(times)).fold(f64::INFINITY, f64::min)
        };
        self.messages.iter().map(least).sum()
    }

    /// What a search ends with, over the least.
    fn final_time(&self, search: Search, evaluations: u32, seed: u64) -> f64 {
        let space = Space::new(vec![self.routines as u16; 2 * self.messages.len()]);
        let mut policy = search.policy(&space, evaluations);
        let (mut random, mut noise) = (ChaCha8Rng::seed_from_u64(seed), ChaCha8Rng::seed_from_u64(!seed));
        let mut config = Config::new();
        let default = self.time(&space.default_config());
        for _ in 0..evaluations {
            policy.next(&mut random, &mut config);
            policy.learn(&mut random, &config, self.drawn(&config, &mut noise) / default);
        }
        self.time(&policy.best()) / self.least()
    }
}

fn median(times: &[u32]) -> f64 {
    Timings::from_iter(times.iter().map(|time| f64::from(*time))).median()
}

pub(crate) fn measure(run: Run) -> Result<Value, Error> {
    let table: Table = serde_json::from_str(include_str!("measured.json")).map_err(Error::program)?;
    let routines = table.routines.len();
    println!("## Searches on measured times: final time over the least, {SEEDS} seeds\n");
    println!("Measured on {}\n", table.machine);
    head(&["space", "`memcpy`", "policy", "evaluations", "quartiles"]);
    let mut found = Vec::new();
    let singles = table.messages.iter().map(|message| (message.bytes.to_string(), vec![message]));
    let all = [("all four".to_owned(), table.messages.iter().collect())];
    for (name, messages) in singles.chain(all) {
        let space = Loop { routines, messages };
        let knobs = 2 * space.messages.len();
        let default = space.time(&vec![0; knobs]) / space.least();
        let budgets: &[u32] = if knobs == 2 { &[25, 50, 100, 300] } else { &[50, 150, 500, 1500] };
        for (policy, search) in [
            ("quenching, uniform options", Search::Quench(Generator::Uniform)),
            ("quenching, rated options", Search::Quench(Generator::Rated)),
            ("bandits", Search::Bandit),
        ] {
            for &evaluations in budgets {
                let seeds = (0..SEEDS).map(|seed| seed + 1000 * run.seed);
                let finals: Timings = seeds.map(|seed| space.final_time(search, evaluations, seed)).collect();
                let quartiles = [0.25, 0.5, 0.75].map(|q| finals.quantile(q));
                row(&[
                    format!("{name}: {routines}^{knobs}"),
                    format!("{default:.2}"),
                    policy.to_owned(),
                    evaluations.to_string(),
                    quartiles.map(|value| format!("{value:.3}")).join(", "),
                ]);
                found.push(json!({"space": name, "policy": policy, "evaluations": evaluations,
                    "quartiles": quartiles}));
            }
        }
    }
    println!();
    Ok(Value::Array(found))
}
