//! Whether *verified* is right, and whether intervals are true: models of drawn costs from files as
//! people have them, judged at fresh points by the costs themselves.
//!
//! A case is a cost over one to three inputs, a design of points, and a kind of trouble. Its samples
//! go the way of a user's file: CSV, a quarter of the points held out, a fit without terms or with
//! the terms named. Fresh points are whole numbers in the measured ranges, even in logarithms; the
//! error of a model is the mean relative error of its predictions there. A cost that depends on
//! something which the model cannot see (a family, the time of the run) is drawn anew for each
//! fresh point; noise, outliers and a slow machine are none of the model's errors.

use std::fmt::Write as _;

use chacha20::ChaCha8Rng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use strata_benches::cost::{Cost, expressions, fit, grid, median, normal, samples};
use strata_fit::stats::mean_relative_error;
use strata_fit::{FitOptions, Search};
use strata_interchange::{HoldOut, Selection, read};
use strata_model::ModelSet;
use strata_model::samples::{ModelSamples, Notes, Sample, Timing};
use strata_model::set::Model;

/// The kinds of trouble.
pub(crate) const KINDS: [&str; 12] = [
    "none", "terms named", "a term missing", "step", "hump", "few values", "two families", "drift",
    "two speeds", "outliers", "round values", "single timings",
];

/// Fresh points of a case, half of them round where that matters.
const FRESH: usize = 200;
/// Timings of each sample of a harness that keeps them.
const SWEEPS: usize = 7;
/// Seconds of a typical cost.
const TYPICAL: f64 = 2e-5;
/// Inputs: name, least and greatest value.
const INPUTS: [(&str, f64, f64); 3] = [("n", 64.0, 1_048_576.0), ("p", 2.0, 256.0), ("k", 1.0, 64.0)];
/// Terms of one input `x`, of two inputs `x` and `y`.
const ALONE: [&str; 9] =
    ["x", "x*log2(x)", "log2(x)", "sqrt(x)", "x^1.5", "x^2", "1/x", "ceil(x/48)", "x^(2/3)"];
const PAIRS: [&str; 8] =
    ["x*y", "x/y", "x*log2(y)", "y*log2(x)", "sqrt(x)*y", "x*log2(x)/y", "y^2", "x*log2(x)*log2(y)"];

/// A drawn cost, the points that are measured, and the machine that measures them.
struct Case {
    kind: usize,
    inputs: Vec<&'static str>,
    terms: Cost,
    /// Whether the fit is given the terms, and how many of them are withheld.
    named: bool,
    withheld: usize,
    search: Search,
    /// Distinct points, whole numbers.
    points: Vec<Vec<f64>>,
    repeats: usize,
    /// Whether the run is in random order, not point by point.
    shuffled: bool,
    noise: f64,
    /// A factor of the cost where [`Case::special`], of the second family, at the end of the run, or
    /// at the slow speed.
    factor: f64,
    /// The part of the first input's range with a step or hump.
    part: (f64, f64),
    /// Whether the file tells the family; otherwise one follows the other.
    told: bool,
    /// The share of slow samples or outliers.
    share: f64,
}

impl Case {
    fn draw(kind: usize, rng: &mut ChaCha8Rng) -> Self {
        let count = *[1, 1, 1, 2, 2, 2, 3].choose(rng).unwrap_or(&1);
        let inputs = &INPUTS[..count];
        let names: Vec<&str> = inputs.iter().map(|input| input.0).collect();
        let points = points(inputs, kind, rng);
        let mut texts: Vec<String> = ALONE.sample(rng, 2).map(|t| t.replace('x', names[0])).collect();
        for (place, name) in names.iter().enumerate().skip(1) {
            texts.extend(PAIRS.sample(rng, 1).map(|t| t.replace('x', names[0]).replace('y', name)));
            texts.extend(ALONE.sample(rng, 1).map(|t| t.replace('x', names[place])));
        }
        texts.shuffle(rng);
        texts.truncate(rng.random_range(1..=3));
        texts.sort();
        texts.dedup();
        texts.insert(0, "1".to_owned());
        let middle: Vec<f64> = inputs.iter().map(|(_, low, high)| (low * high).sqrt()).collect();
        let terms = Cost::of(texts, &names, |_, term| {
            TYPICAL / term.eval(&middle).max(1e-9) * f64::exp2(rng.random_range(-3.0..3.0))
        });
        let named = matches!(kind, 1 | 2 | 11);
        let missing = kind == 2 || kind == 11 && rng.random_bool(0.5);
        let distinct = distinct(&points, 0);
        let begin = rng.random_range(distinct.len() / 4..=distinct.len() / 2).max(1);
        let width = rng.random_range(2..=4).min(distinct.len() - begin - 1).max(1);
        let end = if kind == 4 { distinct[begin + width - 1] } else { f64::INFINITY };
        let factor = match kind {
            3 => rng.random_range(1.2..4.0),
            4 => f64::exp2(rng.random_range(1.0..5.0)),
            6 => rng.random_range(1.05..4.0),
            7 => rng.random_range(1.02..1.5),
            8 => rng.random_range(1.2..4.0),
            9 => f64::powf(10.0, *[0.5, 1.0, 3.0, 6.0].choose(rng).unwrap_or(&1.0)),
            10 => rng.random_range(1.2..2.5),
            _ => 1.0,
        };
        Self {
            kind,
            withheld: usize::from(missing && terms.0.len() > 1),
            named,
            search: if missing && rng.random_bool(0.5) { Search::Never } else { Search::WhenNeeded },
            inputs: names,
            terms,
            points,
            repeats: *[1, 2, 3, 5].choose(rng).unwrap_or(&1),
            shuffled: rng.random_bool(0.5),
            noise: *[0.0, 0.01, 0.02, 0.02, 0.05, 0.05, 0.1].choose(rng).unwrap_or(&0.02),
            factor,
            part: (distinct[begin - 1], end),
            told: rng.random_bool(0.5),
            share: if kind == 8 { rng.random_range(0.1..0.4) } else { rng.random_range(0.01..0.06) },
        }
    }

    fn cost(&self, at: &[f64]) -> f64 {
        self.terms.at(at) * if self.is_special(at[0]) { self.factor } else { 1.0 }
    }

    /// Whether the cost has its factor at a value of the first input.
    fn is_special(&self, first: f64) -> bool {
        match self.kind {
            3 | 4 => self.part.0 < first && first <= self.part.1,
            10 => is_round(first),
            _ => false,
        }
    }

    /// The factor of a cost in a state of the machine, 0 to below 1, that the inputs do not tell.
    fn hidden(&self, state: f64) -> f64 {
        match self.kind {
            6 if state < 0.5 => self.factor,
            7 => 1.0 + (self.factor - 1.0) * state,
            _ => 1.0,
        }
    }

    /// The factor of one measurement's noise.
    fn disturbed(&self, slow: bool, rng: &mut ChaCha8Rng) -> f64 {
        let noise = (self.noise * normal(rng)).exp();
        let out = self.kind == 9 && rng.random_bool(self.share);
        noise * if out || self.kind == 8 && slow { self.factor } else { 1.0 }
    }

    /// The samples as a user's program writes them.
    fn file(&self, rng: &mut ChaCha8Rng) -> String {
        let mut run: Vec<&Vec<f64>> =
            self.points.iter().flat_map(|point| (0..self.repeats).map(move |_| point)).collect();
        // A drift along one sorted run cannot be told from the cost, one over several can.
        if self.kind == 7 && self.repeats > 1 && !self.shuffled {
            run = (0..self.repeats).flat_map(|_| &self.points).collect();
        } else if self.shuffled || matches!(self.kind, 6 | 7) {
            run.shuffle(rng);
        }
        let mut text = self.inputs.join(",");
        text += if self.kind == 6 && self.told { ",family,time\n" } else { ",time\n" };
        let mut slow = false;
        for (place, point) in run.iter().enumerate() {
            // Stretches of about ten samples.
            if rng.random_bool(0.1) {
                slow = rng.random_bool(self.share);
            }
            let told = self.kind == 6 && self.told;
            let state = if told { rng.random() } else { place as f64 / run.len() as f64 };
            let time = self.cost(point) * self.hidden(state) * self.disturbed(slow, rng);
            point.iter().for_each(|value| _ = write!(text, "{value},"));
            if told {
                text += if state < 0.5 { "dense," } else { "sparse," };
            }
            let _ = writeln!(text, "{time:e}");
        }
        text
    }

    /// The samples of a harness that keeps single timings: sweeps over all points.
    fn timed(&self, rng: &mut ChaCha8Rng) -> ModelSamples {
        let fresh = (0..16).map(|_| (true, self.fresh(rng)));
        let points: Vec<(bool, Vec<f64>)> =
            self.points.iter().map(|p| (false, p.clone())).chain(fresh).collect();
        let mut timings = vec![Vec::new(); points.len()];
        let (mut moment, mut slow, mut order) = (0.0, false, Vec::from_iter(0..points.len()));
        let loaded = rng.random_bool(0.3);
        for _ in 0..SWEEPS {
            order.shuffle(rng);
            for place in &order {
                if rng.random_bool(0.03) {
                    slow = loaded && rng.random_bool(0.4);
                }
                let seconds =
                    self.cost(&points[*place].1) * self.disturbed(slow, rng) * if slow { 1.4 } else { 1.0 };
                moment += seconds + 1e-5;
                timings[*place].push(Timing { seconds, moment });
            }
        }
        let rows = points.into_iter().zip(timings).enumerate().map(|(line, ((verify, values), timings))| {
            let seconds = median(&mut timings.iter().map(|t| t.seconds).collect::<Vec<f64>>());
            let notes = Notes { repeats: SWEEPS as u32, timings, ..Notes::default() };
            Sample { verify, seconds, values, notes, line: line + 1 }
        });
        samples("m", &self.inputs, rows.collect())
    }

    fn fitted(&self, rng: &mut ChaCha8Rng) -> Option<Model> {
        let samples = if self.kind == 11 {
            self.timed(rng)
        } else {
            let selection = Selection { hold_out: Some(HoldOut::Share(0.25)), ..Selection::default() };
            let text = self.file(rng);
            read(text.as_bytes(), "m.csv", None, &selection).ok()?.samples.models.pop()?
        };
        let texts = || self.terms.0.iter().map(|term| term.1.as_str());
        let null = ["sqrt(n)", "n"].into_iter().find(|null| texts().all(|term| term != *null));
        let named = texts().skip(1 + self.withheld).chain(null).filter(|_| self.named);
        let options = FitOptions { search: self.search, ..FitOptions::default() };
        fit(&samples, expressions(named).ok()?, &options, &|_| None).ok()
    }

    fn fresh(&self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let mut at: Vec<f64> = (0..self.inputs.len())
            .map(|input| {
                let values = distinct(&self.points, input);
                whole(values[0], values[values.len() - 1], rng)
            })
            .collect();
        if self.kind == 10 && rng.random_bool(0.5) {
            at[0] = f64::exp2(at[0].log2().floor());
        }
        at
    }
}

fn is_round(value: f64) -> bool {
    value.log2().fract() == 0.0
}

/// A whole number whose logarithm is uniformly distributed.
fn whole(low: f64, high: f64, rng: &mut ChaCha8Rng) -> f64 {
    (low * (high / low).powf(rng.random_range(0.0..=1.0))).round().clamp(low, high)
}

fn distinct(points: &[Vec<f64>], input: usize) -> Vec<f64> {
    let mut values: Vec<f64> = points.iter().map(|point| point[input]).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// A grid, powers of two, or random points.
fn points(inputs: &[(&str, f64, f64)], kind: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let few = kind == 5;
    if kind == 11 || !few && rng.random_bool(0.35) || kind == 10 {
        let count = if kind == 11 { 36 } else { rng.random_range(30..=40 * inputs.len() + 20) };
        let mut drawn: Vec<Vec<f64>> = (0..count)
            .map(|_| inputs.iter().map(|(_, low, high)| whole(*low, *high, rng)).collect())
            .collect();
        if kind == 10 {
            drawn.iter_mut().step_by(3).for_each(|p| p[0] = f64::exp2(p[0].log2().round()));
        }
        drawn.sort_by(|a, b| a[0].total_cmp(&b[0]));
        return drawn;
    }
    let powers = rng.random_bool(0.5);
    let grids = inputs.iter().map(|(_, low, high)| {
        let many = match inputs.len() {
            1 if few => rng.random_range(4..=6),
            _ if few => rng.random_range(3..=6),
            1 => rng.random_range(12..=21),
            2 => rng.random_range(6..=9),
            _ => rng.random_range(4..=6),
        };
        // An even ladder: powers of two, or as many values in the whole range.
        let whole_range = (high / low).powf(1.0 / f64::from(many - 1));
        let ratio = if powers { f64::exp2(whole_range.log2().round().max(1.0)) } else { whole_range };
        let values = (0..many).map(|i| (low * ratio.powi(i)).round());
        let mut values: Vec<f64> = values.filter(|v| *v <= 1.01 * high).collect();
        values.dedup();
        values
    });
    grid(grids)
}

/// What came of the cases of one kind, or of all.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Verdicts {
    pub(crate) cases: usize,
    /// Models that are called verified, and those of them within the accepted error.
    pub(crate) verified: usize,
    pub(crate) rightly: usize,
    pub(crate) within: usize,
    /// New measurements with an interval, and those inside it: of all models, of verified ones, and
    /// at points with a value of an input that was never measured.
    pub(crate) covered: [[usize; 2]; 3],
}

impl Verdicts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.verified += other.verified;
        self.rightly += other.rightly;
        self.within += other.within;
        for (ours, theirs) in self.covered.iter_mut().zip(other.covered) {
            *ours = [ours[0] + theirs[0], ours[1] + theirs[1]];
        }
    }

    /// Of what is called verified, the share that is within its accepted error.
    pub(crate) fn precision(&self) -> f64 {
        self.rightly as f64 / self.verified.max(1) as f64
    }

    /// Of what is within it, the share that is called verified.
    pub(crate) fn recall(&self) -> f64 {
        self.rightly as f64 / self.within.max(1) as f64
    }

    /// The shares of new measurements inside their interval.
    pub(crate) fn coverage(&self) -> [f64; 3] {
        self.covered.map(|[of, inside]| inside as f64 / of.max(1) as f64)
    }
}

/// Draws a case, fits it and judges the model; `say` prints models that are wrongly verified or not.
pub(crate) fn judge(kind: usize, seed: u64, say: bool) -> Verdicts {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(kind as u64);
    let case = Case::draw(kind, &mut rng);
    let mut verdicts = Verdicts { cases: 1, ..Verdicts::default() };
    let Some(model) = case.fitted(&mut rng) else { return verdicts };
    let (name, verdict) = (model.name.clone(), model.verdict);
    let set = ModelSet { models: vec![model], ..ModelSet::default() };
    let Ok(resolved) = set.resolve() else { return verdicts };
    let accept = FitOptions::default().accept;
    let called = verdict.to_string().starts_with("verified");
    let measured: Vec<Vec<f64>> = (0..case.inputs.len()).map(|input| distinct(&case.points, input)).collect();
    let mut pairs = Vec::new();
    for _ in 0..FRESH {
        let at = case.fresh(&mut rng);
        let (drawn, slow) = (rng.random(), rng.random_bool(case.share));
        // A file that tells the family gives a model for each.
        let state = match &*name {
            "dense" => 0.0,
            "sparse" => 0.5,
            _ => drawn,
        };
        let cost = case.cost(&at) * case.hidden(state);
        let predicted = resolved.predict(&name, 1, &at);
        pairs.push((cost, predicted.map_or(10.0 * cost, |p| p.seconds.get())));
        let Some(predicted) = predicted.filter(|_| case.noise > 0.0) else { continue };
        let mut measurements: Vec<f64> =
            (0..if kind == 11 { SWEEPS } else { 1 }).map(|_| cost * case.disturbed(slow, &mut rng)).collect();
        let measurement = median(&mut measurements);
        let inside = (measurement - predicted.seconds.get()).abs() <= predicted.half_width.get();
        let between = at.iter().zip(&measured).any(|(v, known)| !known.contains(v));
        for (count, counts) in verdicts.covered.iter_mut().zip([true, called, between]) {
            count[0] += usize::from(counts);
            count[1] += usize::from(counts && inside);
        }
    }
    // A factor common to all predictions is the slow machine's, not the model's.
    let mut ratios: Vec<f64> = pairs.iter().map(|(cost, predicted)| predicted / cost).collect();
    let most = if matches!(kind, 8 | 11) { case.factor.max(1.4) } else { 1.0 };
    let common = median(&mut ratios).clamp(1.0, most);
    let error = mean_relative_error(pairs.iter().map(|(cost, predicted)| (*cost, predicted / common)));
    let error = error.unwrap_or(f64::INFINITY);
    verdicts.within += usize::from(error <= accept);
    verdicts.verified += usize::from(called);
    verdicts.rightly += usize::from(called && error <= accept);
    if say && called != (error <= accept) {
        let model = &set.models[0];
        let truth: Vec<String> = case.terms.0.iter().map(|(c, text, _)| format!("{c:.2e}*{text}")).collect();
        let found = model.terms.iter().filter(|t| t.relevant);
        let found: Vec<String> = found.map(|t| format!("{:.2e}*{}", t.coefficient, t.term)).collect();
        println!(
            "{} {seed}: {verdict}, error {:.1} %, noise {}, {} points x {}, factor {:.2}, part {:?}\n  truth {}\n  found {}\n  {}",
            KINDS[kind],
            100.0 * error,
            case.noise,
            case.points.len(),
            case.repeats,
            case.factor,
            case.part,
            truth.join(" + "),
            found.join(" + "),
            model.reason
        );
    }
    verdicts
}
