//! Elimination on data whose answer is known.

use super::*;

fn loop_of(mode: Mode) -> Options {
    Options { mode, ..Options::default() }
}

fn fit(f: &DMatrix<f64>, y: &DVector<f64>, options: &Options) -> Result<Regression, Failure> {
    super::fit(Data { terms: f, times: y, variances: None }, options)
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
        // A pure line through the origin: both halves of the constant go, and what is left is as with one.
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

#[test]
fn equal_times_are_a_constant() {
    let f = columns(6, &[&|_| 1.0, &|x| x]);
    let r = fit(&f, &DVector::from_element(6, 0.1), &loop_of(Mode::Relative)).unwrap();
    assert_eq!((r.relevant, r.r2), (vec![true, false], 1.0));
    assert!((r.coefficients[0] - 0.1).abs() < 1e-16);
}
