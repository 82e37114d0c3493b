//! Sorting without distributing the result evenly.

use crate::item::Item;
use crate::{Choice, agree, choose_and_sort, reasons, without_limit};
use strata_runtime::Node;
use strata_runtime::select::{Options, SelectError};

/// The allowed imbalance of sorted elements over the nodes. Allowing imbalance saves sample sort
/// its last exchange, and histogram sort rounds of counting; the other algorithms are balanced at
/// no further cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Balance {
    /// Exactly balanced: of n elements on P nodes each node has ⌈n/P⌉, the last ones the remainder.
    #[default]
    Even,
    /// No node has more than 1 + ε times ⌈n/P⌉. An ε that is negative or NaN counts as 0.
    Within(f64),
    /// No bound: a node may have about 2⌈n/P⌉ elements.
    AsItFalls,
}

impl Balance {
    /// The most elements that a node may have if its share is `share`.
    pub(crate) fn most(self, share: usize) -> usize {
        match self {
            Self::Even => share,
            Self::Within(epsilon) => share.saturating_add((epsilon.max(0.0) * share as f64) as usize),
            Self::AsItFalls => usize::MAX,
        }
    }

    /// A fingerprint by which nodes detect that their balances differ; 0 for an even one.
    pub(crate) fn word(self) -> u64 {
        match self {
            Self::Even => 0,
            Self::Within(epsilon) => epsilon.to_bits().rotate_left(7) ^ 1,
            Self::AsItFalls => 2,
        }
    }
}

/// As [`sort_with`](crate::sort_with), but the result is only as balanced as `balance` requires.
/// The nodes' vectors, concatenated in rank order, are the sorted sequence, stably.
///
/// The models predict the time for an even result; the algorithms take at most that long here.
///
/// ```
/// use strata_runtime::prelude::*;
/// use strata_sort::{Balance, Options, sort_balanced};
///
/// let parts = Machine::threads(2)?.run(|node| {
///     let mut keys: Vec<u32> = (0..100).map(|i| (i * 37 + 50 * node.rank() as u32) % 101).collect();
///     sort_balanced(node, &mut keys, &Options::default(), Balance::Within(0.1))?;
///     Ok(keys)
/// })?;
/// assert!(parts.concat().is_sorted() && parts.iter().all(|part| part.len() <= 110));
/// # Ok::<(), Error>(())
/// ```
///
/// # Participation
/// Collective, with equal options and an equal balance.
///
/// # Errors
/// As [`sort`](crate::sort); on every node if the balances differ.
pub fn sort_balanced<T: Item>(
    node: &mut Node,
    items: &mut Vec<T>,
    options: &Options,
    balance: Balance,
) -> Result<Choice, SelectError> {
    let agreed = agree(node, items, options, balance)?;
    choose_and_sort(node, items, agreed, usize::MAX).map_err(without_limit).map(reasons)
}
