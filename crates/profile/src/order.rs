//! The order in which the points of a model are visited.
//!
//! The ends of the loop nest are first, then steps of the golden ratio. At any end of the budget
//! the measured points cover the space. Verification points are interleaved. The order depends on
//! the plan alone, so all nodes compute the same one.

use std::collections::BTreeSet;

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};

use super::Point;

/// The indices of `points` in the order of their visit; points for fitting come before points for
/// verification in `points`, and are interleaved with them in the result.
pub(crate) fn order(points: &[Point], seed: u64) -> Vec<usize> {
    let fitted = points.iter().filter(|point| !point.verify).count();
    let offset = ChaCha8Rng::seed_from_u64(seed).random::<f64>();
    let verifying: Vec<usize> =
        spread(points.len() - fitted, offset).into_iter().map(|index| index + fitted).collect();
    interleave(&spread(fitted, offset), &verifying)
}

/// The numbers below `count`, each once, such that every prefix of the list is spread evenly over
/// them: first both ends, then steps of the golden ratio from `offset`, each to the nearest number
/// not yet used.
pub(crate) fn spread(count: usize, offset: f64) -> Vec<usize> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let mut free: BTreeSet<usize> = (0..count).collect();
    let mut order = Vec::with_capacity(count);
    let mut take = |index: usize, free: &mut BTreeSet<usize>| {
        if free.remove(&index) {
            order.push(index);
        }
    };
    if count > 0 {
        take(0, &mut free);
        take(count - 1, &mut free);
    }
    let mut step = 0.0;
    while !free.is_empty() {
        let aim = ((offset + step * GOLDEN).fract() * count as f64) as usize;
        step += 1.0;
        let above = free.range(aim..).next().copied();
        let below = free.range(..aim).next_back().copied();
        let nearest = match (below, above) {
            (Some(b), Some(a)) => {
                if aim - b < a - aim {
                    b
                } else {
                    a
                }
            }
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => break,
        };
        take(nearest, &mut free);
    }
    order
}

/// Merges two lists such that every prefix of the result contains both in proportion. `first` has
/// the first element.
fn interleave(first: &[usize], second: &[usize]) -> Vec<usize> {
    let mut order = Vec::with_capacity(first.len() + second.len());
    let (mut a, mut b) = (0, 0);
    while a < first.len() || b < second.len() {
        // Compare a/len(first) with b/len(second) without dividing.
        if b == second.len() || (a < first.len() && a * second.len() <= b * first.len()) {
            order.push(first[a]);
            a += 1;
        } else {
            order.push(second[b]);
            b += 1;
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_run_has_verification_points_too() {
        assert_eq!(interleave(&[0, 1, 2, 3], &[4, 5]), [0, 4, 1, 2, 5, 3]);
    }

    proptest! {
        #[test]
        fn spread_is_a_permutation_that_covers_early(count in 1usize..400, offset in 0.0..1.0f64) {
            let order = spread(count, offset);
            let mut all = order.clone();
            all.sort_unstable();
            prop_assert_eq!(all, (0..count).collect::<Vec<_>>());
            // After a third of the points, no gap is wider than a fifth of the range (except with
            // small counts).
            if count >= 30 {
                let mut early: Vec<_> = order[..count / 3].to_vec();
                early.sort_unstable();
                prop_assert!(early.windows(2).all(|w| w[1] - w[0] <= count / 5));
            }
        }
    }
}
