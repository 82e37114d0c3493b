//! Which inputs are raced, and which values of a parameter.

use crate::Random;
use crate::library::{Candidate, Entry, Range, Way};

/// Values of a parameter that a race tries differ by at most this factor, or are neighbours.
const APART: f64 = 1.5;

/// So many random inputs of a library: whole numbers over its range, not those that its spec
/// measures. With `round` every second one is a power of two or a multiple of 64 near such an input,
/// in turns.
pub fn inputs(entry: &Entry, count: usize, seed: u64, round: bool) -> Vec<Vec<usize>> {
    let name = entry.name.bytes().fold(0u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
    let mut random = Random::new(seed ^ name);
    let one = |number: usize| {
        let values = entry.inputs.iter().map(|input| {
            let (least, greatest) = (input.least as f64, input.greatest as f64);
            let value = if input.even {
                least + random.unit() * (greatest - least)
            } else {
                least * (greatest / least).powf(random.unit())
            };
            let value = match number % 4 {
                1 if round => value.log2().round().exp2(),
                3 if round => (value / 64.0).round().max(1.0) * 64.0,
                _ => value.round(),
            };
            (value as usize).clamp(input.least, input.greatest)
        });
        (entry.near)(&values.collect::<Vec<_>>())
    };
    (0..count).map(one).collect()
}

/// The ways that are raced at every input: all candidates, each with values of its parameter over
/// the whole range.
pub fn constants(entry: &Entry) -> Vec<Way> {
    let ways = |(candidate, of): (usize, &Candidate)| match &of.parameter {
        None => vec![Way::of(candidate)],
        Some(range) => {
            values(range).into_iter().map(|value| Way { candidate, parameter: Some(value) }).collect()
        }
    };
    entry.candidates.iter().enumerate().flat_map(ways).collect()
}

/// The ways that are raced where these are taken: the constants, these, and a value to either side of
/// the first, which is chosen.
pub fn ways(entry: &Entry, taken: &[Way; 3]) -> Vec<Way> {
    let mut ways = constants(entry);
    ways.extend(taken);
    let chosen = taken[0];
    let range = entry.candidates.get(chosen.candidate).and_then(|candidate| candidate.parameter.as_ref());
    if let (Some(range), Some(value)) = (range, chosen.parameter) {
        let beside = [value as f64 / APART.sqrt(), value as f64 * APART.sqrt()].map(|v| v.round() as i64);
        let inside = beside.into_iter().filter(|value| (range.least..=range.greatest).contains(value));
        ways.extend(inside.map(|value| Way { parameter: Some(value), ..chosen }));
    }
    ways.sort_unstable();
    ways.dedup();
    ways
}

fn values(range: &Range) -> Vec<i64> {
    if range.every {
        return (range.least..=range.greatest).collect();
    }
    let next = |value: &i64| {
        let far = ((*value as f64 * APART) as i64).max(value + 1);
        (*value < range.greatest).then_some(far.min(range.greatest))
    };
    std::iter::successors(Some(range.least), next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libraries::LIBRARIES;

    #[test]
    fn inputs_are_inside_the_range_off_the_lattice_and_of_the_seed() {
        for entry in &LIBRARIES {
            let drawn = inputs(entry, 40, 7, false);
            assert_eq!(drawn, inputs(entry, 40, 7, false));
            assert_ne!(drawn, inputs(entry, 40, 8, false));
            for x in &drawn {
                for (input, value) in entry.inputs.iter().zip(x) {
                    assert!((input.least..=input.greatest).contains(value), "{} {x:?}", entry.name);
                }
            }
            // Each spec measures at roots of powers of two.
            let lattice: Vec<usize> = (0..=44).map(|e| 2f64.powf(f64::from(e) / 2.0) as usize).collect();
            let on = |x: &&Vec<usize>| x.iter().all(|value| *value >= 32 && lattice.contains(value));
            assert!(drawn.iter().filter(on).count() <= 4, "{}", entry.name);
        }
    }

    #[test]
    fn half_of_round_inputs_are_round() {
        let entry = LIBRARIES.iter().find(|entry| entry.name == "transpose").unwrap();
        let drawn = inputs(entry, 40, 7, true);
        let round = |x: &&Vec<usize>| x[0].is_power_of_two() || x[0].is_multiple_of(64);
        assert!(drawn.iter().filter(round).count() >= 18, "{drawn:?}");
        assert_eq!(drawn[0], inputs(entry, 40, 7, false)[0]);
    }

    #[test]
    fn every_way_that_counts_is_raced() {
        for entry in &LIBRARIES {
            let x: Vec<usize> = entry.inputs.iter().map(|input| input.greatest).collect();
            let old = (entry.old)(&x);
            for chosen in constants(entry) {
                let ways = ways(entry, &[chosen, old, old]);
                assert!(ways.contains(&chosen) && ways.contains(&old), "{}", entry.name);
                for (index, candidate) in entry.candidates.iter().enumerate() {
                    let values: Vec<i64> = ways
                        .iter()
                        .filter(|way| way.candidate == index)
                        .filter_map(|way| way.parameter)
                        .collect();
                    let Some(range) = &candidate.parameter else { continue };
                    assert_eq!((values.first(), values.last()), (Some(&range.least), Some(&range.greatest)));
                    for pair in values.windows(2) {
                        let close = pair[1] == pair[0] + 1 || pair[1] as f64 <= 1.5 * pair[0] as f64;
                        assert!(close, "{} {pair:?}", entry.name);
                    }
                }
            }
        }
    }
}
