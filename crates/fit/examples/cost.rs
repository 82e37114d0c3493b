//! tmp
use nalgebra::*;
use std::time::Instant;
fn main() {
    for (m, n, poly) in
        [(1000usize, 10usize, false), (1000, 10, true), (40, 5, true), (300, 9, false), (1000000, 10, false)]
    {
        let a = DMatrix::from_fn(m, n, |i, j| {
            if poly {
                ((i + 1) as f64 / m as f64).powi(j as i32)
            } else {
                (((i * 7919 + j * 104729 + i * j * 31) % 10007) as f64) / 10007.0 + 0.01
            }
        });
        let b = DVector::from_fn(m, |i, _| ((i * 31) % 17) as f64 + 1.0);
        let reps = if m > 10000 { 1 } else { 200 };
        let mut tq = f64::MAX;
        let mut ts = f64::MAX;
        for _ in 0..reps {
            let t = Instant::now();
            let qr = a.clone().qr();
            let x = qr.r();
            std::hint::black_box(x);
            tq = tq.min(t.elapsed().as_secs_f64());
            let t = Instant::now();
            let s = strata_fit::solve::solve(&a, &b).unwrap();
            ts = ts.min(t.elapsed().as_secs_f64());
            std::hint::black_box(s.condition);
        }
        let s = strata_fit::solve::solve(&a, &b).unwrap();
        println!(
            "{m}x{n} qr {:.1} us solve {:.1} us ratio {:.2} cond {:.1e}",
            tq * 1e6,
            ts * 1e6,
            ts / tq,
            s.condition
        );
    }
}
