//! Solves judged by the residual ratio, on good, bad and exactly rank-deficient systems.

use super::*;
use proptest::prelude::*;

/// LAPACK's ratio, without the allowance for rounding.
fn plain_ratio(a: &DMatrix<f64>, x: &DVector<f64>, b: &DVector<f64>) -> f64 {
    let (m, n) = a.shape();
    let r = b - a * x;
    let norm_a = a.column_iter().map(|c| c.lp_norm(1)).fold(0.0, f64::max);
    a.tr_mul(&r).lp_norm(1) / (norm_a * r.lp_norm(1) * m.max(n) as f64 * f64::EPSILON)
}

fn matrix(rows: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = (DMatrix<f64>, DVector<f64>)> {
    (rows, 1usize..=8).prop_flat_map(|(m, n)| {
        (
            prop::collection::vec(-1.0f64..1.0, m * n).prop_map(move |v| DMatrix::from_vec(m, n, v)),
            prop::collection::vec(-1.0f64..1.0, m).prop_map(DVector::from_vec),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_systems_pass_the_ratio((a, b) in matrix(1..=40)) {
        let s = solve(&a, &b).unwrap();
        prop_assert!(s.ratio < MAX_RATIO);
        let noise = (&b - &a * &s.coefficients).lp_norm(1);
        if noise * 20.0 > (a.abs() * s.coefficients.abs() + b.abs()).lp_norm(1) {
            prop_assert!(plain_ratio(&a, &s.coefficients, &b) < MAX_RATIO);
        }
    }

    #[test]
    fn badly_scaled_and_conditioned_systems_pass_the_ratio(
        (a, b) in matrix(9..=40), scale in prop::collection::vec(-140i32..140, 8), near in 0i32..18,
    ) {
        // The last column is within 10^-near of the first, then all are scaled by powers of two.
        let (mut a, n) = (a.clone(), a.ncols());
        if n > 1 {
            let mixed = a.column(0) + a.column(n - 1) * 10f64.powi(-near);
            a.set_column(n - 1, &mixed);
        }
        for (j, power) in scale.into_iter().enumerate().take(n) {
            let scaled = a.column(j) * 10f64.powi(power);
            a.set_column(j, &scaled);
        }
        let s = solve(&a, &b).unwrap();
        prop_assert!(s.ratio < MAX_RATIO);
        prop_assert!(s.rank >= n - 1);
    }

    #[test]
    fn exactly_dependent_columns_share_their_weight((a, b) in matrix(14..=40), which in 0usize..8, times in -3i32..4) {
        let (n, factor) = (a.ncols(), 2f64.powi(times));
        let which = which % n;
        let mut wide = a.clone().insert_column(n, 0.0);
        wide.set_column(n, &(a.column(which) * factor));
        let (one, two) = (solve(&a, &b).unwrap(), solve(&wide, &b).unwrap());
        prop_assert_eq!(two.rank, n);
        prop_assert!(two.ratio < MAX_RATIO && plain_ratio(&wide, &two.coefficients, &b) < MAX_RATIO);
        prop_assert_eq!(&two.dependent, &vec![vec![which, n]]);
        let whole = one.coefficients[which];
        let tolerance = 1e-12 * one.condition * one.coefficients.amax();
        prop_assert!((two.coefficients[which] - whole / 2.0).abs() <= tolerance);
        prop_assert!((two.coefficients[n] * factor - whole / 2.0).abs() <= tolerance);
    }

    #[test]
    fn rank_is_that_of_the_factors(
        left in prop::collection::vec(-8i32..=8, 30), right in prop::collection::vec(-8i32..=8, 10), b in prop::collection::vec(-1.0f64..1.0, 15),
    ) {
        // Small integers multiply exactly: a 15 x 5 matrix of rank at most 2.
        let left = DMatrix::from_iterator(15, 2, left.into_iter().map(f64::from));
        let right = DMatrix::from_iterator(2, 5, right.into_iter().map(f64::from));
        let (a, b) = (left * right, DVector::from_vec(b));
        let s = solve(&a, &b).unwrap();
        prop_assert!(s.rank <= 2);
        prop_assert!(s.ratio < MAX_RATIO && (s.rank == 0 || plain_ratio(&a, &s.coefficients, &b) < MAX_RATIO));
    }

    #[test]
    fn consistent_systems_are_solved_to_the_last_digits(
        (a, _) in matrix(9..=40), x in prop::collection::vec(-1000i32..1000, 8),
    ) {
        // Entries of 20 bits and integer coefficients: b is exact, so the result must be nearly
        // exact.
        let a = a.map(|v| (v * 1_048_576.0).round());
        let x = DVector::from_iterator(a.ncols(), x.into_iter().take(a.ncols()).map(f64::from));
        let s = solve(&a, &(&a * &x)).unwrap();
        prop_assume!(s.condition < 1e10);
        prop_assert!((&s.coefficients - &x).amax() <= 1e-13 * x.amax());
    }

    #[test]
    fn order_of_rows_and_columns_does_not_matter((a, b) in matrix(9..=30), seed in any::<u64>()) {
        let shuffle = |n: usize| {
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by_key(|&i| (i as u64 + 1).wrapping_mul(seed | 1).rotate_left(17));
            order
        };
        let (rows, columns) = (shuffle(a.nrows()), shuffle(a.ncols()));
        let mixed = DMatrix::from_fn(a.nrows(), a.ncols(), |i, j| a[(rows[i], columns[j])]);
        let b_mixed = DVector::from_fn(b.len(), |i, _| b[rows[i]]);
        let (one, two) = (solve(&a, &b).unwrap(), solve(&mixed, &b_mixed).unwrap());
        let (p, q) = (&a * &one.coefficients, &mixed * &two.coefficients);
        for i in 0..rows.len() {
            prop_assert!((p[rows[i]] - q[i]).abs() <= 1e-12 * one.condition.min(1e3));
        }
    }
}

#[test]
fn a_column_of_zeros_is_dependent_on_its_own() {
    let a = DMatrix::from_row_slice(3, 2, &[1.0, 0.0, 2.0, 0.0, 3.0, 0.0]);
    let s = solve(&a, &DVector::from_vec(vec![2.0, 4.0, 6.0])).unwrap();
    assert_eq!((s.rank, s.coefficients[0], s.coefficients[1]), (1, 2.0, 0.0));
    assert_eq!(s.dependent, [vec![1]]);
    assert_eq!(s.residual.amax(), 0.0);
}

#[test]
fn extreme_magnitudes_neither_overflow_nor_vanish() {
    let a = DMatrix::from_row_slice(3, 2, &[1e-300, 1e300, 2e-300, 3e300, 3e-300, 9e300]);
    let b = DVector::from_vec(vec![2.0, 5.0, 12.0]);
    let s = solve(&a, &b);
    assert!(matches!(s, Err(SolveError::Overflow)), "a variance of 1e600 does not fit: {s:?}");
    let a = a.map(|v| if v < 1.0 { v * 1e160 } else { v });
    let s = solve(&a, &b).unwrap();
    assert!((a * s.coefficients - DVector::from_vec(vec![2.0, 5.0, 12.0])).amax() < 1e-9);
    let a = DMatrix::from_element(2, 1, f64::NAN);
    assert_eq!(solve(&a, &DVector::zeros(2)).unwrap_err(), SolveError::NotFinite);
}

#[test]
fn powers_shift_exactly() {
    assert_eq!(shift(3.0, 2046 - 1023), 3.0 * 2f64.powi(1023));
    assert_eq!(shift(shift(0.7, -900), 900), 0.7);
    assert_eq!((exponent(1.5), exponent(0.25), exponent(f64::MIN_POSITIVE / 8.0)), (0, -2, -1025));
}

#[test]
fn ill_conditioned_is_not_dependent() {
    // Powers up to the tenth between -9 and -3, as in NIST's set Filip: independent, though barely.
    let a = DMatrix::from_fn(82, 11, |i, j| (-9.0 + 6.0 * i as f64 / 81.0).powi(j as i32));
    let x = DVector::from_fn(11, |j, _| 1.0 + j as f64);
    let s = solve(&a, &(&a * x)).unwrap();
    assert_eq!(s.rank, 11, "condition {:e}", s.condition);
    assert!(s.condition > 1e8);
}

#[test]
fn exactly_dependent_after_rounding_is_dependent() {
    // A constant, its multiple by log2(3), and both times a length, under weights: rank 2 with any
    // rounding.
    for seed in 1..200u32 {
        let weight = |i: usize| 1.0 / f64::from(seed * 31 + (i * i) as u32 * 7 + 1);
        let length = |i: usize| f64::from(seed) * 1.37f64.powi(i as i32);
        let row = |i: usize| [1.0, 3f64.log2(), length(i), length(i) * 3f64.log2()].map(|v| v * weight(i));
        let a = DMatrix::from_fn(12, 4, |i, j| row(i)[j]);
        let s = solve(&a, &DVector::from_element(12, 1.0)).unwrap();
        assert_eq!((s.rank, s.dependent), (2, vec![vec![0, 1], vec![2, 3]]), "seed {seed}");
    }
}
