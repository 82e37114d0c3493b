//! Sorting on one node with the sort of the least predicted time: a separate library, which needs
//! no nodes.
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
//! The inputs of a choice are found in at most one pass: the number of keys and the bits in which
//! they differ. Up to a thousand sampled elements give the length of ascending and descending runs,
//! whether these follow each other, and the number of different keys. Elements that are sorted,
//! descending, or in up to four sorted runs are detected before the choice, and fewer than a hundred
//! elements are left to the standard library. Choices are cached for classes of problems, so that
//! later ones take a few ns. The models were measured with keys of 8 bytes; for other elements they
//! rank the candidates.
//!
//! `STRATA_PIN=local_sort=radsort` uses that candidate for all elements that it can sort.
//! `STRATA_EXPLAIN=1` prints the first choice for each class. The models are those found for this
//! machine ([`strata_select::models::Models::of`]), otherwise those compiled in; these were measured on one
//! machine, and only rank the candidates on others.

mod classes;
mod look;
mod models;
mod others;
pub(crate) mod runs;
#[cfg(feature = "rdst")]
pub(crate) mod tuner;

use crate::item::Item;
use crate::leading::{self, Range};
use crate::{pool, work};
pub use models::{LocalSort, LocalSortInput};
use std::hint::black_box;
use strata_runtime::Block;
use strata_select::{Explained, Library, models::is_pinned, transfer::calibrate_as_set};
#[cfg(feature = "rdst")]
pub use tuner::ModelTuner;

/// A choice among the local sorts and the reasons for it.
pub type LocalChoice = strata_select::Choice<<LocalSort as Library>::Rows>;

/// Fewer elements are sorted by comparison: sampling them would take longer than a choice could
/// gain.
const FEW: usize = 96;

/// The inputs of a choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Features {
    /// The number of elements.
    pub keys: usize,
    /// The number of low bits in which their order-preserving bits differ.
    pub width: u32,
    /// The estimated length of sorted runs; 1 for a random order.
    pub run: usize,
    /// True if the runs follow each other: all elements are sorted, or descend, but for some, by 16
    /// elements far apart. Two or three runs may count as such, few different keys do not.
    pub ordered: bool,
    /// The estimated number of different keys; `keys` if they are not few.
    pub distinct: usize,
    /// True if most keys have the same leading bits although they differ, for example because few
    /// large ones determine the width. Sorts by leading bits alone are then not considered.
    pub skewed: bool,
}

impl Features {
    /// The features of these elements, from one pass over them.
    #[must_use]
    pub fn of<T: Item>(items: &[T]) -> Self {
        Self::with_run(items, look::run(items))
    }

    fn with_run<T: Item>(items: &[T], run: usize) -> Self {
        let keys = items.len();
        let run = match run == keys {
            true if keys < MANY => look::run_of_all(items),
            // No change of direction was sampled, so there may be two long runs. Then the keys'
            // bits hardly matter, and a pass to find them would cost time.
            true => {
                let (run, ordered) = (keys / 2, false);
                return Self { keys, width: 64, run, ordered, distinct: keys, skewed: false };
            }
            false => run,
        };
        let width = look::width(items);
        let (distinct, skewed) = look::spread(items, width);
        let ordered = run >= SHORT && look::is_ordered(items);
        Self { keys, width, run, ordered, distinct, skewed }
    }
}

/// From this many elements on, a sample without a change of direction means very long runs.
const MANY: usize = 1 << 13;

/// At most this many sorted runs are merged without further sampling: merging takes hardly longer.
const FEW_RUNS: usize = 4;

/// Shorter runs are not worth keeping, so natural merge sort is not considered.
const SHORT: usize = 16;

/// Sorts elements by their keys with the candidate of the least predicted time. Stable: elements of
/// equal keys keep their order, unless they are indistinguishable.
pub fn sort<T: Item>(items: &mut [T]) {
    match items.len() {
        0..=20 => return items.sort_by_key(T::bits),
        21..FEW => return leading::compare(items),
        _ => {}
    }
    let run = look::run(items);
    // The sample has no change of direction; check all elements.
    if run >= items.len()
        && runs::sort_few(items, if is_pinned(LocalSort::TABLE.library) { 1 } else { FEW_RUNS })
    {
        return;
    }
    let features = Features::with_run(items, run);
    let (class, candidate) = classes::choice::<T>(features);
    let started = classes::LEARNING.begin(class);
    run_candidate(items, candidate);
    if let Some(started) = started {
        classes::learn::<T>(class, features, candidate, started);
    }
}

/// Sorts with this candidate after the same sampling as [`sort`]. Returns `false`, with the
/// elements unchanged, if the candidate is unavailable (its feature is off), does not support the
/// element type, or is not stable for distinguishable elements.
#[must_use]
pub fn sort_by<T: Item>(items: &mut [T], candidate: LocalSort) -> bool {
    if !applies::<T>(candidate) {
        return false;
    }
    black_box(Features::of(items));
    run_candidate(items, candidate);
    true
}

/// The sorted concatenation of `parts`, all of whose keys are in `range`; stable. For elements that
/// a node has received: they are alike in all parts, so the largest part is sampled.
///
/// Random keys are sorted by [`leading::sort_parts`], which reads the parts in place. Runs, few
/// different keys and skewed keys go to the candidate of the least predicted time. The block comes
/// from the pool and should be returned to it.
pub(crate) fn sort_parts<T: Item>(parts: &[&[T]], range: Range) -> Block<T> {
    let largest = parts.iter().copied().max_by_key(|part| part.len()).unwrap_or_default();
    if largest.len() < FEW || range.width == 0 {
        return leading::sort_parts(parts, range);
    }
    let keys = parts.iter().map(|part| part.len()).sum();
    let run = look::run(largest);
    let (distinct, skewed) = look::spread(largest, range.width);
    let all_differ = distinct == largest.len();
    let distinct = if all_differ { keys } else { distinct };
    let ordered = false;
    let features = Features { keys, width: range.width, run, ordered, distinct, skewed };
    let sorted = run >= largest.len();
    let random = run < SHORT && all_differ && !skewed;
    if random || !sorted && candidate_for::<T>(features) == LocalSort::Leading {
        return leading::sort_parts(parts, range);
    }
    let mut all = pool::take::<T>(keys);
    let mut rest = &mut *all;
    for part in parts {
        let (target, tail) = rest.split_at_mut(part.len());
        work::receive(target, part);
        rest = tail;
    }
    if !(sorted && runs::sort_few(&mut all, FEW_RUNS)) {
        run_candidate(&mut all, candidate_for::<T>(features));
    }
    all
}

/// The candidates that can sort elements of this type.
pub fn candidates<T: Item>() -> impl Iterator<Item = (&'static str, LocalSort)> {
    let all = LocalSort::TABLE.entries.iter().enumerate();
    all.filter_map(|(index, entry)| Some((entry.name, LocalSort::candidate(index, &[])?)))
        .filter(|(_, candidate)| applies::<T>(*candidate))
}

/// The candidate chosen for elements of this type with these features, and the reasons.
/// `STRATA_PIN` is respected.
#[must_use]
pub fn choose<T: Item>(features: Features) -> (LocalSort, LocalChoice) {
    calibrate_as_set::<LocalSort>();
    let Features { run, skewed, .. } = features;
    let applies = |candidate| {
        let suits = match candidate {
            LocalSort::Leading | LocalSort::Voracious => !skewed,
            LocalSort::Runs => run >= SHORT,
            _ => true,
        };
        suits && applies::<T>(candidate)
    };
    let Explained { candidate, choice, .. } = LocalSort::on(1).among(&applies).explain(inputs_of(features));
    (candidate, choice)
}

/// The inputs of the models.
fn inputs_of(Features { keys, width, run, ordered, distinct, .. }: Features) -> LocalSortInput {
    LocalSortInput { keys, width: width as usize, run, distinct, ordered: usize::from(ordered) }
}

/// The candidate that [`sort`] uses for elements of this type with these features: the cached
/// choice of their class.
#[must_use]
pub fn candidate_for<T: Item>(features: Features) -> LocalSort {
    classes::choice::<T>(features).1
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

/// True if a candidate can sort such elements, stably if they are distinguishable.
fn applies<T: Item>(candidate: LocalSort) -> bool {
    match candidate {
        LocalSort::Stable | LocalSort::Leading | LocalSort::Runs => true,
        LocalSort::Unstable => T::PLAIN,
        LocalSort::Radsort | LocalSort::Rdst | LocalSort::Voracious => {
            T::PLAIN && others::can::<T>(candidate)
        }
    }
}
