//! Plans: the points to measure, as text. `specc` computes a plan, the profiling program follows
//! it.
//!
//! ```text
//! strata-plan 1 sha256=…
//! spec specs/sort sha256=…
//! run nodes=4 seed=1
//! model Radix at=e,bits let=keys,bits repeat=3 once columns keys bits keys*bits
//! fit Radix robust huber
//! Radix 16,2 65536 2 65536 2 131072
//! @Radix 11,5 2048 5 2048 5 10240
//! ```
//!
//! A row is the model's name, the iteration variables (outermost first; `-` for a model without
//! loops), the values named by `let`, and the columns of the point's sample; `@` marks points for
//! verification, as in [samples](crate::samples). Columns that `gives=` names are measured with the
//! seconds, and 0 here. A line `run` begins the points of a number of
//! nodes. If the spec's loops or values read the machine, it has the numbers used, as in `run
//! nodes=4 seed=1 cache2=2097152`. The hash in the first line covers the rest of the file, so a
//! truncated or edited plan is refused.
//!
//! A list of [`Points`] is a subset of the format: rows end after the iteration variables, and
//! neither hash nor other lines are needed. `#` begins a comment.

mod parse;
mod points;

use std::fmt::Write as _;

use crate::samples::Column;
use crate::{SpecId, number_text, sha256_hex};

pub use points::{ModelPoints, Points};

/// The version of the format, in its first line.
pub const VERSION: u32 = 1;

/// Everything that a profiling program is to measure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The spec that it was computed from.
    pub spec: SpecId,
    /// The runs, one for each number of nodes.
    pub runs: Vec<Run>,
}

/// The measurements on one number of nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The number of nodes.
    pub nodes: usize,
    /// The seed of the verification points and of the order of measuring.
    pub seed: u64,
    /// The names of [`MACHINE`](crate::platform::MACHINE) that the spec's loops and values read,
    /// with the numbers for which the points were computed.
    pub machine: Vec<(String, f64)>,
    /// The models in the order of the spec.
    pub models: Vec<ModelPlan>,
}

/// The measurements of one model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelPlan {
    /// The model's name.
    pub name: String,
    /// The iteration variables, outermost first.
    pub variables: Vec<String>,
    /// The names of [`PlanPoint::bound`].
    pub bound: Vec<String>,
    /// The columns of its samples.
    pub columns: Vec<Column>,
    /// The columns that are measured with the seconds: 0 in the plan.
    pub gives: Vec<String>,
    /// How its samples are to be fitted, as in the spec; empty for the defaults.
    pub fit: String,
    /// The least number of timings of a point.
    pub repeat: u32,
    /// The task may be executed only once after each setup.
    pub once: bool,
    /// A timing follows another call of the task at once, not other work.
    pub hot: bool,
    /// The points that are fitted, in the order of the loops, then those that verify, in the order
    /// in which they were drawn.
    pub points: Vec<PlanPoint>,
}

/// One point of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanPoint {
    /// Whether the point is for verification and takes no part in the fit.
    pub verify: bool,
    /// The iteration variables.
    pub at: Vec<i64>,
    /// The values that the spec computes with `let`.
    pub bound: Vec<f64>,
    /// One value for each column.
    pub values: Vec<f64>,
}

/// An error in a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct PlanError {
    /// The file, as it was named by the caller.
    pub file: String,
    /// The line, from one.
    pub line: usize,
    /// The error and its remedy.
    pub message: String,
}

impl Plan {
    /// The run on this number of nodes.
    #[must_use]
    pub fn run(&self, nodes: usize) -> Option<&Run> {
        self.runs.iter().find(|run| run.nodes == nodes)
    }

    /// The text, which [`Plan::parse`] reads back to the same.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        if self.spec != SpecId::default() {
            let _ = writeln!(text, "spec {} sha256={}", self.spec.path, self.spec.sha256);
        }
        for run in &self.runs {
            let _ = write!(text, "run nodes={} seed={}", run.nodes, run.seed);
            for (name, value) in &run.machine {
                let _ = write!(text, " {name}={}", number_text(*value));
            }
            text.push('\n');
            run.models.iter().for_each(|model| model.write(&mut text));
        }
        format!("strata-plan {VERSION} sha256={}\n{text}", sha256_hex(text.as_bytes()))
    }
}

impl ModelPlan {
    fn write(&self, text: &mut String) {
        let name = &self.name;
        let _ = write!(text, "model {name}");
        for (key, names) in [("at", &self.variables), ("let", &self.bound), ("gives", &self.gives)] {
            if !names.is_empty() {
                let _ = write!(text, " {key}={}", names.join(","));
            }
        }
        let once = if self.once { " once" } else { "" };
        let hot = if self.hot { " hot" } else { "" };
        let _ = write!(text, " repeat={}{once}{hot} columns", self.repeat);
        for column in &self.columns {
            let _ = write!(text, " {column}");
        }
        text.push('\n');
        if !self.fit.is_empty() {
            let _ = writeln!(text, "fit {name} {}", self.fit);
        }
        for point in &self.points {
            let mark = if point.verify { "@" } else { "" };
            let _ = write!(text, "{mark}{name} {}", at_text(&point.at));
            for value in point.bound.iter().chain(&point.values) {
                let _ = write!(text, " {}", number_text(*value));
            }
            text.push('\n');
        }
    }
}

fn at_text(at: &[i64]) -> String {
    if at.is_empty() { "-".to_owned() } else { at.iter().map(i64::to_string).collect::<Vec<_>>().join(",") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether it verifies, its iteration variables, its columns.
    type RawPoint = (bool, Vec<i64>, Vec<f64>);
    use proptest::prelude::*;

    fn any_plan() -> impl Strategy<Value = Plan> {
        let point =
            (any::<bool>(), prop::collection::vec(any::<i64>(), 2), prop::collection::vec(-1e9..1e9, 3));
        // Also the words that begin other lines.
        let word = prop::sample::select(parse::WORDS.to_vec()).prop_map(str::to_owned);
        let name = prop_oneof![3 => "[A-Za-z][a-z0-9_]{0,4}", 1 => word];
        let model = (name, prop::collection::vec(point, 0..4), 1..9_u32, any::<[bool; 2]>());
        let cache = prop::option::of((1..=3_u8, 1024..1_u64 << 40));
        let run = (1..99_usize, any::<u64>(), cache, prop::collection::vec(model, 0..3));
        prop::collection::vec(run, 0..3).prop_map(|runs| {
            let model = |(name, points, repeat, [once, hot]): (String, Vec<RawPoint>, u32, [bool; 2])| {
                let point = |(verify, at, numbers): (bool, Vec<i64>, Vec<f64>)| PlanPoint {
                    verify,
                    at,
                    bound: numbers[..1].to_vec(),
                    values: numbers[1..].to_vec(),
                };
                ModelPlan {
                    name,
                    variables: vec!["e".into(), "w".into()],
                    bound: vec!["n".into()],
                    columns: vec![Column::input("n"), Column::term("n*logP")],
                    gives: if hot { vec!["n".into()] } else { Vec::new() },
                    fit: if once { String::new() } else { "relative, robust huber".into() },
                    repeat,
                    once,
                    hot,
                    points: points.into_iter().map(point).collect(),
                }
            };
            let run = |(nodes, seed, cache, models): (usize, u64, Option<(u8, u64)>, Vec<_>)| Run {
                nodes,
                seed,
                machine: cache.into_iter().map(|(of, bytes)| (format!("cache{of}"), bytes as f64)).collect(),
                models: models.into_iter().map(model).collect(),
            };
            let spec = SpecId { path: "specs/a b".into(), sha256: "0a".into() };
            Plan { spec, runs: runs.into_iter().map(run).collect() }
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_and_holds_its_points(plan in any_plan()) {
            let text = plan.to_text();
            prop_assert_eq!(&Plan::parse(&text, "p").unwrap(), &plan);
            let points = Points::parse(&text, "p").unwrap();
            let models = plan.runs.iter().flat_map(|run| &run.models);
            for (model, point) in models.flat_map(|model| model.points.iter().map(move |point| (model, point))) {
                prop_assert!(point.verify || points.contains(&model.name, &point.at));
            }
        }

        #[test]
        fn a_plan_that_was_changed_is_refused(plan in any_plan(), at in 0.0..1.0_f64, byte in 32..127_u8) {
            let text = plan.to_text();
            let mut bytes = text.clone().into_bytes();
            let at = (at * bytes.len() as f64) as usize;
            bytes[at] = byte;
            let changed = String::from_utf8(bytes).unwrap();
            prop_assert!(changed == text || Plan::parse(&changed, "p").is_err());
            prop_assert!(Plan::parse(&text[..at], "p").is_err());
        }

        #[test]
        fn no_text_makes_it_panic(text in "(spec|run|model|fit|A|=|nodes|seed|at|columns|,|-|1| |\n){0,40}") {
            let hashed = format!("strata-plan 1 sha256={}\n{text}", sha256_hex(text.as_bytes()));
            let _ = Plan::parse(&hashed, "p");
            let _ = Points::parse(&hashed, "p");
        }
    }
}
