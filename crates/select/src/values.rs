//! How sure the values of a candidate's parameters are, from the model's errors between them.

use std::vec::Vec;

use crate::{
    Odds, Source,
    choice::MAX_INPUTS,
    normal,
    table::{Contrast, Parameter, Parameters, octaves},
};

/// Values whose times differ by less than this share are shown as equally fast.
const TIE: f64 = 0.01;
/// A value is right if no other is faster by more than this share: smaller differences are hardly
/// ever measured.
const RIGHT: f64 = 0.03;
/// The most values of one parameter that are compared.
const MOST: usize = 64;
/// Pairs of random errors, each with its opposite.
const DRAWS: usize = 250;

/// The values of one parameter, with their predicted times.
struct Line {
    /// The values, rising.
    values: Vec<i64>,
    /// The logarithm of each time over that of the taken value.
    excess: Vec<f64>,
    /// The place of each in the range, 0 to 1.
    places: Vec<f64>,
    taken: usize,
}

/// The values of parameter `which`, with the others as taken; `None` if there is no other value,
/// and for a parameter that is a root.
fn line<S: Source + ?Sized>(
    source: &S,
    (candidate, nodes, inputs): (usize, usize, &[f64]),
    declared: &[Parameter],
    taken: &Parameters,
    which: usize,
) -> Option<Line> {
    let parameter = declared.get(which)?;
    let (first, last) = parameter.places();
    if parameter.root.is_some() || first >= last {
        return None;
    }
    let at = *taken.get(which)?;
    let whole = |value: i64| octaves(value as f64);
    let (low, high) = (whole(parameter.min), whole(parameter.at(last)));
    let mut values = Vec::new();
    if parameter.count() <= MOST as u64 {
        values.extend(parameter.values());
    } else {
        // Values evenly spaced in the logarithm, and the taken one.
        let steps = (MOST - 2) as f64;
        let mut next = low;
        values.extend(parameter.values().take(MOST * MOST).filter(|value| {
            let here = whole(*value) >= next;
            if here {
                next = whole(*value) + (high - low) / steps;
            }
            here || *value == at
        }));
        values.push(parameter.at(last));
    }
    // If the range of the problem begins at another value, the taken one need not be declared.
    values.push(at);
    values.sort_unstable();
    values.dedup();
    let seconds = |value: i64| {
        let mut all = *taken;
        *all.as_mut_slice().get_mut(which)? = value;
        source.seconds(candidate, nodes, inputs, &all).filter(|seconds| *seconds > 0.0)
    };
    let base = seconds(at)?;
    let mut found = Line { values: Vec::new(), excess: Vec::new(), places: Vec::new(), taken: 0 };
    for value in values {
        let Some(seconds) = seconds(value) else { continue };
        if value == at {
            found.taken = found.values.len();
        }
        found.values.push(value);
        found.excess.push((seconds / base).ln());
        found.places.push((whole(value) - low) / (high - low));
    }
    (found.values.len() > 1).then_some(found)
}

impl Line {
    /// The probability that no value is faster than the taken one by more than [`RIGHT`], and the
    /// expected share of its time that the best value saves.
    fn odds(&self, contrast: Contrast) -> (f64, f64) {
        // Errors of values along a line are a stationary process without memory; half of the
        // variance of a difference is each value's own.
        let deviation = contrast.deviation / core::f64::consts::SQRT_2;
        let steps: Vec<(f64, f64)> = (self.places.windows(2))
            .map(|pair| {
                let correlation = contrast.correlation(pair[1] - pair[0]);
                (correlation, deviation * (1.0 - correlation * correlation).max(0.0).sqrt())
            })
            .collect();
        let mut random = Normal(0x9e37_79b9_7f4a_7c15);
        let mut errors = Vec::with_capacity(self.values.len());
        let (mut right, mut saved) = (0.0, 0.0);
        for _ in 0..DRAWS {
            errors.clear();
            let mut error = deviation * random.next();
            errors.push(error);
            for (correlation, rest) in &steps {
                error = correlation * error + rest * random.next();
                errors.push(error);
            }
            for sign in [1.0, -1.0] {
                let own = sign * errors[self.taken];
                let others =
                    self.excess.iter().zip(&errors).map(|(excess, error)| excess + sign * error - own);
                let least = others.fold(0.0, f64::min);
                saved += 1.0 - least.exp();
                right += f64::from(u8::from(least >= -RIGHT));
            }
        }
        let count = (2 * DRAWS) as f64;
        (right / count, saved / count)
    }

    /// The values around the taken one that tie with it: their predicted times exceed its time by
    /// less than the standard deviation of the difference, or by less than [`TIE`].
    fn tied(&self, contrast: Contrast) -> (i64, i64) {
        let ties = |place: &usize| {
            let distance = (self.places[*place] - self.places[self.taken]).abs();
            let deviation = contrast.deviation * (1.0 - contrast.correlation(distance)).sqrt();
            self.excess[*place] <= deviation.max(TIE)
        };
        let low = (0..self.taken).rev().take_while(ties).last().unwrap_or(self.taken);
        let high = (self.taken + 1..self.values.len()).take_while(ties).last().unwrap_or(self.taken);
        (self.values[low], self.values[high])
    }
}

/// The values of a candidate's parameters at the nearest measured problem.
pub(crate) struct Values<'a, S: ?Sized> {
    pub(crate) source: &'a S,
    pub(crate) candidate: usize,
    pub(crate) nodes: usize,
    pub(crate) inputs: [f64; MAX_INPUTS],
    pub(crate) count: usize,
    pub(crate) declared: &'a [Parameter],
    pub(crate) taken: Parameters,
}

impl<S: Source + ?Sized> Values<'_, S> {
    fn lines(&self) -> impl Iterator<Item = Option<Line>> + use<'_, S> {
        let inputs = &self.inputs[..self.count];
        let place = (self.candidate, self.nodes, inputs);
        (0..self.declared.len()).map(move |which| line(self.source, place, self.declared, &self.taken, which))
    }

    /// Combines the odds of the candidates, `odds`, with those of the taken candidate's values:
    /// each parameter alone, as if errors of parameters were independent. `seconds`: the expected
    /// time of the taken candidate.
    pub(crate) fn odds(&self, mut odds: Odds, seconds: f64, distance: f64) -> Odds {
        let Some(contrast) = self.source.about(self.candidate).contrast else { return odds };
        let contrast = Contrast { deviation: contrast.deviation.hypot(distance), ..contrast };
        for (right, saved) in self.lines().flatten().map(|line| line.odds(contrast)) {
            odds.fastest *= right;
            odds.loss += saved * seconds;
        }
        odds
    }

    /// For each parameter the least and the greatest value that ties with the taken one.
    pub(crate) fn tied(&self) -> Option<Vec<(i64, i64)>> {
        let contrast = self.source.about(self.candidate).contrast?;
        let ranges = self.lines().zip(self.taken.iter());
        Some(ranges.map(|(line, taken)| line.map_or((*taken, *taken), |line| line.tied(contrast))).collect())
    }
}

/// A fixed sequence of normal numbers: Marsaglia (2003).
struct Normal(u64);

impl Normal {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn next(&mut self) -> f64 {
        normal::draw(1.0 - self.uniform(), self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line over powers of two from 8 with these times.
    fn line(times: &[f64], taken: usize) -> Line {
        let last = (times.len() - 1) as f64;
        Line {
            values: (0..times.len()).map(|place| 8 << place).collect(),
            excess: times.iter().map(|time| (time / times[taken]).ln()).collect(),
            places: (0..times.len()).map(|place| place as f64 / last).collect(),
            taken,
        }
    }

    #[test]
    fn values_that_are_known_exactly_are_certain() {
        let exact = Contrast { deviation: 0.0, reach: 0.5 };
        assert_eq!(line(&[2.0, 1.0, 2.0], 1).odds(exact), (1.0, 0.0));
        assert_eq!(line(&[2.0, 1.0, 1.005], 1).tied(exact), (16, 32));
        let (right, saved) = line(&[1.0, 2.0, 4.0], 1).odds(exact);
        assert!(right == 0.0 && (saved - 0.5).abs() < 1e-12, "{saved}");
    }

    #[test]
    fn neighbours_tie_sooner_than_values_far_apart_and_cost_less() {
        let contrast = |reach| Contrast { deviation: 0.2, reach };
        let flat = line(&[1.0; 5], 2);
        let (right, saved) = flat.odds(contrast(0.01));
        // Of five values with independent errors of 0.14, each is the best equally often; the best
        // saves 1.16 of these deviations.
        assert!((0.2..0.5).contains(&right) && (0.1..0.2).contains(&saved), "{right} {saved}");
        let (alike, less) = flat.odds(contrast(50.0));
        assert!(alike > right && less < 0.5 * saved, "{alike} {less}");
        let slope = line(&[1.2, 1.05, 1.0, 1.05, 1.2], 2);
        assert_eq!(slope.tied(contrast(0.5)), (16, 64));
        assert_eq!(slope.tied(contrast(0.01)), (8, 128));
    }

    #[test]
    fn the_probability_is_that_of_two_values() {
        // The difference has the deviation 0.1: 1.03 times faster is 1.3 deviations away.
        let two = line(&[1.0, 1.105_171], 0);
        let (right, _) = two.odds(Contrast { deviation: 0.1, reach: 1e-9 });
        assert!((right - 0.903).abs() < 0.04, "{right}");
    }
}
