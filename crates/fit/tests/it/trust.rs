//! What a fit must not be taken in by, each case with a twin that a rule without content would get
//! wrong: what is left out in one case is the cost itself in the other.

use strata_fit::{FitOptions, Fitted, Search, fit_model};
use strata_model::samples::{ModelSamples, Sample};
use strata_model::set::Verdict;

use crate::{method::uniforms, structure};

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
    crate::samples(inputs, points.iter().enumerate().map(row))
}

/// The fit by these terms alone or, without any, by a search.
fn fit(samples: &ModelSamples, terms: &[&str]) -> Fitted {
    let inputs: Vec<&str> = samples.columns.iter().map(|column| &*column.text).collect();
    let structure = structure(&inputs, terms);
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

/// A multiple of 64 is as round as a power of two, which may not be among the values at all.
#[test]
fn multiples_of_64_are_no_input_either() {
    let special = "times at multiples of 64 of `n`";
    let reason = |factor: &dyn Fn(usize) -> f64| {
        let points =
            column((0..80).map(|i: i32| f64::from(if i % 2 == 0 { 192 * (i + 3) } else { 100 + 191 * i })));
        let mut noise = uniforms(11);
        let samples = samples(&["n"], &points, 4, |i| {
            (1e-5 + 1e-8 * points[i][0]) * (0.99 + 0.02 * noise()) * factor(i)
        });
        let model = fit(&samples, &["n"]).model;
        (model.verdict, model.reason)
    };
    let (verdict, of) = reason(&|i| if i % 2 == 0 { 1.5 } else { 1.0 });
    assert!(verdict != Verdict::Verified && of.contains(special), "{of}");
    let (_, of) = reason(&|i| if i / 2 % 2 == 0 { 1.5 } else { 1.0 });
    assert!(!of.contains(special), "{of}");
}

/// Held-out points of the same few values as the fitted ones verify nothing between these: there, a
/// value that is left out is the evidence. In the twin the same curve has many values.
#[test]
fn between_few_values_held_out_points_of_these_verify_nothing() {
    let grid = |values: &[f64]| -> Vec<Vec<f64>> {
        let of = |p: f64| (1..=6).map(move |n| vec![p, 1000.0 * f64::from(n)]);
        values.iter().flat_map(|p| of(*p)).collect()
    };
    let judged = |points: &[Vec<f64>], terms: &[&str], cost: fn(f64) -> f64| {
        let mut noise = uniforms(3);
        let samples = samples(&["p", "n"], points, 5, |i| {
            1e-6 * cost(points[i][0]) * points[i][1] * (0.995 + 0.01 * noise())
        });
        fit(&samples, terms).model
    };
    let few = grid(&[4.0, 8.0, 16.0, 32.0, 64.0]);
    let word = "between the 5 values of `p` nothing was verified";
    // Five functions of p pass through five values, whatever lies between.
    let follows = ["n", "p*n", "p*p*n", "p*p*p*n", "log2(p)*n"];
    let bent: fn(f64) -> f64 = |p| if p == 16.0 { 3.0 } else { 1.0 + p.sqrt() };
    let model = judged(&few, &follows, bent);
    assert!(model.verdict == Verdict::Doubtful && model.reason.contains(word), "{}", model.reason);
    assert!(model.mre_verify.unwrap() < 0.05, "held-out points of the same values show nothing");
    // A curve that each value confirms from the others is verified, with its error between them.
    let plain: fn(f64) -> f64 = |p| 1.0 + p.sqrt();
    let model = judged(&few, &["n", "sqrt(p)*n"], plain);
    assert_eq!(model.verdict, Verdict::Verified, "{}", model.reason);
    assert!(model.reason.contains("each inner value of `p`, of 5, predicted"), "{}", model.reason);
    // Other values are held out, and whole numbers without a gap have nothing between them.
    let many: Vec<f64> = (0..40).map(|i| 4.0 + 1.5 * f64::from(i)).collect();
    for points in [grid(&many), grid(&[1.0, 2.0, 3.0, 4.0, 5.0])] {
        let model = judged(&points, &["n", "sqrt(p)*n"], plain);
        assert!(!model.reason.contains("of `p`"), "{}", model.reason);
    }
}

/// The interval of a prediction between few values has the error of a value that is left out, which
/// is larger than that of held-out samples if many terms pass near each value.
#[test]
fn intervals_between_few_values_hold_their_error() {
    let points: Vec<Vec<f64>> =
        (0..60).map(|i| vec![[4.0, 8.0, 16.0, 32.0, 64.0][i % 5], f64::from(1 + i as i32 / 5)]).collect();
    let of = |terms: &[&str]| {
        let mut noise = uniforms(9);
        let samples = samples(&["p", "n"], &points, 6, |i| {
            let p = points[i][0];
            1e-6 * (1.0 + p * if p == 16.0 { 1.3 } else { 1.0 }) * points[i][1] * (0.998 + 0.004 * noise())
        });
        let model = fit(&samples, terms).model;
        let width = model.noise_variance.sqrt() * model.t_quantile / model.mean_time;
        (model.mre_verify.unwrap(), model.own_error, width)
    };
    let (held_out, own, width) = of(&["n", "p*n", "p*p*n", "p*p*p*n"]);
    // Held-out samples alone make it their mean error over that of a normal variable, 1.25 times.
    assert!(own > 2.0 * held_out && width > 4.0 * held_out, "{held_out} {own} {width}");
}

/// An input that is a function of another has no effect that samples could tell.
#[test]
fn inputs_that_follow_each_other_are_named() {
    let points = |bytes: fn(f64) -> f64| -> Vec<Vec<f64>> {
        (0..40).map(|i| f64::from(20 + i * i)).map(|keys| vec![keys, bytes(keys)]).collect()
    };
    let fitted = |points: &[Vec<f64>]| {
        let mut noise = uniforms(4);
        fit(
            &samples(&["keys", "bytes"], points, 5, |i| {
                (1e-6 + 1e-9 * points[i][0]) * (0.99 + 0.02 * noise())
            }),
            &["keys", "bytes"],
        )
    };
    let collinear = fitted(&points(|keys| 8.0 * keys));
    assert!(warnings(&collinear).contains("`bytes` is 8*keys at all samples"), "{}", warnings(&collinear));
    assert!(collinear.model.stray(&[500.0, 4000.0]).is_none());
    assert_eq!(collinear.model.stray(&[500.0, 600.0]).map(|input| &*input.name), Some("bytes"));
    let apart = fitted(&points(|keys| 8.0 * keys + (keys * 7.77) % 900.0));
    assert!(apart.model.follows.is_empty() && !warnings(&apart).contains("at all samples"));
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
