//! Noise that is not Gaussian: errors against the true cost, and coverage of the intervals.
//!
//! Every shape with five kinds of noise and four designs. A sample is one row; the true cost is
//! judged at random points. The noise is that of shared machines: outliers from other programs, a
//! coarse clock, delays that only add, short times that scatter more, and a machine of two speeds
//! that change in stretches of the order in which points are measured.

use chacha20::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use strata_benches::cost::{grid, normal, whole};
use strata_benches::{columns, head, row};

use super::contenders::{Answer, Question};
use super::error;
use super::shapes::{SHAPES, Shape};

const KINDS: [&str; 6] =
    ["Gaussian 3 %", "outliers", "quantised clock", "skewed 5 %", "short noisier", "two speeds"];
const DESIGNS: [&str; 4] = ["grid", "random", "sparse", "clustered"];
const CONTENDERS: [&str; 5] =
    ["strata, terms named", "strata, own search", "relative WLS", "RLM", "Gaussian process"];
const TESTS: usize = 100;
/// A shared machine's slow speed, and the mean length of its stretches in samples.
const SLOW: f64 = 1.4;
const STRETCH: f64 = 8.0;

/// The state of the machine while it measures.
struct Noise {
    kind: usize,
    rng: ChaCha8Rng,
    /// The least cost of the design, s.
    least: f64,
    slow: bool,
}

impl Noise {
    fn sample(&mut self, cost: f64) -> f64 {
        let e = normal(&mut self.rng);
        let chance: f64 = self.rng.random_range(0.0..1.0);
        let factor = match self.kind {
            0 => 1.0 + 0.03 * e,
            1 if chance < 0.02 => self.rng.random_range(3.0..10.0),
            1 => 1.0 + 0.02 * e,
            2 => {
                let tick = 0.05 * self.least;
                return (cost * (1.0 + 0.01 * e) / tick).round().max(1.0) * tick;
            }
            3 => 1.0 - 0.05 * (1.0 - chance).ln(),
            4 => 1.0 + (0.01 + 0.1 * (self.least / cost).sqrt()) * e,
            _ => {
                if chance < 1.0 / STRETCH {
                    self.slow = self.rng.random_range(0.0..1.0) < 0.35;
                }
                (1.0 + 0.02 * e) * if self.slow { SLOW } else { 1.0 }
            }
        };
        cost * factor.max(0.05)
    }
}

/// The results of one cell: errors, new samples inside the three intervals, null terms kept.
struct Outcome {
    shape: &'static str,
    kind: usize,
    design: usize,
    errors: [f64; 5],
    covered: [[usize; 2]; 2],
    nulls: [usize; 2],
    label: String,
    text: String,
}

pub(crate) fn run(seeds: u64, only: &str) {
    let mut all = Vec::new();
    for (place, shape) in SHAPES.iter().enumerate().filter(|(_, s)| s.name.contains(only)) {
        for kind in 0..KINDS.len() {
            for design in 0..DESIGNS.len() {
                for seed in 1..=seeds {
                    all.push(cell(shape, kind, design, seed * 1000 + place as u64));
                }
            }
        }
        eprintln!("{} done", shape.name);
    }
    print(&all);
}

fn cell(shape: &'static Shape, kind: usize, design: usize, seed: u64) -> Outcome {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream((kind * DESIGNS.len() + design) as u64);
    let truth = shape.cost(&mut rng);
    let cost = |point: &[f64]| truth.at(point);
    let grids: Vec<Vec<f64>> = (shape.inputs.iter())
        .map(|&(_, low, high, step)| {
            (low..=high).step_by(step as usize).map(|e| f64::exp2(f64::from(e))).collect()
        })
        .collect();
    let mut random = |count: usize| -> Vec<Vec<f64>> {
        let value = |grid: &Vec<f64>, rng: &mut ChaCha8Rng| whole(rng, grid[0], grid[grid.len() - 1]);
        (0..count).map(|_| grids.iter().map(|g| value(g, &mut rng)).collect()).collect()
    };
    let terms = shape.terms().len();
    let (points, repeats) = match design {
        0 => {
            let all = grid(grids.clone());
            let repeats = (40 / all.len()).clamp(1, 5);
            (all, repeats)
        }
        1 => (random(64), 1),
        2 => (random(2 * terms + 12), 1),
        _ => (random(16), 4),
    };
    let tests = random(TESTS);
    let least = points.iter().map(|p| cost(p)).fold(f64::INFINITY, f64::min);
    let mut noise = Noise { kind, rng: ChaCha8Rng::seed_from_u64(seed ^ 0x5eed), least, slow: false };
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.shuffle(&mut rng);
    let mut values = vec![Vec::new(); points.len()];
    for place in order {
        // An effect on a point as a whole: the position of its memory, or a program beside it.
        let shift = if design == 3 { 1.0 + 0.02 * normal(&mut rng) } else { 1.0 };
        values[place] = (0..repeats).map(|_| noise.sample(cost(&points[place]) * shift)).collect();
    }
    let question = Question {
        inputs: shape.names(),
        points: &points,
        values: &values,
        tests: &tests,
        terms: shape.terms(),
    };
    let answers = [
        question.strata(true),
        question.strata(false),
        question.least_squares(true),
        question.rlm(),
        question.gaussian_process(),
    ];
    let costs: Vec<f64> = tests.iter().map(|p| cost(p)).collect();
    let mut errors = [0.0; 5];
    for (e, answer) in errors.iter_mut().zip(&answers) {
        *e = error(&costs, &answer.predictions);
    }
    // A new sample like those of the fit, in another period of the machine.
    let measured: Vec<f64> = costs
        .iter()
        .map(|c| {
            let _ = (0..20).map(|_| noise.sample(*c)).last();
            let shift = if design == 3 { 1.0 + 0.02 * normal(&mut rng) } else { 1.0 };
            noise.sample(*c * shift)
        })
        .collect();
    let covered = |answer: &Answer| {
        let given =
            answer.intervals.iter().flatten().zip(&measured).filter_map(|(i, m)| Some((i.as_ref()?, m)));
        given.fold([0, 0], |[a, b], ((low, high), m)| [a + usize::from(low <= m && m <= high), b + 1])
    };
    let truths = shape.truth.iter().filter(|(_, term)| *term != "1").count();
    let kept = answers[0].kept.clone().unwrap_or_default();
    let nulls = kept.iter().skip(truths);
    Outcome {
        shape: shape.name,
        kind,
        design,
        errors,
        covered: [covered(&answers[0]), covered(&answers[1])],
        nulls: [nulls.clone().filter(|k| **k).count(), nulls.len()],
        label: format!("{}, {}, {}, seed {seed}", shape.name, KINDS[kind], DESIGNS[design]),
        text: answers[1].text.clone(),
    }
}

/// Whether a cell belongs to a group.
type Of<'a> = dyn Fn(&Outcome) -> bool + 'a;

/// A line for each kind of noise, for all cells, and for each design.
fn groups(line: &dyn Fn(&str, &Of<'_>)) {
    KINDS.iter().enumerate().for_each(|(kind, name)| line(name, &|o| o.kind == kind));
    line("all", &|_| true);
    DESIGNS.iter().enumerate().for_each(|(design, name)| line(name, &|o| o.design == design));
}

fn print(all: &[Outcome]) {
    let geometric = |errors: Vec<f64>| -> String {
        if errors.is_empty() {
            return "-".into();
        }
        let mean = errors.iter().map(|e| e.ln()).sum::<f64>() / errors.len() as f64;
        format!("{:.2}", 100.0 * mean.exp())
    };
    println!(
        "Noise of other kinds: mean relative error in % against the true cost, geometric mean over {} cells.\n",
        all.len()
    );
    head(&[&["noise"], &CONTENDERS[..]].concat());
    let line = |name: &str, of: &Of<'_>| {
        let mut cells = vec![name.to_owned()];
        cells.extend((0..5).map(|c| geometric(all.iter().filter(|o| of(o)).map(|o| o.errors[c]).collect())));
        row(&cells);
    };
    groups(&line);
    println!("\nNew samples inside the 95 % interval, and null terms kept, %.\n");
    columns("noise | terms named | own search | null terms kept");
    let line = |name: &str, of: &Of<'_>| {
        let share = |pairs: Vec<[usize; 2]>| {
            let [a, b] = pairs.iter().fold([0, 0], |s, p| [s[0] + p[0], s[1] + p[1]]);
            if b == 0 { "-".to_owned() } else { format!("{:.1}", 100.0 * a as f64 / b as f64) }
        };
        let some = || all.iter().filter(|o| of(o));
        let mut cells = vec![name.to_owned()];
        cells.extend((0..2).map(|c| share(some().map(|o| o.covered[c]).collect())));
        cells.push(share(some().map(|o| o.nulls).collect()));
        row(&cells);
    };
    groups(&line);
    let near = |o: &&Outcome| o.errors[1] <= 1.1 * o.errors[4];
    let share = all.iter().filter(near).count() as f64 / all.len() as f64;
    println!(
        "\nOwn search within 1.1x of the Gaussian process in {:.1} % of cells. Cells that are not:",
        100.0 * share
    );
    let missed = |name: &str, of: &Of<'_>| {
        let cells: Vec<&Outcome> = all.iter().filter(|o| of(o)).collect();
        let missed = cells.iter().filter(|o| !near(o)).count();
        if missed > 0 && name != "all" {
            println!("- {name}: {missed} of {}", cells.len());
        }
    };
    let mut shapes: Vec<&str> = all.iter().map(|o| o.shape).collect();
    shapes.dedup();
    shapes.iter().for_each(|name| missed(name, &|o| o.shape == *name));
    groups(&missed);
    println!("\nWorst against it:");
    let mut order: Vec<&Outcome> = all.iter().collect();
    order.sort_by(|a, b| (b.errors[1] / b.errors[4]).total_cmp(&(a.errors[1] / a.errors[4])));
    for o in order.iter().take(12) {
        println!(
            "- {}: {:.2} % against {:.2} %: {}",
            o.label,
            100.0 * o.errors[1],
            100.0 * o.errors[4],
            o.text
        );
    }
    strata_benches::summary(&json!({
        "bench": "fit_arena", "noise": true, "cells": all.len(), "near_gaussian_process": share,
    }));
}
