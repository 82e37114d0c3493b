//! What choices lose where the program does not know a kind.

use crate::competition::Competition;
use crate::thresholds::places::scale;

/// The most values of each other input.
const VALUES: usize = 8;

/// The mean loss, by the models, of one candidate for all names of a kind, at the same other inputs:
/// the candidate that loses least there, beside the fastest for each name. `None` if no candidate has
/// predictions for all of them.
pub(crate) fn loss(competition: &Competition, kind: &str) -> Option<f64> {
    let place = competition.inputs().iter().position(|input| input == kind)?;
    let names = competition.kinds().get(kind)?.len();
    let mut points = vec![vec![0.0; competition.inputs().len()]];
    for input in (0..competition.inputs().len()).filter(|input| *input != place) {
        let values = match competition.kinds().get(&competition.inputs()[input]) {
            Some(names) => (0..names.len()).map(|value| value as f64).collect(),
            None => scale(competition, input).ok()?.spread(VALUES),
        };
        let with = |point: &Vec<f64>| {
            let mut point = point.clone();
            values
                .iter()
                .map(move |value| {
                    point[input] = *value;
                    point.clone()
                })
                .collect::<Vec<_>>()
        };
        points = points.iter().flat_map(with).collect();
    }
    let lost = |mut point: Vec<f64>| {
        let mut sums = vec![0.0; competition.candidates().len()];
        for name in 0..names {
            point[place] = name as f64;
            let times: Vec<Option<f64>> = competition
                .predictions(&point)
                .into_iter()
                .map(|prediction| prediction.map(|prediction| prediction.seconds.get()))
                .collect();
            let least = times.iter().flatten().copied().fold(f64::INFINITY, f64::min);
            for (sum, time) in sums.iter_mut().zip(times) {
                *sum += time.map_or(f64::INFINITY, |time| time / least - 1.0);
            }
        }
        sums.into_iter().map(|sum| sum / names as f64).fold(f64::INFINITY, f64::min)
    };
    let losses: Vec<f64> = points.into_iter().map(lost).filter(|loss| loss.is_finite()).collect();
    (!losses.is_empty()).then(|| losses.iter().sum::<f64>() / losses.len() as f64)
}
