//! Hypercubes.
//!
//! A packet first corrects the lowest bit in which it differs from its target (e-cube). No packet
//! continues by a lower bit than it arrived by, so there is no circular wait (Sullivan and Bashkow
//! 1977).

use super::{End, Hop, Shape, TopologyError, Wire};
use crate::platform::Link;

/// A hypercube; node `i` is at switch `i`, and link `bits · i + b` leads to the switch that differs
/// in bit `b`.
#[derive(Debug)]
pub(super) struct Hypercube {
    bits: u32,
    link: Link,
}

impl Hypercube {
    pub(super) fn new(nodes: usize, link: &Link) -> Result<Self, TopologyError> {
        if !nodes.is_power_of_two() {
            let above = nodes.next_power_of_two();
            let topology = "hypercube".to_owned();
            return Err(TopologyError::Count { topology, nodes, below: above / 2, above });
        }
        Ok(Self { bits: nodes.trailing_zeros(), link: *link })
    }
}

impl Shape for Hypercube {
    fn direct(&self) -> bool {
        true
    }

    fn home(&self, node: u32) -> u32 {
        node
    }

    fn wires(&self) -> Vec<Wire> {
        let ways = (0..1u32 << self.bits)
            .flat_map(|switch| (0..self.bits).map(move |bit| (switch, switch ^ 1 << bit)));
        let wire = |(from, to)| Wire {
            from: End::Switch(from),
            to: End::Switch(to),
            bandwidth: self.link.bandwidth,
            latency: self.link.latency,
            lanes: 1,
        };
        ways.map(wire).collect()
    }

    fn next(&self, at: u32, to: u32) -> Option<Hop> {
        (at != to).then(|| Hop { link: at * self.bits + (at ^ to).trailing_zeros(), lane: 0, ways: 1 })
    }

    fn hops(&self, from: u32, to: u32) -> usize {
        (from ^ to).count_ones() as usize
    }

    fn bisection(&self) -> f64 {
        // Every switch has one link into the other half.
        f64::from(1u32 << self.bits) / 2.0 * self.link.bandwidth
    }

    fn name(&self, switch: u32) -> String {
        format!("{switch:0width$b}", width = self.bits.max(1) as usize)
    }
}
