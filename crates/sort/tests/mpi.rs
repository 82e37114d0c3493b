//! Every algorithm on nodes that are MPI processes: starts itself again under `mpirun` with 1 to 4
//! processes.
//!
//! `cargo test -p strata-sort --features mpi --test mpi`; without `mpirun` it says so and skips.

// A program of its own, as each MPI process is one; without `harness`, which runs tests in threads.

#[path = "../../runtime/tests/mpirun/alike.rs"]
mod alike;
#[path = "it/common/mod.rs"]
mod common;

use alike::mpirun::{self, Job};
use common::{algorithms, check, numbered, shapes};
use std::process::ExitCode;
use strata_runtime::prelude::*;
use strata_sort::{Options, profile, sort_with};

fn main() -> ExitCode {
    if std::env::var(mpirun::CASE).is_ok_and(|case| case == "fits") {
        return mpirun::exit(launch(fits));
    }
    let fit = |nodes| Job::new("sorts that fit themselves", nodes, move || fitting(nodes));
    alike::main(checks, None, mpirun::nodes(&[2, 3]).into_iter().map(fit).collect())
}

fn checks(node: &mut Node) -> Result<(), Error> {
    for (name, parts) in &shapes(node.size()) {
        for algorithm in algorithms() {
            check(node, algorithm, name, &numbered(parts))?;
        }
    }
    Ok(())
}

/// Sorts that fit themselves at the first call: all nodes choose alike, by models of which one prints
/// whether they are of another machine.
fn fits(node: &mut Node) -> Result<(), Error> {
    let mut foreign = false;
    for call in 0..60 {
        let mut keys = profile::keys(node, [40, 700, 3000][call % 3], 32, call as u64);
        let choice = sort_with(node, &mut keys, &Options::default())?;
        assert!(keys.is_sorted());
        foreign |= choice.note.is_some();
        let seconds = choice.predicted.map_or(0, |time| time.seconds.get().to_bits());
        let chosen = [choice.index as u64, seconds];
        let all = node.all_gather(&chosen);
        assert!(all.as_chunks::<2>().0.iter().all(|one| *one == chosen), "all by the same models: {all:?}");
    }
    if node.rank() == 0 {
        println!("{FOREIGN}{foreign}");
    }
    Ok(())
}

const FOREIGN: &str = "by models of another machine: ";

/// What models of another machine choose is fitted once, and is then by models of this one; what node 0
/// has kept is enough for all later jobs. Where the timings do not show that a fit is faster, the
/// models stay those of another machine, and the job says so.
fn fitting(nodes: usize) -> Result<(), String> {
    let cache = tempfile::tempdir().map_err(|error| error.to_string())?;
    let cache = cache.path().to_str().unwrap_or_default();
    let job = |settings: &[(&str, &str)]| {
        let outcome = mpirun::run("fits", nodes, &[], &[&[("XDG_CACHE_HOME", cache)], settings].concat())?;
        outcome.succeeded()?;
        Ok::<_, String>(outcome)
    };
    let by_foreign = job(&[])?.out.contains(&format!("{FOREIGN}true"));
    let mut stay = false;
    for again in [false, true] {
        let outcome = job(&[("STRATA_CALIBRATE", "100ms"), ("STRATA_EXPLAIN", "1")])?;
        let (fitted, wanted) = (outcome.err.matches("strata: sort: ").count(), by_foreign && !again);
        stay |= outcome.err.contains("strata: sort: the models stay as they are");
        let are_foreign = outcome.out.contains(&format!("{FOREIGN}true"));
        if fitted != usize::from(wanted) || (by_foreign && are_foreign != stay) {
            outcome.wrong(&format!("it fitted itself {fitted} times; of another machine: {by_foreign}"))?;
        }
    }
    Ok(())
}
