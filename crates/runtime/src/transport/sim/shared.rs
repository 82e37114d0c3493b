//! Values that simulated nodes exchange, round by round.

use crate::transport::Value;
use std::collections::BTreeMap;
use strata_sim::Time;

/// The rounds that some node has yet to finish.
pub(super) struct Shared {
    rounds: BTreeMap<u64, Round>,
    /// The number of rounds that each node has entered.
    entered: Vec<u64>,
}

#[derive(Default)]
struct Round {
    values: BTreeMap<usize, Value>,
    /// The time at which the last value was stored.
    last: Time,
    taken: usize,
}

impl Shared {
    pub(super) fn new(nodes: usize) -> Self {
        Self { rounds: BTreeMap::new(), entered: vec![0; nodes] }
    }

    /// Stores a node's value of its next round. Returns the round, and the time of its last value
    /// if this is the last.
    pub(super) fn place(&mut self, rank: usize, value: Value, time: Time) -> (u64, Option<Time>) {
        let number = self.entered[rank];
        self.entered[rank] += 1;
        let round = self.rounds.entry(number).or_default();
        round.values.insert(rank, value);
        round.last = round.last.max(time);
        (number, self.last(number))
    }

    /// The time at which the last value of a round was stored, if all were.
    pub(super) fn last(&self, round: u64) -> Option<Time> {
        let round = self.rounds.get(&round)?;
        (round.values.len() == self.entered.len()).then_some(round.last)
    }

    /// The values of a round, by rank. The last node that takes them removes them.
    pub(super) fn take(&mut self, round: u64) -> (Vec<Value>, Time) {
        let nodes = self.entered.len();
        let Some(found) = self.rounds.get_mut(&round) else { return (Vec::new(), Time::ZERO) };
        found.taken += 1;
        let result = (found.values.values().cloned().collect(), found.last);
        if found.taken == nodes {
            self.rounds.remove(&round);
        }
        result
    }
}
