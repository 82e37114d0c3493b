//! A hill that drifts around a torus: a program of its own, with MPI by the crate `mpi`, whose
//! halos are exchanged by Strata. `advect_rsmpi.rs` is the same program without it.
//!
//!     cargo build -p strata-stencil --features mpi --examples
//!     mpirun -n 4 target/debug/examples/advect_halo_rsmpi

use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, CommunicatorCollectives as _};
use strata_runtime::{Error, Machine};
use strata_stencil::Halo;

/// Cells of a process along each axis, and with those of the halo.
const SIDE: usize = 40;
const ROW: usize = SIDE + 2;

fn main() -> Result<(), Error> {
    let Some(universe) = mpi::initialize() else { panic!("MPI is initialised already") };
    let [mass, squares] = advect(&universe.world(), 100)?;
    if universe.world().rank() == 0 {
        println!("{} processes, mass {mass:.9}, squares {squares:.9}", universe.world().size());
    }
    Ok(())
}

/// The sums of all cells and of their squares, after so many steps.
pub(crate) fn advect(world: &SimpleCommunicator, steps: usize) -> Result<[f64; 2], Error> {
    let (rank, size) = (world.rank() as usize, world.size() as usize);
    let columns = (1..=size).filter(|n| size.is_multiple_of(*n) && n * n <= size).max().unwrap_or(1);
    let grid = [size / columns, columns];
    let place = [rank / columns, rank % columns];
    let mut now = vec![0.0; ROW * ROW];
    for (y, x) in (0..SIDE * SIDE).map(|cell| (cell / SIDE, cell % SIDE)) {
        let far =
            |axis: usize, at: usize| (place[axis] * SIDE + at) as f64 / (grid[axis] * SIDE) as f64 - 0.5;
        now[(y + 1) * ROW + x + 1] = (-20.0 * (far(0, y).powi(2) + far(1, x).powi(2))).exp();
    }
    let mut next = now.clone();
    let mut node = Machine::on_communicator(world)?.into_node()?;
    let mut halo = Halo::around([SIDE; 2]).width(1).nodes(grid).periodic([true; 2]).prepare(&mut node)?;
    for _ in 0..steps {
        halo.exchange(&mut node, [&mut now])?;
        drift(&now, &mut next);
        std::mem::swap(&mut now, &mut next);
    }
    let cells = || (1..=SIDE).flat_map(|y| &now[y * ROW + 1..][..SIDE]);
    let mut sums = [0.0; 2];
    let own = [cells().sum::<f64>(), cells().map(|cell| cell * cell).sum()];
    world.all_reduce_into(&own[..], &mut sums[..], SystemOperation::sum());
    Ok(sums)
}

/// One step, which reads a halo of one cell.
fn drift(now: &[f64], next: &mut [f64]) {
    for at in (1..=SIDE).flat_map(|y| y * ROW + 1..y * ROW + 1 + SIDE) {
        let [west, east, north, south] = [now[at - 1], now[at + 1], now[at - ROW], now[at + ROW]];
        let spread = 0.1 * (west + east + north + south - 4.0 * now[at]);
        next[at] = now[at] - 0.2 * (east - west) - 0.15 * (south - north) + spread;
    }
}
