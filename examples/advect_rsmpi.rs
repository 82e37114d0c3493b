//! A hill that drifts around a torus: a program of its own, with MPI by the crate `mpi`, whose
//! halos are exchanged by hand. `advect_halo_rsmpi.rs` is the same program with `Halo`.
//!
//!     cargo build -p strata-stencil --features mpi --examples
//!     mpirun -n 4 target/debug/examples/advect_rsmpi

use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, CommunicatorCollectives as _};

/// Cells of a process along each axis, and with those of the halo.
const SIDE: usize = 40;
const ROW: usize = SIDE + 2;

fn main() {
    let Some(universe) = mpi::initialize() else { panic!("MPI is initialised already") };
    let [mass, squares] = advect(&universe.world(), 100);
    if universe.world().rank() == 0 {
        println!("{} processes, mass {mass:.9}, squares {squares:.9}", universe.world().size());
    }
}

/// The sums of all cells and of their squares, after so many steps.
pub(crate) fn advect(world: &SimpleCommunicator, steps: usize) -> [f64; 2] {
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
    for _ in 0..steps {
        exchange(world, grid, &mut now);
        drift(&now, &mut next);
        std::mem::swap(&mut now, &mut next);
    }
    let cells = || (1..=SIDE).flat_map(|y| &now[y * ROW + 1..][..SIDE]);
    let mut sums = [0.0; 2];
    let own = [cells().sum::<f64>(), cells().map(|cell| cell * cell).sum()];
    world.all_reduce_into(&own[..], &mut sums[..], SystemOperation::sum());
    sums
}

/// One step, which reads a halo of one cell.
fn drift(now: &[f64], next: &mut [f64]) {
    for at in (1..=SIDE).flat_map(|y| y * ROW + 1..y * ROW + 1 + SIDE) {
        let [west, east, north, south] = [now[at - 1], now[at + 1], now[at - ROW], now[at + ROW]];
        let spread = 0.1 * (west + east + north + south - 4.0 * now[at]);
        next[at] = now[at] - 0.2 * (east - west) - 0.15 * (south - north) + spread;
    }
}

/// Sends each side to the neighbour there, and receives the halo at the opposite one.
fn exchange(world: &SimpleCommunicator, [rows, columns]: [usize; 2], cells: &mut [f64]) {
    let (row, column) = (world.rank() as usize / columns, world.rank() as usize % columns);
    let process = |row, column| world.process_at_rank((row % rows * columns + column % columns) as i32);
    let [north, south] = [process(row + rows - 1, column), process(row + 1, column)];
    let [west, east] = [process(row, column + columns - 1), process(row, column + 1)];
    for (to, from, sent, halo, step) in [
        (north, south, ROW + 1, (SIDE + 1) * ROW + 1, 1),
        (south, north, SIDE * ROW + 1, 1, 1),
        (west, east, ROW + 1, ROW + SIDE + 1, ROW),
        (east, west, ROW + SIDE, ROW, ROW),
    ] {
        let side: Vec<f64> = (0..SIDE).map(|at| cells[sent + at * step]).collect();
        let mut other = [0.0; SIDE];
        mpi::point_to_point::send_receive_into(&side[..], &to, &mut other[..], &from);
        other.iter().enumerate().for_each(|(at, cell)| cells[halo + at * step] = *cell);
    }
}
