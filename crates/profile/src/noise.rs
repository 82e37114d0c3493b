//! Simulated noise, to compare two orders of measuring: sweeps, and each point's timings in a row.
//!
//! `cargo test -p strata-profile --lib noise -- --nocapture` prints the table of README.md.

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_model::samples::Timing;

use super::order::spread;
use super::schedule::{Outline, Rules, Schedule};
use super::stats::median;

/// A disturbance of timings.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Noise {
    /// 1 %, which every other kind includes.
    Quiet,
    /// 5 %.
    Gaussian,
    /// Only makes timings longer, by 6 % on average.
    Skewed,
    /// 1.4 times slower in stretches that cover about half of the run.
    TwoSpeeds,
    /// Half the speed in the second half of the run.
    Halves,
    /// 30 % slower at the end than at the beginning.
    Drift,
    /// One timing in fifty takes three to ten times as long.
    Outliers,
    /// One timing in four is interrupted, for an average time as long as its own.
    Preempted,
    /// The clock's step is 2 % of the time.
    Quantised,
    /// Another program in stretches that cover half of the run; meanwhile three timings in five
    /// take 1.2 to 2.2 times as long.
    Load,
}

const ALL: [Noise; 10] = [
    Noise::Quiet,
    Noise::Gaussian,
    Noise::Skewed,
    Noise::TwoSpeeds,
    Noise::Halves,
    Noise::Drift,
    Noise::Outliers,
    Noise::Preempted,
    Noise::Quantised,
    Noise::Load,
];

struct Machine {
    noise: Noise,
    random: ChaCha8Rng,
    /// Seconds of the whole run.
    length: f64,
    /// When stretches end.
    ends: Vec<f64>,
}

impl Machine {
    fn new(noise: Noise, length: f64, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut ends = vec![if random.random() { 0.0 } else { -1.0 }];
        while ends.last().is_some_and(|end| *end < 4.0 * length) {
            let stretch = -random.random::<f64>().ln() * length / 8.0;
            ends.push(ends.last().unwrap() + stretch);
        }
        Self { noise, random, length, ends }
    }

    fn gaussian(&mut self) -> f64 {
        (0..12).map(|_| self.random.random::<f64>()).sum::<f64>() - 6.0
    }

    fn time(&mut self, cost: f64, moment: f64) -> f64 {
        let stretch = self.ends.iter().filter(|end| **end <= moment).count() % 2 == 0;
        let uniform = self.random.random::<f64>();
        let usual = cost * (1.0 + 0.01 * self.gaussian());
        match self.noise {
            Noise::Quiet => usual,
            Noise::Gaussian => cost * (1.0 + 0.05 * self.gaussian()).max(0.1),
            Noise::Skewed => cost * (0.075 * self.gaussian().abs()).exp(),
            Noise::TwoSpeeds => usual * if stretch { 1.4 } else { 1.0 },
            Noise::Halves => usual * if moment > self.length / 2.0 { 2.0 } else { 1.0 },
            Noise::Drift => usual * (1.0 + 0.3 * moment / self.length),
            Noise::Outliers if uniform < 0.02 => usual * (3.0 + 350.0 * uniform),
            Noise::Preempted if uniform < 0.25 => usual * (1.0 - (4.0 * uniform).ln()),
            Noise::Quantised => {
                ((usual / cost / 0.02 + uniform - 0.5).round() * 0.02 * cost).max(0.02 * cost)
            }
            Noise::Load if stretch && uniform < 0.6 => usual * (1.2 + uniform / 0.6),
            Noise::Outliers | Noise::Preempted | Noise::Load => usual,
        }
    }
}

/// Points' costs over two and a half decades.
fn costs(seed: u64) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..60).map(|_| 10f64.powf(-2.5 * random.random::<f64>())).collect()
}

/// Mean and worst relative error, ignoring a factor common to all points.
fn errors(costs: &[f64], times: &[f64]) -> (f64, f64) {
    let logs: Vec<f64> = costs.iter().zip(times).map(|(cost, time)| (time / cost).ln()).collect();
    let common = median(&logs);
    let off = logs.iter().map(|log| (log - common).abs());
    (off.clone().sum::<f64>() / logs.len() as f64, off.fold(0.0, f64::max))
}

/// Measures in sweeps, in the time of `each` timings for each point. Returns the times, and how
/// many timings each point had.
fn sweeps(costs: &[f64], noise: Noise, each: f64, seed: u64) -> (Vec<f64>, Vec<usize>) {
    let budget = each * costs.iter().sum::<f64>();
    let mut machine = Machine::new(noise, budget, seed);
    let outline = Outline { order: spread(costs.len(), 0.3), sizes: costs.to_vec(), repeat: 3 };
    let rules = Rules { goal: 0.005, least: 7, most: 40, discard: true, seed };
    let mut schedule = Schedule::new(vec![outline], rules);
    let mut moment = 0.0;
    while let Some(place) = schedule.next(budget - moment) {
        let seconds = machine.time(costs[place.point], moment);
        schedule.record(place, Timing { seconds, moment }, false, seconds, seconds);
        moment += seconds;
    }
    let summaries = schedule.summaries().remove(0).into_iter().map(Option::unwrap);
    summaries.map(|summary| (summary.seconds, summary.timings.len())).unzip()
}

/// Measures each point's timings one after the other; returns their median.
fn in_a_row(costs: &[f64], noise: Noise, counts: &[usize], each: f64, seed: u64) -> Vec<f64> {
    let mut machine = Machine::new(noise, each * costs.iter().sum::<f64>(), seed);
    let mut moment = 0.0;
    let mut point = |(cost, count): (&f64, &usize)| {
        let timings: Vec<f64> = (0..*count)
            .map(|_| {
                let seconds = machine.time(*cost, moment);
                moment += seconds;
                seconds
            })
            .collect();
        median(&timings)
    };
    costs.iter().zip(counts).map(&mut point).collect()
}

/// Mean errors and worst errors in per cent, in a row and in sweeps, on average over eight runs.
fn compare(noise: Noise, each: f64) -> [f64; 4] {
    const RUNS: u64 = 8;
    let mut all = [0.0; 4];
    for seed in 0..RUNS {
        let costs = costs(seed);
        let (swept, counts) = sweeps(&costs, noise, each, seed);
        let (mean, worst) = errors(&costs, &swept);
        let (mean_before, worst_before) = errors(&costs, &in_a_row(&costs, noise, &counts, each, seed));
        for (sum, error) in all.iter_mut().zip([mean_before, mean, worst_before, worst]) {
            *sum += 100.0 * error / RUNS as f64;
        }
    }
    all
}

#[test]
fn sweeps_beat_timings_in_a_row() {
    println!("noise        in a row, mean  worst   in sweeps, mean  worst  %");
    for noise in ALL {
        let [mean_before, mean, worst_before, worst] = compare(noise, 7.0);
        println!("{:12} {mean_before:14.2} {worst_before:6.1} {mean:17.2} {worst:6.1}", format!("{noise:?}"));
        let (most, most_worst) = match noise {
            // Sweeps are made for slow periods.
            Noise::TwoSpeeds | Noise::Halves | Noise::Drift => (0.1, 0.2),
            Noise::Load => (0.4, 0.8),
            Noise::Preempted => (0.8, 1.0),
            // The clock's steps happen to match the costs, which favours the median.
            Noise::Quantised => (1.8, 1.25),
            // Where timings are independent the order does not matter; a quartile is slightly less
            // precise.
            _ => (1.25, 1.25),
        };
        assert!(mean <= most * mean_before.max(0.3), "{noise:?}: {mean} against {mean_before}");
        assert!(worst <= most_worst * worst_before.max(1.5), "{noise:?}: {worst} against {worst_before}");
    }
}

#[test]
fn a_short_budget_withstands_two_speeds_too() {
    let [before, mean, ..] = compare(Noise::TwoSpeeds, 4.5);
    assert!(mean <= 0.3 * before, "{mean} against {before}");
}
