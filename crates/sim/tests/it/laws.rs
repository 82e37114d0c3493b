//! What holds in every network.

use crate::common;
use crate::common::{Message, Received, fat_tree, run, topologies, with_queues};
use proptest::prelude::*;
use std::collections::BTreeMap;
use strata_sim::Time;
use strata_sim::network::{CHANNELS, Channel, Network};
use strata_sim::platform::Topology;

const COUNTS: [usize; 7] = [1, 2, 3, 5, 8, 27, 64];

/// Traffic without a pattern.
fn anything(nodes: usize, packets: usize, seed: u64) -> Vec<Vec<Message>> {
    let mut state = seed;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut message = || Message {
        to: draw(nodes),
        channel: Channel(draw(CHANNELS) as u8),
        bytes: [0, 1, 16, 32][draw(4)],
    };
    (0..nodes).map(|_| (0..packets).map(|_| message()).collect()).collect()
}

/// Every message once; those from one node to another on one channel in their order, where there is
/// one path only.
fn check(plan: &[Vec<Message>], log: &[Received], in_order: bool) {
    let mut seen: Vec<_> = plan.iter().map(|messages| vec![false; messages.len()]).collect();
    let mut last = BTreeMap::new();
    for &Received { from, to, channel, number, .. } in log {
        assert!(!seen[from][number], "message {number} of node {from} twice");
        seen[from][number] = true;
        let message = plan[from][number];
        assert_eq!((message.to, message.channel), (to, channel));
        let before = last.insert((from, to, channel), number);
        assert!(
            !in_order || before.is_none_or(|before| before < number),
            "{before:?} before {number} of node {from}"
        );
    }
    assert!(seen.iter().flatten().all(|&seen| seen));
}

#[test]
fn nothing_locks_up_at_saturation() {
    for (topology, in_order) in topologies() {
        for nodes in COUNTS {
            // The smallest queues, and receivers that are slower than the network.
            let platform = with_queues(topology.clone(), 1, 1, 1);
            let Ok(mut network) = Network::new(&platform, nodes, 3) else {
                assert!(topology == Topology::Hypercube && !nodes.is_power_of_two(), "{topology:?} {nodes}");
                continue;
            };
            let plan = anything(nodes, 60, 11);
            let log = run(&mut network, &plan, Time(if nodes == 27 { 100_000 } else { 0 }));
            check(&plan, &log, in_order);
        }
    }
}

/// Its bytes once, and the latency of each hop: of all links 100 ps, of a dragonfly's global ones
/// 500.
#[test]
fn alone_a_packet_takes_its_bytes_and_its_hops() {
    for (topology, _) in topologies() {
        for nodes in [2, 5, 8, 64] {
            let platform = with_queues(topology.clone(), 1, 1, 1);
            let Ok(mut network) = Network::new(&platform, nodes, 3) else { continue };
            for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
                let start = network.now();
                network.try_send(start, from, to, Channel(3), 32, 0).unwrap();
                while network.step().is_some() {}
                network.receive(network.now(), to, Channel(3)).unwrap();
                let hops = network.graph().hops(from, to) as u64;
                let took = network.now() - start;
                let expected = Time(36_000 + 100 * hops);
                let across = matches!(topology, Topology::Dragonfly { .. }) && took == expected + Time(400);
                assert!(
                    took == expected || across,
                    "{topology:?} {nodes}: {from} to {to} in {took}, not {expected}"
                );
            }
        }
    }
}

/// Everyone sends as far as can be round a ring, the traffic that locks up a torus without lanes.
#[test]
fn rings_do_not_lock_up() {
    for extents in [[3, 1], [4, 1], [5, 5], [8, 4]] {
        let nodes = extents[0] * extents[1];
        let platform = with_queues(common::grid(&extents, true), 1, 1, 1);
        for shift in 1..nodes {
            let plan: Vec<_> = (0..nodes)
                .map(|node| vec![Message { to: (node + shift) % nodes, channel: Channel(0), bytes: 32 }; 20])
                .collect();
            let mut network = Network::new(&platform, nodes, 3).unwrap();
            check(&plan, &run(&mut network, &plan, Time::ZERO), true);
        }
    }
}

#[test]
fn seeds_change_the_ways_up_a_fat_tree_and_nothing_else() {
    let hash = |topology: &Topology, nodes, seed| {
        let mut network = Network::new(&with_queues(topology.clone(), 2, 2, 2), nodes, seed).unwrap();
        run(&mut network, &anything(nodes, 20, 5), Time::ZERO);
        (network.hash(), network.steps())
    };
    for (topology, _) in topologies() {
        let chance = matches!(&topology, Topology::FatTree { parents, .. } if parents != &[1]);
        assert_eq!(hash(&topology, 64, 1), hash(&topology, 64, 1), "{topology:?}");
        assert_eq!(hash(&topology, 64, 1) == hash(&topology, 64, 2), !chance, "{topology:?}");
    }
}

/// As computed on x86-64: results are to be equal on every host and in every build.
#[test]
fn the_hash_of_a_run_is_known() {
    let mut network = Network::new(&with_queues(fat_tree(4, &[2, 2, 4]), 2, 2, 2), 30, 7).unwrap();
    let log = run(&mut network, &anything(30, 20, 5), Time(777));
    let last = log.last().unwrap().time;
    assert_eq!((network.steps(), last, network.hash()), (6208, Time(741_377), 8_409_713_840_921_084_059));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_packet_arrives_once_and_in_order(
        kind in 0..topologies().len(),
        nodes in 1..40usize,
        queues in (1..4usize, 1..4usize, 1..4usize),
        cut_through: bool,
        delay in prop_oneof![Just(0), 1..200_000u64],
        packets in 0..40usize,
        seed: u64,
    ) {
        let (topology, in_order) = topologies().swap_remove(kind);
        let nodes = if topology == Topology::Hypercube { nodes.next_power_of_two() } else { nodes };
        let mut platform = with_queues(topology, queues.0, queues.1, queues.2);
        platform.link.cut_through = cut_through;
        platform.link.bandwidth = 1e9 + (seed % 1000) as f64 * 1e7;
        let plan = anything(nodes, packets, seed);
        let mut network = Network::new(&platform, nodes, seed).unwrap();
        let log = run(&mut network, &plan, Time(delay));
        check(&plan, &log, in_order);
        let mut again = Network::new(&platform, nodes, seed).unwrap();
        prop_assert_eq!(run(&mut again, &plan, Time(delay)), log);
        prop_assert_eq!(again.hash(), network.hash());
        let statistics = network.statistics();
        prop_assert!(statistics.links.iter().all(|link| (0.0..=1.0).contains(&link.utilisation)));
        prop_assert_eq!(statistics.nodes.iter().map(|node| node.received).sum::<u64>(), (nodes * packets) as u64);
    }
}
