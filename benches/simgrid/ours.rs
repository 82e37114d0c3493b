//! The patterns on our simulator: the run-time's own collectives, and puts of one packet.

use strata_runtime::prelude::*;

use super::machine;
use super::{Job, Pattern};

/// When all nodes begin, in seconds: after they have installed handlers and opened ports.
const BEGIN: f64 = 0.1;

/// Seconds from when the nodes begin until the last one ends.
pub(crate) fn time(machine: &machine::Machine, job: &Job) -> Result<f64, String> {
    let run = |platform| {
        Machine::sim(platform, machine.nodes)?.run(|node| {
            let ports = ports(job.pattern, node.size());
            if ports > 0 {
                node.install(node.handlers());
                // Two halves, alternating: a neighbour may be a round ahead.
                (0..ports).for_each(|port| node.open_port(port, Block::<u8>::zeroed(2 * job.bytes)));
                node.barrier();
            }
            let cycles = (BEGIN - node.now().get()) * 1e12;
            node.compute(cycles, || ());
            let start = node.now().get();
            (0..job.rounds).for_each(|round| one(node, job, round));
            let end = node.now().get();
            if ports > 0 {
                node.barrier();
                (0..ports).for_each(|port| drop(node.close_port::<u8>(port)));
            }
            Ok((start, end))
        })
    };
    let run = run(&machine.platform()?).map_err(|error: Error| error.to_string())?;
    let first = run.results.iter().map(|(start, _)| *start).fold(f64::INFINITY, f64::min);
    let last = run.results.iter().map(|(_, end)| *end).fold(0.0, f64::max);
    Ok(last - first)
}

/// The ports of a pattern: one for each sender, or for each side; none for collectives.
fn ports(pattern: Pattern, nodes: usize) -> usize {
    match pattern {
        Pattern::Barrier | Pattern::Broadcast | Pattern::AllToAll => 0,
        Pattern::Shifts => nodes,
        Pattern::Stencil => 4,
    }
}

fn one(node: &mut Node, job: &Job, round: usize) {
    let (rank, size, bytes) = (node.rank(), node.size(), job.bytes);
    let half = round % 2 * bytes;
    match job.pattern {
        Pattern::Barrier => node.barrier(),
        Pattern::Broadcast => node.broadcast(0, &mut vec![0u8; bytes]),
        Pattern::AllToAll => {
            node.all_to_all_v((0..size).map(|_| Block::<u8>::zeroed(bytes)).collect());
        }
        Pattern::Shifts => {
            for shift in 1..size {
                let from = (rank + size - shift) % size;
                node.put((rank + shift) % size, rank, half, &vec![0u8; bytes]);
                node.expect::<u8>(from, bytes);
                node.wait_for_port(from);
            }
        }
        Pattern::Stencil => {
            let side = size.isqrt();
            let (row, column) = (rank / side, rank % side);
            let (west, east) = ((column + side - 1) % side, (column + 1) % side);
            let (north, south) = ((row + side - 1) % side, (row + 1) % side);
            let to = [row * side + west, row * side + east, north * side + column, south * side + column];
            for (port, to) in to.into_iter().enumerate() {
                node.put(to, port, half, &vec![0u8; bytes]);
            }
            // All are expected before the first wait: blocks of two rounds that arrive before they
            // are expected would complete nothing.
            (0..4).for_each(|port| node.expect::<u8>(port, bytes));
            (0..4).for_each(|port| node.wait_for_port(port));
        }
    }
}
