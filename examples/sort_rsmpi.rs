//! A program of its own, with MPI by the crate `mpi`, that lets Strata sort on its communicator.
//!
//!     cargo build -p strata-sort --features mpi --example sort_rsmpi
//!     mpirun -n 3 target/debug/examples/sort_rsmpi

use mpi::traits::{Communicator as _, CommunicatorCollectives as _};
use std::process::ExitCode;
use strata_runtime::prelude::*;

fn main() -> ExitCode {
    let Some(universe) = mpi::initialize() else {
        eprintln!("sort_rsmpi: MPI is initialised already");
        return ExitCode::FAILURE;
    };
    match run(&universe.world()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sort_rsmpi: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(world: &mpi::topology::SimpleCommunicator) -> Result<(), Error> {
    // What the program does with MPI itself goes on beside: here a multiplicative generator that
    // begins elsewhere on each process.
    let rank = world.rank() as u64;
    let mut keys: Vec<u64> =
        (1..=1000).map(|i| (i * 3 + rank).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40).collect();

    // These two lines sort.
    let nodes = Machine::on_communicator(world)?;
    nodes.run(|node| Ok(strata_sort::sort(node, &mut keys)?))?;

    let mut greatest = vec![0u64; world.size() as usize];
    world.all_gather_into(&keys.last().copied().unwrap_or(0), &mut greatest[..]);
    if !keys.is_sorted() || !greatest.is_sorted() {
        return Err(Error::program("the keys are not sorted"));
    }
    if world.rank() == 0 {
        println!("{} processes, greatest keys {greatest:?}", world.size());
    }
    Ok(())
}
