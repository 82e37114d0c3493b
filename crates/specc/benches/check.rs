//! Checking a spec of a thousand models; the limit is half a second.
//!
//!     cargo bench -p specc --bench check

use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use specc::lang;

/// A thousand models of both spellings, every tenth factored over earlier ones.
fn thousand() -> String {
    let mut text = String::from("//! A thousand models.\nuse strata_runtime::prelude::*;\n");
    for n in 0..1000 {
        let written = match n % 10 {
            9 => write!(text, "\nmodel Sum{n}(length) = Model{}(length) + 2*Model{}(length)\n", n - 1, n - 9),
            8 => write!(text, "\nmodel Model{n}(length) = Model{}(length)/P\n", n - 1),
            7 => write!(text, "\n{{{{ x 1 10000 <<=1 @ @ Model{n}(data, x) @ @ length:x @ }}}}\n"),
            _ => write!(
                text,
                "\n/// Adds vectors.\nmodel Model{n}(length) {{\n    for i in 1..=4096 step *2\n    let length = i\n    \
                 require length >= 1\n    setup {{ let mut v = vec![{n}i64; length]; node.barrier(); }}\n    \
                 task {{ node.scan_add(&mut v[..]) }}\n    terms length, logP, length*logP, max(0, length - {n})\n}}\n"
            ),
        };
        written.expect("writing to a string cannot fail");
    }
    text
}

fn check(criterion: &mut Criterion) {
    let text = thousand();
    let files = [("thousand.spec", text.as_str())];
    assert_eq!(lang::load_all(&files).map(|spec| spec.models.len()).map_err(|e| e.render(false)), Ok(1000));
    let mut group = criterion.benchmark_group("specc");
    group.sample_size(20);
    group.bench_function("check 1,000 models", |b| b.iter(|| lang::load_all(black_box(&files)).is_ok()));
    group.finish();
}

criterion_group!(benches, check);
criterion_main!(benches);
