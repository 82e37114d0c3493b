//! The linear sets of NIST's Statistical Reference Datasets against the exact solution of the same doubles.
//!
//! The matrix that is fitted consists of doubles, and so has an exact rational solution; that is the oracle, not the
//! certified values, which belong to the decimal data. Five sets are read from files and skipped where these are not;
//! those that a formula gives are made here, and two more have the design of Pontius and Filip.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

use std::path::Path;

use nalgebra::{DMatrix, DVector};
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};
use strata_fit::solve::solve;

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

/// The digits that two numbers share; 17 if they are equal, and beside an exact zero those of the absolute error.
fn digits(got: f64, want: &BigRational, size: f64) -> f64 {
    let difference = (BigRational::from_float(got).unwrap() - want).abs().to_f64().unwrap();
    let scale = if want.is_zero() { size } else { want.abs().to_f64().unwrap() };
    if difference == 0.0 { 17.0 } else { -(difference / scale).log10() }
}

/// Fails unless coefficients and standard errors agree with the oracle to twelve digits.
#[track_caller]
fn check(name: &str, a: &DMatrix<f64>, b: &DVector<f64>) {
    let (x, squares) = oracle(a, b);
    let got = solve(a, b).unwrap();
    let (m, n) = a.shape();
    assert_eq!(got.rank, n, "{name}");
    let variance = got.residual.norm_squared() / (m - n) as f64;
    for j in 0..n {
        let have = digits(got.coefficients[j], &x[j], b.amax() / a.column(j).amax());
        assert!(have >= 14.0, "{name}, coefficient {j}: {have:.1} digits");
        // A square has half the digits' worth of error in its root: comparing squares asks for more, not less.
        let have =
            digits(variance * got.covariance[(j, j)], &squares[j], b.norm_squared() * got.covariance[(j, j)]);
        assert!(have >= 12.5, "{name}, standard error {j}: {have:.1} digits");
    }
}

fn powers(x: &[f64], degree: i32, constant: bool) -> DMatrix<f64> {
    let first = i32::from(!constant);
    DMatrix::from_fn(x.len(), (degree + 1 - first) as usize, |i, j| x[i].powi(j as i32 + first))
}

#[test]
fn sets_from_files() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/strd");
    let folder = std::env::var_os("STRATA_STRD").map_or(beside, Into::into);
    for (name, degree, constant) in [
        ("Norris", 1, true),
        ("Longley", 1, true),
        ("NoInt1", 1, false),
        ("Wampler1", 5, true),
        ("Wampler3", 5, true),
    ] {
        let path = folder.join(format!("{name}.json"));
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("skipped: there is no {}; set STRATA_STRD to the folder that has it", path.display());
            continue;
        };
        let set: serde_json::Value = serde_json::from_str(&text).unwrap();
        let number = |v: &serde_json::Value| v.as_str().unwrap().parse::<f64>().unwrap();
        let x: Vec<Vec<f64>> = set["x"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                row.as_array().map_or_else(|| vec![number(row)], |row| row.iter().map(number).collect())
            })
            .collect();
        let y = DVector::from_iterator(x.len(), set["y"].as_array().unwrap().iter().map(number));
        let a = if x[0].len() == 1 {
            powers(&x.iter().map(|row| row[0]).collect::<Vec<_>>(), degree, constant)
        } else {
            DMatrix::from_fn(x.len(), x[0].len() + 1, |i, j| if j == 0 { 1.0 } else { x[i][j - 1] })
        };
        check(name, &a, &y);
    }
}

#[test]
fn polynomials_of_wampler() {
    let x: Vec<f64> = (0..=20).map(f64::from).collect();
    let a = powers(&x, 5, true);
    let one = DVector::from_iterator(21, x.iter().map(|x| (0..=5).map(|k| x.powi(k)).sum()));
    let tenth = |x: f64| (0..=5).map(|k| x.powi(k) / 10f64.powi(k)).sum::<f64>();
    // NIST's errors are ±2048 with a few others between them; what matters is that they dwarf the times.
    let error = |i: usize| if i.is_multiple_of(2) { 2048.0 - 37.0 * (i % 5) as f64 } else { -2048.0 };
    check("Wampler1", &a, &one);
    check("Wampler2", &a, &DVector::from_iterator(21, x.iter().map(|x| tenth(*x))));
    for (name, scale) in [("like Wampler3", 1.0), ("like Wampler4", 100.0), ("like Wampler5", 10000.0)] {
        check(name, &a, &DVector::from_fn(21, |i, _| one[i] + scale * error(i)));
    }
}

#[test]
fn lines_through_the_origin() {
    check("NoInt2", &DMatrix::from_vec(3, 1, vec![4.0, 5.0, 6.0]), &DVector::from_vec(vec![3.0, 4.0, 4.0]));
    let x: Vec<f64> = (60..=70).map(f64::from).collect();
    check("NoInt1", &powers(&x, 1, false), &DVector::from_fn(11, |i, _| 130.0 + i as f64));
}

#[test]
fn the_designs_of_pontius_and_filip() {
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
    // The condition runs from 1 to 10^11: through both methods and the border between them.
    for near in 0..12 {
        let a = DMatrix::from_fn(30, 3, |i, j| {
            let x = i as f64 + 1.0;
            [1.0, x, x + (10f64.powi(-near)) * (x * 1.7).sin()][j]
        });
        let b = DVector::from_fn(30, |i, _| (i as f64).sqrt() + f64::from((i as u32 * 31) % 7));
        check(&format!("near {near}"), &a, &b);
    }
}
