//! Whether choices can be trusted on this machine, calibrated while it is idle and under a load.
//!
//!     cargo bench -p strata-benches --bench trust_machine
//!
//! Runs README's first command as a new user would, on as many nodes as there are cores, and then
//! times what the models choose for fresh problems in turns with what else could be taken. The load
//! is one thread that is busy at intervals given by a fixed seed while the command measures; choices
//! are timed without it.

use std::path::Path;

use chacha20::ChaCha8Rng;
use clap::Parser;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Map, json};
use strata_benches::judge::{Judge, Timing};
use strata_benches::{columns, load, machine, tool};
use strata_model::set::Verdict;

/// Losses above this are printed one by one.
const NOTABLE: f64 = 0.05;

/// Choices that lose at most this much are right.
const RIGHT: f64 = 0.01;

#[derive(Parser)]
struct Arguments {
    /// Calibrations while the machine is idle
    #[arg(long, default_value_t = 1)]
    runs: u64,
    /// Calibrations under the load; as many where not given
    #[arg(long, value_name = "RUNS")]
    loaded: Option<u64>,
    /// What a calibration may take
    #[arg(long, value_name = "TIME", default_value = "45s")]
    budget: String,
    /// Problems that are chosen for
    #[arg(long, default_value_t = 24)]
    problems: usize,
    /// Seconds for which the choices of a calibration are timed
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    race: f64,
}

strata_benches::main!(run);

/// Stretches of half a second to four, busy and idle in turns.
fn stretches(seed: u64, number: u64) -> load::Period {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(number);
    let [busy, rest] = [0; 2].map(|_| 0.5 * 8f64.powf(random.random::<f64>()));
    (1, busy, rest)
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let &Arguments { runs: idle, loaded, ref budget, problems, .. } = arguments;
    println!("{}\n{problems} problems, each calibration with a budget of {budget}\n", machine());
    columns("machine | run | failed models | right | regret mean | regret worst");
    let mut summary = Map::new();
    let folder = tool::root().join("target/trust");
    let built_in = folder.join("built-in");
    let samples = "models/xeon-2core-threads/sort/samples.txt";
    tool::specc_into(&built_in, &["fit", samples, "--spec", "specs/sort"])?;
    let score = judge(&built_in, arguments)?;
    score.tell("built-in models", 0);
    let values = json!({ "right": score.right, "regret_mean": score.mean, "regret_worst": score.worst });
    summary.insert("built_in".into(), values);
    for (name, runs, threads) in [("idle", idle, 0), ("loaded", loaded.unwrap_or(idle), 1)] {
        let mut all = Vec::new();
        for run in 1..=runs {
            let folder = folder.join(format!("{name}-{run}"));
            let seed = run.to_string();
            let words = ["calibrate", "specs/sort", "--budget", budget, "--seed", &seed];
            load::beside(threads, |number| stretches(run, number), || tool::specc_into(&folder, &words))?;
            let score = judge(&folder, arguments)?;
            score.tell(name, run);
            all.push(score);
        }
        if all.is_empty() {
            continue;
        }
        let mean = |of: fn(&Score) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        let values = json!({
            "right": mean(|score| score.right),
            "regret_mean": mean(|score| score.mean),
            "regret_worst": all.iter().map(|score| score.worst).fold(0.0, f64::max),
            "failed_models": all.iter().map(|score| score.failed).sum::<usize>(),
            "runs_within_3_percent": all.iter().filter(|score| score.mean <= 0.03).count(),
        });
        summary.insert(name.into(), values);
    }
    strata_benches::summary(&summary.into());
    Ok(())
}

struct Score {
    right: f64,
    mean: f64,
    worst: f64,
    failed: usize,
}

impl Score {
    fn tell(&self, name: &str, run: u64) {
        let [right, mean, worst] =
            [self.right, self.mean, self.worst].map(|share| format!("{:.1} %", 100.0 * share));
        println!("| {name} | {run} | {} | {right} | {mean} | {worst} |", self.failed);
    }
}

/// What the models in a folder choose, at the same inputs in every run.
fn judge(folder: &Path, &Arguments { problems, race, .. }: &Arguments) -> Result<Score, String> {
    let nodes = std::thread::available_parallelism().map_or(1, usize::from);
    let timing = Timing { nodes, seed: 12, inputs: problems, round: None, seconds: race };
    let spec = tool::root().join("specs/sort");
    let judge = Judge::time(&spec, &folder.join("models.toml"), folder, &timing, None)?;
    let losses = judge.losses();
    for (inputs, lost) in losses.iter().filter(|(_, loss)| *loss > NOTABLE) {
        eprintln!("keys, width {inputs:?}: the choice loses {:.0} %", 100.0 * lost);
    }
    let count = losses.len().max(1) as f64;
    Ok(Score {
        right: losses.iter().filter(|(_, loss)| *loss <= RIGHT).count() as f64 / count,
        mean: losses.iter().map(|(_, loss)| loss).sum::<f64>() / count,
        worst: losses.iter().map(|(_, loss)| *loss).fold(0.0, f64::max),
        failed: judge.set().models.iter().filter(|model| model.verdict == Verdict::Failed).count(),
    })
}
