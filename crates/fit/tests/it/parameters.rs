//! Values of parameters: the loss of a choice by the terms only and with a correction, with a known
//! truth.

use strata_fit::{FitOptions, Fitted, Search, Structure, fit_model};
use strata_model::set::{Model, ModelSet};
use strata_model::{Resolved, Samples};
use strata_select::table::roundness;

use crate::{
    method::{normal, xorshift},
    structure,
};

/// The true time of the inputs and the parameter, which comes last.
type Truth<'a> = &'a dyn Fn(&[f64]) -> f64;

/// A library of one candidate with a parameter.
struct Case<'a> {
    inputs: &'a [&'a str],
    terms: &'a [&'a str],
    /// The values that are measured.
    values: &'a [f64],
    truth: Truth<'a>,
    /// The effect of an input that all values share, as a factor.
    shared: Truth<'a>,
    search: Search,
}

impl Case<'_> {
    /// Random inputs, log-uniform from 20 to 2000.
    fn at(&self, random: &mut impl FnMut() -> f64) -> Vec<f64> {
        (1..self.inputs.len()).map(|_| (20.0 * 100.0_f64.powf(random())).round()).collect()
    }

    fn samples(&self, seed: u64, blocks: usize) -> Samples {
        let mut random = xorshift(seed);
        let mut text =
            format!("model M {}\n", self.inputs.iter().map(|i| format!("({i}) ")).collect::<String>());
        for block in 0..blocks + 20 {
            let inputs = self.at(&mut random);
            let shared = (self.shared)(&inputs);
            let mut one = |value: f64, verify: &str, noise: f64| {
                let all: Vec<f64> = inputs.iter().copied().chain([value]).collect();
                let seconds = (self.truth)(&all) * shared * (1.0 + 0.03 * noise);
                let all: Vec<String> = all.iter().map(f64::to_string).collect();
                text += &format!("{verify}M {seconds:e} {}\n", all.join(" "));
            };
            if block < blocks {
                for value in self.values {
                    one(*value, "", normal(&mut random));
                }
            } else {
                let value = self.values[(random() * self.values.len() as f64) as usize];
                one(value, "@", normal(&mut random));
            }
        }
        Samples::parse(&text, "test").unwrap()
    }

    fn fit(&self, samples: &Samples, corrected: bool) -> Fitted {
        let parameter = self.inputs.last().filter(|_| corrected);
        let parameters = parameter.map(|name| (*name).to_owned()).into_iter().collect();
        let structure = Structure { nodes: 1, parameters, ..structure(self.inputs, self.terms) };
        let options = FitOptions { search: self.search, ..FitOptions::default() };
        fit_model(&samples.models[0], &structure, &options, &|_| None).unwrap()
    }

    /// The mean share of time lost by taking the value with the least predicted time, at unmeasured
    /// inputs.
    fn regret(&self, model: &Model) -> f64 {
        let set = ModelSet { models: vec![model.clone()], ..ModelSet::default() };
        let models: Resolved = set.resolve().unwrap();
        let mut random = xorshift(77);
        let (mut sum, mut count) = (0.0, 0.0);
        while count < 100.0 {
            let inputs = self.at(&mut random);
            let with = |value: f64| inputs.iter().copied().chain([value]).collect::<Vec<f64>>();
            let predicted = |value: f64| models.seconds("M", 1, &with(value));
            if predicted(self.values[0]).is_none() {
                continue; // Outside what was measured.
            }
            let times =
                self.values.iter().map(|value| (predicted(*value).unwrap(), (self.truth)(&with(*value))));
            // As in a choice, the middle of the values that tie.
            let shortest = times.clone().map(|time| time.0).fold(f64::INFINITY, f64::min);
            let tied: Vec<_> = times.clone().filter(|time| time.0 == shortest).collect();
            let taken = tied[(tied.len() - 1) / 2];
            let least = times.map(|time| time.1).fold(f64::INFINITY, f64::min);
            sum += taken.1 / least - 1.0;
            count += 1.0;
        }
        sum / count
    }

    /// The regrets without and with a correction, and the second fit.
    fn compared(&self, seed: u64) -> (f64, f64, Fitted) {
        let samples = self.samples(seed, 20);
        let fitted = self.fit(&samples, true);
        (self.regret(&self.fit(&samples, false).model), self.regret(&fitted.model), fitted)
    }
}

fn said(fitted: &Fitted, words: &str) -> bool {
    fitted.warnings.iter().any(|warning| warning.contains(words))
}

/// Cache conflicts of some sizes.
fn conflicts(x: &[f64]) -> f64 {
    if (x[0] as u64).is_multiple_of(3) { 1.6 } else { 1.0 }
}

const BLOCKS: [f64; 8] = [4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0, 128.0];

#[test]
fn a_valley_that_no_term_has_is_followed() {
    // As in a transpose: few large blocks miss the cache, many small ones cost calls.
    let valley = |x: &[f64]| {
        let small = x[0] * x[0] * (1.0 + 0.25 * (x[1] / 9.0).log2().powi(2));
        1e-9 * small * if x[0] > 600.0 { 1.5 } else { 1.0 }
    };
    let case = Case {
        inputs: &["n", "b"],
        terms: &["n*n", "n*n/b"],
        values: &BLOCKS,
        truth: &valley,
        shared: &conflicts,
        search: Search::WhenNeeded,
    };
    for seed in [3, 11, 2024] {
        let (before, after, fitted) = case.compared(seed);
        eprintln!("valley: {before:.4} -> {after:.4} {:?} {:?}", fitted.notes, fitted.warnings);
        assert!(after < 0.03, "{after}");
        // Unless a search has found a term with the valley.
        if before > 0.03 {
            assert!(fitted.model.correction.is_some() && after < 0.2 * before, "{before} {after}");
            assert!(fitted.model.reason.contains("corrected by 160 samples"), "{}", fitted.model.reason);
        }
    }
}

#[test]
fn round_inputs_choose_their_own_values() {
    // The more often 2 divides a row's length, the fewer lines of a block the cache holds.
    let collisions = |n: f64| (1.0 + roundness(n)) * if n % 64.0 == 0.0 { 1.0 } else { 0.0 };
    let truth = |x: &[f64]| {
        let best = if collisions(x[0]) > 0.0 { 8.0 } else { 64.0 };
        1e-9 * x[0] * x[0] * (1.0 + 0.2 * collisions(x[0]) + 0.1 * (x[1] / best).log2().powi(2))
    };
    let case = |terms| Case {
        inputs: &["n", "b"],
        terms,
        values: &BLOCKS,
        truth: &truth,
        shared: &|_| 1.0,
        search: Search::Never,
    };
    let text = |seed| {
        let mut text = case(&[]).samples(seed, 16).to_text();
        for n in [64, 128, 192, 256, 384, 512, 768, 1024] {
            for b in BLOCKS {
                text += &format!("M {:e} {n} {b}\n", truth(&[f64::from(n), b]));
            }
        }
        Samples::parse(&text, "test").unwrap()
    };
    // At round values that were not measured.
    let loss = |fitted: &Fitted| {
        let set = ModelSet { models: vec![fitted.model.clone()], ..ModelSet::default() };
        let models: Resolved = set.resolve().unwrap();
        let least = |n: f64, time: &dyn Fn(f64) -> f64| {
            let faster = |a: &f64, b: &f64| time(*a).total_cmp(&time(*b));
            truth(&[n, BLOCKS.into_iter().min_by(faster).unwrap()])
        };
        let lost = [320.0, 448.0, 576.0, 640.0, 896.0].map(|n| {
            least(n, &|b| models.seconds("M", 1, &[n, b]).unwrap()) / least(n, &|b| truth(&[n, b])) - 1.0
        });
        lost.iter().sum::<f64>() / lost.len() as f64
    };
    for seed in [3, 11, 2024] {
        let samples = text(seed);
        let found = case(&["n*n", "n*n*max(0, 1-n%64)"]).fit(&samples, true);
        let blind = case(&["n*n"]).fit(&samples, true);
        assert!(loss(&found) < 0.02 && loss(&blind) > 0.1, "{} {}", loss(&found), loss(&blind));
        assert!(found.model.correction.unwrap().axes.iter().any(|axis| axis.round));
    }
}

#[test]
fn a_parameter_without_a_term_is_corrected_and_named() {
    let valley = |x: &[f64]| 1e-9 * x[0] * x[0] * (1.0 + 0.15 * (x[1] / 40.0).log2().powi(2));
    let case = Case {
        inputs: &["n", "b"],
        terms: &["n*n"],
        values: &BLOCKS,
        truth: &valley,
        shared: &conflicts,
        search: Search::Never,
    };
    let (before, after, fitted) = case.compared(5);
    eprintln!(
        "no term: {before:.4} -> {after:.4} {:?} {:?} {:?}",
        fitted.notes, fitted.warnings, fitted.model.contrast
    );
    assert!(before > 0.02 && after < 0.005, "{before} {after}");
    assert!(
        said(&fitted, "of the parameter `b` it has no term; a correction by 160 samples"),
        "{:?}",
        fitted.warnings
    );
    // Too few inputs for a correction: the warning suggests a remedy.
    let few = case.fit(&case.samples(5, 4), true);
    assert!(few.model.correction.is_none());
    assert!(said(&few, "the terms cannot tell its values apart"), "{:?}", few.warnings);
}

#[test]
fn a_time_that_falls_throughout_keeps_its_terms_and_says_where_the_least_is() {
    let falling = |x: &[f64]| 1e-9 * x[0] * x[0] * (1.0 + 8.0 / x[1]);
    let case = Case {
        inputs: &["n", "b"],
        terms: &["n*n", "n*n/b"],
        values: &BLOCKS,
        truth: &falling,
        shared: &|_| 1.0,
        search: Search::WhenNeeded,
    };
    let (before, after, fitted) = case.compared(7);
    eprintln!("falling: {before:.4} -> {after:.4} {:?} {:?}", fitted.notes, fitted.warnings);
    assert!(fitted.model.correction.is_none() && after <= before + 1e-12);
    assert!(
        said(&fitted, "at an end of the range of the parameter `b` (128) for 19 of 19"),
        "{:?}",
        fitted.warnings
    );
}

#[test]
fn two_inputs_and_a_parameter_are_corrected() {
    // The best value grows with the second input.
    let valley = |x: &[f64]| {
        let best = (x[1] / 20.0).sqrt() * 8.0;
        1e-9 * x[0] * x[1] * (1.0 + 0.1 * (x[2] / best).log2().powi(2))
    };
    let case = Case {
        inputs: &["n", "m", "b"],
        terms: &["n*m", "n*m/b"],
        values: &BLOCKS,
        truth: &valley,
        shared: &conflicts,
        search: Search::WhenNeeded,
    };
    let (before, after, fitted) = case.compared(13);
    eprintln!("two inputs: {before:.4} -> {after:.4}");
    let factors = fitted.model.correction.as_ref().map_or(0, |correction| correction.factors.len());
    assert!((1..=256).contains(&factors), "{factors}");
    assert!(before > 0.1 && after < 0.3 * before, "{before} {after}");
}

#[test]
fn terms_that_are_right_stay() {
    for seed in [1, 2, 3, 4, 5, 6] {
        let valley = |x: &[f64]| 1e-9 * (x[0] * x[0] + 40.0 * x[0] * x[0] / x[1] + x[0] * x[1] * 20.0);
        let case = Case {
            inputs: &["n", "b"],
            terms: &["n*n", "n*n/b", "n*b"],
            values: &BLOCKS,
            truth: &valley,
            shared: &|_| 1.0,
            search: Search::WhenNeeded,
        };
        let (before, after, fitted) = case.compared(seed);
        eprintln!("right terms: {before:.4} -> {after:.4}, {:?}", fitted.model.contrast);
        assert!(fitted.model.correction.is_none(), "{seed}: {:?}", fitted.notes);
        assert!(before < 0.01 && after == before, "{before} {after}");
        let contrast = fitted.model.contrast.unwrap();
        assert!(contrast.deviation < 0.08, "{contrast:?}");
    }
}

#[test]
fn the_search_breaks_no_parameter_into_steps() {
    // Only steps fit: values up to 16 take half the time.
    let jump = |x: &[f64]| 1e-9 * x[0] * if x[1] > 16.0 { 2.0 } else { 1.0 };
    let case = Case {
        inputs: &["n", "b"],
        terms: &[],
        values: &BLOCKS,
        truth: &jump,
        shared: &|_| 1.0,
        search: Search::WhenNeeded,
    };
    let samples = case.samples(9, 20);
    let steps = |fitted: &Fitted| fitted.model.terms.iter().any(|t| t.relevant && t.term.contains("b>"));
    assert!(steps(&case.fit(&samples, false)));
    let fitted = case.fit(&samples, true);
    assert!(!steps(&fitted) && case.regret(&fitted.model) < 0.01, "{:?}", fitted.model.terms);
}
