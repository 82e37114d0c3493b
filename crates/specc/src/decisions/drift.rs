//! The ratios of measured to predicted times.

use std::collections::BTreeMap;

use strata_model::Samples;

use super::Moved;
use super::alternatives::Alternative;
use super::regret::halves;
use crate::competition::Competition;

/// The fewest points that judge a model.
const LEAST: usize = 6;

/// The ratio of each model whose ways were timed at enough points.
pub(super) fn of(
    decisions: &[(Vec<f64>, Vec<Alternative>)],
    competition: &Competition,
    times: &Samples,
) -> Vec<Moved> {
    let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (inputs, ways) in decisions {
        for way in ways {
            let expected = competition.expected(way.candidate, inputs, &way.parameters);
            if let Some((expected, [first, second])) = expected.zip(halves(way, times)) {
                ratios.entry(&way.model).or_default().push((first + second) / 2.0 / expected);
            }
        }
    }
    ratios.into_iter().filter_map(|(model, ratios)| median(model, ratios)).collect()
}

/// The median with its interval from order statistics (Thompson 1936).
fn median(model: &str, mut ratios: Vec<f64>) -> Option<Moved> {
    let count = ratios.len();
    (count >= LEAST).then_some(())?;
    ratios.sort_by(f64::total_cmp);
    let reach = 0.98 * (count as f64).sqrt();
    let middle = (count as f64 - 1.0) / 2.0;
    let low = (middle - reach).floor().max(0.0) as usize;
    let high = ((middle + reach).ceil() as usize).min(count - 1);
    Some(Moved {
        model: model.to_owned(),
        ratio: f64::midpoint(ratios[(count - 1) / 2], ratios[count / 2]),
        interval: (ratios[low], ratios[high]),
        points: count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_lies_between_the_ranks() {
        let ratios: Vec<f64> = (1..=25).rev().map(f64::from).collect();
        let moved = median("M", ratios).unwrap();
        assert_eq!((moved.ratio, moved.interval, moved.points), (13.0, (8.0, 18.0), 25));
        assert_eq!(median("M", vec![1.0; 5]), None);
    }
}
