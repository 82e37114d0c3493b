//! Machines and traffic for tests.

use std::collections::VecDeque;
use strata_sim::Time;
use strata_sim::network::{CHANNELS, Channel, Network, NetworkEvent};
use strata_sim::platform::{Link, SimulatedMachine, Topology};

pub(crate) const GB: f64 = 1e9;

/// Links of 1 GB/s (1000 ps a byte) and 100 ps, all queues of two packets, headers of 4 bytes.
pub(crate) fn machine(topology: Topology) -> SimulatedMachine {
    let mut platform = SimulatedMachine::named("cm5").expect("a built-in platform");
    platform.topology = topology;
    platform.link = Link { bandwidth: GB, latency: Time(100), buffer: 2, cut_through: true, networks: 1 };
    platform.interface.header = 4;
    platform.interface.latency = Time::ZERO;
    platform.interface.send_queue = 2;
    platform.interface.receive_queue = 2;
    platform
}

/// A machine whose queues have room for `send`, `buffer` and `receive` packets.
pub(crate) fn with_queues(
    topology: Topology,
    send: usize,
    buffer: usize,
    receive: usize,
) -> SimulatedMachine {
    let mut platform = machine(topology);
    platform.interface.send_queue = send;
    platform.interface.receive_queue = receive;
    platform.link.buffer = buffer;
    platform
}

pub(crate) fn grid(extents: &[usize], wrap: bool) -> Topology {
    Topology::Mesh { extents: Some(extents.to_vec()), dimensions: extents.len(), wrap }
}

pub(crate) fn squarest(dimensions: usize, wrap: bool) -> Topology {
    Topology::Mesh { extents: None, dimensions, wrap }
}

pub(crate) fn fat_tree(arity: usize, parents: &[usize]) -> Topology {
    Topology::FatTree { arity, parents: parents.to_vec(), bandwidths: vec![GB] }
}

pub(crate) fn dragonfly(nodes: usize, switches: usize, global: usize) -> Topology {
    let (global_bandwidth, global_latency) = (2.0 * GB, Time(500));
    Topology::Dragonfly { nodes, switches, global, global_bandwidth, global_latency }
}

/// One of each kind, and whether a packet's path is given by its ends.
pub(crate) fn topologies() -> Vec<(Topology, bool)> {
    vec![
        (Topology::Crossbar, true),
        (Topology::Switch { backplane: 3.0 * GB }, true),
        (Topology::Bus, true),
        (fat_tree(4, &[2, 2, 4]), false),
        (fat_tree(2, &[1]), true),
        (fat_tree(3, &[3, 1, 2]), false),
        (squarest(2, false), true),
        (squarest(3, false), true),
        (squarest(2, true), true),
        (squarest(3, true), true),
        (grid(&[8, 9], true), true),
        (Topology::Hypercube, true),
        (dragonfly(2, 4, 2), true),
        (dragonfly(1, 8, 1), true),
    ]
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(crate) to: usize,
    pub(crate) channel: Channel,
    pub(crate) bytes: usize,
}

/// A packet that was received: `number` among those of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) time: Time,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) channel: Channel,
    pub(crate) number: usize,
}

/// Sends each node's messages in their order, each as soon as there is room, and takes every packet
/// `delay` after its arrival.
///
/// # Panics
/// Where time goes back, packets get lost or come out of nothing, or everything stands still with
/// packets under way.
pub(crate) fn run(network: &mut Network<usize>, plan: &[Vec<Message>], delay: Time) -> Vec<Received> {
    let mut plan: Vec<VecDeque<_>> =
        plan.iter().map(|messages| messages.iter().copied().enumerate().collect()).collect();
    let mut sent = 0;
    let mut log = Vec::new();
    for (node, plan) in plan.iter_mut().enumerate() {
        sent += send(network, plan, node);
    }
    let mut last = network.now();
    while let Some(step) = network.step() {
        let now = network.now();
        assert!(now >= last, "{now} after {last}");
        last = now;
        match step {
            NetworkEvent::Room { node, channel } => {
                assert!(network.has_room(node, channel));
                sent += send(network, &mut plan[node], node);
            }
            NetworkEvent::Arrived { node, channel } if delay == Time::ZERO => {
                log.push(take(network, node, channel).expect("it has arrived"));
            }
            NetworkEvent::Arrived { node, .. } => network.schedule(now + delay, node),
            NetworkEvent::Wake(node) => {
                let mut channels = (0..CHANNELS as u8).map(Channel);
                log.push(
                    channels.find_map(|channel| take(network, node, channel)).expect("one arrived before"),
                );
            }
            NetworkEvent::Moved => {}
        }
        assert_eq!(network.in_flight(), sent - log.len());
    }
    assert_eq!(network.in_flight(), 0, "deadlock");
    assert!(plan.iter().all(VecDeque::is_empty), "messages left to send");
    assert_eq!((0..plan.len()).map(|node| network.waiting_for(node)).sum::<usize>(), 0);
    log
}

fn send(network: &mut Network<usize>, plan: &mut VecDeque<(usize, Message)>, node: usize) -> usize {
    let mut sent = 0;
    while let Some(&(number, Message { to, channel, bytes })) = plan.front() {
        let had_room = network.has_room(node, channel);
        let outcome = network.try_send(network.now(), node, to, channel, bytes, number);
        assert_eq!(outcome.is_ok(), had_room);
        if outcome.is_err() {
            break;
        }
        sent += 1;
        plan.pop_front();
    }
    sent
}

fn take(network: &mut Network<usize>, node: usize, channel: Channel) -> Option<Received> {
    let time = network.now();
    let arrival = network.receive(time, node, channel)?;
    assert!(arrival.sent <= time);
    Some(Received { time, from: arrival.from, to: node, channel, number: arrival.item })
}
