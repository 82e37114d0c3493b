//! Predicts the time of a schedule by carrying out its steps with times in place of messages.

use super::{Schedule, Step};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Costs of a barrier's messages, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// Start-up before the first step.
    pub startup: f64,
    /// Sending a message.
    pub send: f64,
    /// Latency between neighbours.
    pub latency: f64,
    /// Receiving a message.
    pub receive: f64,
    /// Extra latency for each further hop.
    pub hop: f64,
}

impl Costs {
    /// The latency over `hops` hops.
    #[must_use]
    pub fn latency_over(&self, hops: usize) -> f64 {
        self.latency + self.hop * hops.saturating_sub(1) as f64
    }
}

/// When the members left a barrier.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Exit time of each member.
    pub exits: Vec<f64>,
    /// Entry time of the last member.
    pub entered: f64,
}

impl Outcome {
    /// The time of a barrier: from the last arrival to the last exit (Warfel 1996, §4.1).
    #[must_use]
    pub fn time(&self) -> f64 {
        self.last() - self.entered
    }

    /// The skew of a barrier: from the first exit to the last (§4.2.4).
    #[must_use]
    pub fn skew(&self) -> f64 {
        self.last() - self.exits.iter().copied().fold(f64::INFINITY, f64::min).min(self.last())
    }

    fn last(&self) -> f64 {
        self.exits.iter().copied().fold(self.entered, f64::max)
    }
}

impl Schedule {
    /// Simulates the schedule: members enter at `entries` (at 0 where there are fewer), and `hops`
    /// gives the distance between two members. `None` if the schedule never ends.
    #[must_use]
    pub fn price(
        &self,
        costs: &Costs,
        entries: &[f64],
        hops: impl Fn(usize, usize) -> usize,
    ) -> Option<Outcome> {
        let members = self.members();
        let entry = |member: usize| entries.get(member).copied().unwrap_or(0.0);
        let mut time: Vec<f64> = (0..members).map(|member| entry(member) + costs.startup).collect();
        let mut next = vec![0; members];
        let mut sent: BTreeMap<(usize, usize), VecDeque<f64>> = BTreeMap::new();
        let mut ready: VecDeque<usize> = (0..members).collect();
        while let Some(member) = ready.pop_front() {
            while let Some(step) = self.steps(member).get(next[member]) {
                match *step {
                    Step::Send(to) => {
                        time[member] += costs.send;
                        let arrives = time[member] + costs.latency_over(hops(member, to));
                        sent.entry((member, to)).or_default().push_back(arrives);
                        ready.push_back(to);
                    }
                    Step::Receive(from) => {
                        let Some(arrives) = sent.get_mut(&(from, member)).and_then(VecDeque::pop_front)
                        else {
                            break;
                        };
                        time[member] = time[member].max(arrives) + costs.receive;
                    }
                }
                next[member] += 1;
            }
        }
        let ended = (0..members).all(|member| next[member] == self.steps(member).len());
        let entered = (0..members).map(entry).fold(0.0, f64::max);
        ended.then_some(Outcome { exits: time, entered })
    }
}
