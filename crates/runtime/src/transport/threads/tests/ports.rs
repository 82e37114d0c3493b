//! Puts: every byte arrives in its place and is reported once; a put that does not fit ends the
//! job.

use super::{call, pause, run, seed};
use crate::block::RawBlock;
use crate::transport::{Action, Awaited, Call, Endpoint, Networks, PORTS};
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};

#[track_caller]
fn put_call(to: usize) -> Call {
    Call::to(Action::Put, to, Location::caller())
}

/// The byte at `i` of the data that node `from` puts into `port` of node `to`.
fn byte(from: usize, to: usize, port: usize, i: usize) -> u8 {
    (i as u64 ^ seed(&[from, to, port]).next()).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[0]
}

/// Waits until `wanted` bytes have arrived in each port; returns the number of reports.
fn receive(node: &mut dyn Endpoint, wanted: &BTreeMap<usize, usize>) -> usize {
    let mut missing = wanted.clone();
    let mut reports = 0;
    missing.retain(|_, bytes| *bytes > 0);
    while !missing.is_empty() {
        node.arrivals(Networks::Both, &mut |port, bytes| {
            reports += 1;
            let left = missing.get_mut(&port).unwrap();
            *left -= bytes;
            if *left == 0 {
                missing.remove(&port);
            }
        });
        if !missing.is_empty() {
            pause(node, Awaited::Packet);
        }
    }
    reports
}

#[test]
fn bytes_of_several_senders_arrive_in_place_and_are_reported_once() {
    const NUMBERS: [usize; 5] = [0, 63, 64, 1000, PORTS - 1];
    for nodes in [1, 2, 3, 5, 8, 13] {
        for each in [1, 40, 3000, 200_000 / nodes] {
            run(nodes, |node| {
                let rank = node.rank();
                let mut random = seed(&[rank, each]);
                // Twice: a port may be opened again.
                for _ in 0..2 {
                    NUMBERS.iter().for_each(|port| node.open(*port, RawBlock::zeroed(nodes * each)));
                    node.barrier(call(Action::Barrier));
                    for port in NUMBERS {
                        for to in (rank..nodes).chain(0..rank) {
                            let bytes: Vec<u8> = (0..each).map(|i| byte(rank, to, port, i)).collect();
                            let mut at = 0;
                            while at < each {
                                let end = each.min(at + 1 + random.below(each));
                                let offset = rank * each + at;
                                if end - at <= node.extras().put_limit && random.below(2) == 0 {
                                    assert!(node.try_put(
                                        &put_call(to),
                                        to,
                                        port,
                                        offset,
                                        (&bytes[at..end]).into()
                                    ));
                                } else {
                                    node.put(&put_call(to), to, port, offset, (&bytes[at..end]).into());
                                }
                                at = end;
                            }
                            node.put(&put_call(to), to, port, nodes * each, [].as_slice().into());
                        }
                    }
                    let wanted = NUMBERS.into_iter().map(|port| (port, nodes * each)).collect();
                    receive(node, &wanted);
                    node.barrier(call(Action::Barrier));
                    node.arrivals(Networks::Both, &mut |_, _| panic!("reported twice"));
                    for port in NUMBERS {
                        let memory = node.close(port).unwrap();
                        assert_eq!(memory.bytes, nodes * each);
                        let found = memory.as_bytes().iter().enumerate();
                        assert!(found.into_iter().all(|(i, b)| *b == byte(i / each, rank, port, i % each)));
                        assert!(node.close(port).is_none());
                    }
                    node.barrier(call(Action::Barrier));
                }
            })
            .unwrap();
        }
    }
}

#[test]
fn what_is_left_of_a_closed_port_is_not_reported_for_the_next() {
    run(1, |node| {
        node.open(5, RawBlock::zeroed(10));
        node.put(&put_call(0), 0, 5, 2, [1; 8].as_slice().into());
        assert_eq!(node.close(5).unwrap().as_bytes(), [0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
        node.arrivals(Networks::Both, &mut |_, _| panic!("the port is closed"));
        node.open(5, RawBlock::zeroed(10));
        node.put(&put_call(0), 0, 5, 0, [1; 3].as_slice().into());
        let mut found = Vec::new();
        node.arrivals(Networks::Both, &mut |port, bytes| found.push((port, bytes)));
        assert_eq!(found, [(5, 3)]);
    })
    .unwrap();
}

#[test]
fn puts_that_do_not_fit_name_both_nodes_and_the_port() {
    let cases: [(usize, usize, usize, &str); 6] = [
        (7, 1, 100, "100 bytes at offset 1 end past port 7 of node 0, which has 100 bytes"),
        (7, 101, 0, "0 bytes at offset 101 end past port 7 of node 0, which has 100 bytes"),
        (7, usize::MAX, 2, "end past port 7 of node 0, which has 100 bytes"),
        (7, 0, 300_000, "300000 bytes at offset 0 end past port 7 of node 0, which has 100 bytes"),
        (8, 0, 1, "node 0 has not opened port 8"),
        (PORTS, 0, 1, "node 0 has not opened port 4096"),
    ];
    for (port, offset, bytes, wanted) in cases {
        let (rank, message) = run(3, |node| {
            if node.rank() == 0 {
                node.open(7, RawBlock::zeroed(100));
            }
            node.barrier(call(Action::Barrier));
            if node.rank() == 2 {
                node.put(&put_call(0), 0, port, offset, vec![1; bytes].as_slice().into());
            }
            loop {
                pause(node, Awaited::AllLeft);
            }
        })
        .unwrap_err();
        assert_eq!(rank, 2);
        assert!(message.starts_with("put to node 0 at ") && message.contains("ports.rs:"), "{message}");
        assert!(message.ends_with(wanted), "{message}");
    }
    let (_, message) = run(1, |node| {
        node.open(3, RawBlock::default());
        node.open(3, RawBlock::default());
    })
    .unwrap_err();
    assert_eq!(message, "port 3 is open or does not exist");
}

#[test]
fn closing_waits_for_the_piece_that_is_being_written() {
    const BYTES: usize = 4 << 20;
    for round in 0..10 {
        let closed = AtomicBool::new(false);
        let (rank, message) = run(2, |node| {
            let mut random = seed(&[round]);
            if node.rank() == 0 {
                node.open(1, RawBlock::zeroed(BYTES));
            }
            node.barrier(call(Action::Barrier));
            if node.rank() == 1 {
                let bytes = vec![0xff; BYTES];
                loop {
                    node.put(&put_call(0), 0, 1, 0, bytes.as_slice().into());
                }
            }
            let mut arrived = 0;
            while arrived < random.below(BYTES) {
                node.arrivals(Networks::Both, &mut |_, bytes| arrived += bytes);
            }
            let memory = node.close(1).unwrap();
            closed.store(true, Ordering::SeqCst);
            // No node writes here any more.
            let before = memory.as_bytes().to_vec();
            std::thread::yield_now();
            assert!(before.iter().filter(|byte| **byte == 0xff).count() >= arrived.min(BYTES));
            assert!(memory.as_bytes() == before);
            loop {
                pause(node, Awaited::AllLeft);
            }
        })
        .unwrap_err();
        assert_eq!(rank, 1);
        assert!(closed.load(Ordering::SeqCst));
        assert!(message.ends_with("node 0 has not opened port 1"), "{message}");
    }
}

#[test]
fn puts_into_the_port_of_a_node_that_is_gone_harm_nobody() {
    run(2, |node| {
        if node.rank() == 0 {
            node.open(0, RawBlock::zeroed(1000));
        }
        node.barrier(call(Action::Barrier));
        if node.rank() == 1 {
            for _ in 0..1000 {
                node.put(&put_call(0), 0, 0, 500, [1; 500].as_slice().into());
            }
        }
    })
    .unwrap();
}
