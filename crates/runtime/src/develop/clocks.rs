//! The offset of a node's clock from node 0's.
//!
//! Clocks of processes begin at different times. Between two barriers, node 0 reads its clock once;
//! every other node has read its own before the first and reads it again after the second. So node
//! 0's reading is between these two, and the offset is in an interval as long as both barriers
//! took; the error of its middle is at most half of that. Each node uses the shortest of many such
//! rounds (Cristian, *Probabilistic clock synchronization*, 1989, with barriers instead of
//! messages).

use super::ClockOffset;
use crate::clock::Clock;
use crate::transport::{Action, Call, Endpoint};
use std::panic::Location;

/// Number of rounds; in the shortest one probably no node was descheduled.
const ROUNDS: usize = 64;

/// As [`Node::synchronise_clocks`](crate::Node::synchronise_clocks), before a `Node` exists.
#[track_caller]
pub(crate) fn synchronise(transport: &mut dyn Endpoint, clock: &Clock) -> ClockOffset {
    let (rank, place) = (transport.rank(), Location::caller());
    compare_clocks(clock, rank, |step| match step {
        Exchange::Meet => transport.barrier(Call::plain(Action::Barrier, place)),
        Exchange::Tell(times) => {
            let call = Call::moving(Action::Broadcast, 8, 0, times.len(), place);
            transport.broadcast(call, 0, bytemuck::cast_slice_mut(times));
        }
    })
}

/// The collective steps of a round.
pub(crate) enum Exchange<'a> {
    /// A barrier.
    Meet,
    /// Replaces these times by node 0's.
    Tell(&'a mut [u64]),
}

pub(crate) fn compare_clocks(
    clock: &Clock,
    rank: usize,
    mut together: impl FnMut(Exchange<'_>),
) -> ClockOffset {
    if clock.is_shared() {
        return ClockOffset::default();
    }
    let mut reference = [0u64; ROUNDS];
    let mut own = [(0u64, 0u64); ROUNDS];
    for (reference, own) in reference.iter_mut().zip(&mut own) {
        own.0 = clock.ns();
        together(Exchange::Meet);
        *reference = clock.ns();
        together(Exchange::Meet);
        own.1 = clock.ns();
    }
    together(Exchange::Tell(&mut reference));
    if rank == 0 { ClockOffset::default() } else { best(reference.into_iter().zip(own)) }
}

/// The offset by the shortest round: node 0's reading, and the readings before and after.
fn best(rounds: impl Iterator<Item = (u64, (u64, u64))>) -> ClockOffset {
    let shortest = rounds.min_by_key(|(_, (before, after))| after.saturating_sub(*before));
    let Some((reference, (before, after))) = shortest else { return ClockOffset::default() };
    let width = after.saturating_sub(before);
    let middle = before + width / 2;
    ClockOffset { offset: middle.wrapping_sub(reference).cast_signed(), bound: width.div_ceil(2) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// For any delays, the true offset is within the bound.
        #[test]
        fn the_bound_holds(
            ahead in -1_000_000i64..1_000_000,
            rounds in prop::collection::vec((0u64..5000, 0u64..5000), 1..20),
        ) {
            let mut now = 2_000_000u64;
            let seen = rounds.iter().map(|(first, second)| {
                let own = |time: u64| time.wrapping_add_signed(ahead);
                let before = own(now);
                let reference = now + first;
                now = reference + second;
                (reference, (before, own(now)))
            });
            let ClockOffset { offset, bound } = best(seen);
            prop_assert!((offset - ahead).unsigned_abs() <= bound);
            prop_assert!(bound <= rounds.iter().map(|(a, b)| (a + b).div_ceil(2)).min().unwrap());
        }
    }
}
