//! Random programs of completion counters, and what each must compute.
//!
//! In each round a block of the array is put by one node on one of its three counters, or stored by
//! one node on one counter of stores, or read by several nodes on theirs. All counters are in use
//! at once and are completed in any order. After each completion its own accesses, and only those,
//! must be complete: gets have their values, what was put can be read, what was stored is here. A
//! fourth counter of each node is open through all rounds.

use super::{How, drawn};
use bytemuck::Pod;
use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use std::fmt::Debug;
use std::ops::Range;
use strata_global::{Array, Counter, Space, StoreCounter};
use strata_runtime::prelude::*;

const ROUNDS: usize = 4;
/// Of stores without a counter, and on three.
const STORES: [Option<StoreCounter>; 4] =
    [None, Some(StoreCounter::new(0)), Some(StoreCounter::new(7)), Some(StoreCounter::new(14))];
/// Elements that no round writes, read on the fourth counter.
const FIXED: usize = 40;

pub(crate) fn check(node: &mut Node, seed: u64, how: How) -> Result<(), Error> {
    match seed % 5 {
        0 => run::<u64>(node, seed, how),
        1 => run::<[u8; 3]>(node, seed, how),
        2 => run::<[u64; 3]>(node, seed, how),
        3 => run::<u8>(node, seed, how),
        _ => run::<[u32; 5]>(node, seed, how),
    }
}

#[derive(Clone)]
enum What<T> {
    Get,
    Put(Vec<T>),
    Store(Vec<T>),
}

/// An access of `node` on counter number `on` to elements of one block.
#[derive(Clone)]
struct Access<T> {
    node: usize,
    on: usize,
    elements: Range<usize>,
    what: What<T>,
    single: bool,
}

struct Program<'s, 'n, T> {
    space: &'s mut Space<'n>,
    array: Array<T>,
    fixed: Array<T>,
    /// What the array must contain.
    contents: Vec<T>,
    /// Drawn alike by all nodes.
    random: ChaCha8Rng,
    /// Drawn by this node alone.
    own: ChaCha8Rng,
    seed: u64,
}

fn run<T: Pod + PartialEq + Debug>(node: &mut Node, seed: u64, how: How) -> Result<(), Error> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut space = how.open(node)?;
    let (rank, nodes) = (space.rank(), space.size());
    let array = space.alloc_blocks::<T>(random.random_range(0..=4 * nodes), random.random_range(1..=60))?;
    let fixed = space.alloc::<T>(FIXED)?;
    for (i, p) in space.mine(&fixed) {
        space.write(p, drawn(i as u64));
    }
    space.barrier();
    let own = ChaCha8Rng::seed_from_u64(seed * 100 + rank as u64);
    let contents = vec![T::zeroed(); array.len()];
    let mut program = Program { space: &mut space, array, fixed, contents, random, own, seed };
    let mut long = [T::zeroed(); ROUNDS * FIXED];
    let mut fourth = Counter::new();
    for into in long.chunks_exact_mut(FIXED) {
        program.round(&mut fourth, into);
    }
    program.space.complete(fourth);
    for (i, value) in long.iter().enumerate() {
        assert_eq!(*value, drawn((i % FIXED) as u64), "fixed element {i}, seed {seed}");
    }
    let Program { array, fixed, .. } = program;
    space.free(array);
    space.free(fixed);
    Ok(())
}

impl<T: Pod + PartialEq + Debug> Program<'_, '_, T> {
    fn round<'e>(&mut self, fourth: &mut Counter<'e>, mut fixed: &'e mut [T]) {
        let (rank, seed) = (self.space.rank(), self.seed);
        let accesses = self.drawn();
        let mine: Vec<&Access<T>> = accesses.iter().filter(|access| access.node == rank).collect();
        let lengths = [0, 1, 2].map(|on| {
            let gets = mine.iter().filter(|access| access.on == on && matches!(access.what, What::Get));
            gets.map(|access| access.elements.len()).sum::<usize>()
        });
        let [mut in_a, mut in_b, mut in_c] = lengths.map(|length| vec![drawn::<T>(9); length]);
        let (mut to_a, mut to_b, mut to_c) = (&mut in_a[..], &mut in_b[..], &mut in_c[..]);
        let (mut a, mut b, mut c) = (Counter::new(), Counter::new(), Counter::new());
        for access in &mine {
            match access.on {
                0 => self.start(access, &mut a, &mut to_a),
                1 => self.start(access, &mut b, &mut to_b),
                _ => self.start(access, &mut c, &mut to_c),
            }
            if let Some((into, rest)) = std::mem::take(&mut fixed).split_first_mut() {
                let p = self.fixed.at(FIXED - 1 - rest.len());
                self.space.on(fourth).get(into, p);
                fixed = rest;
            }
            if self.own.random_bool(0.1) {
                self.space.on(&mut b).is_complete();
            }
        }
        for (i, into) in (FIXED - fixed.len()..).zip(fixed) {
            let p = self.fixed.at(i);
            self.space.on(fourth).get(into, p);
        }
        if self.own.random_bool(0.2) {
            self.space.on(fourth).sync();
        }

        // Nodes that wait for stores before they complete their puts, and the other way round.
        let by_all = self.random.random_bool(0.3);
        let first = self.own.random_bool(0.5);
        if first && !by_all {
            self.wait_for_stores(&accesses);
        }
        macro_rules! complete {
            ($($on:literal $counter:ident $into:ident),*) => {{
                $(self.space.complete($counter);
                self.check_completed(&mine, $on, &$into);)*
            }};
        }
        match self.own.random_range(0..6) {
            0 => complete!(0 a in_a, 1 b in_b, 2 c in_c),
            1 => complete!(0 a in_a, 2 c in_c, 1 b in_b),
            2 => complete!(1 b in_b, 0 a in_a, 2 c in_c),
            3 => complete!(1 b in_b, 2 c in_c, 0 a in_a),
            4 => complete!(2 c in_c, 0 a in_a, 1 b in_b),
            _ => complete!(2 c in_c, 1 b in_b, 0 a in_a),
        }
        if by_all {
            self.space.all_store_sync();
            (0..STORES.len()).for_each(|on| self.check_stored(&accesses, on));
        } else if !first {
            self.wait_for_stores(&accesses);
        }
        for Access { elements, what, .. } in &accesses {
            if let What::Put(values) | What::Store(values) = what {
                self.contents[elements.clone()].copy_from_slice(values);
            }
        }
        self.space.barrier();
        if let (false, true) = (self.contents.is_empty(), self.own.random_bool(0.5)) {
            let i = self.own.random_range(0..self.contents.len());
            let value = self.space.read(self.array.at(i));
            assert_eq!(value, self.contents[i], "element {i}, seed {seed}");
        }
        self.space.barrier();
    }

    /// The accesses of all nodes in a round.
    fn drawn(&mut self) -> Vec<Access<T>> {
        let (len, nodes) = (self.array.block_len(), self.space.size());
        let mut accesses = Vec::new();
        for block in 0..self.array.len() / len {
            let first = block * len + self.random.random_range(0..len);
            let elements = first..self.random.random_range(first..=(block + 1) * len);
            let values = |random: &mut ChaCha8Rng| {
                let seed: u64 = random.random();
                (0..elements.len() as u64).map(|i| drawn(seed.wrapping_add(i))).collect::<Vec<T>>()
            };
            let (kind, times) = (self.random.random_range(0..3), self.random.random_range(1..=3));
            for _ in 0..if kind == 0 { times } else { 1 } {
                let what = match kind {
                    0 => What::Get,
                    1 => What::Put(values(&mut self.random)),
                    _ => What::Store(values(&mut self.random)),
                };
                let on = self.random.random_range(0..if kind == 2 { STORES.len() } else { 3 });
                let node = self.random.random_range(0..nodes);
                let single = self.random.random_bool(0.5);
                accesses.push(Access { node, on, elements: elements.clone(), what, single });
            }
        }
        accesses
    }

    fn start<'e>(&mut self, access: &Access<T>, counter: &mut Counter<'e>, to: &mut &'e mut [T]) {
        let Access { on, elements, what, single, .. } = access;
        if elements.is_empty() {
            return;
        }
        let p = self.array.at(elements.start);
        match what {
            What::Get => {
                let (now, later) = std::mem::take(to).split_at_mut(elements.len());
                *to = later;
                let mut phase = self.space.on(counter);
                match single {
                    true => now.iter_mut().zip(0..).for_each(|(into, i)| phase.get(into, p + i)),
                    false => phase.get_slice(now, p),
                }
            }
            What::Put(values) if *single => {
                // Within a phase of its own, which ends while the counter is open.
                let (mut last, fixed) = (T::zeroed(), self.fixed.at(FIXED - 1));
                self.space.phase(|phase| {
                    phase.get(&mut last, fixed);
                    values.iter().zip(0..).for_each(|(value, i)| phase.on(counter).put(p + i, *value));
                });
                assert_eq!(last, drawn(FIXED as u64 - 1), "seed {}", self.seed);
            }
            What::Put(values) => self.space.on(counter).put_slice(p, values),
            What::Store(values) => match (STORES[*on], single) {
                (None, true) => {
                    values.iter().zip(0..).for_each(|(value, i)| self.space.store(p + i, *value));
                }
                (None, false) => self.space.store_slice(p, values),
                (Some(on), true) => {
                    let mut stores = self.space.stores(on);
                    values.iter().zip(0..).for_each(|(value, i)| stores.store(p + i, *value));
                }
                (Some(on), false) => self.space.stores(on).store_slice(p, values),
            },
        }
    }

    /// The gets of a counter have their values, and what it put is where it belongs.
    fn check_completed(&mut self, mine: &[&Access<T>], on: usize, mut into: &[T]) {
        for Access { elements, what, .. } in mine.iter().filter(|access| access.on == on) {
            match what {
                What::Get => {
                    let (values, rest) = into.split_at(elements.len());
                    assert_eq!(values, &self.contents[elements.clone()], "seed {}", self.seed);
                    into = rest;
                }
                What::Put(values) => self.check_elements(elements, values),
                What::Store(_) => {}
            }
        }
    }

    /// Waits for the stores that come here, one counter after the other in any order.
    fn wait_for_stores(&mut self, accesses: &[Access<T>]) {
        let start = self.own.random_range(0..STORES.len());
        for on in (0..STORES.len()).map(|i| (start + 3 * i) % STORES.len()) {
            let here = self.stored_here(accesses, on);
            let bytes = here.map(|access| (access.elements.len() * size_of::<T>()) as u64).sum::<u64>();
            let part = bytes / 3;
            match STORES[on] {
                None => {
                    self.space.store_sync(part);
                    while !self.space.is_store_sync(bytes - part) {}
                }
                Some(on) => {
                    while !self.space.stores(on).is_sync(part) {}
                    self.space.stores(on).sync(bytes - part);
                }
            }
            self.check_stored(accesses, on);
        }
    }

    fn stored_here(&self, accesses: &[Access<T>], on: usize) -> impl Iterator<Item = Access<T>> + use<T> {
        let here = |access: &&Access<T>| {
            let stored = matches!(access.what, What::Store(_)) && access.on == on;
            stored
                && !access.elements.is_empty()
                && self.array.at(access.elements.start).node() == self.space.rank()
        };
        accesses.iter().filter(here).cloned().collect::<Vec<_>>().into_iter()
    }

    /// The stores on a counter have come.
    fn check_stored(&mut self, accesses: &[Access<T>], on: usize) {
        for Access { elements, what, .. } in self.stored_here(accesses, on) {
            if let What::Store(values) = what {
                self.check_elements(&elements, &values);
            }
        }
    }

    fn check_elements(&mut self, elements: &Range<usize>, values: &[T]) {
        for (i, value) in elements.clone().zip(values) {
            assert_eq!(self.space.read(self.array.at(i)), *value, "element {i}, seed {}", self.seed);
        }
    }
}
