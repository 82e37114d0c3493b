//! The global address space on two processes of MPI, beside a raw round trip, in one run: in a
//! shared window, or with `STRATA_PIN=global=messages` by messages.
//!
//!     cargo bench -p strata-benches --features mpi --bench global_mpi

#![forbid(unsafe_code)]

use mpi::traits::*;
use strata_benches::{NoArguments, columns, machine, race};
use strata_global::{Global, Space};
use strata_runtime::prelude::*;

const ROUNDS: usize = 100;
/// Accesses in one timing.
const BATCH: usize = 1000;
/// Words of a bulk access.
const BULK: usize = 1 << 13;

const CONTESTANTS: [&str; 9] = [
    "MPI_Send and MPI_Recv of 8 B, there and back",
    "read",
    "write",
    "get, streamed",
    "put, streamed",
    "store, streamed",
    "put_slice of 64 KiB",
    "get_slice of 64 KiB",
    "barrier, while messages are received",
];

strata_benches::main!(|_: &NoArguments| {
    if strata_benches::is_rank() {
        return inside().map_err(|error| error.to_string());
    }
    println!("{}\n", machine());
    strata_benches::mpirun(2).map(drop)
});

fn inside() -> Result<(), Error> {
    let timings = launch(|node| {
        let mut space = Space::open(node, 8 * BULK)?;
        let timings = race(0..ROUNDS, 0, CONTESTANTS.len(), |_, which| {
            space.barrier();
            let start = space.now();
            let times = run(&mut space, which);
            // Node 1 receives while it waits here.
            space.barrier();
            Ok::<_, Error>((space.now().get() - start.get()) / times as f64)
        })?;
        space.all_store_sync();
        Ok(timings)
    })?;
    let Some(timings) = timings else { return Ok(()) };
    columns("access | time | of a raw round trip");
    let mut summary = serde_json::Map::new();
    for (name, timing) in CONTESTANTS.iter().zip(&timings) {
        let ratio = timing.median() / timings[0].median();
        println!("| {} | {timing} | {ratio:.2}x |", *name);
        summary.insert((*name).to_owned(), (timing.median() * 1e9).into());
    }
    strata_benches::summary(&summary.into());
    Ok(())
}

/// One timing's accesses; returns how many there are.
fn run(space: &mut Space<'_>, which: usize) -> usize {
    let first = space.rank() == 0;
    let p = Global::<u64>::new(1, 0);
    match which {
        0 => {
            let world = mpi::topology::SimpleCommunicator::world();
            let other = world.process_at_rank(1 - space.rank() as i32);
            let mut word = [7u64];
            for _ in 0..BATCH {
                if first {
                    other.send(&word[..]);
                    other.receive_into(&mut word[..]);
                } else {
                    other.receive_into(&mut word[..]);
                    other.send(&word[..]);
                }
            }
        }
        1 if first => (0..BATCH).for_each(|_| _ = space.read(p)),
        2 if first => (0..BATCH).for_each(|_| space.write(p, 1)),
        3 if first => {
            let mut values = vec![0; BATCH];
            space.phase(|phase| values.iter_mut().for_each(|value| phase.get(value, p)));
        }
        4 if first => space.phase(|phase| (0..BATCH).for_each(|_| phase.put(p, 1))),
        5 if first => (0..BATCH).for_each(|_| space.store(p, 1)),
        5 => space.store_sync(8 * BATCH as u64),
        6 => {
            if first {
                space.phase(|phase| phase.put_slice(p, &[1; BULK]));
            }
            return 1;
        }
        7 => {
            if first {
                let mut values = vec![0; BULK];
                space.phase(|phase| phase.get_slice(&mut values, p));
            }
            return 1;
        }
        8 => (0..BATCH).for_each(|_| space.barrier()),
        _ => {}
    }
    BATCH
}
