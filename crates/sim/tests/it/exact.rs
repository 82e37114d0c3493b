//! Small networks, computed by hand. A packet of 32 bytes and its header of 4 take 36 000 ps on a
//! link.

use crate::common::{GB, Message, dragonfly, fat_tree, grid, machine, run, squarest, with_queues};
use strata_sim::Time;
use strata_sim::network::{Channel, Network, NetworkEvent};
use strata_sim::platform::{SimulatedMachine, Topology};

const PACKET: u64 = 36_000;

fn message(to: usize) -> Message {
    Message { to, channel: Channel(0), bytes: 32 }
}

/// When the packets of a plan arrive.
fn times(platform: &SimulatedMachine, nodes: usize, plan: &[Vec<Message>]) -> Vec<u64> {
    let mut network = Network::new(platform, nodes, 1).expect("a machine that fits");
    run(&mut network, plan, Time::ZERO).iter().map(|received| received.time.0).collect()
}

/// One packet from node 0 to the last, and when it arrives with and without cut-through.
fn one(topology: Topology, nodes: usize) -> (u64, u64) {
    let mut platform = machine(topology);
    let plan = [vec![message(nodes - 1)]];
    let cut_through = times(&platform, nodes, &plan)[0];
    platform.link.cut_through = false;
    (cut_through, times(&platform, nodes, &plan)[0])
}

#[test]
fn one_packet_alone() {
    // Two links with latency.
    assert_eq!(one(Topology::Crossbar, 3), (PACKET + 200, 2 * PACKET + 200));
    assert_eq!(one(Topology::Bus, 3), (PACKET + 100, PACKET + 100));
    // Four links between switches, and the nodes' own, without latency.
    assert_eq!(one(grid(&[5, 1], false), 5), (PACKET + 400, 6 * PACKET + 400));
    // The other way round.
    assert_eq!(one(grid(&[5, 1], true), 5), (PACKET + 100, 3 * PACKET + 100));
    assert_eq!(one(Topology::Hypercube, 8), (PACKET + 300, 5 * PACKET + 300));
    // Up twice and down twice, between own links.
    assert_eq!(one(fat_tree(2, &[2]), 8), (PACKET + 600, 6 * PACKET + 600));
    // To itself: by no link.
    assert_eq!(one(Topology::Crossbar, 1), (PACKET, PACKET));
}

#[test]
fn interfaces_delay_every_packet_alike() {
    let mut platform = machine(Topology::Crossbar);
    platform.interface.latency = Time(50_000);
    let plan = [vec![message(1), message(1)], vec![message(1)]];
    // From node 1 to itself, and from node 0. The two take the places in the receive queue from
    // when they start, so that the third starts on the last link when the first is received.
    let first = PACKET + 50_000;
    assert_eq!(times(&platform, 2, &plan), [first, first + 200, first + PACKET + 100 + 50_000]);
}

#[test]
fn a_tail_does_not_leave_before_it_has_come() {
    // Own links of 1 GB/s around a global one of 2 GB/s and 500 ps: the fast link waits for the
    // tail.
    let (cut_through, whole) = one(dragonfly(1, 1, 1), 2);
    assert_eq!(cut_through, PACKET + 100 + 500 + 100);
    assert_eq!(whole, PACKET + 100 + PACKET / 2 + 500 + PACKET + 100);
    // A backplane half as fast holds everything up: the head waits nowhere, the tail leaves it
    // last.
    assert_eq!(one(Topology::Switch { backplane: 0.5 * GB }, 3).0, 2 * PACKET + 200);
    assert_eq!(one(Topology::Switch { backplane: f64::INFINITY }, 3).0, PACKET + 200);
}

#[test]
fn packets_that_share_a_link_follow_each_other() {
    let crossbar = machine(Topology::Crossbar);
    // The link out: the second starts when the first has left, and the third after it.
    let plan = [vec![message(3)], vec![message(3)], vec![message(3)]];
    assert_eq!(times(&crossbar, 4, &plan), [PACKET + 200, 2 * PACKET + 200, 3 * PACKET + 200]);
    // The link in.
    assert_eq!(times(&crossbar, 4, &[vec![message(1), message(2)]]), [PACKET + 200, 2 * PACKET + 200]);
    // None.
    assert_eq!(times(&crossbar, 4, &[vec![message(1)], vec![message(2)]]), [PACKET + 200; 2]);
    // Nothing but.
    let plan = [vec![message(1)], vec![message(2)]];
    assert_eq!(times(&machine(Topology::Bus), 4, &plan), [PACKET + 100, 2 * PACKET + 100]);
    // A backplane of 27 000 ps a packet: the first has to wait for its tail, two more follow, and
    // when the last starts, its head goes on to its own link.
    let plan: Vec<_> = (0..4).map(|node| vec![message((node + 1) % 4)]).collect();
    let shared = times(&machine(Topology::Switch { backplane: 4.0 / 3.0 * GB }), 4, &plan);
    assert_eq!(shared.last(), Some(&(100 + PACKET + 2 * 27_000 + PACKET + 100)));
}

#[test]
fn links_serve_in_the_order_of_asking() {
    // Nodes 2 and 1 ask for the link to 3 while it carries node 0's packet, in this order.
    let mut network = Network::new(&machine(Topology::Crossbar), 4, 1).unwrap();
    network.try_send(Time(0), 0, 3, Channel(0), 32, 0).unwrap();
    network.schedule(Time(10), 2);
    network.schedule(Time(20), 1);
    let mut order = Vec::new();
    while let Some(step) = network.step() {
        let now = network.now();
        match step {
            NetworkEvent::Wake(node) => network.try_send(now, node, 3, Channel(0), 32, node).unwrap(),
            NetworkEvent::Arrived { node, channel } => {
                order.push(network.receive(now, node, channel).unwrap().from)
            }
            _ => {}
        }
    }
    assert_eq!(order, [0, 2, 1]);
}

/// Nodes that send on and on; how many packets arrive at the last node from each sender and channel
/// in the time of so many.
fn shares(senders: &[(usize, Channel)], nodes: usize, packets: u64) -> Vec<usize> {
    let mut network = Network::new(&machine(Topology::Crossbar), nodes, 1).expect("a machine that fits");
    let mut counts = vec![0; senders.len()];
    let last = nodes - 1;
    while network.now() < Time(packets * PACKET) {
        for &(node, channel) in senders {
            while network.try_send(network.now(), node, last, channel, 32, ()).is_ok() {}
        }
        if let Some(NetworkEvent::Arrived { channel, .. }) = network.step() {
            let from = network.receive(network.now(), last, channel).expect("it has arrived").from;
            counts[senders.iter().position(|sender| *sender == (from, channel)).expect("a sender")] += 1;
        }
    }
    counts
}

#[test]
fn senders_and_channels_share_a_link_evenly() {
    let even = |shares: Vec<usize>| shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1;
    let from = |channel| move |node| (node, Channel(channel));
    assert!(even(shares(&[0, 1, 2, 3, 4].map(from(0)), 6, 1000)));
    assert!(even(shares(&[0, 1, 2, 3].map(|channel| (0, Channel(channel))), 2, 1000)));
    let both: Vec<_> = (0..3).map(from(1)).chain((0..3).map(from(2))).collect();
    let all = shares(&both, 4, 1000);
    assert_eq!(all.iter().sum::<usize>(), 999, "the link out is never idle but at first");
    assert!(even(all));
}

#[test]
fn a_packet_can_be_sent_and_received_later_than_now() {
    let mut network = Network::new(&machine(Topology::Crossbar), 2, 1).unwrap();
    network.try_send(Time(5_000), 0, 1, Channel(0), 32, ()).unwrap();
    while network.step().is_some() {}
    assert_eq!(network.now(), Time(5_000 + PACKET + 200));
    assert_eq!(network.receive(Time(90_000), 1, Channel(0)).unwrap().sent, Time(5_000));
    assert_eq!(
        (network.now(), network.receive(Time(90_000), 1, Channel(0))),
        (Time(5_000 + PACKET + 200), None)
    );
}

/// Sends from node 0 until nothing more goes in; how many went.
fn fill(network: &mut Network<usize>, to: usize, channel: Channel) -> usize {
    let mut sent = 0;
    loop {
        while network.try_send(network.now(), 0, to, channel, 32, sent).is_ok() {
            sent += 1;
        }
        if network.step().is_none() {
            return sent;
        }
    }
}

#[test]
fn a_receiver_that_takes_nothing_stalls_the_sender() {
    for (topology, nodes, buffers) in [
        (Topology::Crossbar, 3, 1),
        (Topology::Bus, 3, 0),
        (Topology::Switch { backplane: GB }, 3, 2),
        (grid(&[4, 1], false), 4, 4),
        (grid(&[5, 1], true), 5, 2),
        (Topology::Hypercube, 8, 4),
        (fat_tree(2, &[1]), 8, 5),
        (dragonfly(1, 2, 1), 6, 4),
    ] {
        for (send, buffer, receive) in [(1, 1, 1), (2, 3, 5), (7, 2, 4)] {
            for cut_through in [true, false] {
                let mut platform = with_queues(topology.clone(), send, buffer, receive);
                platform.link.cut_through = cut_through;
                let mut network = Network::new(&platform, nodes, 1).unwrap();
                let last = nodes - 1;
                let absorbed = fill(&mut network, last, Channel(2));
                assert_eq!(absorbed, send + buffers * buffer + receive, "{topology:?}");
                assert_eq!(network.arrived(last, Channel(2)), receive);
                assert_eq!((network.in_flight(), network.waiting_for(last)), (absorbed, absorbed));
                // One out, one in.
                let now = network.now() + Time(1_000);
                assert_eq!(network.receive(now, last, Channel(2)).unwrap().item, 0);
                assert_eq!(fill(&mut network, last, Channel(2)), 1);
                // Another channel has queues of its own.
                assert_eq!(fill(&mut network, last, Channel(3)), absorbed);
            }
        }
    }
}

#[test]
fn a_packet_that_cannot_go_holds_up_those_behind() {
    let mut network = Network::new(&machine(Topology::Crossbar), 3, 1).unwrap();
    // All queues to node 1 are full; the send queue holds two for it, the buffer at the crossbar
    // too.
    fill(&mut network, 1, Channel(0));
    // One out: a packet for node 2 gets into the send queue, and no further.
    let start = network.now();
    network.receive(start, 1, Channel(0)).unwrap();
    while let Some(step) = network.step() {
        if (step == NetworkEvent::Room { node: 0, channel: Channel(0) }) {
            network.try_send(network.now(), 0, 2, Channel(0), 32, 99).unwrap();
        }
    }
    assert_eq!(network.waiting_for(2), 1);
    assert_eq!(network.arrived(2, Channel(0)), 0);
    // On another channel, it goes.
    network.try_send(network.now(), 0, 2, Channel(1), 32, 100).unwrap();
    while network.step().is_some() {}
    assert_eq!(network.receive(network.now(), 2, Channel(1)).unwrap().item, 100);
    // It goes when all before it have gone: 2 in the receive queue, 2 in the buffer, 1 in the send
    // queue.
    for taken in 1.. {
        network.receive(network.now(), 1, Channel(0)).unwrap();
        while network.step().is_some() {}
        if network.arrived(2, Channel(0)) == 1 {
            // The buffer has room for two; the packet for node 2 leaves it when the two before it
            // have left.
            assert_eq!(taken, 3);
            break;
        }
    }
}

#[test]
fn a_busy_target_takes_as_long_as_all_its_packets() {
    // 4 kB from each: as a shift, all links are used; to one target, one.
    let block = |to| vec![message(to); 128];
    let crossbar = machine(Topology::Crossbar);
    let shift: Vec<_> = (0..8).map(|node| block((node + 3) % 8)).collect();
    assert_eq!(times(&crossbar, 8, &shift).last(), Some(&(128 * PACKET + 200)));
    let busy: Vec<_> = (0..8).map(|node| if node == 0 { Vec::new() } else { block(0) }).collect();
    assert_eq!(times(&crossbar, 8, &busy).last(), Some(&(7 * 128 * PACKET + 200)));
}

#[test]
fn a_full_send_queue_says_when_it_has_room() {
    let mut network = Network::new(&machine(Topology::Crossbar), 2, 1).unwrap();
    for item in 0..2 {
        network.try_send(Time(0), 0, 1, Channel(3), 32, item).unwrap();
    }
    assert!(!network.has_room(0, Channel(3)));
    assert!(network.has_room(0, Channel(0)));
    assert_eq!(network.try_send(Time(0), 0, 1, Channel(3), 32, 2), Err(2));
    let mut rooms = Vec::new();
    while let Some(step) = network.step() {
        if let NetworkEvent::Room { node, channel } = step {
            rooms.push((network.now().0, node, channel));
        }
    }
    assert_eq!(rooms, [(PACKET, 0, Channel(3))]);
}

#[test]
fn wakes_come_in_order_of_time_and_then_of_asking() {
    let mut network = Network::<()>::new(&machine(Topology::Crossbar), 4, 1).unwrap();
    for (at, node) in [(30, 0), (10, 1), (30, 2), (10, 3), (0, 2), (30, 1)] {
        network.schedule(Time(at), node);
    }
    assert_eq!(network.next(), Some(Time(0)));
    let mut woken = Vec::new();
    while let Some(NetworkEvent::Wake(node)) = network.step() {
        woken.push((network.now().0, node));
    }
    assert_eq!(woken, [(0, 2), (10, 1), (10, 3), (30, 0), (30, 2), (30, 1)]);
    assert_eq!((network.next(), network.steps()), (None, 6));
}

#[test]
fn statistics_count_links_and_nodes() {
    let mut network = Network::new(&machine(Topology::Crossbar), 3, 1).unwrap();
    run(&mut network, &[vec![message(2), message(0)], vec![message(2)], vec![]], Time::ZERO);
    let statistics = network.statistics();
    // Node 0: a packet to 2, then one to itself by the loop, behind it in the send queue.
    assert_eq!(statistics.time, Time(2 * PACKET + 200));
    let [into_0, _, into_2, .., out_2] = &statistics.links[..] else { panic!() };
    assert_eq!((into_0.name.as_str(), out_2.name.as_str()), ("node 0 -> crossbar", "crossbar -> node 2"));
    assert_eq!((into_0.packets, into_0.bytes, into_0.busy, into_0.most_waiting), (1, 36, Time(PACKET), 0));
    assert_eq!((out_2.packets, out_2.bytes, out_2.busy, out_2.most_waiting), (2, 72, Time(2 * PACKET), 1));
    assert_eq!(out_2.utilisation, (2 * PACKET) as f64 / (2 * PACKET + 200) as f64);
    assert_eq!((into_2.packets, into_2.utilisation), (0, 0.0));
    let nodes: Vec<_> = statistics.nodes.iter().map(|node| (node.sent, node.received)).collect();
    assert_eq!(nodes, [(2, 1), (1, 0), (0, 2)]);
}

#[test]
fn busy_time_ends_now() {
    let mut network = Network::new(&machine(Topology::Crossbar), 2, 1).unwrap();
    network.try_send(Time(0), 0, 1, Channel(0), 32, ()).unwrap();
    network.schedule(Time(9_000), 0);
    while network.step() != Some(NetworkEvent::Wake(0)) {}
    assert_eq!(network.statistics().links[0].busy, Time(9_000));
    assert_eq!(network.statistics().links[0].utilisation, 1.0);
}

#[test]
fn empty_packets_and_long_ones() {
    let mut network = Network::new(&machine(squarest(2, false)), 4, 1).unwrap();
    let of = |bytes| Message { to: 3, channel: Channel(0), bytes };
    let log = run(&mut network, &[vec![of(0), of(1_000_000)]], Time::ZERO);
    assert_eq!(log[0].time, Time(4_000 + 200));
    assert_eq!(log[1].time, Time(4_000 + 1_000_004_000 + 200));
}

#[test]
fn queues_without_room_are_refused() {
    for (send, buffer, receive, name) in
        [(0, 1, 1, "interface.send_queue"), (1, 0, 1, "link.buffer"), (1, 1, 0, "interface.receive_queue")]
    {
        let error =
            Network::<()>::new(&with_queues(Topology::Crossbar, send, buffer, receive), 2, 1).unwrap_err();
        assert_eq!(error.to_string(), format!("`{name}` is 0: it has to be at least 1 packet"));
    }
    let mut platform = machine(Topology::Crossbar);
    platform.link.bandwidth = -1.0;
    let error = Network::<()>::new(&platform, 2, 1).unwrap_err();
    assert_eq!(error.to_string(), "`link.bandwidth` is -1: it has to be at least 1 byte a second");
}
