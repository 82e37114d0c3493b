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

/// Claims of which the bench only holds the thesis's formulas against the thesis's figures: nothing
/// of the project runs, so they count for nothing.
const FORMULAS: [&str; 5] = ["H2", "H7", "H12", "H13", "H19"];

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
    if arguments.chapter6 {
        chapter6::measure(quick, &mut summary)?;
        strata_benches::summary(&summary.into());
        return Ok(());
    }
    if arguments.patterns {
        crossover::measure(quick, &mut summary)?;
        strata_benches::summary(&summary.into());
        return Ok(());
    }
    if arguments.here {
        for threads in [2, 4] {
            let found = Machine::threads(threads)?.run(|node| here::choices(node, quick))?;
            println!("\nPatterns on {threads} threads:\n");
            let first = found.into_iter().next().unwrap_or_default();
            here::print(&first, &format!("threads_{threads}"), &mut summary);
        }
        strata_benches::summary(&summary.into());
        return Ok(());
    }
    if arguments.lengths {
        threads::lengths(quick, &mut summary)?;
        strata_benches::summary(&summary.into());
        return Ok(());
    }
    let claims = claims::all(quick, &mut summary)?;
    strata_benches::head(&["", "claim", "thesis", "here", "reached"]);
    for claim in &claims {
        let reached = match claim.reached {
            _ if FORMULAS.contains(&claim.id) => "formula",
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "not tried",
        };
        strata_benches::row(&[
            claim.id.to_owned(),
            claim.what.to_owned(),
            claim.thesis.clone(),
            claim.ours.clone(),
            reached.to_owned(),
        ]);
    }
    chapter6::measure(quick, &mut summary)?;
    crossover::measure(quick, &mut summary)?;
    let judged = || claims.iter().filter(|claim| !FORMULAS.contains(&claim.id));
    let reached = judged().filter(|claim| claim.reached == Some(true)).count();
    summary.insert("reached".into(), reached.into());
    summary.insert("claims".into(), judged().count().into());
    summary.insert("formulas".into(), FORMULAS.len().into());
    if !arguments.claims {
        threads::measure(quick, &mut summary)?;
        threads::lengths(quick, &mut summary)?;
        pipeline::measure(quick, &mut summary)?;
    }
    strata_benches::summary(&summary.into());
    Ok(())
}
