//! The loss of choices as fits of parts of the samples judge it.
//!
//! The covariance of coefficients knows nothing of what a fit chose besides them: the place of a
//! knee, which may be far away as likely as near, and the terms that were kept. Fits of all terms
//! that leave out a quarter of the samples each judge the choice. They deviate from the fit of all
//! samples by a third of the variance by which that one deviates from the truth (the delete-d
//! jackknife, d/(n - d) = 1/3: Shao and Wu 1989), and an expected loss grows as the variance, so it
//! is three times what they say.

use strata_model::{ModelSet, Samples};

use crate::advise::places;
use crate::competition::Competition;

/// Each fit leaves out one of so many parts.
const FOLDS: usize = 4;

/// The expected loss of what `chosen` chooses for `library`, as a share of the time, on average
/// over its inputs; `fit` fits all terms to samples. Infinite where a part does not suffice for a
/// choice.
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

/// The samples but for every fourth of each model. Those for verification stay: no fit reads them.
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

/// By how much longer than its own choice `judge` predicts that of `chosen` to take, as a share.
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
