//! Parallel radix sort, least significant digit first (Brewer 1994, §4.5.1, Fig. 4-11; Blelloch et
//! al. 1991).
//!
//! A pass counts the values of one digit on every node, shares the counts with the team, and moves
//! each element to its final (node, index) of this pass. Positions grow with the digit value, so
//! the elements for another node are a contiguous part of a node's elements in digit order: the
//! local distribution writes directly into the blocks that are sent. The receiver copies whole
//! runs, ordered by (digit value, sender), so every pass is stable. A digit is skipped if all keys
//! have the same value of it.
//!
//! On few nodes one exchange of all counts gives both the offsets and the runs. Its size would grow
//! with P, so on many nodes the counts are scanned and reduced as in the thesis, and the receiver
//! counts the arrived elements.

use crate::item::Item;
use crate::layout::{self, Layout};
use crate::leading::{self, Digit, Plan, Range};
use crate::pool;
use crate::problem::Problem;
use crate::work;
use strata_runtime::{Block, Node, Number, develop::State};

/// Up to this many nodes, the counts of all nodes are exchanged.
const FEW_NODES: usize = 16;

/// Shorter runs are copied element by element, because a call would cost more.
const SHORT_RUN: usize = 8;

/// Elements within a node are counted in 32 bits.
#[inline]
pub(crate) fn applies(problem: &Problem) -> bool {
    problem.most_on_a_node() < u32::MAX as usize
}

/// Blocks to send and those received.
pub(crate) fn memory<T>(problem: &Problem, bits: u32) -> usize {
    2 * problem.most_on_a_node() + 2 * problem.keys() + memory_of_counts::<T>(problem, bits)
}

/// The counts of all nodes, as elements.
pub(crate) fn memory_of_counts<T>(problem: &Problem, bits: u32) -> usize {
    ((8 * problem.nodes().max(4)) << bits) / size_of::<T>().max(1)
}

/// Sorts by digits of at most `bits` bits. Collective.
pub(crate) fn sort<T: Item>(node: &mut Node, items: &mut Vec<T>, problem: &Problem, bits: u32) {
    let (range, layout) = (problem.range, problem.layout());
    if problem.nodes() == 1 {
        let plan = Plan::all(range.width, bits);
        return work::sort::<T, _>(node, items.len(), range.width, || {
            leading::sort_by_plan(items, &mut Vec::new(), range, plan);
        });
    }
    let mut pass = Pass::new(node, layout, problem.nodes() <= FEW_NODES);
    let mut moved = false;
    for digit in even_digits(range, bits) {
        moved |= pass.run(node, items, digit);
    }
    pass.blocks.into_iter().for_each(pool::give);
    if !moved {
        // All keys are equal: they are sorted, but may be distributed unevenly.
        layout::rebalance(node, items, &problem.lens);
    }
}

/// The digits of the range: as few as possible with at most `bits` bits, the least significant
/// first, and as equal as possible (Brewer, eq. 43): they differ by at most one bit. A short last
/// digit would send each node's elements to few others, in long blocks that collide there.
pub(crate) fn even_digits(range: Range, bits: u32) -> impl Iterator<Item = Digit> {
    let passes = range.width.div_ceil(bits);
    let start = move |pass: u32| pass * range.width / passes;
    (0..passes).map(move |pass| Digit::new(range.base, start(pass), start(pass + 1) - start(pass)))
}

/// The place of the next element of a digit value: a block, and an index in it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cursor {
    pub(crate) node: u32,
    pub(crate) index: u32,
}

/// Copies each of `items` to the cursor of its digit value, and advances that cursor. When a digit
/// value fills its block, it continues at the beginning of the next one.
pub(crate) fn deal<T: Item>(items: &[T], digit: Digit, cursors: &mut [Cursor], blocks: &mut [Block<T>]) {
    let mut targets: Vec<&mut [T]> = blocks.iter_mut().map(|b| &mut **b).collect();
    let cursors = &mut cursors[..digit.bins()];
    for item in items {
        let cursor = &mut cursors[digit.of(item)];
        match targets[cursor.node as usize].get_mut(cursor.index as usize) {
            Some(slot) => *slot = *item,
            None => {
                *cursor = Cursor { node: cursor.node + 1, index: 0 };
                targets[cursor.node as usize][0] = *item;
            }
        }
        cursor.index += 1;
    }
}

/// The buffers of a pass, reused so that their pages are touched only once.
struct Pass<T> {
    layout: Layout,
    me: usize,
    nodes: usize,
    gather: bool,
    counts: Vec<u32>,
    cursors: Vec<Cursor>,
    blocks: Vec<Block<T>>,
    /// The node's states in state graphs: counting, distributing, collecting.
    states: [State; 3],
}

/// A digit's counts over the team.
pub(crate) struct Counts {
    /// For every digit value, the number of elements on all nodes.
    pub(crate) totals: Vec<u64>,
    /// For every digit value, the number of elements on nodes of lower rank.
    pub(crate) before: Vec<u64>,
    /// The counts of all nodes, one row a node; empty if they were only scanned and reduced.
    rows: Vec<u32>,
}

/// Shares the local counts of a digit with the team; when it returns, all nodes have called it.
pub(crate) fn share_counts(node: &mut Node, counts: &[u32], total: usize) -> Counts {
    let me = node.rank();
    if node.size() > FEW_NODES {
        // Words of four bytes where they suffice.
        let four = u32::try_from(total).is_ok();
        return if four { scan_counts::<u32>(node, counts) } else { scan_counts::<u64>(node, counts) };
    }
    let rows = node.all_gather(counts);
    let mut totals = vec![0; counts.len()];
    let mut before = Vec::new();
    work::copy::<u64, _>(node, rows.len(), || {
        for (rank, row) in rows.chunks_exact(counts.len()).enumerate() {
            if rank == me {
                before.clone_from(&totals);
            }
            totals.iter_mut().zip(row).for_each(|(sum, &count)| *sum += u64::from(count));
        }
    });
    Counts { totals, before, rows }
}

impl Counts {
    /// Those that were only scanned and reduced.
    pub(crate) fn of<N: Into<u64>>(before: Vec<N>, totals: Vec<N>) -> Self {
        let [before, totals] = [before, totals].map(|counts| counts.into_iter().map(N::into).collect());
        Self { totals, before, rows: Vec::new() }
    }
}

/// As [`share_counts`], by a scan and a reduction as in the thesis.
fn scan_counts<N: Number + From<u32> + Into<u64>>(node: &mut Node, counts: &[u32]) -> Counts {
    let mut before: Vec<N> = counts.iter().map(|&count| count.into()).collect();
    let mut totals = before.clone();
    node.scan_add(&mut before);
    node.reduce_add(&mut totals);
    Counts::of(before, totals)
}

impl<T: Item> Pass<T> {
    fn new(node: &mut Node, layout: Layout, gather: bool) -> Self {
        let nodes = node.size();
        let (counts, cursors, blocks) = Default::default();
        let states = node.name_states(["count digits", "deal out", "collect"]);
        Self { layout, me: node.rank(), nodes, gather, counts, cursors, blocks, states }
    }

    /// Orders `items` by `digit`; false, with the elements unchanged, if all keys have the same
    /// digit value.
    fn run(&mut self, node: &mut Node, items: &mut Vec<T>, digit: Digit) -> bool {
        let [count, deal, collect] = self.states;
        let before = node.set_state(count);
        self.counts.clear();
        self.counts.resize(digit.bins(), 0);
        let counts = &mut self.counts;
        work::histogram(node, items.len(), digit.bins(), || leading::count(items, digit, counts));
        let known = share_counts(node, &self.counts, self.layout.total());
        if known.totals.iter().any(|&c| c == self.layout.total() as u64) {
            node.set_state(before);
            return false;
        }
        node.set_state(deal);
        work::scatter::<T, _>(node, items.len(), digit.bins(), || self.distribute(items, digit, &known));
        self.blocks = node.all_to_all_v(std::mem::take(&mut self.blocks));
        node.set_state(collect);
        leading::reserve(items, self.layout.len(self.me));
        items.truncate(self.layout.len(self.me));
        let counted;
        let rows = if self.gather {
            &known.rows
        } else {
            counted = work::histogram(node, items.len(), digit.bins(), || self.count_arrivals(digit));
            &counted
        };
        work::copy::<T, _>(node, items.len(), || self.collect(items, digit, &known.totals, rows));
        node.set_state(before);
        true
    }

    /// Copies every element, in digit order, into the block of the node to which it belongs.
    fn distribute(&mut self, items: &[T], digit: Digit, known: &Counts) {
        let mut lens = vec![0; self.nodes];
        let mut dest = 0;
        let mut base = 0;
        self.cursors.clear();
        for ((&count, &total), &before) in self.counts.iter().zip(&known.totals).zip(&known.before) {
            let mut position = (base + before) as usize;
            let mut left = count as usize;
            base += total;
            if left == 0 {
                self.cursors.push(Cursor::default());
                continue;
            }
            while position >= self.layout.end(dest) {
                dest += 1;
            }
            self.cursors.push(Cursor { node: dest as u32, index: lens[dest] as u32 });
            while position + left > self.layout.end(dest) {
                let fits = self.layout.end(dest) - position;
                lens[dest] += fits;
                position += fits;
                left -= fits;
                dest += 1;
            }
            lens[dest] += left;
        }

        // The blocks received in the last pass are sent in this one.
        std::mem::take(&mut self.blocks).into_iter().for_each(pool::give);
        self.blocks = lens.iter().map(|&len| pool::take(len)).collect();
        deal(items, digit, &mut self.cursors, &mut self.blocks);
    }

    /// Copies the runs of the received blocks into `items`, by digit value and then by sender.
    ///
    /// `totals`: for every digit value, the number of elements on all nodes. `rows`: the counts of
    /// all nodes, or else the counts of the received elements by sender.
    fn collect(&self, items: &mut [T], digit: Digit, totals: &[u64], rows: &[u32]) {
        let (low, high) = (self.layout.start(self.me), self.layout.end(self.me));
        if low == high {
            return;
        }
        // The digit values of this node's share, and the position of the first of them.
        let (mut first, mut base) = (0, 0);
        while base + totals[first] as usize <= low {
            base += totals[first] as usize;
            first += 1;
        }
        let bins = digit.bins();
        let mut position = if self.gather { base } else { low };
        let mut sources: Vec<&[T]> = self.blocks.iter().map(|b| &**b).collect();
        let mut at = 0;
        for numeral in first..bins {
            if totals[numeral] == 0 {
                continue;
            }
            for (rank, source) in sources.iter_mut().enumerate() {
                let count = rows[rank * bins + numeral] as usize;
                let run = (position + count).min(high).saturating_sub(position.max(low));
                position += count;
                let (head, tail) = source.split_at(run);
                let target = &mut items[at..at + run];
                if run < SHORT_RUN {
                    target.iter_mut().zip(head).for_each(|(t, s)| *t = *s);
                } else {
                    target.copy_from_slice(head);
                }
                *source = tail;
                at += run;
            }
            if position >= high {
                break;
            }
        }
    }

    /// The counts of the received elements, a row a sender.
    fn count_arrivals(&self, digit: Digit) -> Vec<u32> {
        let mut rows = vec![0; self.nodes * digit.bins()];
        for (block, row) in self.blocks.iter().zip(rows.chunks_exact_mut(digit.bins())) {
            leading::count(block, digit, row);
        }
        rows
    }
}
