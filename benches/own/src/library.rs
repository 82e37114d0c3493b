//! What the race must know of a library: its inputs, its ways to solve a problem, and its old rule.

use std::hint::black_box;

use crate::clock::{Timing, timed};

/// One way to solve a problem: a candidate, by its index, and its parameter if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Way {
    /// The index of the candidate.
    pub candidate: usize,
    /// The value of its parameter.
    pub parameter: Option<i64>,
}

impl Way {
    /// A candidate without a parameter.
    pub const fn of(candidate: usize) -> Self {
        Self { candidate, parameter: None }
    }

    /// The only candidate, with this value of its parameter.
    pub const fn with(parameter: i64) -> Self {
        Self { candidate: 0, parameter: Some(parameter) }
    }

    /// The value of the parameter as a size; 0 without one.
    pub fn value(self) -> usize {
        self.parameter.and_then(|value| usize::try_from(value).ok()).unwrap_or(0)
    }
}

/// An input: a whole number.
#[derive(Debug)]
pub struct Input {
    /// Its name in the spec.
    pub name: &'static str,
    /// The least that is measured and raced.
    pub least: usize,
    /// The greatest.
    pub greatest: usize,
    /// Whether races draw it evenly, not evenly over its magnitudes.
    pub even: bool,
}

impl Input {
    /// One drawn evenly over its magnitudes.
    pub const fn new(name: &'static str, least: usize, greatest: usize) -> Self {
        Self { name, least, greatest, even: false }
    }

    /// The same drawn evenly over its range.
    pub const fn evenly(self) -> Self {
        Self { even: true, ..self }
    }
}

/// The values of a parameter.
#[derive(Debug)]
pub struct Range {
    /// The least.
    pub least: i64,
    /// The greatest.
    pub greatest: i64,
    /// Whether a race tries every value, not only some that differ by a factor.
    pub every: bool,
}

/// An implementation.
#[derive(Debug)]
pub struct Candidate {
    /// Its name in the spec.
    pub name: &'static str,
    /// The values of its parameter, if it has one.
    pub parameter: Option<Range>,
}

impl Candidate {
    /// One without a parameter.
    pub const fn new(name: &'static str) -> Self {
        Self { name, parameter: None }
    }

    /// One with a parameter, whose values a race tries by factors.
    pub const fn over(name: &'static str, least: i64, greatest: i64) -> Self {
        Self { name, parameter: Some(Range { least, greatest, every: false }) }
    }
}

/// A library of several ways to do one thing.
pub trait Library {
    /// As in the spec.
    const NAME: &'static str;
    /// The old rule, in a few words.
    const OLD: &'static str;
    /// The inputs of a choice.
    const INPUTS: &'static [Input];
    /// The candidates, in the order of the spec.
    const CANDIDATES: &'static [Candidate];
    /// Data to work on.
    type Problem;
    /// What comes of it, besides what changes in the problem.
    type Answer;

    /// Data of this size; another seed gives other data.
    fn problem(x: &[usize], seed: u64) -> Self::Problem;

    /// What is timed.
    fn solve(problem: &mut Self::Problem, way: Way) -> Self::Answer;

    /// The result as numbers, which all ways must agree on.
    fn numbers(problem: &Self::Problem, answer: &Self::Answer) -> Vec<f64>;

    /// What the library took before it had models.
    fn old(x: &[usize]) -> Way;

    /// The inputs nearest to these for which there are problems.
    fn near(x: &[usize]) -> Vec<usize> {
        x.to_vec()
    }
}

/// A library behind functions of one type.
#[derive(Debug)]
pub struct Entry {
    /// [`Library::NAME`].
    pub name: &'static str,
    /// [`Library::OLD`].
    pub old_rule: &'static str,
    /// [`Library::INPUTS`].
    pub inputs: &'static [Input],
    /// [`Library::CANDIDATES`].
    pub candidates: &'static [Candidate],
    /// [`Library::old`].
    pub old: fn(x: &[usize]) -> Way,
    /// [`Library::near`].
    pub near: fn(x: &[usize]) -> Vec<usize>,
    /// The time of a problem, over one of each seed.
    pub time: fn(x: &[usize], way: Way, seeds: &[u64]) -> Timing,
    /// The result for the problem of a seed.
    pub answer: fn(x: &[usize], way: Way, seed: u64) -> Vec<f64>,
}

impl Entry {
    /// A library's entry.
    pub const fn of<L: Library>() -> Self {
        Self {
            name: L::NAME,
            old_rule: L::OLD,
            inputs: L::INPUTS,
            candidates: L::CANDIDATES,
            old: L::old,
            near: L::near,
            time: time::<L>,
            answer: answer::<L>,
        }
    }

    /// A way in words, as `STRATA_PIN` takes it.
    pub fn describe(&self, way: Way) -> String {
        let name = self.candidates.get(way.candidate).map_or("?", |candidate| candidate.name);
        way.parameter.map_or_else(|| name.to_owned(), |value| format!("{name}:{value}"))
    }

    /// Inputs in words.
    pub fn point(&self, x: &[usize]) -> String {
        let pairs = self.inputs.iter().zip(x).map(|(input, value)| format!("{}={value}", input.name));
        pairs.collect::<Vec<_>>().join(" ")
    }
}

fn time<L: Library>(x: &[usize], way: Way, seeds: &[u64]) -> Timing {
    let mut problems: Vec<_> = seeds.iter().map(|seed| L::problem(x, *seed)).collect();
    let timing = timed(|| {
        for problem in &mut problems {
            black_box(L::solve(black_box(problem), way));
        }
    });
    Timing { seconds: timing.seconds / problems.len().max(1) as f64, ..timing }
}

fn answer<L: Library>(x: &[usize], way: Way, seed: u64) -> Vec<f64> {
    let mut problem = L::problem(x, seed);
    let answer = L::solve(&mut problem, way);
    L::numbers(&problem, &answer)
}

/// Numbers as the results of [`Library::numbers`].
pub(crate) fn as_floats(words: &[u32]) -> Vec<f64> {
    words.iter().copied().map(f64::from).collect()
}
