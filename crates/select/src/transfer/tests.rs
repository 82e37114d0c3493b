//! Calibrations of made-up machines.

use std::format;
use std::string::ToString as _;
use std::vec::Vec;

use super::*;
use crate::{
    Question, Row, Source,
    table::{Domain, Entry, Fitted, Model, Variance, Verdict, fill, require, within},
};

const fn model(terms: crate::table::Compute, coefficients: &'static [f64]) -> Model {
    let (noise, own) = (Variance::Relative(0.0025), Variance::Relative(0.0004));
    Model::Fitted(Fitted { terms, coefficients, quantile: 1.96, noise, own, factor: &[] })
}
/// Quick to start, then slow; the other way round; and one that is bound by memory.
static FEW: Model = model(
    |_, x, to| {
        require(within(x[0], 16.0, 1e6))?;
        fill(to, &[1.0, x[0] * x[0].log2()])
    },
    &[1e-7, 4e-9],
);
static MANY: Model = model(
    |_, x, to| {
        require(within(x[0], 16.0, 1e6))?;
        fill(to, &[1.0, x[0], (x[0] - 65536.0).max(0.0)])
    },
    &[4e-6, 1.5e-8, 2e-8],
);
static BLOCKS: Model = model(
    |_, x, to| {
        require(within(x[0], 16.0, 1e6) && within(x[1], 1.0, 64.0))?;
        fill(to, &[1.0, x[0], x[0] / x[1], x[1]])
    },
    &[1e-6, 2e-8, 8e-8, 1e-7],
);
static TABLE: Table = Table {
    library: "travelling",
    spec: "travelling.spec",
    platform: "threads nodes=1 cores=2 cpu=\"Abacus\" cache=\"\" os=linux arch=x86_64",
    digest: "1234",
    inputs: &["n"],
    domain: Domain { nodes: (1, 1), inputs: &[(16.0, 1e6)] },
    entries: &[
        Entry::new("few", Verdict::Verified, 1.0, &FEW),
        Entry::new("many", Verdict::Verified, 1.0, &MANY),
        Entry::new("blocks", Verdict::Verified, 1.0, &BLOCKS)
            .with(&[crate::table::Parameter::new("b", 1, 64).times(2)]),
    ],
};

/// Numbers from 0 to 1.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// The time on a machine whose coefficients are others.
fn truth(scales: &[Vec<f64>], candidate: usize, inputs: &[f64], parameters: &[i64]) -> f64 {
    let mut to = [0.0; 64];
    let model = TABLE.entries[candidate].model;
    let (count, _) = crate::model::joined(inputs, parameters, |x| model.parts(1, x, &mut to)).unwrap();
    to[..count].iter().zip(&scales[candidate]).map(|(part, scale)| part * scale).sum()
}

/// The mean and the greatest share by which choices are slower than the fastest.
fn regret(source: &dyn Source, scales: &[Vec<f64>]) -> (f64, f64) {
    let (mut sum, mut worst) = (0.0, 0.0_f64);
    let all = 100;
    for i in 0..all {
        let n = [16.0 * (1e6_f64 / 16.0).powf((f64::from(i) + 0.5) / f64::from(all))];
        let rows: Vec<Row> = TABLE.entries.iter().map(|e| Row::new(e.name, e.parameters)).collect();
        let choice = crate::choose_among(("any", ""), rows, source, Question::new(1, &n), &|_| true).unwrap();
        let best = (0..3)
            .flat_map(|c| (0..7).map(move |b| (c, 1_i64 << b)))
            .map(|(c, b)| truth(scales, c, &n, [&[][..], &[b]][usize::from(c == 2)]))
            .fold(f64::INFINITY, f64::min);
        let lost = truth(scales, choice.index, &n, &choice.parameters) / best - 1.0;
        sum += lost;
        worst = worst.max(lost);
    }
    (sum / f64::from(all), worst)
}

/// A calibration whose time has run out.
fn timed_out(scales: &[Vec<f64>], budget: f64, noise: f64, random: &mut Random) -> Calibration {
    let mut calibration = Calibration::new(&TABLE, 1, Vec::new());
    let mut left = budget;
    while let Some(point) = calibration.next(left, budget) {
        let seconds = truth(scales, point.candidate, &point.inputs, &point.parameters);
        left -= seconds.max(20e-6);
        calibration.took(point, Some(seconds * (noise * random.normal()).exp()));
    }
    assert!(calibration.points().len() <= 90);
    calibration
}

/// The models after a calibration: as they were, if its trial was lost.
fn calibrated(scales: &[Vec<f64>], budget: f64, noise: f64, random: &mut Random) -> Scaled {
    let calibration = timed_out(scales, budget, noise, random);
    calibration.finish().unwrap_or_else(|_| Calibration::new(&TABLE, 1, Vec::new()).finish().unwrap())
}

#[test]
fn scales_follow_from_few_timings() {
    let mut random = Random(1);
    let (mut before, mut after) = (0.0, 0.0);
    for _ in 0..8 {
        let scales: Vec<Vec<f64>> =
            (0..3).map(|c| (0..[2, 3, 4][c]).map(|_| (0.5 * random.normal()).exp()).collect()).collect();
        let scaled = calibrated(&scales, 0.1, 0.03, &mut random);
        let (untouched, fitted) = (regret(&TABLE, &scales), regret(&scaled, &scales));

        before += untouched.0 / 8.0;
        after += fitted.0 / 8.0;
    }
    assert!(after < 0.01 && after < 0.1 * before, "{before} {after}");
}

#[test]
fn without_timings_the_models_are_as_they_were() {
    let scaled = Calibration::new(&TABLE, 1, Vec::new()).finish().unwrap();
    assert_eq!(scaled.timings(), 0);
    for n in [16.0, 100.0, 1e6] {
        for candidate in 0..2 {
            let own = TABLE.seconds(candidate, 1, &[n], &[]).unwrap();
            assert_eq!(scaled.seconds(candidate, 1, &[n], &[]), Some(own));
        }
    }
    assert_eq!(scaled.seconds(0, 1, &[1.0], &[]).or(scaled.seconds(7, 1, &[16.0], &[])), None);
}

#[test]
fn bad_times_and_candidates_that_cannot_run_are_left_out() {
    let mut calibration = Calibration::new(&TABLE, 1, Vec::new());
    let mut asked = 0;
    while let Some(point) = calibration.next(1.0, 1.0) {
        asked += 1;
        let seconds = match point.candidate {
            0 => Some([f64::NAN, -1.0, 0.0, f64::INFINITY][asked % 4]),
            1 => None,
            _ => Some(1e-6),
        };
        calibration.took(point, seconds);
    }
    assert!(asked > 2 && asked <= 90 + 96, "it ends although the clock stands still: {asked}");
    assert!(calibration.points().iter().all(|point| point.candidate == 2));
    assert!(Calibration::new(&TABLE, 1, Vec::new()).next(0.0, 1.0).is_none());
    assert!(Calibration::new(&TABLE, 1, Vec::new()).next(f64::NAN, 1.0).is_none());
}

/// A machine like the measured one but twice as fast: all models are scaled by few timings.
#[test]
fn one_factor_for_all_is_found_at_once() {
    let scales = [2, 3, 4].map(|count| std::vec![0.5; count]).to_vec();
    let scaled = timed_out(&scales, 0.05, 0.01, &mut Random(3)).models;
    for n in [20.0, 3000.0, 9e5] {
        let ratio = scaled.seconds(1, 1, &[n], &[]).unwrap() / TABLE.seconds(1, 1, &[n], &[]).unwrap();
        assert!((ratio - 0.5).abs() < 0.06, "{n}: {ratio}");
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Travelling {
    Few,
    Many,
    Blocks,
}

impl Library for Travelling {
    type Rows = [Row; 3];
    type Input = f64;
    const TABLES: &'static [&'static Table] = &[&TABLE];

    fn candidate(index: usize, _: &[i64]) -> Option<Self> {
        [Self::Few, Self::Many, Self::Blocks].get(index).copied()
    }
}

impl Timed for Travelling {
    fn seconds(self, inputs: &[f64], _: u64) -> Option<f64> {
        match self {
            Self::Few => Some(1e-9 * inputs[0]),
            Self::Many => None,
            Self::Blocks => panic!("it cannot do {inputs:?}"),
        }
    }
}

#[test]
fn a_candidate_that_panics_leaves_the_models_as_they_are() {
    let report = Travelling::calibrate(Duration::from_secs(60)); // it panics at once
    assert_eq!((report.timings, report.fitted), (0, 0));
    let why = "travelling: the models stay as they are: a candidate panicked while it was timed";
    assert_eq!(report.to_string(), why);
    assert!(Models::of::<Travelling>(1).note.is_some());
    assert!(format!("{report:?}").contains("panicked"));
}

/// A file may have as many as 4,096 timings; the time of the first choice must not grow with them.
#[test]
fn the_newest_timings_of_each_candidate_are_fitted() {
    let point = |candidate: usize, at: usize, seconds: f64| Point {
        candidate,
        nodes: 1,
        inputs: std::vec![16.0 + at as f64],
        parameters: crate::table::Parameters::NONE,
        seconds,
    };
    let old = (0..4000).map(|at| point(at % 2, at, 1.0));
    let new = (0..100).map(|at| {
        let own = TABLE.seconds(1, 1, &[16.0 + at as f64], &[]).unwrap();
        point(1, at, 0.5 * own)
    });
    let points: Vec<Point> = old.chain(new).collect();
    let text = timings_text(&TABLE, crate::machine::Machine::here(), "threads", &points);
    let scaled = scaled_by(&TABLE, 1, &text).unwrap();
    // The newest are all of one candidate; the other keeps its own newest.
    assert_eq!(scaled.timings(), (TABLE.entries.len() + 1) * MOST_TIMINGS);
    let ratio = scaled.seconds(1, 1, &[40.0], &[]).unwrap() / TABLE.seconds(1, 1, &[40.0], &[]).unwrap();
    assert!((ratio - 0.5).abs() < 0.1, "{ratio}");
}
