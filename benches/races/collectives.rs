//! Collectives of Strata's nodes against the raw MPI calls, in the same program, alternating.
//!
//!     cargo bench -p strata-benches --features mpi --bench collectives
//!
//! On `mpi` both sides run in the same ranks, so the ratio is the cost of Strata's layer, or the gain
//! of its own ways. On `threads` there is no raw call to compare with in the process; its rows stand
//! beside the MPI figures of the same run. `STRATA_PIN=reductions=transport,…` takes one of the ways
//! on `mpi`, `STRATA_CALIBRATE=1s` lets them fit themselves first.

use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};
use serde_json::{Value, json};
use strata_benches::{NoArguments, Timings, columns, hand_over, is_rank, machine, mpirun, summary, turns};
use strata_runtime::prelude::*;

const ROUNDS: usize = 200;
const RANKS: [usize; 3] = [2, 4, 8];

/// A collective of so many words of 8 bytes.
#[derive(Clone, Copy)]
enum Kind {
    Barrier,
    Broadcast,
    Reduce,
    Scan,
}

const OPERATIONS: [(&str, Kind, usize); 10] = [
    ("barrier", Kind::Barrier, 0),
    ("broadcast 8 B", Kind::Broadcast, 1),
    ("broadcast 4 KiB", Kind::Broadcast, 512),
    ("broadcast 64 KiB", Kind::Broadcast, 8192),
    ("reduce 8 B", Kind::Reduce, 1),
    ("reduce 64 B", Kind::Reduce, 8),
    ("reduce 4 KiB", Kind::Reduce, 512),
    ("reduce 64 KiB", Kind::Reduce, 8192),
    ("scan 8 B", Kind::Scan, 1),
    ("scan 32 KiB", Kind::Scan, 4096),
];

/// Operations inside one timing: enough for the clock, few enough for many rounds.
fn batch(words: usize) -> usize {
    if words < 100 { 200 } else { 20 }
}

strata_benches::main!(|_: &NoArguments| if is_rank() { inside() } else { outside() });

fn outside() -> Result<(), String> {
    println!(
        "{}\n{ROUNDS} rounds of {} operations, of long ones {}; median (10 % to 90 %) of one operation\n",
        machine(),
        batch(1),
        batch(8192)
    );
    columns("transport | nodes | operation | strata | raw MPI | ratio");
    let mut results = Vec::new();
    for ranks in RANKS {
        results.extend(mpirun(ranks)?);
    }
    for nodes in RANKS {
        let timings = Machine::threads(nodes)
            .and_then(|m| m.run(|node: &mut Node| Ok(race(node, None))))
            .map_err(|e| e.to_string())?;
        if let Some(first) = timings.first() {
            results.extend(print("threads", nodes, first));
        }
    }
    summary(&json!({ "bench": "collectives", "results": results }));
    Ok(())
}

fn inside() -> Result<(), String> {
    strata_runtime::launch(|node: &mut Node| {
        let world = SimpleCommunicator::world();
        let timings = race(node, Some(&world));
        if node.rank() == 0 {
            print("mpi", node.size(), &timings).iter().for_each(hand_over);
        }
        Ok(())
    })
    .map(drop)
    .map_err(|e| e.to_string())
}

/// Timings on node 0 of each operation: Strata's and the raw call's.
type Raced = [[Timings; 2]; OPERATIONS.len()];

fn race(node: &mut Node, raw: Option<&SimpleCommunicator>) -> Raced {
    let mut raced = Raced::default();
    let contestants = if raw.is_some() { 2 } else { 1 };
    // The first calls choose the ways, and may fit their models.
    for (_, kind, words) in OPERATIONS {
        once(node, None, kind, &mut vec![0; words], &vec![1; words]);
    }
    for round in 0..ROUNDS {
        for ((name, kind, words), timings) in OPERATIONS.iter().zip(&mut raced) {
            let mine: Vec<u64> = (0..*words as u64).map(|at| at + node.rank() as u64).collect();
            let mut values = mine.clone();
            for who in turns(round, contestants) {
                let raw = raw.filter(|_| who == 1);
                node.barrier();
                let start = node.now().get();
                for _ in 0..batch(*words) {
                    once(node, raw, *kind, &mut values, &mine);
                }
                timings[who].push((node.now().get() - start) / batch(*words) as f64);
                let expected = |at: u64| match kind {
                    Kind::Barrier | Kind::Broadcast => at,
                    Kind::Reduce => (0..node.size() as u64).map(|rank| at + rank).sum(),
                    Kind::Scan => (0..node.rank() as u64).map(|rank| at + rank).sum(),
                };
                let right = (0..).zip(&values).all(|(at, value)| *value == expected(at));
                // What a raw exclusive scan leaves on node 0 is undefined.
                let defined = node.rank() > 0 || !matches!(kind, Kind::Scan);
                assert!(right || !defined, "{name}: contestant {who} of round {round} is wrong");
            }
        }
    }
    raced
}

/// One operation on `mine`, which becomes `values`.
fn once(node: &mut Node, raw: Option<&SimpleCommunicator>, kind: Kind, values: &mut [u64], mine: &[u64]) {
    match (kind, raw) {
        (Kind::Barrier, None) => node.barrier(),
        (Kind::Barrier, Some(world)) => world.barrier(),
        (Kind::Broadcast, None) => {
            values.copy_from_slice(mine);
            node.broadcast(0, values);
        }
        (Kind::Broadcast, Some(world)) => {
            values.copy_from_slice(mine);
            world.process_at_rank(0).broadcast_into(values);
        }
        (Kind::Reduce, None) => {
            values.copy_from_slice(mine);
            node.reduce(Op::Add, values);
        }
        (Kind::Reduce, Some(world)) => world.all_reduce_into(mine, values, SystemOperation::sum()),
        (Kind::Scan, None) => {
            values.copy_from_slice(mine);
            node.scan(Op::Add, values);
        }
        (Kind::Scan, Some(world)) => world.exclusive_scan_into(mine, values, SystemOperation::sum()),
    }
}

/// Prints the rows of a transport; returns them for the summary.
fn print(transport: &str, nodes: usize, raced: &Raced) -> Vec<Value> {
    let rows = OPERATIONS.iter().zip(raced).map(|((name, ..), [ours, peer])| {
        let ratio = (!peer.is_empty()).then(|| ours.median() / peer.median());
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        println!(
            "| {transport} | {nodes} | {} | {ours} | {} | {} |",
            *name,
            or_none(ratio.map(|_| peer.to_string())),
            or_none(ratio.map(|ratio| format!("{ratio:.3}")))
        );
        json!({
            "transport": transport, "nodes": nodes, "operation": name,
            "seconds": ours.median(), "ratio": ratio,
        })
    });
    rows.collect()
}
