//! The candidates, and the choice among them.
//!
//! A model is asked about values that are equal on all nodes: keys per node, significant bits, nodes. Where models
//! do not cover the problem they are asked at the nearest point that they cover, only to rank the candidates: the
//! [`Choice`] then has no prediction and its note says why. Without any models a rule of thumb decides:
//! few keys are gathered, narrow keys go through one or two radix passes, the rest is sample sorted.

use crate::item::Item;
use crate::library::{Fit, LIBRARY, Models, Point};
use crate::problem::Problem;
use crate::{gather, local, radix, sample};
use strata_model::select::{Candidate, ChooseError, Parameter, Pin, choose};
use strata_model::{Choice, Prediction};
use strata_runtime::Node;

/// Elements, the node they are on, and what the team knows of them: what a candidate works on.
pub(crate) struct Work<'a, T> {
    pub(crate) node: &'a mut Node,
    pub(crate) items: &'a mut Vec<T>,
    pub(crate) problem: &'a Problem,
}

/// A problem as candidates see it when they predict.
pub(crate) struct Question<'a> {
    nodes: usize,
    keys: usize,
    largest: usize,
    width: u32,
    guide: Guide<'a>,
}

/// What ranks the candidates.
enum Guide<'a> {
    Models(&'a Models, Fit, Point),
    Rule,
}

/// Sorting on one node, which needs no parallel algorithm.
struct Local;
/// Everything to everyone.
struct Gather;
/// Parallel radix sort.
struct Radix;
/// Parallel sample sort.
struct Sample;

/// Chooses by `models`, or as `pin` says.
pub(crate) fn select<T: Item>(
    node: &Node,
    problem: &Problem,
    models: Option<&Models>,
    pin: Option<&Pin>,
) -> Result<Choice, ChooseError> {
    let (keys, width) = (problem.keys(), problem.range.width);
    // On one node there is nothing to predict.
    let guide = models.filter(|_| problem.nodes() > 1).map_or(Guide::Rule, |models| {
        let (fit, point) = models.nearest(node, keys as f64, f64::from(width));
        Guide::Models(models, fit, point)
    });
    let mut question = Question { nodes: problem.nodes(), keys, largest: problem.largest(), width, guide };
    let candidates = candidates::<T>();
    let mut choice = choose(LIBRARY, &candidates, &question, pin)?;
    if candidates[choice.index].seconds(&question, &choice.parameters).is_none() && !choice.pinned {
        // Not even at the nearest point does a model predict anything.
        question.guide = Guide::Rule;
        choice = choose(LIBRARY, &candidates, &question, pin)?;
    }
    if !matches!(question.guide, Guide::Models(_, Fit::Measured, _)) {
        // What ranked the candidates does not hold here as a time.
        choice.predicted = None;
        choice.note = Some(question.note());
    }
    Ok(choice)
}

/// Does what was chosen.
pub(crate) fn run<T: Item>(choice: &Choice, work: Work<'_, T>) {
    candidates()[choice.index].run(work, &choice.parameters);
}

/// The candidates; the first named wins a tie.
fn candidates<'a, T: Item>() -> [&'a dyn Candidate<Question<'a>, Work<'a, T>>; 4] {
    [&Local, &Gather, &Radix, &Sample]
}

impl Question<'_> {
    /// Why there is no prediction.
    fn note(&self) -> &'static str {
        match &self.guide {
            _ if self.nodes == 1 => "on one node there is nothing to choose",
            Guide::Rule => {
                "by rule of thumb: no model covers this problem; calibrate with `specc calibrate specs/sort`"
            }
            Guide::Models(_, Fit::OtherNodes, _) => {
                "outside what was measured: ranked by models of another number of nodes; calibrate with `specc calibrate specs/sort`"
            }
            Guide::Models(_, Fit::OtherMachine, _) => {
                "outside what was measured: ranked by models of another machine; calibrate with `specc calibrate specs/sort`"
            }
            Guide::Models(..) => "outside what was measured: ranked at the nearest size and width that was",
        }
    }

    /// The time that ranks a candidate.
    fn seconds(&self, name: &str, parameters: &[i64]) -> Option<f64> {
        match &self.guide {
            Guide::Models(models, _, point) => models.seconds(name, point, parameters),
            Guide::Rule => (self.rule() == (name, parameters.first().copied())).then_some(0.0),
        }
    }

    /// A prediction that holds for this very problem.
    fn predict(&self, name: &str, parameters: &[i64]) -> Option<Prediction> {
        match &self.guide {
            Guide::Models(models, Fit::Measured, point) => models.predict(name, point, parameters),
            _ => None,
        }
    }

    /// The candidate and parameter that the rule of thumb takes.
    fn rule(&self) -> (&'static str, Option<i64>) {
        if self.nodes == 1 {
            ("local", None)
        } else if self.keys <= 1024 {
            ("gather", None)
        } else if self.width <= 16 {
            ("radix", Some(if self.width > 11 { 8 } else { i64::from(self.width.max(1)) }))
        } else {
            ("sample", Some(32))
        }
    }
}

impl<'q, 'w, T: Item> Candidate<Question<'q>, Work<'w, T>> for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn applies(&self, question: &Question<'q>) -> bool {
        question.nodes == 1
    }

    fn seconds(&self, question: &Question<'q>, parameters: &[i64]) -> Option<f64> {
        question.seconds("local", parameters)
    }

    fn predict(&self, _: &Question<'q>, _: &[i64]) -> Option<Prediction> {
        None
    }

    fn run(&self, work: Work<'w, T>, _: &[i64]) {
        local::sort(work.items, &mut Vec::new(), work.problem.range);
    }
}

impl<'q, 'w, T: Item> Candidate<Question<'q>, Work<'w, T>> for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn seconds(&self, question: &Question<'q>, parameters: &[i64]) -> Option<f64> {
        question.seconds("gather", parameters)
    }

    fn predict(&self, question: &Question<'q>, parameters: &[i64]) -> Option<Prediction> {
        question.predict("gather", parameters)
    }

    fn run(&self, work: Work<'w, T>, _: &[i64]) {
        gather::sort(work.node, work.items, work.problem);
    }
}

impl<'q, 'w, T: Item> Candidate<Question<'q>, Work<'w, T>> for Radix {
    fn name(&self) -> &'static str {
        "radix"
    }

    fn applies(&self, question: &Question<'q>) -> bool {
        // Counts and positions within a node are 32-bit numbers.
        question.largest.max(question.keys) < u32::MAX as usize
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { name: "bits", min: 1, max: 16 }]
    }

    fn seconds(&self, question: &Question<'q>, parameters: &[i64]) -> Option<f64> {
        question.seconds("radix", parameters)
    }

    fn predict(&self, question: &Question<'q>, parameters: &[i64]) -> Option<Prediction> {
        question.predict("radix", parameters)
    }

    fn run(&self, work: Work<'w, T>, parameters: &[i64]) {
        radix::sort(work.node, work.items, work.problem, parameters[0] as u32);
    }
}

impl<'q, 'w, T: Item> Candidate<Question<'q>, Work<'w, T>> for Sample {
    fn name(&self) -> &'static str {
        "sample"
    }

    fn applies(&self, question: &Question<'q>) -> bool {
        // Buckets are numbered in 16 bits.
        question.nodes <= 1 << 16
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { name: "oversample", min: 8, max: 64 }]
    }

    fn seconds(&self, question: &Question<'q>, parameters: &[i64]) -> Option<f64> {
        question.seconds("sample", parameters)
    }

    fn predict(&self, question: &Question<'q>, parameters: &[i64]) -> Option<Prediction> {
        question.predict("sample", parameters)
    }

    fn run(&self, work: Work<'w, T>, parameters: &[i64]) {
        sample::sort(work.node, work.items, work.problem, parameters[0] as usize);
    }
}
