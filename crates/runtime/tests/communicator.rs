//! Nodes on communicators of a program that has initialised MPI itself, on 1 to 4 processes.
//!
//! Without `harness`: the program starts itself again under `mpirun`. Ends with a line `N passed, N
//! failed`.

// A program of its own, as each MPI process is one; without `harness`, which runs tests in threads.

mod mpirun;

use mpi::topology::Color;
use mpi::traits::*;
use std::process::ExitCode;
use strata_runtime::prelude::*;

fn main() -> ExitCode {
    if std::env::var(mpirun::CASE).is_ok() {
        return mpirun::exit(inside());
    }
    mpirun::all(mpirun::on(&[1, 2, 3, 4], "all").collect())
}

fn inside() -> Result<(), Error> {
    let universe = mpi::initialize().ok_or_else(|| Error::program("MPI is initialised already"))?;
    let world = universe.world();
    let refused = Machine::mpi().run(|_| Ok(())).map_or_else(|error| error.to_string(), |_| String::new());
    assert!(refused.contains("Machine::on_communicator"), "{refused}");

    let nodes = Machine::on_communicator(&world)?;
    for round in 0..3 {
        let mut seen = 0;
        let sum = nodes.run(|node| {
            seen = node.rank();
            Ok(node.reduce_add(node.rank() as u64 + round))
        })?;
        let size = world.size() as u64;
        assert_eq!((seen as i32, sum), (world.rank(), size * (size - 1) / 2 + round * size));
        // The program's own messages go on beside.
        let mut own = 0u64;
        world.all_reduce_into(&1u64, &mut own, mpi::collective::SystemOperation::sum());
        assert_eq!(own, size);
    }

    // A part of the processes, numbered backwards, while the others do as they like.
    let parity = world.rank() % 2;
    let part = world.split_by_color_with_key(Color::with_value(parity), -world.rank());
    let part = part.ok_or_else(|| Error::program("no communicator"))?;
    let ranks =
        Machine::on_communicator(&part)?.run(|node| Ok(node.all_gather(&[i64::from(world.rank())])))?;
    let expected: Vec<i64> =
        (0..i64::from(world.size())).rev().filter(|rank| rank % 2 == i64::from(parity)).collect();
    assert_eq!(ranks, expected);
    Ok(())
}
