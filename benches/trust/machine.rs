//! Tests whether choices can be trusted on this machine, idle and under a scripted load.
//!
//!     cargo bench -p strata-benches --bench trust_machine
//!
//! Sorts random problems with every competing algorithm and parameter, alternating, in sweeps over
//! all problems, then runs README's first command as a new user would, on as many nodes as there
//! are cores. The algorithm of the least median is the truth. The regret of a choice is its time
//! divided by that of the truth, less one; it is too large by a little, as the least of many
//! medians is too small by chance. The load is one thread that is busy at intervals given by a
//! fixed seed while the command measures; the truth is measured without it.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use chacha20::ChaCha8Rng;
use clap::Parser;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use strata_benches::{Timings, columns, machine, sorts, turns};
use strata_runtime::prelude::*;
use strata_sort::{Sort, profile};

/// Regrets above this are printed one by one.
const NOTABLE: f64 = 0.05;

/// Sweeps that measure the truth.
const SWEEPS: usize = 81;

/// A contestant above this many times the least time after five sweeps is measured no more.
const HOPELESS: f64 = 3.0;

/// A thread that is busy at intervals until it is dropped.
struct Load {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Load {
    fn start(seed: u64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let work = move || {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut busy = true;
            while !told.load(Ordering::Relaxed) {
                // Half a second to four.
                let stretch = Duration::from_secs_f64(0.5 * 8f64.powf(random.random::<f64>()));
                let begun = Instant::now();
                while begun.elapsed() < stretch && !told.load(Ordering::Relaxed) {
                    if busy {
                        std::hint::black_box((0..10_000).fold(1u64, |x, i| std::hint::black_box(x) ^ i));
                    } else {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                }
                busy = !busy;
            }
        };
        Self { stop, thread: Some(std::thread::spawn(work)) }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It does nothing that could panic.
            let _ended = thread.join();
        }
    }
}

/// All contestants on `nodes` nodes for keys of `width` bits, as in `specs/sort/library.spec`.
fn contestants(nodes: usize, width: u32) -> Vec<Sort> {
    let values: Vec<i64> = (2..=64).collect();
    let compete = |sort: &Sort| {
        nodes >= 8 || !matches!(sort, Sort::Batcher | Sort::Histogram | Sort::Quick | Sort::Packets { .. })
    };
    let even = |sort: &Sort| match *sort {
        Sort::Radix { bits } => bits as u32 == width.div_ceil(width.div_ceil(bits as u32)).max(2),
        _ => true,
    };
    profile::candidates(&values).map(|(_, sort)| sort).filter(|sort| compete(sort) && even(sort)).collect()
}

/// The candidate that `specc choose --json` names.
fn chosen_of(choice: &Value) -> Option<Sort> {
    let parameters = choice["parameters"].as_array()?.iter();
    let parameters: Option<Vec<i64>> = parameters.map(Value::as_i64).collect();
    sorts::named(choice["candidate"].as_str()?, &parameters?)
}

struct Contestant {
    sorter: Sort,
    timings: Timings,
    racing: bool,
}

struct Problem {
    keys: usize,
    width: u32,
    contestants: Vec<Contestant>,
}

impl Problem {
    fn racing(&self) -> impl Iterator<Item = &Contestant> {
        self.contestants.iter().filter(|c| c.racing)
    }

    /// The fastest, and its time.
    fn winner(&self) -> Option<(Sort, f64)> {
        self.racing().map(|c| (c.sorter, c.timings.median())).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The regret of a choice; for one that was measured no more, the least that it can be.
    fn regret(&self, chosen: Sort) -> f64 {
        match (self.winner(), self.racing().find(|c| c.sorter == chosen)) {
            (Some((_, best)), Some(chosen)) => chosen.timings.median() / best - 1.0,
            _ => HOPELESS - 1.0,
        }
    }
}

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
    problems: u64,
}

fn main() -> ExitCode {
    strata_benches::run(run)
}

fn run(&Arguments { runs: idle, loaded, ref budget, problems }: &Arguments) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned();
    let specc = build(&root)?;
    let truth = truth(problems)?;
    keep(&root, &truth)?;
    println!("{}\n{problems} problems, each calibration with a budget of {budget}\n", machine());
    columns("machine | run | failed models | right | regret mean | regret worst");
    let mut summary = serde_json::Map::new();
    let score = judge(&specc, &builtin(&specc, &root)?, &truth)?;
    tell("built-in models", 0, &score);
    summary.insert(
        "built_in".into(),
        json!({ "right": score.right, "regret_mean": score.mean, "regret_worst": score.worst }),
    );
    let kinds = [("idle", idle), ("loaded", loaded.unwrap_or(idle))];
    for (name, runs) in kinds.into_iter().filter(|(_, runs)| *runs > 0) {
        let mut all = Vec::new();
        for run in 1..=runs {
            let folder = root.join(format!("target/trust/{name}-{run}"));
            let load = (name == "loaded").then(|| Load::start(run));
            calibrate(&specc, &root, &folder, budget, run)?;
            drop(load);
            let score = judge(&specc, &folder.join("models.toml"), &truth)?;
            tell(name, run, &score);
            all.push(score);
        }
        let mean = |of: fn(&Score) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        summary.insert(
            name.into(),
            json!({
                "right": mean(|score| score.right),
                "regret_mean": mean(|score| score.mean),
                "regret_worst": all.iter().map(|score| score.worst).fold(0.0, f64::max),
                "failed_models": all.iter().map(|score| score.failed).sum::<usize>(),
                "runs_within_3_percent": all.iter().filter(|score| score.mean <= 0.03).count(),
            }),
        );
    }
    strata_benches::summary(&summary.into());
    Ok(())
}

fn build(root: &Path) -> Result<PathBuf, String> {
    let mut cargo = Command::new(env!("CARGO"));
    let cargo = cargo.current_dir(root).args(["build", "--release", "--quiet", "--package", "specc"]);
    let status = cargo.status().map_err(|error| format!("cannot start cargo: {error}"))?;
    if !status.success() {
        return Err(format!("building specc ended with {status}"));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release/specc"))
}

/// The models that `strata-sort` has compiled in for threads, as a model set.
fn builtin(specc: &Path, root: &Path) -> Result<PathBuf, String> {
    let folder = root.join("target/trust/built-in");
    let mut command = Command::new(specc);
    let command = command.current_dir(root).args(["fit", "models/xeon-2core-threads/sort/samples.txt"]);
    let end = command
        .args(["--spec", "specs/sort", "-o"])
        .arg(&folder)
        .stdout(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&end.stderr);
    if end.status.success() { Ok(folder.join("models.toml")) } else { Err(format!("fit: {said}")) }
}

/// README's first command.
fn calibrate(specc: &Path, root: &Path, folder: &Path, budget: &str, seed: u64) -> Result<(), String> {
    let mut command = Command::new(specc);
    command.current_dir(root).args([
        "calibrate",
        "specs/sort",
        "--budget",
        budget,
        "--seed",
        &seed.to_string(),
        "-o",
    ]);
    let end = command.arg(folder).stdout(Stdio::null()).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&end.stderr);
    said.lines()
        .filter(|line| line.contains("busy") || line.contains("limits"))
        .for_each(|line| eprintln!("{line}"));
    // A model that could not be fitted does not affect the others.
    if end.status.success() || end.status.code() == Some(1) {
        Ok(())
    } else {
        Err(format!("calibrate: {said}"))
    }
}

/// Writes the times of all contestants to `target/trust/truth.json`, so that models fitted later
/// from the samples beside it can be judged by them.
fn keep(root: &Path, truth: &[Problem]) -> Result<(), String> {
    let times = |problem: &Problem| -> Value {
        let of = |c: &Contestant| json!([format!("{:?}", c.sorter), c.timings.median()]);
        problem.racing().map(of).collect()
    };
    let all: Value =
        truth.iter().map(|p| json!({ "keys": p.keys, "width": p.width, "seconds": times(p) })).collect();
    let folder = root.join("target/trust");
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("truth.json"), format!("{all}\n")))
        .map_err(|error| format!("{}: {error}", folder.display()))
}

struct Score {
    right: f64,
    mean: f64,
    worst: f64,
    failed: usize,
}

/// Compares the models' choices with the truth. Within 1 % of the best counts as right.
fn judge(specc: &Path, models: &Path, truth: &[Problem]) -> Result<Score, String> {
    let mut regrets = Vec::new();
    for problem in truth {
        let end = Command::new(specc)
            .args(["choose", "--json", "--nodes", &nodes().to_string()])
            .arg(models)
            .args(["sort", &format!("keys={}", problem.keys), &format!("width={}", problem.width)])
            .output()
            .map_err(|error| error.to_string())?;
        let choice: Value = serde_json::from_slice(&end.stdout)
            .map_err(|_| format!("{}: {}", models.display(), String::from_utf8_lossy(&end.stderr)))?;
        let chosen = chosen_of(&choice).ok_or_else(|| format!("unknown choice {choice}"))?;
        let regret = problem.regret(chosen);
        if regret > NOTABLE {
            let (keys, width, lost) = (problem.keys, problem.width, 100.0 * regret);
            let winner = problem.winner().map(|(sorter, _)| sorter);
            eprintln!("{keys} keys of {width} bits: {chosen:?} loses {lost:.0} % to {winner:?}");
        }
        regrets.push(regret);
    }
    let text = std::fs::read_to_string(models).map_err(|error| format!("{}: {error}", models.display()))?;
    let count = regrets.len().max(1) as f64;
    Ok(Score {
        right: regrets.iter().filter(|regret| **regret <= 0.01).count() as f64 / count,
        mean: regrets.iter().sum::<f64>() / count,
        worst: regrets.iter().copied().fold(0.0, f64::max),
        failed: text.lines().filter(|line| line.trim() == "verdict = \"failed\"").count(),
    })
}

fn tell(name: &str, run: u64, score: &Score) {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    println!(
        "| {name} | {run} | {} | {} | {} | {} |",
        score.failed,
        percent(score.right),
        percent(score.mean),
        percent(score.worst)
    );
}

/// One for each core, as `specc calibrate` takes.
fn nodes() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Random problems, equal in every run, with measured times.
fn truth(problems: u64) -> Result<Vec<Problem>, String> {
    let all = Machine::threads(nodes()).and_then(|m| m.run(|node: &mut Node| Ok(measure(node, problems))));
    all.map_err(|error| error.to_string())?.into_iter().next().ok_or_else(|| "no nodes".to_owned())
}

fn measure(node: &mut Node, problems: u64) -> Vec<Problem> {
    let mut random = ChaCha8Rng::seed_from_u64(12);
    let problem = |_| {
        let keys = 2f64.powf(4.0 + 14.0 * random.random::<f64>()) as usize;
        let width = random.random_range(1..=64);
        let new = |sorter| Contestant { sorter, timings: Timings::default(), racing: true };
        Problem { keys, width, contestants: contestants(node.size(), width).into_iter().map(new).collect() }
    };
    let mut all: Vec<Problem> = (0..problems).map(problem).collect();
    for sweep in 0..SWEEPS {
        if node.rank() == 0 {
            eprintln!("truth: sweep {} of {SWEEPS}", sweep + 1);
        }
        all.iter_mut().for_each(|problem| race(node, problem, sweep));
    }
    all
}

/// Runs every sorter that still competes once, in random order.
fn race(node: &mut Node, problem: &mut Problem, sweep: usize) {
    // Other keys in each sweep, as in calibrations: samples of one set of keys may suit it by
    // chance.
    let data = profile::keys(node, problem.keys, problem.width, sweep as u64);
    for turn in turns(sweep, problem.contestants.len()) {
        let contestant = &mut problem.contestants[turn];
        if !contestant.racing {
            continue;
        }
        let mut mine = data.clone();
        node.barrier();
        let start = node.now().get();
        contestant.sorter.run(node, &mut mine);
        contestant.timings.push(node.reduce_max(node.now().get() - start));
    }
    if sweep == 4 {
        let least = problem.contestants.iter().map(|c| c.timings.median()).fold(f64::INFINITY, f64::min);
        problem.contestants.iter_mut().for_each(|c| c.racing = c.timings.median() <= HOPELESS * least);
    }
}
