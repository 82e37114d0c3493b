//! Packets: order, room, and senders while no node receives.

use super::{Case, call, complete, good, until};
use crate::block::RawBlock;
use crate::transport::{Action, Awaited, Endpoint, Network, Networks, Operation, Packet, Part};
use std::time::{Duration, Instant};

pub(super) const CASES: &[Case] = &[
    good("packets of all reach node 0 in order", 1, |node| many_to_one(node, 3000, Duration::ZERO)),
    good("packets wait for a node that does not receive", 2, |node| {
        let many = 100_000 / node.size();
        many_to_one(node, many, Duration::from_millis(300));
    }),
    good("packets go round and both networks are their own", 1, round),
    good("messages of several packets arrive whole, also between others", 1, several),
    good("without room a packet is refused and room comes back", 1, room),
    good("packets nobody has received do not reach the next program", 2, left_behind),
    good("the asynchronous or follows its bits", 1, async_or),
];

fn packet(number: u64, length: usize) -> Packet {
    let mut bytes = [0; crate::transport::PACKET];
    bytes[..8].copy_from_slice(&number.to_ne_bytes());
    bytes[8..].fill(number as u8);
    Packet::new(number as u16, Part::Whole, number as usize, &bytes[..length])
}

fn check(found: &Packet, number: u64, length: usize) {
    let wanted = packet(number, length);
    assert_eq!((found.handler, found.whole, found.part()), (wanted.handler, wanted.whole, Part::Whole));
    assert_eq!(found.bytes(), wanted.bytes(), "packet {number}");
}

/// A length of 8 to 64 that differs from packet to packet; sometimes 0.
fn length(number: u64) -> usize {
    if number.is_multiple_of(17) { 0 } else { 8 + (number as usize * 13) % 57 }
}

/// Every node (also node 0) sends node 0 a number of packets on each network, which node 0 receives
/// after a delay.
fn many_to_one(node: &mut dyn Endpoint, many: usize, late: Duration) {
    let (rank, size) = (node.rank(), node.size());
    let mut sent = [0u64; 2];
    let mut had = vec![[0u64; 2]; size];
    let start = Instant::now();
    let many = many as u64;
    let mut packet_in = Packet::new(0, Part::Whole, 0, &[]);
    loop {
        for network in Network::BOTH {
            let index = network as usize;
            while sent[index] < many && node.try_send(network, 0, &packet(sent[index], length(sent[index]))) {
                sent[index] += 1;
            }
            while rank == 0 && start.elapsed() >= late && node.try_receive(network, &mut packet_in) {
                let from = packet_in.from as usize;
                check(&packet_in, had[from][index], length(had[from][index]));
                had[from][index] += 1;
            }
            if rank != 0 {
                assert!(!node.try_receive(network, &mut packet_in));
            }
        }
        if sent == [many; 2] && (rank != 0 || had.iter().all(|had| *had == [many; 2])) {
            break;
        }
        if rank != 0 {
            node.pause(&call(Action::Send), Networks::Both, Awaited::Room(Network::Request, 0));
        }
    }
    node.barrier(call(Action::Barrier));
}

/// Every node sends to all, and each answers a request with a reply.
fn round(node: &mut dyn Endpoint) {
    let (rank, size) = (node.rank(), node.size());
    let many = 400 / size as u64;
    let mut answers = 0;
    let mut asked = vec![0; size];
    let mut waiting = std::collections::VecDeque::new();
    let mut next = 0;
    let mut served = 0;
    let all = many * size as u64;
    let mut packet_in = Packet::new(0, Part::Whole, 0, &[]);
    while !(next == all && answers == next && served == next) {
        let mut idle = true;
        for network in Network::BOTH {
            if !node.try_receive(network, &mut packet_in) {
                continue;
            }
            idle = false;
            let from = packet_in.from as usize;
            if packet_in.handler == 7 {
                assert_eq!(packet_in.bytes(), (rank as u64).to_ne_bytes());
                answers += 1;
            } else {
                check(&packet_in, 100 + asked[from] * size as u64 + rank as u64, 16);
                asked[from] += 1;
                waiting.push_back(from);
            }
        }
        let to = next as usize % size;
        if next < all && node.try_send(Network::Request, to, &packet(100 + next, 16)) {
            next += 1;
            idle = false;
        }
        if let Some(to) = waiting.front() {
            let reply = Packet::new(7, Part::Whole, 0, &(*to as u64).to_ne_bytes());
            if node.try_send(Network::Reply, *to, &reply) {
                waiting.pop_front();
                served += 1;
                idle = false;
            }
        }
        if idle {
            // Packets without room are sent when there is room, whether packets arrive or not.
            let awaited = match waiting.front() {
                Some(to) => Awaited::Room(Network::Reply, *to),
                None if next < all => Awaited::Room(Network::Request, to),
                None => Awaited::Packet,
            };
            node.pause(&call(Action::WaitUntil), Networks::Both, awaited);
        }
    }
    node.barrier(call(Action::Barrier));
}

/// Message `number` from a node: up to 12,000 bytes; many lengths are those at which transports may
/// divide messages.
fn message(from: usize, number: usize) -> Vec<u8> {
    let length = match number % 4 {
        0 => 1 + number * 331 % 12_000,
        1 => 3968 * (1 + number / 4 % 3) + number % 3 - 1,
        2 => 64 * (1 + number % 5) + number / 4 % 2,
        _ => number % 64,
    };
    (0..length).map(|i| (from * 7 + number * 3 + i * i / 5) as u8).collect()
}

/// Every node sends every other messages of one packet and of several, on both networks.
fn several(node: &mut dyn Endpoint) {
    let (rank, size) = (node.rank(), node.size());
    let many = 160 / size;
    // Messages and bytes received, by network and sender.
    let mut had = vec![vec![(0, Vec::new()); size]; 2];
    let mut receive = |node: &mut dyn Endpoint| {
        let mut packet_in = Packet::new(0, Part::Whole, 0, &[]);
        let mut any = false;
        for network in Network::BOTH {
            while node.try_receive(network, &mut packet_in) {
                any = true;
                let from = packet_in.from as usize;
                let (number, bytes) = &mut had[network as usize][from];
                assert_eq!(usize::from(packet_in.handler), *number, "from node {from}");
                bytes.extend_from_slice(packet_in.bytes());
                if packet_in.part() != Part::More {
                    assert!(*bytes == message(from, *number), "message {number} of node {from}");
                    assert_eq!(packet_in.whole, bytes.len() as u64);
                    bytes.clear();
                    *number += 1;
                }
            }
        }
        (any, had.iter().all(|had| had.iter().all(|(number, _)| *number == many)))
    };
    let mut all = false;
    for number in 0..many {
        let bytes = message(rank, number);
        let count = bytes.len().div_ceil(crate::transport::PACKET).max(1);
        for (to, network) in (0..size).flat_map(|to| Network::BOTH.map(|network| (to, network))) {
            for i in 0..count {
                let end = bytes.len().min((i + 1) * crate::transport::PACKET);
                let data = &bytes[i * crate::transport::PACKET..end];
                let packet = Packet::new(number as u16, Part::of(i, count), bytes.len(), data);
                while !node.try_send(network, to, &packet) {
                    let (any, now) = receive(node);
                    all = now;
                    if !any {
                        node.pause(&call(Action::Send), Networks::Both, Awaited::Room(network, to));
                    }
                }
            }
        }
    }
    while !all {
        let (any, now) = receive(node);
        all = now;
        if !any && !all {
            node.pause(&call(Action::WaitUntil), Networks::Both, Awaited::Packet);
        }
    }
    node.barrier(call(Action::Barrier));
}

/// Node 0 fills the queues to each node until a packet is rejected, and succeeds when they begin to
/// receive.
fn room(node: &mut dyn Endpoint) {
    let (rank, size) = (node.rank(), node.size());
    for to in 0..size {
        let mut through = 0u64;
        if rank == 0 {
            while node.try_send(Network::Request, to, &packet(through, 64)) {
                through += 1;
                assert!(through < 100_000, "there is no end of room");
            }
            assert!(through >= 8, "{through} packets are hardly any");
        }
        node.barrier(call(Action::Barrier));
        let mut known = through.to_ne_bytes();
        let all = call(Action::Broadcast);
        node.broadcast(all, 0, &mut known);
        let through = u64::from_ne_bytes(known);
        let mut had = 0;
        if rank == to {
            until(node, |_, packet_in| {
                if let Some(packet_in) = packet_in {
                    check(packet_in, had, 64);
                    had += 1;
                }
                had == through
            });
        }
        node.barrier(call(Action::Barrier));
        if rank == 0 {
            until(node, |node, _| node.try_send(Network::Request, to, &packet(0, 8)));
        }
        if rank == to {
            until(node, |_, packet_in| packet_in.is_some());
        }
        node.barrier(call(Action::Barrier));
    }
}

/// Each program begins without packets, and leaves some unreceived.
fn left_behind(node: &mut dyn Endpoint) {
    let mut found = Packet::new(0, Part::Whole, 0, &[]);
    for _ in 0..100 {
        for network in Network::BOTH {
            assert!(!node.try_receive(network, &mut found));
        }
    }
    node.barrier(call(Action::Barrier));
    for to in 0..node.size() {
        for network in Network::BOTH {
            for number in 0..10 {
                // As many as there is room for.
                node.try_send(network, to, &packet(number, 64));
            }
        }
    }
}

fn async_or(node: &mut dyn Endpoint) {
    let (rank, size) = (node.rank(), node.size());
    assert!(node.async_or());
    for round in 0..3 {
        // All but one clear their bits; then the last one does.
        let last = (round * 2 + 1) % size;
        node.set_async_or(rank == last);
        poll_async_or(node, true);
        meet(node);
        node.set_async_or(false);
        poll_async_or(node, false);
        // No node sets a bit again before all have seen that none is set.
        meet(node);
        node.set_async_or(rank == last);
        poll_async_or(node, true);
        meet(node);
        node.set_async_or(true);
        meet(node);
    }
}

/// Polls the asynchronous or until it has this value, because a node that waits for it is not
/// woken.
fn poll_async_or(node: &mut dyn Endpoint, value: bool) {
    while node.async_or() != value {
        std::thread::yield_now();
    }
}

/// Waits for all nodes, and answers requests meanwhile.
fn meet(node: &mut dyn Endpoint) {
    node.start(call(Action::Barrier), Operation::Barrier, RawBlock::default());
    complete(node);
    node.finish();
}
