//! Packets, puts and started collectives, as `Node` calls them, under `mpirun`.
//!
//! The only test restarts this test program for each case; there `node` runs the case. It asserts
//! on the nodes; a failed assertion ends the job.

#[path = "../../../tests/mpirun/mod.rs"]
mod mpirun;

use super::*;
use crate::number::{NumberType, Op};
use crate::transport::Part;
use crate::transport::tests::{self as suite, Case, bad, call, complete, good, until};
use mpirun::{CASE, Job};
use std::time::{Duration, Instant};

/// Cases only for MPI.
const OWN: [Case; 7] = [
    good("short broadcasts from every root, among other collectives", 1, broadcasts),
    bad("short broadcasts of unlike lengths", unlike_lengths, &["but node 0 called broadcast"]),
    bad("a broadcast after one of two roots", two_roots, &["but node 0 called broadcast"]),
    good("started and whole collectives overlap", 1, overlap),
    good("a packet waits while very many are sent", 2, waits_long),
    good("requests wait for room for a reply", 2, wait_for_replies),
    bad("a process that is killed ends the job", killed, &[]),
];

fn cases() -> impl Iterator<Item = &'static Case> {
    suite::cases().chain(&OWN)
}

/// The name of the set of all cases that must succeed.
const ALL: &str = "all";

/// One node; only under `mpirun`.
#[test]
#[ignore = "the test `under_mpirun` starts it"]
fn node() {
    let Ok(name) = std::env::var(CASE) else { return };
    // Twice: a second program of one process continues after the first.
    for case in cases().chain(cases()) {
        let runs = if name == ALL { case.fails_with.is_none() } else { case.name == name };
        let ended = run(|mut node, _| {
            if runs && node.size() >= case.least {
                if node.rank() == 0 {
                    println!("{}", case.name);
                }
                (case.run)(&mut *node);
            }
            Ok(())
        });
        assert!(ended.is_ok());
    }
    if name == ALL {
        let ended = run(|node, _| {
            // Words on one host depend on the placement of processes, and one-sided ones on the MPI
            // library.
            let offers = suite::offers::alone_and_observed(node);
            assert!(offers.ends_with(&["library", "prepared", "prepared_pieces"]), "{offers:?}");
            Ok(())
        });
        assert!(ended.is_ok());
    }
    println!("to the end");
}

#[test]
fn under_mpirun() {
    if !mpirun::is_there() {
        println!("skipped: there is no mpirun");
        return;
    }
    let drive = |name: &str, nodes: usize, says: Option<&[&str]>| {
        let checks = if nodes.is_multiple_of(2) { "0" } else { "1" };
        let arguments =
            ["--exact", "transport::mpi::tests::node", "--ignored", "--nocapture", "--test-threads=1"];
        let outcome = mpirun::run(name, nodes, &arguments, &[("STRATA_CHECK", checks)])?;
        match says {
            Some(says) => outcome.failed_with(says),
            None => outcome.succeeded().and_then(|()| match outcome.out.matches("to the end").count() {
                ended if ended == nodes => Ok(()),
                _ => outcome.wrong("not all nodes came to the end"),
            }),
        }
    };
    let jobs = mpirun::nodes(&[1, 2, 3, 4, 5, 8]).into_iter().flat_map(|nodes| {
        let failing = cases().filter(move |case| case.fails_with.is_some() && (2..=3).contains(&nodes));
        let failing = failing.map(|case| (case.name, case.fails_with));
        failing
            .chain([(ALL, None)])
            .map(move |(name, says)| Job::new(name, nodes, move || drive(name, nodes, says)))
    });
    let wrong: Vec<String> = mpirun::run_all(jobs.collect()).into_iter().map(|(_, what)| what).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn killed(node: &mut dyn Endpoint) {
    if node.rank() == 1 {
        // Simulates a `kill -9` from outside.
        let own = nix::unistd::Pid::this();
        nix::sys::signal::kill(own, nix::sys::signal::Signal::SIGKILL).unwrap();
    }
    until(node, |_, _| false);
}

/// Broadcasts `value` as so many words, and returns what arrived.
fn broadcast(node: &mut dyn Endpoint, root: usize, length: usize, value: u64) -> Vec<u64> {
    let mut words = vec![value; length];
    let call = Call::moving(Action::Broadcast, 8, root, length, Location::caller());
    let values = bytemuck::cast_slice_mut(&mut words);
    node.collective(call, Collective::InPlace(Operation::Broadcast(root), values));
    words
}

/// Nodes run ahead of each other by different amounts.
fn broadcasts(node: &mut dyn Endpoint) {
    let (rank, size) = (node.rank(), node.size());
    for number in 0..200_usize {
        let (root, length) = (number * 7 % size, 1 + number % 25);
        let value = (1000 * number + rank) as u64;
        let expected = vec![(1000 * number + root) as u64; length];
        assert_eq!(broadcast(node, root, length, value), expected, "{number}");
        if number % 13 == 0 {
            node.barrier(call(Action::Barrier));
        }
    }
}

fn unlike_lengths(node: &mut dyn Endpoint) {
    let length = if node.rank() == 0 { 3 } else { 2 };
    broadcast(node, 0, length, 0);
}

/// What the wrong root sent is not taken for the next broadcast.
fn two_roots(node: &mut dyn Endpoint) {
    broadcast(node, 0, 1, 0); // The first of a job compares all calls.
    let root = node.rank().min(1);
    broadcast(node, root, 1, 1);
    assert_eq!(broadcast(node, 0, 1, 2), [2], "a wrong value");
}

/// A collective is started, others run whole, then the first is finished.
fn overlap(node: &mut dyn Endpoint) {
    let (rank, size) = (node.rank(), node.size() as u64);
    let place = Location::caller();
    for length in [1, 2, 5000] {
        let mut block = RawBlock::zeroed(8 * length);
        block.words.fill(rank as u64 + 1);
        let reduce = Call::combine(Action::Reduce, NumberType::U64, Op::Add, length, place);
        node.start(reduce, Operation::Reduce(NumberType::U64, Op::Add), block);
        let mut ones = vec![1u64; length];
        let sum = Operation::Reduce(NumberType::U64, Op::Add);
        node.collective(reduce, Collective::InPlace(sum, bytemuck::cast_slice_mut(&mut ones)));
        assert_eq!(ones, vec![size; length]);
        node.barrier(call(Action::Barrier));
        complete(node);
        assert_eq!(node.finish().words, vec![size * (size + 1) / 2; length]);
    }
}

/// Sends a packet with a number to node 0 or 1, without receiving any.
fn send(node: &mut dyn Endpoint, network: Network, value: u64) {
    let to = 1 - node.rank();
    while !node.try_send(network, to, &Packet::new(0, Part::Whole, 0, &value.to_ne_bytes())) {
        node.pause(&call(Action::Send), Networks::Only(network), Awaited::Room(network, to));
    }
}

/// Node 0 takes no reply until as many are in flight as possible, and then one each time it sends
/// another request. Node 1 takes no request while it owes a reply, as nodes do, so the count of
/// replies taken by node 0 must reach it in another way.
fn wait_for_replies(node: &mut dyn Endpoint) {
    const ROOM: u64 = 64;
    const REPLIES: u64 = 2 * ROOM;
    let mut packet = Packet::new(0, Part::Whole, 0, &[]);
    match node.rank() {
        0 => {
            for _ in 0..2 {
                // Half of them have no reply, so that another message reports the room for more.
                (0..ROOM).for_each(|number| send(node, Network::Request, u64::from(number < ROOM / 2)));
                let end = Instant::now() + Duration::from_millis(100);
                while Instant::now() < end {
                    node.pause(&call(Action::WaitUntil), Networks::Both, Awaited::Packet);
                }
            }
            let mut taken = 0;
            for _ in 0..ROOM {
                send(node, Network::Request, 1);
                taken += u64::from(node.try_receive(Network::Reply, &mut packet));
            }
            until(node, |_, arrived| {
                taken += u64::from(arrived.is_some());
                taken == REPLIES
            });
        }
        1 => {
            let (mut replied, mut owed) = (0, 0);
            while replied < REPLIES {
                if owed > 0 && node.try_send(Network::Reply, 0, &packet) {
                    (replied, owed) = (replied + 1, 0);
                } else if owed == 0 && node.try_receive(Network::Request, &mut packet) {
                    owed = u64::from_ne_bytes(packet.bytes().try_into().unwrap());
                } else if !node.try_receive(Network::Reply, &mut packet) {
                    node.pause(&call(Action::WaitUntil), Networks::Only(Network::Reply), Awaited::Packet);
                }
            }
        }
        _ => {}
    }
}

/// A packet that has waited long carries an old count: more than half of 2^16 packets are sent
/// before it is taken, and then more than may be in flight.
fn waits_long(node: &mut dyn Endpoint) {
    const MANY: u64 = 40_000;
    const MORE: u64 = 1000;
    let expect = |node: &mut dyn Endpoint, count| {
        let mut next = 0u64;
        until(node, |_, arrived| {
            if let Some(arrived) = arrived {
                assert_eq!(*arrived.bytes(), next.to_ne_bytes());
                next += 1;
            }
            next == count
        });
    };
    match node.rank() {
        0 => {
            (0..MANY).for_each(|value| send(node, Network::Reply, value));
            expect(node, 1);
            (MANY..MANY + MORE).for_each(|value| send(node, Network::Reply, value));
        }
        1 => {
            send(node, Network::Request, 0);
            expect(node, MANY + MORE);
        }
        _ => {}
    }
}
