//! Random programs, and many spaces, on nodes that are MPI processes: starts itself again under
//! `mpirun` with 1 to 4 processes.
//!
//! `cargo test -p strata-global --features mpi --test mpi`; without `mpirun` it says so and skips.

#[path = "../../runtime/tests/mpirun/alike.rs"]
mod alike;
mod common;

use common::{How, check};
use std::process::ExitCode;
use strata_global::{Global, Space, Way};
use strata_runtime::prelude::*;

/// Programs in each job.
const SEEDS: u64 = 40;

fn main() -> ExitCode {
    alike::main(checks, None)
}

/// Usually in a shared window, as all processes are of one host.
fn checks(node: &mut Node) -> Result<(), Error> {
    windows_are_given_back(node)?;
    let ways = [How::Usual, How::By(Way::Messages), How::By(Way::Gathered)];
    (0..SEEDS).try_for_each(|seed| check(node, seed, ways[(seed / 5 % 3) as usize]))
}

/// The memory of a space that is open no more, on any node, is another's: thousands of spaces one
/// after the other need no more than a few.
fn windows_are_given_back(node: &mut Node) -> Result<(), Error> {
    const SPACES: usize = 2000;
    let mapped = || std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count());
    let mut before = 0;
    for i in 0..SPACES {
        let mut space = Space::open_by(node, 1 << 12, Way::Shared)?;
        let (rank, size) = (space.rank(), space.size());
        let p = Global::<u64>::new((rank + 1) % size, 8 * (i as u64 % 512));
        assert_eq!(space.read(p), 0, "space {i}");
        space.barrier();
        space.write(p, i as u64 + 1);
        space.barrier();
        assert_eq!(space.read(Global::<u64>::new(rank, p.offset())), i as u64 + 1);
        drop(space);
        node.uninstall();
        if i == 20 {
            before = mapped();
        }
    }
    let after = mapped();
    if after > before + 40 {
        return Err(Error::program(format!("{SPACES} spaces left {} mappings", after - before)));
    }
    Ok(())
}
