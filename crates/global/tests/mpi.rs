//! Random programs, and many spaces, on nodes that are MPI processes: starts itself again under
//! `mpirun` with 1 to 4 processes.
//!
//! `cargo test -p strata-global --features mpi --test mpi`; without `mpirun` it says so and skips.

// A program of its own, as each MPI process is one; without `harness`, which runs tests in threads.

#[path = "../../runtime/tests/mpirun/alike.rs"]
mod alike;
#[path = "it/common/mod.rs"]
mod common;

use common::{How, check, counters, programs};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use strata_global::{Global, Space, Way};
use strata_runtime::prelude::*;

/// Programs in each job.
const SEEDS: u64 = 40;

fn main() -> ExitCode {
    alike::main(checks, None, Vec::new())
}

/// Usually in a shared window, as all processes are of one host.
fn checks(node: &mut Node) -> Result<(), Error> {
    windows_are_given_back(node)?;
    exposed_words_change_without_action_of_their_node(node)?;
    bulk_arrives_whole(node)?;
    programs::check(node)?;
    let ways = [How::Usual, How::By(Way::Messages), How::By(Way::Gathered), How::OneSided];
    (0..SEEDS).try_for_each(|seed| {
        let way = ways[(seed / 5 % 4) as usize];
        check(node, seed, way)?;
        counters::check(node, seed, way)
    })
}

/// The owner of the words calls neither the run-time nor MPI until they have changed (the tests
/// select a component that writes shared memory).
fn exposed_words_change_without_action_of_their_node(node: &mut Node) -> Result<(), Error> {
    let (rank, size) = (node.rank(), node.size());
    let exposed = node.expose_words(4).ok_or_else(|| Error::program("there are no one-sided transfers"))?;
    let next = (rank + 1) % size;
    exposed.put(next, 8, &[rank as u8 + 1; 16]);
    let before = (rank + size - 1) % size;
    let wanted = u64::from_ne_bytes([before as u8 + 1; 8]);
    let own = exposed.own();
    while own[1].load(Ordering::Acquire) != wanted || own[2].load(Ordering::Acquire) != wanted {
        std::thread::yield_now();
    }
    let mut back = [0; 32];
    exposed.get(next, 0, &mut back);
    assert!(back[8..24] == [rank as u8 + 1; 16] && back[..8] == [0; 8] && back[24..] == [0; 8]);
    node.barrier();
    Ok(())
}

/// Bulk, from before to after the sizes into which messages are divided, one-sided and by messages.
fn bulk_arrives_whole(node: &mut Node) -> Result<(), Error> {
    const MOST: usize = 40_000;
    for from in [64, usize::MAX] {
        let mut space = Space::open_by(node, MOST + 64, Way::Messages)?;
        space.one_sided_from(from)?;
        let (rank, size) = (space.rank(), space.size());
        let blocks = space.alloc_blocks::<u8>(size, MOST)?;
        let (next, own) = (blocks.first_of((rank + 1) % size), blocks.first_of(rank));
        for (turn, bytes) in [0, 1, 63, 64, 65, 3_967, 3_969, 16_384, 16_385, MOST].into_iter().enumerate() {
            let pattern = |of: usize| (0..bytes).map(|i| (i * 7 + of + turn) as u8).collect::<Vec<_>>();
            space.phase(|phase| phase.put_slice(next, &pattern(rank)));
            space.barrier();
            let (mut here, mut there) = (vec![0; bytes], vec![0; bytes]);
            space.read_slice(own, &mut here);
            space.read_slice(next, &mut there);
            assert_eq!(here, pattern((rank + size - 1) % size), "{bytes} bytes put");
            assert_eq!(there, pattern(rank), "{bytes} bytes read");
            space.barrier();
        }
        // Node 0 waits by reading; the others need its answer before they write what it waits for.
        let add = space.procedure(|old: u64, by: u64| (old + by, old));
        let count = space.alloc::<u64>(1)?;
        if rank == 0 {
            for from in 1..size {
                let mut block = [0u8; 64];
                while block != [9; 64] {
                    space.read_slice(blocks.first_of(from), &mut block);
                }
            }
        } else {
            space.at_owner(add, count.at(0), 1);
            space.write_slice(own, &[9; 64]);
        }
        space.barrier();
        assert_eq!(space.read(count.at(0)), size as u64 - 1);
        space.barrier();
        space.free(blocks);
        drop(space);
        node.uninstall();
    }
    Ok(())
}

/// The memory of a space that is open no more, on any node, is another's: thousands of spaces one
/// after the other need no more than a few.
fn windows_are_given_back(node: &mut Node) -> Result<(), Error> {
    const SPACES: usize = 2000;
    let mapped = || std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count());
    let mut before = 0;
    for i in 0..SPACES {
        let way = if i % 4 == 3 { Way::Messages } else { Way::Shared };
        let mut space = Space::open_by(node, 1 << 12, way)?;
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
