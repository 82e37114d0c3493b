//! What tuning costs, finds and gains: the price of a visit (Borg 2006, §6.3.2), searches on
//! made-up landscapes, programs like NAS MG and CG (§6.4), and messages between two threads (§6.1).
//!
//! `cargo bench -p strata-benches --features tune --bench tune`; parts alone with `-- --policies`,
//! `--overhead`, `--programs`, `--ping`; a trial with `--quick`, other random numbers with
//! `--seed N`. All but the policies need a quiet machine with two cores.

#![forbid(unsafe_code)]

#[path = "../../crates/tune/tests/it/common/landscape.rs"]
mod landscape;
mod overhead;
mod ping;
mod policies;
mod programs;

use lexopt::prelude::*;
use serde_json::{Map, Value};
use strata_benches::machine;
use strata_runtime::Error;
use strata_tune::{Mode, Options};

/// How long, and with which numbers.
#[derive(Clone, Copy)]
struct Run {
    quick: bool,
    seed: u64,
}

fn main() -> Result<(), Error> {
    let (mut parts, mut run) = (Vec::new(), Run { quick: false, seed: 0 });
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next().map_err(Error::program)? {
        match argument {
            Long("quick") => run.quick = true,
            Long("seed") => {
                run.seed = arguments.value().and_then(|value| value.parse()).map_err(Error::program)?;
            }
            Long("bench") => {}
            Long(part @ ("policies" | "overhead" | "programs" | "ping")) => parts.push(part.to_owned()),
            other => return Err(Error::program(other.unexpected())),
        }
    }
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    let mut summary = Map::new();
    println!("{}\n", machine());
    if wanted("policies") {
        summary.insert("policies".into(), policies::measure(run));
    }
    if wanted("overhead") {
        summary.insert("overhead".into(), overhead::measure(run)?);
    }
    if wanted("programs") {
        summary.insert("programs".into(), programs::measure(run)?);
    }
    if wanted("ping") {
        summary.insert("ping".into(), ping::measure(run)?);
    }
    println!("\nsummary {}", Value::Object(summary));
    Ok(())
}

/// Options that tune, with what is found in a file.
fn tune(file: &std::path::Path, seed: u64) -> Options {
    Options { seed, ..Options::of(Mode::Tune(Some(file.to_owned()))) }
}
