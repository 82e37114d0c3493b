//! Times all ways to solve a problem in turns, each time on new data.

use std::time::{Duration, Instant};

use crate::Random;
use crate::library::{Entry, Way};

/// A timing lasts about so many seconds, if that takes at most [`MOST_PROBLEMS`].
const TIMING: f64 = 1e-4;

/// The most problems of one timing.
const MOST_PROBLEMS: f64 = 128.0;

/// Every way is timed at least so often, in two halves.
const LEAST_ROUNDS: usize = 16;

/// And at most so often.
const MOST_ROUNDS: usize = 128;

/// A timing for which the thread had to wait for a processor is repeated, up to so many in all
/// while the budget lasts.
const MOST_TRIES: usize = 6;

/// Seconds a problem, of each way: the lower quartiles of the even and of the odd rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// The ways.
    pub ways: Vec<Way>,
    /// Their times.
    pub halves: [Vec<f64>; 2],
}

/// Times these ways in random order, round by round, until the budget is spent.
pub fn race(entry: &Entry, x: &[usize], ways: Vec<Way>, budget: Duration, random: &mut Random) -> Times {
    let begun = Instant::now();
    let mut shuffling = random.clone();
    let mut time = |way: Way, problems: usize| {
        let mut least = f64::INFINITY;
        for _ in 0..MOST_TRIES {
            let seeds: Vec<u64> = (0..problems).map(|_| random.bits()).collect();
            let timing = (entry.time)(x, way, &seeds);
            least = least.min(timing.seconds);
            if !timing.disturbed {
                return timing.seconds;
            }
            if begun.elapsed() > budget {
                break;
            }
        }
        least
    };
    let problems: Vec<usize> = ways
        .iter()
        .map(|way| {
            let usual = time(*way, 1).min(time(*way, 2)).max(1e-9);
            (TIMING / usual).clamp(1.0, MOST_PROBLEMS) as usize
        })
        .collect();
    let mut timings = vec![[Vec::new(), Vec::new()]; ways.len()];
    let mut order: Vec<usize> = (0..ways.len()).collect();
    for round in 0..MOST_ROUNDS {
        // Whole pairs of rounds, so that the halves are alike.
        if round >= LEAST_ROUNDS && round % 2 == 0 && begun.elapsed() > budget {
            break;
        }
        shuffling.shuffle(&mut order);
        for index in &order {
            timings[*index][round % 2].push(time(ways[*index], problems[*index]));
        }
    }
    let mut half = |half: usize| timings.iter_mut().map(|of| lower_quartile(&mut of[half])).collect();
    let halves = [half(0), half(1)];
    Times { ways, halves }
}

/// The value that a quarter of all are below.
pub fn lower_quartile(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 4).copied().unwrap_or(f64::NAN)
}

/// Checks that all ways have the same results at the corners of a library's range and at these
/// inputs.
///
/// # Errors
/// Two ways and the first input for which they differ, in words.
pub fn check(entry: &Entry, ways: &[Way], inputs: &[Vec<usize>]) -> Result<(), String> {
    let corner = |greatest: bool| {
        let of = entry.inputs.iter().map(|input| if greatest { input.greatest } else { input.least });
        (entry.near)(&of.collect::<Vec<_>>())
    };
    for (x, seed) in [corner(false), corner(true)].iter().chain(inputs).zip(1..) {
        let Some(first) = ways.first() else { continue };
        let expected = (entry.answer)(x, *first, seed);
        for way in ways {
            if !alike(&expected, &(entry.answer)(x, *way, seed)) {
                let (one, other) = (entry.describe(*first), entry.describe(*way));
                return Err(format!("{}: {one} and {other} differ at {}", entry.name, entry.point(x)));
            }
        }
    }
    Ok(())
}

/// Equal but for rounding.
fn alike(a: &[f64], b: &[f64]) -> bool {
    let scale = a.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::{constants, inputs};
    use crate::libraries::LIBRARIES;

    #[test]
    fn all_ways_agree_on_small_inputs() {
        for entry in &LIBRARIES {
            for (x, seed) in inputs(entry, 12, 3, false).iter().zip(0..) {
                let x: Vec<usize> = x.iter().map(|value| (*value).min(150)).collect();
                let x = (entry.near)(&x);
                let ways = constants(entry);
                let expected = (entry.answer)(&x, ways[0], seed);
                assert!(!expected.is_empty());
                for way in ways {
                    let same = alike(&expected, &(entry.answer)(&x, way, seed));
                    assert!(same, "{} {} at {}", entry.name, entry.describe(way), entry.point(&x));
                }
            }
        }
    }

    #[test]
    fn sorts_sort() {
        for entry in
            LIBRARIES.iter().filter(|entry| ["quick", "merge", "radix", "sort"].contains(&entry.name))
        {
            let sorted = (entry.answer)(&[1000], constants(entry)[0], 5);
            assert!(sorted.len() == 1000 && sorted.is_sorted(), "{}", entry.name);
        }
    }
}
