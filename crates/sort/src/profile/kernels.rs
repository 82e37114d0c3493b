//! The local work of the sorts, one kernel at a time, for the profiling program generated from
//! `specs/kernels`.

use crate::item::Item;
use crate::leading::{self, Digit, Range};
use crate::radix::{self, Cursor};
use crate::sample;
use strata_runtime::Block;

/// Counts each value of the lowest `bits` bits (1 to 16); `counts` gets 2^`bits` entries.
///
/// # Participation
/// Local. Its kernel is `Histogram(keys, bins)`.
pub fn histogram<T: Item>(items: &[T], bits: u32, counts: &mut Vec<u32>) {
    let digit = digit(bits);
    counts.clear();
    counts.resize(digit.bins(), 0);
    leading::count(items, digit, counts);
}

/// The state for scattering some elements by a digit, into one run for each digit value.
pub struct Scatter<T> {
    digit: Digit,
    starts: Vec<Cursor>,
    cursors: Vec<Cursor>,
    runs: [Block<T>; 1],
}

impl<T: Item> Scatter<T> {
    /// The state for these elements, by their lowest `bits` bits (1 to 16).
    #[must_use]
    pub fn new(items: &[T], bits: u32) -> Self {
        let mut counts = Vec::new();
        histogram(items, bits, &mut counts);
        let mut index = 0;
        let start = |count| {
            index += count;
            Cursor { node: 0, index: index - count }
        };
        let starts: Vec<Cursor> = counts.into_iter().map(start).collect();
        let runs = [Block::zeroed(items.len())];
        Self { digit: digit(bits), cursors: starts.clone(), starts, runs }
    }

    /// Copies the elements for which the state was made, and returns them in the order of their
    /// digit values.
    ///
    /// # Participation
    /// Local. Its kernel is `Scatter(keys, bins)`.
    pub fn run(&mut self, items: &[T]) -> &[T] {
        self.cursors.copy_from_slice(&self.starts);
        radix::deal(items, self.digit, &mut self.cursors, &mut self.runs);
        &self.runs[0]
    }
}

/// Sorts elements whose keys' bits are below 2^`width` (up to 64); `scratch` is a buffer of any
/// length.
///
/// # Participation
/// Local. Its kernel is `LocalSort(keys, width)`.
pub fn local_sort<T: Item>(items: &mut Vec<T>, scratch: &mut Vec<T>, width: u32) {
    leading::sort(items, scratch, Range { base: 0, width: width.min(64) });
}

/// Computes for each of `items` the number of ascending `splitters` at or below its bits, and the
/// frequency of each number. `buckets` is as long as `items`; `counts` has one entry more than
/// there are splitters, of which there are fewer than 2^16.
///
/// # Participation
/// Local. Its kernel is `BinarySearch(keys, splitters)`.
pub fn binary_search<T: Item>(splitters: &[u64], items: &[T], buckets: &mut [u16], counts: &mut [u64]) {
    sample::search_all(splitters, items, buckets, counts);
}

fn digit(bits: u32) -> Digit {
    Digit::new(0, 0, bits.clamp(1, 16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scatter_orders_by_the_digit_and_is_stable() {
        let items: Vec<u64> = (0..1000).map(|i| i * 7919 % 1024).collect();
        for bits in [0, 1, 5, 16, 40] {
            let mut scatter = Scatter::new(&items, bits);
            let mut expected = items.clone();
            let mask = (1 << bits.clamp(1, 16)) - 1;
            expected.sort_by_key(|item| item & mask);
            assert_eq!(scatter.run(&items), expected);
            assert_eq!(scatter.run(&items), expected, "again");
        }
        assert!(Scatter::<u64>::new(&[], 3).run(&[]).is_empty());
    }
}
