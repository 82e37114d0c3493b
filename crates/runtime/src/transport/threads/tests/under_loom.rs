//! The transport itself under loom: the rendezvous with their slots and their count, the stages of
//! split-phase operations, leaving, failing, and who wakes whom.
//!
//! Node 0 is the model's main thread, the others have threads of their own; waits sleep at once.
//! Events are counted at node 0, while another node still has steps to do.

use super::super::Threads;
use super::super::explore::{Seen, explore, tests};
use super::super::job::{Job, RING};
use super::super::rendezvous::SHORT;
use super::super::sync::{AtomicU64, Ordering};
use super::{call, pause};
use crate::block::RawBlock;
use crate::number::{NumberType, Op};
use crate::transport::{
    Action, Awaited, Collective, Endpoint, Failure, Network, Networks, Operation, Packet, Part, Stop, Way,
};
use bytemuck::Zeroable;
use loom::thread;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// Words that need no loan, and that need one.
const FEW: usize = 1;
const MANY: usize = SHORT / 8 + 1;
/// What a node writes to its memory as soon as it has it back.
const USED_AGAIN: u64 = 99;

/// Runs `size` nodes, all but the first with the program `others`. If `eager`, each waits for the
/// others' slots, otherwise for the count. `prepare` makes what is created at first use, as loom
/// does not know the order given by `OnceLock`.
fn nodes(
    size: usize,
    (preemptions, eager, events): (Option<usize>, bool, &str),
    prepare: impl Fn(&Job) + Send + Sync + 'static,
    first: impl Fn(&mut Threads, &Seen) + Send + Sync + 'static,
    others: impl Fn(&mut Threads) + Clone + Send + Sync + 'static,
) {
    explore(preemptions, events, move |seen| {
        let job = Arc::new(Job::on_cores(size, if eager { size } else { 1 }));
        prepare(&job);
        let others: Vec<_> = (1..size)
            .map(|rank| {
                let (job, program) = (Arc::clone(&job), others.clone());
                seen.spawn(move || {
                    job.enter(rank);
                    program(&mut Threads::new(job, rank));
                })
            })
            .collect();
        job.enter(0);
        first(&mut Threads::new(job, 0), seen);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// As [`nodes`], with the same program on all; `seen` is for node 0.
fn alike(
    size: usize,
    preemptions: Option<usize>,
    eager: bool,
    events: &str,
    program: impl Fn(&mut Threads, Option<&Seen>) + Clone + Send + Sync + 'static,
) {
    let others = program.clone();
    nodes(
        size,
        (preemptions, eager, events),
        |_| {},
        move |node, seen| program(node, Some(seen)),
        move |node| others(node, None),
    );
}

const MET: &str = "rendezvous while the other node lives";

fn event(seen: Option<&Seen>) {
    if let Some(seen) = seen {
        seen.event();
    }
}

/// Gathers `words` words of each node, all with this value, and uses the node's own again.
fn gather(node: &mut Threads, value: u64, words: usize) -> (Vec<u64>, Vec<u64>) {
    let (mut mine, mut all) = (vec![value; words], vec![0; node.job.size() * words]);
    let (from, to) = (bytemuck::cast_slice(&mine), bytemuck::cast_slice_mut(&mut all));
    node.collective_by(Way::Usual, call(Action::AllGather), Collective::AllGather { mine: from, all: to });
    mine.fill(USED_AGAIN);
    (mine, all)
}

fn gathers(size: usize, preemptions: Option<usize>, eager: bool, words: &'static [usize]) {
    alike(size, preemptions, eager, MET, move |node, seen| {
        let mut kept = Vec::new();
        for (i, words) in words.iter().enumerate() {
            let value = |rank: usize| (10 * i + rank) as u64;
            let (mine, all) = gather(node, value(node.rank), *words);
            event(seen);
            assert_eq!(all, (0..size).flat_map(|rank| vec![value(rank); *words]).collect::<Vec<_>>());
            kept.push(mine);
        }
    });
}

tests! {
    /// Three, as the third is the first to use a slot again.
    loom_slots_are_used_again: gathers(2, Some(3), true, &[FEW; 3]);
    loom_slots_are_used_again_with_a_count: gathers(2, Some(3), false, &[FEW; 3]);
    loom_three_nodes_meet: gathers(3, Some(1), true, &[FEW; 2]);
    loom_three_nodes_meet_with_a_count: gathers(3, Some(2), false, &[FEW; 2]);
    loom_lent_memory_is_returned_when_all_have_read_it: gathers(2, Some(3), true, &[MANY]);
    loom_lent_memory_is_returned_when_all_have_read_it_with_a_count: gathers(2, Some(3), false, &[MANY]);
}

/// Runs split-phase operations on so many words, one after the other, and uses their memory again.
fn split(
    preemptions: Option<usize>,
    eager: bool,
    operations: &'static [(Operation, usize)],
    wait: fn(&mut Threads),
) {
    alike(2, preemptions, eager, MET, move |node, seen| {
        let mut kept = Vec::new();
        for (i, (operation, words)) in operations.iter().enumerate() {
            let value = (10 * i + node.rank + 1) as u64;
            let values = RawBlock::copy_of(bytemuck::cast_slice(&vec![value; *words]));
            node.start(call(Action::Reduce), *operation, values);
            while !node.test() {
                wait(node);
            }
            let mut result = node.finish();
            event(seen);
            let wanted = match operation {
                Operation::Broadcast(root) => 10 * i + root + 1,
                _ => 20 * i + 1 + 2,
            };
            assert_eq!(bytemuck::cast_slice::<u8, u64>(result.as_bytes()), vec![wanted as u64; *words]);
            result.words.fill(USED_AGAIN);
            kept.push(result);
        }
    });
}

const SUM: Operation = Operation::Reduce(NumberType::U64, Op::Add);
const BROADCAST: Operation = Operation::Broadcast(0);

fn tested(_: &mut Threads) {
    thread::yield_now();
}

fn asleep(node: &mut Threads) {
    pause(node, Awaited::Operation);
}

tests! {
    loom_split_phase_short_ones_in_a_row: split(Some(4), true, &[(SUM, FEW), (BROADCAST, FEW), (SUM, FEW)], tested);
    loom_split_phase_short_ones_in_a_row_with_a_count: split(Some(4), false, &[(SUM, FEW), (BROADCAST, FEW), (SUM, FEW)], tested);
    loom_split_phase_short_ones_asleep: split(Some(4), true, &[(SUM, FEW), (SUM, FEW)], asleep);
    loom_split_phase_broadcast_of_lent_memory: split(None, true, &[(BROADCAST, MANY)], tested);
    loom_split_phase_broadcast_of_lent_memory_with_a_count_asleep: split(Some(4), false, &[(BROADCAST, MANY)], asleep);
    loom_split_phase_sum_of_lent_memory_then_a_short_one: split(Some(4), true, &[(SUM, MANY), (SUM, FEW)], tested);
}

/// Whether `wait` returned, instead of unwinding because the job has ended.
fn returned(wait: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(wait)) {
        Ok(()) => true,
        Err(payload) if payload.is::<Stop>() => false,
        Err(payload) => resume_unwind(payload),
    }
}

/// A node that arrives and leaves has arrived, however early it is seen to have left.
fn arrives_and_leaves(eager: bool, words: usize) {
    nodes(
        2,
        (Some(3), eager, MET),
        |_| {},
        move |node, seen| {
            assert!(returned(|| drop(gather(node, 1, words))), "{:?}", node.job.failure());
            seen.event();
        },
        move |node| {
            gather(node, 2, words);
            node.leave();
        },
    );
}

tests! {
    loom_a_node_arrives_and_leaves: arrives_and_leaves(true, FEW);
    loom_a_node_arrives_and_leaves_with_a_count: arrives_and_leaves(false, FEW);
    loom_a_node_ends_a_loan_and_leaves: arrives_and_leaves(true, MANY);
}

/// A node that starts an operation and leaves has arrived, too: a node that lends its memory finds
/// the rendezvous complete, and the calls different. What the first has lent outlives it.
#[test]
fn loom_a_node_starts_an_operation_and_leaves() {
    nodes(
        2,
        (Some(3), true, "ends of a wait while the other node leaves"),
        |_| {},
        |node, seen| {
            assert!(!returned(|| drop(gather(node, 1, MANY))));
            seen.event();
            let failure = node.job.failure().unwrap();
            assert!(failure.message.starts_with("split-phase"), "{failure:?}");
        },
        |node| {
            node.start(call(Action::Reduce), SUM, RawBlock::zeroed(8 * MANY));
            node.leave();
        },
    );
}

/// A node that leaves without arriving is named, whether or not memory is lent to it.
fn leaves(eager: bool, words: usize) {
    nodes(
        2,
        (None, eager, "ends of a wait while the other node leaves"),
        |_| {},
        move |node, seen| {
            assert!(!returned(|| drop(gather(node, 1, words))));
            seen.event();
            let failure = node.job.failure().unwrap();
            assert_eq!(failure.rank, 1, "{failure:?}");
        },
        Endpoint::leave,
    );
}

tests! {
    loom_a_node_leaves_without_arriving: leaves(true, FEW);
    loom_a_node_leaves_without_arriving_with_a_count: leaves(false, FEW);
    loom_a_node_leaves_without_arriving_at_a_loan: leaves(true, MANY);
}

#[test]
fn loom_all_have_left() {
    nodes(
        2,
        (None, true, "waits while the other node lives"),
        |_| {},
        |node, seen| {
            node.leave();
            while !node.all_left() {
                seen.event();
                pause(node, Awaited::AllLeft);
            }
        },
        Endpoint::leave,
    );
}

/// Memory that nodes share is written without an order of its own; sleeping and leaving give it one.
#[test]
fn loom_what_a_node_wrote_before_it_left_is_visible() {
    explore(None, "nodes found alone before the other is joined", |seen| {
        let (job, word) = (Arc::new(Job::on_cores(2, 2)), Arc::new(AtomicU64::new(0)));
        let other = {
            let (job, word) = (Arc::clone(&job), Arc::clone(&word));
            seen.spawn(move || {
                word.store(1, Ordering::Relaxed);
                job.mark_gone(1);
            })
        };
        let mut waits = None;
        // Lets the other node run: loom switches threads at such operations.
        let _ = job.all_left();
        job.polled(0, &call(Action::WaitUntil), 0, &mut waits);
        if waits.is_some() {
            seen.before_join();
            assert_eq!(word.load(Ordering::Relaxed), 1);
        }
        other.join().unwrap();
    });
}

/// A failure elsewhere wakes a node that waits for something else, with the failure visible.
#[test]
fn loom_a_failure_wakes_the_others() {
    nodes(
        2,
        (None, true, "ends of a wait while the other node fails"),
        |_| {},
        |node, seen| {
            assert!(!returned(|| drop(gather(node, 1, FEW))));
            seen.event();
            assert_eq!(node.job.failure().unwrap().message, "fails");
        },
        |node| node.job.record(Failure { rank: 1, message: "fails".to_owned() }),
    );
}

fn packet(i: usize) -> Packet {
    Packet::new(0, Part::Whole, i, &[i as u8; 8])
}

/// The queue of node 0's requests.
fn requests(job: &Job) {
    job.packets(0, Network::Request);
}

/// One packet more than the queue holds: the sender sleeps for room, the receiver for packets.
#[test]
fn loom_packets_and_room_for_them_are_waited_for() {
    nodes(
        2,
        (Some(3), true, "packets received while their sender lives"),
        requests,
        |node, seen| {
            let mut found = Packet::zeroed();
            for i in 0..=RING {
                while !node.try_receive(Network::Request, &mut found) {
                    pause(node, Awaited::Packet);
                }
                seen.event();
                assert_eq!((found.whole, found.bytes()), (i as u64, packet(i).bytes()));
            }
            node.notify_room();
        },
        |node| {
            for i in 0..=RING {
                while !node.try_send(Network::Request, 0, &packet(i)) {
                    pause(node, Awaited::Room(Network::Request, 0));
                }
            }
        },
    );
}

/// A packet that a poll misses rings the doorbell that was silenced before the poll.
#[test]
fn loom_a_packet_is_polled_or_rings() {
    nodes(
        2,
        (None, true, "packets missed by a poll while their sender lives"),
        requests,
        |node, seen| {
            let bell = node.extras().process.unwrap().doorbell().unwrap();
            bell.silence();
            if node.try_receive(Network::Request, &mut Packet::zeroed()) {
                return;
            }
            seen.event();
            // The sender's last step is to ring.
            while !bell.is_rung() {
                thread::yield_now();
            }
            bell.silence();
            assert!(node.try_receive(Network::Request, &mut Packet::zeroed()));
        },
        |node| assert!(node.try_send(Network::Request, 0, &packet(1))),
    );
}

/// A put wakes the node that sleeps until bytes have arrived.
#[test]
fn loom_a_put_wakes_its_receiver() {
    nodes(
        2,
        (None, true, "puts reported while their writer lives"),
        |job| assert!(job.ports(0).open(1, RawBlock::zeroed(2)).is_ok()),
        |node, seen| {
            let mut arrived = 0;
            while arrived == 0 {
                node.arrivals(Networks::Both, &mut |port, bytes| {
                    assert_eq!(port, 1);
                    arrived = bytes;
                });
                if arrived == 0 {
                    pause(node, Awaited::Packet);
                }
            }
            seen.event();
            assert_eq!(arrived, 2);
            assert_eq!(node.close(1).unwrap().as_bytes(), [7, 8]);
        },
        |node| node.put_by(Way::Usual, &call(Action::Put), 0, 1, 0, [7u8, 8].as_slice().into()),
    );
}
