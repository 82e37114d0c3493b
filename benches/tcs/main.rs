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

use clap::Parser;
use serde_json::Map;
use strata_benches::{machine, rows};
use strata_runtime::{Error, Machine};

/// What was found of the claim of this number: in words, and whether what was to be reached was
/// reached; `None`: not tried.
type Found = (usize, String, Option<bool>);

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

strata_benches::main!(judge);

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
    let found = claims::all(quick, &mut summary)?;
    let claims: Vec<[&str; 5]> = rows(include_str!("claims.txt")).collect();
    strata_benches::columns(" | claim | thesis | here | what ran | held against | reached");
    let (mut judged, mut right) = (0, 0);
    for (number, ours, found) in &found {
        let [what, thesis, source, ran, against] = claims[number - 1];
        let reached = match (source, found) {
            ("predicted", Some(true)) => "yes",
            ("predicted", Some(false)) => "**no**",
            ("predicted", None) => "not tried",
            _ => source,
        };
        judged += usize::from(source == "predicted");
        right += usize::from(reached == "yes");
        println!("| H{number} | {what} | {thesis} | {ours} | {ran} | {against} | {reached} |");
    }
    chapter6::measure(quick, &mut summary)?;
    crossover::measure(quick, &mut summary)?;
    for (name, count) in [("reached", right), ("claims", judged), ("not_judged", found.len() - judged)] {
        summary.insert(name.into(), count.into());
    }
    if !arguments.claims {
        threads::measure(quick, &mut summary)?;
        threads::lengths(quick, &mut summary)?;
        pipeline::measure(quick, &mut summary)?;
    }
    strata_benches::summary(&summary.into());
    Ok(())
}
