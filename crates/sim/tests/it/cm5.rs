//! The CM-5's platform file, simulated: what Brewer 1994 says of its network.

use strata_sim::Time;
use strata_sim::network::{Channel, Network, NetworkEvent};
use strata_sim::platform::SimulatedMachine;

/// The two networks, which packets of blocks take in turn.
const NETWORKS: [Channel; 2] = [Channel(0), Channel(1)];

fn cm5() -> SimulatedMachine {
    SimulatedMachine::named("cm5").expect("the CM-5 is built in")
}

fn network(nodes: usize) -> Network<()> {
    Network::new(&cm5(), nodes, 1).expect("the nodes fit")
}

/// Packets that a node has got rid of, on average, when nobody receives: a cyclic shift by so many
/// nodes.
fn capacity(nodes: usize, shift: usize) -> f64 {
    let mut network = network(nodes);
    let mut sent = 0;
    loop {
        let before = sent;
        for (node, by) in (0..nodes).flat_map(|node| NETWORKS.map(|by| (node, by))) {
            while network.try_send(network.now(), node, (node + shift) % nodes, by, 16, ()).is_ok() {
                sent += 1;
            }
        }
        while network.step().is_some() {}
        if sent == before {
            return sent as f64 / nodes as f64;
        }
    }
}

/// Figure 7-2: about ten packets a node, slightly more where the tree has one level more.
#[test]
fn the_network_holds_about_ten_packets_a_node() {
    let of = |nodes: usize| capacity(nodes, nodes / 2);
    for nodes in [4, 16, 64, 256] {
        assert!((6.0..=13.0).contains(&of(nodes)), "{nodes}: {}", of(nodes));
    }
    assert!(of(32) > of(16) && of(128) > of(64), "{:?}", [16, 32, 64, 128].map(of));
}

/// Cycles from packet to packet in the long run where each node of `senders` sends to the one
/// `shift` further, and polls once, one network, for each packet: sending takes 27 cycles, a poll
/// that finds a packet 62, and one that does not 10.
fn period(platform: SimulatedMachine, nodes: usize, shift: usize, senders: usize) -> f64 {
    const PACKETS: usize = 2000;
    let cycles = |count: f64| Time::from_seconds(count / platform.cpu.frequency);
    let mut network = Network::new(&platform, nodes, 1).expect("the nodes fit");
    for node in 0..nodes {
        network.schedule(Time::ZERO, node);
    }
    let mut sends = true;
    let mut got = vec![0; nodes];
    let (mut first, mut last) = (Time::ZERO, Time::ZERO);
    let receiver = shift;
    let mut injected = vec![false; nodes];
    // By which network each sends next, and looks next.
    let (mut sending, mut looking) = (vec![0; nodes], vec![0; nodes]);
    while sends {
        let Some(step) = network.step() else { break };
        let NetworkEvent::Wake(node) = step else { continue };
        let now = network.now();
        // Sending and polling take turns.
        if node < senders && !injected[node] {
            let to = (node + shift) % nodes;
            if network.try_send(now, node, to, NETWORKS[sending[node]], 16, ()).is_ok() {
                network.schedule(now + cycles(27.0), node);
                injected[node] = true;
                sending[node] = 1 - sending[node];
                continue;
            }
        }
        injected[node] = false;
        let found = network.receive(now, node, NETWORKS[looking[node]]).is_some();
        looking[node] = 1 - looking[node];
        network.schedule(now + cycles(if found { 62.0 } else { 10.0 }), node);
        if found && node == receiver {
            got[node] += 1;
            // Not before the network has filled.
            match got[node] {
                500 => first = now,
                PACKETS => sends = false,
                _ => {}
            }
            last = now;
        }
    }
    (last - first).seconds() * platform.cpu.frequency / (PACKETS - 500) as f64
}

/// Equations 47 and 48: the processors are the limit, 62 cycles a packet one way and 89 both ways,
/// not queues or links.
#[test]
fn processors_limit_transfers() {
    let one_way = period(cm5(), 64, 32, 1);
    assert!((one_way - 62.0).abs() < 0.5, "{one_way}");
    // Figure 7-5: permutations come to 5.3 of 5.93 MB/s, that is 99 of 89 cycles; this one is a
    // cyclic shift by four.
    let two_ways = period(cm5(), 64, 4, 64);
    assert!((89.0..=99.0).contains(&two_ways), "{two_ways}");
}

/// Section 7.1: "the bisection bandwidth is rarely an issue". Where every packet crosses the
/// middle, each of the two networks carries 5 MB/s a node, headers included: 66 cycles a packet of
/// 20 bytes that takes the processors 89. One network alone would be the limit: 132 cycles.
#[test]
fn two_networks_carry_the_farthest_shift() {
    let across = period(cm5(), 64, 32, 64);
    // Section 7.3.3: 5.33 MB/s, 99 cycles, on average over all shifts.
    assert!((89.0..=99.0).contains(&across), "{across}");
    let mut one = cm5();
    one.link.networks = 1;
    let across = period(one, 64, 32, 64);
    assert!((131.9..=134.0).contains(&across), "{across}");
}

/// The networks share no link: packets of one do not wait for those of the other.
#[test]
fn the_networks_are_separate() {
    let arrivals = |channels: [u8; 2]| {
        let mut network = network(64);
        for channel in channels {
            network.try_send(Time::ZERO, 0, 32, Channel(channel), 16, ()).expect("there is room");
        }
        let mut times = Vec::new();
        while let Some(event) = network.step() {
            if matches!(event, NetworkEvent::Arrived { .. }) {
                times.push(network.now());
            }
        }
        times
    };
    let apart = arrivals([0, 1]);
    assert_eq!(apart[0], apart[1]);
    // Messages and blocks of one network have queues of their own and share its links.
    let together = arrivals([0, 2]);
    assert!((together[1] - together[0]).seconds() * 33e6 > 32.9, "{together:?}");
}

/// A packet keeps its place until it has been read.
#[test]
fn places_are_free_when_packets_have_been_read() {
    let mut network = network(4);
    let reading = Time(1_000_000);
    let mut sent = 0;
    loop {
        while network.try_send(network.now(), 0, 1, Channel(0), 16, ()).is_ok() {
            sent += 1;
        }
        if network.step().is_none() {
            break;
        }
    }
    let (start, before) = (network.now(), network.in_flight());
    assert_eq!(before, sent);
    assert!(
        network.receive_during(start, 1, Channel(0), |bytes| Time(reading.0 * bytes as u64 / 16)).is_some()
    );
    assert_eq!(network.next(), Some(start + reading), "nothing moves until then");
    while network.step().is_some() {}
    assert!(network.has_room(0, Channel(0)), "all have moved up");
}
