//! Barrier and 8-byte reduce of Strata's nodes against the raw MPI calls, in the same program,
//! alternating.
//!
//!     cargo bench -p strata-benches --features mpi --bench collectives
//!
//! On `mpi` both sides run in the same ranks, so the ratio is the cost of Strata's layer. On
//! `threads` there is no raw call to compare with in the process; its rows stand beside the MPI
//! figures of the same run.

use std::process::ExitCode;

use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::CommunicatorCollectives;
use serde_json::{Value, json};
use strata_benches::{NoArguments, Timings, hand_over, head, is_rank, machine, mpirun, row, summary, turns};
use strata_runtime::prelude::*;

/// Operations inside one timing: enough for the clock, few enough for many rounds.
const BATCH: usize = 200;
const ROUNDS: usize = 300;
const RANKS: [usize; 2] = [2, 4];

fn main() -> ExitCode {
    strata_benches::run(|_: &NoArguments| if is_rank() { inside() } else { outside() })
}

fn outside() -> Result<(), String> {
    println!(
        "{}\n{ROUNDS} rounds of {BATCH} operations; median (10 % to 90 %) of one operation\n",
        machine()
    );
    head(&["transport", "nodes", "operation", "strata", "raw MPI", "ratio"]);
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

/// Timings of one operation on node 0: Strata's and the raw call's, barrier first.
struct Raced {
    barrier: [Timings; 2],
    reduce: [Timings; 2],
}

fn race(node: &mut Node, raw: Option<&SimpleCommunicator>) -> Raced {
    let mut raced = Raced { barrier: Default::default(), reduce: Default::default() };
    let sum_of_ranks = (0..node.size() as u64).sum::<u64>();
    let contestants = if raw.is_some() { 2 } else { 1 };
    for round in 0..ROUNDS {
        for who in turns(round, contestants) {
            node.barrier();
            let start = node.now().get();
            match (who, raw) {
                (1, Some(world)) => (0..BATCH).for_each(|_| world.barrier()),
                _ => (0..BATCH).for_each(|_| node.barrier()),
            }
            raced.barrier[who].push((node.now().get() - start) / BATCH as f64);
        }
        for who in turns(round, contestants) {
            let mut answer = [0u64];
            node.barrier();
            let start = node.now().get();
            for _ in 0..BATCH {
                let mine = [node.rank() as u64];
                match (who, raw) {
                    (1, Some(world)) => {
                        world.all_reduce_into(&mine[..], &mut answer[..], SystemOperation::sum())
                    }
                    _ => {
                        answer = mine;
                        node.reduce(Op::Add, &mut answer[..]);
                    }
                }
            }
            raced.reduce[who].push((node.now().get() - start) / BATCH as f64);
            assert_eq!(answer, [sum_of_ranks], "contestant {who} of round {round} is wrong");
        }
    }
    raced
}

/// Prints the rows of a transport; returns them for the summary.
fn print(transport: &str, nodes: usize, raced: &Raced) -> Vec<Value> {
    let operations = [("barrier", &raced.barrier), ("reduce 8 B", &raced.reduce)];
    let rows = operations.map(|(name, [ours, peer])| {
        let ratio = (!peer.is_empty()).then(|| ours.median() / peer.median());
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        row(&[
            transport.into(),
            nodes.to_string(),
            name.into(),
            ours.to_string(),
            or_none(ratio.map(|_| peer.to_string())),
            or_none(ratio.map(|ratio| format!("{ratio:.3}"))),
        ]);
        json!({
            "transport": transport, "nodes": nodes, "operation": name,
            "seconds": ours.median(), "ratio": ratio,
        })
    });
    rows.into()
}
