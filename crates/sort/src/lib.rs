//! Sorting on many nodes that chooses its algorithm from calibrated models.
//!
//! [`sort`] orders what all nodes of a program hold together: plain numbers, [`Pair`]s of a key and a value, or
//! records of your own ([`Item`]). Three algorithms compete, and the best depends on the machine, on how much there
//! is and on how many bits of the keys differ, so models measured on the machine decide (Brewer 1994, §4.5, ch. 5).
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
//! | `gather` | | gives every node everything, each sorts its share: for few keys |
//! | `radix` | `bits` a digit, 1 to 16 | moves every key once for each digit, least significant first |
//! | `sample` | `oversample`, samples a node | moves every key once to about its place, then sorts locally |
//!
//! On one node all of them come to the same local sort, a radix sort of the leading bits.

#![forbid(unsafe_code)]

mod error;
mod gather;
mod item;
mod layout;
mod library;
mod local;
#[allow(unreachable_pub, reason = "generated: it does not know where it stands")]
mod models;
mod pool;
mod problem;
pub mod profile;
mod radix;
mod sample;
mod select;
mod settings;
mod work;

pub use error::SortError;
pub use item::{Item, Key, Pair};
pub use library::Models;
pub use strata_select::Pin;

/// What was chosen, and why.
pub type Choice = strata_select::Choice<[strata_select::Row; 4]>;

use problem::Problem;
use select::Work;
use settings::Settings;
use std::rc::Rc;
use strata_runtime::Node;

/// How to sort, where the settings of the program shall not decide.
///
/// Every node must give the same.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pin: Option<String>,
    models: Option<Models>,
}

impl Options {
    /// Takes the pinned algorithm; goes before `STRATA_PIN`.
    #[must_use]
    pub fn pin(self, pin: Pin<'_>) -> Self {
        Self { pin: Some(pin.to_string()), ..self }
    }

    /// Chooses by these models; goes before `STRATA_MODELS` and the models compiled in.
    #[must_use]
    pub fn models(self, models: Models) -> Self {
        Self { models: Some(models), ..self }
    }
}

/// Sorts the elements of all nodes by the algorithm that models of this machine predict to be fastest.
///
/// # Result
/// The nodes' vectors, one after the other in rank order, are the sorted sequence. Of n elements on P nodes, node r
/// holds those at positions r·k to min((r+1)·k, n), with k = ⌈n/P⌉ (Brewer eq. 34), however they lay before.
/// Elements of equal keys stay in order, by rank and then by place.
///
/// # Settings
/// `STRATA_PIN=sort=radix:11` takes that algorithm, `STRATA_MODELS=FILE` chooses by that model set,
/// `STRATA_EXPLAIN=1` explains the choice on node 0's stderr. Node 0's environment counts.
///
/// # Participation
/// Collective: every node calls it, with elements of the same type; any may have none.
///
/// # Errors
/// A setting is at fault, see [`SortError`]; then every node gets an error, and the elements stay as they were.
pub fn sort<T: Item>(node: &mut Node, items: &mut Vec<T>) -> Result<(), SortError> {
    sort_by(node, items, &Options::default()).map(drop)
}

/// As [`sort`], with options, and answers what was chosen and why.
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
) -> Result<Choice, SortError> {
    sort_by(node, items, options).map(|choice| *choice)
}

/// Shares the choice with the node's memory of it: copying its explanation takes as long as a short exchange.
fn sort_by<T: Item>(node: &mut Node, items: &mut Vec<T>, options: &Options) -> Result<Rc<Choice>, SortError> {
    // Whatever goes wrong on this node, the first exchange must take place, or the others would wait.
    let settings = Settings::read(node, options);
    let word = settings.as_ref().map_or(0, Settings::word);
    let problem = Problem::agree(node, items, word);
    let settings = settings?;
    if !problem.alike {
        return Err(SortError::Unlike);
    }
    let choice = select::select::<T>(node, &problem, &settings)?;
    if node.rank() == 0 && node.setting("STRATA_EXPLAIN").is_some_and(|value| value != "0") {
        eprintln!("{choice}");
    }
    select::run(&choice, Work { node, items, problem: &problem });
    Ok(choice)
}
