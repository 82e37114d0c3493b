//! Every claim of Warfel's thesis on tasks and connection sets, H1 to H21: what it says, and what
//! we find; and connections on two threads.
//!
//! `STRATA_MODELS=$PWD/models/sim-iwarp-64/tcs/models.toml cargo bench -p strata-benches --bench tcs`;
//! with `-- --claims` without what needs a quiet machine, with `-- --quick` for a trial.

#![forbid(unsafe_code)]

mod claims;
mod crossover;
mod messages;
mod pipeline;
mod steps;
mod threads;

use serde_json::{Map, Value};
use strata_benches::machine;
use strata_runtime::Error;

/// A claim, and what was found of it.
struct Claim {
    id: &'static str,
    what: &'static str,
    thesis: String,
    ours: String,
    /// Whether what was to be reached was reached; `None`: not tried.
    reached: Option<bool>,
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    if let Some(wrong) = arguments.iter().find(|a| !["--claims", "--quick", "--bench"].contains(&a.as_str()))
    {
        return Err(Error::program(format!("`{wrong}`: it is `--claims` or `--quick`")));
    }
    let quick = has("--quick");
    let mut summary = Map::new();
    println!("{}\n", machine());
    let claims = claims::all(quick, &mut summary)?;
    strata_benches::head(&["", "claim", "thesis", "here", "reached"]);
    for claim in &claims {
        let reached = match claim.reached {
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
    crossover::measure(quick, &mut summary)?;
    summary
        .insert("reached".into(), claims.iter().filter(|claim| claim.reached == Some(true)).count().into());
    summary.insert("claims".into(), claims.len().into());
    if !has("--claims") {
        threads::measure(quick, &mut summary)?;
        pipeline::measure(quick, &mut summary)?;
    }
    println!("\nsummary {}", Value::Object(summary));
    Ok(())
}
