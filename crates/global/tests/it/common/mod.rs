//! Random programs of all primitives, and what each must compute.
//!
//! All nodes draw the same program from a seed and execute their own parts of it. In each round a
//! block of the array is written by one node, in one way, or is read by several nodes. So every
//! node knows the contents after each round, and every read has one correct result.

pub(crate) mod counters;
pub(crate) mod programs;

use bytemuck::Pod;
use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use std::fmt::Debug;
use strata_global::{Array, Change, Procedure, Space, Way};
use strata_runtime::prelude::*;

const ROUNDS: usize = 5;
const COUNTERS: usize = 4;

/// The elements that the program of a seed has.
pub(crate) fn check(node: &mut Node, seed: u64, way: How) -> Result<(), Error> {
    match seed % 5 {
        0 => Program::<u64>::run(node, seed, way),
        1 => Program::<[u8; 3]>::run(node, seed, way),
        2 => Program::<[u64; 3]>::run(node, seed, way),
        3 => Program::<u8>::run(node, seed, way),
        _ => Program::<[u32; 5]>::run(node, seed, way),
    }
}

/// How the space is opened.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "not every test uses all")]
pub(crate) enum How {
    Usual,
    By(Way),
    /// By messages, and from 64 bytes on by one-sided transfers, if there are any.
    OneSided,
    /// With the checker, which must find nothing.
    Checked,
}

impl How {
    pub(crate) fn open(self, node: &mut Node) -> Result<Space<'_>, Error> {
        const HEAP: usize = 40_000;
        Ok(match self {
            Self::By(way) => Space::open_by(node, HEAP, way)?,
            Self::OneSided => {
                let mut space = Space::open_by(node, HEAP, Way::Messages)?;
                if space.size() > 1 {
                    space.one_sided_from(1)?;
                }
                space
            }
            Self::Usual => Space::open(node, HEAP)?,
            Self::Checked => Space::open_checked(node, HEAP)?,
        })
    }
}

/// How a node writes.
#[derive(Clone, Copy)]
enum Writing {
    Blocking,
    Put,
    Store,
    AtOwner,
}

type Swap<T> = Procedure<T, [u8; 24], [u8; 24]>;

struct Program<'s, 'n, T> {
    space: &'s mut Space<'n>,
    random: ChaCha8Rng,
    array: Array<T>,
    /// What it must contain.
    contents: Vec<T>,
    counters: Array<i64>,
    counts: [i64; COUNTERS],
    swap: Swap<T>,
    /// Bytes stored at each node in this round.
    stored: Vec<u64>,
    seed: u64,
}

impl<T: Pod + PartialEq + Debug> Program<'_, '_, T> {
    fn run(node: &mut Node, seed: u64, way: How) -> Result<(), Error> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut space = way.open(node)?;
        let swap = space.procedure(|old: T, new: [u8; 24]| (value_of(&new), bytes_of(old)));
        let nodes = space.size();
        // Something that is freed, so that arrays do not begin at 0.
        let before = space.alloc::<u8>(random.random_range(0..500))?;
        let blocks = random.random_range(0..=3 * nodes);
        let array = space.alloc_blocks::<T>(blocks, random.random_range(1..=130))?;
        space.free(before);
        let counters = space.alloc::<i64>(COUNTERS)?;
        let contents = vec![T::zeroed(); array.len()];
        let stored = vec![0; nodes];
        let counts = [0; COUNTERS];
        let mut program =
            Program { space: &mut space, random, array, contents, counters, counts, swap, stored, seed };
        for _ in 0..ROUNDS {
            program.round();
        }
        program.read_all();
        let Program { array, counters, .. } = program;
        space.free(array);
        space.free(counters);
        Ok(())
    }

    fn round(&mut self) {
        let blocks = if self.array.block_len() == 0 { 0 } else { self.array.len() / self.array.block_len() };
        for block in 0..blocks {
            let len = self.array.block_len();
            let first = self.random.random_range(0..len);
            let count = self.random.random_range(0..=(len - first).min(70));
            let first = block * len + first;
            match self.random.random_range(0..3) {
                0 => self.write(first, count),
                1 => (0..2).for_each(|_| self.read(first, count)),
                _ => {}
            }
        }
        self.count();
        let expected = self.stored.clone();
        self.stored.fill(0);
        if self.random.random_bool(0.5) {
            // Without a barrier: the first to leave may store in the next round at once.
            self.space.all_store_sync();
        } else {
            let all = expected[self.space.rank()];
            let first = all / 3;
            self.space.store_sync(first);
            while !self.space.is_store_sync(all - first) {}
            self.space.barrier();
        }
    }

    /// Some node writes elements of one block.
    fn write(&mut self, first: usize, count: usize) {
        let (writer, seed) = (self.random.random_range(0..self.space.size()), self.random.random::<u64>());
        let values: Vec<T> = (0..count).map(|i| drawn(seed + i as u64)).collect();
        let writing = [Writing::Blocking, Writing::Put, Writing::Store, Writing::AtOwner]
            [self.random.random_range(0..4)];
        let single = self.random.random_bool(0.5);
        let owner = self.array.at(first).node();
        if matches!(writing, Writing::Store) {
            self.stored[owner] += (count * size_of::<T>()) as u64;
        }
        if writer == self.space.rank() {
            let (to, old) = (self.array.at(first), &self.contents[first..]);
            let each = || values.iter().copied().zip(0..).map(|(value, i)| (to + i, value));
            match writing {
                Writing::Blocking if single => each().for_each(|(p, value)| self.space.write(p, value)),
                Writing::Blocking => self.space.write_slice(to, &values),
                Writing::Put => self.space.phase(|phase| {
                    if single {
                        each().for_each(|(p, value)| phase.put(p, value));
                    } else {
                        phase.put_slice(to, &values);
                    }
                }),
                Writing::Store if single => each().for_each(|(p, value)| self.space.store(p, value)),
                Writing::Store => self.space.store_slice(to, &values),
                Writing::AtOwner => each().zip(old).for_each(|((p, value), old)| {
                    let was = self.space.at_owner(self.swap, p, bytes_of(value));
                    assert_eq!(value_of::<T>(&was), *old, "seed {}", self.seed);
                }),
            }
        }
        self.contents[first..first + count].copy_from_slice(&values);
    }

    /// Some node reads elements that nobody writes in this round.
    fn read(&mut self, first: usize, count: usize) {
        let (reader, way) = (self.random.random_range(0..self.space.size()), self.random.random_range(0..4));
        if reader != self.space.rank() {
            return;
        }
        let from = self.array.at(first);
        let mut values = vec![drawn::<T>(1); count];
        match way {
            0 => values.iter_mut().zip(0..).for_each(|(value, i)| *value = self.space.read(from + i)),
            1 => self.space.read_slice(from, &mut values),
            2 => self.space.phase(|phase| {
                values.iter_mut().zip(0..).for_each(|(value, i)| phase.get(value, from + i));
            }),
            _ => {
                let (one, two) = values.split_at_mut(count / 2);
                self.space.phase(|phase| {
                    phase.get_slice(one, from);
                    phase.phase(|inner| inner.get_slice(two, from + count as i64 / 2));
                    phase.is_complete();
                });
            }
        }
        assert_eq!(values, self.contents[first..first + count], "seed {}", self.seed);
    }

    /// Nodes change counters at once.
    fn count(&mut self) {
        for _ in 0..self.random.random_range(0..12) {
            let (who, which) =
                (self.random.random_range(0..self.space.size()), self.random.random_range(0..COUNTERS));
            let by = self.random.random_range(-1000..1000);
            let p = self.counters.at(which);
            let mine = who == self.space.rank();
            match self.random.random_range(0..3) {
                0 if mine => drop(self.space.fetch_add(p, by)),
                1 if mine => {
                    let mut seen = self.space.fetch_add(p, 0);
                    while let Err(now) = self.space.compare_swap(p, seen, seen.wrapping_add(by)) {
                        seen = now;
                    }
                }
                2 => {
                    self.stored[p.node()] += 8;
                    if mine {
                        self.space.store_change(p, Change::Add, by);
                    }
                }
                _ => {}
            }
            self.counts[which] += by;
        }
    }

    fn read_all(&mut self) {
        for (i, expected) in self.contents.iter().enumerate() {
            assert_eq!(self.space.read(self.array.at(i)), *expected, "element {i}, seed {}", self.seed);
        }
        for (i, expected) in self.counts.iter().enumerate() {
            assert_eq!(self.space.read(self.counters.at(i)), *expected, "counter {i}, seed {}", self.seed);
        }
        self.space.barrier();
    }
}

/// A value of any bytes.
fn drawn<T: Pod>(seed: u64) -> T {
    let mut value = T::zeroed();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    bytemuck::bytes_of_mut(&mut value).iter_mut().for_each(|byte| *byte = random.random());
    value
}

fn bytes_of<T: Pod>(value: T) -> [u8; 24] {
    let mut bytes = [0; 24];
    bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
    bytes
}

fn value_of<T: Pod>(bytes: &[u8; 24]) -> T {
    bytemuck::pod_read_unaligned(&bytes[..size_of::<T>()])
}
