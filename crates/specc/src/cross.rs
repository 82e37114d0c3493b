//! Cross prediction: a time on a machine of which only the costs are known, from the times of the
//! same call on machines of which models were made (Brewer 1994, §8.1.1).
//!
//! A call uses a machine's resources so many times, whatever the machine: messages, bytes, local
//! work. Its time is therefore taken as Σ use · cost over the [costs](COSTS) of the machine, with no
//! use below zero, so that it scales as the costs do. The uses of a call follow from its times on the
//! known machines: least relative error, with a prior that each cost takes the same share of the
//! time, whose strength is that by which the known machines predict each other best when each is left
//! out. What the line does not explain is taken from the machines that are nearest, as far as that
//! helps in the same test.
//!
//! The interval has two parts. How far machines differ: the error of each known machine when it is
//! left out, with the strength and the reach that the errors of the *others* choose, so that no error
//! chose its own method. From 19 machines on it is the conformal quantile of these errors; of fewer
//! machines, Student's. That is the jackknife, which assumes no distribution of the errors, but
//! promises nothing either (Barber, Candès, Ramdas and Tibshirani, *Predictive inference with the
//! jackknife+*, Annals of Statistics 49, 2021): what it holds is measured. And how far models err:
//! what they miss alike on all machines shows in no comparison of machines, so their own intervals
//! count.

use strata_fit::stats::t_quantile;
use strata_model::Prediction;
use strata_sim::platform::{Figures, KernelTime, SimulatedMachine};
use strata_sim::topology::TopologyError;

/// What is known of a machine; times, each with what it is.
pub const COSTS: [(&str, &str); 7] = [
    ("overhead", "of the processors for a message of a word, both sides"),
    ("latency", "of a message, without the overhead"),
    ("byte", "each byte of a long block"),
    ("barrier", "a barrier"),
    ("work", "local work, by its kernels"),
    ("memory", "local copies, by the kernels that move memory"),
    ("cycle", "a cycle of the processor"),
];

/// How many costs there are.
const COUNT: usize = COSTS.len();

/// The kernels whose time is that of the memory.
const MEMORY: [&str; 4] = ["Clear", "Copy", "Pack", "Scatter"];

/// Strengths of the prior that compete, in known machines.
const STRENGTHS: [f64; 7] = [1e-4, 1e-3, 1e-2, 0.1, 0.3, 1.0, 10.0];

/// Reaches of the residuals that compete, as distances of machines; 0: they are left out.
const REACHES: [f64; 4] = [0.0, 0.5, 1.0, 2.0];

/// A residual counts as much as the assumption that there is none at this weight.
const NONE: f64 = 0.5;

/// Steps of the descent for the uses; it ends where they no longer move.
const STEPS: usize = 200;

/// The costs of a machine in s, in the order of [`COSTS`]; all positive. `work` and `memory` are of
/// kernels that take a nanosecond on the machine on which the kernels' models were calibrated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs([f64; COUNT]);

impl Costs {
    /// The costs of a platform with this many nodes.
    ///
    /// # Errors
    /// The nodes do not fit its topology.
    pub fn of(platform: &SimulatedMachine, nodes: usize) -> Result<Self, TopologyError> {
        let figures = Figures::new(platform, nodes.max(2))?;
        let factor = |memory: bool| {
            let of = platform.kernels.iter().filter(|(name, _)| MEMORY.contains(&name.as_str()) == memory);
            let factor = |(_, time): (_, &KernelTime)| match time {
                KernelTime::Factor(factor) => Some(factor.ln()),
                KernelTime::Cycles { .. } => None,
            };
            let logs: Vec<f64> = of.filter_map(factor).collect();
            if logs.is_empty() {
                platform.cpu.kernel_factor
            } else {
                (logs.iter().sum::<f64>() / logs.len() as f64).exp()
            }
        };
        let all = [
            (figures.send + figures.receive).seconds(),
            figures.latency.0.seconds(),
            figures.gap_byte,
            figures.barrier.time().seconds(),
            1e-9 * factor(false),
            1e-9 * factor(true),
            1.0 / platform.cpu.frequency,
        ];
        // The simulator's clock has picoseconds.
        Ok(Self(all.map(|cost| cost.max(1e-12))))
    }

    /// In s, in the order of [`COSTS`].
    #[must_use]
    pub fn seconds(&self) -> &[f64; COUNT] {
        &self.0
    }

    /// How far two machines are from each other: the root mean square of the natural logarithms of
    /// the ratios of their costs.
    #[must_use]
    pub fn distance(&self, other: &Self) -> f64 {
        let squares = self.0.iter().zip(&other.0).map(|(a, b)| (a / b).ln().powi(2));
        (squares.sum::<f64>() / COUNT as f64).sqrt()
    }
}

/// A predicted time.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// s.
    pub seconds: f64,
    /// The time is between `seconds / within` and `seconds * within` in 95 of 100 cases, if the
    /// machine is one like the known ones; infinite if too little is known.
    pub within: f64,
    /// The share of each cost in the time, in the order of [`COSTS`].
    pub shares: [f64; COUNT],
    /// What each known machine's time would have been predicted without it, over its time.
    pub left_out: Vec<f64>,
}

/// The known machines, with a time of each over what all costs alike would make of it.
struct Known<'k> {
    costs: &'k [Costs],
    /// Costs over their geometric mean.
    relative: Vec<[f64; COUNT]>,
    centre: [f64; COUNT],
}

impl<'k> Known<'k> {
    fn new(costs: &'k [Costs]) -> Self {
        let mean =
            |at: usize| (costs.iter().map(|one| one.0[at].ln()).sum::<f64>() / costs.len() as f64).exp();
        let centre = std::array::from_fn(mean);
        let relative = costs.iter().map(|one| over(&one.0, &centre)).collect();
        Self { costs, relative, centre }
    }

    /// The mean time, and the uses of a call, each as its share of that; without one of the machines.
    fn uses(&self, times: &[f64], strength: f64, without: Option<usize>) -> (f64, [f64; COUNT]) {
        let others = || (0..times.len()).filter(|at| Some(*at) != without);
        let middle = (others().map(|at| times[at].ln()).sum::<f64>() / others().count() as f64).exp();
        // Normal equations of Σ (Σ use · cost / time − 1)² + strength · Σ (use − 1/COUNT)².
        let diagonal = |row, column| if row == column { strength } else { 0.0 };
        let mut matrix: [[f64; COUNT]; COUNT] =
            std::array::from_fn(|row| std::array::from_fn(|column| diagonal(row, column)));
        let mut right = [strength / COUNT as f64; COUNT];
        for (at, (relative, time)) in self.relative.iter().zip(times).enumerate() {
            if Some(at) == without {
                continue;
            }
            let scaled = relative.map(|cost| cost * middle / time);
            for row in 0..COUNT {
                right[row] += scaled[row];
                for column in 0..COUNT {
                    matrix[row][column] += scaled[row] * scaled[column];
                }
            }
        }
        let mut uses = [1.0 / COUNT as f64; COUNT];
        for _ in 0..STEPS {
            let mut moved = 0.0_f64;
            for row in 0..COUNT {
                let others: f64 = (0..COUNT).map(|column| matrix[row][column] * uses[column]).sum();
                let next = (uses[row] + (right[row] - others) / matrix[row][row]).max(0.0);
                moved = moved.max((next - uses[row]).abs());
                uses[row] = next;
            }
            if moved < 1e-7 {
                break;
            }
        }
        (middle, uses)
    }

    /// The prediction for a machine, of the known ones without one.
    fn predict(
        &self,
        times: &[f64],
        (middle, uses): (f64, &[f64; COUNT]),
        reach: f64,
        (here, relative): (&Costs, &[f64; COUNT]),
        without: Option<usize>,
    ) -> (f64, [f64; COUNT]) {
        let others = || (0..times.len()).filter(|at| Some(*at) != without);
        let line = |relative: &[f64; COUNT]| {
            (middle * uses.iter().zip(relative).map(|(u, cost)| u * cost).sum::<f64>()).max(f64::MIN_POSITIVE)
        };
        let mut seconds = line(relative);
        let parts: [f64; COUNT] = std::array::from_fn(|at| uses[at] * relative[at] * middle / seconds);
        if reach > 0.0 {
            let (mut sum, mut weights) = (0.0, NONE);
            for at in others() {
                let weight = (-0.5 * (here.distance(&self.costs[at]) / reach).powi(2)).exp();
                sum += weight * (times[at] / line(&self.relative[at])).ln();
                weights += weight;
            }
            seconds *= (sum / weights).exp();
        }
        (seconds, parts)
    }
}

fn over(costs: &[f64; COUNT], centre: &[f64; COUNT]) -> [f64; COUNT] {
    std::array::from_fn(|at| costs[at] / centre[at])
}

/// The share of cases that intervals hold.
const HELD: f64 = 0.95;

/// The error that the next machine's exceeds in 1 − [`HELD`] of all cases, by the errors of known
/// machines like it: the least error of which that holds. `None` for too few.
fn quantile(mut errors: Vec<f64>) -> Option<f64> {
    errors.sort_by(f64::total_cmp);
    // 0.95 · 20 is 19, whatever the last digit says.
    let number = (HELD * (errors.len() + 1) as f64 - 1e-9).ceil() as usize;
    errors.get(number.checked_sub(1)?).copied()
}

/// The time of a call on a machine with the costs `here`, from what models of known machines predict
/// for it there.
///
/// `None` for fewer than two machines, and where a time is not positive.
#[must_use]
pub fn predict(costs: &[Costs], predicted: &[Prediction], here: &Costs) -> Option<Predicted> {
    let times: Vec<f64> = predicted.iter().map(|time| time.seconds.get()).collect();
    if costs.len() < 2 || costs.len() != times.len() || !times.iter().all(|time| *time > 0.0) {
        return None;
    }
    let known = Known::new(costs);
    let count = times.len();
    // The logarithms of the ratios of predicted to known times, each machine left out in turn.
    let mut methods: Vec<((f64, f64), Vec<f64>)> = Vec::new();
    for strength in STRENGTHS {
        let uses: Vec<_> = (0..count).map(|at| known.uses(&times, strength, Some(at))).collect();
        for reach in REACHES {
            let one = |at: usize| {
                let machine = (&known.costs[at], &known.relative[at]);
                let found = known.predict(&times, (uses[at].0, &uses[at].1), reach, machine, Some(at)).0;
                (found / times[at]).ln()
            };
            methods.push(((strength, reach), (0..count).map(one).collect()));
        }
    }
    // The method with the least errors on all machines, or on all but one.
    let best = |without: Option<usize>| {
        let square = |errors: &[f64]| {
            let others = errors.iter().enumerate().filter(|(at, _)| Some(*at) != without);
            others.map(|(_, error)| error * error).sum::<f64>()
        };
        methods.iter().min_by(|a, b| square(&a.1).total_cmp(&square(&b.1)))
    };
    let ((strength, reach), errors) = best(None)?;
    let (middle, uses) = known.uses(&times, *strength, None);
    let machine = (here, &over(&here.0, &known.centre));
    let (seconds, shares) = known.predict(&times, (middle, &uses), *reach, machine, None);
    let left_out = errors.iter().map(|error| error.exp()).collect();
    // A machine that is farther from all others than they are from each other is less certain.
    let nearest = |from: &Costs, without: Option<usize>| {
        let others = costs.iter().enumerate().filter(|(at, _)| Some(*at) != without);
        others.map(|(_, other)| from.distance(other)).fold(f64::INFINITY, f64::min)
    };
    let apart: Vec<f64> = (0..count).map(|at| nearest(&costs[at], Some(at))).collect();
    let usual = (apart.iter().sum::<f64>() / count as f64).max(1e-9);
    let farther = |apart: f64| (apart / usual).max(1.0);
    let unseen = |at: usize| best(Some(at)).map(|(_, errors)| errors[at].abs());
    let unseen = (0..count).map(unseen).collect::<Option<Vec<f64>>>()?;
    let relative = unseen.iter().zip(&apart).map(|(error, apart)| error / farther(*apart)).collect();
    let between = quantile(relative).or_else(|| {
        let square = unseen.iter().map(|error| error * error).sum::<f64>() / count as f64;
        Some(t_quantile(HELD, count - 1)? * (square * (1.0 + 1.0 / count as f64)).sqrt())
    });
    let own = predicted.iter().map(|time| (time.half_width.get() / time.seconds.get()).ln_1p().powi(2));
    let own = (own.sum::<f64>() / count as f64).sqrt();
    let within = (between? * farther(nearest(here, None))).hypot(own).exp();
    Some(Predicted { seconds, within, shares, left_out })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_need_19_machines() {
        let of = |count: u32| quantile((1..=count).rev().map(f64::from).collect());
        assert_eq!((of(0), of(18)), (None, None));
        for (count, right) in [(19, 19.0), (39, 38.0), (49, 48.0)] {
            assert!((of(count).unwrap() - right).abs() < 1e-9, "{count}");
        }
    }

    #[test]
    fn what_models_err_alike_widens_the_interval() {
        let costs: Vec<Costs> = (1..=5).map(|at| Costs([f64::from(at) * 1e-6; COUNT])).collect();
        let within = |half_width: f64| {
            let times: Vec<Prediction> = (1..=5)
                .map(|at| Prediction::new(f64::from(at) * 1e-3, f64::from(at) * 1e-3 * half_width).unwrap())
                .collect();
            predict(&costs, &times, &costs[2]).unwrap().within
        };
        // Times follow the costs, so that machines differ in nothing else.
        assert!(within(0.0) < 1.01 && within(0.2) >= 1.2, "{} {}", within(0.0), within(0.2));
        let none = Prediction::new(0.0, 0.0).unwrap();
        assert_eq!(predict(&costs[..2], &[none; 2], &costs[0]), None);
        assert_eq!(predict(&costs, &[none], &costs[0]), None);
    }

    /// One machine of which nothing is known but its costs, among 19 and among 40: within the
    /// greatest error, and within that of 39 in 40.
    #[test]
    fn the_interval_is_the_quantile_of_errors() {
        let within = |count: u32| {
            let costs: Vec<Costs> = (1..=count).map(|at| Costs([f64::from(at) * 1e-6; COUNT])).collect();
            let time = |at: u32| f64::from(at) * if at == 10 { 2e-3 } else { 1e-3 };
            let times: Vec<Prediction> =
                (1..=count).map(|at| Prediction::new(time(at), 0.0).unwrap()).collect();
            predict(&costs, &times, &Costs([5.5e-6; COUNT])).unwrap().within
        };
        assert!(within(19) > 1.8 && within(40) < 1.2, "{} {}", within(19), within(40));
    }
}
