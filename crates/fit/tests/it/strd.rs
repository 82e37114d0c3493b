//! The linear sets of NIST's Statistical Reference Datasets against the exact solution of the same
//! doubles.
//!
//! The fitted matrix consists of doubles, and so has an exact rational solution. This solution is
//! the oracle, not the certified values, which belong to the decimal data. All eleven sets are in
//! `tests/strd`; solved exactly from their decimals they give NIST's certified values to the last
//! digit.

use std::path::Path;

use nalgebra::{DMatrix, DVector};
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};
use strata_fit::solve::solve;
use strata_fit::{FitOptions, Search, fit_samples};
use strata_model::Samples;
use strata_model::set::Mode;

/// The exact least-squares solution, and the exact squares of its standard errors.
fn oracle(a: &DMatrix<f64>, b: &DVector<f64>) -> (Vec<BigRational>, Vec<BigRational>) {
    let exact = |v: f64| BigRational::from_float(v).unwrap();
    let (m, n) = a.shape();
    let rows: Vec<Vec<BigRational>> = (0..m).map(|i| (0..n).map(|j| exact(a[(i, j)])).collect()).collect();
    let rhs: Vec<BigRational> = b.iter().map(|v| exact(*v)).collect();
    // [A'A | A'b | I], reduced to the identity.
    let mut system: Vec<Vec<BigRational>> = (0..n)
        .map(|i| {
            let product = |of: &dyn Fn(usize) -> BigRational| (0..m).map(|k| &rows[k][i] * of(k)).sum();
            let mut row: Vec<BigRational> = (0..n).map(|j| product(&|k| rows[k][j].clone())).collect();
            row.push(product(&|k| rhs[k].clone()));
            row.extend((0..n).map(|j| exact(if i == j { 1.0 } else { 0.0 })));
            row
        })
        .collect();
    for k in 0..n {
        let pivot = (k..n).find(|&i| !system[i][k].is_zero()).unwrap();
        system.swap(k, pivot);
        let divisor = system[k][k].clone();
        for value in &mut system[k] {
            *value /= &divisor;
        }
        let row = system[k].clone();
        for other in (0..n).filter(|&i| i != k) {
            let factor = system[other][k].clone();
            for (value, pivot) in system[other].iter_mut().zip(&row) {
                *value -= &factor * pivot;
            }
        }
    }
    let x: Vec<BigRational> = system.iter().map(|row| row[n].clone()).collect();
    let residual = |i: usize| &rhs[i] - (0..n).map(|j| &rows[i][j] * &x[j]).sum::<BigRational>();
    let sse: BigRational = (0..m).map(residual).map(|r| &r * &r).sum();
    let variance = sse / exact((m - n) as f64);
    let squares = (0..n).map(|j| &variance * &system[j][n + 1 + j]).collect();
    (x, squares)
}

/// The digits that two numbers share; 17 if they are equal; for an exact zero those of the absolute
/// error.
fn digits(got: f64, want: &BigRational, size: f64) -> f64 {
    let difference = (BigRational::from_float(got).unwrap() - want).abs().to_f64().unwrap();
    let scale = if want.is_zero() { size } else { want.abs().to_f64().unwrap() };
    if difference == 0.0 { 17.0 } else { -(difference / scale).log10() }
}

/// Fails unless coefficients and standard errors agree with the oracle to twelve digits.
#[track_caller]
fn check(name: &str, a: &DMatrix<f64>, b: &DVector<f64>) {
    let (x, squares) = oracle(a, b);
    let got = solve(a, b).unwrap_or_else(|e| panic!("{name}: {e:?}"));
    let (m, n) = a.shape();
    assert_eq!(got.rank, n, "{name}");
    let variance = got.residual.norm_squared() / (m - n) as f64;
    for j in 0..n {
        let have = digits(got.coefficients[j], &x[j], b.amax() / a.column(j).amax());
        assert!(have >= 14.0, "{name}, coefficient {j}: {have:.1} digits");
        // A square has twice the relative error of its root: comparing squares is stricter.
        let have =
            digits(variance * got.covariance[(j, j)], &squares[j], b.norm_squared() * got.covariance[(j, j)]);
        assert!(have >= 12.5, "{name}, standard error {j}: {have:.1} digits");
    }
}

fn powers(x: &[f64], degree: i32, constant: bool) -> DMatrix<f64> {
    let first = i32::from(!constant);
    DMatrix::from_fn(x.len(), (degree + 1 - first) as usize, |i, j| x[i].powi(j as i32 + first))
}

/// A set's rows, each y and then the predictors.
fn rows(name: &str) -> Vec<Vec<f64>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/strd/{name}.txt"));
    let text = std::fs::read_to_string(path).unwrap();
    let data = text.lines().filter(|line| !line.starts_with('#'));
    data.map(|line| line.split_whitespace().map(|v| v.parse().unwrap()).collect()).collect()
}

#[test]
fn all_eleven_sets() {
    for (name, count, degree, constant) in [
        ("Norris", 36, 1, true),
        ("Pontius", 40, 2, true),
        ("NoInt1", 11, 1, false),
        ("NoInt2", 3, 1, false),
        ("Filip", 82, 10, true),
        ("Longley", 16, 1, true),
        ("Wampler1", 21, 5, true),
        ("Wampler2", 21, 5, true),
        ("Wampler3", 21, 5, true),
        ("Wampler4", 21, 5, true),
        ("Wampler5", 21, 5, true),
    ] {
        let rows = rows(name);
        assert_eq!(rows.len(), count, "{name}");
        let y = DVector::from_iterator(count, rows.iter().map(|row| row[0]));
        let a = if rows[0].len() == 2 {
            powers(&rows.iter().map(|row| row[1]).collect::<Vec<_>>(), degree, constant)
        } else {
            DMatrix::from_fn(count, rows[0].len(), |i, j| if j == 0 { 1.0 } else { rows[i][j] })
        };
        check(name, &a, &y);
    }
}

/// Filip's polynomial through the whole fit: eleven terms, none dropped for its rank, and NIST's
/// certified values to the accuracy of powers rounded to doubles.
#[test]
fn filip_keeps_its_rank() {
    let mut text = format!("Filip {}\n", (1..=10).map(|k| format!("x{k}")).collect::<Vec<_>>().join(" "));
    for row in rows("Filip") {
        let powers: Vec<String> = (1..=10).map(|k| row[1].powi(k).to_string()).collect();
        text += &format!("Filip {} {}\n", row[0], powers.join(" "));
    }
    let samples = Samples::parse(&text, "Filip").unwrap();
    let options =
        FitOptions { mode: Mode::Absolute, keep_all: true, search: Search::Never, ..FitOptions::default() };
    let model = fit_samples(&samples, &options).remove(0).unwrap().model;
    assert_eq!(model.rank, 11);
    for (term, certified) in
        [(0, -1_467.489_614_229_8), (5, -75.124_201_739_375_7), (10, -4.029_625_250_804_04e-5)]
    {
        let got = model.terms[term].coefficient;
        assert!((got / certified - 1.0_f64).abs() < 1e-6, "{got} is not {certified}");
    }
}

#[test]
fn designs_like_pontius_and_filip() {
    let wobble = |i: usize| f64::from((i as u32 * 7919 + 13) % 101) / 101.0 - 0.5;
    let x: Vec<f64> = (0..40).map(|i| 150_000.0 * f64::from(i % 20 + 1)).collect();
    let y = DVector::from_fn(40, |i, _| {
        let exact = 6.7e-4 + 7.3e-7 * x[i] - 3.2e-15 * x[i] * x[i] + 2e-4 * wobble(i);
        (exact * 1e5).round() / 1e5
    });
    check("like Pontius", &powers(&x, 2, true), &y);
    for seed in 0..4 {
        let x: Vec<f64> = (0..82).map(|i| -8.8 + 5.7 * (i as f64 + 0.6 * wobble(i + seed)) / 81.0).collect();
        let y = DVector::from_fn(82, |i, _| {
            let exact = 0.75 + 0.1 * (1.7 * x[i]).sin() + 0.01 * x[i] + 0.007 * wobble(3 * i + seed);
            (exact * 1e4).round() / 1e4
        });
        check("like Filip", &powers(&x, 10, true), &y);
    }
}

#[test]
fn columns_that_nearly_depend_on_each_other() {
    // The condition is 1 to 10^11: both methods and the border between them.
    for near in 0..12 {
        let a = DMatrix::from_fn(30, 3, |i, j| {
            let x = i as f64 + 1.0;
            [1.0, x, x + (10f64.powi(-near)) * (x * 1.7).sin()][j]
        });
        let b = DVector::from_fn(30, |i, _| (i as f64).sqrt() + f64::from((i as u32 * 31) % 7));
        check(&format!("near {near}"), &a, &b);
    }
}
