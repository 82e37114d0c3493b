//! Choices that learn from the times of a program's own calls (`STRATA_LEARN=1`).
//!
//! A [`Learner`] knows, for each class of problems, the predicted times of the candidates and how
//! sure they are. Timings of calls move two kinds of numbers, jointly normal: a drift that all
//! candidates share, which follows the machine (frequency, neighbours), and an offset of each
//! candidate, which fades back to the prediction. A slowdown of the machine therefore moves no
//! choice. Another candidate is tried only where the gain expected over the remaining calls (as
//! many as so far) exceeds what the call is expected to lose, and only within a share of the time.
//!
//! A class without predictions ([`Learner::UNKNOWN`]) is a site of a tuner: all candidates alike.

pub use crate::gain::{Confidence, Gain, Situation, better_than};

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;
use std::vec::Vec;

use crate::{Choice, Row, Source, choice::Outcome, normal};

/// The share of a program's time that timing its calls, and trying others, may cost.
const SHARE: f64 = 0.005;

/// The shares for timing, and for trying.
const TIMING: f64 = 0.4 * SHARE;
const TRYING: f64 = 0.4 * SHARE;

/// After a change a call's time may be lost at once, if the last such change is so many calls ago:
/// the rest of the share.
const BETWEEN_CHANGES: f64 = 1.0 / (0.2 * SHARE);

/// The deviation of the first drift: models are of another day.
const DRIFT: f64 = 0.3;

/// The variance that the drift gains with a call.
const DRIFT_PER_CALL: f64 = 1e-4;

/// The calls after which what was learned of a candidate has faded.
const FADING: f64 = 1e4;

/// The least deviation of a candidate's prediction: no model knows a program's data.
const LEAST_DEVIATION: f64 = 0.1;

/// The first deviation of timings; later that of the residuals counts.
const NOISE: f64 = 0.1;

/// A timing so many deviations off is an outlier.
const OUTLIER: f64 = 3.0;

/// So many outliers on the same side, one after the other, are a change. Where others interrupt one
/// call in thirty, two in a row come every thousand calls, four every million.
const CHANGE: f64 = 4.0;

/// How much of the room that a change needs is the candidate's own; the rest is the machine's.
const OWN_PART: f64 = 0.5;

/// A candidate's prediction: the logarithm of its seconds, and its deviation; `None`: it does not
/// apply.
pub type Predicted = Option<(f64, f64)>;

/// What is known about one class of problems.
#[derive(Clone, Debug)]
struct Class {
    predicted: Vec<Predicted>,
    /// The drift, then the offset of each candidate.
    mean: Vec<f64>,
    /// Their covariance, row by row.
    covariance: Vec<f64>,
    /// The variance of timings about their mean.
    noise: f64,
    calls: f64,
    /// How many times the best one's time trying may still lose.
    credit: f64,
    /// Calls until a change is given credit again.
    patience: f64,
    /// The candidate with the least expected time, and the one for the next call.
    best: usize,
    next: usize,
    last: usize,
    /// How many outliers came last, negative below; 0: the last timing was none.
    outliers: f64,
}

/// Learns which candidate is the fastest in each class of problems; see the module's page.
///
/// Everything follows from the calls alone: equal calls give equal decisions.
///
/// ```
/// use strata_select::learn::Learner;
///
/// // Predicted: 10 µs and 11 µs, both ± 10 %. In truth the first takes 15 µs here.
/// let predicted = [Some((10e-6_f64.ln(), 0.1)), Some((11e-6_f64.ln(), 0.1))];
/// let mut learner = Learner::new();
/// let mut taken = 0;
/// for _ in 0..100 {
///     taken = learner.decide(7, || predicted.to_vec()).unwrap();
///     learner.took(7, taken, [15e-6, 11e-6][taken], 1);
/// }
/// assert_eq!(taken, 1);
/// ```
#[derive(Clone, Debug)]
pub struct Learner {
    classes: BTreeMap<u64, Class>,
    /// What timing a call and learning from it costs, in seconds.
    cost: f64,
}

/// What follows from a timed call for the next ones of its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The candidate that is expected to be the fastest.
    pub best: usize,
    /// The candidate for the next call: another one if it is tried.
    pub next: usize,
    /// After how many calls the next one is to be timed: 1 is the next one.
    pub interval: u32,
}

impl Default for Learner {
    fn default() -> Self {
        Self::new()
    }
}

impl Learner {
    /// The prediction of a candidate about which nothing is known: as those of all others.
    pub const UNKNOWN: Predicted = Some((0.0, 2.0));

    /// The most candidates of a library that are learned about.
    pub const MOST_CANDIDATES: usize = 15;

    /// The most classes that are learned about; further ones are chosen by the models alone.
    pub const MOST_CLASSES: usize = 4096;

    /// Knows nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { classes: BTreeMap::new(), cost: 5e-7 }
    }

    /// The candidate for the next call of a class. `predicted` gives the predictions for its
    /// candidates, and is called for a new class. `None` without candidates, and if there are too
    /// many classes: the models decide.
    pub fn decide(&mut self, class: u64, predicted: impl FnOnce() -> Vec<Predicted>) -> Option<usize> {
        if let Some(known) = self.classes.get(&class) {
            return Some(known.next);
        }
        if self.classes.len() >= Self::MOST_CLASSES {
            return None;
        }
        let made = Class::new(predicted())?;
        let next = made.next;
        self.classes.insert(class, made);
        Some(next)
    }

    /// The candidate that is expected to be the fastest in a class; differs from that of
    /// [`decide`](Self::decide) while another is tried.
    #[must_use]
    pub fn best(&self, class: u64) -> Option<usize> {
        Some(self.classes.get(&class)?.best)
    }

    /// Takes the time of a call in a class, one of `calls` since the last one that was timed.
    /// Times that are none, and classes that were never decided, change nothing.
    pub fn took(&mut self, class: u64, candidate: usize, seconds: f64, calls: u32) {
        if let Some(known) = self.classes.get_mut(&class).filter(|_| seconds.is_finite() && seconds > 0.0) {
            known.took(candidate, seconds, f64::from(calls.max(1)));
        }
    }

    /// [`Decides`](Self::decide) if the class is new, and learns from the [time](Self::took) of a
    /// call; `now` is a clock in seconds, which tells what learning costs. `None` where the models
    /// decide.
    pub fn learn(
        &mut self,
        class: u64,
        candidate: usize,
        (seconds, calls): (f64, u32),
        predicted: impl FnOnce() -> Vec<Predicted>,
        now: impl Fn() -> f64,
    ) -> Option<Decided> {
        let start = now();
        let is_new = !self.classes.contains_key(&class);
        self.decide(class, predicted)?;
        self.took(class, candidate, seconds, calls);
        let known = self.classes.get(&class)?;
        let decided = Decided { best: known.best, next: known.next, interval: self.interval(class) };
        // A new class asks the models, which is not what a timing costs.
        if !is_new {
            self.cost += 0.05 * ((now() - start).clamp(0.0, 1e-4) + 1e-7 - self.cost);
        }
        Some(decided)
    }

    /// After how many calls of a class the next one is to be timed: 1 is the next one.
    fn interval(&self, class: u64) -> u32 {
        let Some(known) = self.classes.get(&class) else { return u32::MAX };
        if known.next != known.best || known.outliers != 0.0 && known.credit > 0.0 {
            return 1;
        }
        let seconds = known.expected(known.best).exp();
        (self.cost / (TIMING * seconds)).ceil().clamp(1.0, 1e6) as u32
    }
}

impl Class {
    fn new(mut predicted: Vec<Predicted>) -> Option<Self> {
        predicted.truncate(Learner::MOST_CANDIDATES);
        let usable = |(log, deviation): &(f64, f64)| log.is_finite() && deviation.is_finite();
        predicted.iter_mut().for_each(|one| *one = one.filter(usable));
        let size = predicted.len() + 1;
        let mut covariance = std::vec![0.0; size * size];
        covariance[0] = DRIFT * DRIFT;
        for (place, one) in predicted.iter().enumerate() {
            let deviation = one.map_or(1.0, |(_, deviation)| deviation.clamp(LEAST_DEVIATION, 2.0));
            covariance[(place + 1) * (size + 1)] = deviation * deviation;
        }
        // Without models the level itself is unknown.
        let unknown = predicted.contains(&Learner::UNKNOWN);
        if unknown {
            covariance[0] = 1e3;
        }
        let logs = predicted.iter().enumerate().filter_map(|(place, one)| Some((place, one.as_ref()?.0)));
        let (best, _) = logs.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Self {
            mean: std::vec![0.0; size],
            covariance,
            noise: NOISE * NOISE,
            calls: 0.0,
            // Nothing is known: each is tried once.
            credit: if unknown { 2.0 * (size - 1) as f64 } else { 0.0 },
            patience: 0.0,
            best,
            next: best,
            last: best,
            outliers: 0.0,
            predicted,
        })
    }

    fn size(&self) -> usize {
        self.mean.len()
    }

    fn covariance(&self, i: usize, j: usize) -> f64 {
        self.covariance[i * self.size() + j]
    }

    /// The expected logarithm of a candidate's time.
    fn expected(&self, candidate: usize) -> f64 {
        let predicted = self.predicted.get(candidate).copied().flatten();
        predicted.map_or(f64::INFINITY, |(log, _)| log + self.mean[0] + self.mean[candidate + 1])
    }

    fn took(&mut self, candidate: usize, seconds: f64, calls: f64) {
        if self.predicted.get(candidate).copied().flatten().is_none() {
            return;
        }
        self.last = candidate;
        self.calls += calls;
        self.credit += TRYING * calls;
        self.patience -= calls;
        self.fade(calls);
        let size = self.size();
        let own = candidate + 1;
        let residual = seconds.ln() - self.expected(candidate);
        let gains = |this: &Self| -> Vec<f64> {
            (0..size).map(|row| this.covariance(row, 0) + this.covariance(row, own)).collect()
        };
        let mut gain = gains(self);
        let mut variance = gain[0] + gain[own] + self.noise;
        if residual * residual > OUTLIER * OUTLIER * variance {
            let again = self.outliers * residual > 0.0;
            self.outliers = residual.signum() + if again { self.outliers } else { 0.0 };
            if self.outliers.abs() < CHANGE {
                return self.decide();
            }
            // The candidate or the machine has changed: both have room for it.
            if self.patience <= 0.0 {
                (self.patience, self.credit) = (BETWEEN_CHANGES, self.credit.max(1.0));
            }
            self.covariance[0] += residual * residual;
            self.covariance[own * (size + 1)] += (OWN_PART * residual).powi(2);
            gain = gains(self);
            variance = gain[0] + gain[own] + self.noise;
        } else {
            // The residual's own variance is known but for the noise.
            let noise = (residual * residual - (variance - self.noise)).max(0.0);
            self.noise = (self.noise + 0.05 * (noise - self.noise)).clamp(1e-5, 0.25);
        }
        self.outliers = 0.0;
        let by = 1.0 / variance;
        for row in 0..size {
            self.mean[row] += gain[row] * by * residual;
            for column in 0..size {
                self.covariance[row * size + column] -= by * gain[row] * gain[column];
            }
        }
        self.decide();
    }

    /// The machine drifts, and what was learned about candidates fades.
    fn fade(&mut self, calls: f64) {
        let size = self.size();
        self.covariance[0] = (self.covariance[0] + DRIFT_PER_CALL * calls).min(1e3);
        let kept = (-calls / FADING).exp();
        for (place, one) in self.predicted.iter().enumerate() {
            let own = place + 1;
            let deviation = one.map_or(1.0, |(_, deviation)| deviation.clamp(LEAST_DEVIATION, 2.0));
            // Ornstein and Uhlenbeck (1930): back to the prediction and its variance.
            self.mean[own] *= kept;
            for other in 0..size {
                self.covariance[own * size + other] *= kept;
                self.covariance[other * size + own] *= kept;
            }
            self.covariance[own * (size + 1)] += deviation * deviation * (1.0 - kept * kept);
        }
    }

    /// The candidate with the least expected time, and whether another is tried first.
    fn decide(&mut self) {
        let candidates = (0..self.predicted.len()).filter(|candidate| self.predicted[*candidate].is_some());
        let candidates: Vec<usize> = candidates.collect();
        let least = candidates.iter().min_by(|a, b| self.expected(**a).total_cmp(&self.expected(**b)));
        let Some(least) = least.copied() else { return };
        // Another one must be surely faster: a change may be that of the machine.
        if least != self.best {
            let (apart, deviation) = self.apart(least);
            if (Gain { log: -apart, deviation }).suffices(Confidence::SureEachTime) {
                self.best = least;
            }
        }
        self.next = self.best;
        // In turns: the machine may change between two timings of one candidate.
        if self.last != self.best {
            return;
        }
        let remaining = self.calls + 10.0;
        let mut most = 0.0;
        let mut cost = 0.0;
        for other in candidates.into_iter().filter(|other| *other != self.best) {
            let (apart, deviation) = self.apart(other);
            let square = deviation * deviation;
            // What a timing moves the difference by (Frazier, Powell and Dayanik 2008).
            let moved = square / (square + self.noise).sqrt();
            if moved < 1e-6 {
                continue;
            }
            let gain = normal::gain(apart, moved);
            // A wide prediction means that nothing is known, not that it may take for ever.
            let loses = ((apart + 0.5 * square.min(1.0)).min(3.0).exp() - 1.0).max(0.0);
            let net = gain * remaining - loses;
            if net > most && loses <= self.credit {
                (most, cost) = (net, loses);
                self.next = other;
            }
        }
        if self.next != self.best {
            self.credit -= cost;
        }
    }

    /// The logarithm of another's expected time over the best one's, and its deviation.
    fn apart(&self, other: usize) -> (f64, f64) {
        let (i, j) = (other + 1, self.best + 1);
        let variance = self.covariance(i, i) + self.covariance(j, j) - 2.0 * self.covariance(i, j);
        (self.expected(other) - self.expected(self.best), variance.max(0.0).sqrt())
    }
}

impl<R: AsRef<[Row]>> Choice<R> {
    /// The predictions of all candidates for a [`Learner`], by these models for this problem, each
    /// with the parameters that suit it; `None` for those that do not compete.
    #[must_use]
    pub fn predicted<S: Source + ?Sized>(&self, source: &S, nodes: usize, inputs: &[f64]) -> Vec<Predicted> {
        let mut nearest = inputs.to_vec();
        let (nodes, _) = source.info().domain.nearest(nodes, &mut nearest);
        let one = |(candidate, row): (usize, &Row)| {
            let parameters = match row.outcome {
                Outcome::Taken => self.parameters,
                Outcome::Slower(_, parameters) => parameters,
                _ => return None,
            };
            let found = source.predict(candidate, nodes, &nearest, &parameters)?;
            let seconds = found.seconds.get();
            let expected = seconds * source.about(candidate).expected_ratio;
            let deviation = (found.deviation.get() / seconds).hypot(self.distance);
            (seconds > 0.0).then_some((expected.ln(), deviation))
        };
        self.rows.as_ref().iter().enumerate().map(one).collect()
    }
}

/// Whether choices learn: `STRATA_LEARN` was set, neither empty nor 0, when it was first read.
#[inline]
#[must_use]
pub fn learns() -> bool {
    static LEARNS: OnceLock<bool> = OnceLock::new();
    *LEARNS.get_or_init(|| {
        std::env::var_os("STRATA_LEARN").is_some_and(|value| value != "0" && !value.is_empty())
    })
}

/// A learner of a library on one node, and the counts of calls between timings; see
/// [`Kept`](crate::Kept), whose classes it shares.
///
/// ```
/// use strata_select::learn::{Learning, learns};
///
/// static LEARNING: Learning<64> = Learning::new();
///
/// let (class, chosen) = (5, 0);
/// let start = LEARNING.begin(class);                  // `None`: this call is not timed
/// // … call the chosen candidate …
/// if let Some(start) = start {
///     let next = LEARNING.end(class, chosen, start, || vec![Some((-11.0, 0.1)), Some((-10.0, 0.1))]);
///     // … keep `next` for the class …
/// #   assert!(!learns() || next == Some(0));
/// }
/// ```
#[derive(Debug)]
pub struct Learning<const N: usize> {
    waits: [AtomicU32; N],
    learner: Mutex<Learner>,
}

/// A call that is timed.
#[derive(Clone, Copy, Debug)]
pub struct Started {
    at: Instant,
    calls: u32,
}

impl<const N: usize> Learning<N> {
    /// Knows nothing.
    #[must_use]
    pub const fn new() -> Self {
        assert!(N.is_power_of_two(), "the number of places must be a power of two");
        Self { waits: [const { AtomicU32::new(0) }; N], learner: Mutex::new(Learner::new()) }
    }

    /// Begins a call of a class; `None` if it is not timed, and always unless choices [learn](learns).
    #[inline]
    pub fn begin(&self, class: u32) -> Option<Started> {
        if !learns() {
            return None;
        }
        self.begin_learning(class)
    }

    fn begin_learning(&self, class: u32) -> Option<Started> {
        let place = self.place(class);
        // The upper half counts the calls since the last timing, the lower those left until the
        // next one. Classes that share a place share it.
        let word = place.load(Relaxed);
        let (since, left) = (word >> 16, word & 0xFFFF);
        if left > 0 {
            place.store((since + 1).min(0xFFFF) << 16 | (left - 1), Relaxed);
            return None;
        }
        Some(Started { at: Instant::now(), calls: since + 1 })
    }

    /// Ends a timed call of a class by this candidate; returns the candidate for the next call.
    /// `predicted` gives the predictions of all candidates, and is called for a new class.
    pub fn end(
        &self,
        class: u32,
        candidate: usize,
        Started { at, calls }: Started,
        predicted: impl FnOnce() -> Vec<Predicted>,
    ) -> Option<usize> {
        let ended = Instant::now();
        let seconds = ended.saturating_duration_since(at).as_secs_f64();
        let mut learner = self.learner.lock().unwrap_or_else(PoisonError::into_inner);
        let now = || ended.elapsed().as_secs_f64();
        let decided = learner.learn(u64::from(class), candidate, (seconds, calls), predicted, now)?;
        self.place(class).store((decided.interval - 1).min(0xFFFF), Relaxed);
        Some(decided.next)
    }

    fn place(&self, class: u32) -> &AtomicU32 {
        &self.waits[(class.wrapping_mul(0x9E37_79B9) >> 16) as usize % N]
    }
}

impl<const N: usize> Default for Learning<N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Noise of the same numbers in every run.
    struct Noise(u64);

    impl Noise {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }

        /// A factor with this deviation.
        fn factor(&mut self, deviation: f64) -> f64 {
            let normal = (0..12).map(|_| self.next()).sum::<f64>() - 6.0;
            (deviation * normal).exp()
        }
    }

    fn predicted(seconds: &[f64], deviation: f64) -> Vec<Predicted> {
        seconds.iter().map(|seconds| Some((seconds.ln(), deviation))).collect()
    }

    /// Calls with these true times; returns the candidates taken, and the seconds lost to the best.
    fn calls(
        learner: &mut Learner,
        noise: &mut Noise,
        models: &[f64],
        times: &[f64],
        count: usize,
    ) -> (Vec<usize>, f64) {
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let mut lost = 0.0;
        let taken = (0..count).map(|_| {
            let taken = learner.decide(1, || predicted(models, 0.1)).unwrap();
            learner.took(1, taken, times[taken] * noise.factor(0.05), 1);
            lost += times[taken] - least;
            taken
        });
        (taken.collect(), lost)
    }

    #[test]
    fn a_candidate_that_slows_down_is_left_within_50_calls() {
        for seed in 0..50 {
            for (models, slow) in [([1e-5, 1.1e-5, 3e-5], 0), ([2e-5, 1e-5, 1.3e-5], 1)] {
                let (mut learner, mut noise) = (Learner::new(), Noise(seed));
                calls(&mut learner, &mut noise, &models, &models, 400);
                assert_eq!(learner.best(1), Some(slow));
                let mut changed = models;
                changed[slow] *= 1.5;
                calls(&mut learner, &mut noise, &models, &changed, 50);
                let least = (0..3).min_by(|a, b| changed[*a].total_cmp(&changed[*b]));
                assert_eq!(learner.best(1), least, "seed {seed}");
            }
        }
    }

    #[test]
    fn a_slower_machine_changes_no_choice() {
        for seed in 0..50 {
            let (mut learner, mut noise) = (Learner::new(), Noise(seed));
            let models = [1e-5, 1.1e-5, 2e-5];
            calls(&mut learner, &mut noise, &models, &models, 300);
            for factor in [1.5, 0.7, 2.0, 1.0] {
                let slower = models.map(|seconds| seconds * factor);
                let (_, lost) = calls(&mut learner, &mut noise, &models, &slower, 300);
                assert_eq!(learner.best(1), Some(0));
                // It is looked into: for less than what two calls take.
                assert!(lost <= 2.0 * slower[0], "{lost:e}, seed {seed}");
            }
        }
    }

    #[test]
    fn where_nothing_is_to_be_gained_little_is_lost() {
        for seed in 0..20 {
            for models in [[1e-5, 1.2e-5, 2e-5], [1e-5, 1.05e-5, 1.1e-5], [1e-5, 1e-4, 1e-3]] {
                let (mut learner, mut noise) = (Learner::new(), Noise(seed));
                let (_, lost) = calls(&mut learner, &mut noise, &models, &models, 5000);
                assert!(lost <= 0.005 * 5000.0 * 1e-5, "{models:?}: {lost:e}");
            }
        }
    }

    #[test]
    fn a_site_without_models_finds_the_fastest_option() {
        for seed in 0..20 {
            let (mut learner, mut noise) = (Learner::new(), Noise(seed));
            let times = [3e-3, 2e-3, 1e-3, 2.5e-3];
            for _ in 0..2000 {
                let taken = learner.decide(9, || std::vec![Learner::UNKNOWN; 4]).unwrap();
                learner.took(9, taken, times[taken] * noise.factor(0.05), 1);
            }
            assert_eq!(learner.best(9), Some(2), "seed {seed}");
        }
    }

    #[test]
    fn what_is_no_time_or_no_candidate_changes_nothing() {
        let mut learner = Learner::new();
        assert_eq!(learner.decide(1, Vec::new), None);
        assert_eq!(learner.decide(1, || std::vec![None, None]), None);
        assert_eq!(learner.decide(1, || predicted(&[f64::NAN, 1.0], 0.1)), Some(1));
        for seconds in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
            learner.took(1, 1, seconds, 1);
        }
        learner.took(1, 0, 1.0, 1);
        learner.took(1, 99, 1.0, 1);
        learner.took(2, 1, 1.0, 1);
        assert_eq!((learner.best(1), learner.best(2)), (Some(1), None));
        assert_eq!(learner.interval(2), u32::MAX);
        assert!(learner.interval(1) >= 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Any times: a decision is always one of the candidates, and equal for equal calls.
        #[test]
        fn decisions_follow_from_the_calls(
            times in prop::collection::vec((0..4_usize, -25.0..10.0_f64, 1..1000_u32), 1..80),
        ) {
            let (mut one, mut other) = (Learner::new(), Learner::new());
            for (candidate, log, calls) in times {
                for learner in [&mut one, &mut other] {
                    let taken = learner.decide(1, || predicted(&[1e-5, 2e-5, 3e-6], 0.3)).unwrap();
                    prop_assert!(taken < 3);
                    learner.took(1, candidate, log.exp(), calls);
                }
                prop_assert_eq!(one.decide(1, Vec::new), other.decide(1, Vec::new));
                prop_assert_eq!(one.interval(1), other.interval(1));
            }
        }
    }
}
