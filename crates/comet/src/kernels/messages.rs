//! Kernels of active messages and of the global address space.

use std::cell::Cell;
use std::rc::Rc;

use strata_global::Space;
use strata_runtime::Node;

use super::mail::wrong_data;
use super::measure::{TEST, time, time_with};
use super::trial::spoils;

/// The round-trip time of an active message, in seconds.
///
/// # Participation
/// Collective; wrong data end the job.
pub fn message_round_trip(node: &mut Node) -> f64 {
    let answers = Rc::new(Cell::new(0u64));
    let counted = Rc::clone(&answers);
    let mut handlers = node.handlers();
    let pong = handlers.reply(move |_, word: u64| counted.set(word));
    let ping = handlers.request(move |context, word: u64| context.reply(pong, word));
    node.install(handlers);
    let (test, to) = (node.rank() == TEST, 1 % node.size());
    let mut sent = 0u64;
    let seconds = time(node, |node, _| {
        if test {
            sent += 1;
            node.send(to, ping, sent);
            node.wait_until(|| answers.get() == sent);
        }
    });
    if test && (answers.get() != sent || spoils(node, "message_round_trip")) {
        wrong_data(node, "message_round_trip", &format!("answer {} to message {sent}", answers.get()));
    }
    node.uninstall();
    seconds
}

/// A one-way store of `bytes` that its receiver waits for and acknowledges, in seconds.
///
/// # Participation
/// As [`message_round_trip`].
///
/// # Errors
/// If a node lacks the memory.
pub fn store(node: &mut Node, bytes: usize) -> Result<f64, strata_global::GlobalError> {
    let target = 1 % node.size();
    one_sided(node, "store", bytes, move |space, to, values, _| {
        if space.rank() == TEST {
            space.store_slice(to, values);
        }
        if space.rank() == target {
            space.store_sync(bytes as u64);
        }
        space.barrier();
    })
}

/// A blocking write of `bytes` into another node's memory, in seconds.
///
/// # Participation
/// As [`message_round_trip`].
///
/// # Errors
/// As [`store`].
pub fn put(node: &mut Node, bytes: usize) -> Result<f64, strata_global::GlobalError> {
    one_sided(node, "put", bytes, |space, to, values, _| {
        if space.rank() == TEST {
            space.write_slice(to, values);
        }
    })
}

/// A blocking read of `bytes` of another node's memory, in seconds.
///
/// # Participation
/// As [`message_round_trip`].
///
/// # Errors
/// As [`store`].
pub fn get(node: &mut Node, bytes: usize) -> Result<f64, strata_global::GlobalError> {
    one_sided(node, "get", bytes, |space, from, _, into| {
        if space.rank() == TEST {
            space.read_slice(from, into);
        }
    })
}

fn one_sided(
    node: &mut Node,
    kernel: &str,
    bytes: usize,
    mut operation: impl FnMut(&mut Space<'_>, strata_global::Global<u8>, &[u8], &mut [u8]),
) -> Result<f64, strata_global::GlobalError> {
    let mut space = Space::open(node, bytes + 64)?;
    let (rank, size) = (space.rank(), space.size());
    let blocks = space.alloc_blocks::<u8>(size, bytes)?;
    let there = blocks.first_of(1 % size);
    let byte = |at: usize| (at as u8).wrapping_mul(31) ^ 0x33;
    let values: Vec<u8> = (0..bytes).map(byte).collect();
    let mut read = vec![0; bytes];
    if rank == TEST {
        space.write_slice(there, &values);
    }
    space.barrier();
    let seconds = time_with(&mut space, |space, _| operation(space, there, &values, &mut read));
    space.barrier();
    let mut right = true;
    if rank == TEST {
        if kernel != "get" {
            space.read_slice(there, &mut read);
        }
        right = read.iter().enumerate().all(|(at, value)| *value == byte(at)) && !spoils(&mut space, kernel);
    }
    space.barrier();
    if !right {
        wrong_data(&mut space, kernel, "the memory of node 1 after it");
    }
    space.uninstall();
    Ok(seconds)
}
