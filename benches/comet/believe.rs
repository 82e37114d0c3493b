//! Whether figures of `comet` can be believed on this machine: medians of runs under a load
//! that comes and goes, and how often 95 % intervals hold the truth.
//!
//!     cargo bench -p strata-benches --bench believe                  # 10 runs under load, 10 without
//!     cargo bench -p strata-benches --bench believe -- --coverage    # 100 runs, a quiet machine
//!
//! The load is as many threads as cores, or one, that compute for 0.2 to 5 s and rest for 0.2 to 8
//! s, as the seed says. Of the runs that are not marked contaminated the largest median of every
//! point up to 128 KiB is compared with the least. For the intervals the truth is the median of all
//! timings of all runs together, a run so many times as long; that of another process differs, as
//! memory lies elsewhere, so that this is the stricter test. A machine that is another one from run
//! to run (a virtual machine, whose processors move apart) has no truth: its runs are also judged by
//! those in which all points together were within a tenth of the middle run.

use std::collections::BTreeMap;
use std::path::Path;

use chacha20::ChaCha8Rng;
use clap::Parser;
use rand::{RngExt as _, SeedableRng as _};
use strata_benches::{at_least, columns, load, machine, tool};
use strata_comet::Results;
use strata_model::Samples;

/// The largest messages that are judged.
const LARGEST: i64 = 128 << 10;

/// The largest median over the least that is accepted.
const ACCEPTED: f64 = 1.10;

#[derive(Parser)]
struct Options {
    /// How often intervals hold the truth, instead of medians under a load
    #[arg(long)]
    coverage: bool,
    /// Runs: of medians 10 under load and 10 without, of coverage 100
    #[arg(long, value_parser = at_least(1))]
    runs: Option<usize>,
    /// What a run may take: of medians 8s, of coverage 2s
    #[arg(long, value_name = "TIME")]
    budget: Option<String>,
    /// Of the load and of the runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where comet runs
    #[arg(long, default_value = "threads")]
    on: String,
}

/// A point by its model and values.
type Point = (String, Vec<i64>);

strata_benches::main!(all);

fn all(options: &Options) -> Result<(), String> {
    println!("{}\n", machine());
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    // Built before anything is timed.
    run(options, folder.path(), "1s", 0)?;
    let found = if options.coverage { coverage } else { medians };
    strata_benches::summary(&found(options, folder.path())?);
    Ok(())
}

fn run(options: &Options, folder: &Path, budget: &str, seed: u64) -> Result<(Results, Samples), String> {
    let kernels = "echo,exchange,broadcast,reduce,barrier,all";
    let sizes = "8,64,512,4K,16K,64K,128K";
    let mut command = tool::comet();
    command.args(["--nodes", "2", "--on", &options.on, "--kernels", kernels, "--sizes", sizes]);
    command.args(["--budget", budget, "--seed", &seed.to_string(), "-o"]).arg(folder);
    tool::run(&mut command)?;
    let results = Results::read(folder).map_err(|error| error.to_string())?;
    let samples = Samples::parse(&tool::text(&folder.join("samples.txt"))?, "samples.txt")
        .map_err(|error| error.to_string())?;
    Ok((results, samples))
}

/// Whether a point is judged: sizes in bytes up to the largest.
fn judged(unit: &str, at: &[i64]) -> bool {
    let bytes = at.first().copied().unwrap_or(0) * if unit == "elements" { 8 } else { 1 };
    bytes <= LARGEST
}

/// The script of the seed: threads, and for how long they compute and then rest.
fn script(seed: u64, number: u64) -> load::Period {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(number);
    let threads = if random.random::<bool>() { usize::MAX } else { 1 };
    (threads, random.random_range(0.2..5.0), random.random_range(0.2..8.0))
}

/// The median ratio of times, now over before, at the points of both runs.
fn level(before: &Results, now: &Results) -> Option<f64> {
    let pairs = now.kernels.iter().filter_map(|kernel| Some((before.kernel(&kernel.model)?, kernel)));
    let mut ratios: Vec<f64> = pairs
        .flat_map(|(old, new)| {
            new.points.iter().filter_map(|point| {
                let other = old.points.iter().find(|other| other.at == point.at)?;
                Some(point.belief.median / other.belief.median)
            })
        })
        .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied()
}

/// Largest over least medians of runs that are not marked, under load and without.
fn medians(options: &Options, folder: &Path) -> Result<serde_json::Value, String> {
    let runs = options.runs.unwrap_or(10);
    let budget = options.budget.as_deref().unwrap_or("8s");
    let mut summary = serde_json::json!({ "bench": "believe", "runs": runs, "seed": options.seed });
    println!("Runs back to back of {budget}, two nodes ({})\n", options.on);
    columns(
        "load | marked | points of unmarked runs | largest over least median: worst | above 1.10 | all points together",
    );
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for (name, threads) in [("that comes and goes", cores), ("none", 0)] {
        let all = load::beside(
            threads,
            |number| script(options.seed, number),
            || {
                (0..runs)
                    .map(|k| run(options, folder, budget, options.seed + k as u64))
                    .collect::<Result<Vec<_>, _>>()
            },
        )?;
        let marked = all.iter().filter(|(results, _)| results.contaminated.is_some()).count();
        let mut medians: BTreeMap<Point, Vec<f64>> = BTreeMap::new();
        let unmarked = || all.iter().filter(|(results, _)| results.contaminated.is_none());
        let levels = unmarked().filter_map(|(results, _)| level(&unmarked().next()?.0, results));
        let (least, most) =
            levels.fold((1.0f64, 1.0f64), |(least, most), level| (least.min(level), most.max(level)));
        for (results, _) in unmarked() {
            for kernel in &results.kernels {
                for point in kernel.points.iter().filter(|point| judged(&kernel.unit, &point.at)) {
                    let place = (kernel.model.clone(), point.at.clone());
                    medians.entry(place).or_default().push(point.belief.median);
                }
            }
        }
        let ratio = |values: &Vec<f64>| {
            values.iter().copied().fold(0.0, f64::max) / values.iter().copied().fold(f64::INFINITY, f64::min)
        };
        let several: Vec<(&Point, f64)> = medians
            .iter()
            .filter(|(_, values)| values.len() > 1)
            .map(|(at, values)| (at, ratio(values)))
            .collect();
        let worst = several.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let above = several.iter().filter(|(_, ratio)| *ratio > ACCEPTED).count();
        let shown =
            worst.map_or("-".to_owned(), |((model, at), ratio)| format!("{ratio:.3} ({model} {at:?})"));
        println!(
            "| {name} | {marked} of {runs} | {} | {shown} | {above} | {:.3} |",
            several.len(),
            most / least
        );
        let key = if threads > 0 { "loaded" } else { "idle" };
        summary[key] = serde_json::json!({
            "marked": marked, "points": several.len(), "worst_ratio": worst.map(|(_, ratio)| ratio), "above": above, "level_ratio": most / least,
        });
    }
    Ok(summary)
}

/// Whether each run is within a tenth of the middle one, all points together.
fn as_the_middle_run(all: &[(Results, Samples)]) -> Vec<bool> {
    let Some((first, _)) = all.first() else { return Vec::new() };
    let levels: Vec<f64> = all.iter().map(|(results, _)| level(first, results).unwrap_or(1.0)).collect();
    let mut sorted = levels.clone();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted[sorted.len() / 2];
    levels.iter().map(|level| (level / middle).ln().abs() <= ACCEPTED.ln()).collect()
}

/// How often the interval of a run holds the median of all runs together.
fn coverage(options: &Options, folder: &Path) -> Result<serde_json::Value, String> {
    let runs = options.runs.unwrap_or(100);
    let budget = options.budget.as_deref().unwrap_or("2s");
    let mut all = Vec::new();
    let mut marked = 0;
    for k in 0..runs {
        let (results, samples) = run(options, folder, budget, options.seed + k as u64)?;
        if results.contaminated.is_some() {
            marked += 1;
        } else {
            all.push((results, samples));
        }
    }
    println!(
        "Intervals of runs of {budget}, two nodes ({}), and the median of all runs together\n",
        options.on
    );
    let of_middle = as_the_middle_run(&all);
    let of_all = held(&all, false);
    let of_one_level: Vec<(Results, Samples)> =
        all.into_iter().zip(of_middle).filter(|(_, middle)| *middle).map(|(run, _)| run).collect();
    println!(
        "\nof all: {:.1} %; {marked} of {runs} runs were marked contaminated\n",
        100.0 * of_all.0 as f64 / of_all.1.max(1) as f64
    );
    let of_one = held(&of_one_level, true);
    let share = |(holding, intervals): (usize, usize)| holding as f64 / intervals.max(1) as f64;
    println!(
        "\nof the {} runs that were not marked and are within a tenth of the middle one: {:.1} %",
        of_one_level.len(),
        100.0 * share(of_one)
    );
    Ok(serde_json::json!({
        "bench": "believe", "coverage": share(of_all), "intervals": of_all.1, "runs": runs, "marked": marked,
        "runs_of_one_level": of_one_level.len(), "coverage_of_one_level": share(of_one), "seed": options.seed,
    }))
}

/// The intervals that hold the median of all runs together, and how many there are; a table.
fn held(all: &[(Results, Samples)], show: bool) -> (usize, usize) {
    let mut together: BTreeMap<Point, Vec<f64>> = BTreeMap::new();
    for (_, samples) in all {
        for model in &samples.models {
            for row in &model.rows {
                let place = (model.name.clone(), row.notes.at.clone());
                let seconds = row.notes.timings.iter().map(|timing| timing.seconds);
                together.entry(place).or_default().extend(seconds.filter(|seconds| seconds.is_finite()));
            }
        }
    }
    for timings in together.values_mut() {
        timings.sort_by(f64::total_cmp);
    }
    let (mut intervals, mut holding) = (0, 0);
    let mut models: BTreeMap<&str, (usize, usize, f64)> = BTreeMap::new();
    for (results, _) in all {
        for kernel in &results.kernels {
            for point in &kernel.points {
                let Some(timings) = together.get(&(kernel.model.clone(), point.at.clone())) else { continue };
                // Points that only few runs have, such as those beside breaks, tell no truth.
                if timings.len() < 10 * point.belief.timings {
                    continue;
                }
                let truth = timings[timings.len() / 2];
                let holds = (point.belief.low..=point.belief.high).contains(&truth);
                let of_model = models.entry(&kernel.model).or_default();
                *of_model =
                    (of_model.0 + 1, of_model.1 + usize::from(holds), of_model.2 + point.belief.half_width());
                (intervals, holding) = (intervals + 1, holding + usize::from(holds));
            }
        }
    }
    if show {
        columns("model | intervals | that hold it | mean half width");
    }
    for (model, (count, holds, width)) in models.into_iter().filter(|_| show) {
        println!(
            "| {model} | {count} | {:.1} % | {:.1} % |",
            100.0 * holds as f64 / count as f64,
            100.0 * width / count as f64
        );
    }
    (holding, intervals)
}
