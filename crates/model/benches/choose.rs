//! How long a choice takes among four candidates with one parameter of sixteen values each: at most
//! 1 µs with models that are compiled in. The same from a model set, for comparison.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use strata_model::LibraryModels;
use strata_model::set::{Input, Library, LibraryCandidate, Model, ModelSet, ParameterRange, Step, Term};
use strata_select::{Candidate, Parameter, Source as _, choose};

const BITS: &[Parameter] = &[Parameter::new("bits", 1, 16)];
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// What emitted Rust looks like: ranges, then the sum.
fn radix(nodes: usize, inputs: &[f64], parameters: &[i64], scale: f64) -> Option<f64> {
    let (&[keys, width], &[bits]) = (inputs, parameters) else { return None };
    let bits = bits as f64;
    if nodes != 4
        || !(1.0..=1e6).contains(&keys)
        || !(8.0..=64.0).contains(&width)
        || !(1.0..=16.0).contains(&bits)
    {
        return None;
    }
    let seconds = 4.8e-6 + scale * bits.exp2() + 9.92e-9 * ((width / bits).ceil() * keys) + 77.36e-6 * 2.0;
    (seconds.is_finite() && seconds >= 0.0).then_some(seconds)
}

struct CompiledIn(usize);

impl Candidate<[f64; 2], ()> for CompiledIn {
    fn name(&self) -> &'static str {
        NAMES[self.0]
    }
    fn parameters(&self) -> &'static [Parameter] {
        BITS
    }
    fn seconds(&self, problem: &[f64; 2], parameters: &[i64]) -> Option<f64> {
        radix(4, problem, parameters, 1e-9 * self.0 as f64)
    }
    fn run(&self, (): (), _: &[i64]) {}
}

struct FromSet<'a>(&'a LibraryModels, usize);

impl Candidate<[f64; 2], ()> for FromSet<'_> {
    fn name(&self) -> &'static str {
        NAMES[self.1]
    }
    fn parameters(&self) -> &'static [Parameter] {
        BITS
    }
    fn seconds(&self, problem: &[f64; 2], parameters: &[i64]) -> Option<f64> {
        self.0.seconds(self.1, 4, problem, parameters)
    }
    fn run(&self, (): (), _: &[i64]) {}
}

fn set() -> ModelSet {
    let input = |name: &str, min, max| Input { name: name.into(), min, max, integer: true };
    let term = |term: &str, coefficient| Term {
        term: term.into(),
        coefficient,
        std_error: 0.0,
        half_width: 0.0,
        relevant: true,
    };
    let models = NAMES.iter().map(|name| Model {
        name: (*name).into(),
        inputs: vec![input("keys", 1.0, 1e6), input("bits", 1.0, 16.0), input("width", 8.0, 64.0)],
        terms: vec![
            term("1", 4.8e-6),
            term("2^bits", 1e-9),
            term("ceil(width/bits)*keys", 9.92e-9),
            term("logP", 77.36e-6),
        ],
        nodes: strata_model::set::Nodes::known(4),
        ..Model::default()
    });
    let candidates = NAMES.iter().map(|name| LibraryCandidate {
        name: (*name).into(),
        model: (*name).into(),
        arguments: vec!["keys".into(), "bits".into(), "width".into()],
        parameters: vec![ParameterRange {
            name: "bits".into(),
            min: 1,
            max: 16,
            step: Step::ONE,
            root: None,
        }],
        requires: vec![],
    });
    let inputs = vec!["keys".into(), "width".into()];
    let library = Library { name: "sort".into(), inputs, candidates: candidates.collect() };
    ModelSet { models: models.collect(), libraries: vec![library], ..ModelSet::default() }
}

fn choices(c: &mut Criterion) {
    let mut group = c.benchmark_group("choose");
    let compiled = [0, 1, 2, 3].map(CompiledIn);
    let candidates = compiled.each_ref().map(|candidate| candidate as &dyn Candidate<[f64; 2], ()>);
    group.bench_function("4x16-compiled-in", |b| {
        b.iter(|| choose("sort", &candidates, black_box(&[4096.0, 32.0]), None));
    });
    let resolved = set().resolve().expect("the set is right");
    let library = resolved.library("sort").expect("the library is there");
    let from_set = [0, 1, 2, 3].map(|index| FromSet(library, index));
    let candidates = from_set.each_ref().map(|candidate| candidate as &dyn Candidate<[f64; 2], ()>);
    group.bench_function("4x16-from-a-set", |b| {
        b.iter(|| choose("sort", &candidates, black_box(&[4096.0, 32.0]), None));
    });
    group.finish();
}

fn config() -> Criterion {
    let (warm_up, measurement) = (std::time::Duration::from_millis(300), std::time::Duration::from_secs(1));
    Criterion::default().warm_up_time(warm_up).measurement_time(measurement)
}

criterion_group! { name = benches; config = config(); targets = choices }
criterion_main!(benches);
