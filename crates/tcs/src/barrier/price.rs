//! Predicts the time of a schedule by carrying out its steps with times in place of messages.

use super::Schedule;
use serde::{Deserialize, Serialize};

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
    /// gives the distance between two members. `None` if the schedule never ends, or leaves a message.
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
        let ended = self.carry_out(|member, with, came: Option<f64>| match came {
            Some(arrives) => {
                time[member] = time[member].max(arrives) + costs.receive;
                None
            }
            None => {
                time[member] += costs.send;
                Some(time[member] + costs.latency_over(hops(member, with)))
            }
        });
        let entered = (0..members).map(entry).fold(0.0, f64::max);
        ended.is_ok().then_some(Outcome { exits: time, entered })
    }
}
