//! Tests on known costs whether choices are right, and whether their claimed odds are.
//!
//! A library has two to eight candidates, each a sum of few terms over a size `n` and, for some, a
//! parameter `w`. Every candidate is measured in sweeps (one timing of every point in random order,
//! repeatedly) with one of five kinds of noise, fitted by [`strata_fit`] and chosen by
//! [`strata_select`]. For every fourth candidate the fit is not given one of the true terms, so
//! that some models are wrong. Everything follows from the seed.

use chacha20::ChaCha8Rng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use specc::competition::Competition;
use strata_fit::FitOptions;
use strata_model::ModelSet;
use strata_model::samples::{ModelSamples, Notes, Sample, Timing};
use strata_model::set::{self, LibraryCandidate, Model, ParameterRange};
use strata_select::table::Step;

use crate::cost::{Cost, expressions, fit, median, normal, samples};

/// The kinds of noise.
pub const KINDS: [&str; 5] = ["Gaussian", "log-normal", "two speeds", "outliers", "quantised clock"];
const NAMES: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
/// Terms of the true costs: those of `n` alone, and those of candidates with a parameter.
const PLAIN: [&str; 5] = ["n", "n*log2(n)", "sqrt(n)", "log2(n)", "max(0,n-32768)"];
const WITH: [&str; 3] = ["n/w", "w", "w*log2(n)"];
const LEAST: f64 = 64.0;
const GREATEST: f64 = 1_048_576.0;
/// Timings of each point, points of each kind.
const SWEEPS: usize = 7;
const FITTED: usize = 40;
const GRID: [f64; 4] = [1.0, 4.0, 12.0, 32.0];
const HELD_OUT: usize = 16;
/// Sizes that are chosen for.
const CHOICES: usize = 24;

/// The state of a simulated machine while it measures.
struct Machine {
    kind: usize,
    rng: ChaCha8Rng,
    moment: f64,
    slow: bool,
}

impl Machine {
    /// One timing of a cost.
    fn time(&mut self, cost: f64) -> Timing {
        let (e, chance) = (normal(&mut self.rng), self.rng.random_range(0.0..1.0));
        let seconds = match self.kind {
            0 => cost * (1.0 + 0.05 * e).max(0.2),
            1 => cost * (0.15 * e).exp(),
            2 => {
                // Stretches of about thirty timings.
                if chance < 1.0 / 30.0 {
                    self.slow = !self.slow && self.rng.random_range(0.0..1.0) < 0.5;
                }
                cost * (1.0 + 0.03 * e) * if self.slow { 1.4 } else { 1.0 }
            }
            3 if chance < 0.08 => cost * self.rng.random_range(3.0..10.0),
            3 => cost * (1.0 + 0.04 * e),
            _ => ((cost * (1.0 + 0.02 * e)) / 2.5e-7).round().max(1.0) * 2.5e-7,
        };
        self.moment += seconds + 1e-5;
        Timing { seconds, moment: self.moment }
    }
}

/// The true cost of a candidate.
struct Truth {
    terms: Cost,
    with: bool,
    /// Whether one of its terms is withheld from the fit.
    hidden: bool,
}

impl Truth {
    /// The cost at a size and, where there is a parameter, its value.
    fn cost(&self, at: &[f64]) -> f64 {
        self.terms.at(&[at[0], at.get(1).copied().unwrap_or(1.0)])
    }

    fn least(&self, n: f64) -> f64 {
        let widths = if self.with { 1..=32 } else { 1..=1 };
        widths.map(|w| self.cost(&[n, f64::from(w)])).fold(f64::INFINITY, f64::min)
    }

    fn inputs(&self) -> &'static [&'static str] {
        &["n", "w"][..1 + usize::from(self.with)]
    }
}

/// The results for one kind of noise, or for all.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tally {
    /// Choices made, and those that took the fastest.
    pub choices: usize,
    /// Choices of the fastest.
    pub right: usize,
    /// What choices cost beyond the fastest, as a fraction of its time: sum and greatest.
    pub regret: f64,
    /// The greatest regret.
    pub worst: f64,
    /// Claimed probabilities of being the fastest, in ten bins: choices, sum of claims, choices
    /// that were right.
    pub bins: [(usize, f64, usize); 10],
    /// Sums of the expected loss and of the true loss, both relative to the time of the chosen
    /// candidate.
    pub loss: (f64, f64),
}

impl Tally {
    /// Adds another.
    pub fn add(&mut self, other: &Self) {
        self.choices += other.choices;
        self.right += other.right;
        self.regret += other.regret;
        self.worst = self.worst.max(other.worst);
        for (bin, more) in self.bins.iter_mut().zip(other.bins) {
            *bin = (bin.0 + more.0, bin.1 + more.1, bin.2 + more.2);
        }
        self.loss = (self.loss.0 + other.loss.0, self.loss.1 + other.loss.1);
    }

    /// The mean difference between claimed probabilities and the share of right choices, over all
    /// choices.
    pub fn calibration_gap(&self) -> f64 {
        let gap = |(_, claimed, right): &(usize, f64, usize)| (claimed - *right as f64).abs();
        self.bins.iter().map(gap).sum::<f64>() / self.choices.max(1) as f64
    }

    /// The mean regret.
    pub fn regret_mean(&self) -> f64 {
        self.regret / self.choices.max(1) as f64
    }
}

/// One library on one machine.
///
/// # Panics
/// Never: all texts are constants that parse.
pub fn library(kind: usize, seed: u64) -> Tally {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(kind as u64);
    let truths: Vec<Truth> = (0..rng.random_range(2..=NAMES.len())).map(|_| truth(&mut rng)).collect();
    let mut machine =
        Machine { kind, rng: ChaCha8Rng::seed_from_u64(seed ^ 0x7275_7374), moment: 0.0, slow: false };
    let models = measured(&truths, &mut machine, &mut rng);
    let width = ParameterRange {
        name: "w".to_owned(),
        min: 1,
        max: 32,
        step: Step::ONE,
        root: None,
        first: None,
        last: None,
    };
    let candidate = |(truth, name): (&Truth, &str)| LibraryCandidate {
        name: name.to_owned(),
        model: name.to_owned(),
        arguments: truth.inputs().iter().map(|input| (*input).to_owned()).collect(),
        parameters: if truth.with { vec![width.clone()] } else { Vec::new() },
        ..LibraryCandidate::default()
    };
    let library = set::Library {
        name: "made_up".to_owned(),
        inputs: vec!["n".to_owned()],
        candidates: truths.iter().zip(NAMES).map(candidate).collect(),
        ..set::Library::default()
    };
    let set = ModelSet { models, libraries: vec![library], ..ModelSet::default() };
    let mut tally = Tally::default();
    let Ok(competition) = Competition::new(&set, "made_up") else { return tally };
    for _ in 0..CHOICES {
        let n = size(&mut rng);
        let Ok(choice) = competition.choose(&[n], None) else { continue };
        let w = choice.parameters.first().map_or(1.0, |w| *w as f64);
        let taken = truths[choice.index].cost(&[n, w]);
        let least = truths.iter().map(|t| t.least(n)).fold(f64::INFINITY, f64::min);
        let regret = taken / least - 1.0;
        // A candidate within a thousandth of the best is not a mistake; nor is a parameter next to
        // the best.
        let own = truths[choice.index].least(n);
        let right = own <= least * 1.001;
        tally.choices += 1;
        tally.right += usize::from(right);
        tally.regret += regret;
        tally.worst = tally.worst.max(regret);
        if let Some(odds) = competition.odds(&[n], &choice) {
            let bin = &mut tally.bins[((odds.fastest * 10.0) as usize).min(9)];
            *bin = (bin.0 + 1, bin.1 + odds.fastest, bin.2 + usize::from(right));
            let claimed = choice.predicted.map_or(f64::NAN, |p| odds.loss / p.seconds.get());
            tally.loss.0 += if claimed.is_finite() { claimed.min(1.0) } else { 0.0 };
            tally.loss.1 += (own / least - 1.0).min(1.0);
        }
    }
    tally
}

/// A whole number whose logarithm is uniformly distributed.
fn size(rng: &mut ChaCha8Rng) -> f64 {
    (LEAST * (GREATEST / LEAST).powf(rng.random_range(0.0..1.0))).round()
}

fn truth(rng: &mut ChaCha8Rng) -> Truth {
    let with = rng.random_range(0..3) == 0;
    let pool: &[&'static str] = if with { &WITH } else { &PLAIN };
    let mut names: Vec<&'static str> = pool.sample(rng, if with { 3 } else { 2 }).copied().collect();
    names.push("1");
    let middle = [8192.0, 6.0];
    // About the same time for a medium problem, so that crossovers are near for some and far for
    // others.
    let share = |rng: &mut ChaCha8Rng| f64::exp2(rng.random_range(-2.5..2.5));
    let terms = Cost::of(names, &["n", "w"], |_, term| {
        let at = term.eval(&middle).max(term.eval(&[GREATEST, 6.0]) / 100.0).max(1e-3);
        2e-5 * share(rng) / at
    });
    Truth { terms, with, hidden: rng.random_range(0..4) == 0 }
}

/// Measures all candidates by sweeps over all their points, and fits them.
fn measured(truths: &[Truth], machine: &mut Machine, rng: &mut ChaCha8Rng) -> Vec<Model> {
    let mut all: Vec<ModelSamples> = (truths.iter().zip(NAMES))
        .map(|(truth, name)| {
            let row = |i: usize, rng: &mut ChaCha8Rng| {
                // As a spec's loops: a grid to its corners. What is held out is drawn from the
                // whole range.
                let widths: &[f64] = if truth.with { &GRID } else { &[1.0] };
                let of = |i: usize| i as f64 / (FITTED / widths.len() - 1) as f64;
                let n = LEAST * (GREATEST / LEAST).powf(of(i / widths.len()));
                let at = match i < FITTED {
                    true => [n.round(), widths[i % widths.len()]],
                    false => [size(rng), f64::from(rng.random_range(1..=32))],
                };
                let values = at[..truth.inputs().len()].to_vec();
                Sample { verify: i >= FITTED, values, line: i + 2, ..Sample::default() }
            };
            samples(name, truth.inputs(), (0..FITTED + HELD_OUT).map(|i| row(i, rng)).collect())
        })
        .collect();
    for _ in 0..SWEEPS {
        let mut order: Vec<(usize, usize)> = all
            .iter()
            .enumerate()
            .flat_map(|(m, model)| (0..model.rows.len()).map(move |i| (m, i)))
            .collect();
        order.shuffle(rng);
        for (m, i) in order {
            let row = &mut all[m].rows[i];
            let timing = machine.time(truths[m].cost(&row.values));
            row.notes.timings.push(timing);
        }
    }
    all.iter_mut().flat_map(|model| &mut model.rows).for_each(|row| {
        row.seconds = median(&mut row.notes.timings.iter().map(|t| t.seconds).collect::<Vec<f64>>());
        row.notes = Notes {
            repeats: SWEEPS as u32,
            timings: std::mem::take(&mut row.notes.timings),
            ..Notes::default()
        };
    });
    let fitted = truths.iter().zip(&all).map(|(truth, samples)| {
        let named = truth.terms.0.iter().map(|term| &*term.1).skip(usize::from(truth.hidden));
        let null = if truth.with { "n" } else { "n^1.5" };
        let terms = expressions(named.filter(|term| *term != "1").chain([null]))?;
        fit(samples, terms, &FitOptions::default(), &|_| None)
    });
    let nothing = |samples: &ModelSamples| Model { name: samples.name.clone(), ..Model::default() };
    fitted.zip(&all).map(|(model, samples)| model.unwrap_or_else(|_| nothing(samples))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_on_made_up_machines_can_be_trusted() {
        let mut all = Tally::default();
        for kind in 0..KINDS.len() {
            (1..=6).for_each(|seed| all.add(&library(kind, seed)));
        }
        assert!(all.choices > 500, "{all:?}");
        assert!(all.right as f64 > 0.9 * all.choices as f64, "{all:?}");
        assert!(all.calibration_gap() < 0.08, "{:?}", all.bins);
        assert_eq!(library(2, 3).bins, library(2, 3).bins, "the same seed, the same library");
    }
}
