//! Inputs with few values: whether a model holds between them, which held-out samples of the same
//! values cannot show.
//!
//! Each value but the first and the last is predicted by a fit of the others: Cook and Weisberg,
//! *Residuals and Influence in Regression* (1982), §3.6.

use std::collections::BTreeSet;

use nalgebra::{DMatrix, DVector};
use strata_model::expr::{Program, holds};
use strata_model::percent;
use strata_model::set::Mode;

use super::held_out::{MEAN_OF_NORMAL, Own, own_error};
use crate::design::{Design, compile};
use crate::domain::FEW;
use crate::points;
use crate::regress::Regression;
use crate::{FitOptions, Lookup, Residual, Structure};

/// At most so many samples are left out.
const ENOUGH: usize = 4096;

/// How a model does between the values of an input.
#[derive(Clone, Debug)]
pub(crate) struct Between {
    input: String,
    values: usize,
    /// The error at a value that takes no part in the fit; `None` if the others do not determine
    /// the terms, or there is no value between others.
    own: Option<Own>,
}

impl Between {
    /// The inputs of few values of which no other was held out, but others meet the requirements.
    /// Parameters have no other values.
    pub(crate) fn all(
        design: &Design,
        regression: &Regression,
        structure: &Structure,
        (fit, verify): (&[Residual], &[Residual]),
        lookup: &Lookup<'_>,
        options: &FitOptions,
    ) -> Vec<Self> {
        let requires = structure.requires.iter().map(|one| compile(one, &structure.inputs, lookup).ok());
        let requires: Vec<Program> = requires.flatten().collect();
        let of = |(place, input): (usize, &String)| {
            let value = |r: &Residual| r.inputs[place].to_bits();
            let mut values: Vec<f64> =
                fit.iter().map(value).collect::<BTreeSet<u64>>().into_iter().map(f64::from_bits).collect();
            values.sort_by(f64::total_cmp);
            let is_known = |r: &Residual| values.contains(&r.inputs[place]);
            let counts = (2..=FEW).contains(&values.len())
                && !structure.parameters.contains(input)
                && verify.iter().all(is_known)
                && values.windows(2).any(|pair| is_reached_between(pair, place, design, &requires));
            counts.then(|| {
                let inner = &values[1..values.len() - 1];
                let errors = left_out(design, regression, fit, place, inner, options);
                let own = errors.filter(|errors| !errors.is_empty()).map(|errors| own_error(&errors));
                Self { input: input.clone(), values: values.len(), own }
            })
        };
        structure.inputs.iter().enumerate().filter_map(of).collect()
    }

    /// The standard deviation of a time there, relative to its prediction.
    pub(crate) fn deviation(&self) -> f64 {
        self.own.map_or(0.0, |own| own.at / MEAN_OF_NORMAL)
    }

    /// What is known between the values, and whether the model may be off by more than is accepted.
    pub(super) fn finding(&self, accept: f64) -> (String, bool) {
        let Self { input, values, own } = self;
        let nothing = format!("between the {values} values of `{input}` nothing was verified");
        match own {
            Some(own) if own.at > accept => {
                (format!("{nothing}, and one that is left out is missed by {}", percent(own.at)), true)
            }
            Some(own) => {
                let missed = percent(own.at);
                (
                    format!(
                        "each inner value of `{input}`, of {values}, predicted from the others, is missed by {missed}"
                    ),
                    false,
                )
            }
            None if *values > 2 => {
                (format!("{nothing}, and the terms follow each of them, so that any curve fits"), true)
            }
            None => (nothing, false),
        }
    }
}

/// Whether an input has values between two, whole ones between whole numbers, with which some sample
/// meets the requirements.
fn is_reached_between(pair: &[f64], place: usize, design: &Design, requires: &[Program]) -> bool {
    /// More whole numbers are not all tried.
    const TRIED: f64 = 64.0;
    let (low, high) = (pair[0], pair[1]);
    let is_whole = low.fract() == 0.0 && high.fract() == 0.0;
    let step = if is_whole { ((high - low) / TRIED).ceil() } else { 0.5 * (high - low) };
    let mut values = std::iter::successors(Some(low + step), |value| Some(value + step));
    values.by_ref().take_while(|value| *value < high).any(|value| {
        requires.is_empty()
            || design.fit.each_variables().any(|variables| {
                let mut variables = variables.to_vec();
                variables[place] = value;
                requires.iter().all(|one| holds(one.eval(&variables)))
            })
    })
}

/// The relative error of each sample at `inner` values of an input, predicted without the samples of
/// its value, beside its noise; `None` if the other values do not determine the terms.
fn left_out(
    design: &Design,
    regression: &Regression,
    fit: &[Residual],
    place: usize,
    inner: &[f64],
    options: &FitOptions,
) -> Option<Vec<(f64, f64)>> {
    let is_used = |i: &usize| {
        let r = &fit[*i];
        r.observed != 0.0 && r.predicted > 0.0 && regression.rejected.binary_search(i).is_err()
    };
    // More samples tell the error no better, and each costs as in the fit.
    let stride = fit.len().div_ceil(ENOUGH);
    let rows: Vec<usize> = (0..fit.len()).filter(is_used).step_by(stride).collect();
    let terms: Vec<usize> =
        (0..regression.coefficients.len()).filter(|j| regression.coefficients[*j] != 0.0).collect();
    if rows.len() <= terms.len() || terms.is_empty() {
        return None;
    }
    let unit = |i: usize| if options.mode == Mode::Relative { fit[i].predicted } else { 1.0 };
    let weighted = DMatrix::from_fn(rows.len(), terms.len(), |i, j| {
        design.fit.matrix[(rows[i], terms[j])] / unit(rows[i])
    });
    let times = DVector::from_fn(rows.len(), |i, _| fit[rows[i]].observed / unit(rows[i]));
    let q = weighted.qr().q();
    let residual = &times - &q * q.tr_mul(&times);
    let groups = points::groups(rows.iter().map(|i| std::iter::once(fit[*i].inputs[place])));
    let errors = points::left_out_groups(&q, &residual, &groups)?;
    let at_inner = |i: &usize| inner.contains(&fit[rows[*i]].inputs[place]);
    let relative = |i: usize| {
        let r = &fit[rows[i]];
        ((errors[i] * unit(rows[i]) / r.observed).abs(), MEAN_OF_NORMAL * r.noise)
    };
    Some((0..rows.len()).filter(at_inner).map(relative).collect())
}
