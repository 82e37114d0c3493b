//! The global address space on two threads: each access beside a plain one to the same kind of
//! memory, in one run, and the same by messages.
//!
//! The words accessed lie in the other core's cache: before each timing the other node has written
//! them.
//!
//!     cargo bench -p strata-benches --bench global

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Parser;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use strata_benches::{Timings, columns, machine, race};
use strata_global::{Array, Change, Space, Way};
use strata_runtime::prelude::*;

/// Lines of a cache in one timing; together a quarter of the second-level cache.
const LINES: usize = 4096;
/// Words of a line.
const LINE: usize = 8;
/// The longest bulk transfer, in words.
const BULK: usize = 1 << 17;

/// Who accesses.
#[derive(Clone, Copy, PartialEq)]
enum Who {
    Plain,
    Space,
}

#[derive(Clone, Copy)]
enum Access {
    Read,
    ReadStream,
    Write,
    GetStream,
    Put,
    Store,
    FetchAdd,
    StoreAdd,
    LocalRead,
    Get(usize),
    PutSlice(usize),
}

const ACCESSES: [(&str, Access); 15] = [
    ("read, each from where the last one said", Access::Read),
    ("read", Access::ReadStream),
    ("get, streamed", Access::GetStream),
    ("write", Access::Write),
    ("put, streamed", Access::Put),
    ("store", Access::Store),
    ("fetch_add", Access::FetchAdd),
    ("store_change (add)", Access::StoreAdd),
    ("read of its own heap", Access::LocalRead),
    ("get_slice of 4 KiB", Access::Get(1 << 9)),
    ("get_slice of 64 KiB", Access::Get(1 << 13)),
    ("get_slice of 1 MiB", Access::Get(BULK)),
    ("put_slice of 4 KiB", Access::PutSlice(1 << 9)),
    ("put_slice of 64 KiB", Access::PutSlice(1 << 13)),
    ("put_slice of 1 MiB", Access::PutSlice(BULK)),
];

struct Bench<'s, 'n> {
    space: &'s mut Space<'n>,
    words: Array<u64>,
    plain: Arc<Vec<AtomicU64>>,
    bytes: Vec<u64>,
    local: Vec<u64>,
    order: Vec<usize>,
}

impl Bench<'_, '_> {
    fn time(&mut self, who: Who, access: Access) -> f64 {
        let far = usize::from(!matches!(access, Access::LocalRead));
        // The owner writes, so that the lines are in its cache.
        if self.space.rank() == far {
            for (i, next) in self.order.iter().zip(self.order.iter().cycle().skip(1)) {
                self.space.write(self.words.first_of(far) + (i * LINE) as i64, *next as u64);
                self.plain[i * LINE].store(*next as u64, Ordering::SeqCst);
            }
        }
        self.space.barrier();
        let seconds = if self.space.rank() == 0 { self.time_here(who, access, far) } else { 0.0 };
        self.space.all_store_sync();
        self.space.barrier();
        seconds
    }

    fn time_here(&mut self, who: Who, access: Access, far: usize) -> f64 {
        let Self { space, words, plain, order, local, bytes } = self;
        let base = words.first_of(far);
        let at = |i: usize| base + (i * LINE) as i64;
        let start = space.now();
        let mut sum = 0;
        let mut times = LINES;
        match (access, who) {
            (Access::Read, Who::Space) => {
                let mut i = order[0];
                for _ in 0..LINES {
                    i = space.read(at(i)) as usize;
                }
                sum = i as u64;
            }
            (Access::Read, Who::Plain) => {
                let mut i = order[0];
                for _ in 0..LINES {
                    i = plain[i * LINE].load(Ordering::SeqCst) as usize;
                }
                sum = i as u64;
            }
            (Access::ReadStream | Access::LocalRead, Who::Space) => {
                order.iter().for_each(|i| sum += space.read(at(*i)));
            }
            (Access::ReadStream | Access::LocalRead, Who::Plain) => {
                order.iter().for_each(|i| sum += plain[i * LINE].load(Ordering::SeqCst));
            }
            (Access::GetStream, Who::Space) => space.phase(|phase| {
                order.iter().zip(local.iter_mut()).for_each(|(i, into)| phase.get(into, at(*i)));
            }),
            (Access::GetStream, Who::Plain) => {
                for (i, into) in order.iter().zip(local.iter_mut()) {
                    *into = plain[i * LINE].load(Ordering::Acquire);
                }
            }
            (Access::Write, Who::Space) => order.iter().for_each(|i| space.write(at(*i), 1)),
            (Access::Write, Who::Plain) => {
                order.iter().for_each(|i| plain[i * LINE].store(1, Ordering::SeqCst));
            }
            (Access::Put, Who::Space) => {
                space.phase(|phase| order.iter().for_each(|i| phase.put(at(*i), 1)));
            }
            (Access::Store, Who::Space) => order.iter().for_each(|i| space.store(at(*i), 1)),
            (Access::Put | Access::Store, Who::Plain) => {
                order.iter().for_each(|i| plain[i * LINE].store(1, Ordering::Release));
            }
            (Access::FetchAdd, Who::Space) => order.iter().for_each(|i| sum += space.fetch_add(at(*i), 1)),
            (Access::StoreAdd, Who::Space) => {
                order.iter().for_each(|i| space.store_change(at(*i), Change::Add, 1));
            }
            (Access::FetchAdd | Access::StoreAdd, Who::Plain) => {
                order.iter().for_each(|i| sum += plain[i * LINE].fetch_add(1, Ordering::SeqCst));
            }
            (Access::Get(len), Who::Space) => {
                times = BULK / len;
                (0..times).for_each(|_| space.phase(|phase| phase.get_slice(&mut local[..len], base)));
            }
            (Access::PutSlice(len), Who::Space) => {
                times = BULK / len;
                (0..times).for_each(|_| space.phase(|phase| phase.put_slice(base, &local[..len])));
            }
            (Access::Get(len) | Access::PutSlice(len), Who::Plain) => {
                times = BULK / len;
                for _ in 0..times {
                    std::hint::black_box(&mut local[..len])
                        .copy_from_slice(std::hint::black_box(&bytes[..len]));
                }
            }
        }
        std::hint::black_box(sum);
        (space.now().get() - start.get()) / times as f64
    }
}

/// The timings of every access, plain and of the space, by node 0.
fn timings(way: Way, rounds: usize) -> Result<Vec<[Timings; 2]>, Error> {
    let machine = Machine::threads(2)?;
    let mut results = machine.run(|node| {
        let plain: Vec<AtomicU64> = (0..BULK).map(|_| AtomicU64::new(0)).collect();
        let plain = node.share(Arc::new(plain)).unwrap_or_default().swap_remove(1);
        let mut space = Space::open_by(node, 16 * BULK, way)?;
        let words = space.alloc_blocks::<u64>(2, BULK)?;
        let mut order: Vec<usize> = (0..LINES).collect();
        order.shuffle(&mut chacha20::ChaCha8Rng::seed_from_u64(1));
        let (bytes, local) = (vec![1; BULK], vec![2; BULK]);
        let mut bench = Bench { space: &mut space, words, plain, bytes, local, order };
        // The first round warms up.
        let timings = race(0..rounds, 1, 2 * ACCESSES.len(), |_, turn| {
            Ok::<_, Error>(bench.time([Who::Plain, Who::Space][turn % 2], ACCESSES[turn / 2].1))
        })?;
        Ok(timings.chunks(2).map(|both| [both[0].clone(), both[1].clone()]).collect::<Vec<_>>())
    })?;
    Ok(results.swap_remove(0))
}

#[derive(Parser)]
struct Arguments {
    /// A trial of few rounds
    #[arg(long)]
    quick: bool,
}

strata_benches::main!(run);

fn run(arguments: &Arguments) -> Result<(), Error> {
    let rounds = if arguments.quick { 4 } else { 60 };
    let shared = timings(Way::Shared, rounds)?;
    let messages = timings(Way::Messages, rounds)?;
    println!("{}\n", machine());
    columns("access | shared memory | plain | shared : plain | messages");
    let mut summary = serde_json::Map::new();
    for (((name, _), [plain, space]), [_, far]) in ACCESSES.iter().zip(&shared).zip(&messages) {
        let ratio = space.median() / plain.median();
        println!("| {} | {space} | {plain} | {ratio:.2}x | {far} |", *name);
        let row = serde_json::json!({
            "shared_ns": space.median() * 1e9,
            "plain_ns": plain.median() * 1e9,
            "messages_ns": far.median() * 1e9,
        });
        summary.insert((*name).to_owned(), row);
    }
    strata_benches::summary(&summary.into());
    Ok(())
}
