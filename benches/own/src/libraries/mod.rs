//! The libraries. Their functions know nothing of Strata.

pub mod fft;
pub mod filter;
pub mod grain;
pub mod hash;
pub mod lookup;
pub mod matmul;
pub mod merge;
pub mod multiply;
pub mod patterns;
pub mod product;
pub mod quick;
pub mod radix;
pub mod sort;
pub mod transpose;

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;
    use crate::random::{fractions, words};

    /// That all ways have the same result.
    #[track_caller]
    fn equal<T: Debug + PartialEq>(ways: impl IntoIterator<Item = T>) {
        let mut ways = ways.into_iter();
        let first = ways.next().unwrap();
        ways.for_each(|way| assert_eq!(way, first));
    }

    /// The same but for rounding.
    #[track_caller]
    fn close(ways: impl IntoIterator<Item = Vec<f64>>) {
        let mut ways = ways.into_iter();
        let first = ways.next().unwrap();
        let scale = first.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        for way in ways {
            assert_eq!(way.len(), first.len());
            assert!(way.iter().zip(&first).all(|(a, b)| (a - b).abs() <= 1e-9 * scale), "{way:?}, {first:?}");
        }
    }

    #[test]
    fn all_ways_have_the_same_results() {
        for (n, seed) in [16, 47, 64, 150, 1000].into_iter().zip(1..) {
            let mut sorted = words(n, seed);
            sorted.sort_unstable();
            let sorts = |sort: &dyn Fn(&mut Vec<u32>)| {
                let mut keys = words(n, seed);
                sort(&mut keys);
                keys
            };
            let powers = |least: u32| (least..=8).map(|e| 1 << e);
            equal(powers(2).map(|cutoff| sorts(&|keys| quick::quicksort(keys, cutoff))).chain([sorted.clone()]));
            equal(powers(1).map(|run| sorts(&|keys| merge::merge_sort(keys, run))).chain([sorted.clone()]));
            equal((4..=16).map(|bits| sorts(&|keys| radix::radix_sort(keys, bits))).chain([sorted]));
            let [mut one, mut other] = [sort::keys(n, seed), sort::keys(n, seed)];
            sort::serial(&mut one);
            sort::parallel(&mut other);
            equal([one, other]);

            let (x, y) = (words(n, seed), words(n, !seed));
            equal(powers(3).map(|threshold| multiply::multiply(&x, &y, threshold)));
            equal((0..6).map(|e| grain::map(&fractions(n, seed), 5, 1 << (2 * e))));
            let (known, wanted) = (lookup::numbers(n, 4 * n, seed), lookup::numbers(n, 4 * n, !seed));
            equal([lookup::linear, lookup::sorted, lookup::hashed].map(|way| way(&known, &wanted)));
            equal([filter::branchy, filter::branchless].map(|way| way(&x, filter::limit(30))));
            let all = patterns::patterns(n, seed);
            let haystack = patterns::haystack(10 * n, &all, !seed);
            equal([patterns::dfa(&all, &haystack), patterns::nfa(&all, &haystack)]);
            let block = hash::block(n, seed);
            equal([hash::serial(&block), hash::parallel(&block)]);

            let side = n.min(150);
            let (x, y) = (transpose::matrix(side, seed), transpose::matrix(side, !seed));
            equal(powers(2).map(|block| {
                let mut to = vec![1.0; side * side];
                transpose::transpose(&x, &mut to, side, block);
                to
            }));
            close(powers(3).map(|block| matmul::multiply(&x, &y, side, block)));
            let size = (side, side / 2, side / 3);
            let (x, y) = (product::matrix(size.0, size.2, seed), product::matrix(size.2, size.1, !seed));
            close([product::serial(&x, &y, size), product::parallel(&x, &y, size)]);
            let (length, _) = fft::prime(n, 7);
            close([fft::rader(length), fft::bluestein(length)].map(|transform| {
                let mut signal = fft::signal(&transform, seed);
                fft::process(&transform, &mut signal);
                signal.spectrum().iter().flat_map(|value| [value.re, value.im]).collect()
            }));
        }
    }
}
