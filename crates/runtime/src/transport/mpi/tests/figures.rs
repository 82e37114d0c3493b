//! Speeds, beside those of the MPI library in the same run.
//!
//! `STRATA_TEST_CASE=figures mpirun -n 2 TEST_BINARY --exact transport::mpi::tests::node --ignored --nocapture`, from
//! a release build: medians of batches, ours and MPI's by turns.

use super::call;
use crate::block::RawBlock;
use crate::number::{NumberType, Op};
use crate::transport::{
    Action, Awaited, Call, Collective, Endpoint, Network, Networks, Operation, Packet, Part, Scan,
};
use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use std::panic::Location;
use std::time::Instant;

/// Batches of each kind.
const BATCHES: usize = 41;

/// The median time of one of `many` by each of two ways, which take turns; in nanoseconds.
fn paired(
    node: &mut dyn Endpoint,
    many: usize,
    ours: &mut dyn FnMut(&mut dyn Endpoint),
    raw: &mut dyn FnMut(),
) -> (f64, f64) {
    let mut times = [Vec::new(), Vec::new()];
    for batch in 0..2 * BATCHES {
        node.barrier(call(Action::Barrier));
        let start = Instant::now();
        for _ in 0..many {
            if batch % 2 == 0 { ours(node) } else { raw() }
        }
        times[batch % 2].push(start.elapsed().as_nanos() as f64 / many as f64);
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let [ours, raw] = &mut times;
    (median(ours), median(raw))
}

fn print(node: &dyn Endpoint, what: &str, (ours, raw): (f64, f64)) {
    if node.rank() == 0 {
        println!("{what:32} ours {ours:10.1} ns   MPI {raw:10.1} ns   ratio {:.3}", ours / raw);
    }
}

fn receive(node: &mut dyn Endpoint, packet: &mut Packet) {
    while !(node.try_receive(Network::Request, packet) || node.try_receive(Network::Reply, packet)) {}
}

/// Measures and prints everything.
pub(super) fn figures() {
    let ended = super::run(|mut node| {
        measure(&mut *node);
        Ok(())
    });
    assert!(ended.is_ok());
}

fn measure(node: &mut dyn Endpoint) {
    let world = SimpleCommunicator::world();
    let rank = node.rank();
    let other = world.process_at_rank(1 - rank as i32);
    let place = Location::caller();

    let mut packet = Packet::new(1, Part::Whole, 0, &[7; 8]);
    let mut bytes = [0u8; 24];
    let times = paired(
        node,
        2000,
        &mut |node| {
            for turn in 0..2 {
                if turn == rank {
                    while !node.try_send(Network::BOTH[turn], 1 - rank, &packet) {}
                } else {
                    receive(node, &mut packet);
                }
            }
        },
        &mut || {
            for turn in 0..2 {
                if turn == rank {
                    other.send(&bytes[..]);
                } else {
                    other.receive_into(&mut bytes[..]);
                }
            }
        },
    );
    print(node, "round trip of 8 bytes", times);

    let packet = Packet::new(1, Part::Whole, 0, &[7; 16]);
    let mut found = packet;
    let mut bytes = [0u8; 32];
    let times = paired(
        node,
        1,
        &mut |node| {
            if rank == 0 {
                for _ in 0..20_000 {
                    while !node.try_send(Network::Request, 1, &packet) {
                        node.try_receive(Network::Reply, &mut found);
                    }
                }
                receive(node, &mut found);
            } else {
                for _ in 0..20_000 {
                    receive(node, &mut found);
                }
                while !node.try_send(Network::Reply, 0, &packet) {}
            }
        },
        &mut || {
            if rank == 0 {
                (0..20_000).for_each(|_| other.send(&bytes[..]));
                other.receive_into(&mut bytes[..]);
            } else {
                for _ in 0..20_000 {
                    other.receive_into(&mut bytes[..]);
                }
                other.send(&bytes[..]);
            }
        },
    );
    print(node, "stream of 16 bytes, each", (times.0 / 20_000.0, times.1 / 20_000.0));

    let times = paired(
        node,
        20_000,
        &mut |node| {
            node.try_receive(Network::Request, &mut found);
            node.try_receive(Network::Reply, &mut found);
        },
        &mut || {
            std::hint::black_box(other.immediate_probe());
        },
    );
    print(node, "empty poll of both / Iprobe", times);

    for length in [4096, 65_536, 1 << 20, 8 << 20] {
        node.open(0, RawBlock::zeroed(length));
        node.barrier(call(Action::Barrier));
        let data = vec![1u8; length];
        let mut room = vec![0u8; length];
        let put = call(Action::Put);
        let times = paired(
            node,
            20,
            &mut |node| {
                for turn in 0..2 {
                    if turn == rank {
                        node.put(&put, 1 - rank, 0, 0, data.as_slice().into());
                    } else {
                        let mut arrived = 0;
                        while arrived < length {
                            node.arrivals(Networks::Both, &mut |_, bytes| arrived += bytes);
                        }
                    }
                }
            },
            &mut || {
                for turn in 0..2 {
                    if turn == rank {
                        other.send(&data[..]);
                    } else {
                        other.receive_into(&mut room[..]);
                    }
                }
            },
        );
        print(node, &format!("put of {length} and back"), times);
        node.barrier(call(Action::Barrier));
        node.close(0);
        node.barrier(call(Action::Barrier));
    }

    let times = paired(node, 5000, &mut |node| node.barrier(call(Action::Barrier)), &mut || world.barrier());
    print(node, "barrier", times);
    let times = paired(
        node,
        5000,
        &mut |node| {
            node.start(call(Action::Barrier), Operation::Barrier, RawBlock::default());
            while !node.test() {}
            node.finish();
        },
        &mut || world.barrier(),
    );
    print(node, "started barrier / Barrier", times);
    let times = paired(
        node,
        5000,
        &mut |node| {
            node.start(call(Action::Barrier), Operation::Barrier, RawBlock::default());
            while !node.test() {
                node.pause(&call(Action::Barrier), Networks::Both, Awaited::Operation);
            }
            node.finish();
        },
        &mut || mpi::request::scope(|_| world.immediate_barrier().wait_without_status()),
    );
    print(node, "started, pausing / Ibarrier", times);

    for length in [1, 2, 64, 4096, 131_072] {
        let mut values = vec![1u64; length];
        let (from, mut to) = (values.clone(), values.clone());
        let many = 200_000 / (length + 200);
        let reduce = Call::combine(Action::Reduce, NumberType::U64, Op::Add, length, place);
        let sum = Operation::Reduce(NumberType::U64, Op::Add);
        let times = paired(
            node,
            many,
            &mut |node| {
                node.collective(reduce, Collective::InPlace(sum, bytemuck::cast_slice_mut(&mut values)))
            },
            &mut || world.all_reduce_into(&from[..], &mut to[..], SystemOperation::sum()),
        );
        print(node, &format!("reduce of {length} u64"), times);
        let scan = Call::combine(Action::Scan, NumberType::I64, Op::Add, length, place);
        let scanned =
            Operation::Scan(Scan { kind: NumberType::I64, op: Op::Add, backward: false, boundary: None });
        let (from, mut to) = (vec![1i64; length], vec![1i64; length]);
        let times = paired(
            node,
            many,
            &mut |node| {
                node.collective(scan, Collective::InPlace(scanned, bytemuck::cast_slice_mut(&mut values)))
            },
            &mut || world.scan_into(&from[..], &mut to[..], SystemOperation::sum()),
        );
        print(node, &format!("scan of {length} i64"), times);
        let broadcast = Call::moving(Action::Broadcast, 8, 0, length, place);
        let times = paired(
            node,
            many,
            &mut |node| node.broadcast(broadcast, 0, bytemuck::cast_slice_mut(&mut values)),
            &mut || world.process_at_rank(0).broadcast_into(&mut to[..]),
        );
        print(node, &format!("broadcast of {length} i64"), times);
    }
}
