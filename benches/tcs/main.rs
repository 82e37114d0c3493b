//! Every claim of Warfel's thesis on tasks and connection sets, H1 to H21: what it says, and what
//! we find; and connections on two threads.
//!
//!     STRATA_MODELS=$PWD/models/sim-iwarp-64/tcs/models.toml cargo bench -p strata-benches --bench tcs

#![forbid(unsafe_code)]

mod chapter6;
mod claims;
mod crossover;
mod here;
mod lengths;
mod messages;
mod pipeline;
mod steps;
mod threads;

use std::process::ExitCode;

use clap::Parser;
use serde_json::Map;
use strata_benches::machine;
use strata_runtime::{Error, Machine};

use Source::{Formula, Input, Predicted};

/// How a claim's figure comes about (what ran), and what it is held against.
enum Source {
    /// Nothing of the project runs: the thesis's formulas against the thesis's figures.
    Formula,
    /// A simulation whose constants have the result in them, or that cannot end otherwise.
    Input,
    /// A simulation, a schedule or a test whose result is in no constant.
    Predicted,
}

/// Every claim's source; only predicted ones are judged.
const SOURCES: [(&str, Source, &str, &str); 21] = [
    ("H1", Input, "49 transfers, simulated", "the printed formula, whose constants the machine has"),
    ("H2", Formula, "two formulas", "Figs 3.7, 3.10"),
    ("H3", Predicted, "schedules, priced by costs of the ring", "measured, Fig 4.22"),
    ("H4", Predicted, "schedules, priced by costs of a message", "measured, Fig 4.21"),
    ("H5", Predicted, "schedules, one message at a time", "the order measured, Fig 4.20"),
    ("H6", Input, "the linker's choice and price", "measured, Fig 4.22, of which the costs are"),
    ("H7", Formula, "the thesis's formula", "measured, Fig 4.22"),
    ("H8", Predicted, "schedules with one cell late; the ring's skew is an input", "measured, Fig 4.23"),
    ("H9", Predicted, "tasks, simulated; rows of 4 and 64 cells are inputs", "measured, Figs 4.22 to 5.4"),
    ("H10", Input, "two switches, simulated", "each other: the cost is one constant"),
    ("H11", Input, "a stream beside switches, simulated", "the stream alone: tasks share no links there"),
    ("H12", Formula, "the thesis's formula", "measured, Figs 6.1, 6.2; simulated in chapter 6"),
    ("H13", Formula, "the thesis's formula", "measured, Figs 6.3 to 6.5; simulated in chapter 6"),
    ("H14", Predicted, "both patterns, simulated", "2.4, written before the run; measured 2.16"),
    ("H15", Predicted, "messages of several seeds, simulated; sets repeat by construction", "above 1 %"),
    ("H16", Predicted, "both patterns at five sizes, simulated", "the faster form measured, Figs 6.6, 6.7"),
    ("H17", Predicted, "the application, simulated", "measured, Fig 7.2"),
    ("H18", Predicted, "the application, simulated, with dearer starts", "the law: more than 312 clocks"),
    ("H19", Formula, "errors of formulas", "each other"),
    ("H20", Predicted, "the linker's tests", "refused, each kind of error"),
    ("H21", Predicted, "the router on Fig 3.4's case", "congestion 1"),
];

fn source(id: &str) -> Option<&'static (&'static str, Source, &'static str, &'static str)> {
    SOURCES.iter().find(|(of, ..)| *of == id)
}

/// A claim, and what was found of it.
struct Claim {
    id: &'static str,
    what: &'static str,
    thesis: String,
    ours: String,
    /// Whether what was to be reached was reached; `None`: not tried.
    reached: Option<bool>,
}

#[derive(Parser)]
struct Arguments {
    /// Without what needs a quiet machine
    #[arg(long)]
    claims: bool,
    /// Only chapter 6, by the crate's own patterns
    #[arg(long)]
    chapter6: bool,
    /// Only choices of forms of patterns on simulated iWarp
    #[arg(long)]
    patterns: bool,
    /// Only such choices on 2 and 4 threads of this machine
    #[arg(long)]
    here: bool,
    /// Only messages of 8 bytes to 64 KiB between two threads
    #[arg(long)]
    lengths: bool,
    /// A trial of few rounds
    #[arg(long)]
    quick: bool,
}

fn main() -> ExitCode {
    strata_benches::run(judge)
}

fn judge(arguments: &Arguments) -> Result<(), Error> {
    let quick = arguments.quick;
    let mut summary = Map::new();
    println!("{}\n", machine());
    if arguments.chapter6 || arguments.patterns || arguments.here || arguments.lengths {
        if arguments.chapter6 {
            chapter6::measure(quick, &mut summary)?;
        }
        if arguments.patterns {
            crossover::measure(quick, &mut summary)?;
        }
        for threads in [2, 4].into_iter().filter(|_| arguments.here) {
            let found = Machine::threads(threads)?.run(|node| here::choices(node, quick))?;
            println!("\nPatterns on {threads} threads:\n");
            let first = found.into_iter().next().unwrap_or_default();
            here::print(&first, &format!("threads_{threads}"), &mut summary);
        }
        if arguments.lengths {
            threads::lengths(quick, &mut summary)?;
        }
        strata_benches::summary(&summary.into());
        return Ok(());
    }
    let claims = claims::all(quick, &mut summary)?;
    strata_benches::columns(" | claim | thesis | here | what ran | held against | reached");
    for claim in &claims {
        let (_, source, ran, against) = source(claim.id).ok_or("a claim without a source")?;
        let reached = match (source, claim.reached) {
            (Formula, _) => "formula",
            (Input, _) => "input",
            (Predicted, Some(true)) => "yes",
            (Predicted, Some(false)) => "**no**",
            (Predicted, None) => "not tried",
        };
        println!(
            "| {} | {} | {} | {} | {} | {} | {reached} |",
            claim.id, claim.what, claim.thesis, claim.ours, *ran, *against
        );
    }
    chapter6::measure(quick, &mut summary)?;
    crossover::measure(quick, &mut summary)?;
    let is_judged = |id: &str| matches!(source(id), Some((_, Predicted, ..)));
    let judged = || claims.iter().filter(|claim| is_judged(claim.id));
    let reached = judged().filter(|claim| claim.reached == Some(true)).count();
    summary.insert("reached".into(), reached.into());
    summary.insert("claims".into(), judged().count().into());
    summary.insert("not_judged".into(), (claims.len() - judged().count()).into());
    if !arguments.claims {
        threads::measure(quick, &mut summary)?;
        threads::lengths(quick, &mut summary)?;
        pipeline::measure(quick, &mut summary)?;
    }
    strata_benches::summary(&summary.into());
    Ok(())
}
