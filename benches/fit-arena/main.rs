//! Accuracy of fitted models: Strata against Extra-P and plain least squares, over known costs with
//! noise and real kernels.
//!
//!     cargo bench -p strata-benches --bench fit_arena
//!
//! A cell is a cost shape, a size of the noise, and a seed. All contenders get the same repeated
//! times at powers of two and predict 200 random points; they are judged by the mean relative error
//! against the true cost there. Further cells test a value of an input that was held out, or one
//! beyond the measured range. The table states which terms each contender was given. Errors below
//! 1e-9 count as 1e-9, as smaller ones are rounding.
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

use clap::Parser;
use contenders::{Answer, Question};
use rival::ExtraP;
use shapes::{Cell, Place, SHAPES};
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

#[derive(Parser)]
struct Settings {
    /// Seeds of each shape and size of the noise; of other noise 2 at most
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// Only shapes whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    only: String,
    /// Without the real kernels
    #[arg(long)]
    no_kernels: bool,
    /// Only the second part, noise that is not Gaussian
    #[arg(long)]
    noise: bool,
    /// Where every cell goes as a line of CSV
    #[arg(long, value_name = "FILE")]
    cells: Option<PathBuf>,
}

strata_benches::main!(fit);

fn fit(settings: &Settings) -> Result<(), String> {
    println!("{}\n", strata_benches::machine());
    if settings.noise {
        noise::run(settings.seeds.min(2), &settings.only);
        return Ok(());
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
                let mut cell = |place| run(&shape.cell(noise, seed, place), seed, &mut extrap);
                arena.inside.push(cell(Place::Inside));
                arena.between.push(cell(Place::Between));
                if shape.names().contains(&"p") {
                    arena.beyond.push(cell(Place::Beyond));
                }
            }
        }
        eprintln!("{} done", shape.name);
    }
    arena.print();
    if let Some(path) = &settings.cells {
        arena.write_cells(path).map_err(|error| error.to_string())?;
    }
    if !settings.no_kernels {
        kernels::run(&mut extrap);
    }
    strata_benches::summary(&arena.found());
    Ok(())
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
