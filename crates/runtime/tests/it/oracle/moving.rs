//! Ports, transfers and patterns against what each node can compute of the others.

use super::{mix, same};
use std::cell::Cell;
use std::rc::Rc;
use strata_runtime::node::{Pacing, Transfer};
use strata_runtime::patterns::{Schedule, all_to_all, cyclic_shift, hypercube, unknown_targets};
use strata_runtime::prelude::*;

pub(crate) fn patterns(node: &mut Node, seed: u64, length: usize) {
    let (rank, size) = (node.rank(), node.size());
    let input =
        |node: usize, length: usize| (0..length).map(|i| mix(seed, node, i) as u32).collect::<Vec<u32>>();

    for distance in [0, 1, -1, mix(seed, 0, 1) as isize % 100] {
        let from = (rank as isize - distance).rem_euclid(size as isize) as usize;
        let received = cyclic_shift(node, distance, &input(rank, length), Block::default());
        same(&received, &input(from, length), "cyclic_shift");
    }

    let wanted: Vec<u32> = (0..size)
        .flat_map(|from| input(from, length * size)[rank * length..(rank + 1) * length].to_vec())
        .collect();
    let mut memory = Block::default();
    for schedule in Schedule::ALL {
        memory = all_to_all(node, &input(rank, length * size), memory, schedule);
        same(&memory, &wanted, &format!("all_to_all {schedule:?}"));
    }

    if size.is_power_of_two() {
        let mut sums = input(rank, length);
        hypercube(node, &mut sums, |_, mine, theirs| {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a = a.wrapping_add(*b));
        });
        let mut wanted = vec![0u32; length];
        for other in 0..size {
            wanted.iter_mut().zip(input(other, length)).for_each(|(a, b)| *a = a.wrapping_add(b));
        }
        same(&sums, &wanted, "hypercube");
    }

    // Up to four slices a node, of uneven lengths; most of them to node 0.
    let slices = |from: usize| {
        (0..mix(seed, from, 2) as usize % 5)
            .map(|i| {
                let to = mix(seed, from, 10 + i) as usize % (2 * size);
                let length = mix(seed, from, 20 + i) as usize % (length + 1);
                (if to < size { to } else { 0 }, input(from * 5 + i, length))
            })
            .collect::<Vec<_>>()
    };
    let mine = slices(rank);
    let mine: Vec<(usize, &[u32])> = mine.iter().map(|(to, slice)| (*to, slice.as_slice())).collect();
    let received = unknown_targets(node, &mine);
    for from in 0..size {
        let wanted: Vec<u32> =
            slices(from).into_iter().filter(|(to, _)| *to == rank).flat_map(|(_, slice)| slice).collect();
        same(received.from(from), &wanted, "unknown_targets");
    }
    assert!(received.from(size).is_empty());
}

pub(crate) fn ports(node: &mut Node, seed: u64, length: usize) {
    let (rank, size) = (node.rank(), node.size());
    let part =
        |from: usize, to: usize| (0..length).map(|i| mix(seed, from * size + to, i)).collect::<Vec<u64>>();
    let announced = Rc::new(Cell::new(0));
    let mut handlers = node.handlers();
    let announce = handlers.request({
        let announced = Rc::clone(&announced);
        move |_, ()| announced.set(announced.get() + 1)
    });
    node.install(handlers);

    // Everyone writes into everyone's port, headers before, between and after the data; slowly and
    // in turn.
    let completed = Rc::new(Cell::new(0));
    node.open_port(7, Block::<u64>::zeroed(length * size));
    node.port_user(7)[4] = 44;
    node.on_complete(7, {
        let completed = Rc::clone(&completed);
        move |port| {
            assert_eq!((port.port(), port.user()[4]), (7, 44));
            completed.set(completed.get() + 1);
        }
    });
    node.barrier();
    let pacing = Pacing::matched(Default::default(), Default::default(), 2);
    node.set_pacing((seed % 2 == 1).then_some(pacing));
    let header_first = mix(seed, rank, 3).is_multiple_of(2);
    let transfers: Vec<Transfer<u64>> = (0..size)
        .map(|to| {
            if header_first {
                node.send_header::<u64>(to, 7, length);
            }
            node.start_transfer(to, 7, rank * length, Block::from_slice(&part(rank, to)))
        })
        .collect();
    node.service_transfers(1);
    if mix(seed, rank, 4).is_multiple_of(2) {
        node.complete_transfers();
    }
    for (to, transfer) in transfers.into_iter().enumerate() {
        let block = node.complete_transfer(transfer);
        same(&block, &part(rank, to), "a block that comes back");
        if !header_first {
            node.send_header::<u64>(to, 7, length);
        }
    }
    // Headers are messages and keep their order among others; the count may have been zero in
    // between.
    (0..size).for_each(|to| node.send(to, announce, ()));
    node.wait_until(|| announced.get() == size);
    while node.port_count(7) != 0 {
        node.poll();
    }
    assert!(completed.get() > 0);
    node.barrier();
    let wanted: Vec<u64> = (0..size).flat_map(|from| part(from, rank)).collect();
    same(&node.close_port::<u64>(7), &wanted, "what arrived in a port");
    node.set_pacing(None);

    // A count set by the receiver; the data by one put from the node before.
    node.open_port(4079, Block::<u64>::zeroed(length + 1));
    node.expect::<u64>(4079, length);
    node.barrier();
    node.put((rank + 1) % size, 4079, 1, &part(rank, 0));
    node.wait_for_port(4079);
    let from = (rank + size - 1) % size;
    same(&node.close_port::<u64>(4079)[1..], &part(from, 0), "a put");
    node.barrier();
    if seed.is_multiple_of(2) {
        either(node, seed, length);
    }
}

/// Messages on either network, short and long, among requests; and blocks whose header names a
/// handler, put with polls.
fn either(node: &mut Node, seed: u64, length: usize) {
    let (rank, size) = (node.rank(), node.size());
    let count = 3 + length % 11;
    let (short, long, complete) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let mut handlers = node.handlers();
    let add = handlers.reply({
        let short = Rc::clone(&short);
        move |_, value: u64| short.set(short.get() + value)
    });
    let many = handlers.reply({
        let long = Rc::clone(&long);
        move |context: &strata_runtime::message::Replied, values: [u64; 30]| {
            assert!(values.iter().all(|value| *value == context.from() as u64));
            long.set(long.get() + 1);
        }
    });
    let done = handlers.reply({
        let complete = Rc::clone(&complete);
        move |_, port: u64| {
            assert_eq!(port, 12);
            complete.set(complete.get() + 1);
        }
    });
    let ask = handlers.request(move |context, value: u64| context.reply(add, value));
    // Bytes go to a node and come back reversed, between the others' packets.
    let reversed = Rc::new(Cell::new(0));
    let bytes = move |from: usize, number: u64| -> Vec<u8> {
        let length = [0, 1, 55, 56, 57, 120, 121, 3_960, 4_000, 9_000][number as usize % 10] + length;
        (0..length).map(|i| mix(seed, from + 3 * number as usize, i) as u8).collect()
    };
    let came_back = handlers.reply_with_bytes({
        let reversed = Rc::clone(&reversed);
        move |_, number: u64, back: &[u8]| {
            assert!(back.iter().rev().eq(&bytes(rank, number)), "bytes {number}");
            reversed.set(reversed.get() + 1);
        }
    });
    let reverse = handlers.request_with_bytes(move |context, number: u64, there: &[u8]| {
        assert_eq!(there, bytes(context.from(), number));
        let back: Vec<u8> = there.iter().rev().copied().collect();
        context.reply_with_bytes(came_back, number, &back);
    });
    let overtook = Rc::new(Cell::new(0));
    let overtake = handlers.reply_with_bytes({
        let overtook = Rc::clone(&overtook);
        move |context: &strata_runtime::message::Replied, number: u64, there: &[u8]| {
            assert_eq!(there, bytes(context.from(), number));
            overtook.set(overtook.get() + 1);
        }
    });
    let announced = Rc::new(Cell::new(0));
    let announce = handlers.request({
        let announced = Rc::clone(&announced);
        move |_, ()| announced.set(announced.get() + 1)
    });
    node.install(handlers);
    node.open_port(12, Block::<u64>::zeroed(length * size));
    node.barrier();
    for i in 0..count {
        for to in 0..size {
            node.send_either(to, add, 1u64);
            node.send_either(to, many, [rank as u64; 30]);
            node.send_with_bytes(to, reverse, i as u64, &bytes(rank, i as u64));
            node.send_either_with_bytes(to, overtake, i as u64, &bytes(rank, i as u64));
            if mix(seed, i, to).is_multiple_of(2) {
                node.send(to, ask, 0u64);
            }
        }
    }
    let part =
        |from: usize, to: usize| (0..length).map(|i| mix(seed, from * size + to, i)).collect::<Vec<u64>>();
    for to in 0..size {
        if rank % 2 == 0 {
            node.send_header_then::<u64>(to, 12, length, done);
        }
        node.put_and_poll(to, 12, rank * length, &part(rank, to));
        if rank % 2 == 1 {
            node.send_header_then::<u64>(to, 12, length, done);
        }
    }
    node.wait_until(|| short.get() == (count * size) as u64 && long.get() == count * size);
    node.wait_until(|| reversed.get() == count * size && overtook.get() == count * size);
    // Headers are messages and keep their order among others.
    (0..size).for_each(|to| node.send(to, announce, ()));
    node.wait_until(|| announced.get() == size);
    while node.port_count(12) != 0 {
        node.poll();
    }
    assert!(length == 0 || complete.get() > 0, "the named handler runs");
    node.barrier();
    let wanted: Vec<u64> = (0..size).flat_map(|from| part(from, rank)).collect();
    same(&node.close_port::<u64>(12), &wanted, "what was put with polls");
    // Blocks that go back to a function.
    let back = Rc::new(Cell::new(0));
    node.open_port(13, Block::<u64>::zeroed(length * size));
    node.expect::<u64>(13, length * size);
    node.barrier();
    for to in 0..size {
        let back = Rc::clone(&back);
        let block = Block::from_slice(&part(rank, to));
        node.start_transfer_then(to, 13, rank * length, block, move |block| {
            back.set(back.get() + block.len() + 1)
        });
    }
    node.complete_transfers();
    assert_eq!(back.get(), size * (length + 1));
    if length > 0 {
        node.wait_for_port(13);
    }
    same(&node.close_port::<u64>(13), &wanted, "transfers with functions");
}
