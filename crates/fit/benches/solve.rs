//! The cost of an accurate solve beside one plain QR of the same system, and of a whole fit.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use nalgebra::{DMatrix, DVector};
use strata_fit::solve::solve;
use strata_fit::{FitOptions, fit_samples};
use strata_model::Samples;

/// Terms of sizes over a factor of a thousand, with noise; the condition grows with `near`: columns
/// are within 10^-near of each other.
fn system(near: i32) -> (DMatrix<f64>, DVector<f64>) {
    let wobble = |i: usize, j: usize| ((i * 7919 + j * 104_729) % 10007) as f64 / 10007.0 - 0.5;
    let share = 10f64.powi(-near);
    let a = DMatrix::from_fn(1000, 10, |i, j| if j == 0 { 1.0 } else { wobble(i, 0) + share * wobble(i, j) });
    let b = DVector::from_fn(1000, |i, _| a.row(i).sum() + 0.01 * wobble(i, 77));
    (a, b)
}

/// Householder's factorisation and one substitution, as in any textbook.
fn plain(a: &DMatrix<f64>, b: &DVector<f64>) -> Option<DVector<f64>> {
    let qr = a.clone().qr();
    let mut y = b.clone();
    qr.q_tr_mul(&mut y);
    qr.r().solve_upper_triangular(&y.rows(0, a.ncols()))
}

fn solves(c: &mut Criterion) {
    for (name, near) in [("well conditioned", 0), ("condition 1e4", 3), ("condition 1e9", 8)] {
        let (a, b) = system(near);
        let mut group = c.benchmark_group(format!("1000x10, {name}"));
        group.bench_function("plain QR", |bench| bench.iter(|| plain(black_box(&a), black_box(&b))));
        group.bench_function("solve", |bench| bench.iter(|| solve(black_box(&a), black_box(&b))));
        group.finish();
    }
}

/// Three named terms, two of them true, and a hundred samples.
fn fits(c: &mut Criterion) {
    let mut text = String::from("M n n*log2(n) sqrt(n)\n");
    for i in 0..100usize {
        let n = f64::exp2(4.0 + (i / 5) as f64 * 0.8);
        let noise = 1.0 + 0.05 * (((i * 7919) % 1009) as f64 / 1009.0 - 0.5);
        let seconds = (2e-6 + 3e-9 * n * n.log2()) * noise;
        text += &format!(
            "{}M {seconds:e} {n} {} {}\n",
            if i % 5 == 4 { "@" } else { "" },
            n * n.log2(),
            n.sqrt()
        );
    }
    let Ok(samples) = Samples::parse(&text, "bench") else { return };
    c.bench_function("a fit of 4 terms to 80 samples", |bench| {
        bench.iter(|| fit_samples(black_box(&samples), &FitOptions::default()));
    });
}

fn config() -> Criterion {
    let (warm_up, measurement) = (std::time::Duration::from_millis(300), std::time::Duration::from_secs(1));
    Criterion::default().warm_up_time(warm_up).measurement_time(measurement)
}

criterion_group! { name = benches; config = config(); targets = solves, fits }
criterion_main!(benches);
