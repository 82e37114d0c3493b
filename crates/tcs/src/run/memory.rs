//! Memory of one host through which cells receive: of one process whose threads the nodes are, or
//! windows shared by processes (MPI 3.1, §11.2.3).
//!
//! All positions follow from the image, so nodes exchange no addresses. A cell's memory holds the
//! data written for it: the rings of its connections, the steps of its barriers, and the readiness
//! counters of the receivers of its connections.

use super::ring::Ring;
use super::sync::{AtomicU64, Ordering, SharedWords};
use crate::barrier::Step;
use crate::link::Image;
use std::collections::BTreeMap;
use std::sync::Arc;
use strata_runtime::{Node, memory::LendingDesk};

/// Words from one place to the next: two cache lines, because some processors fetch lines in pairs.
pub(super) const APART: usize = 16;

/// The bytes of a word.
const WORD: usize = size_of::<u64>();

pub(super) struct Memory {
    words: SharedWords,
    /// Where this cell lends memory to the senders of its connections, by these; empty if cells are
    /// processes.
    desks: Vec<LendingDesk>,
}

impl Memory {
    /// Allocates `words` zero words in this process, and this number of desks.
    pub(super) fn own(words: usize, desks: usize) -> Self {
        Self {
            words: SharedWords::zeroed(words),
            desks: (0..desks).map(|_| LendingDesk::default()).collect(),
        }
    }

    #[inline]
    pub(super) fn words(&self) -> &[AtomicU64] {
        &self.words
    }

    /// The desk with this number, if cells of this process lend each other blocks.
    pub(super) fn desk(&self, number: usize) -> Option<&LendingDesk> {
        self.desks.get(number)
    }

    /// Copies `bytes` to the words from word `at` on; of the last one, what follows becomes zero.
    pub(super) fn write(&self, at: usize, bytes: &[u8]) {
        let (whole, rest) = bytes.split_at(bytes.len() / WORD * WORD);
        self.words.write_from(at, whole);
        if !rest.is_empty() {
            let mut last = [0; WORD];
            last[..rest.len()].copy_from_slice(rest);
            self.words.write_from(at + whole.len() / WORD, &last);
        }
    }

    /// Copies the bytes of the words from word `at` on.
    pub(super) fn read(&self, at: usize, into: &mut [u8]) {
        let (whole, rest) = into.split_at_mut(into.len() / WORD * WORD);
        self.words.read_into(at, whole);
        if !rest.is_empty() {
            let mut last = [0; WORD];
            self.words.read_into(at + whole.len() / WORD, &mut last);
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }

    /// The counter at the first word of place `place`.
    pub(super) fn count(self: &Arc<Self>, place: usize) -> Count {
        Count { at: place, memory: Arc::clone(self) }
    }
}

/// Names that are kept beside a count: in the same cache line.
const NAMES: u64 = 4;

/// A counter in a cell's memory that one cell raises and another reads, and the names of the
/// [places](super::place) at which it was raised last.
pub(super) struct Count {
    memory: Arc<Memory>,
    at: usize,
}

impl Count {
    #[inline]
    pub(super) fn raise(&self, to: u64) {
        self.memory.words()[self.at].store(to, Ordering::Release);
    }

    #[inline]
    pub(super) fn get(&self) -> u64 {
        self.memory.words()[self.at].load(Ordering::Acquire)
    }

    fn name(&self, turn: u64) -> &AtomicU64 {
        &self.memory.words()[self.at + 1 + (turn % NAMES) as usize]
    }

    /// As [`raise`](Self::raise), at the place `name`, for the `turn`-th time.
    #[inline]
    pub(super) fn raise_at(&self, to: u64, turn: u64, name: u64) {
        self.name(turn).store(name, Ordering::Release);
        self.raise(to);
    }

    /// The name of the place at which the counter was raised for the `turn`-th time, if it has been
    /// raised at most [twice](Self::knows) since.
    #[inline]
    pub(super) fn name_of(&self, turn: u64) -> u64 {
        self.name(turn).load(Ordering::Acquire)
    }

    /// True if a name that was read before is that of the `turn`-th time, where a turn is a count:
    /// the name of `NAMES` turns later is stored after the count before it.
    pub(super) fn knows(&self, turn: u64) -> bool {
        self.get() < turn + NAMES - 1
    }
}

/// The places that a cell uses, in its own memory and in others'.
pub(super) struct Places {
    /// The connections that begin or end here.
    pub(super) connections: BTreeMap<usize, ConnectionPlaces>,
    /// By barrier, receiving member and sending member, of which this cell is one; the place is at
    /// the receiver.
    pub(super) steps: BTreeMap<(usize, usize, usize), usize>,
    /// Number of words of each node's memory, and of its desks.
    sizes: Vec<(usize, usize)>,
}

pub(super) struct ConnectionPlaces {
    /// Of its ring, at the receiver.
    pub(super) ring: usize,
    /// The number of its desk, at the receiver.
    pub(super) desk: usize,
    /// Of its receiver's readiness counter, at the sender.
    pub(super) ready: usize,
}

impl Places {
    /// The places of cell `me`, of an image that runs on `nodes` nodes, which are processes or
    /// threads.
    pub(super) fn of(image: &Image, me: usize, nodes: usize, processes: bool) -> Self {
        let (mut connections, mut steps) = (BTreeMap::new(), BTreeMap::new());
        let mut sizes = vec![(0, 0); nodes];
        let mut place = |cell: usize, length: usize, desks: usize| {
            let (words, numbers) = &mut sizes[cell];
            let place = (*words, *numbers);
            *words += length.next_multiple_of(APART);
            *numbers += desks;
            place
        };
        for (number, linked) in image.connections.iter().enumerate() {
            let (ring, desk) = place(linked.to, Ring::words(linked.depth, processes), 1);
            let ready = place(linked.from, 1, 0).0;
            if linked.from == me || linked.to == me {
                connections.insert(number, ConnectionPlaces { ring, desk, ready });
            }
        }
        for (number, barrier) in image.barriers.iter().enumerate() {
            for (member, cell) in barrier.cells.iter().enumerate() {
                let mut known = BTreeMap::new();
                for step in barrier.schedule.steps(member) {
                    let Step::Receive(from) = *step else { continue };
                    let place = *known.entry(from).or_insert_with(|| place(*cell, 1, 0).0);
                    if *cell == me || barrier.cells.get(from) == Some(&me) {
                        steps.insert((number, member, from), place);
                    }
                }
            }
        }
        Self { connections, steps, sizes }
    }

    /// The memory of every node by rank, all zero, if every node can access it; otherwise `None`,
    /// on every node.
    ///
    /// # Participation
    /// Collective, with places of the same image.
    #[track_caller]
    pub(super) fn memory(&self, node: &mut Node, processes: bool) -> Option<Vec<Arc<Memory>>> {
        if processes {
            return self.windows(node);
        }
        let (words, desks) = self.sizes.get(node.rank()).copied().unwrap_or_default();
        node.share(Arc::new(Memory::own(words, desks)))
    }

    /// As [`memory`](Self::memory), for nodes that are processes: windows are kept for later runs, as
    /// the system takes a millisecond to make them.
    #[cfg(not(all(test, loom)))]
    #[track_caller]
    fn windows(&self, node: &mut Node) -> Option<Vec<Arc<Memory>>> {
        let words = self.sizes.iter().map(|(words, _)| *words).max().unwrap_or(0);
        let kept = node.local::<Windows>().0.clone();
        // All nodes have left the run that used them.
        if let Some(own) = kept.get(node.rank()).filter(|own| own.words().len() >= words) {
            own.words()[..words].iter().for_each(|word| word.store(0, Ordering::Relaxed));
            // No node writes before all windows are clear.
            node.barrier();
            return Some(kept);
        }
        let memory = |words| Arc::new(Memory { words, desks: Vec::new() });
        let new: Vec<_> = node.share_words(words.next_power_of_two())?.into_iter().map(memory).collect();
        node.local::<Windows>().0.clone_from(&new);
        Some(new)
    }

    /// Loom's memory cannot lie in windows.
    #[cfg(all(test, loom))]
    fn windows(&self, _node: &mut Node) -> Option<Vec<Arc<Memory>>> {
        None
    }
}

/// Windows that a node keeps from run to run.
#[derive(Default)]
#[cfg(not(all(test, loom)))]
struct Windows(Vec<Arc<Memory>>);
