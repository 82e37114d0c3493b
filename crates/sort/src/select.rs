//! The candidates, and the choice among them.
//!
//! A model is asked about values that are equal on all nodes: keys per node, significant bits, nodes. Where models
//! do not cover the problem they are asked at the nearest point that they cover, only to rank the candidates: the
//! [`Choice`] then has no prediction and its note says why. Without any models a rule of thumb decides:
//! few keys are gathered, narrow keys go through one or two radix passes, the rest is sample sorted.
//!
//! Of the parameters only those are asked about that can win: for each number of passes the least digit (Brewer
//! eq. 43; a digit of one bit never wins), and powers of two as oversampling. A node remembers its last choice, since
//! programs tend to sort as much again.

use crate::Choice;
use crate::error::SortError;
use crate::item::Item;
use crate::library::{Fit, LIBRARY, Models, Point};
use crate::problem::Problem;
use crate::settings::Settings;
use crate::work;
use crate::{gather, local, radix, sample};
use std::cell::RefCell;
use std::rc::Rc;
use strata_runtime::Node;
use strata_select::{Candidate, Note, Parameter, Pin, Prediction, Verdict, choose};

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

/// All that a choice depends on, but for how uneven the nodes are.
#[derive(Clone, Copy, PartialEq)]
struct Memory {
    word: u64,
    nodes: usize,
    keys: usize,
    width: u32,
}

thread_local! {
    static LAST: RefCell<Option<(Memory, Rc<Choice>)>> = const { RefCell::new(None) };
}

/// Chooses by the settings' models, or as their pin says.
pub(crate) fn select<T: Item>(
    node: &Node,
    problem: &Problem,
    settings: &Settings<'_>,
) -> Result<Rc<Choice>, SortError> {
    let memory = Memory {
        word: settings.word(),
        nodes: problem.nodes(),
        keys: problem.keys(),
        width: problem.range.width,
    };
    // What does not fit 32 bits makes a candidate drop out, which the memory does not tell.
    let usual = problem.largest() < u32::MAX as usize;
    let remembered = LAST.with_borrow(|last| match last {
        Some((known, choice)) if usual && *known == memory => Some(Rc::clone(choice)),
        _ => None,
    });
    if let Some(choice) = remembered {
        return Ok(choice);
    }
    let choice = Rc::new(select_anew::<T>(
        node,
        problem,
        settings.models,
        settings.pin.as_deref().and_then(|pin| Pin::parse(pin).ok()),
    )?);
    if usual {
        LAST.set(Some((memory, Rc::clone(&choice))));
    }
    Ok(choice)
}

fn select_anew<T: Item>(
    node: &Node,
    problem: &Problem,
    models: Option<&Models>,
    pin: Option<Pin<'_>>,
) -> Result<Choice, SortError> {
    let (keys, width) = (problem.keys(), problem.range.width);
    // On one node there is nothing to predict.
    let guide = models.filter(|_| problem.nodes() > 1).map_or(Guide::Rule, |models| {
        let (fit, point) = models.nearest(node, keys as f64, f64::from(width));
        Guide::Models(models, fit, point)
    });
    let mut question = Question { nodes: problem.nodes(), keys, largest: problem.largest(), width, guide };
    let candidates = candidates::<T>();
    let mut choice =
        choose(LIBRARY, &candidates, &question, pin).map_err(|error| SortError::Choose(error.to_string()))?;
    if candidates[choice.index].seconds(&question, &choice.parameters).is_none() && !choice.pinned {
        // Not even at the nearest point does a model predict anything.
        question.guide = Guide::Rule;
        choice = choose(LIBRARY, &candidates, &question, pin)
            .map_err(|error| SortError::Choose(error.to_string()))?;
    }
    if !matches!(question.guide, Guide::Models(_, Fit::Measured, _)) {
        // What ranked the candidates does not hold here as a time.
        choice.predicted = None;
        choice.note = Some(Note::Other(question.note()));
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

    /// Whether the model that ranks a candidate may be trusted.
    fn verdict(&self, name: &str) -> Verdict {
        match &self.guide {
            Guide::Models(models, ..) => models.verdict(name),
            Guide::Rule => Verdict::Unverified,
        }
    }

    /// The candidate and parameter that the rule of thumb takes.
    fn rule(&self) -> (&'static str, Option<i64>) {
        if self.nodes == 1 {
            ("local", None)
        } else if self.keys <= 1024 {
            ("gather", None)
        } else if self.width <= 16 {
            let passes = if self.width > 11 { 2 } else { 1 };
            ("radix", Some(i64::from(self.width.div_ceil(passes).max(2))))
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
        let Work { node, items, problem: &Problem { range, .. } } = work;
        work::sort::<T, _>(node, items.len(), range.width, || local::sort(items, &mut Vec::new(), range));
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

    fn verdict(&self, question: &Question<'q>) -> Verdict {
        question.verdict("gather")
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
        const { &[Parameter::new("bits", 1, 16)] }
    }

    fn seconds(&self, question: &Question<'q>, parameters: &[i64]) -> Option<f64> {
        let width = i64::from(question.width.max(1));
        let passes = (width + parameters[0] - 1) / parameters[0];
        let least = (width + passes - 1) / passes;
        (parameters[0] == least.max(2)).then(|| question.seconds("radix", parameters)).flatten()
    }

    fn predict(&self, question: &Question<'q>, parameters: &[i64]) -> Option<Prediction> {
        question.predict("radix", parameters)
    }

    fn verdict(&self, question: &Question<'q>) -> Verdict {
        question.verdict("radix")
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
        const { &[Parameter::new("oversample", 8, 64)] }
    }

    fn seconds(&self, question: &Question<'q>, parameters: &[i64]) -> Option<f64> {
        (parameters[0].count_ones() == 1).then(|| question.seconds("sample", parameters)).flatten()
    }

    fn predict(&self, question: &Question<'q>, parameters: &[i64]) -> Option<Prediction> {
        question.predict("sample", parameters)
    }

    fn verdict(&self, question: &Question<'q>) -> Verdict {
        question.verdict("sample")
    }

    fn run(&self, work: Work<'w, T>, parameters: &[i64]) {
        sample::sort(work.node, work.items, work.problem, parameters[0] as usize);
    }
}
