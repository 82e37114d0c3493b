//! The fewest ways that suffice: candidates with values of parameters, such that a choice among
//! them loses no more than a limit.
//!
//! The least set is a cover problem, which is NP-hard. Ways are added greedily, each time the one
//! that saves most, and then exchanged while that saves more (Teitz and Bart 1968, for medians). If
//! the set still loses more than the limit, as many are searched that do not: by the point that the
//! fewest ways suit, and only up to a number of steps.

use std::collections::BTreeSet;

use crate::lang::checked::Limits;

/// The most ways of a set.
const MOST: usize = 24;

/// The most steps of a search for a set that loses no more than the limit.
const STEPS: usize = 100_000;

/// Sets of one way, of two, and so on: each by the indices of its ways, up to the first set that
/// meets the limits and one beyond; and the place of that set. `losses` has, for each point, the loss
/// of each of `count` ways, at most 64.
pub(super) fn sets(losses: &[Vec<f64>], count: usize, limits: Limits) -> (Vec<Vec<usize>>, usize) {
    let most = limits.ways.unwrap_or(MOST).clamp(1, count.max(1));
    let limit = limits.slowdown.unwrap_or(0.0);
    let (mut sets, mut set, mut met) = (Vec::new(), Vec::new(), None);
    // Of each point the ways that lose no more than the limit there, one bit each.
    let suit =
        |row: &Vec<f64>| (0..count).filter(|way| row[*way] <= limit).fold(0, |all, way| all | 1 << way);
    let suits: Option<BTreeSet<u64>> = limits.slowdown.map(|_| losses.iter().map(suit).collect());
    while set.len() < count && met.is_none_or(|met| sets.len() < met + 2) {
        let search = Search { losses, limit };
        search.add(&mut set, count);
        search.exchange(&mut set, count);
        let worst = losses.iter().map(|row| least(row, &set)).fold(0.0, f64::max);
        let mut is_within = limits.slowdown.is_some_and(|slowdown| worst <= slowdown);
        if !is_within
            && met.is_none()
            && let Some(found) =
                suits.as_ref().and_then(|suits| cover(suits, 0, set.len(), &mut STEPS.clone()))
        {
            is_within = true;
            set = (0..count).filter(|way| found >> way & 1 == 1).collect();
            search.exchange(&mut set, count);
        }
        let is_met = is_within || set.len() >= most;
        if met.is_none() && is_met {
            met = Some(sets.len());
        }
        sets.push(set.clone());
    }
    let met = met.unwrap_or(sets.len().saturating_sub(1));
    (sets, met)
}

/// The fewest ways, added one by one, that lose no more than `enough` on average: the indices of at
/// most [`MOST`] of `count` ways, those that save most first.
pub(super) fn added(losses: &[Vec<f64>], count: usize, enough: f64) -> Vec<usize> {
    let search = Search { losses, limit: 0.0 };
    let mut set = Vec::new();
    while set.len() < count.min(MOST) {
        search.add(&mut set, count);
        if search.cost(|_, row| least(row, &set)).1 <= enough * losses.len() as f64 {
            break;
        }
    }
    set
}

/// The loss of the best way of a set at a point.
pub(super) fn least(row: &[f64], set: &[usize]) -> f64 {
    set.iter().map(|way| row[*way]).fold(f64::INFINITY, f64::min)
}

/// At most `most` ways, as bits, one of which suits each point, with those of `set` among them; `None`
/// also where so many steps find none.
fn cover(suits: &BTreeSet<u64>, set: u64, most: usize, steps: &mut usize) -> Option<u64> {
    let open = suits.iter().filter(|ways| **ways & set == 0).min_by_key(|ways| ways.count_ones());
    let Some(ways) = open else { return Some(set) };
    let ways = (0..u64::BITS).filter(|way| ways >> way & 1 == 1 && (set.count_ones() as usize) < most);
    { ways }.find_map(|way| {
        *steps = steps.checked_sub(1)?;
        cover(suits, set | 1 << way, most, steps)
    })
}

/// What the points lose beyond the limit, and what they lose.
type Cost = (f64, f64);

struct Search<'a> {
    losses: &'a [Vec<f64>],
    limit: f64,
}

impl Search<'_> {
    fn cost(&self, loss: impl Fn(usize, &[f64]) -> f64) -> Cost {
        let losses = self.losses.iter().enumerate().map(|(point, row)| loss(point, row));
        losses.fold((0.0, 0.0), |(beyond, all), loss| (beyond + (loss - self.limit).max(0.0), all + loss))
    }

    /// Adds the way that saves most.
    fn add(&self, set: &mut Vec<usize>, count: usize) {
        let now: Vec<f64> = self.losses.iter().map(|row| least(row, set)).collect();
        let with = |way: usize| (self.cost(|point, row| row[way].min(now[point])), way);
        let others = (0..count).filter(|way| !set.contains(way));
        if let Some((_, way)) = others.map(with).min_by(|a, b| compare(a.0, b.0)) {
            set.push(way);
        }
    }

    /// Replaces a way of the set by another while that saves anything.
    fn exchange(&self, set: &mut [usize], count: usize) {
        let mut cost = self.cost(|_, row| least(row, set));
        // Each exchange lowers the cost, so this ends; the bound is for rounding.
        for _ in 0..4 * count {
            let mut best = None;
            for place in 0..set.len() {
                let mut rest = set.to_vec();
                rest.swap_remove(place);
                let now: Vec<f64> = self.losses.iter().map(|row| least(row, &rest)).collect();
                for way in (0..count).filter(|way| !set.contains(way)) {
                    let with = self.cost(|point, row| row[way].min(now[point]));
                    if compare(with, cost).is_lt() {
                        (cost, best) = (with, Some((place, way)));
                    }
                }
            }
            let Some((place, way)) = best else { break };
            set[place] = way;
        }
    }
}

/// Compares the loss beyond the limit first, then the whole loss; rounding errors count as equal.
fn compare(a: Cost, b: Cost) -> std::cmp::Ordering {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (a.abs() + b.abs());
    let beyond = if near(a.0, b.0) { std::cmp::Ordering::Equal } else { a.0.total_cmp(&b.0) };
    let all = if near(a.1, b.1) { std::cmp::Ordering::Equal } else { a.1.total_cmp(&b.1) };
    beyond.then(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes(losses: &[Vec<f64>], ways: Option<usize>, slowdown: Option<f64>) -> (Vec<usize>, f64) {
        let count = losses.first().map_or(0, Vec::len);
        let (sets, met) = sets(losses, count, Limits { ways, slowdown });
        let mut set = sets.get(met).cloned().unwrap_or_default();
        set.sort_unstable();
        let worst = losses.iter().map(|row| least(row, &set)).fold(0.0, f64::max);
        (set, worst)
    }

    #[test]
    fn exchanges_find_what_adding_alone_misses() {
        // Way 2 is good at most points, so it is added first; ways 0 and 1 cover all.
        let good = [[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 1]];
        let losses: Vec<Vec<f64>> =
            (0..6).map(|point| good.iter().map(|way| f64::from(way[point])).collect()).collect();
        assert_eq!(sizes(&losses, None, Some(0.1)), (vec![0, 1], 0.0));
        assert_eq!([1, 2].map(|ways| sizes(&losses, Some(ways), None).0), [vec![2], vec![0, 1]]);
    }

    #[test]
    fn a_limit_on_the_worst_input_is_kept_where_the_mean_would_not() {
        // Way 1 saves a little at many points, way 2 much at one.
        let mut losses = vec![vec![0.05, 0.0, 0.05]; 99];
        losses.push(vec![2.0, 2.0, 0.0]);
        assert_eq!(sizes(&losses, None, Some(0.1)), (vec![2], 0.05));
        assert_eq!(sizes(&losses, Some(1), None).0, [1], "without a limit the mean decides");
        assert_eq!(sizes(&losses, None, Some(0.01)), (vec![1, 2], 0.0));
        assert_eq!(sizes(&losses, Some(1), Some(0.01)).0, [1], "as few as asked for: least beyond the limit");
        assert_eq!(sizes(&[], None, Some(0.1)).0, Vec::<usize>::new());
    }

    proptest! {
        #[test]
        fn no_smaller_set_loses_as_little(
            losses in prop::collection::vec(prop::collection::vec(0.0f64..1.0, 6), 1..30),
            slowdown in 0.05f64..0.8,
        ) {
            let (set, worst) = sizes(&losses, None, Some(slowdown));
            let covers = |bits: u32| {
                let set: Vec<usize> = (0..6).filter(|way| bits >> way & 1 == 1).collect();
                losses.iter().all(|row| least(row, &set) <= slowdown)
            };
            match (1u32..64).filter(|bits| covers(*bits)).map(u32::count_ones).min() {
                Some(fewest) => {
                    prop_assert!(worst <= slowdown && set.len() == fewest as usize, "{set:?} {fewest}");
                }
                None => prop_assert_eq!(set.len(), 6),
            }
        }
    }
}
