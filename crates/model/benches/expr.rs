//! The time to evaluate a model of ten terms: at most 20 ns, so that selection costs little.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use strata_model::{Program, expr};

/// Ten terms of the shapes that fits produce.
const TEN_TERMS: &str = "1.2e-6+3.4e-9*length+5.6e-7*logP+7.8e-9*(length*logP)+9.1e-9*width+2.3e-10*(length*width)\
    +4.5e-9*(width*logP)+6.7e-10*(length*width*logP)+8.9e-9*max(0,length-32768)+1.1e-9*(P*width)";

/// Fig 5-4: a ceiling and a power of two.
const RADIX: &str = "4.8e-6+11.41e-6*2^bits+9.92e-6*(ceil(width/bits)*length)+77.36e-6*logP";

fn compiled(c: &mut Criterion) {
    let mut group = c.benchmark_group("expr");
    let names = ["length", "width", "bits", "P", "logP"];
    let values = [4096.0, 32.0, 11.0, 4.0, 2.0];
    for (name, text) in [("ten-terms", TEN_TERMS), ("radix", RADIX)] {
        let program = Program::compile(&expr::parse(text).expect("the text is right"), &names)
            .expect("the names are known");
        group.bench_function(name, |b| b.iter(|| program.eval(black_box(&values))));
    }
    group.finish();
}

fn config() -> Criterion {
    let (warm_up, measurement) = (std::time::Duration::from_millis(300), std::time::Duration::from_secs(1));
    Criterion::default().warm_up_time(warm_up).measurement_time(measurement)
}

criterion_group! { name = benches; config = config(); targets = compiled }
criterion_main!(benches);
