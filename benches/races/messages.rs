//! Messages, blocks and split-phase collectives of two nodes, compared with the machine without
//! Strata: on `mpi` the raw calls of the same length, on `threads` a plain copy of memory. Both
//! sides run in the same program, alternating.
//!
//!     cargo bench -p strata-benches --features mpi --bench messages
//!
//! Without the feature only `threads` runs.

use std::cell::Cell;
use std::convert::Infallible;
use std::hint::black_box;
use std::rc::Rc;

#[cfg(feature = "mpi")]
use mpi::{collective::SystemOperation, topology::SimpleCommunicator, traits::*};
use serde_json::{Value, json};
use strata_benches::{NoArguments, Timings, columns, machine};
use strata_runtime::message::{Reply, Request};
use strata_runtime::prelude::*;

const ROUNDS: usize = 200;

/// 1 MiB of words, and 64 KiB.
const MEBIBYTE: usize = 1 << 17;
const REDUCED: usize = 1 << 13;

strata_benches::main!(|_: &NoArguments| {
    #[cfg(feature = "mpi")]
    if strata_benches::is_rank() {
        return inside();
    }
    outside()
});

fn outside() -> Result<(), String> {
    println!("{}\n{ROUNDS} rounds; 2 nodes; median (10 % to 90 %) of one operation\n", machine());
    columns("transport | operation | strata | peer | its time | ratio");
    let mut results = Vec::new();
    let races = Machine::threads(2).and_then(|m| m.run(|node| Ok(races(node, Peer::Memory))));
    if let Some(races) = races.map_err(|e| e.to_string())?.first() {
        results.extend(races.iter().map(|race| race.print("threads")));
    }
    #[cfg(feature = "mpi")]
    results.extend(strata_benches::mpirun(2)?);
    strata_benches::summary(&json!({ "bench": "messages", "results": results }));
    Ok(())
}

#[cfg(feature = "mpi")]
fn inside() -> Result<(), String> {
    let run = strata_runtime::launch(|node| {
        let races = races(node, Peer::Mpi(SimpleCommunicator::world()));
        if node.rank() == 0 {
            races.iter().for_each(|race| strata_benches::hand_over(&race.print("mpi")));
        }
        Ok(())
    });
    run.map(drop).map_err(|e| e.to_string())
}

/// What Strata is compared with.
enum Peer {
    Memory,
    #[cfg(feature = "mpi")]
    Mpi(SimpleCommunicator),
}

/// One operation's timings on node 0.
struct Race {
    name: &'static str,
    ours: Timings,
    /// The peer's name and timings, if it has such an operation.
    peer: Option<(&'static str, Timings)>,
    /// The share of the operation that work beside it hides, and the share that the calls leave to
    /// be hidden, in place of the ratio.
    hidden: Option<[f64; 2]>,
}

impl Race {
    /// Prints its row; returns it for the summary.
    fn print(&self, transport: &str) -> Value {
        let (peer, time) = match &self.peer {
            Some((name, timings)) => ((*name).to_owned(), timings.to_string()),
            None => ("-".into(), "-".into()),
        };
        let ratio = self.peer.as_ref().filter(|_| self.hidden.is_none());
        let ratio = ratio.map(|(_, timings)| self.ours.median() / timings.median());
        let last = match (self.hidden, ratio) {
            (Some([share, can_be]), _) => format!("{:.0} % hidden of {:.0} %", 100.0 * share, 100.0 * can_be),
            (None, Some(ratio)) => format!("{ratio:.3}"),
            (None, None) => "-".into(),
        };
        println!("| {transport} | {} | {} | {peer} | {time} | {last} |", self.name, self.ours);
        json!({
            "transport": transport, "operation": self.name, "seconds": self.ours.median(),
            "ratio": ratio, "hidden": self.hidden.map(|[share, _]| share),
            "can_be_hidden": self.hidden.map(|[_, can_be]| can_be),
        })
    }
}

type Contestant<'a> = &'a mut dyn FnMut(&mut Node);

/// Times `batch` operations of ours, and of the peer's if any, alternating. Each contestant does
/// the whole batch.
fn race<'a>(
    node: &mut Node,
    name: &'static str,
    batch: usize,
    ours: Contestant<'a>,
    peer: Option<(&'static str, Contestant<'a>)>,
) -> Race {
    let (peer, mut contestants) = match peer {
        Some((name, contestant)) => (Some(name), vec![ours, contestant]),
        None => (None, vec![ours]),
    };
    let timings = strata_benches::race(0..ROUNDS + 5, 5, contestants.len(), |_, who| {
        node.barrier();
        let start = node.now().get();
        contestants[who](node);
        Ok::<_, Infallible>((node.now().get() - start) / batch as f64)
    });
    let mut timings = timings.into_iter().flatten();
    let ours = timings.next().unwrap_or_default();
    Race { name, ours, peer: peer.zip(timings.next()), hidden: None }
}

/// State shared by handlers and program.
struct Post {
    ping: Request<u64>,
    note: Request<[u64; 2]>,
    /// The last word that came back, and words that came.
    back: Rc<Cell<u64>>,
    came: Rc<Cell<u64>>,
}

fn install(node: &mut Node) -> Post {
    let (back, came) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let mut handlers = node.handlers();
    let pong: Reply<u64> = handlers.reply({
        let back = Rc::clone(&back);
        move |_, word| back.set(word)
    });
    let ping = handlers.request({
        let came = Rc::clone(&came);
        move |context, word: u64| {
            came.set(came.get() + 1);
            context.reply(pong, word);
        }
    });
    let note = handlers.request({
        let came = Rc::clone(&came);
        move |context, [word, end]: [u64; 2]| {
            came.set(came.get() + 1);
            if word == end {
                context.reply(pong, word);
            }
        }
    });
    node.install(handlers);
    Post { ping, note, back, came }
}

fn races(node: &mut Node, peer: Peer) -> Vec<Race> {
    let mut all = collectives(node, &peer);
    let post = install(node);
    all.push(round_trip(node, &post, &peer));
    all.push(stream(node, &post, &peer));
    all.push(race(
        node,
        "empty poll",
        10_000,
        &mut |node| (0..10_000).for_each(|_| assert_eq!(black_box(node.poll_once()), 0)),
        None,
    ));
    all.push(put(node, &peer));
    all
}

fn round_trip(node: &mut Node, post: &Post, peer: &Peer) -> Race {
    const BATCH: u64 = 100;
    let (mut number, mut expected) = (0, post.came.get());
    let mut ours = |node: &mut Node| {
        if node.rank() == 0 {
            for _ in 0..BATCH {
                number += 1;
                node.send(1, post.ping, number);
                node.wait_until(|| post.back.get() == number);
            }
        } else {
            // The first block may arrive before this point, so the expected count only grows.
            expected += BATCH;
            node.wait_until(|| post.came.get() == expected);
        }
    };
    let name = "round trip of 8 B";
    match peer {
        Peer::Memory => race(node, name, BATCH as usize, &mut ours, None),
        #[cfg(feature = "mpi")]
        Peer::Mpi(world) => {
            let mut raw = |node: &mut Node| {
                let other = world.process_at_rank(1 - node.rank() as i32);
                let mut word = [7u64];
                for _ in 0..BATCH {
                    if node.rank() == 0 {
                        other.send(&word[..]);
                        other.receive_into(&mut word[..]);
                    } else {
                        other.receive_into(&mut word[..]);
                        other.send(&word[..]);
                    }
                }
            };
            race(node, name, BATCH as usize, &mut ours, Some(("MPI_Send, MPI_Recv", &mut raw)))
        }
    }
}

fn stream(node: &mut Node, post: &Post, peer: &Peer) -> Race {
    const BATCH: u64 = 1000;
    let (mut number, mut expected) = (0, post.came.get());
    let mut ours = |node: &mut Node| {
        if node.rank() == 0 {
            let end = number + BATCH;
            while number < end {
                number += 1;
                node.send(1, post.note, [number, end]);
            }
            node.wait_until(|| post.back.get() == end);
        } else {
            // The first block may arrive before this point, so the expected count only grows.
            expected += BATCH;
            node.wait_until(|| post.came.get() == expected);
        }
    };
    let name = "streamed message of 16 B";
    match peer {
        Peer::Memory => race(node, name, BATCH as usize, &mut ours, None),
        #[cfg(feature = "mpi")]
        Peer::Mpi(world) => {
            let mut raw = |node: &mut Node| {
                let other = world.process_at_rank(1 - node.rank() as i32);
                let mut words = [7u64; 2];
                for _ in 0..BATCH {
                    if node.rank() == 0 {
                        other.send(&words[..]);
                    } else {
                        other.receive_into(&mut words[..]);
                    }
                }
                if node.rank() == 0 {
                    other.receive_into(&mut words[..]);
                } else {
                    other.send(&words[..]);
                }
            };
            race(node, name, BATCH as usize, &mut ours, Some(("MPI_Send, MPI_Recv", &mut raw)))
        }
    }
}

/// Node 0 writes, node 1 waits for the data; then one word is sent back.
fn put(node: &mut Node, peer: &Peer) -> Race {
    const BATCH: usize = 10;
    let data = vec![3u64; MEBIBYTE];
    let mut memory = vec![1u64; MEBIBYTE];
    node.open_port(1, Block::<u64>::zeroed(MEBIBYTE));
    node.open_port(2, Block::<u64>::zeroed(1));
    node.barrier();
    let mut ours = |node: &mut Node| {
        if node.rank() == 0 {
            node.expect::<u64>(2, 1);
            (0..BATCH).for_each(|_| node.put(1, 1, 0, &data));
            node.wait_for_port(2);
        } else {
            node.expect::<u64>(1, BATCH * MEBIBYTE);
            node.wait_for_port(1);
            node.put(0, 2, 0, &[1u64]);
        }
    };
    let name = "put of 1 MiB";
    let race = match peer {
        Peer::Memory => {
            let mut copy = |node: &mut Node| {
                if node.rank() == 0 {
                    (0..BATCH).for_each(|_| black_box(&mut memory).copy_from_slice(black_box(&data)));
                }
            };
            race(node, name, BATCH, &mut ours, Some(("copy_from_slice", &mut copy)))
        }
        #[cfg(feature = "mpi")]
        Peer::Mpi(world) => {
            let mut raw = |node: &mut Node| {
                let other = world.process_at_rank(1 - node.rank() as i32);
                for _ in 0..BATCH {
                    if node.rank() == 0 {
                        other.send(&data[..]);
                    } else {
                        other.receive_into(&mut memory[..]);
                    }
                }
                if node.rank() == 0 {
                    other.receive_into(&mut memory[..1]);
                } else {
                    other.send(&data[..1]);
                }
            };
            race(node, name, BATCH, &mut ours, Some(("MPI_Send, MPI_Recv", &mut raw)))
        }
    };
    let arrived = node.close_port::<u64>(1);
    assert!(node.rank() == 0 || arrived.iter().all(|word| *word == 3), "not all of it has arrived");
    node.close_port::<u64>(2);
    race
}

/// Collectives, in a program without handlers.
fn collectives(node: &mut Node, peer: &Peer) -> Vec<Race> {
    const BATCH: usize = 200;
    let mut all = Vec::new();
    let mut barrier = |node: &mut Node| {
        for _ in 0..BATCH {
            let pending = node.start_barrier();
            node.complete(pending);
        }
    };
    let name = "split-phase barrier";
    all.push(match peer {
        Peer::Memory => race(
            node,
            name,
            BATCH,
            &mut barrier,
            Some(("whole barrier", &mut |node| (0..BATCH).for_each(|_| node.barrier()))),
        ),
        #[cfg(feature = "mpi")]
        Peer::Mpi(world) => {
            let mut raw = |_: &mut Node| (0..BATCH).for_each(|_| world.barrier());
            race(node, name, BATCH, &mut barrier, Some(("MPI_Barrier", &mut raw)))
        }
    });

    const SCANS: usize = 20;
    let mut vector = vec![1i64; 4096];
    let mut scan = |node: &mut Node| (0..SCANS).for_each(|_| node.scan(Op::Max, &mut vector));
    let name = "scan of 4096 words";
    all.push(match peer {
        Peer::Memory => race(node, name, SCANS, &mut scan, None),
        #[cfg(feature = "mpi")]
        Peer::Mpi(world) => {
            let (from, mut to) = (vec![1i64; 4096], vec![0i64; 4096]);
            let mut raw = |_: &mut Node| {
                (0..SCANS).for_each(|_| world.scan_into(&from[..], &mut to[..], SystemOperation::max()))
            };
            race(node, name, SCANS, &mut scan, Some(("MPI_Scan", &mut raw)))
        }
    });
    all.push(overlap(node));
    all
}

/// A reduce of 64 KiB under local work that takes as long as the reduce alone, in slices with a
/// poll between two of them.
fn overlap(node: &mut Node) -> Race {
    let mut block = Block::<f64>::zeroed(REDUCED);
    let whole = race(
        node,
        "",
        1,
        &mut |node| {
            let pending = node.start_reduce(Op::Max, std::mem::take(&mut block));
            block = node.complete(pending);
        },
        None,
    );
    let reduce = node.broadcast_value(0, whole.ours.median());
    let slices = 20;
    // The work, with something between two slices; returns the time beside the slices since `last`.
    let work = |node: &mut Node, mut last: f64, between: &dyn Fn(&mut Node)| {
        let mut beside = 0.0;
        for _ in 0..slices {
            let begin = node.now().get();
            beside += begin - last;
            last = begin;
            while last < begin + reduce / f64::from(slices) {
                std::hint::spin_loop();
                last = node.now().get();
            }
            between(node);
        }
        beside + node.now().get() - last
    };
    let [mut beside, mut alone] = [Timings::default(), Timings::default()];
    let mut both = race(
        node,
        "reduce of 64 KiB under equal work",
        1,
        &mut |node| {
            let start = node.now().get();
            let pending = node.start_reduce(Op::Max, std::mem::take(&mut block));
            beside.push(work(node, start, &|node| _ = node.query(&pending)));
            block = node.complete(pending);
        },
        Some(("the work alone", &mut |node: &mut Node| {
            let start = node.now().get();
            alone.push(work(node, start, &|_| {}));
        })),
    );
    if let Some((_, work)) = &both.peer {
        // What starts and queries take is time of this processor, as they never wait.
        let can_be = 1.0 - (beside.median() - alone.median()) / reduce;
        both.hidden = Some([1.0 - (both.ours.median() - work.median()) / reduce, can_be]);
    }
    both
}
