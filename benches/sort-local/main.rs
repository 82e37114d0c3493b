//! The chosen local sort beside every candidate, in one run, alternating.
//!
//!     cargo bench -p strata-benches --bench sort_local
//!
//! Cells are numbers of keys × what keys are like; none is a point of the calibration. `chosen` is
//! `strata_sort::local::sort` with all it costs; the others are called as their users would. A
//! round sorts as many different arrays as make 32 Ki keys. Regret is the median of the chosen
//! one's time over that of the fastest other; those of always taking the same other stand below.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hint::black_box;
use std::time::Instant;

use clap::Parser;
use rdst::RadixSort as _;
use serde_json::json;
use strata_benches::{Timings, at_least, columns, fastest, machine};
use strata_sort::local::{self, LocalSort};
use strata_sort::profile::local::Cell;
use strata_sort::{Item, Key};
use voracious_radix_sort::RadixSort as _;

const CONTESTANTS: [&str; 7] = ["chosen", "stable", "unstable", "leading", "radsort", "rdst", "voracious"];

const SIZES: [usize; 9] = [20, 60, 180, 600, 2_500, 10_000, 45_000, 200_000, 900_000];

/// What keys are like: a name, and a key made of a random number of so many bits, its place in the
/// array, the array's length, and the bits.
type Shape = (&'static str, fn(u64, usize, usize, u32) -> u64);

const SHAPES: [Shape; 12] = [
    ("random, 6 bits", |x, _, _, _| x % (1 << 6)),
    ("random, 14 bits", |x, _, _, _| x % (1 << 14)),
    ("random, 24 bits", |x, _, _, _| x % (1 << 24)),
    ("random, 31 bits", |x, _, _, _| x % (1 << 31)),
    ("random, 44 bits", |x, _, _, _| x % (1 << 44)),
    ("random, all bits", |x, _, _, _| x),
    ("nearly sorted", |x, at, _, bits| if x % 64 == 0 { x } else { (at as u64) << (bits - 24) }),
    ("reversed but few", |x, at, len, _| if x % 1000 == 0 { 7 } else { ((len - at) as u64) << 8 }),
    ("four sorted runs", |x, at, len, bits| (((at % len.div_ceil(4)) as u64) << (bits - 24)) | (x % 256)),
    ("organ pipe", |_, at, len, _| (at.min(len - at) as u64) << 3),
    ("Zipf", |x, _, _, _| 1_000_000_000 / (1 + x % (1 << 30))),
    ("16 distinct, far apart", |x, _, _, bits| ((x % 16) << (bits - 4)) | 5),
];

#[derive(Parser)]
struct Settings {
    /// Of the keys
    #[arg(long, default_value = "64", value_parser = ["64", "32"])]
    bits: String,
    /// Of the keys that are drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Rounds of timings
    #[arg(long, default_value = "21", value_parser = at_least(1))]
    rounds: usize,
}

strata_benches::main!(|settings: &Settings| {
    match &*settings.bits {
        "64" => run(settings, 64, |x| x),
        _ => run(settings, 32, |x| x as u32),
    }
    Ok::<(), Infallible>(())
});

/// What all contestants take.
trait Number: Item + Key + Ord + std::fmt::Debug {
    fn sort(items: &mut [Self], contestant: usize);
}

macro_rules! number {
    ($($number:ty)*) => {
        $(
            impl Number for $number {
                fn sort(items: &mut [Self], contestant: usize) {
                    match contestant {
                        0 => local::sort(items),
                        1 => items.sort(),
                        2 => items.sort_unstable(),
                        3 => drop(black_box(local::sort_by(items, LocalSort::Leading))),
                        4 => radsort::sort(items),
                        5 => items
                            .radix_sort_builder()
                            .with_single_threaded_tuner()
                            .with_parallel(false)
                            .sort(),
                        _ => items.voracious_sort(),
                    }
                }
            }
        )*
    };
}
number!(u32 u64);

fn run<T: Number>(settings: &Settings, bits: u32, of: fn(u64) -> T) {
    println!("{}, keys of {} bits, seed {}\n", machine(), bits, settings.seed);
    columns("keys | shape | chosen | its time | fastest other | its time | regret");
    let mut regrets: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut right = 0;
    for (place, &keys) in SIZES.iter().enumerate() {
        for (index, (shape, key)) in SHAPES.iter().enumerate() {
            let arrays = (32_768 / keys).max(1);
            let seed = settings.seed * 1000 + (place * SHAPES.len() + index) as u64;
            let random =
                Cell { keys, width: 64, run: 1, distinct: keys, ordered: false }.arrays(arrays, seed);
            let made = random.chunks(keys).flat_map(|array| {
                array.iter().enumerate().map(move |(at, x)| of(key(*x >> (64 - bits), at, keys, bits)))
            });
            let data: Vec<T> = made.collect();
            let timings = race(&data, keys, settings.rounds);
            let best = 1 + fastest(&timings[1..]);
            for (who, timing) in CONTESTANTS.iter().zip(&timings) {
                regrets.entry(who).or_default().push(timing.median() / timings[best].median());
            }
            let chosen = local::choose::<T>(local::Features::of(&data[..keys])).1.name;
            right += usize::from(chosen == CONTESTANTS[best]);
            println!(
                "| {keys} | {} | {chosen} | {} | {} | {} | {:.2} |",
                *shape,
                timings[0],
                CONTESTANTS[best],
                timings[best],
                timings[0].median() / timings[best].median()
            );
        }
    }
    summary(settings.seed, bits, &regrets, right);
}

fn race<T: Number>(data: &[T], keys: usize, rounds: usize) -> Vec<Timings> {
    let mut expected: Option<Vec<T>> = None;
    // The first round fills caches and makes choices.
    let Ok(timings) = strata_benches::race(0..rounds + 1, 1, CONTESTANTS.len(), |_, who| {
        let mut items = data.to_vec();
        let start = Instant::now();
        items.chunks_mut(keys).for_each(|array| T::sort(array, who));
        let seconds = start.elapsed().as_secs_f64();
        let answer = expected.get_or_insert_with(|| items.clone());
        assert!(*answer == items, "{} sorts otherwise", CONTESTANTS[who]);
        Ok::<_, Infallible>(seconds / (data.len() / keys) as f64)
    });
    timings
}

fn summary(seed: u64, bits: u32, regrets: &BTreeMap<&str, Vec<f64>>, right: usize) {
    println!();
    columns("always | mean | worst | cells above 1.3");
    let mut figures = BTreeMap::new();
    for who in CONTESTANTS {
        let all = &regrets[who];
        let mean = (all.iter().map(|regret| regret.ln()).sum::<f64>() / all.len() as f64).exp();
        let worst = all.iter().copied().fold(0.0, f64::max);
        let above = all.iter().filter(|regret| **regret > 1.3).count();
        println!("| {who} | {mean:.3} | {worst:.2} | {above} |");
        figures.insert(who, json!({ "mean": mean, "worst": worst, "above": above }));
    }
    let cells = regrets["chosen"].len();
    strata_benches::summary(&json!({
        "bench": "sort_local", "bits": bits, "seed": seed, "cells": cells,
        "mean": figures["chosen"]["mean"], "worst": figures["chosen"]["worst"],
        "right": right as f64 / cells as f64, "always": figures,
    }));
}
