//! A program of its own, with MPI by the crate `mpi`, that lets Strata sort on its communicator.
//!
//!     cargo build -p strata-hpc --features mpi,sort --example sort_rsmpi
//!     mpirun -n 3 target/debug/examples/sort_rsmpi

use strata::mpi::traits::{Communicator as _, CommunicatorCollectives as _};
use strata::{Machine, NodeExt as _, mpi};

pub(crate) fn main() -> strata::Result<()> {
    let universe = mpi::initialize().ok_or("MPI is initialised already")?;
    let world = universe.world();
    // What the program does with MPI itself goes on beside: here a multiplicative generator that
    // begins elsewhere on each process.
    let rank = world.rank() as u64;
    let keys: Vec<u64> =
        (1..=1000).map(|i| (i * 3 + rank).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40).collect();

    let keys = Machine::on_communicator(&world)?.run(|node| node.sort(keys))?;

    let mut greatest = vec![0u64; world.size() as usize];
    world.all_gather_into(&keys.last().copied().unwrap_or(0), &mut greatest[..]);
    if !keys.is_sorted() || !greatest.is_sorted() {
        return Err("the keys are not sorted".into());
    }
    if rank == 0 {
        println!("{} processes, greatest keys {greatest:?}", world.size());
    }
    Ok(())
}
