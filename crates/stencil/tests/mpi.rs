//! Every layout on nodes that are MPI processes: starts itself again under `mpirun` with 1 to 4
//! processes, and with 3 of which one is lost.
//!
//! `cargo test -p strata-stencil --features mpi --test mpi`; without `mpirun` it says so and skips.
//! With `HALOS=10000` in the environment it compares as many random halos instead, a quarter of them
//! on each number of processes.

// A program of its own, as each MPI process is one; without `harness`, which runs tests in threads.

#[path = "../../runtime/tests/mpirun/alike.rs"]
mod alike;
#[path = "it/common/mod.rs"]
mod common;

use alike::mpirun;
use common::{cases, compare};
use std::process::ExitCode;
use strata_runtime::prelude::*;
use strata_stencil::{Grid, Options, Pin, Way, layout::Layout, profile};

/// The first seed of a job that compares halos only.
const FROM: &str = "HALOS_FROM";

/// Number of halos of such a job.
const IN_A_JOB: u64 = 250;

fn main() -> ExitCode {
    if let (Err(_), Ok(halos)) = (std::env::var(mpirun::CASE), std::env::var("HALOS")) {
        return many(&halos);
    }
    if let Ok(from) = std::env::var(FROM) {
        return only_halos(&from);
    }
    alike::main(
        |node| {
            for case in [[24, 18], [7, 40], [1, 9], [17, 16]].into_iter().flat_map(cases) {
                compare::<f64>(node, &case)?;
            }
            let pin = Pin::parse("stencil_exchange=typed")?;
            let grid = Grid::<f64>::new(1000, 1000).iterations(2);
            let layout = grid.solve_with(node, &Options::default().pin(pin))?.layout;
            assert!(layout.nodes() == 1 || layout.way == Way::Typed, "{layout}");
            #[cfg(feature = "ndarray")]
            for way in [Way::Packed, Way::Persistent, Way::Typed] {
                common::halos::views(node, way)?;
            }
            common::halos::long_rows(node)?;
            (0..100).try_for_each(|seed| common::halos::check(node, seed))
        },
        Some(lost),
        Vec::new(),
    )
}

/// Starts jobs that compare so many halos.
fn many(halos: &str) -> ExitCode {
    let halos: u64 = halos.parse().unwrap_or(0);
    for (job, from) in (0..halos).step_by(IN_A_JOB as usize).enumerate() {
        let nodes = 1 + job % 4;
        let run = mpirun::run("halos", nodes, &[], &[(FROM, &from.to_string())]);
        match run.and_then(|job| job.succeeded()) {
            Ok(()) => println!("{from} to {} on {nodes} processes: as the global array", from + IN_A_JOB - 1),
            Err(error) => {
                println!("failed: halos from {from} on, mpirun -n {nodes}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// One of the processes of such a job.
fn only_halos(from: &str) -> ExitCode {
    let from: u64 = from.parse().unwrap_or(0);
    mpirun::exit(launch(|node| (from..from + IN_A_JOB).try_for_each(|seed| common::halos::check(node, seed))))
}

/// A process is lost in the middle: the job ends, and says so by its status.
fn lost(node: &mut Node) -> Result<(), Error> {
    let grid = Grid::<f64>::new(40, 40).threshold(0.0).iterations(50);
    let grid = grid.progress(|state| {
        if state.iteration == 7 {
            std::process::abort()
        }
    });
    profile::solve(&grid, node, Layout::new(1, node.size(), 1))?;
    Ok(())
}
