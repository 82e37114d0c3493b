//! Sorting on many nodes, with an algorithm chosen by calibrated models.
//!
//! [`sort`] sorts elements distributed over all nodes of a program: plain numbers, [`Pair`]s of a
//! key and a value, or your own records ([`Item`]). The best of eight algorithms depends on the
//! machine, on the number of elements and on how many bits of the keys differ, so models measured
//! on the machine choose (Brewer 1994, §4.5, ch. 5).
//!
//! ```
//! use strata_runtime::prelude::*;
//!
//! let parts = Machine::threads(3)?.run(|node| {
//!     let mut keys = vec![30 - node.rank() as i64, node.rank() as i64, -7];
//!     strata_sort::sort(node, &mut keys)?;
//!     Ok(keys)
//! })?;
//! assert_eq!(parts, [[-7, -7, -7], [0, 1, 2], [28, 29, 30]]);
//! # Ok::<(), Error>(())
//! ```
//!
//! | algorithm | parameter | what it does |
//! |---|---|---|
//! | `gather` | | sends everything to every node, each sorts its share: for few keys |
//! | `radix` | `bits` a digit, 1 to 16 | moves every key once a digit, least significant first |
//! | `sample` | `oversample`, samples a node | moves every key once, then sorts locally |
//! | `batcher` | | exchanges blocks of pairs of nodes: for few keys on many nodes |
//! | `quick` | | splits by pivots between halves of a hypercube: for few keys on many nodes |
//! | `packets` | `bits` | as `radix`, each key by a message of its own: where messages are cheap |
//! | `grid` | `oversample` | as `sample`, by way of a second node: for few keys on very many nodes |
//! | `histogram` | | counts to find what goes where, then moves every key once; chance plays no part |
//!
//! [`sort_by`] sorts by a comparison alone; [`is_sorted`], [`rank_of`], [`select_nth`] and
//! [`Splitters`] answer questions about distributed elements.
//!
//! On one node all of them are the same local sort, chosen by models of its own: [`local::sort`]. A
//! result that need not be even costs less: [`sort_balanced`].

#![forbid(unsafe_code)]

mod balance;
mod batcher;
mod compare;
mod cuts;
mod gather;
mod grid;
mod histogram;
mod item;
mod layout;
mod leading;
pub mod local;
mod mail;
mod memory;
mod models;
mod packets;
mod placed;
mod pool;
mod problem;
pub mod profile;
mod queries;
mod quick;
mod radix;
mod sample;
mod work;

pub use balance::{Balance, sort_balanced};
pub use compare::sort_by;
pub use item::{Item, Key, Pair};
pub use memory::{SortError, sort_within};
pub use models::Sort;
pub use queries::{Splitters, is_sorted, rank_of, select_nth};
pub use strata_runtime::select::{Options, SelectError};
pub use strata_select::Pin;

use problem::{Order, Problem};
use sample::Levels;
use std::rc::Rc;
use strata_runtime::Node;
use strata_runtime::select::Chosen;
use strata_select::{Note, Row};

/// The size of the elements that the specs in `specs/sort` measure.
const MEASURED_BYTES: usize = size_of::<u64>();

/// The choice and the reasons for it.
pub type Choice = strata_select::Choice<[Row; 8]>;

/// Sorts the elements of all nodes by the algorithm that models of this machine predict to be
/// fastest.
///
/// # Result
/// The nodes' vectors, concatenated in rank order, are the sorted sequence. Of n elements on P
/// nodes, node r holds those at positions r·k to min((r+1)·k, n), with k = ⌈n/P⌉ (Brewer eq. 34),
/// however they were distributed before. The sort is stable: elements of equal keys keep their
/// order, by rank and then by index.
///
/// # Settings
/// `STRATA_PIN=sort=radix:11` takes that algorithm, `STRATA_MODELS=FILE` chooses by that model set,
/// `STRATA_EXPLAIN=1` explains the choice on node 0's stderr. Only node 0's environment is read.
///
/// # Participation
/// Collective: every node calls it, with elements of the same type; any may have none.
///
/// # Errors
/// A setting is at fault, see [`SelectError`]; then every node returns an error, and the elements
/// are unchanged.
pub fn sort<T: Item>(node: &mut Node, items: &mut Vec<T>) -> Result<(), SelectError> {
    choose_and_sort(node, items, &Options::default(), &Limits::default()).map_err(without_limit).map(drop)
}

/// As [`sort`], with options; returns the choice and the reasons for it.
///
/// # Participation
/// Collective, with equal options.
///
/// # Errors
/// As [`sort`].
pub fn sort_with<T: Item>(
    node: &mut Node,
    items: &mut Vec<T>,
    options: &Options,
) -> Result<Choice, SelectError> {
    choose_and_sort(node, items, options, &Limits::default())
        .map_err(without_limit)
        .map(|chosen| chosen.choice)
}

/// The error of a sort without a limit of memory.
fn without_limit(error: SortError) -> SelectError {
    match error {
        SortError::Select(error) => error,
        memory @ SortError::Memory { .. } => SelectError::Choose(memory.to_string()),
    }
}

/// What else is asked of a sort; equal on all nodes.
struct Limits {
    /// The most bytes that an algorithm's buffers may take on a node.
    bytes: usize,
    balance: Balance,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: usize::MAX, balance: Balance::Even }
    }
}

/// Returns the choice from the node's cache as a shared reference: copying its explanation would
/// take as long as a short exchange.
fn choose_and_sort<T: Item>(
    node: &mut Node,
    items: &mut Vec<T>,
    options: &Options,
    &Limits { bytes: limit, balance }: &Limits,
) -> Result<Rc<Chosen<Sort>>, SortError> {
    let (selector, mut problem) = loop {
        // Even if this node fails, the exchange must take place, or the others would wait forever.
        let selector = node.selector::<Sort>(options);
        let word = selector.as_ref().map_or(0, |selector| selector.word()) ^ balance.word();
        let problem = Problem::agree(node, items, word);
        if !node.must_compare_again(problem.alike) {
            break (selector, problem);
        }
    };
    let selector = selector?;
    if !problem.alike {
        return Err(SelectError::Unlike.into());
    }
    problem.most = balance.most(problem.most);
    let least = if limit == usize::MAX { 0 } else { memory::least::<T>(&problem) };
    if least > limit {
        return Err(SortError::Memory { need: least, limit });
    }
    // Within a node radix sort counts in 32 bits, and sample sort numbers buckets in 16.
    let countable = problem.largest().max(problem.keys()) < u32::MAX as usize;
    let applies = |candidate| {
        let suits = match candidate {
            Sort::Gather | Sort::Histogram => true,
            Sort::Radix { .. } => countable,
            Sort::Sample { .. } => problem.nodes() <= 1 << 16,
            Sort::Batcher => problem.keys() <= batcher::MOST,
            Sort::Quick => quick::applies::<T>(problem.keys(), problem.nodes()),
            Sort::Packets { .. } => countable && packets::applies::<T>(problem.keys()),
            Sort::Grid { .. } => sample::two_levels_apply::<T>(&problem),
        };
        suits && (limit == usize::MAX || memory::need::<T>(&problem, candidate) <= limit)
    };
    let inputs = [problem.keys() as f64, f64::from(problem.range.width)];
    let alone = problem.nodes() == 1;
    let note = match alone {
        true => Some(Note::Other("on one node there is nothing to choose: all come to one local sort")),
        false if problem.order != Order::Any => {
            Some(Note::Other("the elements come in order, and only move to where they belong"))
        }
        false if size_of::<T>() != MEASURED_BYTES => Some(Note::Other(
            "the models were measured with elements of 8 bytes: they only rank the algorithms for others",
        )),
        false => None,
    };
    let chosen = node.choose_by::<Sort>(&selector, &inputs, &applies, note)?;
    // Who pins an algorithm gets it.
    let order = if chosen.choice.pinned { Order::Any } else { problem.order };
    match chosen.candidate {
        _ if order == Order::Ascending && problem.may_stay(&problem.lens) => {}
        _ if order == Order::Ascending => layout::rebalance(node, items, &problem.lens),
        _ if order == Order::Descending => layout::reverse(node, items, &problem.lens),
        _ if alone => work::sort::<T, _>(node, items.len(), problem.range.width, || {
            local::sort(items);
        }),
        Sort::Gather => gather::sort(node, items, &problem),
        Sort::Radix { bits } => radix::sort(node, items, &problem, bits as u32),
        Sort::Sample { oversample } => {
            sample::sort(node, items, &problem, oversample as usize, Levels::One);
        }
        Sort::Batcher => batcher::sort(node, items, &problem),
        Sort::Histogram => histogram::sort(node, items, &problem),
        Sort::Quick => quick::sort(node, items, &problem),
        Sort::Packets { bits } => packets::sort(node, items, &problem, bits as u32),
        Sort::Grid { oversample } => sample::sort(node, items, &problem, oversample as usize, Levels::Two),
    }
    Ok(chosen)
}
