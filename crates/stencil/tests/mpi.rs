//! Every layout on nodes that are MPI processes: starts itself again under `mpirun` with 1 to 4
//! processes, and with 3 of which one is lost.
//!
//! `cargo test -p strata-stencil --features mpi --test mpi`; without `mpirun` it says so and skips.
//! With `HALOS=10000` in the environment it compares as many random halos on each number of
//! processes, otherwise 100.

// A program of its own, as each MPI process is one; without `harness`, which runs tests in threads.

#[path = "../../runtime/tests/mpirun/alike.rs"]
mod alike;
#[path = "it/common/mod.rs"]
mod common;

use common::{cases, compare};
use std::process::ExitCode;
use strata_runtime::prelude::*;
use strata_stencil::{Grid, Layout, Options, Pin, Way, profile};

fn main() -> ExitCode {
    alike::main(
        |node| {
            for case in [[24, 18], [7, 40], [1, 9], [17, 16]].into_iter().flat_map(cases) {
                compare::<f64>(node, &case)?;
            }
            let pin = Pin::parse("stencil_exchange=typed").map_err(Error::program)?;
            let grid = Grid::<f64>::new(1000, 1000).iterations(2);
            let layout = grid.solve_with(node, &Options::default().pin(pin))?.layout;
            assert!(layout.nodes() == 1 || layout.way == Way::Typed, "{layout}");
            let halos =
                std::env::var("HALOS").map_or(Ok(100), |halos| halos.parse()).map_err(Error::program)?;
            (0..halos).try_for_each(|seed| common::halos::check(node, seed))
        },
        Some(lost),
    )
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
