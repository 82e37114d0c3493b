//! Whether a model can be sampled: not too many points, and some that its requirements admit.

use std::ops::ControlFlow;

use strata_model::expr::{Expr, Program, RESERVED, Span, holds};
use strata_model::platform::MACHINE;

use crate::lang::checked::LoopPlan;
use crate::lang::diagnostic::{CheckError, ErrorCode};
use crate::lang::loop_points::{Nest, TooManyPoints, reserved_values, variables};
use crate::lang::machine::{loops_with_numbers, with_numbers};

/// The numbers of nodes that are tried if bounds or requirements depend on them.
const NODES: [usize; 8] = [4, 1, 2, 3, 8, 16, 64, 1024];

/// The machines that are tried if bounds or requirements depend on them: what [`MACHINE`] names. The
/// first is small.
const MACHINES: [[f64; 5]; 3] = [
    [16_384.0, 131_072.0, 1_048_576.0, 1.0, 1.0],
    [49_152.0, 2_097_152.0, 33_554_432.0, 8.0, 2.0],
    [131_072.0, 16_777_216.0, 1_073_741_824.0, 256.0, 4.0],
];

/// How many points may still be looked at, all models together.
///
/// A model whose points are not looked at passes: the harness counts them again when it knows the
/// nodes.
pub(super) struct Effort(u64);

impl Effort {
    pub(super) fn new() -> Self {
        Self(20_000_000)
    }
}

/// The error for a requirement that no sample meets.
pub(super) fn excluded(message: String, span: Span) -> CheckError {
    let error = CheckError::new(ErrorCode::Excluded, message, span, "never holds");
    error.help("widen the loops or the requirement, so that something is left to measure")
}

/// Counts the points of a nest and looks for one that meets all `requires`, which are over
/// iteration variables and the machine.
pub(super) fn check(
    loops: &[LoopPlan],
    nest_span: Span,
    requires: &[(Expr, Span)],
    effort: &mut Effort,
) -> Option<CheckError> {
    let names = variables(loops.iter().map(|plan| plan.name.as_str()));
    let depends = |expr: &Expr| RESERVED.iter().any(|name| expr.names().contains(*name));
    // Requirements are reduced to iteration variables and words of the machine, so that any other
    // name is the machine's.
    let reads_machine = |expr: &Expr| expr.names().iter().any(|name| !names.contains(&name.as_str()));
    let bounds = || loops.iter().flat_map(|plan| [&plan.first, &plan.last]);
    let required = || requires.iter().map(|(expr, _)| expr);
    let bounds_depend = bounds().any(depends);
    let nodes = if bounds_depend || required().any(depends) { &NODES[..] } else { &NODES[..1] };
    let machines = if bounds().chain(required()).any(reads_machine) { &MACHINES[..] } else { &MACHINES[..1] };
    let number = |machine: &[f64; 5], name: &str| {
        let word = MACHINE.iter().position(|word| *word == name && !names.contains(word))?;
        Some(machine[word])
    };

    let mut nests = Vec::with_capacity(machines.len());
    for machine in machines {
        nests.push(Nest::new(loops_with_numbers(loops, &|name| number(machine, name))).ok()?);
    }
    let mut some_point = false;
    for (at, nest) in nests.iter().enumerate() {
        for &nodes in if bounds_depend { nodes } else { &nodes[..1] } {
            match nest.count(nodes) {
                // What many nodes or large caches make too large is for the run to say.
                Err(TooManyPoints) if nodes <= 4 && at == 0 => {
                    let message = TooManyPoints.to_string();
                    let error = CheckError::new(ErrorCode::Loop, message, nest_span, "too many points");
                    return Some(error.help("the samples of a fit are few: some tens or hundreds"));
                }
                Err(TooManyPoints) => some_point = true,
                Ok(points) => some_point |= points > 0,
            }
        }
    }
    if !some_point {
        let error = CheckError::new(ErrorCode::Loop, "the loop nest has no point", nest_span, "always empty");
        return Some(error.help("an inner loop's first value is always greater than its last"));
    }
    if requires.is_empty() {
        return None;
    }
    // How often each requirement failed first: to say which one excludes everything.
    let mut failures = vec![0_u64; requires.len()];
    for (machine, nest) in machines.iter().zip(&nests) {
        let mut programs = Vec::with_capacity(requires.len());
        for (expr, span) in requires {
            match Program::compile(&with_numbers(expr, &|name| number(machine, name)), &names) {
                Ok(program) => programs.push(program),
                Err(error) => {
                    return Some(CheckError::new(ErrorCode::TooLarge, error.to_string(), *span, "too large"));
                }
            }
        }
        for &nodes in nodes {
            let mut values = reserved_values(nodes).to_vec();
            let mut found = false;
            let walked = nest.visit(nodes, &mut |point| {
                effort.0 = effort.0.saturating_sub(1);
                values.truncate(3);
                values.extend(point.iter().map(|&value| value as f64));
                match programs.iter().position(|program| !holds(program.eval(&values))) {
                    Some(failed) => failures[failed] += 1,
                    None => found = true,
                }
                if found || effort.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if found || effort.0 == 0 || walked.is_err() {
                return None;
            }
        }
    }
    let alone = failures.iter().filter(|&&count| count > 0).count() == 1;
    let worst = failures.iter().enumerate().max_by_key(|&(_, count)| *count).map_or(0, |(at, _)| at);
    let message = if alone {
        "this requirement excludes every sample"
    } else {
        "the requirements exclude every sample together"
    };
    requires.get(worst).map(|(_, span)| excluded(message.to_owned(), *span))
}
