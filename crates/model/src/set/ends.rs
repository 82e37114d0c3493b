//! Ranges of parameters that depend on the problem or on the machine: `1..=min(cores, n)`.
//!
//! A candidate predicts nothing outside of them ([`Ends::conditions`]), so every evaluator respects
//! them; a search asks for the range itself ([`Ends::range`]). The words of the machine stand for
//! the numbers of the set's platform: more cores were not measured, but a choice may use fewer.

use super::check::{content, parse};
use super::{Library, LibraryCandidate, ParameterRange, SetError};
use crate::Platform;
use crate::expr::{BinaryOp, Expr, Program, RESERVED, node_values};
use crate::platform::{CORES, MACHINE};
use strata_select::table::Parameter;

/// The ends of a parameter's range.
#[derive(Clone, Debug)]
pub struct Ends {
    name: String,
    /// Over the library's inputs, `P`, `logP`, `sqrtP` and `cores`.
    first: Expr,
    last: Expr,
    programs: [Program; 2],
    inputs: usize,
    /// Whether `cores` stands for the machine's cores: no input has the name.
    reads_cores: bool,
    /// The cores of the platform; infinite if unknown.
    cores: f64,
    /// The parameter with the bounds of the range.
    bounds: Parameter,
}

impl Ends {
    /// The ends of each parameter of a candidate; `None` if its range is constant. If the platform
    /// lacks a word of the machine, the range is empty.
    ///
    /// # Errors
    /// An end is not an expression, or reads an unknown name.
    pub(super) fn of(
        library: &Library,
        candidate: &LibraryCandidate,
        platform: Option<&Platform>,
    ) -> Result<Vec<Option<Self>>, SetError> {
        let place = format!("library `{}`, candidate `{}`", library.name, candidate.name);
        let one = |range: &ParameterRange| {
            if range.is_constant() { Ok(None) } else { Self::new(&place, library, range, platform).map(Some) }
        };
        candidate.parameters.iter().map(one).collect()
    }

    fn new(
        place: &str,
        library: &Library,
        range: &ParameterRange,
        platform: Option<&Platform>,
    ) -> Result<Self, SetError> {
        let is_input = |name: &str| library.inputs.iter().any(|input| input == name);
        let reads_cores = !is_input(CORES);
        let number = |name: &str| platform.and_then(|platform| platform.machine_number(name));
        let word = |name: &str| {
            let is_constant = MACHINE.contains(&name) && name != CORES && !is_input(name);
            is_constant.then(|| Expr::number(number(name).unwrap_or(f64::NAN)))
        };
        let end = |text: &Option<String>, bound: i64| -> Result<Expr, SetError> {
            let Some(text) = text else { return Ok(Expr::number(bound as f64)) };
            Ok(parse(place, "the end of a range", text)?.substitute(&word))
        };
        let (first, last) = (end(&range.first, range.min)?, end(&range.last, range.max)?);
        let mut names: Vec<&str> = library.inputs.iter().map(String::as_str).chain(RESERVED).collect();
        names.extend(reads_cores.then_some(CORES));
        let compiled = |end: &Expr| {
            Program::compile(end, &names)
                .or_else(|error| content(place, format!("an end of the range of `{}`: {error}", range.name)))
        };
        let programs = [compiled(&first)?, compiled(&last)?];
        Ok(Self {
            name: range.name.clone(),
            first,
            last,
            programs,
            inputs: library.inputs.len(),
            reads_cores,
            cores: number(CORES).unwrap_or(f64::INFINITY),
            bounds: Parameter::new("", range.min, range.max),
        })
    }

    /// The first and the last value, over the library's inputs, `P`, `logP`, `sqrtP` and, if it is
    /// not an input, `cores`.
    #[must_use]
    pub fn ends(&self) -> [&Expr; 2] {
        [&self.first, &self.last]
    }

    /// The number of the library's inputs.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The cores of the platform, if an end reads the machine's `cores`.
    #[must_use]
    pub fn cores(&self) -> Option<f64> {
        let reads = self.reads_cores && self.ends().iter().any(|end| end.names().contains(CORES));
        reads.then_some(self.cores)
    }

    /// The conditions of a value in the range, on the set's platform.
    pub(super) fn conditions(&self) -> impl Iterator<Item = Expr> + '_ {
        let here = |name: &str| (self.reads_cores && name == CORES).then(|| Expr::number(self.cores));
        let value = || Expr::name(self.name.clone());
        let at_most = |low, high| Expr::binary(BinaryOp::LessEqual, low, high);
        // A plain number is already in `min` or `max`.
        let depends = |end: &&Expr| end.as_number().is_none_or(f64::is_nan);
        let first = Some(&self.first).filter(depends).map(|end| at_most(end.substitute(&here), value()));
        let last = Some(&self.last).filter(depends).map(|end| at_most(value(), end.substitute(&here)));
        first.into_iter().chain(last)
    }

    /// The least and the greatest value for a problem, with at most so many cores; empty if the
    /// greatest is less. Does not allocate.
    pub(super) fn range(&self, nodes: usize, cores: usize, inputs: &[f64]) -> Option<(i64, i64)> {
        if inputs.len() != self.inputs {
            return None;
        }
        let [p, log_p, sqrt_p] = node_values(nodes);
        let known = [p, log_p, sqrt_p, self.cores.min(cores as f64)];
        let known = if self.reads_cores { &known[..] } else { &known[..RESERVED.len()] };
        let [first, last] = [0, 1].map(|end| self.programs[end].eval_parts(inputs, &[], known));
        Some(self.bounds.within((first, last)))
    }
}
