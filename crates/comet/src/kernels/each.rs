//! Collectives of the run-time one by one, with the times of all nodes.

use serde::Deserialize;
use strata_runtime::patterns::{Schedule, all_to_all};
use strata_runtime::{Block, Node};

use super::mail::{expected, wrong_data};
use super::measure::{Fixed, Instrument, TEST, fixed, root as root_of, simulated};
use super::trial::spoils;
use crate::suite::{calls, first_calls};

/// A collective of the run-time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Collective {
    /// A broadcast from the root.
    Broadcast,
    /// Element-wise sums of numbers of 8 bytes, on all nodes.
    Reduce,
    /// Element-wise sums of the nodes before each.
    Scan,
    /// A block of each node to the root, by puts.
    Gather,
    /// A block from the root to each node, by puts.
    Scatter,
    /// A block of each node to all.
    AllGather,
    /// A block from each node to each, as the run-time schedules it.
    AllToAll,
    /// The same with blocks whose lengths the receivers do not know.
    AllToAllV,
    /// A barrier.
    Barrier,
}

/// The port of gathers and scatters.
const PORT: usize = 0;

/// Seconds of a collective of blocks of `bytes`, which all nodes begin after an untimed barrier: of
/// the means of all nodes `of` = 0 selects the least, 1 the mean, and 2 the greatest. The root is
/// node 0, or each node in turn.
///
/// # Participation
/// Collective. Wrong data end the job.
pub fn each(node: &mut Node, collective: Collective, bytes: usize, of: usize) -> f64 {
    let (rank, size) = (node.rank(), node.size());
    let usual = match node.is_simulated() {
        true => Fixed { count: simulated(node), warm: 2 },
        false => Fixed { count: calls(bytes), warm: first_calls(calls(bytes)) },
    };
    let Fixed { count, warm } = fixed(node, first_calls).unwrap_or(usual);
    let clock = Instrument::new(node);
    let block = |from: usize| (0..bytes).map(move |at| expected(from, at));
    let mine: Vec<u8> = block(rank).collect();
    let to_all: Vec<u8> = (0..size).flat_map(|_| block(rank)).collect();
    let number = |at: usize| (rank + at % 64) as f64;
    let (mut one, mut all) = (vec![0u8; bytes], vec![0u8; bytes * size]);
    let mut numbers = vec![0.0; bytes / 8];
    let mut memory = Block::<u8>::zeroed(bytes * size);
    let by_puts = matches!(collective, Collective::Gather | Collective::Scatter);
    if by_puts {
        let handlers = node.handlers();
        node.install(handlers);
        node.open_port(PORT, Block::<u8>::zeroed(bytes * size));
    }
    let (mut total, mut root) = (0.0, TEST);
    let last = warm + count - 1;
    for k in 0..=last {
        root = root_of(node, k);
        // Restored outside of the timing.
        one.copy_from_slice(&mine);
        numbers.iter_mut().enumerate().for_each(|(at, value)| *value = number(at));
        let blocks = match collective {
            Collective::AllToAllV => (0..size).map(|_| Block::from(&mine[..])).collect(),
            _ => Vec::new(),
        };
        node.barrier();
        let start = clock.now(node);
        match collective {
            Collective::Broadcast => node.broadcast(root, &mut one),
            Collective::Reduce => node.reduce_add(&mut numbers[..]),
            Collective::Scan => node.scan_add(&mut numbers[..]),
            Collective::Gather if rank != root => node.put(root, PORT, rank * bytes, &mine),
            Collective::Gather => wait(node, bytes * (size - 1)),
            Collective::Scatter if rank == root => {
                (0..size).filter(|to| *to != root).for_each(|to| node.put(to, PORT, 0, &mine));
            }
            Collective::Scatter => wait(node, bytes),
            Collective::AllGather => node.all_gather_into(&mine, &mut all),
            Collective::AllToAll => {
                memory = all_to_all(node, &to_all, std::mem::take(&mut memory), Schedule::Library);
            }
            Collective::AllToAllV => {
                let came = node.all_to_all_v(blocks);
                if k == last {
                    all = came.iter().flat_map(|block| block.iter().copied()).collect();
                }
            }
            Collective::Barrier => node.barrier(),
        }
        let seconds = clock.since(node, start);
        if k >= warm {
            total += seconds;
        }
    }
    node.barrier();
    if by_puts {
        memory = node.close_port(PORT);
        node.uninstall();
    }
    if matches!(collective, Collective::AllToAll | Collective::Gather) {
        all.copy_from_slice(&memory);
    }
    if collective == Collective::Scatter && rank != root {
        one.copy_from_slice(&memory[..bytes]);
    }
    let is_block = |from: usize, got: &[u8]| got.iter().copied().eq(block(from));
    let parts = all.chunks_exact(bytes.max(1)).enumerate();
    let mut right = match collective {
        Collective::Broadcast => is_block(root, &one),
        Collective::Scatter => rank == root || is_block(root, &one),
        Collective::Gather if rank != root => true,
        // The root's own block does not move.
        Collective::Gather => {
            parts.filter(|(from, _)| *from != root).all(|(from, part)| is_block(from, part))
        }
        Collective::AllGather | Collective::AllToAll | Collective::AllToAllV => {
            parts.into_iter().all(|(from, part)| is_block(from, part))
        }
        Collective::Reduce | Collective::Scan => {
            let before = if collective == Collective::Reduce { size } else { rank };
            let sum = |at: usize| (before * before.saturating_sub(1) / 2 + before * (at % 64)) as f64;
            numbers.iter().enumerate().all(|(at, value)| *value == sum(at))
        }
        Collective::Barrier => true,
    };
    right &= !spoils(node, "each");
    if !right {
        wrong_data(node, "each", &format!("the result of {collective:?}"));
    }
    let own = clock.told(total) / count as f64;
    let least = node.reduce_min(if own.is_nan() { f64::NEG_INFINITY } else { own });
    let over_nodes = match of {
        0 => least,
        1 => node.reduce_add(own) / size as f64,
        _ => node.reduce_max(own),
    };
    match rank {
        // A clock too coarse on one node.
        TEST if least == f64::NEG_INFINITY => f64::NAN,
        TEST => over_nodes.max(0.0),
        _ => 0.0,
    }
}

fn wait(node: &mut Node, bytes: usize) {
    node.expect::<u8>(PORT, bytes);
    node.wait_for_port(PORT);
}
