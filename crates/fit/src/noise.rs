//! The machine's share of an error: the noise in one sample, from repeats of its point.
//!
//! A sample is the median of timings. Timings of one moment share the state of the machine. If
//! moments are known, the noise is estimated from medians of blocks of time, else from the interval
//! that the harness noted. Points that were sampled several times give the best estimate, because
//! they include changes between samples.
//!
//! Source: Draper and Smith, *Applied Regression Analysis*, 3rd ed. (1998), §2.1 (pure error);
//! Künsch (1989) for blocks.

use std::collections::BTreeMap;

use strata_model::samples::{Notes, Sample, Timing};
use strata_select::normal::HALF_WIDTH;

use crate::points;
use crate::stats::t_quantile;

/// The most blocks of time into which timings are divided.
const BLOCKS: usize = 8;
/// The least number of pairs of repeated points for which their scatter is used.
const LEAST_REPEATED: usize = 5;
/// Few timings may agree by chance, or by a coarse clock.
const LEAST_NOISE: f64 = 0.01;
/// Samples of one point are taken at different times; a simulated machine repeats them exactly.
const LEAST_OF_COPIES: f64 = 1e-3;
/// Half the width of the interval of a median in standard deviations, see Conover (1999), §3.2, for
/// intervals by ranks.
const DEVIATIONS: f64 = 1.15;

/// The relative standard deviation of the noise in each sample, by its index; zero if unknown.
pub(crate) fn of_samples(rows: &[Sample], inputs: &[usize]) -> Vec<f64> {
    let each: Vec<f64> = rows.iter().map(|row| of_notes(&row.notes)).collect();
    let repeated = of_repeated(rows, inputs);
    each.into_iter().map(|noise: f64| noise.max(repeated)).collect()
}

/// The relative standard deviation of the noise in each sample whose timings are spread over the
/// run, as those of sweeps are, or whose point was sampled again. A large error of such a sample
/// lasted the whole run, so other programs are not its cause. Infinite if unknown.
pub(crate) fn of_steady(rows: &[&Sample]) -> Vec<f64> {
    let moments = |row: &Sample| {
        let moments = row.notes.timings.iter().map(|timing| timing.moment);
        moments.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), m| (a.min(m), b.max(m)))
    };
    let run = rows
        .iter()
        .map(|row| moments(row))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    let steady = |row: &&Sample| {
        let (first, last) = moments(row);
        let spread = 2.0 * (last - first) >= run.1 - run.0;
        blocks(&row.notes.timings).filter(|_| spread).unwrap_or(f64::INFINITY).max(LEAST_NOISE)
    };
    rows.iter().zip(of_copies(rows)).map(|(row, copies)| steady(row).min(copies)).collect()
}

/// Whether the moments of the samples are unknown, and their times are not a simulated machine's:
/// they come from elsewhere, and those of one point differ. `steady` is [`of_steady`].
pub(crate) fn moments_are_unknown(rows: &[&Sample], steady: &[f64]) -> bool {
    let elsewhere = |row: &&Sample| row.notes.at.is_empty() && row.notes.timings.is_empty();
    rows.iter().all(elsewhere) && steady.iter().all(|noise| *noise > LEAST_OF_COPIES)
}

/// The relative standard deviation among the samples of each sample's point on the same number of
/// nodes, wider for few of them as Student's intervals are; infinite for a single one.
fn of_copies(rows: &[&Sample]) -> Vec<f64> {
    let mut all = vec![f64::INFINITY; rows.len()];
    let mut quantiles = BTreeMap::new();
    for group in copies(rows, |row| row.values.iter().copied()) {
        // In logarithms, so that one disturbed copy is no excuse for another's error.
        let times: Vec<f64> = group.iter().map(|row| rows[*row].seconds.ln()).collect();
        let freedom = times.len() - 1;
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let square: f64 = times.iter().map(|t| (t - mean).powi(2)).sum();
        if !square.is_finite() {
            continue;
        }
        let quantile = quantiles.entry(freedom).or_insert_with(|| t_quantile(0.95, freedom));
        let Some(quantile) = *quantile else { continue };
        let noise = (quantile / HALF_WIDTH * (square / freedom as f64).sqrt()).max(LEAST_OF_COPIES);
        group.iter().for_each(|row| all[*row] = noise);
    }
    all
}

/// The rows of each point that was sampled more than once on the same number of nodes.
fn copies<'a, V: Iterator<Item = f64>>(
    rows: &[&'a Sample],
    values: impl Fn(&'a Sample) -> V,
) -> Vec<Vec<usize>> {
    let points = points::Rows::new(rows.iter().map(|row| {
        let at = row.notes.at.iter().map(|v| *v as u64);
        values(row).map(f64::to_bits).chain(at).chain([row.notes.nodes as u64])
    }));
    let numbers = points::numbered((0..rows.len()).map(|row| points.row(row)));
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); numbers.iter().max().map_or(0, |most| most + 1)];
    numbers.iter().enumerate().for_each(|(row, number)| groups[*number].push(row));
    groups.retain(|group| group.len() > 1);
    groups
}

/// The noise from the notes of one sample.
fn of_notes(notes: &Notes) -> f64 {
    let noise = blocks(&notes.timings).unwrap_or(notes.spread / HALF_WIDTH);
    (if notes.draws > 0 { noise.max(of_mean(notes)) } else { noise }).clamp(0.0, 1e3)
}

/// The relative standard error of a mean over draws.
fn of_mean(notes: &Notes) -> f64 {
    let count = notes.timings.len() as f64;
    let seconds = || notes.timings.iter().map(|timing| timing.seconds);
    let mean = seconds().sum::<f64>() / count;
    let squares: f64 = seconds().map(|s| (s / mean - 1.0).powi(2)).sum();
    (squares / (count - 1.0) / f64::from(notes.draws)).sqrt()
}

/// The relative standard deviation of the median of timings, from the ranks of the medians of
/// blocks of time.
fn blocks(timings: &[Timing]) -> Option<f64> {
    let mut timings: Vec<&Timing> = timings.iter().filter(|t| t.seconds.is_finite()).collect();
    if timings.len() < 3 {
        return None;
    }
    timings.sort_by(|a, b| a.moment.total_cmp(&b.moment));
    let size = timings.len().div_ceil(BLOCKS);
    let mut medians: Vec<f64> =
        timings.chunks(size).map(|block| median(block.iter().map(|t| t.seconds))).collect();
    medians.sort_by(f64::total_cmp);
    // The interval of a median from ranks: a few blocks that are far off change it by no more than
    // their rank.
    let count = medians.len() as f64;
    let rank = (0.5 * (count - 1.0) - 0.5 * DEVIATIONS * count.sqrt()).round().max(0.0) as usize;
    let width = medians[medians.len() - 1 - rank] - medians[rank];
    let noise = 0.5 * width / DEVIATIONS / median(medians.iter().copied());
    noise.is_finite().then_some(noise)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The pooled relative standard deviation among samples of the same point on the same number of
/// nodes; zero if too few were repeated.
fn of_repeated(rows: &[Sample], inputs: &[usize]) -> f64 {
    let timed: Vec<&Sample> = rows.iter().filter(|row| row.seconds > 0.0).collect();
    let point = |row| {
        let Sample { values, .. }: &Sample = row;
        inputs.iter().filter_map(|column| values.get(*column)).copied()
    };
    let (mut square, mut freedom) = (0.0, 0);
    for group in copies(&timed, point) {
        let times = || group.iter().map(|row| timed[*row].seconds);
        let mean = times().sum::<f64>() / group.len() as f64;
        square += times().map(|t| (t / mean - 1.0).powi(2)).sum::<f64>();
        freedom += group.len() - 1;
    }
    if freedom < LEAST_REPEATED { 0.0 } else { (square / freedom as f64).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timings(pairs: &[(f64, f64)]) -> Vec<Timing> {
        pairs.iter().map(|(seconds, moment)| Timing { seconds: *seconds, moment: *moment }).collect()
    }

    #[test]
    fn a_slow_period_is_noise_however_many_timings_it_holds() {
        // 40 timings at one speed, then 40 at another: as 80 independent timings they would give 2
        // %.
        let two: Vec<(f64, f64)> = (0..80).map(|i| (if i < 40 { 1.0 } else { 1.4 }, f64::from(i))).collect();
        let noise = blocks(&timings(&two)).unwrap();
        assert!((0.05..0.2).contains(&noise), "{noise}");
        let still: Vec<(f64, f64)> = (0..80).map(|i| (1.0 + 0.01 * f64::from(i % 3), f64::from(i))).collect();
        assert!(blocks(&timings(&still)).unwrap() < 0.01);
        assert_eq!(blocks(&timings(&two[..2])), None);
    }

    #[test]
    fn copies_that_agree_were_not_disturbed() {
        let row = |x: f64, seconds: f64| Sample { seconds, values: vec![x], ..Sample::default() };
        let rows = [row(1.0, 2.0), row(2.0, 3.0), row(1.0, 2.0), row(3.0, 1.0), row(3.0, 2.0), row(3.0, 1.1)];
        let noise = of_copies(&rows.iter().collect::<Vec<_>>());
        assert_eq!([noise[0], noise[1], noise[2]], [LEAST_OF_COPIES, f64::INFINITY, LEAST_OF_COPIES]);
        assert!(noise[3] > 0.5 && noise[3] == noise[4], "{noise:?}");
    }

    #[test]
    fn repeated_points_tell_what_single_samples_hide() {
        let row = |x: f64, seconds: f64| Sample { seconds, values: vec![x], ..Sample::default() };
        let mut rows: Vec<Sample> =
            (0..6).flat_map(|i| [row(f64::from(i), 1.0), row(f64::from(i), 1.2)]).collect();
        let noise = of_samples(&rows, &[0]);
        assert!(noise.iter().all(|n| (n - 0.1286).abs() < 1e-3), "{noise:?}");
        rows.truncate(4);
        assert_eq!(of_samples(&rows, &[0]), [0.0; 4]);
        rows[0].notes.spread = 0.0196;
        assert!((of_samples(&rows, &[0])[0] - 0.01).abs() < 1e-12);
    }
}
