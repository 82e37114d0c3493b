//! Runs compared by samples and models that are made up, so that what must come out is known.
//! Nothing is measured here.

use std::fmt::Write as _;

use crate::made_up::{head, library, model};
use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use specc::compare::{self, ModelChange, Run, Verdict};
use strata_model::{Samples, normal};

const PLATFORM: &str =
    "platform threads nodes=1 cores=2 cpu=\"made up\" cache=\"L1d:32K\" os=linux arch=x86_64\n";

/// Lengths and widths that are measured.
fn inputs() -> impl Iterator<Item = (f64, f64)> {
    (4..=15).flat_map(|n| [1.0, 2.0, 4.0, 8.0].map(|width| (f64::from(n).exp2(), width)))
}

/// Samples with 3 % noise of a model that takes as much longer as `longer` says.
pub(crate) fn samples(seed: u64, longer: impl Fn(f64, f64) -> f64) -> String {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut text = format!("strata-samples 1\n{PLATFORM}model Scan n width n*width\n");
    for (n, width) in inputs() {
        let noise = 0.03 * normal::draw(random.random(), random.random());
        let seconds = (1e-6 + 1e-9 * n * width) * longer(n, width) * noise.exp();
        writeln!(text, "Scan {seconds:e} {n} {width} {}", n * width).unwrap();
    }
    text
}

fn run(text: &str) -> Run {
    Run { samples: Some(Samples::parse(text, "samples").unwrap()), ..Run::default() }
}

fn compared(before: &str, after: &str) -> ModelChange {
    let mut models = compare::models(&run(before), &run(after)).unwrap();
    assert_eq!((models.changes.len(), models.left_out.len()), (1, 0));
    models.changes.remove(0)
}

pub(crate) fn same(_: f64, _: f64) -> f64 {
    1.0
}

/// 5 % longer in the upper half of the lengths.
fn half(n: f64, _: f64) -> f64 {
    if n >= 1024.0 { 1.05 } else { 1.0 }
}

#[test]
fn what_is_slower_in_half_of_its_range_is_found_there() {
    let (mut found, mut held, mut near) = (0, 0, 0);
    let trials = 100;
    for seed in 0..trials {
        let change = compared(&samples(2 * seed, same), &samples(2 * seed + 1, half));
        let Some([low, high]) = &change.parts else { continue };
        if high.change.verdict == Verdict::Slower && high.input == "n" && low.input == "n" {
            found += 1;
            let interval = high.change.interval.unwrap();
            held += usize::from(interval.0 <= 1.05 && 1.05 <= interval.1);
            near += usize::from((256.0..=4096.0).contains(&high.from.unwrap()));
            assert_eq!(low.to.map(|to| 2.0 * to), high.from);
        }
    }
    assert!(found >= 75, "{found} of {trials}");
    assert!(10 * held >= 9 * found && 10 * near >= 9 * found, "{held} and {near} of {found}");
}

#[test]
fn without_a_change_none_is_told() {
    let trials = 200;
    let told = (0..trials).filter(|seed| {
        compared(&samples(1000 + 2 * seed, same), &samples(1001 + 2 * seed, same)).is_changed()
    });
    let told = told.count();
    assert!(told <= 10, "{told} of {trials}");
}

#[test]
fn intervals_hold_what_is_true() {
    let longer = |_: f64, _: f64| 1.02;
    let trials = 200;
    let held = (0..trials).filter(|seed| {
        let change = compared(&samples(5000 + 2 * seed, same), &samples(5001 + 2 * seed, longer));
        let (low, high) = change.whole.interval.unwrap();
        low <= 1.02 && 1.02 <= high
    });
    let held = held.count();
    assert!(held >= 184, "{held} of {trials}");
}

const N: &str = "{ name = \"n\", min = 16.0, max = 65536.0, integer = true }";

/// `few` below, `many` above; both take as long where 10 n = start + n.
pub(crate) fn set(start: f64, code: &str, samples_sha256: &str) -> String {
    let head = head("threads", 1, 2);
    let (first, platform) = head.split_once('\n').unwrap();
    let models = model("Few", N, &[("1", 0.0), ("n", 10.0)]) + &model("Many", N, &[("1", start), ("n", 1.0)]);
    let library = library("sum", &["n"], &[("few", "Few"), ("many", "Many")]);
    format!("{first}\nsamples_sha256 = \"{samples_sha256}\"\n{code}{platform}{models}{library}")
}

/// Samples of `Few` and `Many` at sizes that are shifted by so much.
pub(crate) fn sums(start: f64, shift: f64) -> String {
    let line = |name: &str, start: f64, each: f64| -> String {
        let value = |n: i32| f64::from(n).exp2() + shift;
        (5..=15).map(|n| format!("{name} {:e} {}\n", (start + each * value(n)) * 1e-9, value(n))).collect()
    };
    let head = format!("strata-samples 1\n{}", PLATFORM.replace("L1d:32K", ""));
    format!("{head}model Few n\n{}model Many n\n{}", line("Few", 0.0, 10.0), line("Many", start, 1.0))
}

/// So many timings of two benchmarks of Go, of which one takes so much longer.
pub(crate) fn repeats(seed: u64, repeats: usize, longer: f64) -> String {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut text = String::new();
    for (model, factor) in [("Parse", 1.0), ("Merge", longer)] {
        for _ in 0..repeats {
            let noise = 0.015 * normal::draw(random.random(), random.random());
            writeln!(text, "Benchmark{model}-8\t1000\t{:.1} ns/op", 1000.0 * factor * noise.exp()).unwrap();
        }
    }
    text
}

/// Eight timings at each of few points, each of which takes so much longer.
pub(crate) fn few(seed: u64, longer: impl Iterator<Item = f64>) -> String {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut text = "way,n,time\n".to_owned();
    for (n, factor) in (1..).zip(longer) {
        for _ in 0..8 {
            let noise = 0.01 * normal::draw(random.random(), random.random());
            writeln!(text, "x,{n},{:e}", 1e-6 * f64::from(n) * factor * noise.exp()).unwrap();
        }
    }
    text
}
