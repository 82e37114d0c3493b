//! How many events a second the network simulates, and how much slower that is than not to simulate
//! a network: the same messages in a plain discrete-event simulation by LogGP (Alexandrov, Ionescu,
//! Schauser, Scheiman 1995), where each is sent, arrives, and meets no other.
//!
//! `cargo bench -p strata-sim --bench network [-- ROUNDS]` prints medians over the rounds, in which
//! all take turns.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use strata_sim::Time;
use strata_sim::network::{Channel, Network, NetworkEvent};
use strata_sim::platform::{Link, SimulatedMachine, Topology};

/// Bytes of data of each packet.
const BYTES: usize = 16;
/// Between two sends of a node where links are not to be shared: a little more than a packet takes.
const PAUSE: Time = Time(40_000);

/// Messages over a machine, in the order in which each node sends them.
struct Case {
    name: &'static str,
    platform: SimulatedMachine,
    targets: Vec<Vec<u32>>,
    /// Time from one send to the next; none: as fast as the network takes them.
    pause: Option<Time>,
}

fn main() {
    let rounds = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(11);
    println!("median of {rounds} rounds, least and most; M = million events a second of processor time\n");
    for case in cases() {
        let messages: usize = case.targets.iter().map(Vec::len).sum();
        let (mut ours, mut plain) = (Vec::new(), Vec::new());
        let mut answers = None;
        let mut events = (0, 0);
        for round in 0..rounds {
            for turn in 0..2 {
                let start = processor_time();
                if (round + turn) % 2 == 0 {
                    let network = simulate(&case);
                    ours.push(processor_time() - start);
                    assert_eq!(*answers.get_or_insert(network.hash()), network.hash(), "runs differ");
                    events.0 = network.steps();
                } else {
                    events.1 = loggp(&case);
                    plain.push(processor_time() - start);
                }
            }
        }
        let (network, loggp) = (Spread::of(&mut ours), Spread::of(&mut plain));
        println!("{}: {messages} messages, {} nodes", case.name, case.targets.len());
        for (name, events, spread) in [("network", events.0, &network), ("LogGP", events.1, &loggp)] {
            println!(
                "  {name:8} {:6.2} M ({:.2} to {:.2}), {:.1} events and {:.0} ns a message",
                events as f64 / spread.median / 1e6,
                events as f64 / spread.most / 1e6,
                events as f64 / spread.least / 1e6,
                events as f64 / messages as f64,
                spread.median / messages as f64 * 1e9,
            );
        }
        println!("  a message takes {:.2} times as long as in LogGP\n", network.median / loggp.median);
    }
}

/// In seconds: other programs on the machine count for less than in the time on the wall.
fn processor_time() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("a process may ask for its own usage");
    (usage.user_time() + usage.system_time()).num_microseconds() as f64 * 1e-6
}

struct Spread {
    least: f64,
    median: f64,
    most: f64,
}

impl Spread {
    fn of(seconds: &mut [f64]) -> Self {
        seconds.sort_by(f64::total_cmp);
        Self { least: seconds[0], median: seconds[seconds.len() / 2], most: seconds[seconds.len() - 1] }
    }
}

fn cases() -> Vec<Case> {
    let mesh = || Topology::Mesh { extents: None, dimensions: 2, wrap: false };
    let fat_tree = Topology::FatTree { arity: 4, parents: vec![2, 2, 4], bandwidths: vec![1e9] };
    let mut random = Random(1);
    let mut some = |nodes: usize, packets: usize| -> Vec<Vec<u32>> {
        (0..nodes).map(|_| (0..packets).map(|_| random.below(nodes as u32)).collect()).collect()
    };
    // A permutation that is no shift: multiplication by a number without common factor.
    let permutation = (0..64).map(|node| vec![(node * 37 + 11) % 64; 4000]).collect();
    let neighbours =
        (0..64u32).map(|node| vec![if node % 8 == 7 { node - 7 } else { node + 1 }; 2000]).collect();
    vec![
        Case {
            name: "crossbar, permutation, links not shared",
            platform: machine(Topology::Crossbar, 4),
            targets: permutation,
            pause: Some(PAUSE),
        },
        Case {
            name: "torus of 8 x 8, to the neighbour, links not shared",
            platform: machine(Topology::Mesh { extents: None, dimensions: 2, wrap: true }, 4),
            targets: neighbours,
            pause: Some(PAUSE),
        },
        Case {
            name: "mesh of 8 x 8, random targets, buffers of 2, saturated",
            platform: machine(mesh(), 2),
            targets: some(64, 2000),
            pause: None,
        },
        Case {
            name: "fat tree, random targets, buffers of 2, saturated",
            platform: machine(fat_tree, 2),
            targets: some(4096, 50),
            pause: None,
        },
    ]
}

fn machine(topology: Topology, queue: usize) -> SimulatedMachine {
    let mut platform = SimulatedMachine::named("cm5").expect("a built-in platform");
    platform.topology = topology;
    platform.link =
        Link { bandwidth: 1e9, latency: Time(1_000), buffer: queue, cut_through: true, networks: 1 };
    platform.interface.send = Time(5_000);
    platform.interface.receive = Time(5_000);
    platform.interface.latency = Time::ZERO;
    platform.interface.send_queue = queue;
    platform.interface.receive_queue = queue;
    platform
}

/// When a node begins: where they all send at a pace, they do so at different times.
fn start(case: &Case, node: usize) -> Time {
    Time(case.pause.map_or(0, |pause| node as u64 * 997 % pause.0))
}

/// All messages through the network; nodes take what arrives at once.
fn simulate(case: &Case) -> Network<[u32; 4]> {
    let nodes = case.targets.len();
    let mut network = Network::new(&case.platform, nodes, 1).expect("a machine that fits");
    let mut sent = vec![0; nodes];
    for node in 0..nodes {
        network.schedule(start(case, node), node);
    }
    while let Some(step) = network.step() {
        let now = network.now();
        match step {
            NetworkEvent::Wake(node) | NetworkEvent::Room { node, .. } => {
                let targets = &case.targets[node];
                let room = |network: &Network<_>| network.has_room(node, Channel(0));
                while sent[node] < targets.len() && room(&network) {
                    let to = targets[sent[node]] as usize;
                    let refused = network.try_send(now, node, to, Channel(0), BYTES, [to as u32; 4]);
                    assert!(refused.is_ok());
                    sent[node] += 1;
                    if let Some(pause) = case.pause {
                        if sent[node] < targets.len() {
                            network.schedule(now + pause, node);
                        }
                        break;
                    }
                }
            }
            NetworkEvent::Arrived { node, channel } => {
                let arrival = network.receive(now, node, channel);
                assert!(arrival.is_some_and(|arrival| arrival.item[3] == node as u32));
            }
            NetworkEvent::Moved => {}
        }
    }
    assert_eq!(network.in_flight(), 0);
    network
}

/// The same messages by LogGP: overheads, latency and time of bytes, a heap of sends and arrivals.
/// Returns the events.
fn loggp(case: &Case) -> u64 {
    let interface = &case.platform.interface;
    let byte = Time((1e12 / case.platform.link.bandwidth) as u64);
    let latency = case.platform.link.latency + case.platform.link.latency;
    let way = latency + byte.times((BYTES + interface.header) as u64);
    let gap = case.pause.unwrap_or(interface.send);
    let mut heap = BinaryHeap::new();
    let mut sequence = 0u64;
    let mut push = |heap: &mut BinaryHeap<_>, time: Time, message: Option<(u32, [u32; 4])>, node: u32| {
        heap.push(Reverse((time, sequence, node, message)));
        sequence += 1;
    };
    let nodes = case.targets.len();
    let mut sent = vec![0; nodes];
    let mut ready = vec![Time::ZERO; nodes];
    for node in 0..nodes {
        push(&mut heap, start(case, node), None, node as u32);
    }
    let (mut events, mut received) = (0, 0);
    while let Some(Reverse((time, _, node, message))) = heap.pop() {
        events += 1;
        let at = node as usize;
        match message {
            Some((_, words)) => {
                assert_eq!(words[3], node);
                ready[at] = ready[at].max(time) + interface.receive;
                received += 1;
            }
            None => {
                let Some(&to) = case.targets[at].get(sent[at]) else { continue };
                sent[at] += 1;
                push(&mut heap, time + interface.send + way, Some((node, [to; 4])), to);
                push(&mut heap, time + gap, None, node);
            }
        }
    }
    assert_eq!(received, sent.iter().sum::<usize>());
    events
}

/// A linear congruential generator (Knuth's MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((self.0 >> 32) * u64::from(bound)) >> 32) as u32
    }
}
