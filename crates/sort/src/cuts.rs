//! Finds keys that divide the sorted sequence at given positions, without sorting it: the
//! histogramming of splitters (L. V. Kale and S. Krishnan, "A comparison based parallel sorting
//! algorithm", ICPP 1993; V. Harsh, L. Kale and E. Solomonik, "Histogram sort with sampling", SPAA
//! 2019).
//!
//! In each round every position has a probe (a key), and one reduction counts the elements of all
//! nodes below each probe. The next probe is interpolated between the nearest ones, so that evenly
//! distributed keys take a few rounds. Every third probe halves the interval, so that any keys take
//! at most three rounds a significant bit.

use crate::leading::Range;
use strata_runtime::Node;

/// A cut of the elements at a position: after the `below` elements below a key, and after enough
/// elements equal to the key to reach the position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The key's bits. If `below` equals the position, there may be no element with this key.
    pub(crate) bits: u64,
    /// The number of elements below the key on all nodes.
    pub(crate) below: u64,
}

/// An interval that contains the key of a position, with the number of elements below its least key
/// and the number not above its greatest.
#[derive(Clone, Copy)]
struct Interval {
    least: u64,
    greatest: u64,
    below: u64,
    through: u64,
}

impl Interval {
    /// The next key to probe for `position`: above the least key, as the interval has at least two.
    fn probe(&self, position: u64, halve: bool) -> u64 {
        let span = u128::from(self.greatest - self.least);
        let offset = if halve {
            span / 2
        } else {
            span * u128::from(position - self.below) / u128::from((self.through - self.below).max(1))
        };
        self.least + offset.clamp(1, span) as u64
    }

    /// Records that `below` elements are below `bits`; returns the cut if that determines it.
    fn narrow(&mut self, position: u64, bits: u64, below: u64, tolerance: u64) -> Option<Cut> {
        if below.abs_diff(position) <= tolerance {
            return Some(Cut { bits, below });
        }
        if below > position {
            (self.greatest, self.through) = (bits - 1, below);
        } else {
            (self.least, self.below) = (bits, below);
        }
        self.cut()
    }

    /// The cut, if only one key remains.
    fn cut(&self) -> Option<Cut> {
        (self.least == self.greatest).then_some(Cut { bits: self.least, below: self.below })
    }
}

/// Finds the cuts at `positions`, each less than the number `total` of all elements, whose keys are
/// in `range`. `count(probes)` returns for each probe the number of this node's elements below it.
/// A cut may miss its position by `tolerance` elements. Collective.
pub(crate) fn find(
    node: &mut Node,
    range: Range,
    (total, tolerance): (u64, u64),
    positions: &[u64],
    mut count: impl FnMut(&mut Node, &[u64]) -> Vec<u64>,
) -> Vec<Cut> {
    let all = Interval { least: range.base, greatest: range.greatest(), below: 0, through: total };
    let mut intervals = vec![all; positions.len()];
    let mut cuts: Vec<Option<Cut>> = vec![all.cut(); positions.len()];
    for round in 0.. {
        let open: Vec<usize> = (0..cuts.len()).filter(|at| cuts[*at].is_none()).collect();
        if open.is_empty() {
            break;
        }
        let probes: Vec<u64> =
            open.iter().map(|&at| intervals[at].probe(positions[at], round % 3 == 2)).collect();
        let mine = count(node, &probes);
        // Counts of 32 bits if they suffice: the length of the message is the cost of a round.
        let below: Vec<u64> = if u32::try_from(total).is_ok() {
            let mut short: Vec<u32> = mine.into_iter().map(|count| count as u32).collect();
            node.reduce_add(&mut short);
            short.into_iter().map(u64::from).collect()
        } else {
            let mut long = mine;
            node.reduce_add(&mut long);
            long
        };
        for ((&at, &bits), &below) in open.iter().zip(&probes).zip(&below) {
            cuts[at] = intervals[at].narrow(positions[at], bits, below, tolerance);
        }
    }
    cuts.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;
    use strata_runtime::Machine;

    /// The cuts of all positions, and the number of rounds.
    fn all_cuts(keys: &[u64]) -> (Vec<Cut>, u32) {
        let run = Machine::threads(1).unwrap().run(|node| {
            let (least, greatest) = keys.iter().fold((u64::MAX, 0), |(l, g), &k| (l.min(k), g.max(k)));
            let positions: Vec<u64> = (0..keys.len() as u64).collect();
            let rounds = Cell::new(0);
            let range = Range::new(least, greatest);
            let cuts = find(node, range, (positions.len() as u64, 0), &positions, |_, probes| {
                rounds.set(rounds.get() + 1);
                probes.iter().map(|probe| keys.iter().filter(|key| *key < probe).count() as u64).collect()
            });
            Ok((cuts, rounds.get()))
        });
        run.unwrap().remove(0)
    }

    #[test]
    fn even_keys_take_few_rounds_and_hostile_ones_not_more_than_three_a_bit() {
        let even: Vec<u64> = (0..200).map(|i| i << 50).collect();
        assert!(all_cuts(&even).1 <= 20, "{}", all_cuts(&even).1);
        let powers: Vec<u64> = (0..64).map(|i| 1 << i).collect();
        assert!(all_cuts(&powers).1 <= 192);
    }

    proptest! {
        #[test]
        fn a_cut_at_each_position(keys in proptest::collection::vec(any::<u64>(), 1..40), width in 0u32..64) {
            let mut keys: Vec<u64> = keys.iter().map(|key| key >> width).collect();
            keys.sort_unstable();
            let (cuts, rounds) = all_cuts(&keys);
            prop_assert!(rounds <= 192 && cuts.len() == keys.len());
            for (position, cut) in cuts.iter().enumerate() {
                let below = keys.partition_point(|key| *key < cut.bits);
                let through = keys.partition_point(|key| *key <= cut.bits);
                prop_assert_eq!(cut.below as usize, below);
                prop_assert!(below == position || (below..through).contains(&position));
            }
        }
    }
}
