//! Connections of nodes, switches and links, and the routing of packets.
//!
//! A [`Graph`] is built from a platform for a number of nodes. Routes are computed step by step
//! from a packet's position and target: there are no tables over pairs of nodes. Every topology is
//! free of deadlock as long as nodes receive arrived packets: where links form a ring, the queues
//! at their far ends are split into lanes that every route visits in ascending order (Dally and
//! Seitz, *Deadlock-Free Message Routing in Multiprocessor Interconnection Networks*, 1987).
//!
//! Every node has a link into the network and one out of it. In meshes, tori and hypercubes a node
//! has its own switch, and these two links have no latency.

mod dragonfly;
mod error;
mod fat_tree;
mod grid;
mod hosts;
mod hypercube;
mod star;

pub use error::TopologyError;

use crate::Time;
use crate::platform::{Link, SimulatedMachine, Topology};
use dragonfly::Dragonfly;
use error::bandwidth;
use fat_tree::FatTree;
use grid::Grid;
use hosts::Hosts;
use hypercube::Hypercube;
use star::Star;
use std::fmt;

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A node.
    Node(u32),
    /// A switch.
    Switch(u32),
    /// All nodes: a bus.
    Nodes,
}

/// A link, in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wire {
    /// Its start.
    pub from: End,
    /// Its end.
    pub to: End,
    /// Bytes a second.
    pub bandwidth: f64,
    /// Latency of a packet's first byte.
    pub latency: Time,
    /// Queues at its far end, for each channel.
    pub(crate) lanes: u32,
}

/// A packet's next hop: a link, and one of the queues at its far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    pub(crate) link: u32,
    pub(crate) lane: u32,
    /// The number of equivalent links, this one and those after it, of which one is chosen.
    pub(crate) ways: u32,
}

/// The switches and links of a machine.
///
/// Node `i` sends on link `i` and receives on link `nodes + i`, except on a bus, which is one link.
#[derive(Debug)]
pub struct Graph {
    nodes: u32,
    wires: Vec<Wire>,
    /// The part between the nodes' own links; `None` on a bus.
    shape: Option<Box<dyn Shape>>,
}

/// The part between the nodes' own links. Links are numbered from 0 in the order of `wires`.
trait Shape: fmt::Debug + Send + Sync {
    /// True if each node has its own switch, which it reaches without latency.
    fn direct(&self) -> bool {
        false
    }
    /// The switch that a node sends to.
    fn home(&self, node: u32) -> u32;
    /// The switch that a node receives from.
    fn exit(&self, node: u32) -> u32 {
        self.home(node)
    }
    /// The links between switches.
    fn wires(&self) -> Vec<Wire>;
    /// The next hop of a packet from the switch `at` to the node `to`; `None` at the node's switch.
    fn next(&self, at: u32, to: u32) -> Option<Hop>;
    /// The number of links with latency on a shortest path between two nodes' switches.
    fn hops(&self, from: u32, to: u32) -> usize;
    /// Bytes a second from one half of the switches to the other.
    fn bisection(&self) -> f64;
    /// A switch's name for people.
    fn name(&self, switch: u32) -> String;
}

/// The most nodes, and the most links between switches.
const MOST_NODES: usize = 1 << 20;
const MOST_LINKS: usize = 1 << 22;

impl Graph {
    /// The network of `platform` for this many nodes: 1 to 2²⁰.
    ///
    /// # Errors
    /// [`TopologyError`] if the nodes do not fit (it says how many do), or the platform's topology
    /// or link is impossible.
    pub fn new(platform: &SimulatedMachine, nodes: usize) -> Result<Self, TopologyError> {
        if nodes == 0 {
            return Err(TopologyError::NoNodes);
        }
        if nodes > MOST_NODES {
            return Err(TopologyError::TooMany {
                topology: "simulation".to_owned(),
                nodes,
                most: MOST_NODES,
            });
        }
        let link = &platform.link;
        bandwidth("link.bandwidth", link.bandwidth)?;
        let all = nodes;
        // With hosts the topology connects these.
        let nodes = platform.hosts(nodes);
        let shape: Option<Box<dyn Shape>> = match &platform.topology {
            Topology::Bus => None,
            Topology::Crossbar => Some(Box::new(Star::crossbar(nodes))),
            Topology::Switch { backplane } => Some(Box::new(Star::switch(nodes, *backplane)?)),
            Topology::FatTree { arity, parents, bandwidths } => {
                Some(Box::new(FatTree::new(nodes, *arity, parents, bandwidths, link)?))
            }
            Topology::Mesh { extents, dimensions, wrap } => {
                Some(Box::new(Grid::new(nodes, extents.as_deref(), *dimensions, *wrap, link)?))
            }
            Topology::Hypercube => Some(Box::new(Hypercube::new(nodes, link)?)),
            Topology::Dragonfly { nodes: at_switch, switches, global, global_bandwidth, global_latency } => {
                let group = dragonfly::Group { nodes: *at_switch, switches: *switches, global: *global };
                Some(Box::new(Dragonfly::new(nodes, group, link, *global_bandwidth, *global_latency)?))
            }
        };
        let nodes = all as u32;
        let shape: Option<Box<dyn Shape>> = match platform.host {
            Some(host) => Some(Box::new(Hosts::new(all, &host, shape, link)?)),
            None => shape,
        };
        let Link { bandwidth, latency, .. } = *link;
        let (bandwidth, latency) =
            platform.host.map_or((bandwidth, latency), |host| (host.bandwidth, host.latency));
        let wire = |from, to, latency, lanes| Wire { from, to, bandwidth, latency, lanes };
        let wires = match &shape {
            None => vec![wire(End::Nodes, End::Nodes, latency, nodes)],
            Some(shape) => {
                let latency = if shape.direct() { Time::ZERO } else { latency };
                let into = |node| wire(End::Node(node), End::Switch(shape.home(node)), latency, 1);
                let out = |node| wire(End::Switch(shape.exit(node)), End::Node(node), latency, 1);
                (0..nodes).map(into).chain((0..nodes).map(out)).chain(shape.wires()).collect()
            }
        };
        Ok(Self { nodes, wires, shape })
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes as usize
    }

    /// All links, by their numbers.
    #[must_use]
    pub fn wires(&self) -> &[Wire] {
        &self.wires
    }

    /// Links with latency on a shortest path from one node to another: in a mesh the steps between
    /// switches, and without a switch's backplane. 0 from a node to itself.
    ///
    /// # Panics
    /// If there is no such node.
    #[must_use]
    pub fn hops(&self, from: usize, to: usize) -> usize {
        assert!(from.max(to) < self.nodes(), "nodes {from} and {to} of {}", self.nodes);
        match &self.shape {
            _ if from == to => 0,
            None => 1,
            Some(shape) => shape.hops(from as u32, to as u32) + if shape.direct() { 0 } else { 2 },
        }
    }

    /// The links that every packet from one node to another passes, by their numbers: those of which
    /// no equivalent link can be chosen instead.
    ///
    /// # Panics
    /// If there is no such node.
    #[must_use]
    pub fn certain_links(&self, from: usize, to: usize) -> Vec<usize> {
        assert!(from.max(to) < self.nodes(), "nodes {from} and {to} of {}", self.nodes);
        let mut hop = self.first(from as u32, to as u32);
        let mut links = Vec::new();
        loop {
            if hop.ways == 1 {
                links.push(hop.link as usize);
            }
            match self.wires[hop.link as usize].to {
                End::Switch(at) => hop = self.next(at, to as u32),
                End::Node(_) | End::Nodes => return links,
            }
        }
    }

    /// The most hops between two nodes. Visits all pairs.
    #[must_use]
    pub fn diameter(&self) -> usize {
        let pairs = (0..self.nodes()).flat_map(|from| (0..self.nodes()).map(move |to| (from, to)));
        pairs.map(|(from, to)| self.hops(from, to)).max().unwrap_or(0)
    }

    /// Bandwidth from one half of the machine to the other in one direction, in bytes a second:
    /// over the cut with the least bandwidth, and at most what half of the nodes can send. If the
    /// halves are unequal, the smaller one counts; switches without nodes count like others.
    #[must_use]
    pub fn bisection(&self) -> f64 {
        let one = self.wires.first().map_or(0.0, |wire| wire.bandwidth);
        match &self.shape {
            None => one,
            Some(shape) => shape.bisection().min(f64::from(self.nodes / 2) * one),
        }
    }

    /// A link's name for people; empty if there is none.
    #[must_use]
    pub fn name(&self, link: usize) -> String {
        let place = |place| match (place, &self.shape) {
            (End::Node(node), _) => format!("node {node}"),
            (End::Switch(at), Some(shape)) => shape.name(at),
            _ => "nodes".to_owned(),
        };
        match self.wires.get(link) {
            Some(Wire { from: End::Nodes, .. }) => "bus".to_owned(),
            Some(wire) => format!("{} -> {}", place(wire.from), place(wire.to)),
            None => String::new(),
        }
    }

    /// A packet's first hop from its node.
    pub(crate) fn first(&self, from: u32, to: u32) -> Hop {
        match self.shape {
            None => Hop { link: 0, lane: to, ways: 1 },
            Some(_) => Hop { link: from, lane: 0, ways: 1 },
        }
    }

    /// A packet's hop from the switch `at`.
    pub(crate) fn next(&self, at: u32, to: u32) -> Hop {
        match self.shape.as_ref().and_then(|shape| shape.next(at, to)) {
            Some(hop) => Hop { link: 2 * self.nodes + hop.link, ..hop },
            None => Hop { link: self.nodes + to, lane: 0, ways: 1 },
        }
    }
}

#[cfg(test)]
mod tests;
