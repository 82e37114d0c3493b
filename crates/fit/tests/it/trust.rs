//! What a fit must not be taken in by, each case with a twin that a rule without content would get
//! wrong: what is left out in one case is the cost itself in the other.

use strata_fit::{FitOptions, Fitted, Search, Structure, fit_model};
use strata_model::expr::parse;
use strata_model::samples::{Column, ModelSamples, Sample};
use strata_model::set::Verdict;

use crate::method::uniforms;

/// Samples of a cost at points, every `held_out`-th point for verification.
fn samples(
    inputs: &[&str],
    points: &[Vec<f64>],
    held_out: usize,
    mut time: impl FnMut(usize) -> f64,
) -> ModelSamples {
    let row = |(i, point): (usize, &Vec<f64>)| Sample {
        seconds: time(i),
        values: point.clone(),
        verify: held_out > 0 && i % held_out == 1,
        line: i + 2,
        ..Sample::default()
    };
    ModelSamples {
        name: "m".into(),
        columns: inputs.iter().map(|name| Column::input(*name)).collect(),
        unit: strata_model::Unit::SECONDS,
        fit: String::new(),
        rows: points.iter().enumerate().map(row).collect(),
    }
}

/// The fit by these terms alone or, without any, by a search.
fn fit(samples: &ModelSamples, terms: &[&str]) -> Fitted {
    let structure = Structure {
        inputs: samples.columns.iter().map(|column| column.text.clone()).collect(),
        terms: terms.iter().map(|term| parse(term).unwrap()).collect(),
        ..Structure::default()
    };
    let search = if terms.is_empty() { Search::WhenNeeded } else { Search::Never };
    fit_model(samples, &structure, &FitOptions { search, ..FitOptions::default() }, &|_| None).unwrap()
}

fn kept(fitted: &Fitted) -> Vec<&str> {
    let mut kept: Vec<&str> =
        fitted.model.terms.iter().filter(|term| term.relevant).map(|term| &*term.term).collect();
    kept.sort_unstable();
    kept
}

fn warnings(fitted: &Fitted) -> String {
    fitted.warnings.join("\n")
}

fn column(values: impl Iterator<Item = f64>) -> Vec<Vec<f64>> {
    values.map(|value| vec![value]).collect()
}

/// Powers of two from 1 to 2^11, five samples of each, one of them disturbed by a factor.
#[test]
fn one_sample_off_by_any_factor_is_named_and_left_out() {
    let points = column((0..60).map(|i| f64::exp2(f64::from(i % 12))));
    for factor in [1e2, 1e4, 1e6, 1e12, 1e-6] {
        let mut noise = uniforms(3);
        let off = samples(&["n"], &points, 0, |i| {
            (1e-6 + 1e-9 * points[i][0]) * (0.99 + 0.02 * noise()) * if i == 30 { factor } else { 1.0 }
        });
        for terms in [&[][..], &["n"]] {
            let fitted = fit(&off, terms);
            assert_eq!(kept(&fitted), ["1", "n"], "{factor}");
            assert!(warnings(&fitted).contains("1 of 60 samples were left out (n=64 took "), "{fitted:?}");
        }
    }
    // All five samples of the point: the cost there.
    let mut noise = uniforms(3);
    let hump = samples(&["n"], &points, 0, |i| {
        (1e-6 + 1e-9 * points[i][0]) * (0.99 + 0.02 * noise()) * if i % 12 == 6 { 1e6 } else { 1.0 }
    });
    assert!(!warnings(&fit(&hump, &["n"])).contains("were left out"));
}

/// A machine that is slow for some samples of most points, and costs that are greater for some
/// values of an input: a step, a hump, and all samples of every third value.
#[test]
fn two_speeds_are_of_the_machine_not_of_an_input() {
    let grid: Vec<Vec<f64>> =
        (0..90).map(|i| vec![f64::exp2(f64::from(i / 9)), f64::from(1 + i % 3)]).collect();
    let speeds = |slow: &dyn Fn(usize, &[f64]) -> bool, ratio: f64| {
        let mut noise = uniforms(5);
        let samples = samples(&["n", "k"], &grid, 0, |i| {
            let cost = 1e-5 + 1e-7 * grid[i][0] * grid[i][1];
            cost * (0.99 + 0.02 * noise()) * if slow(i, &grid[i]) { ratio } else { 1.0 }
        });
        warnings(&fit(&samples, &["n*k", "n"])).contains("two speeds")
    };
    let by_time: &dyn Fn(usize, &[f64]) -> bool = &|i, _| i * 37 % 11 < 3;
    assert!(speeds(by_time, 1.5) && speeds(by_time, 3.5));
    assert!(!speeds(by_time, 1.02), "no two speeds");
    assert!(!speeds(by_time, 30.0), "no shared machine has such a ratio");
    assert!(!speeds(&|_, at| at[0] > 16.0, 1.5));
    assert!(!speeds(&|_, at| (16.0..=32.0).contains(&at[0]), 1.5));
    assert!(!speeds(&|_, at| at[1] == 2.0, 1.5));
    assert!(!speeds(&|_, at| at[0] * at[1] > 24.0, 1.5));
}

/// Times that are exact but for their last digits, six samples of each of five values: equal times
/// of one point have equal rounding.
#[test]
fn rounding_loses_no_term_and_finds_none() {
    let points = column((0..30).map(|i| [2.0, 3.0, 5.0, 9.0, 17.0][i % 5]));
    for digits in [4, 7, 10, 15] {
        let rounded = |more: f64| {
            samples(&["p"], &points, 0, |i| {
                let p = points[i][0];
                format!("{:.*e}", digits, 1e-6 + 3.3e-7 * p.log2() + more * p).parse().unwrap()
            })
        };
        let terms = ["log2(p)", "p", "p*log2(p)"];
        assert_eq!(kept(&fit(&rounded(0.0), &terms)), ["1", "log2(p)"], "{digits} digits");
        // A term above the rounding, by a factor of 20.
        let more = 20.0 * 1e-6 * 10_f64.powi(-(digits as i32));
        assert_eq!(kept(&fit(&rounded(more), &terms)), ["1", "log2(p)", "p"], "{digits} digits");
    }
}

/// Products of unusual powers are found as such, and sums of two alike products as sums.
#[test]
fn exact_products_come_out_exact() {
    let grid: Vec<Vec<f64>> =
        (0..25).map(|i| vec![f64::exp2(f64::from(1 + i % 5)), f64::from(10 * (1 + i / 5))]).collect();
    let found = |cost: &dyn Fn(f64, f64) -> f64| {
        let fitted = fit(&samples(&["p", "s"], &grid, 0, |i| cost(grid[i][0], grid[i][1])), &[]);
        kept(&fitted).join(" + ")
    };
    assert_eq!(found(&|p, s| 3.0 + 0.07 * p * s.powf(1.5)), "1 + p*s^1.5");
    assert_eq!(found(&|p, s| 3.0 + 0.07 * p.powf(1.25) * s), "1 + p^(5/4)*s");
    assert_eq!(found(&|p, s| 3.0 + 0.07 * p * s * s.log2() + 0.01 * p * s * s), "1 + p*s*log2(s) + p*s^2");
}

/// Held-out samples share what no input tells with the fitted ones, so they exclude none of it.
#[test]
fn what_no_input_tells_is_no_verified_model() {
    let reason = |points: &[Vec<f64>], factor: &dyn Fn(usize) -> f64| {
        let mut noise = uniforms(7);
        let samples = samples(&["n"], points, 4, |i| {
            (1e-5 + 1e-7 * points[i][0]) * (0.99 + 0.02 * noise()) * factor(i)
        });
        let model = fit(&samples, &["n"]).model;
        (model.verdict, model.reason)
    };
    let changed = "the machine changed while it measured";
    let mixed = column((0..80).map(|i| f64::from(i * 37 % 80 * 50 + 7)));
    for factor in [1.4, 3.0] {
        let (verdict, of) = reason(&mixed, &|i| if i < 40 { factor } else { 1.0 });
        assert!(verdict == Verdict::Doubtful && of.contains(changed), "{factor}: {of}");
        let (_, of) = reason(&mixed, &|i| if i * 37 % 11 < 4 { factor } else { 1.0 });
        assert!(!of.contains(changed), "{factor}: {of}");
    }
    let (verdict, of) = reason(&mixed, &|i| 1.0 + i as f64 / 160.0);
    assert!(verdict == Verdict::Doubtful && of.contains("the order of the samples in the file"), "{of}");

    let special = "times at powers of two of `n`";
    let points = column((0..80).map(|i: i32| match i % 2 {
        0 => f64::exp2(f64::from(3 + i / 2 % 10)),
        _ => f64::from(10 + 37 * i),
    }));
    let (verdict, of) = reason(&points, &|i| if i % 2 == 0 { 1.5 } else { 1.0 });
    assert!(verdict != Verdict::Verified && of.contains(special), "{of}");
    let (_, of) = reason(&points, &|i| if i / 2 % 2 == 0 { 1.5 } else { 1.0 });
    assert!(!of.contains(special), "{of}");
}

/// Curves between few values are plain; but programs run on the numbers of nodes that were measured.
#[test]
fn costs_on_few_numbers_of_nodes_may_be_any() {
    let points: Vec<Vec<f64>> = (0..120)
        .map(|i| vec![f64::exp2(f64::from(4 + i / 4 % 12)) + f64::from(i), f64::exp2(f64::from(1 + i % 4))])
        .collect();
    let error = |name: &str| {
        let mut noise = uniforms(5);
        let samples = samples(&["n", name], &points, 5, |i| {
            let factor = [1.0, 20.0, 1.0, 20.0][i % 4];
            (1e-6 + 1e-9 * points[i][0] * factor) * (0.99 + 0.02 * noise())
        });
        fit(&samples, &[]).model.mre_verify.unwrap()
    };
    assert!(error("P") < 0.05 && error("q") > 0.1, "{} {}", error("P"), error("q"));
}
