//! The queues and links of an empty network.

use super::CHANNELS;
use super::fifo::{Fifo, NONE};
use super::link::{Class, Link, Rate};
use crate::Time;
use crate::platform::SimulatedMachine;
use crate::topology::{End, Graph, TopologyError};

/// The most queues and packets that events can name.
const MOST: usize = 1 << 30;

/// Queues for each channel: the nodes' receive queues, the nodes' send queues, then the links',
/// lane by lane. Each channel's are consecutive because most programs use few channels.
///
/// # Errors
/// [`TopologyError`] if a queue has no room, or there are too many of them.
pub(super) fn fifos(platform: &SimulatedMachine, graph: &Graph) -> Result<Vec<Fifo>, TopologyError> {
    let places = |name, places: usize| match u32::try_from(places).unwrap_or(u32::MAX) {
        0 => Err(TopologyError::Parameter { name, value: "0".to_owned(), needs: "at least 1 packet" }),
        places => Ok(places),
    };
    let send = places("interface.send_queue", platform.interface.send_queue)?;
    let receive = places("interface.receive_queue", platform.interface.receive_queue)?;
    let buffer = places("link.buffer", platform.link.buffer)?;
    if !(1..=2).contains(&platform.link.networks) {
        let value = platform.link.networks.to_string();
        return Err(TopologyError::Parameter { name: "link.networks", value, needs: "1 or 2" });
    }
    let nodes = graph.nodes();
    let inner = graph.wires().iter().filter(|wire| matches!(wire.to, End::Switch(_)));
    let inner: usize = inner.map(|wire| wire.lanes as usize).sum();
    let queues = (2 * nodes + inner) * CHANNELS;
    if queues > MOST {
        let topology = "network".to_owned();
        return Err(TopologyError::TooLarge { topology, nodes, what: "queues", most: MOST });
    }
    let mut fifos = Vec::with_capacity(queues);
    for _ in 0..CHANNELS {
        fifos.extend((0..nodes).map(|_| Fifo::new(receive, NONE)));
        fifos.extend((0..nodes).map(|_| Fifo::new(send, NONE)));
        for wire in graph.wires() {
            if let End::Switch(at) = wire.to {
                fifos.extend((0..wire.lanes).map(|_| Fifo::new(buffer, at)));
            }
        }
    }
    Ok(fifos)
}

/// The graph's links, of one network after the other, then each node's loop, by which it sends to
/// itself; and the properties that many of them share.
pub(super) fn links(platform: &SimulatedMachine, graph: &Graph) -> (Vec<Link>, Vec<Class>) {
    let mut classes = Vec::new();
    let mut link = |bandwidth, latency, delivers, first_fifo| {
        let class = Class { rate: Rate::new(bandwidth), latency, delivers };
        let known = classes.iter().position(|known| *known == class);
        let number = known.unwrap_or_else(|| {
            classes.push(class);
            classes.len() - 1
        });
        Link::new(number as u32, first_fifo)
    };
    let nodes = graph.nodes() as u32;
    let mut links = Vec::with_capacity(platform.link.networks * graph.wires().len() + graph.nodes());
    // The queues at a link's far end are those of the channels, whichever network is theirs.
    for _ in 0..platform.link.networks {
        let mut next = 2 * nodes;
        for wire in graph.wires() {
            let (first, delivers) = match wire.to {
                End::Node(node) => (node, true),
                End::Nodes => (0, true),
                End::Switch(_) => (next, false),
            };
            links.push(link(wire.bandwidth, wire.latency, delivers, first));
            if !delivers {
                next += wire.lanes;
            }
        }
    }
    links.extend((0..nodes).map(|node| link(platform.link.bandwidth, Time::ZERO, true, node)));
    (links, classes)
}
