//! Sorting on many nodes, with an algorithm chosen by calibrated models.
//!
//! [`sort`] sorts elements distributed over all nodes of a program: plain numbers, [`Pair`]s of a
//! key and a value, or your own records ([`Item`]). Which algorithm is fastest depends on the
//! machine, on the number of elements and on how many bits of the keys differ, so models measured
//! on the machine choose (Brewer 1994, §4.5, ch. 5). The candidates are the variants of [`Sort`];
//! the README describes each algorithm and its best uses.
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
//! [`sort_by`] sorts by a comparison alone; [`queries`] answer questions about distributed elements.
//!
//! On one node all of them are the same local sort, chosen by separate models: [`local::sort`]. A
//! result that need not be balanced costs less: [`sort_balanced`].

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod balance;
mod batcher;
mod compare;
mod cuts;
mod gather;
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
pub mod queries;
mod quick;
mod radix;
mod sample;
mod work;

pub use balance::{Balance, sort_balanced};
pub use compare::sort_by;
pub use item::{Item, Key, Pair};
pub use memory::{SortError, sort_within};
pub use models::Sort;
pub use strata_runtime::select::{Options, SelectError};
pub use strata_select::Pin;

use std::rc::Rc;

use problem::{Order, Problem};
use strata_runtime::Node;
use strata_runtime::select::{Chosen, Selector};
use strata_select::{Library, choice::Note, transfer::calibrate_as_set};

/// The size of the elements that the specs in `specs/sort` measure.
const MEASURED_BYTES: usize = size_of::<u64>();

/// The choice and the reasons for it.
pub type Choice = strata_select::Choice<<Sort as Library>::Rows>;

/// Sorts the elements of all nodes with the algorithm of the least time predicted by models of this
/// machine.
///
/// # Result
/// The nodes' vectors, concatenated in rank order, are the sorted sequence. Of n elements on P
/// nodes, node r holds those at positions r·k to min((r+1)·k, n), with k = ⌈n/P⌉ (Brewer eq. 34),
/// however they were distributed before. The sort is stable: elements of equal keys keep their
/// order, by rank and then by index.
///
/// # Settings
/// `STRATA_PIN=sort=radix:11` pins that algorithm, `STRATA_MODELS=FILE` chooses by that model set,
/// `STRATA_EXPLAIN=1` prints the choice on node 0's stderr. `STRATA_CALIBRATE=1s` fits the models to
/// this machine at the first sort, and `STRATA_LEARN=1` lets later sorts follow the times of earlier
/// ones. Only node 0's environment is read.
///
/// # Participation
/// Collective: every node calls it, with elements of the same type; any may have none.
///
/// # Errors
/// If a setting is invalid, see [`SelectError`]; then every node returns an error, and the elements
/// are unchanged.
pub fn sort<T: Item>(node: &mut Node, items: &mut Vec<T>) -> Result<(), SelectError> {
    let agreed = agree(node, items, &Options::default(), Balance::Even)?;
    match agreed.again::<T>().filter(|_| !node.learns()) {
        Some(candidate) => candidate.sort(node, items, &agreed.problem),
        None => drop(choose_and_sort(node, items, agreed, usize::MAX).map_err(without_limit)?),
    }
    Ok(())
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
    let agreed = agree(node, items, options, Balance::Even)?;
    choose_and_sort(node, items, agreed, usize::MAX).map_err(without_limit).map(reasons)
}

fn reasons(chosen: Chosen<Sort>) -> Choice {
    *chosen.choice
}

/// The error of a sort without a limit of memory.
fn without_limit(error: SortError) -> SelectError {
    match error {
        SortError::Select(error) => error,
        memory @ SortError::Memory { .. } => SelectError::Choose(memory.to_string()),
    }
}

/// The models and the problem that all nodes have.
struct Agreed {
    selector: Rc<Selector<Sort>>,
    problem: Problem,
}

impl Agreed {
    /// What a choice depends on besides the selector, where elements of `T` are in no order and
    /// memory is not limited.
    fn inputs<T: Item>(&self) -> [u64; 3] {
        let kind = (size_of::<T>() as u64) << 8 | u64::from(T::PLAIN) << 7;
        let of = kind | u64::from(self.problem.range.width);
        [self.problem.keys() as u64, self.problem.largest() as u64, of]
    }

    /// The candidate of an earlier choice for such a problem: where few elements are sorted
    /// repeatedly, each further step of a choice takes as long as sorting one of them.
    #[inline]
    fn again<T: Item>(&self) -> Option<Sort> {
        self.selector.bare(self.inputs::<T>()).filter(|_| self.order() == Order::Any)
    }

    /// The order that is made use of. Few elements are gathered: reversing them takes an exchange of
    /// about twice the time.
    fn order(&self) -> Order {
        match self.problem.order {
            Order::Descending if self.problem.layout().total() <= gather::FEW => Order::Any,
            order => order,
        }
    }
}

/// Agrees on models and problem with all nodes.
#[inline]
fn agree<T: Item>(
    node: &mut Node,
    items: &[T],
    options: &Options,
    balance: Balance,
) -> Result<Agreed, SelectError> {
    if node.calibrates() && node.size() > 1 {
        // The local sorts first: what they take here is a part of the others' times.
        calibrate_as_set::<local::LocalSort>();
        node.calibrate_as_set::<Sort>();
    }
    let ask = |node: &mut Node| {
        // Even if this node fails, the exchange must take place, or the others would wait forever.
        let selector = node.selector::<Sort>(options);
        let word = selector.as_ref().map_or(0, |selector| selector.word()) ^ balance.word();
        let problem = Problem::agree(node, items, word);
        (selector, problem)
    };
    let (mut selector, mut problem) = ask(node);
    while node.must_compare_again(problem.alike) {
        (selector, problem) = ask(node);
    }
    let selector = selector?;
    if !problem.alike {
        return Err(SelectError::Unlike);
    }
    problem.most = balance.most(problem.most);
    Ok(Agreed { selector, problem })
}

/// Sorts with the best candidate whose buffers take at most `limit` bytes on a node. Returns the
/// reasons by reference: copying them would take as long as a short exchange.
fn choose_and_sort<T: Item>(
    node: &mut Node,
    items: &mut Vec<T>,
    agreed: Agreed,
    limit: usize,
) -> Result<Chosen<Sort>, SortError> {
    let (question, order) = (agreed.inputs::<T>(), agreed.order());
    let Agreed { selector, problem } = agreed;
    let least = if limit == usize::MAX { 0 } else { memory::least::<T>(&problem) };
    if least > limit {
        return Err(SortError::Memory { need: least, limit });
    }
    let applies = Sort::which::<T>(&problem, limit);
    let inputs = [nearly(problem.keys()) as f64, f64::from(problem.range.width)];
    let alone = problem.nodes() == 1;
    let note = match alone {
        true => Some(Note::Other("on one node there is nothing to choose: all come to one local sort")),
        false if order != Order::Any => {
            Some(Note::Other("the elements come in order, and only move to where they belong"))
        }
        false if size_of::<T>() != MEASURED_BYTES => Some(Note::Other(
            "the models were measured with elements of 8 bytes: they only rank the algorithms for others",
        )),
        false => None,
    };
    let chosen = node.choose_by(&selector, &inputs, applies, note)?;
    if !alone && order == Order::Any && limit == usize::MAX {
        selector.keep_bare(question, chosen.candidate);
    }
    // A pinned algorithm is used even if the elements are in order already.
    let order = if chosen.choice.pinned { Order::Any } else { order };
    match chosen.candidate {
        _ if order == Order::Ascending && problem.may_stay(&problem.lens) => {}
        _ if order == Order::Ascending => layout::rebalance(node, items, &problem.lens),
        _ if order == Order::Descending => layout::reverse(node, items, &problem.lens),
        _ if alone => work::sort::<T, _>(node, items.len(), problem.range.width, || {
            local::sort(items);
        }),
        _ => {
            // Sizes in steps of a factor of about 1.2.
            let size = || (4.0 * inputs[0].max(1.0).log2()) as u64;
            let class = || size() << 32 | (size_of::<T>() as u64) << 8 | u64::from(problem.range.width);
            node.run_learned(&selector, &inputs, class, &chosen, |node, candidate| {
                candidate.sort(node, items, &problem);
            });
        }
    }
    Ok(chosen)
}

/// The nearest of 32 numbers an octave: the models are asked once for all numbers of elements near
/// it, as a choice that is not in the node's cache takes as long as sorting some hundred elements.
fn nearly(keys: usize) -> usize {
    let step = 1 << keys.max(32).ilog2().saturating_sub(5);
    keys.saturating_add(step / 2) / step * step
}

/// The properties of candidates; this is the only dispatch, and each algorithm has a file of its
/// own.
impl Sort {
    /// Sorts with this candidate, without the choice that [`sort`] makes: for calibration,
    /// benchmarks and tests. Includes all other parts of [`sort`], such as the exchange of lengths
    /// and ranges: a model predicts the time of the whole call. If the candidate cannot sort the
    /// elements because they are too many or too large, they are gathered.
    ///
    /// # Participation
    /// Collective, with equal candidates.
    pub fn run<T: Item>(self, node: &mut Node, items: &mut Vec<T>) {
        let problem = Problem::agree(node, items, 0);
        let able = if self.applies::<T>(&problem) { self } else { Self::Gather };
        able.sort(node, items, &problem);
    }

    /// True if the candidate can sort the problem.
    fn applies<T: Item>(self, problem: &Problem) -> bool {
        match self {
            Self::Gather | Self::Histogram => true,
            Self::Radix { .. } => radix::applies(problem),
            Self::Sample { .. } => sample::applies(problem),
            Self::Batcher => batcher::applies(problem),
            Self::Quick => quick::applies::<T>(problem),
            Self::Packets { .. } => packets::applies::<T>(problem),
        }
    }

    /// Those that can sort the problem with buffers of at most `limit` bytes, one bit each.
    #[inline]
    fn which<T: Item>(problem: &Problem, limit: usize) -> u64 {
        let can = |candidate: Self| {
            candidate.applies::<T>(problem)
                && (limit == usize::MAX || memory::need::<T>(problem, candidate) <= limit)
        };
        let bits = LEAST.iter().enumerate().map(|(index, least)| u64::from(can(*least)) << index);
        bits.fold(0, |all, bit| all | bit)
    }

    /// The most elements of `T` that its buffers hold on any of several nodes.
    fn memory<T: Item>(self, problem: &Problem) -> usize {
        match self {
            Self::Gather => gather::memory(problem),
            Self::Radix { bits } => radix::memory::<T>(problem, digit(bits)),
            Self::Sample { .. } => sample::memory(problem),
            Self::Batcher => batcher::memory(problem),
            Self::Histogram => histogram::memory(problem),
            Self::Quick => quick::memory::<T>(problem),
            Self::Packets { bits } => packets::memory::<T>(problem, digit(bits)),
        }
    }

    /// Sorts. Collective.
    fn sort<T: Item>(self, node: &mut Node, items: &mut Vec<T>, problem: &Problem) {
        match self {
            Self::Gather => gather::sort(node, items, problem),
            Self::Radix { bits } => radix::sort(node, items, problem, digit(bits)),
            Self::Sample { oversample } => sample::sort(node, items, problem, oversample),
            Self::Batcher => batcher::sort(node, items, problem),
            Self::Histogram => histogram::sort(node, items, problem),
            Self::Quick => quick::sort(node, items, problem),
            Self::Packets { bits } => packets::sort(node, items, problem, digit(bits)),
        }
    }
}

/// The candidates with their least parameters: constants, because each choice asks which of them
/// apply.
const LEAST: [Sort; 7] = [
    Sort::Gather,
    Sort::Radix { bits: 2 },
    Sort::Sample { oversample: 8 },
    Sort::Batcher,
    Sort::Histogram,
    Sort::Quick,
    Sort::Packets { bits: 2 },
];

/// Clamps the bits of a digit, because a caller of [`Sort::run`] may pass any number.
fn digit(bits: usize) -> u32 {
    bits.clamp(1, 16) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_select::table::Parameters;

    #[test]
    fn the_least_candidates_are_those_of_the_table() {
        let entries = Sort::TABLE.entries.iter().enumerate();
        let least = entries.map(|(at, entry)| Sort::candidate(at, &Parameters::least(entry.parameters)));
        assert_eq!(least.collect::<Vec<_>>(), LEAST.map(Some));
    }

    #[test]
    fn a_choice_serves_the_same_problem_again_and_no_other() {
        let again = |keys: [u64; 3], then: Vec<u64>, pairs: bool| {
            let machine = strata_runtime::Machine::threads(2).unwrap();
            let found = machine.run(|node| {
                sort(node, &mut keys.to_vec())?;
                let options = Options::default();
                if pairs {
                    let items: Vec<_> = then.iter().map(|key| Pair::new(*key, 0_u64)).collect();
                    return Ok(agree(node, &items, &options, Balance::Even)?.again::<Pair<u64, u64>>());
                }
                Ok(agree(node, &then, &options, Balance::Even)?.again::<u64>())
            });
            found.unwrap()[0]
        };
        assert!(again([9, 1, 5], vec![8, 0, 3], false).is_some(), "as many of as many bits");
        for (what, then) in [("fewer", vec![8, 0]), ("wider", vec![8, 0, 99]), ("in order", vec![8; 3])] {
            assert_eq!(again([9, 1, 5], then, false), None, "{what}");
        }
        assert_eq!(again([9, 1, 5], vec![8, 0, 3], true), None, "larger elements");
        assert_eq!(again([5, 5, 5], vec![5; 3], false), None, "nothing was chosen for the first");
    }

    #[test]
    fn numbers_near_each_other_are_one_and_few_are_exact() {
        assert!((0..64).all(|keys| super::nearly(keys) == keys));
        for keys in [100, 1000, 4099, 1 << 20, (1 << 20) + 12_345, usize::MAX >> 8] {
            let nearly = super::nearly(keys);
            assert!(nearly.abs_diff(keys) as f64 <= keys as f64 / 63.0, "{keys} {nearly}");
            assert_eq!(super::nearly(nearly), nearly);
        }
        assert!((6..40).all(|bits| super::nearly(1 << bits) == 1 << bits));
        assert!(super::nearly(usize::MAX) >= usize::MAX / 64 * 63);
    }
}
