//! Calibrates fourteen libraries as the guide has it, and races what their models choose.
//!
//!     cargo run --release --manifest-path benches/own/Cargo.toml --
//!         [--only NAME]… [--budget 60s] [--inputs 40] [--race 40] [--seed N] [--quick] [--round]
//!         [--keep FOLDER] [--race-only FOLDER]
//!
//! `README.md` says how, `benches/figures/own.md` what came of it. Exit status: 0 raced; 1 a step
//! failed or ways differ; 2 wrong usage.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use own::calibrate::{Specc, busy};
use own::choose::Chooser;
use own::judge::Outcome;
use own::libraries::LIBRARIES;
use own::library::Entry;
use own::race::{check, race};
use own::report::{HEAD, Raced, goals, summary};
use own::{Random, draw};

/// The most ways of the models that are limited.
const WAYS: usize = 3;

struct Options {
    only: Vec<String>,
    budget: String,
    inputs: usize,
    /// Seconds of timing a library.
    race: f64,
    seed: u64,
    folder: PathBuf,
    /// Whether half of the inputs are round.
    round: bool,
    calibrate: bool,
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("own: {message}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("own: {message}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Options, String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/calibrations");
    let mut options = Options {
        only: Vec::new(),
        budget: "60s".to_owned(),
        inputs: 40,
        race: 40.0,
        seed: 1,
        folder,
        round: false,
        calibrate: true,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        use lexopt::prelude::{Long, Value, ValueExt as _};
        match argument {
            Long("only") => options.only.push(text(&mut parser)?),
            Long("budget") => options.budget = text(&mut parser)?,
            Long("inputs") => options.inputs = number(&text(&mut parser)?)?,
            Long("race") => options.race = number(&text(&mut parser)?)?,
            Long("seed") => options.seed = number(&text(&mut parser)?)?,
            Long("keep") => options.folder = text(&mut parser)?.into(),
            Long("race-only") => {
                options.folder = text(&mut parser)?.into();
                options.calibrate = false;
            }
            Long("round") => options.round = true,
            Long("quick") => {
                options.budget = "5s".to_owned();
                (options.inputs, options.race) = (4, 1.0);
            }
            Value(name) if !options.only.is_empty() => {
                options.only.push(name.string().map_err(|e| e.to_string())?)
            }
            other => return Err(other.unexpected().to_string()),
        }
    }
    if let Some(name) = options.only.iter().find(|name| LIBRARIES.iter().all(|entry| entry.name != **name)) {
        let names: Vec<&str> = LIBRARIES.iter().map(|entry| entry.name).collect();
        return Err(format!("there is no library `{name}`; there are {}", names.join(", ")));
    }
    if options.inputs == 0 {
        return Err("at least one input is raced".to_owned());
    }
    Ok(options)
}

/// The value of an option.
fn text(parser: &mut lexopt::Parser) -> Result<String, String> {
    let value = parser.value().map_err(|error| error.to_string())?;
    value.into_string().map_err(|value| format!("{} is no text", value.display()))
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no number for this"))
}

fn run(options: &Options) -> Result<(), String> {
    let wanted =
        |entry: &&Entry| options.only.is_empty() || options.only.iter().any(|name| name == entry.name);
    let entries: Vec<&Entry> = LIBRARIES.iter().filter(wanted).collect();
    let specc = Specc { budget: options.budget.clone() };
    if options.calibrate {
        specc.build()?;
    }
    let mut all = Vec::new();
    for entry in entries {
        let folder = options.folder.join(entry.name);
        let inputs = draw::inputs(entry, options.inputs, options.seed, options.round);
        eprintln!("{}: checking", entry.name);
        check(entry, &draw::constants(entry), &inputs[..inputs.len().min(3)])?;
        let calibration = if options.calibrate {
            eprintln!("{}: calibrating", entry.name);
            Some(specc.calibrate(entry.name, &folder)?)
        } else {
            None
        };
        let chooser = Chooser::read(entry, &folder.join("models.toml"))?;
        eprintln!("{}: racing", entry.name);
        let few = Chooser::read(entry, &specc.limit(entry.name, &folder, WAYS)?)?;
        let outcome = raced(entry, [&chooser, &few], inputs, options)?;
        let raced = Raced { entry, outcome, verdicts: chooser.verdicts(), calibration, busy: busy(&folder) };
        let file = folder.join("race.tsv");
        std::fs::write(&file, raced.timings()).map_err(|error| format!("{}: {error}", file.display()))?;
        eprintln!("{}\n{}", raced.row(), raced.notes());
        all.push(raced);
    }
    println!("{HEAD}");
    for raced in &all {
        println!("{}", raced.row());
    }
    println!("in per cent; pr/me: median of predicted over measured time; noise: half to half\n");
    for raced in &all {
        println!("{}", raced.notes());
    }
    let summary = summary(&all, options.seed);
    println!("\n{}", goals(&summary));
    println!("summary {summary}");
    Ok(())
}

/// Chooses for all inputs, then times all ways at each.
fn raced(
    entry: &Entry,
    [chooser, few]: [&Chooser; 2],
    inputs: Vec<Vec<usize>>,
    options: &Options,
) -> Result<Outcome, String> {
    let chosen = inputs.iter().map(|x| chooser.choose(x)).collect::<Result<Vec<_>, _>>()?;
    let taken =
        inputs.iter().zip(&chosen).map(|(x, chosen)| Ok([chosen.way, (entry.old)(x), few.choose(x)?.way]));
    let taken = taken.collect::<Result<Vec<_>, String>>()?;
    let mut random = Random::new(!options.seed);
    let each = Duration::from_secs_f64(options.race / inputs.len() as f64);
    let times = inputs
        .iter()
        .zip(&taken)
        .map(|(x, taken)| race(entry, x, draw::ways(entry, taken), each, &mut random));
    Ok(Outcome {
        times: times.collect(),
        claimed: chosen.iter().map(|chosen| chosen.claimed).collect(),
        predicted: chosen.iter().map(|chosen| chosen.predicted).collect(),
        taken,
        inputs,
    })
}
