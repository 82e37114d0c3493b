//! Sorting on one node, by the sort that models predict to be fastest there: a library of its own,
//! which needs no nodes and no run-time.
//!
//! ```
//! let mut keys: Vec<i64> = (0..1000).map(|i| i * 7919 % 1009 - 500).collect();
//! strata_sort::local::sort(&mut keys);
//! assert!(keys.is_sorted());
//! ```
//!
//! | candidate | what it is | stable |
//! |---|---|---|
//! | `stable` | the standard library's `sort_by_key` (driftsort), which merges runs that it finds | yes |
//! | `unstable` | its `sort_unstable_by_key` (ipnsort) | no |
//! | `runs` | a natural merge sort, which keeps long ascending and descending runs | yes |
//! | `leading` | a radix sort of the leading bits and a repair, that of the distributed sorts | yes |
//! | `radsort`, `rdst`, `voracious` | the crates `radsort`, `rdst` (one thread) and `voracious_radix_sort`, with the cargo feature of that name; integers only | no |
//!
//! What a choice depends on is found in one pass at most: the number of keys, the bits in which
//! they differ; and from up to a thousand places how long ascending and descending runs are and how
//! many different keys there are. Sorted and descending elements, and those of up to four sorted
//! runs, are seen before anything is chosen, and fewer than a hundred are left to the standard
//! library. Choices are kept for classes of problems, so that later ones take some ns. The models
//! were measured with keys of 8 bytes; for other elements they rank the candidates.
//!
//! `STRATA_PIN=local_sort=radsort` takes that candidate wherever it can sort the elements.
//! `STRATA_EXPLAIN=1` prints each choice when it is made for a class. The models are those of this
//! machine that are found ([`strata_select::Models::of`]), else those compiled in; these were
//! measured on one machine, and rank the candidates on others.

mod classes;
mod look;
mod models;
mod others;
mod runs;
#[cfg(feature = "rdst")]
pub(crate) mod tuner;

use crate::item::Item;
use crate::leading::{self, Range};
use crate::pool;
pub use models::LocalSort;
use std::hint::black_box;
use strata_select::{Library, Question, choose_always, is_pinned};
#[cfg(feature = "rdst")]
pub use tuner::ModelTuner;

/// A choice among the local sorts and the reasons for it.
pub type LocalChoice = strata_select::Choice<<LocalSort as Library>::Rows>;

/// Below so many elements a comparison sort is taken: looking at them would take longer than
/// choosing among sorts could gain.
const FEW: usize = 96;

/// What a choice depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Features {
    /// How many elements there are.
    pub keys: usize,
    /// How many low bits of their order-preserving bits are not all equal.
    pub width: u32,
    /// The length of sorted runs, estimated; 1 for a random order.
    pub run: usize,
    /// How many different keys there are, estimated; `keys` if they are not few.
    pub distinct: usize,
    /// Whether most keys have the same leading bits although they differ, as few large ones make
    /// the width; sorts by leading bits alone are then not considered.
    pub skewed: bool,
}

impl Features {
    /// Those of these elements, from one pass over them.
    #[must_use]
    pub fn of<T: Item>(items: &[T]) -> Self {
        Self::with_run(items, look::run(items))
    }

    fn with_run<T: Item>(items: &[T], run: usize) -> Self {
        let keys = items.len();
        let run = match run == keys {
            true if keys < MANY => look::run_of_all(items),
            // There may be two long runs. The keys' bits hardly matter then, and a pass would.
            true => return Self { keys, width: 64, run: keys / 2, distinct: keys, skewed: false },
            false => run,
        };
        let width = look::width(items);
        let (distinct, skewed) = look::spread(items, width);
        Self { keys, width, run, distinct, skewed }
    }
}

/// From so many elements on no turn in a sample means very long runs.
const MANY: usize = 1 << 13;

/// So few sorted runs are merged without a look at anything else: that takes hardly longer than it.
const FEW_RUNS: usize = 4;

/// Shorter runs are not worth keeping: it is not considered then.
const SHORT: usize = 16;

/// Sorts elements by their keys, by the candidate that models predict to be fastest. Stable:
/// elements of equal keys keep their order, unless they cannot be told apart.
pub fn sort<T: Item>(items: &mut [T]) {
    match items.len() {
        0..=20 => return items.sort_by_key(T::bits),
        21..FEW => return leading::compare(items),
        _ => {}
    }
    let run = look::run(items);
    // No turn was seen; what holds everywhere is to be looked at.
    if run >= items.len()
        && runs::sort_few(items, if is_pinned(LocalSort::TABLE.library) { 1 } else { FEW_RUNS })
    {
        return;
    }
    let features = Features::with_run(items, run);
    run_candidate(items, candidate_for::<T>(features));
}

/// Sorts by this candidate, after the same look at the elements as [`sort`]; `false` if it is not
/// there (its feature is off), takes no such elements or would not keep their order where that can
/// be told. Then they are as they were.
#[must_use]
pub fn sort_by<T: Item>(items: &mut [T], candidate: LocalSort) -> bool {
    if !applies::<T>(candidate) {
        return false;
    }
    black_box(Features::of(items));
    run_candidate(items, candidate);
    true
}

/// The candidates that can sort elements of this type.
pub fn candidates<T: Item>() -> impl Iterator<Item = (&'static str, LocalSort)> {
    let all = LocalSort::TABLE.entries.iter().enumerate();
    all.filter_map(|(index, entry)| Some((entry.name, LocalSort::candidate(index, &[])?)))
        .filter(|(_, candidate)| applies::<T>(*candidate))
}

/// What is chosen for elements of this type with these features, and why. `STRATA_PIN` counts.
#[must_use]
pub fn choose<T: Item>(features: Features) -> (LocalSort, LocalChoice) {
    let Features { keys, width, run, distinct, skewed } = features;
    let inputs = [keys as f64, f64::from(width), run as f64, distinct as f64];
    let applies = |candidate| {
        let suits = match candidate {
            LocalSort::Leading | LocalSort::Voracious => !skewed,
            LocalSort::Runs => run >= SHORT,
            _ => true,
        };
        suits && applies::<T>(candidate)
    };
    let chosen = choose_always(Question::new(1, &inputs), &applies);
    chosen.expect("the standard library's sort applies to all elements")
}

/// The candidate that [`sort`] takes for elements of this type with these features: that of their
/// class, chosen when the first problem of the class came.
#[must_use]
pub fn candidate_for<T: Item>(features: Features) -> LocalSort {
    classes::choice::<T>(features)
}

fn run_candidate<T: Item>(items: &mut [T], candidate: LocalSort) {
    match candidate {
        LocalSort::Stable => items.sort_by_key(T::bits),
        LocalSort::Unstable => items.sort_unstable_by_key(T::bits),
        LocalSort::Leading => {
            let (least, greatest) = Range::bounds(items);
            let range = Range::new(least.min(greatest), greatest);
            let mut scratch = pool::take::<T>(items.len());
            leading::sort_in_place(items, &mut scratch, range);
            pool::give(scratch);
        }
        LocalSort::Runs => {
            let mut scratch = pool::take::<T>(items.len());
            runs::sort(items, &mut scratch);
            pool::give(scratch);
        }
        LocalSort::Radsort | LocalSort::Rdst | LocalSort::Voracious => {
            if !others::sort(items, candidate) {
                leading::compare(items);
            }
        }
    }
}

/// Whether a candidate can sort such elements, stably if they can be told apart.
fn applies<T: Item>(candidate: LocalSort) -> bool {
    match candidate {
        LocalSort::Stable | LocalSort::Leading | LocalSort::Runs => true,
        LocalSort::Unstable => T::PLAIN,
        LocalSort::Radsort | LocalSort::Rdst | LocalSort::Voracious => {
            T::PLAIN && others::can::<T>(candidate)
        }
    }
}
