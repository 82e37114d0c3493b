//! Puts: short and long, both ways at once, in order, and out of bounds.

use super::{Case, bad, call, complete_with, good, until};
use crate::block::RawBlock;
use crate::transport::{Action, Awaited, Endpoint, Networks, Operation};

pub(super) const CASES: &[Case] = &[
    good("short puts arrive at their offsets", 1, |node| ring(node, 4096, 64)),
    good("puts of odd lengths arrive", 1, |node| ring(node, 100_003, 977)),
    good("long puts in a ring do not wait for each other", 1, |node| ring(node, 2 << 20, 1 << 19)),
    good("a long put reaches a node that waits in a barrier", 2, into_barrier),
    good("long and short puts of one node are all counted", 2, in_order),
    good("a put of nothing counts nothing", 1, nothing),
    good("a port is closed and opened again", 1, again),
    bad(
        "a put past the end is named",
        |node| past(node, 3, 1000, 100),
        &["node 0: put ", "port 3 of node 1, which has 1096 bytes"],
    ),
    bad(
        "a long put past the end is named",
        |node| past(node, 3, 97, 1_000_000),
        &["node 0: put ", "port 3 of node 1, which has 1096 bytes"],
    ),
    bad(
        "an offset beyond all memory is named",
        |node| past(node, 3, usize::MAX, 2),
        &["port 3 of node 1, which has 1096 bytes"],
    ),
    bad(
        "a put into a port that is not open is named",
        |node| past(node, 4, 0, 1),
        &["node 0: put ", "port 4"],
    ),
];

fn byte(from: usize, at: usize) -> u8 {
    (from * 31 + at * 7 + at / 251) as u8
}

/// Waits for all nodes and serves them meanwhile; counts arrivals in `arrived`.
fn meet(node: &mut dyn Endpoint, arrived: &mut usize) {
    node.start(call(Action::Barrier), Operation::Barrier, RawBlock::default());
    complete_with(node, &mut |node| node.arrivals(Networks::Both, &mut |_, bytes| *arrived += bytes));
    node.finish();
}

/// Each node fills a port of the next one (of itself if there is only one) in pieces.
fn ring(node: &mut dyn Endpoint, length: usize, piece: usize) {
    let (rank, size) = (node.rank(), node.size());
    let (to, from) = ((rank + 1) % size, (rank + size - 1) % size);
    let mut arrived = 0;
    node.open(5, RawBlock::zeroed(length));
    node.open(6, RawBlock::zeroed(8));
    meet(node, &mut arrived);
    let data: Vec<u8> = (0..length).map(|at| byte(rank, at)).collect();
    let put = call(Action::Put);
    for (index, bytes) in data.chunks(piece).enumerate() {
        if bytes.len() <= node.extras().put_limit && index % 2 == 0 {
            while !node.try_put(&put, to, 5, index * piece, bytes.into()) {
                node.pause(&put, Networks::Both, Awaited::PutRoom(to));
            }
        } else {
            node.put(&put, to, 5, index * piece, bytes.into());
        }
    }
    until(node, |node, _| {
        node.arrivals(Networks::Both, &mut |port, bytes| {
            assert_eq!(port, 5);
            arrived += bytes;
        });
        arrived == length
    });
    node.arrivals(Networks::Both, &mut |_, _| panic!("more than was sent"));
    meet(node, &mut arrived);
    let block = node.close(5).unwrap();
    assert!(block.as_bytes().iter().enumerate().all(|(at, found)| *found == byte(from, at)));
    assert!(node.close(5).is_none());
    assert_eq!(node.close(6).unwrap().as_bytes(), [0; 8]);
    meet(node, &mut arrived);
    assert_eq!(arrived, length);
}

/// All nodes put a long block into node 0, which waits for a started collective.
fn into_barrier(node: &mut dyn Endpoint) {
    const LENGTH: usize = 1 << 20;
    let (rank, size) = (node.rank(), node.size());
    if rank == 0 {
        node.open(0, RawBlock::zeroed(LENGTH * size));
    }
    node.barrier(call(Action::Barrier));
    if rank > 0 {
        node.put(&call(Action::Put), 0, 0, rank * LENGTH, vec![rank as u8; LENGTH].as_slice().into());
    }
    let mut arrived = 0;
    meet(node, &mut arrived);
    if rank == 0 {
        until(node, |node, _| {
            node.arrivals(Networks::Both, &mut |_, bytes| arrived += bytes);
            arrived == LENGTH * (size - 1)
        });
        let block = node.close(0).unwrap();
        for (from, part) in block.as_bytes().chunks(LENGTH).enumerate() {
            assert!(part.iter().all(|byte| *byte == from as u8));
        }
    }
    node.barrier(call(Action::Barrier));
}

/// Node 1 alternates long and short puts; when all bytes are counted, all are in place.
fn in_order(node: &mut dyn Endpoint) {
    const LENGTHS: [usize; 6] = [5000, 8, 300_000, 16, 4096, 1];
    let rank = node.rank();
    let whole: usize = LENGTHS.iter().sum();
    if rank == 0 {
        node.open(1, RawBlock::zeroed(20 * whole));
    }
    node.barrier(call(Action::Barrier));
    if rank == 1 {
        let mut at = 0;
        for _ in 0..20 {
            for length in LENGTHS {
                node.put(&call(Action::Put), 0, 1, at, vec![1; length].as_slice().into());
                at += length;
            }
        }
    }
    if rank == 0 {
        let mut arrived = 0;
        until(node, |node, _| {
            node.arrivals(Networks::Both, &mut |_, bytes| arrived += bytes);
            arrived == 20 * whole
        });
        assert!(node.close(1).unwrap().as_bytes().iter().all(|byte| *byte == 1));
    }
    node.barrier(call(Action::Barrier));
}

fn nothing(node: &mut dyn Endpoint) {
    let mut arrived = 0;
    node.open(9, RawBlock::zeroed(0));
    meet(node, &mut arrived);
    let to = (node.rank() + 1) % node.size();
    assert!(node.try_put(&call(Action::Put), to, 9, 0, [].as_slice().into()));
    node.put(&call(Action::Put), to, 9, 0, [].as_slice().into());
    meet(node, &mut arrived);
    meet(node, &mut arrived);
    assert_eq!(arrived, 0);
    assert!(node.close(9).unwrap().as_bytes().is_empty());
}

fn again(node: &mut dyn Endpoint) {
    let (rank, size) = (node.rank(), node.size());
    for round in 0..10 {
        // Others put as soon as this node has entered the barrier.
        let mut arrived = 0;
        node.open(4095, RawBlock::zeroed(4 * size));
        meet(node, &mut arrived);
        for to in 0..size {
            node.put(&call(Action::Put), to, 4095, 4 * rank, [round + 1; 4].as_slice().into());
        }
        until(node, |node, _| {
            node.arrivals(Networks::Both, &mut |_, bytes| arrived += bytes);
            arrived == 4 * size
        });
        assert_eq!(node.close(4095).unwrap().as_bytes(), vec![round + 1; 4 * size]);
        meet(node, &mut arrived);
        assert_eq!(arrived, 4 * size);
    }
}

fn past(node: &mut dyn Endpoint, port: usize, offset: usize, length: usize) {
    if node.rank() == 1 {
        node.open(3, RawBlock::zeroed(1096));
    }
    node.barrier(call(Action::Barrier));
    if node.rank() == 0 {
        node.put(&call(Action::Put), 1, port, offset, vec![0; length].as_slice().into());
    }
    // The part within the port may arrive before the rest is found to be out of bounds.
    let mut arrived = 0;
    until(node, |node, _| {
        node.arrivals(Networks::Both, &mut |_, bytes| arrived += bytes);
        assert!(arrived < length, "it arrived");
        false
    });
}
