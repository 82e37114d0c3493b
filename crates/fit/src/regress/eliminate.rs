//! Which term is dropped next: by its interval, or by an information criterion.
//!
//! Both need only the fit of the kept terms: the fit without one of them follows in closed
//! form. Without term j the coefficients move by −βⱼ Cⱼ/Cⱼⱼ, where C = (AᵀA)⁻¹, and the squared
//! error grows by βⱼ²/Cⱼⱼ.
//!
//! Source: Brewer (1994), §3.6.2; Hurvich and Tsai, *Regression and time series model selection in
//! small samples* (1989); Golub and Van Loan, *Matrix Computations*, 4th ed., §6.1.4.

use super::step::Step;
use super::subset;
use crate::Elimination;

/// Ratios that differ by less than this share count as equal.
const TIE: f64 = 1e-6;

/// The index among the active terms of the term to drop, if one is irrelevant. `leading`: terms that
/// stay until sets are compared; `needed`: the ratio of each term from which it is sure.
pub(super) fn least_relevant(
    step: &Step,
    by: Elimination,
    leading: &[usize],
    needed: &dyn Fn(usize) -> f64,
) -> Option<usize> {
    let ratios = step.ratios();
    let least = ratios.iter().copied().min_by(f64::total_cmp)?;
    let weakest = ratios.iter().rposition(|r| *r <= least * (1.0 + TIE))?;
    let deficient = step.solution.as_ref().is_some_and(|s| s.rank < s.coefficients.len());
    match by {
        Elimination::Confidence => (least <= 1.0).then_some(weakest),
        // The remaining terms are compared as sets.
        Elimination::BestSubset if step.active.len() <= subset::MOST => None,
        Elimination::BestSubset => {
            let follows = |(at, _): &(usize, f64)| !leading.contains(&step.active[*at]);
            let sureness = |(at, ratio): (usize, f64)| (at, ratio / needed(step.active[at]));
            let others = || ratios.iter().copied().enumerate().filter(follows).map(sureness);
            let least = others().map(|(_, sure)| sure).min_by(f64::total_cmp).filter(|sure| *sure < 1.0)?;
            others().rfind(|(_, sure)| *sure <= least * (1.0 + TIE)).map(|(at, _)| at)
        }
        // A coefficient that is only rounding, or that a dependent term shares.
        _ if least == 0.0 || deficient => {
            let group = step.solution.as_ref().and_then(|s| s.dependent.first());
            Some(group.and_then(|g| g.last().copied()).unwrap_or(weakest))
        }
        Elimination::Aicc => best_without(step, aicc),
    }
}

/// The term without which the criterion is least, if that is at most the criterion with all terms.
fn best_without(step: &Step, criterion: fn(&Step, Option<usize>) -> f64) -> Option<usize> {
    let count = step.active.len();
    let with_all = criterion(step, None);
    let without = (0..count).map(|j| (j, criterion(step, Some(j))));
    let (best, value) = without.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (value <= with_all).then_some(best)
}

/// The corrected information criterion, without one of the terms or with all.
fn aicc(step: &Step, without: Option<usize>) -> f64 {
    let Some(s) = &step.solution else { return f64::INFINITY };
    let n = step.samples;
    let grown = without.map_or(0.0, |j| s.coefficients[j].powi(2) / s.covariance[(j, j)]);
    // The variance is a parameter too.
    let parameters = (s.rank + 1 - usize::from(without.is_some())) as f64;
    let sse = (step.weighted_sse() + grown).max(step.rounding * n).max(f64::MIN_POSITIVE);
    let correction = n - parameters - 1.0;
    if correction <= 0.0 {
        return f64::INFINITY;
    }
    n * (sse / n).ln() + 2.0 * parameters + 2.0 * parameters * (parameters + 1.0) / correction
}
