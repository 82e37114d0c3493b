//! Elimination on data whose answer is known.

use super::*;

fn loop_of(mode: Mode) -> FitOptions {
    FitOptions { mode, elimination: Elimination::Confidence, ..FitOptions::default() }
}

fn fit(f: &DMatrix<f64>, y: &DVector<f64>, options: &FitOptions) -> Result<Regression, Failure> {
    fit_points(f, y, 1, options)
}

/// With so many samples of each point, one after another.
fn fit_points(
    f: &DMatrix<f64>,
    y: &DVector<f64>,
    repeats: usize,
    options: &FitOptions,
) -> Result<Regression, Failure> {
    let points: Vec<usize> = (0..y.len()).map(|i| i / repeats).collect();
    let (places, noise) = (vec![1; f.ncols()], vec![f64::INFINITY; y.len()]);
    let (candidates, points, places, noise) = (f.ncols(), &points[..], &places[..], &noise[..]);
    let variables = DMatrix::zeros(0, y.len());
    super::fit(
        Data {
            terms: f,
            times: y,
            variances: None,
            candidates,
            points,
            places,
            noise,
            mixed: false,
            variables: &variables,
            last_place: 0.0,
            huber: false,
        },
        options,
    )
}

/// statsmodels 0.15.0, `RLM(y, X, M).fit(tol=1e-15, maxiter=2000, conv='coefs')` with Huber's norm.
#[test]
fn hubers_weights_agree_with_statsmodels() {
    let f = columns(20, &[&|_| 1.0, &|x| x]);
    let far = |i: usize| [(4, 6.0), (13, -4.0), (18, 9.0)].iter().find(|o| o.0 == i).map_or(0.0, |o| o.1);
    let y = DVector::from_fn(20, |i, _| {
        let x = i as f64 + 1.0;
        3.0 + 0.5 * x + 0.1 * (7.0 * x).sin() + far(i)
    });
    let points: Vec<usize> = (0..20).collect();
    let (points, places, noise) = (&points[..], &[1; 2][..], &[f64::INFINITY; 20][..]);
    let variables = DMatrix::zeros(0, 20);
    let data = |y| Data {
        terms: &f,
        times: y,
        variances: None,
        candidates: 2,
        points,
        places,
        noise,
        mixed: false,
        variables: &variables,
        last_place: 0.0,
        huber: true,
    };
    let options =
        FitOptions { mode: Mode::Absolute, keep_all: true, robust: Robust::None, ..FitOptions::default() };
    let found = super::fit(data(&y), &options).unwrap();
    let wanted = [
        (3.043_164_034_110_931_5, 0.050_067_274_214_314_92),
        (0.497_826_365_337_637_47, 0.004_179_535_298_553_714),
    ];
    for (j, (coefficient, error)) in wanted.into_iter().enumerate() {
        assert!((found.coefficients[j] / coefficient - 1.0).abs() < 1e-9, "{found:?}");
        assert!((found.std_errors[j] / error - 1.0).abs() < 1e-8, "{found:?}");
    }
    let exact = DVector::from_fn(20, |i, _| if i == 7 { 1e3 } else { 2.0 + 3.0 * (i as f64 + 1.0) });
    let found = super::fit(data(&exact), &options).unwrap();
    assert!((found.coefficients[0] - 2.0).abs() < 1e-8 && (found.coefficients[1] - 3.0).abs() < 1e-9);
}

fn columns(rows: usize, columns: &[&dyn Fn(f64) -> f64]) -> DMatrix<f64> {
    DMatrix::from_fn(rows, columns.len(), |i, j| columns[j](i as f64 + 1.0))
}

#[test]
fn terms_that_explain_nothing_of_an_exact_line_are_dropped() {
    let f = columns(12, &[&|_| 1.0, &|x| x, &|x| x * x, &f64::sqrt, &f64::ln]);
    for mode in [Mode::Absolute, Mode::Relative] {
        for slope in [0.1, 1.0 / 3.0, 7e-9] {
            let y = DVector::from_fn(12, |i, _| 3.0 * slope + slope * (i as f64 + 1.0));
            let r = fit(&f, &y, &loop_of(mode)).unwrap();
            assert_eq!(r.relevant, [true, true, false, false, false], "{r:?}");
            assert!((r.coefficients[1] / slope - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn dependent_terms_go_last_named_first_whatever_the_noise() {
    for seed in 0..50u32 {
        let noise = |i: usize| f64::from((seed * 7919 + i as u32 * 104_729) % 997) / 997.0 - 0.5;
        let f = columns(16, &[&|_| 1.0, &|_| 3f64.log2(), &|x| x, &|x| x * 3f64.log2()]);
        let y = DVector::from_fn(16, |i, _| 10.0 + (i as f64) + 1e-3 * noise(i));
        let r = fit(&f, &y, &loop_of(Mode::Absolute)).unwrap();
        assert_eq!((r.rank, r.dependent.clone()), (2, vec![vec![0, 1], vec![2, 3]]));
        assert!((r.coefficients[0] - r.coefficients[1] * 3f64.log2()).abs() < 1e-9);
        // A pure line through the origin: both halves of the constant are dropped, and the rest is
        // as with one.
        let y = DVector::from_fn(16, |i, _| (i as f64 + 1.0) * (1.0 + 1e-3 * noise(i)));
        let (two, one) = (fit(&f, &y, &loop_of(Mode::Absolute)).unwrap(), {
            let f = f.select_columns(&[0, 2]);
            fit(&f, &y, &loop_of(Mode::Absolute)).unwrap()
        });
        assert_eq!(two.relevant[0], two.relevant[1]);
        assert_eq!(two.relevant[0], one.relevant[0]);
        assert!((two.r2 - one.r2).abs() < 1e-12);
    }
}

#[test]
fn too_few_samples_say_how_many_are_needed() {
    let f = columns(2, &[&|_| 1.0, &|x| x, &|x| x * x]);
    let y = DVector::from_vec(vec![1.0, 2.0]);
    assert_eq!(fit(&f, &y, &loop_of(Mode::Absolute)).unwrap_err(), Failure::TooFew { needed: 4 });
    let f = columns(2, &[&|_| 1.0, &|x| x]);
    assert_eq!(fit(&f, &y, &loop_of(Mode::Absolute)).unwrap_err(), Failure::TooFew { needed: 3 });
}

#[test]
fn nothing_relevant_leaves_a_model_of_zero() {
    let f = columns(4, &[&|x| x]);
    let y = DVector::from_vec(vec![1.0, -1.0, 1.0, -1.0]);
    let r = fit(&f, &y, &loop_of(Mode::Absolute)).unwrap();
    assert_eq!((r.coefficients, r.rank), (vec![0.0], 0));
    assert_eq!(r.noise_variance, 1.0);
}

/// Five points, each measured six times with the same result: hardly more points than terms, but
/// the cost is not zero.
#[test]
fn positive_times_have_a_cost_however_few_their_points() {
    let group = |x: f64| ((x - 1.0) / 6.0).floor();
    let f = columns(30, &[&|_| 1.0, &|x| group(x).exp2(), &group]);
    let y = DVector::from_fn(30, |i, _| [17.2, 26.9, 52.1, 109.0, 216.0][i / 6]);
    let options = FitOptions { elimination: Elimination::BestSubset, ..loop_of(Mode::Relative) };
    let r = fit_points(&f, &y, 6, &options).unwrap();
    assert!(r.rank > 0 && r.r2 > 0.8, "{r:?}");
}

/// Six points, each measured five times with the same result, which two of the terms give exactly.
#[test]
fn repeated_times_without_noise_keep_the_terms_that_make_them() {
    let nodes = |x: f64| ((x - 1.0) / 5.0).floor().exp2() * 2.0;
    let log = |x: f64| nodes(x).log2();
    let f = columns(30, &[&|_| 1.0, &log, &nodes, &|x| nodes(x) * log(x)]);
    for elimination in [Elimination::BestSubset, Elimination::Aicc] {
        for (constant, slope) in [(3.1, 0.7), (0.02, 5.0), (1e-6, 3e-7), (4e3, 1.0)] {
            let y = DVector::from_fn(30, |i, _| constant + slope * log(i as f64 + 1.0));
            let r = fit_points(&f, &y, 5, &FitOptions { elimination, ..FitOptions::default() }).unwrap();
            assert_eq!(r.relevant, [true, true, false, false], "{elimination:?} {constant} {slope}: {r:?}");
            assert!((r.coefficients[0] / constant - 1.0).abs() < 1e-9, "{r:?}");
        }
    }
}

#[test]
fn equal_times_are_a_constant() {
    let f = columns(6, &[&|_| 1.0, &|x| x]);
    let r = fit(&f, &DVector::from_element(6, 0.1), &loop_of(Mode::Relative)).unwrap();
    assert_eq!((r.relevant, r.r2), (vec![true, false], 1.0));
    assert!((r.coefficients[0] - 0.1).abs() < 1e-16);
}

/// A noise of standard deviation one, about normal.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        let uniform = |state: &mut u64| {
            *state ^= *state << 13;
            *state ^= *state >> 7;
            *state ^= *state << 17;
            (*state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..12).map(|_| uniform(&mut state)).sum::<f64>() - 6.0
    }
}

/// Similar terms, of which two are true: how many of the others stay, and how many of the two are
/// dropped, in 100 fits.
fn mistakes(elimination: Elimination) -> (usize, usize) {
    let terms: [&dyn Fn(f64) -> f64; 9] = [
        &|_| 1.0,
        &|x| x,
        &f64::ln,
        &|x| x.ln().powi(2),
        &f64::sqrt,
        &|x| x.sqrt() * x.ln(),
        &|x| x * x.ln(),
        &|x| x.powf(1.5),
        &|x| x * x,
    ];
    let (mut kept, mut dropped) = (0, 0);
    for seed in 1..=100 {
        let mut noise = noise(seed);
        let x = |i: usize| f64::exp2(4.0 + (i / 3) as f64);
        let f = DMatrix::from_fn(51, 9, |i, j| terms[j](x(i)));
        let y = DVector::from_fn(51, |i, _| (1000.0 + x(i)) * (1.0 + 0.05 * noise()));
        let r = fit(&f, &y, &FitOptions { elimination, ..FitOptions::default() }).unwrap();
        kept += r.relevant[2..].iter().filter(|r| **r).count();
        dropped += r.relevant[..2].iter().filter(|r| !**r).count();
    }
    (kept, dropped)
}

#[test]
fn the_best_set_has_few_terms_that_are_not_true() {
    let (kept, dropped) = mistakes(Elimination::BestSubset);
    assert!(kept < 700 / 20 && dropped < 200 / 20, "{kept} kept, {dropped} dropped");
    let (one_by_one, _) = mistakes(Elimination::Confidence);
    assert!(one_by_one > 2 * kept, "{one_by_one} against {kept}");
}

#[test]
fn of_sets_that_say_the_same_the_surest_stays() {
    // 1 = below + above: of the three pairs the one with each height itself, not one and a
    // difference.
    let f = columns(24, &[&|_| 1.0, &|x| f64::from(x <= 12.0), &|x| f64::from(x > 12.0)]);
    for seed in 1..20 {
        let mut noise = noise(seed);
        let y = DVector::from_fn(24, |i, _| if i < 12 { 8.0 } else { 3.0 } * (1.0 + 0.03 * noise()));
        let r = fit(&f, &y, &FitOptions::default()).unwrap();
        assert_eq!(r.relevant, [false, true, true], "seed {seed}: {:?}", r.coefficients);
    }
}

#[test]
fn more_terms_than_sets_can_be_tried_for_are_thinned_out() {
    let mut noise = noise(5);
    let wild: Vec<f64> = (0..60 * 18).map(|_| noise()).collect();
    let f = DMatrix::from_fn(60, 20, |i, j| match j {
        0 => 1.0,
        1 => i as f64 + 1.0,
        _ => wild[i * 18 + j - 2],
    });
    let y = DVector::from_fn(60, |i, _| (5.0 + i as f64) * (1.0 + 0.02 * noise()));
    let r = fit(&f, &y, &FitOptions::default()).unwrap();
    assert!(r.relevant[0] && r.relevant[1]);
    assert!(r.relevant[2..].iter().filter(|r| **r).count() <= 2, "{:?}", r.relevant);
}

#[test]
fn more_true_terms_than_sets_can_be_tried_for_all_stay() {
    for (seed, clean) in [(3, 16), (4, 20), (5, 13)] {
        let mut noise = noise(seed);
        let wild: Vec<f64> = (0..400 * 24).map(|_| noise().abs()).collect();
        let f = DMatrix::from_fn(400, 24, |i, j| 1.0 + wild[i * 24 + j]);
        let y = DVector::from_fn(400, |i, _| {
            (0..clean).map(|j| (1.0 + j as f64 / 8.0) * f[(i, j)]).sum::<f64>() * (1.0 + 0.01 * noise())
        });
        let r = fit(&f, &y, &FitOptions::default()).unwrap();
        assert_eq!(r.relevant, (0..24).map(|j| j < clean).collect::<Vec<_>>(), "seed {seed}");
    }
}

/// How often one of many irrelevant terms stays, and a true one is dropped, in 100 fits of 16
/// points with four samples each that share their point's error; and how many intervals of the true
/// term's coefficient hold the truth.
fn clustered(nulls: usize) -> (usize, usize, usize) {
    let (mut kept, mut dropped, mut covered) = (0, 0, 0);
    for seed in 1..=100 {
        let mut noise = noise(seed);
        let of_point: Vec<f64> = (0..16).map(|_| noise()).collect();
        let wild: Vec<f64> = (0..16 * nulls).map(|_| noise()).collect();
        let f = DMatrix::from_fn(64, 2 + nulls, |i, j| match j {
            0 => 1.0,
            1 => (i / 4) as f64 + 1.0,
            _ => 3.0 + wild[i / 4 * nulls + j - 2],
        });
        let y = DVector::from_fn(64, |i, _| {
            (4.0 + (i / 4) as f64 + 1.0) * (1.0 + 0.05 * of_point[i / 4] + 0.02 * noise())
        });
        let r = fit_points(&f, &y, 4, &FitOptions::default()).unwrap();
        kept += usize::from(r.relevant[2..].iter().any(|r| *r));
        dropped += usize::from(!r.relevant[1]);
        covered += usize::from((r.coefficients[1] - 1.0).abs() <= r.t_quantile * r.covariance[1][1].sqrt());
    }
    (kept, dropped, covered)
}

#[test]
fn samples_of_one_point_are_not_counted_as_independent() {
    let (kept, dropped, covered) = clustered(5);
    assert!(kept <= 8 && dropped == 0 && covered >= 90, "{kept} kept, {dropped} dropped, {covered} covered");
}

#[test]
fn of_many_terms_seldom_any_stays_by_chance() {
    // Forty irrelevant terms: any stays in one fit of ten (9 of 100 other seeds). One fit in five
    // is beyond chance.
    let (mut any, mut lost) = (0, 0);
    for seed in 1..=20 {
        let mut noise = noise(seed);
        let wild: Vec<f64> = (0..120 * 40).map(|_| noise()).collect();
        let f = DMatrix::from_fn(120, 42, |i, j| match j {
            0 => 1.0,
            1 => i as f64 + 1.0,
            _ => 3.0 + wild[i * 40 + j - 2],
        });
        let y = DVector::from_fn(120, |i, _| (20.0 + i as f64) * (1.0 + 0.05 * noise()));
        let r = fit(&f, &y, &FitOptions { robust: Robust::None, ..FitOptions::default() }).unwrap();
        any += usize::from(r.relevant[2..].iter().any(|r| *r));
        lost += r.relevant[..2].iter().filter(|r| !**r).count();
    }
    assert!(any <= 4 && lost == 0, "{any} of 20 kept one, {lost} lost");
}
