//! Collectives on platforms of SimGrid that the models have not seen, beside the rules of libraries.
//!
//!     cargo xtask setup --smpi
//!     for n in 16 64; do for s in bcast allreduce allgather alltoall; do
//!     for p in star tree dragonfly torus; do
//!         specc calibrate --only-samples specs/comet/smpi/$s.spec --on smpi:benches/smpi/$p.xml --nodes $n \
//!             --budget 300s -o target/smpi-collectives/$p/$n/$s
//!     done; done; done
//!     cargo bench -p strata-benches --bench smpi
//!
//! Models are of `star` alone, hosts on one switch. On a fat tree, a dragonfly and a torus, of 256
//! hosts each, they choose among SMPI's algorithms as they are, after a program has fitted them to
//! the platform in a second of its time (`Timed::calibrate`), and after a full calibration there.
//! What is lost is the time of what is taken over the least of all that was measured, the libraries'
//! algorithms among it. SMPI has the rules of Open MPI, MPICH, MVAPICH2 and Intel MPI as they were
//! when it took them over. A cell is a platform, a number of processes, a collective and a size.
//! Deterministic. While a program fits, a timing between two sizes is interpolated.

mod models;
mod times;

use std::path::PathBuf;

use clap::Parser;
use strata_benches::{head, row};
use strata_select::{
    Question, Row, Source, Table, choose_among,
    transfer::{Calibration, Scaled},
};

use models::calibrated;
use times::{COLLECTIVES, Collective, Times};

#[derive(Parser)]
struct Arguments {
    /// The folder of the samples
    #[arg(value_name = "FOLDER", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/smpi-collectives"))]
    folder: PathBuf,
    /// Seconds of the platform in which a program fits the models
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    budget: f64,
}

/// The platform on which the models were calibrated.
const KNOWN: &str = "star";
/// Platforms on which they were not calibrated.
const UNSEEN: [&str; 3] = ["tree", "dragonfly", "torus"];
/// Numbers of processes.
const NODES: [usize; 2] = [16, 64];

/// The columns of our choices; those of the libraries follow.
const OURS: [&str; 3] = ["untouched", "after a fit", "full"];

strata_benches::main!(run);

/// The times of choices over the least times: their geometric mean and the greatest.
#[derive(Default)]
struct Lost {
    logs: f64,
    cells: usize,
    worst: f64,
}

impl Lost {
    fn add(&mut self, factor: f64) {
        self.logs += factor.ln();
        self.cells += 1;
        self.worst = self.worst.max(factor);
    }

    fn mean(&self) -> f64 {
        (self.logs / self.cells.max(1) as f64).exp()
    }
}

/// The candidate that these models choose.
fn chosen(table: &'static Table, source: &dyn Source, nodes: usize, bytes: f64) -> Result<usize, String> {
    let rows: Vec<Row> = table.entries.iter().map(|entry| Row::new(entry.name, entry.parameters)).collect();
    let question = Question::new(nodes, std::slice::from_ref(&bytes));
    choose_among((table.library, ""), rows, source, question, &|_| true)
        .map(|choice| choice.index)
        .map_err(|error| error.to_string())
}

/// The models after a program has fitted them in so many seconds of the platform, if they won
/// their trial.
fn fitted(table: &'static Table, times: &Times, nodes: usize, budget: f64) -> Option<Scaled> {
    let mut calibration = Calibration::new(table, nodes, Vec::new());
    let mut left = budget;
    while let Some(point) = calibration.next(left, budget) {
        let seconds = times.of(point.candidate, point.inputs[0]);
        // Two calls, the first to warm up.
        left -= 2.0 * seconds;
        calibration.took(point, Some(seconds));
    }
    calibration.finish().ok()
}

fn run(Arguments { folder, budget }: &Arguments) -> Result<(), String> {
    let read = |platform: &str, nodes: usize, collective: &Collective| {
        Times::read(&folder.join(platform).join(nodes.to_string()), collective)
    };
    let libraries = times::LIBRARIES.map(str::to_lowercase);
    let columns: Vec<&str> = OURS.into_iter().chain(libraries.iter().map(String::as_str)).collect();
    head(&[&["platform", "collective", "cells"][..], &columns].concat());
    let mut all: Vec<Lost> = columns.iter().map(|_| Lost::default()).collect();
    for (which, collective) in COLLECTIVES.iter().enumerate() {
        let of = |platform: &str| -> Result<Vec<Times>, String> {
            NODES.iter().map(|nodes| read(platform, *nodes, collective)).collect()
        };
        let shipped = calibrated(which, &of(KNOWN)?)?;
        for platform in UNSEEN {
            let measured = of(platform)?;
            let full = calibrated(which, &measured)?;
            let mut lost: Vec<Lost> = columns.iter().map(|_| Lost::default()).collect();
            for times in &measured {
                let scaled = fitted(shipped, times, times.nodes, *budget);
                let scaled: &dyn Source = scaled.as_ref().map_or(shipped, |scaled| scaled);
                for bytes in times.sizes() {
                    let least = times.least(bytes);
                    let mut taken = Vec::with_capacity(columns.len());
                    for source in [shipped as &dyn Source, scaled, full] {
                        taken.push(Some(times.of(chosen(shipped, source, times.nodes, bytes)?, bytes)));
                    }
                    taken.extend((0..libraries.len()).map(|library| times.by_rules(library, bytes)));
                    for (place, taken) in taken.into_iter().enumerate() {
                        let Some(taken) = taken else { continue };
                        lost[place].add(taken / least);
                        all[place].add(taken / least);
                    }
                }
            }
            print(&[platform, collective.name], &lost);
        }
    }
    print(&["all", ""], &all);
    let mut summary = serde_json::Map::new();
    for (column, lost) in columns.iter().zip(&all) {
        summary.insert((*column).to_owned(), serde_json::json!([lost.mean(), lost.worst]));
    }
    strata_benches::summary(&summary.into());
    Ok(())
}

/// A row: of each column the geometric mean and the greatest factor.
fn print(names: &[&str], lost: &[Lost]) {
    let mut cells: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    cells.push(lost[0].cells.to_string());
    cells.extend(lost.iter().map(|lost| match lost.cells {
        0 => String::new(),
        _ => format!("{:.2} ({:.2})", lost.mean(), lost.worst),
    }));
    row(&cells);
}
