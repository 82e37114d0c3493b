//! The time that emitted Rust takes to predict: at most 20 ns, so that selection costs little.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};

#[allow(dead_code, missing_docs, unreachable_pub, reason = "models of a library that is not linked here")]
#[path = "../../sort/src/models.rs"]
mod sort;

#[allow(dead_code, missing_docs, unreachable_pub, reason = "models of a library that is not linked here")]
#[path = "../../copy/src/models.rs"]
mod copy;

fn predictions(c: &mut Criterion) {
    let mut group = c.benchmark_group("emitted");
    // Nine terms with a power, a ceiling and minima; then six with a logarithm; then with
    // intervals.
    group.bench_function("radix, 9 terms", |b| {
        b.iter(|| sort::threads_4::RADIX_MODEL.seconds(4, black_box(&[4096.0, 11.0, 32.0])));
    });
    group.bench_function("gather, 6 terms", |b| {
        b.iter(|| sort::threads_4::GATHER_MODEL.seconds(4, black_box(&[4096.0, 32.0])));
    });
    group.bench_function("radix with its interval", |b| {
        b.iter(|| sort::threads_4::RADIX_MODEL.predict(4, black_box(&[4096.0, 11.0, 32.0])));
    });
    // Nineteen comparisons and minima.
    group.bench_function("copy, 19 cheap terms", |b| {
        b.iter(|| copy::threads_1::AVX_FORWARD_HOT_READ_MODEL.seconds(1, black_box(&[1e6, 8.0])));
    });
    group.bench_function("copy with its interval", |b| {
        b.iter(|| copy::threads_1::AVX_FORWARD_HOT_READ_MODEL.predict(1, black_box(&[1e6, 8.0])));
    });
    group.finish();
}

fn config() -> Criterion {
    let (warm_up, measurement) = (std::time::Duration::from_millis(300), std::time::Duration::from_secs(1));
    Criterion::default().warm_up_time(warm_up).measurement_time(measurement)
}

criterion_group! { name = benches; config = config(); targets = predictions }
criterion_main!(benches);
