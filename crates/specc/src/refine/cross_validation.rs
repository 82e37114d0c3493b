//! The loss of choices, estimated with fits of parts of the samples.
//!
//! The covariance of coefficients does not include what else a fit chooses: the place of a knee,
//! which can be far off, and the terms that are kept. So fits of all terms that leave out a quarter
//! of the samples each judge the choice. The variance of such a fit about the fit of all samples is
//! a third of the variance of that one about the truth (the delete-d jackknife, d/(n - d) = 1/3:
//! Shao and Wu 1989). An expected loss grows as the variance, so the estimate is three times the
//! loss found with these fits.

use strata_model::{ModelSet, Samples};

use crate::advise::places;
use crate::competition::Competition;

/// The number of parts; each fit leaves out one.
const FOLDS: usize = 4;

/// The expected relative loss of the choices of `chosen` for `library`, on average over its inputs.
/// `fit` fits all terms to samples. Infinite if a fit of a part gives no choice.
pub(super) fn loss(
    library: &str,
    chosen: &ModelSet,
    samples: &Samples,
    fit: &mut dyn FnMut(&Samples) -> ModelSet,
) -> f64 {
    let losses = (0..FOLDS).map(|fold| {
        let judge = fit(&without(samples, fold));
        judged(library, chosen, &judge).unwrap_or(f64::INFINITY)
    });
    losses.sum::<f64>() / FOLDS as f64 * (FOLDS - 1) as f64
}

/// The samples without every fourth fit sample of each model. Verification samples stay; no fit
/// reads them.
fn without(samples: &Samples, fold: usize) -> Samples {
    let mut rest = samples.clone();
    for model in &mut rest.models {
        let mut fitted = 0;
        model.rows.retain(|row| {
            fitted += usize::from(!row.verify);
            row.verify || fitted % FOLDS != fold
        });
    }
    rest
}

/// How much longer the choice of `chosen` takes than that of `judge`, by the predictions of
/// `judge`, as a share.
fn judged(library: &str, chosen: &ModelSet, judge: &ModelSet) -> Option<f64> {
    let chooser = Competition::new(chosen, library).ok()?;
    let judge = Competition::new(judge, library).ok()?;
    let ranges: Vec<_> = (0..chooser.inputs().len()).map(|i| (chooser.range(i), false)).collect();
    let lost = |inputs: &Vec<f64>| {
        let seconds = |by: &Competition| {
            let choice = by.choose(inputs, None).ok().filter(|choice| choice.predicted.is_some())?;
            let candidate = judge.candidates().iter().position(|row| row.name == choice.name)?;
            Some(judge.sensitivity(candidate, inputs, &choice.parameters)?.seconds)
        };
        let lost = seconds(&chooser)? / seconds(&judge)? - 1.0;
        lost.is_finite().then_some(lost.max(0.0))
    };
    let lost: Vec<f64> = places(&ranges)?.iter().filter_map(lost).collect();
    (!lost.is_empty()).then(|| lost.iter().sum::<f64>() / lost.len() as f64)
}
