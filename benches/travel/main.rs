//! Models that are shipped to another machine: what choices lose untouched, after the program has
//! fitted them to the machine in a second, and after a full calibration.
//!
//!     cargo bench -p strata-benches --bench travel
//!     cargo bench -p strata-benches --bench travel -- --learning
//!     cargo bench -p strata-benches --bench travel -- --teams
//!
//! All are deterministic.

mod fitting;
mod learning;
mod machine;
mod teams;

use clap::Parser;
use strata_benches::columns;
use strata_select::{Question, Row, Source, Table, choose_among, transfer::Calibration};

use fitting::{Clock, calibrated, cost, least};
use machine::{LIBRARIES, Machine};

#[derive(Parser)]
struct Arguments {
    /// Machines to which the models are taken
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    machines: u64,
    /// Seconds that a program fits itself
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    budget: f64,
    /// Instead: choices that learn, on made-up times
    #[arg(long)]
    learning: bool,
    /// Instead: sorts and streams of collectives of simulated nodes
    #[arg(long)]
    teams: bool,
}

/// The first machine: those before it were looked at while the fit was made.
const FIRST: u64 = 101;

/// Problems that are chosen for on each machine.
const PROBLEMS: usize = 300;

strata_benches::main!(run);

fn run(arguments: &Arguments) -> Result<(), String> {
    match arguments {
        Arguments { learning: true, .. } => learning::run(),
        Arguments { teams: true, machines, .. } => teams::run(*machines, arguments.budget),
        _ => made_up(arguments),
    }
}

/// What choices by these models lose on a machine, as shares: the mean, and the greatest.
fn regret(
    which: usize,
    machine: &Machine,
    table: &'static Table,
    source: &dyn Source,
) -> Result<(f64, f64), String> {
    let mut draw = Clock::new(77 + which as u64);
    let (mut sum, mut worst) = (0.0, 0.0_f64);
    for _ in 0..PROBLEMS {
        let problem: Vec<f64> =
            LIBRARIES[which].inputs.iter().map(|(_, least, most)| draw.between(*least, *most)).collect();
        let rows: Vec<Row> =
            table.entries.iter().map(|entry| Row::new(entry.name, entry.parameters)).collect();
        let question = Question::new(1, &problem);
        let choice = choose_among((table.library, ""), rows, source, question, &|_| true)
            .map_err(|error| error.to_string())?;
        let taken = cost(which, machine, choice.index, &problem, &choice.parameters);
        let lost = taken / least(which, machine, table, &problem) - 1.0;
        sum += lost;
        worst = worst.max(lost);
    }
    Ok((sum / PROBLEMS as f64, worst))
}

/// The models after the program has fitted them to the machine in so many of its seconds, if they
/// won their trial, and how many timings they were fitted to.
fn fitted(
    which: usize,
    machine: &Machine,
    table: &'static Table,
    budget: f64,
    seed: u64,
) -> (Option<strata_select::transfer::Scaled>, usize) {
    let mut clock = Clock::new(seed);
    let mut calibration = Calibration::new(table, 1, Vec::new());
    let mut left = budget;
    let mut warm = vec![false; table.entries.len()];
    while let Some(point) = calibration.next(left, budget) {
        let candidate = point.candidate;
        let seconds = cost(which, machine, candidate, &point.inputs, &point.parameters);
        // A call, or so many that they take 20 µs, and their inputs, at 2 GB/s.
        let calls = (20e-6 / seconds).max(1.0);
        let once = calls * (seconds + (LIBRARIES[which].bytes)(&point.inputs) / 2e9);
        left -= once * if std::mem::replace(&mut warm[candidate], true) { 1.0 } else { 2.0 };
        let seconds = clock.time(seconds);
        calibration.took(point, Some(seconds));
    }
    let timings = calibration.points().len();
    (calibration.finish().ok(), timings)
}

fn made_up(&Arguments { machines, budget, .. }: &Arguments) -> Result<(), String> {
    columns(
        "library | untouched | after a fit | full | worst untouched | worst fit | worst full | fit - full | greatest fit - untouched | timings",
    );
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let mut summary = serde_json::Map::new();
    let (mut beyond, mut harm) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    for (which, library) in LIBRARIES.iter().enumerate() {
        let shipped = calibrated(which, &Machine::shipped(), 1)?;
        let (mut means, mut worst) = ([0.0; 3], [0.0_f64; 3]);
        let (mut harmed, mut timings) = (f64::NEG_INFINITY, 0);
        for seed in FIRST..FIRST + machines {
            let machine = Machine::drawn(seed);
            let (scaled, taken) = fitted(which, &machine, shipped, budget, 10 * seed);
            let scaled: &dyn Source = scaled.as_ref().map_or(shipped, |scaled| scaled);
            let full = calibrated(which, &machine, 10 * seed + 1)?;
            let sources: [&dyn Source; 3] = [shipped, scaled, full];
            let mut found = [0.0; 3];
            for (place, source) in sources.into_iter().enumerate() {
                let (mean, most) = regret(which, &machine, shipped, source)?;
                found[place] = mean;
                means[place] += mean / machines as f64;
                worst[place] = worst[place].max(mean.max(most));
            }
            harmed = harmed.max(found[1] - found[0]);
            timings += taken;
        }
        let apart = means[1] - means[2];
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.0} |",
            library.name,
            percent(means[0]),
            percent(means[1]),
            percent(means[2]),
            percent(worst[0]),
            percent(worst[1]),
            percent(worst[2]),
            percent(apart),
            percent(harmed),
            timings as f64 / machines as f64
        );
        beyond = beyond.max(apart);
        harm = harm.max(harmed);
        summary.insert(library.name.to_owned(), serde_json::json!(means));
    }
    summary.insert("fit_less_full".to_owned(), beyond.into());
    summary.insert("fit_less_untouched".to_owned(), harm.into());
    strata_benches::summary(&summary.into());
    Ok(())
}
