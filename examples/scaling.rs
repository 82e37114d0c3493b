//! A sort and a solver of one size, to be run on more and more processes: prints their times and
//! those of a message, on one line.
//!
//!     specc platform run --on smpi:tree.xml --nodes 16 --example scaling --features mpi,sort,stencil

use strata::mpi::topology::SimpleCommunicator;
use strata::mpi::traits::{Communicator as _, Destination as _, Source as _};
use strata::stencil::Halo;
use strata::{Error, Node, NodeExt as _, launch, mpi};

/// Keys of all processes, and points along a side of all their grids.
const KEYS: usize = 1 << 22;
const SIDE: usize = 1024;

fn main() -> Result<(), Error> {
    launch(|node| {
        let times = [message(8), message(1 << 20), sort(node)?, step(node)?];
        if node.rank() == 0 {
            println!("{} {times:?}", node.size());
        }
        Ok(())
    })?;
    Ok(())
}

/// Half of a round trip between the first and the last process, by MPI alone.
fn message(bytes: usize) -> f64 {
    let world = SimpleCommunicator::world();
    let (rank, last) = (world.rank(), world.size() - 1);
    let (mut data, begin) = (vec![0u8; bytes], mpi::time());
    for _ in 0..if last == 0 { 0 } else { 10 } {
        if rank == 0 {
            world.process_at_rank(last).send(&data[..]);
            world.process_at_rank(last).receive_into(&mut data[..]);
        } else if rank == last {
            world.process_at_rank(0).receive_into(&mut data[..]);
            world.process_at_rank(0).send(&data[..]);
        }
    }
    (mpi::time() - begin) / 20.0
}

/// The time until the last node has its part of the sorted keys: the least of three.
fn sort(node: &mut Node) -> Result<f64, Error> {
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        let mine = (node.rank()..KEYS).step_by(node.size());
        let keys: Vec<u64> =
            mine.map(|at| (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23)).collect();
        node.barrier();
        let begin = node.now().get();
        let keys = node.sort(keys)?;
        least = least.min(node.reduce_max(node.now().get() - begin));
        assert!(keys.is_sorted());
    }
    Ok(least)
}

/// The time of a step of Jacobi's method on a plate, whose largest update is known everywhere.
fn step(node: &mut Node) -> Result<f64, Error> {
    const STEPS: usize = 20;
    let nodes = node.size();
    let across = (1..=nodes).filter(|n| nodes.is_multiple_of(*n) && n * n <= nodes).max().unwrap_or(1);
    let grid = [nodes / across, across];
    let [rows, columns] = grid.map(|nodes| SIDE / nodes);
    let row = columns + 2;
    let mut now = vec![node.rank() as f64; (rows + 2) * row];
    let mut next = now.clone();
    let mut halo = Halo::around([rows, columns]).width(1).nodes(grid).prepare(node)?;
    halo.exchange(node, [&mut now])?;
    node.barrier();
    let begin = node.now().get();
    for _ in 0..STEPS {
        halo.exchange(node, [&mut now])?;
        let mut update = 0.0_f64;
        for y in 1..=rows {
            let [above, here, below] = [y - 1, y, y + 1].map(|y| &now[y * row..][..row]);
            for (x, to) in next[y * row..][1..=columns].iter_mut().enumerate() {
                *to = 0.25 * (here[x] + here[x + 2] + above[x + 1] + below[x + 1]);
                update = update.max((*to - here[x + 1]).abs());
            }
        }
        std::mem::swap(&mut now, &mut next);
        std::hint::black_box(node.reduce_max(update));
    }
    Ok(node.reduce_max(node.now().get() - begin) / STEPS as f64)
}
