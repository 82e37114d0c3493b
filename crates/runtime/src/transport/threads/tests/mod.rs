//! Tests of the transport itself, through its trait.

mod packets;
mod pending;
mod ports;
#[cfg(loom)]
mod under_loom;

use crate::error::Error;
use crate::transport::{Action, Awaited, Call, Endpoint, Networks};
use std::panic::Location;

/// Runs a program on every node; returns the results, or the failure with its node.
fn run<T: Send>(
    nodes: usize,
    program: impl Fn(&mut dyn Endpoint) -> T + Sync,
) -> Result<Vec<T>, (usize, String)> {
    super::run(nodes, |mut transport| Ok(program(&mut *transport))).map_err(|error| match error {
        Error::Node { rank, message } => (rank, message),
        other => panic!("not a node's failure: {other}"),
    })
}

/// A call with what a transport needs of it.
#[track_caller]
fn call(action: Action) -> Call {
    Call::plain(action, Location::caller())
}

/// Pauses for `awaited` and anything else.
fn pause(node: &mut dyn Endpoint, awaited: Awaited) {
    node.pause(&call(Action::WaitUntil), Networks::Both, awaited);
}

/// Numbers that vary with the seed (SplitMix64 of Steele, Lea and Flood, 2014).
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// An occasional delay: none, a time slice of the scheduler, or long enough for others to
    /// sleep.
    fn delay(&mut self) {
        match self.below(200) {
            0 => std::thread::sleep(std::time::Duration::from_millis(1)),
            1..20 => std::thread::yield_now(),
            _ => {}
        }
    }
}

fn seed(parts: &[usize]) -> Seeded {
    Seeded(parts.iter().fold(7, |seed, part| Seeded(seed ^ *part as u64).next()))
}
