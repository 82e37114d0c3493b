//! Packets: each arrives once, and in order.

use super::super::job::RING;
use super::{pause, run, seed};
use crate::transport::{Awaited, Endpoint, Network, PACKET, Packet, Part};
use bytemuck::Zeroable;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Packet `i` from node `from` on `network`: of varying length, containing its number.
fn packet(from: usize, network: Network, i: usize) -> Packet {
    let mut random = seed(&[from, network as usize, i]);
    let mut data = [0; PACKET];
    data.iter_mut().for_each(|byte| *byte = random.next() as u8);
    let part = [Part::Whole, Part::More, Part::Last][i % 3];
    Packet::new(i as u16, part, i, &data[..random.below(PACKET + 1)])
}

/// What a node has received: the next expected number from each sender on each network.
struct Received {
    next: Vec<[Vec<usize>; 2]>,
    count: usize,
}

impl Received {
    /// Receives the packets on `network`, and checks them.
    fn take(&mut self, node: &mut dyn Endpoint, network: Network) -> bool {
        // The previous packet's bytes in the buffer must not be visible.
        let mut found = packet(usize::MAX, network, 1);
        if !node.try_receive(network, &mut found) {
            return false;
        }
        let from = found.from as usize;
        let i = self.next[from][network as usize].pop().expect("a packet too many");
        let wanted = packet(from, network, i);
        assert_eq!((found.handler, found.part(), found.whole), (wanted.handler, wanted.part(), wanted.whole));
        assert_eq!(found.bytes(), wanted.bytes());
        self.count += 1;
        true
    }
}

/// Every node sends `each` packets to the targets given by `to`, and receives those for it.
fn exchange(nodes: usize, each: usize, salt: usize, to: impl Fn(usize, usize, usize) -> usize + Sync) {
    let network = |from, i| Network::BOTH[seed(&[salt, from, i]).below(2)];
    let counts = run(nodes, |node| {
        let rank = node.rank();
        let mut random = seed(&[salt, rank]);
        let mut next = vec![[Vec::new(), Vec::new()]; nodes];
        for (from, next) in next.iter_mut().enumerate() {
            for i in (0..each).rev().filter(|i| to(nodes, from, *i) == rank) {
                next[network(from, i) as usize].push(i);
            }
        }
        let wanted: usize = next.iter().flatten().map(Vec::len).sum();
        let mut received = Received { next, count: 0 };
        for i in 0..each {
            random.delay();
            let (network, to) = (network(rank, i), to(nodes, rank, i));
            while !node.try_send(network, to, &packet(rank, network, i)) {
                let some = Network::BOTH.into_iter().any(|on| received.take(node, on));
                if !some {
                    pause(node, Awaited::Room(network, to));
                }
            }
            for _ in 0..random.below(3) {
                received.take(node, Network::BOTH[random.below(2)]);
            }
        }
        while received.count < wanted {
            let some = Network::BOTH.into_iter().any(|on| received.take(node, on));
            if !some {
                pause(node, Awaited::Packet);
            }
        }
        node.leave();
        while !node.all_left() {
            pause(node, Awaited::AllLeft);
        }
        assert!(!Network::BOTH.into_iter().any(|on| received.take(node, on)));
        received.count
    });
    assert_eq!(counts.unwrap().iter().sum::<usize>(), nodes * each);
}

#[test]
fn all_packets_arrive_once_and_in_order() {
    for nodes in [1, 2, 3, 5, 8, 13] {
        exchange(nodes, 4000 / nodes, 1, |nodes, from, i| seed(&[from, i]).below(nodes));
        exchange(nodes, 6000 / nodes, 2, |_, _, _| 0);
        exchange(nodes, 2000, 3, |nodes, from, _| (from + 1) % nodes);
    }
    exchange(64, 100, 4, |nodes, from, i| seed(&[from, i]).below(nodes));
    exchange(64, 100, 5, |_, _, _| 63);
}

#[test]
fn as_many_nodes_as_there_can_be_exchange_packets() {
    exchange(super::super::MOST, 3, 6, |nodes, from, i| (from + i * i + 1) % nodes);
}

#[test]
fn a_queue_takes_so_many_packets_and_no_more() {
    for (nodes, to) in [(1, 0), (2, 1), (3, 0)] {
        // All but the sender wait until the queue is full.
        let full = Barrier::new(nodes);
        run(nodes, |node| {
            let sender = node.rank() == 0;
            if sender {
                for network in Network::BOTH {
                    let sent =
                        (0..2 * RING).take_while(|i| node.try_send(network, to, &packet(0, network, *i)));
                    assert_eq!(sent.count(), RING);
                }
            }
            full.wait();
            if node.rank() == to {
                for network in Network::BOTH {
                    let mut found = Packet::zeroed();
                    for i in 0..RING {
                        assert!(node.try_receive(network, &mut found));
                        assert_eq!(found.bytes(), packet(0, network, i).bytes());
                    }
                    assert!(!node.try_receive(network, &mut found));
                }
            }
            full.wait();
            if sender {
                assert!(node.try_send(Network::Reply, to, &packet(0, Network::Reply, 0)));
            }
        })
        .unwrap();
    }
}

#[test]
fn a_receiver_that_sleeps_is_woken_by_packets_of_its_networks() {
    for network in Network::BOTH {
        run(2, |node| {
            let mut found = Packet::zeroed();
            for i in 0..5 {
                let other = 1 - node.rank();
                if i % 2 == node.rank() {
                    std::thread::sleep(Duration::from_millis(15));
                    assert!(node.try_send(network, other, &packet(0, network, i)));
                } else {
                    while !node.try_receive(network, &mut found) {
                        pause(node, Awaited::Packet);
                    }
                }
            }
        })
        .unwrap();
    }
}

#[test]
fn who_waits_for_nodes_that_are_gone_names_them() {
    let failure = |program: fn(&mut dyn Endpoint)| run(3, program).unwrap_err();
    let (rank, message) = failure(|node| {
        if node.rank() == 2 {
            loop {
                pause(node, Awaited::Packet);
            }
        }
    });
    assert_eq!(rank, 0);
    assert!(message.starts_with("left the program while node 2 waits in wait_until at "), "{message}");
    let (rank, message) = failure(|node| {
        if node.rank() == 0 {
            while node.try_send(Network::Request, 1, &Packet::zeroed()) {}
            loop {
                pause(node, Awaited::Room(Network::Request, 1));
            }
        }
    });
    assert_eq!(rank, 1);
    assert!(message.starts_with("left the program while node 0 waits in "), "{message}");
}

/// Nodes take turns by memory alone, which they poll for long; the last one sleeps meanwhile, or has
/// ended. If the turn of `withheld` never comes, the job is stuck, else it is not.
fn turns_by_memory(nodes: usize, withheld: Option<usize>, sleeps: bool) -> Result<Vec<()>, (usize, String)> {
    let (turn, last) = (AtomicUsize::new(0), nodes - 1);
    run(nodes, |node| {
        let rank = node.rank();
        if rank == last {
            let mut packet = Packet::zeroed();
            while sleeps && !node.try_receive(Network::Request, &mut packet) {
                pause(node, Awaited::Packet);
            }
            return;
        }
        for mine in (rank..4 * last).step_by(last) {
            for pauses in 0.. {
                if turn.load(Ordering::Acquire) == mine {
                    break;
                }
                pause(node, Awaited::Memory { pauses });
            }
            if mine % 5 == 3 {
                // So that the others poll several times what the rest of the job does.
                std::thread::sleep(Duration::from_millis(40));
            }
            if withheld == Some(mine) {
                return;
            }
            turn.store(mine + 1, Ordering::Release);
        }
        let packet = Packet::zeroed();
        while rank == 0 && sleeps && !node.try_send(Network::Request, last, &packet) {}
    })
}

#[test]
fn nodes_that_poll_memory_are_stuck_only_if_nobody_will_write_it() {
    for nodes in [2, 3, 4, 6] {
        turns_by_memory(nodes, None, true).unwrap();
        let (others, turns) = (nodes - 1, 4 * (nodes - 1));
        for withheld in 0..turns {
            let sleeps = withheld % 2 == 0;
            // The next turn's node waits for ever, or the last node, to which node 0 sends at its end.
            let waits = others > 1 && withheld + 1 < turns || sleeps && withheld % others == 0;
            let result = turns_by_memory(nodes, Some(withheld), sleeps);
            assert_eq!(result.is_err(), waits, "{nodes} nodes, turn {withheld}");
            let (_, message) = result.err().unwrap_or_default();
            assert!(!waits || message.contains(" in wait_until at "), "{message}");
        }
    }
}

#[test]
fn a_failure_reaches_nodes_whatever_they_wait_for() {
    let waits: [fn(&mut dyn Endpoint); 5] = [
        |node| pause(node, Awaited::Packet),
        |node| pause(node, Awaited::AllLeft),
        |node| {
            while node.try_send(Network::Reply, 0, &Packet::zeroed()) {}
            pause(node, Awaited::Room(Network::Reply, 0));
        },
        |node| assert!(!node.try_receive(Network::Request, &mut Packet::zeroed())),
        |node| assert!(node.async_or()),
    ];
    for wait in waits {
        for delay in [0, 20] {
            let found = run(4, |node| {
                if node.rank() == 0 {
                    std::thread::sleep(Duration::from_millis(delay));
                    std::panic::resume_unwind(Box::new("enough"));
                }
                loop {
                    wait(node);
                }
            });
            assert_eq!(found.unwrap_err(), (0, "panicked: enough".to_owned()));
        }
    }
}
