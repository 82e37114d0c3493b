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
fn period(nodes: usize, shift: usize, senders: usize) -> f64 {
    const PACKETS: usize = 2000;
    let platform = cm5();
    let cycles = |count: f64| Time::from_seconds(count / platform.cpu.frequency);
    let mut network = network(nodes);
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
    let one_way = period(64, 32, 1);
    assert!((one_way - 62.0).abs() < 0.5, "{one_way}");
    // Figure 7-5: permutations come to 5.3 of 5.93 MB/s, that is 99 of 89 cycles; this one is a
    // cyclic shift by four.
    let two_ways = period(64, 4, 64);
    assert!((89.0..=99.0).contains(&two_ways), "{two_ways}");
}

/// Where every packet crosses the middle, that is the limit: 5 MB/s a node, 105.6 cycles a packet
/// of 16 bytes. Packets that take the ways up which others want least use all of it.
#[test]
fn the_bisection_limits_the_farthest_shift() {
    let across = period(64, 32, 64);
    assert!((105.5..=107.0).contains(&across), "{across}");
}
