//! Crossbar and switch: every node is connected to one centre.

use super::error::bandwidth;
use super::{End, Hop, Shape, TopologyError, Wire};
use crate::Time;

/// The switch that nodes send to.
const INTO: u32 = 0;
/// The switch that nodes receive from, behind the backplane.
const OUT: u32 = 1;

/// A centre. With a backplane, all packets pass through it, and wait behind it for their targets'
/// links in a separate queue for each target.
#[derive(Debug)]
pub(super) struct Star {
    nodes: u32,
    backplane: Option<f64>,
}

impl Star {
    pub(super) fn crossbar(nodes: usize) -> Self {
        Self { nodes: nodes as u32, backplane: None }
    }

    pub(super) fn switch(nodes: usize, backplane: f64) -> Result<Self, TopologyError> {
        Ok(Self { nodes: nodes as u32, backplane: Some(bandwidth("topology.backplane", backplane)?) })
    }
}

impl Shape for Star {
    fn home(&self, _: u32) -> u32 {
        INTO
    }

    fn exit(&self, _: u32) -> u32 {
        if self.backplane.is_some() { OUT } else { INTO }
    }

    /// The backplane adds no latency: a switch with unlimited bandwidth is a crossbar.
    fn wires(&self) -> Vec<Wire> {
        let wire = self.backplane.map(|bandwidth| Wire {
            from: End::Switch(INTO),
            to: End::Switch(OUT),
            bandwidth,
            latency: Time::ZERO,
            lanes: self.nodes,
        });
        wire.into_iter().collect()
    }

    fn next(&self, at: u32, to: u32) -> Option<Hop> {
        (at != self.exit(to)).then_some(Hop { link: 0, lane: to, ways: 1 })
    }

    fn hops(&self, _: u32, _: u32) -> usize {
        0
    }

    fn bisection(&self) -> f64 {
        self.backplane.unwrap_or(f64::INFINITY)
    }

    fn name(&self, switch: u32) -> String {
        let name = match (self.backplane, switch) {
            (None, _) => "crossbar",
            (_, INTO) => "backplane's entry",
            _ => "backplane's exit",
        };
        name.to_owned()
    }
}
