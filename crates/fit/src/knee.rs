//! Hinges whose place is fitted: `knee(x)` in a term becomes `max(0, x - k)`.
//!
//! The place k of each argument minimises the squared error of all terms together, first among the
//! measured values, then between the nearest two. It counts as a parameter like a coefficient: its
//! terms are judged as the best of as many candidates as there were places, it takes a degree of
//! freedom, and the coefficients' covariance is that of the model linearised in the place too.
//!
//! Source: Hinkley, *Inference about the intersection in two-phase regression* (1969); Seber and
//! Wild, *Nonlinear Regression* (1989), §2.1.2 and §9.3; Friedman, *Multivariate adaptive
//! regression splines* (1991), §3.8.

use nalgebra::{DMatrix, DVector};
use strata_model::expr::{BinaryOp, Expr, ExprKind, KNEE, Program};
use strata_model::samples::ModelSamples;
use strata_model::set::Mode;

use crate::design::{self, Design, Part};
use crate::regress::{Regression, inliers};
use crate::stats::t_quantile;
use crate::{Fault, FitError, FitOptions, Lookup, Robust, Structure};

/// The least number of measured values in a piece between breakpoints, so that no piece fits a
/// single sample: the least span of Friedman (1991), §3.8.
pub(crate) const LEAST_PIECE: usize = 3;
/// Rounds in which each place is chosen given the others.
const ROUNDS: usize = 3;
/// The most measured values that are tried as places.
const TRIED: usize = 60;
/// The 95 % quantile of χ² with one degree of freedom: places within this likelihood ratio are
/// equally good.
const LIKELY: f64 = 3.84;
/// Steps of each search between two values: the result is within a ten-millionth of the gap.
const STEPS: usize = 36;
/// Relative errors below this are rounding.
const EXACT: f64 = 1e-12;

/// A structure whose knees have places.
pub(crate) struct Placed {
    /// The structure with plain hinges.
    pub(crate) structure: Structure,
    /// Its terms as they were named.
    named: Vec<Expr>,
    knees: Vec<Knee>,
    /// Messages about knees without a place.
    pub(crate) unplaced: Vec<String>,
}

/// A placed hinge.
struct Knee {
    argument: Expr,
    at: f64,
    /// Places of nearly the same likelihood.
    likely: (f64, f64),
    /// From how many places it was chosen.
    tried: usize,
}

/// Replaces knees by hinges at given places.
fn hinged(term: &Expr, arguments: &[Expr], places: &[f64]) -> Expr {
    term.replace_calls(KNEE, &|argument| {
        let text = argument.to_string();
        let place = arguments.iter().position(|a| a.to_string() == text).map_or(0.0, |i| places[i]);
        let above = Expr::binary(BinaryOp::Subtract, argument.clone(), Expr::number(place));
        let arguments = vec![Expr::number(0.0), above];
        Expr { kind: ExprKind::Call { name: "max".into(), arguments }, span: argument.span }
    })
}

/// Calls `f` with the argument of each knee in a term.
fn each_argument(term: &Expr, f: &mut dyn FnMut(&Expr)) {
    term.visit(&mut |e| match &e.kind {
        ExprKind::Call { name, arguments } if name == KNEE => arguments.iter().for_each(&mut *f),
        _ => {}
    });
}

/// The arguments of all knees, each once.
fn arguments(terms: &[Expr]) -> Vec<Expr> {
    let mut arguments: Vec<Expr> = Vec::new();
    for term in terms {
        each_argument(term, &mut |argument| {
            let text = argument.to_string();
            if arguments.iter().all(|known| known.to_string() != text) {
                arguments.push(argument.clone());
            }
        });
    }
    arguments
}

/// The samples that determine the places of knees.
struct Samples<'a> {
    part: &'a Part,
    /// Columns of the design matrix with a knee, and their terms.
    broken: Vec<(usize, &'a Expr)>,
    arguments: &'a [Expr],
    compile: &'a dyn Fn(&Expr) -> Result<Program, FitError>,
    rows: Vec<usize>,
    weights: DVector<f64>,
}

impl Samples<'_> {
    /// The design matrix with knees at these places.
    fn matrix(&self, places: &[f64]) -> DMatrix<f64> {
        let mut matrix = self.part.matrix.clone();
        for (column, term) in &self.broken {
            match (self.compile)(&hinged(term, self.arguments, places)) {
                Ok(program) => {
                    let values = self.part.each_variables().map(|v| program.eval(v));
                    matrix.set_column(*column, &DVector::from_iterator(matrix.nrows(), values));
                }
                Err(_) => matrix.column_mut(*column).fill(0.0),
            }
        }
        matrix
    }

    /// The fitted rows, weighted, with each column scaled to length one; columns of zeros are left
    /// out.
    fn weighted(&self, matrix: &DMatrix<f64>) -> DMatrix<f64> {
        let columns = matrix.column_iter().filter_map(|column| {
            let column = DVector::from_iterator(
                self.rows.len(),
                self.rows.iter().map(|i| column[*i] * self.weights[*i]),
            );
            let length = column.norm();
            length.is_normal().then(|| column / length)
        });
        DMatrix::from_columns(&columns.collect::<Vec<_>>())
    }

    /// The residuals of the weighted times.
    fn residual(&self, places: &[f64]) -> Option<DVector<f64>> {
        let matrix = self.weighted(&self.matrix(places));
        let times = DVector::from_iterator(
            self.rows.len(),
            self.rows.iter().map(|i| self.part.times[*i] * self.weights[*i]),
        );
        if matrix.ncols() == 0 || matrix.nrows() <= matrix.ncols() || matrix.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let q = matrix.qr().q();
        let along = q.tr_mul(&times);
        Some(times - q * along)
    }

    /// The root mean square of the weighted error.
    fn error(&self, places: &[f64]) -> f64 {
        self.residual(places).map_or(f64::INFINITY, |r| r.norm() / (self.rows.len() as f64).sqrt())
    }
}

/// Chooses the places of all knees. A structure without knees is returned unchanged.
pub(crate) fn place(
    samples: &ModelSamples,
    structure: &Structure,
    options: &FitOptions,
    lookup: &Lookup<'_>,
) -> Result<Placed, FitError> {
    let mut placed = Placed::plain(structure.clone());
    let arguments = arguments(&structure.terms);
    if arguments.is_empty() {
        return Ok(placed);
    }
    let with = |places: &[f64]| Structure {
        terms: structure.terms.iter().map(|term| hinged(term, &arguments, places)).collect(),
        ..structure.clone()
    };
    let compile = |expr: &Expr| {
        let wrong = |message| FitError::of(samples, Fault::BadTerm(expr.to_string(), message));
        design::compile(expr, &structure.inputs, lookup).map_err(wrong)
    };
    let mut places = vec![0.0; arguments.len()];
    let design = design::build(samples, &with(&places), options, lookup)?;
    let part = &design.fit;
    let mut tried = Vec::new();
    for argument in &arguments {
        let program = compile(argument)?;
        let mut values: Vec<f64> = part.each_variables().map(|v| program.eval(v)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        if values.len() < 2 * LEAST_PIECE {
            let without = |term: &&Expr| {
                let mut found = false;
                each_argument(term, &mut |a| found |= a.to_string() == argument.to_string());
                !found
            };
            let terms = structure.terms.iter().filter(without).cloned().collect();
            let fewer = Structure { terms, ..structure.clone() };
            placed = place(samples, &fewer, options, lookup)?;
            placed.unplaced.push(format!(
                "the terms with `{KNEE}({argument})` are left out: to be placed it needs {} distinct values of `{argument}`, and \
                 the samples have {}",
                2 * LEAST_PIECE,
                values.len()
            ));
            return Ok(placed);
        }
        let inner = &values[LEAST_PIECE - 1..values.len() - LEAST_PIECE];
        tried.push(inner.iter().copied().step_by(inner.len().div_ceil(TRIED)).collect::<Vec<f64>>());
    }
    let column = |term: &&'_ Expr| {
        let text = hinged(term, &arguments, &places).to_string();
        design.terms.iter().position(|term| *term == text)
    };
    let broken = structure.terms.iter().filter(|term| term.calls().contains(KNEE));
    let broken = broken.filter_map(|term| Some((column(&term)?, term))).collect();
    let weights = match (&part.variances, options.mode) {
        (Some(variances), _) => variances.map(|v| 1.0 / v.sqrt()),
        (None, Mode::Relative) => part.times.map(|y| 1.0 / y),
        (None, Mode::Absolute) => part.times.map(|_| 1.0 / part.times.amax().max(f64::MIN_POSITIVE)),
    };
    let mut problem = Samples {
        part,
        broken,
        arguments: &arguments,
        compile: &compile,
        rows: (0..part.rows.len()).collect(),
        weights,
    };
    if options.robust == Robust::Reject {
        // Hinges at three places approximate any place well enough to detect outliers.
        let quarters = [1, 2, 3].map(|quarter| {
            let at: Vec<f64> = tried.iter().map(|values| values[quarter * (values.len() - 1) / 4]).collect();
            problem.weighted(&problem.matrix(&at))
        });
        let columns: Vec<_> = quarters.iter().flat_map(DMatrix::column_iter).collect();
        let times = part.times.component_mul(&problem.weights);
        let noise = vec![f64::INFINITY; times.len()];
        let kept = inliers(&DMatrix::from_columns(&columns), &part.variables, &times, &noise);
        problem.rows = kept.map_or(problem.rows, |kept| kept.rows);
    }
    for (place, values) in places.iter_mut().zip(&tried) {
        *place = values[values.len() / 2];
    }
    for round in 0..ROUNDS {
        for (i, values) in tried.iter().enumerate() {
            let error = |at: f64| {
                let mut places = places.clone();
                places[i] = at;
                problem.error(&places)
            };
            let errors: Vec<f64> = values.iter().map(|at| error(*at)).collect();
            let best = (0..values.len()).min_by(|a, b| errors[*a].total_cmp(&errors[*b])).unwrap_or(0);
            let neighbours = (values[best.saturating_sub(1)], values[(best + 1).min(values.len() - 1)]);
            let at = nearby(neighbours.0, values[best], neighbours.1, &error);
            let likely = |e: f64| 2.0 * problem.rows.len() as f64 * (e / error(at)).ln() <= LIKELY;
            let (low, high) = (0..values.len())
                .filter(|j| likely(errors[*j]))
                .fold(neighbours, |(low, high), j| (values[j].min(low), values[j].max(high)));
            places[i] = at;
            if round + 1 == ROUNDS {
                let argument = arguments[i].clone();
                placed.knees.push(Knee { argument, at, likely: (low, high), tried: values.len() });
            }
        }
        if options.mode == Mode::Relative
            && part.variances.is_none()
            && let Some(residual) = problem.residual(&places)
        {
            for (row, residual) in problem.rows.iter().zip(residual.iter()) {
                let time = part.times[*row];
                let predicted = time - residual / problem.weights[*row];
                let share = crate::regress::LEAST_SHARE;
                problem.weights[*row] = 1.0 / predicted.clamp(share * time, time / share);
            }
        }
    }
    placed.structure = with(&places);
    Ok(placed)
}

impl Placed {
    /// A structure without knees.
    pub(crate) fn plain(structure: Structure) -> Self {
        Self { named: structure.terms.clone(), structure, knees: Vec::new(), unplaced: Vec::new() }
    }

    /// The knees of a term of the placed structure.
    fn knees_of(&self, term: &str) -> Vec<usize> {
        let mut found = Vec::new();
        let place = self.structure.terms.iter().position(|t| t.to_string() == term);
        if let Some(named) = place.and_then(|place| self.named.get(place)) {
            each_argument(named, &mut |argument| {
                let text = argument.to_string();
                found.extend(self.knees.iter().position(|knee| knee.argument.to_string() == text));
            });
        }
        found
    }

    /// The number of candidates for a term, because of the place of its knee.
    pub(crate) fn tried(&self, term: &str) -> usize {
        self.knees_of(term).into_iter().map(|knee| self.knees[knee].tried).max().unwrap_or(1)
    }

    /// Adds the uncertainty of the places to the covariance, and reports the places.
    pub(crate) fn widen(
        &self,
        regression: &mut Regression,
        design: &Design,
        options: &FitOptions,
        lookup: &Lookup<'_>,
    ) -> Vec<String> {
        let kept: Vec<usize> =
            (0..design.terms.len()).filter(|j| regression.coefficients[*j] != 0.0).collect();
        let bent: Vec<usize> = (0..self.knees.len())
            .filter(|knee| kept.iter().any(|j| self.knees_of(&design.terms[*j]).contains(knee)))
            .collect();
        if bent.is_empty() {
            return Vec::new();
        }
        let part = &design.fit;
        let arguments: Vec<Expr> = self.knees.iter().map(|knee| knee.argument.clone()).collect();
        // How the prediction at each sample changes with each place.
        let slope = |knee: usize| {
            let (low, high) = self.knees[knee].likely;
            let step = 1e-3 * (high - low).max(f64::EPSILON * self.knees[knee].at.abs());
            let mut slopes = DVector::zeros(part.rows.len());
            for j in &kept {
                let term = self.structure.terms.iter().position(|t| t.to_string() == design.terms[*j]);
                let Some(named) = term.and_then(|term| self.named.get(term)) else { continue };
                for side in [-1.0, 1.0] {
                    let mut places: Vec<f64> = self.knees.iter().map(|knee| knee.at).collect();
                    places[knee] += side * step;
                    let moved = hinged(named, &arguments, &places);
                    let Ok(program) = design::compile(&moved, &self.structure.inputs, lookup) else {
                        continue;
                    };
                    for (slope, variables) in slopes.iter_mut().zip(part.each_variables()) {
                        *slope += side / (2.0 * step) * regression.coefficients[*j] * program.eval(variables);
                    }
                }
            }
            slopes
        };
        let mean = part.times.mean();
        let weight = |i: usize| {
            let predicted: f64 =
                kept.iter().map(|j| regression.coefficients[*j] * part.matrix[(i, *j)]).sum();
            let fitted = regression.rejected.binary_search(&i).is_err();
            let share = if options.mode == Mode::Relative { mean / predicted } else { 1.0 };
            if fitted && share.is_finite() { share } else { 0.0 }
        };
        let weights = DVector::from_fn(part.rows.len(), |i, _| weight(i));
        let mut columns: Vec<DVector<f64>> =
            kept.iter().map(|j| part.matrix.column(*j).component_mul(&weights)).collect();
        let lengths: Vec<f64> = columns.iter().map(|column| column.norm().max(f64::MIN_POSITIVE)).collect();
        columns.iter_mut().zip(&lengths).for_each(|(column, length)| *column /= *length);
        let bends: Vec<DVector<f64>> = bent.iter().map(|k| slope(*k).component_mul(&weights)).collect();
        let bends = DMatrix::from_columns(&bends);
        let qr = DMatrix::from_columns(&columns).qr();
        let along = qr.q().tr_mul(&bends);
        let left = &bends - qr.q() * &along;
        // The coefficients' block of the inverse grows by their covariance with the places. With
        // more coefficients than samples, which depend on each other, the block does not exist.
        let grown = (columns.len() <= part.rows.len())
            .then(|| left.tr_mul(&left).try_inverse().zip(qr.r().solve_upper_triangular(&along)))
            .flatten()
            .map(|(inverse, through)| &through * inverse * through.transpose());
        let used = part.rows.len() - regression.rejected.len();
        let freedom = used.saturating_sub(regression.rank + bent.len());
        if let (Some(grown), Some(t)) =
            (grown.filter(|g| g.iter().all(|v| v.is_finite())), t_quantile(options.confidence, freedom))
        {
            let fewer = (used - regression.rank) as f64 / freedom as f64;
            regression.noise_variance *= fewer;
            regression.t_quantile = t;
            for (a, j) in kept.iter().enumerate() {
                for (b, l) in kept.iter().enumerate() {
                    let more = regression.noise_variance * grown[(a, b)] / (lengths[a] * lengths[b]);
                    regression.covariance[*j][*l] = fewer * regression.covariance[*j][*l] + more;
                }
                regression.std_errors[*j] = (regression.covariance[*j][*j] / regression.design_effect).sqrt();
            }
            for (i, leverage) in regression.leverages.iter_mut().enumerate() {
                let row = DVector::from_iterator(columns.len(), columns.iter().map(|column| column[i]));
                *leverage += row.dot(&(&grown * &row));
            }
        }
        let say = |knee: &usize| {
            let Knee { argument, at, likely: (low, high), .. } = &self.knees[*knee];
            format!("the knee of `{argument}` lies at {at}, somewhere from {low} to {high}")
        };
        bent.iter().map(say).collect()
    }
}

/// The place of least error about `at`, between its neighbours; a round number with the same error
/// is more likely the truth.
pub(crate) fn nearby(below: f64, at: f64, above: f64, error: &dyn Fn(f64) -> f64) -> f64 {
    let sides = [(below, at), (at, above)].map(|(low, high)| golden(low, high, error));
    let (found, least) = if sides[0].1 <= sides[1].1 { sides[0] } else { sides[1] };
    let least = least.min(error(at));
    let three_digits = format!("{found:.2e}").parse().unwrap_or(found);
    let round = [found.log2().round().exp2(), found.round(), three_digits, found];
    let inside = |place: &f64| (below..=above).contains(place) && error(*place) <= least * 1.001 + EXACT;
    round.into_iter().find(inside).unwrap_or(at)
}

/// The least value of a function between two bounds, by golden section.
fn golden(mut low: f64, mut high: f64, f: &dyn Fn(f64) -> f64) -> (f64, f64) {
    const SHARE: f64 = 0.618_033_988_749_894_8;
    let (mut left, mut right) = (high - SHARE * (high - low), low + SHARE * (high - low));
    let (mut at_left, mut at_right) = (f(left), f(right));
    for _ in 0..STEPS {
        if at_left <= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - SHARE * (high - low);
            at_left = f(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + SHARE * (high - low);
            at_right = f(right);
        }
    }
    if at_left <= at_right { (left, at_left) } else { (right, at_right) }
}
