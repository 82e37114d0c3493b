//! Regret: by how much longer a choice takes than the fastest way that was tried.

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_model::samples::Sample;
use strata_model::set::{Constant, Regret};
use strata_model::{Samples, number_text};

use super::ways::Way;
use crate::competition::Competition;

/// Timings of a way that suffice to judge it.
const LEAST: usize = 4;

/// Inputs that are drawn anew for the interval of the mean.
const BOOTSTRAPS: usize = 2000;

/// The timings of one way in two halves, each in the lower quartile.
type Halves = [f64; 2];

/// The regret of the choices of a library at these inputs; `None` where nothing can be judged.
pub(super) fn of(
    names: &[String],
    decisions: &[(Vec<f64>, Vec<Way>)],
    competition: &Competition,
    times: &Samples,
) -> Option<Regret> {
    let mut regrets: Vec<(f64, String)> = Vec::new();
    let mut constants: Vec<(String, Vec<f64>)> = Vec::new();
    for (inputs, ways) in decisions {
        let timed: Vec<(&Way, Halves)> =
            ways.iter().filter_map(|way| Some((way, halves(way, times)?))).collect();
        let Ok(choice) = competition.choose(inputs, None) else { continue };
        let is_chosen = |way: &Way| way.candidate == choice.index && way.parameters[..] == *choice.parameters;
        let Some(chosen) = timed.iter().position(|(way, _)| is_chosen(way)) else { continue };
        let all: Vec<Halves> = timed.iter().map(|(_, halves)| *halves).collect();
        let place = names.iter().zip(inputs).map(|(name, value)| format!("{name}={}", number_text(*value)));
        regrets.push((regret(&all, chosen), place.collect::<Vec<_>>().join(", ")));
        for (at, (way, _)) in timed.iter().enumerate() {
            let name = pin(competition, way);
            let known = constants.iter_mut().find(|(known, _)| *known == name);
            match known {
                Some((_, losses)) => losses.push(regret(&all, at)),
                None => constants.push((name, vec![regret(&all, at)])),
            }
        }
    }
    let losses: Vec<f64> = regrets.iter().map(|(loss, _)| *loss).collect();
    let worst = regrets.iter().max_by(|a, b| a.0.total_cmp(&b.0))?.clone();
    // Those that were timed everywhere.
    let everywhere = constants.into_iter().filter(|(_, all)| all.len() == losses.len());
    let constants = everywhere.map(|(name, all)| Constant { name, mean: mean(&all) });
    Some(Regret {
        inputs: losses.len(),
        mean: mean(&losses),
        interval: interval(&losses),
        worst: worst.0,
        worst_at: worst.1,
        constant: constants.min_by(|a, b| a.mean.total_cmp(&b.mean)),
    })
}

/// As it is pinned: `quick:16`.
fn pin(competition: &Competition, way: &Way) -> String {
    let name = competition.candidates()[way.candidate].name;
    way.parameters.iter().fold(name.to_owned(), |text, value| format!("{text}:{value}"))
}

/// The timings of a way, every other one in one half.
fn halves(way: &Way, times: &Samples) -> Option<Halves> {
    let inputs = &way.point.values[..way.inputs];
    let is_way = |row: &&Sample| row.values.get(..way.inputs) == Some(inputs);
    let row = times.model(&way.model)?.rows.iter().find(is_way)?;
    let mut timings = row.notes.timings.clone();
    if timings.is_empty() {
        // Simulated time is exact.
        return Some([row.seconds; 2]);
    }
    timings.sort_by(|a, b| a.moment.total_cmp(&b.moment));
    (timings.len() >= LEAST).then_some(())?;
    let half = |first: usize| {
        let mut seconds: Vec<f64> = timings.iter().skip(first).step_by(2).map(|t| t.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        seconds[(seconds.len() - 1) / 4]
    };
    Some([half(0), half(1)])
}

/// By how much longer `chosen` takes than the fastest way: the one that is the fastest in one half
/// is timed by the other, so that noise does not favour it.
fn regret(all: &[Halves], chosen: usize) -> f64 {
    let one = |judge: usize| {
        let fastest = all.iter().min_by(|a, b| a[1 - judge].total_cmp(&b[1 - judge]));
        fastest.map_or(0.0, |fastest| all[chosen][judge] / fastest[judge] - 1.0)
    };
    (one(0) + one(1)) / 2.0
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Of the mean, with 95 %: the quantiles of the means of as many inputs, drawn with replacement
/// (Efron 1979).
fn interval(values: &[f64]) -> (f64, f64) {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut drawn = || values[random.random_range(0..values.len())];
    let mut means: Vec<f64> = (0..BOOTSTRAPS)
        .map(|_| (0..values.len()).map(|_| drawn()).sum::<f64>() / values.len() as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    (means[BOOTSTRAPS / 40], means[BOOTSTRAPS - 1 - BOOTSTRAPS / 40])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Noise alone makes one of several equal ways look the fastest; it must not count.
    #[test]
    fn noise_does_not_favour_the_fastest() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let mut losses = Vec::new();
        for _ in 0..400 {
            let mut noisy = || 1.0 + 0.05 * (random.random::<f64>() - 0.5);
            let all: Vec<Halves> = (0..10).map(|_| [noisy(), noisy()]).collect();
            losses.push(regret(&all, 0));
        }
        assert!(mean(&losses).abs() < 0.002, "{}", mean(&losses));
    }

    proptest! {
        #[test]
        fn what_is_exact_is_exact(times in prop::collection::vec(0.1..10.0_f64, 1..9), chosen in 0..9_usize) {
            let all: Vec<Halves> = times.iter().map(|time| [*time; 2]).collect();
            let chosen = chosen % all.len();
            let least = times.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert!((regret(&all, chosen) - (times[chosen] / least - 1.0)).abs() < 1e-12);
        }

        #[test]
        fn the_interval_holds_the_mean(values in prop::collection::vec(0.0..1.0_f64, 1..40)) {
            let (low, high) = interval(&values);
            prop_assert!(low <= mean(&values) + 1e-12 && mean(&values) <= high + 1e-12);
        }
    }
}
