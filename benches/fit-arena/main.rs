//! Accuracy of fitted models: Strata against Extra-P and plain least squares, over known costs with
//! noise and real kernels.
//!
//!     cargo bench -p strata-benches --bench fit_arena [-- --seeds 5] [--only TEXT] [--no-kernels] [--noise] [--cells FILE]
//!
//! A cell is a cost shape, a size of the noise, and a seed. All contenders get the same repeated
//! times at powers of two and predict 200 random points; they are judged by the mean relative error
//! against the true cost there. The table states which terms each contender was given. Errors below
//! 1e-9 count as 1e-9, as smaller ones are rounding.
//!
//! `--noise` runs only the second part, noise that is not Gaussian, see [`noise`]. `--cells` writes
//! every cell as a line of CSV.
//!
//! Extra-P runs in the `python3` of `PATH`; its columns are empty where it is missing.

mod contenders;
mod kernels;
mod noise;
mod peer;
mod rival;
mod shapes;
mod tables;

use std::path::PathBuf;
use std::process::ExitCode;

use contenders::{Answer, Question};
use rival::ExtraP;
use shapes::{Cell, SHAPES};
use strata_fit::stats::mean_relative_error;
use tables::{Arena, CellResult};

/// Sizes of the noise, relative to the cost.
const NOISE: [f64; 4] = [0.0, 0.02, 0.05, 0.1];

/// Smaller errors are rounding.
const FLOOR: f64 = 1e-9;

/// The error of a prediction that is missing or not a number.
const HOPELESS: f64 = 1e3;

/// The contenders, and what each is given besides the samples.
const CONTENDERS: [(&str, &str); 6] = [
    ("strata, terms named", "true and null terms"),
    ("strata, own search", "nothing"),
    ("Extra-P default", "nothing"),
    ("Extra-P refining", "nothing"),
    ("plain OLS", "true and null terms"),
    ("relative WLS", "true and null terms"),
];

struct Settings {
    seeds: u64,
    only: String,
    kernels: bool,
    noise: bool,
    cells: Option<PathBuf>,
}

fn settings() -> Result<Settings, lexopt::Error> {
    use lexopt::prelude::*;
    let mut settings = Settings { seeds: 5, only: String::new(), kernels: true, noise: false, cells: None };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("seeds") => settings.seeds = parser.value()?.parse()?,
            Long("only") => settings.only = parser.value()?.string()?,
            Long("no-kernels") => settings.kernels = false,
            Long("noise") => settings.noise = true,
            Long("cells") => settings.cells = Some(parser.value()?.into()),
            // Options that cargo adds.
            Long("bench") => {}
            other => return Err(other.unexpected()),
        }
    }
    Ok(settings)
}

fn main() -> ExitCode {
    let settings = match settings() {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!(
                "fit_arena: {error}; options are --seeds N, --only TEXT, --no-kernels, --noise, --cells FILE"
            );
            return ExitCode::from(2);
        }
    };
    println!("{}\n", strata_benches::machine());
    if settings.noise {
        noise::run(settings.seeds.min(2), &settings.only);
        return ExitCode::SUCCESS;
    }
    let mut extrap = match ExtraP::start() {
        Ok(extrap) => {
            println!("Extra-P {}\n", extrap.version);
            Some(extrap)
        }
        Err(reason) => {
            println!("Extra-P is left out: {reason}\n");
            None
        }
    };
    let shapes = SHAPES.iter().filter(|shape| shape.name.contains(&settings.only));
    let mut arena = Arena::default();
    for shape in shapes {
        for noise in NOISE {
            for seed in 1..=settings.seeds {
                arena.inside.push(run(&shape.cell(noise, seed, false), seed, &mut extrap));
                if shape.names().contains(&"p") {
                    arena.beyond.push(run(&shape.cell(noise, seed, true), seed, &mut extrap));
                }
            }
        }
        eprintln!("{} done", shape.name);
    }
    arena.print();
    if let Some(path) = &settings.cells
        && let Err(error) = arena.write_cells(path)
    {
        eprintln!("fit_arena: {}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    if settings.kernels {
        kernels::run(&mut extrap);
    }
    ExitCode::SUCCESS
}

fn answers(question: &Question<'_>, extrap: &mut Option<ExtraP>) -> [Answer; 6] {
    let [default, refining] = match extrap {
        Some(extrap) => extrap.ask(question),
        None => [Answer::default(), Answer::default()],
    };
    [
        question.strata(true),
        question.strata(false),
        default,
        refining,
        question.least_squares(false),
        question.least_squares(true),
    ]
}

fn run(cell: &Cell, seed: u64, extrap: &mut Option<ExtraP>) -> CellResult {
    let question = Question {
        inputs: cell.shape.names(),
        points: &cell.points,
        values: &cell.values,
        tests: &cell.tests,
        terms: cell.shape.terms(),
    };
    let answers = answers(&question, extrap);
    let absent = extrap.is_none();
    let errors = std::array::from_fn(|i| {
        (!(absent && (i == 2 || i == 3))).then(|| error(&cell.costs, &answers[i].predictions))
    });
    let covered = |answer: &Answer| -> [usize; 3] {
        let mut counts = [0, 0, cell.tests.len()];
        for (interval, measured) in answer.intervals.iter().flatten().zip(&cell.measured) {
            if let Some((low, high)) = interval {
                counts[0] += usize::from(low <= measured && measured <= high);
                counts[1] += 1;
            }
        }
        counts
    };
    CellResult {
        shape: cell.shape.name,
        noise: cell.noise,
        seed,
        errors,
        covered: [covered(&answers[0]), covered(&answers[1])],
        shares: cell.shares.clone(),
        kept: answers[0].kept.clone().unwrap_or_default(),
        texts: answers.map(|answer| answer.text),
    }
}

/// The mean relative error, limited from below and above.
fn error(costs: &[f64], predictions: &[f64]) -> f64 {
    if predictions.len() != costs.len() {
        return HOPELESS;
    }
    let pairs = costs.iter().copied().zip(predictions.iter().copied());
    mean_relative_error(pairs).map_or(HOPELESS, |mre| mre.clamp(FLOOR, HOPELESS))
}
