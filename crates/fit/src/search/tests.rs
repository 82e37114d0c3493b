//! Costs that the search must find.

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};

use super::*;
use strata_model::Samples;
use strata_model::expr::{Program, parse};

fn found(text: &str, inputs: &[&str]) -> Found {
    let samples = Samples::parse(text, "test").unwrap();
    let structure =
        Structure { inputs: inputs.iter().map(|i| (*i).into()).collect(), ..Structure::default() };
    search(&samples.models[0], &structure, &FitOptions::default()).unwrap()
}

/// The terms of the model that a search finds, with their coefficients.
fn fitted(text: &str, inputs: &[&str]) -> Vec<(String, f64)> {
    let samples = Samples::parse(text, "test").unwrap();
    let structure =
        Structure { inputs: inputs.iter().map(|i| (*i).into()).collect(), ..Structure::default() };
    let fitted = crate::fit_model(&samples.models[0], &structure, &FitOptions::default(), &|_| None).unwrap();
    fitted.model.terms.into_iter().filter(|t| t.coefficient != 0.0).map(|t| (t.term, t.coefficient)).collect()
}

/// A cost as a function of one input.
type Shape = fn(f64) -> f64;

fn names(found: &Found) -> Vec<String> {
    let mut names: Vec<String> = found.terms.iter().map(Expr::to_string).collect();
    names.sort();
    names
}

#[test]
fn shapes_of_one_input_are_found_again() {
    let shapes: [(Shape, &[&str]); 5] = [
        (|x| 3e-6 + 2e-9 * x, &["x"]),
        (|x| 1e-6 + 4e-9 * x * x.log2(), &["x*log2(x)"]),
        (|x| 5e-6 * x.log2() + 1e-10 * x * x, &["log2(x)", "x^2"]),
        (|x| 1e-5 + 7e-8 * x.sqrt() + 1e-9 * x, &["sqrt(x)", "x"]),
        (
            |x| 1e-6 + 1e-9 * x + if x > 4096.0 { 5e-6 + 1e-9 * x } else { 0.0 },
            &["x", "x*(x>4096)", "x>4096"],
        ),
    ];
    for (shape, want) in shapes {
        let rows: String = (0..21).map(|k| 2f64.powi(k)).map(|x| format!("M {:e} {x}\n", shape(x))).collect();
        let got = found(&format!("model M (x)\n{rows}"), &["x"]);
        assert_eq!(names(&got), want, "{got:?}");
        assert!(got.error < 1e-9);
    }
}

#[test]
fn a_continuous_breakpoint_is_placed_between_samples() {
    let shape = |x: f64| 1e-6 + 1e-9 * x + 3e-9 * (x - 3000.0f64).max(0.0);
    let rows: String = (0..21).map(|k| 2f64.powi(k)).map(|x| format!("M {:e} {x}\n", shape(x))).collect();
    let got = found(&format!("model M (x)\n{rows}"), &["x"]);
    assert_eq!(names(&got), ["max(0,x-3000)", "x"], "{got:?}");
}

/// Terms that only the last point determines are not found. A true law's last points need its term,
/// however little the points before show of it.
#[test]
fn one_odd_point_at_the_edge_brings_no_terms() {
    for seed in 0..4 {
        let last = |factor: f64, law: Shape| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let row = |k: i32| {
                let x = 2f64.powf(f64::from(k) / 2.0).floor();
                let odd = if k == 40 { factor } else { 1.0 };
                format!("M {:e} {x}\n", law(x) * odd * (1.0 + 0.06 * (random.random::<f64>() - 0.5)))
            };
            names(&found(&format!("model M (x)\n{}", (10..=40).map(row).collect::<String>()), &["x"]))
        };
        for factor in [0.4, 1.5, 3.0, 8.0] {
            assert_eq!(last(factor, |x| 1e-6 + 2e-9 * x), ["x"], "{factor} {seed}");
        }
        let law = last(1.0, |x| 2e-9 * x + 1e-21 * x.powi(3));
        assert!(law.len() == 2 && law.contains(&"x".to_owned()), "{law:?} {seed}");
    }
}

#[test]
fn products_are_found_among_irrelevant_inputs() {
    let mut text = String::from("model M (n) (p) (z)\n");
    for n in (6..14).map(|k| 2f64.powi(k)) {
        for p in [2.0f64, 4.0, 8.0, 16.0, 32.0] {
            for z in [1.0, 3.0] {
                text += &format!("M {:e} {n} {p} {z}\n", 1e-6 + 3e-9 * n * p.log2() + 2e-8 * n / p);
            }
        }
    }
    let got = found(&text, &["n", "p", "z"]);
    assert_eq!(names(&got), ["n*log2(p)", "n/p"], "{got:?}");
}

/// Two numbers of nodes cannot distinguish functions of them: the found function must not be steep
/// between them, nor beyond.
#[test]
fn through_two_values_goes_no_steep_function() {
    let cost = |x: f64, p: f64| 1e-6 + 1e-9 * x * p.powi(3) * p.log2();
    let rows: String = [2.0, 4.0]
        .into_iter()
        .flat_map(|p| (3..21).map(move |k| (p, 2f64.powi(k))))
        .map(|(p, x)| format!("M {:e} {p} {x}\n", cost(x, p)))
        .collect();
    let got = found(&format!("model M (p) (x)\n{rows}"), &["p", "x"]);
    assert!(got.error < 1e-9, "{got:?}");
    let at_8 = |term: &Expr| Program::compile(term, &["p", "x"]).unwrap().eval(&[8.0, 1.0]).abs();
    assert!(got.terms.iter().all(|term| at_8(term) <= 64.0), "{got:?}");
}

#[test]
fn nothing_to_choose_from_is_nothing_found() {
    let samples = Samples::parse("model M (x)\nM 1 3\nM 1 3\nM 2 3\nM 1 3\n", "test").unwrap();
    let structure = Structure { inputs: vec!["x".into()], ..Structure::default() };
    assert!(search(&samples.models[0], &structure, &FitOptions::default()).is_none());
    let samples = Samples::parse("model M (x)\nM 1 3\nM 1 4\n", "test").unwrap();
    assert!(search(&samples.models[0], &structure, &FitOptions::default()).is_none());
}

/// Marsaglia's generator, uniform on 0 to 1.
fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn normal(mut uniform: impl FnMut() -> f64) -> impl FnMut() -> f64 {
    move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0
}

/// 64 random samples of 1 + x0 + x1 with noise.
fn plain_sum(noise: f64, even: bool, seed: u64) -> String {
    let (mut u, mut e) = (uniform(seed), normal(uniform(seed + 100)));
    let mut x = || if even { 1.0 + (99.0 * u()).round() } else { (10.0 * u()).exp2().round() };
    let mut text = String::from("model M (x0) (x1)\n");
    for _ in 0..64 {
        let (a, b) = (x(), x());
        text += &format!("M {} {a} {b}\n", (1.0 + a + b) * (1.0 + noise * e()));
    }
    text
}

#[test]
fn a_plain_sum_is_found_whatever_the_noise() {
    for (noise, even) in [(0.0, false), (0.01, true), (0.01, false), (0.03, true), (0.03, false)] {
        for seed in 1..=4 {
            let fitted = fitted(&plain_sum(noise, even, seed), &["x0", "x1"]);
            let mut got: Vec<String> = fitted.into_iter().map(|t| t.0).filter(|t| t != "1").collect();
            got.sort();
            assert_eq!(got, ["x0", "x1"], "noise {noise}, even {even}, seed {seed}");
        }
    }
}

/// No set of up to three simple terms has a lower price than the set that is found.
#[test]
fn a_found_set_is_never_worse_than_a_simple_one() {
    let options = FitOptions::default();
    let mut worse = Vec::new();
    for (noise, even) in [(0.03, true), (0.03, false), (0.05, true), (0.05, false)] {
        for seed in 1..=4 {
            let samples = Samples::parse(&plain_sum(noise, even, seed), "test").unwrap();
            let rows = &samples.models[0].rows;
            let points: Vec<Vec<f64>> = rows.iter().map(|row| row.values.clone()).collect();
            let seconds = DVector::from_iterator(rows.len(), rows.iter().map(|row| row.seconds));
            let inputs = [0, 1].map(|i| Input::new(&format!("x{i}"), points.iter().map(|p| p[i])));
            let (all, matrix) = evaluate(pool::candidates(&inputs, true, TABLE).0, &inputs, &points);
            let (best, _, problem) =
                best_of(points, &seconds, &inputs, &all, &matrix, true, &options).unwrap();
            let simple: Vec<&Candidate> = all.iter().filter(|c| c.complexity <= 2).collect();
            let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
            for length in 1..=3 {
                let shorter: Vec<Vec<usize>> =
                    sets.iter().filter(|s| s.len() == length - 1).cloned().collect();
                for set in shorter {
                    let after = set.last().map_or(0, |last| last + 1);
                    sets.extend((after..simple.len()).map(|term| [&set[..], &[term]].concat()));
                }
            }
            let score = |set: &Vec<usize>| problem.score(set.iter().map(|t| simple[*t].clone()).collect());
            let least =
                sets[1..].iter().filter_map(score).min_by(|a, b| a.price.total_cmp(&b.price)).unwrap();
            if least.price < best.price - 1e-6 {
                let texts = [&least, &best]
                    .map(|set| set.candidates.iter().map(|c| c.expr.to_string()).collect::<Vec<_>>());
                worse.push(format!(
                    "noise {noise}, even {even}, seed {seed}: {texts:?}, {} < {}",
                    least.price, best.price
                ));
            }
        }
    }
    assert!(worse.is_empty(), "{}", worse.join("\n"));
}

#[test]
fn one_outlier_gives_no_spike() {
    let truth = |x: f64| 2e-6 + 1e-9 * x;
    for (outlier, factor) in (0..17).flat_map(|i| [(i, 7.0), (i, 1.0 / 7.0)]) {
        let mut e = normal(uniform(outlier as u64 + 1));
        let row = |i: usize| {
            let x = (i as f64 + 4.0).exp2();
            let off = if i == outlier { factor } else { 1.0 };
            format!("M {:e} {x}\n", truth(x) * (1.0 + 0.015 * e()) * off)
        };
        let text = format!("model M (x)\n{}", (0..17).map(row).collect::<String>());
        let program = |term: &str| Program::compile(&parse(term).unwrap(), &["x"]).unwrap();
        let programs: Vec<(Program, f64)> =
            fitted(&text, &["x"]).iter().map(|(term, c)| (program(term), *c)).collect();
        for x in (16..=80).map(|i| (f64::from(i) / 4.0).exp2()) {
            let predicted: f64 = programs.iter().map(|(term, c)| c * term.eval(&[x])).sum();
            let error = predicted / truth(x) - 1.0;
            assert!(error.abs() < 0.06, "outlier {outlier} times {factor}: {error} off at {x}");
        }
    }
}

#[test]
fn no_more_terms_than_the_points_bear() {
    // Eight points allow three coefficients, for any number of samples each and any times.
    for seed in 1..=10 {
        let mut u = uniform(seed);
        let times: Vec<f64> = (0..8).map(|_| 1.0 + 9.0 * u()).collect();
        let row = |i: usize| format!("M {} {}\n", times[i % 8] * (1.0 + 1e-3 * u()), 2 << (i % 8));
        let text = format!("model M (x)\n{}", (0..40).map(row).collect::<String>());
        let samples = Samples::parse(&text, "test").unwrap();
        let structure = Structure { inputs: vec!["x".into()], ..Structure::default() };
        let options = FitOptions { constant: false, robust: Robust::None, ..FitOptions::default() };
        let got = search(&samples.models[0], &structure, &options).unwrap();
        assert!((1..=3).contains(&got.terms.len()), "seed {seed}: {got:?}");
    }
}

#[test]
fn the_work_is_bounded_and_says_so() {
    let names: Vec<String> = (0..12).map(|i| format!("x{i}")).collect();
    let mut u = uniform(3);
    let mut text = format!("model M ({})\n", names.join(") ("));
    for _ in 0..600 {
        let x: Vec<f64> = names.iter().map(|_| (8.0 * u()).exp2()).collect();
        let values: Vec<String> = x.iter().map(f64::to_string).collect();
        text += &format!("M {} {}\n", 3.0 + x[2] * x[7], values.join(" "));
    }
    let got = found(&text, &names.iter().map(String::as_str).collect::<Vec<_>>());
    let tried = TABLE / 300;
    assert!(got.cut && got.candidates <= tried + tried / 10, "{} candidates", got.candidates);
    assert_eq!(self::names(&got), ["x2*x7"]);
}
