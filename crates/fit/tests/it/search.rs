//! Which costs a search finds without any terms named, and how often it finds what is not there.

use std::collections::BTreeMap;

use strata_fit::{FitOptions, fit_model};
use strata_model::expr::{Program, parse};
use strata_model::samples::{ModelSamples, Sample};

use crate::{
    method::{normal, uniforms},
    samples, structure,
};

/// Measured values of the inputs, five to seven each.
const CUBIC: &[f64] = &[20.0, 30.0, 40.0, 50.0, 60.0];
const FEW: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0];
const POWERS: &[f64] = &[2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
const SIZES: &[f64] = &[64.0, 128.0, 256.0, 512.0, 1024.0];

/// How the points are chosen: every combination of the values, timed so many times; or random
/// points between the least and the greatest values.
#[derive(Clone, Copy, Debug)]
enum Points {
    Grid(usize),
    Random(usize),
}
use Points::{Grid, Random};

/// A cost and the points at which it is measured.
struct Case {
    inputs: &'static [(&'static str, &'static [f64])],
    /// Terms with their coefficients.
    truth: &'static [(f64, &'static str)],
    points: Points,
}

const fn case(
    inputs: &'static [(&'static str, &'static [f64])],
    truth: &'static [(f64, &'static str)],
    points: Points,
) -> Case {
    Case { inputs, truth, points }
}

const SIZE_P: &[(&str, &[f64])] = &[("size", CUBIC), ("p", POWERS)];
const XYZ: &[(&str, &[f64])] = &[("x", FEW), ("y", FEW), ("z", FEW)];
const NPQ: &[(&str, &[f64])] = &[("n", SIZES), ("p", POWERS), ("q", POWERS)];

/// Products with cubes, with a logarithm beside a power, and of three factors.
const PRODUCTS: &[Case] = &[
    case(SIZE_P, &[(5e3, "1"), (1.0, "size^3*log2(p)")], Grid(5)),
    case(SIZE_P, &[(5e3, "1"), (1.0, "size^3*log2(p)")], Random(60)),
    case(SIZE_P, &[(1e2, "1"), (1.0, "size^3/p")], Grid(5)),
    case(SIZE_P, &[(1e2, "1"), (1.0, "size^3/p")], Random(60)),
    case(SIZE_P, &[(1e4, "1"), (1.0, "size^3*p^2")], Grid(5)),
    case(SIZE_P, &[(1e4, "1"), (1.0, "size^3*p^3")], Random(60)),
    case(SIZE_P, &[(1e4, "p"), (1.0, "size^3*log2(size)/p")], Grid(5)),
    case(SIZE_P, &[(1e3, "p"), (1.0, "size^2*log2(size)*log2(p)")], Grid(5)),
    case(XYZ, &[(1.0, "x^3*y^2"), (1.0, "z")], Grid(5)),
    case(XYZ, &[(1.0, "x^3*y^2"), (1.0, "z")], Random(100)),
    case(XYZ, &[(2.0, "1"), (0.1, "x^3*y*z")], Grid(1)),
    case(XYZ, &[(2.0, "1"), (0.1, "x^3*y^2*z^2")], Grid(5)),
    case(NPQ, &[(1e3, "1"), (1.0, "n*p*log2(q)")], Grid(1)),
    case(NPQ, &[(1e3, "1"), (1.0, "n*p*log2(q)")], Random(60)),
    case(NPQ, &[(1e5, "1"), (1.0, "n^2*log2(n)*p*log2(q)")], Grid(1)),
    case(NPQ, &[(1e5, "1"), (1.0, "n^3*log2(p)/q")], Random(100)),
    case(NPQ, &[(1e3, "n"), (1.0, "n^3*p/q")], Grid(1)),
];

/// Costs without such products, and none at all.
const PLAIN: &[Case] = &[
    case(&[("x0", SIZES), ("x1", SIZES)], &[(1.0, "1")], Random(64)),
    case(&[("x0", SIZES), ("x1", SIZES)], &[(1.0, "1")], Grid(5)),
    case(NPQ, &[(1.0, "1")], Random(100)),
    case(
        &[("x0", &[1.0, 1000.0]), ("x1", &[1.0, 1000.0])],
        &[(1.0, "1"), (1.0, "x0"), (1.0, "x1")],
        Random(64),
    ),
    case(SIZE_P, &[(10.0, "1"), (1.0, "size"), (1.0, "p")], Grid(5)),
    case(NPQ, &[(100.0, "1"), (1.0, "n"), (10.0, "p"), (10.0, "q")], Random(100)),
];

impl Case {
    /// The samples of one seed.
    fn samples(&self, noise: f64, seed: u64) -> ModelSamples {
        let mut uniform = uniforms(seed);
        let names: Vec<&str> = self.inputs.iter().map(|input| input.0).collect();
        let program = |text: &str| Program::compile(&parse(text).unwrap(), &names).unwrap();
        let truth: Vec<(f64, Program)> = self.truth.iter().map(|(c, term)| (*c, program(term))).collect();
        let mut points = vec![Vec::new()];
        match self.points {
            Grid(repeats) => {
                for (_, values) in self.inputs {
                    points = points
                        .iter()
                        .flat_map(|p| values.iter().map(move |v| [&p[..], &[*v]].concat()))
                        .collect();
                }
                points = points.iter().flat_map(|p| vec![p.clone(); repeats]).collect();
            }
            Random(count) => {
                let mut value = |(_, values): &(&str, &[f64])| {
                    let (low, high) = (values[0], values[values.len() - 1]);
                    (low * (high / low).powf(uniform())).round()
                };
                points = (0..count).map(|_| self.inputs.iter().map(&mut value).collect()).collect();
            }
        }
        let row = |(i, point): (usize, &Vec<f64>)| {
            let cost: f64 = truth.iter().map(|(c, term)| c * term.eval(point)).sum();
            let normal = normal(&mut uniform);
            Sample {
                seconds: 1e-9 * cost * (1.0 + noise * normal),
                values: point.clone(),
                line: i + 1,
                ..Sample::default()
            }
        };
        samples(&names, points.iter().enumerate().map(row))
    }

    /// The terms that a search finds beside the constant, in alphabetical order.
    fn found(&self, noise: f64, seed: u64) -> Vec<String> {
        let samples = self.samples(noise, seed);
        let inputs: Vec<&str> = self.inputs.iter().map(|input| input.0).collect();
        let structure = structure(&inputs, &[]);
        let model = fit_model(&samples, &structure, &FitOptions::default(), &|_| None).unwrap().model;
        let kept = model.terms.into_iter().filter(|t| t.coefficient != 0.0 && t.term != "1");
        let mut terms: Vec<String> = kept.map(|t| t.term).collect();
        terms.sort();
        terms
    }

    fn want(&self) -> Vec<String> {
        let mut terms: Vec<String> =
            self.truth.iter().map(|t| parse(t.1).unwrap().to_string()).filter(|t| t != "1").collect();
        terms.sort();
        terms
    }

    /// What is found instead of the truth, the most frequent first, with the number of seeds.
    fn others(&self, noise: f64, seeds: u64) -> Vec<(usize, String)> {
        let want = self.want();
        let mut others = BTreeMap::new();
        for found in (1..=seeds).map(|seed| self.found(noise, seed)).filter(|found| *found != want) {
            *others.entry(found.join(" + ")).or_insert(0) += 1;
        }
        let mut others: Vec<(usize, String)> =
            others.into_iter().map(|(found, count)| (count, found)).collect();
        others.sort_by_key(|other| std::cmp::Reverse(other.0));
        others
    }
}

#[test]
fn steep_products_are_found() {
    let quick = PRODUCTS.iter().filter(|case| matches!(case.points, Grid(1) | Random(60)));
    for case in quick {
        assert_eq!(case.found(0.02, 1), case.want(), "{:?}", case.points);
    }
}

/// Prints how often a search finds each cost exactly, and what it finds instead.
fn table(cases: &[Case], noises: [f64; 2], seeds: u64) {
    for case in cases {
        for noise in noises {
            let others = case.others(noise, seeds);
            let missed: usize = others.iter().map(|other| other.0).sum();
            let instead: Vec<String> =
                others.iter().take(3).map(|(count, found)| format!("{count}: {found}")).collect();
            println!(
                "{:33} {:11} {noise} {:3}/{seeds}  {}",
                case.want().join(" + "),
                format!("{:?}", case.points),
                seeds as usize - missed,
                instead.join("; ")
            );
        }
    }
}

#[test]
#[ignore = "takes minutes: cargo test -p strata-fit --test it as_a_table -- --ignored --nocapture"]
fn products_as_a_table() {
    table(PRODUCTS, [0.02, 0.05], 20);
}

#[test]
#[ignore = "takes minutes: cargo test -p strata-fit --test it as_a_table -- --ignored --nocapture"]
fn plain_costs_as_a_table() {
    table(PLAIN, [0.03, 0.05], 200);
}
