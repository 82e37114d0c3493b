//! Hosts of several nodes around a network that connects the hosts.

use super::error::{at_least, bandwidth};
use super::{End, Hop, Shape, TopologyError, Wire};
use crate::Time;
use crate::platform::{Host, Link};

/// Hosts. Node `i` is on host `i / nodes`, which is a switch: to the host's other nodes, and to the
/// network between hosts by a link each way. No route passes a host on its way, so there is no
/// circular wait besides those that the network between hosts avoids.
///
/// The hosts' switches come first, then those of the network; its links come first, then those from
/// the hosts and those to the hosts.
#[derive(Debug)]
pub(super) struct Hosts {
    /// Nodes of a host.
    nodes: u32,
    hosts: u32,
    network: Box<dyn Shape>,
    /// The number of its links.
    wires: u32,
    /// A link between a host and the network.
    between: Wire,
}

impl Hosts {
    /// `network` connects the hosts of `nodes` nodes; it is not a bus.
    pub(super) fn new(
        nodes: usize,
        host: &Host,
        network: Option<Box<dyn Shape>>,
        link: &Link,
    ) -> Result<Self, TopologyError> {
        at_least(1, "host.nodes", host.nodes, "at least 1 on each host")?;
        bandwidth("host.bandwidth", host.bandwidth)?;
        let Some(network) = network else {
            let (name, value) = ("topology.kind", "bus".to_owned());
            return Err(TopologyError::Parameter { name, value, needs: "no bus where there is `[host]`" });
        };
        let latency = if network.direct() { Time::ZERO } else { link.latency };
        let (from, to) = (End::Nodes, End::Nodes);
        Ok(Self {
            // More nodes than exist make no difference.
            nodes: host.nodes.min(nodes) as u32,
            hosts: nodes.div_ceil(host.nodes) as u32,
            wires: network.wires().len() as u32,
            network,
            between: Wire { from, to, bandwidth: link.bandwidth, latency, lanes: 1 },
        })
    }

    /// An end of one of the network's links.
    fn shifted(&self, end: End) -> End {
        match end {
            End::Switch(switch) => End::Switch(self.hosts + switch),
            other => other,
        }
    }
}

impl Shape for Hosts {
    fn home(&self, node: u32) -> u32 {
        node / self.nodes
    }

    fn wires(&self) -> Vec<Wire> {
        let inner = self.network.wires().into_iter();
        let inner =
            inner.map(|wire| Wire { from: self.shifted(wire.from), to: self.shifted(wire.to), ..wire });
        let host = End::Switch;
        let out = |at| Wire { from: host(at), to: host(self.hosts + self.network.home(at)), ..self.between };
        let into = |at| Wire { from: host(self.hosts + self.network.exit(at)), to: host(at), ..self.between };
        inner.chain((0..self.hosts).map(out)).chain((0..self.hosts).map(into)).collect()
    }

    fn next(&self, at: u32, to: u32) -> Option<Hop> {
        let target = self.home(to);
        if at == target {
            return None;
        }
        let one = |link| Hop { link, lane: 0, ways: 1 };
        match at.checked_sub(self.hosts) {
            None => Some(one(self.wires + at)),
            Some(switch) => {
                let hop = self.network.next(switch, target);
                Some(hop.unwrap_or_else(|| one(self.wires + self.hosts + target)))
            }
        }
    }

    fn hops(&self, from: u32, to: u32) -> usize {
        let (from, to) = (self.home(from), self.home(to));
        match from == to {
            true => 0,
            false => self.network.hops(from, to) + if self.network.direct() { 0 } else { 2 },
        }
    }

    fn bisection(&self) -> f64 {
        match self.hosts {
            1 => f64::INFINITY,
            hosts => self.network.bisection().min(f64::from(hosts / 2) * self.between.bandwidth),
        }
    }

    fn name(&self, switch: u32) -> String {
        match switch.checked_sub(self.hosts) {
            None => format!("host {switch}"),
            Some(switch) => self.network.name(switch),
        }
    }
}
