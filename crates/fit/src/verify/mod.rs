//! The evidence for and against a fitted model: held-out errors, intervals, and structure in the
//! residuals.
//!
//! The mean relative error of held-out samples decides between verified and failed (Brewer §3.6.3),
//! but only the model's own part of it: the noise of the samples, known from their repeats, is
//! taken out. The model is verified if the 95 % interval of the rest lies within the accepted
//! error, and failed if it lies above. Otherwise the model is as good as these samples can show,
//! which is *verified within noise* only if the noise is within the accepted error, too.
//!
//! A model may pass with a visible error: residuals that follow an input, errors that change with
//! the predicted time, one sample that decides alone. Each is tested at one chance in a thousand,
//! and only if the errors matter: above a tenth of the accepted error. The model is doubtful unless
//! held-out samples exclude that, for a third of the input's values or of the times, the model is
//! off by more than is accepted. If they exclude it, the reason of the verified model mentions the
//! finding: a term is missing, or intervals are too narrow.
//!
//! Held-out samples cannot exclude what they share with the fitted ones: a machine that changed
//! during the run, or values of an input that are special by being powers of two. If times follow
//! the order of the samples, or such values, by about the accepted error, the model is doubtful.
//!
//! Nor can they show what happens between the values of an input if all samples share a few: there,
//! each value left out in turn is the evidence.
//!
//! Source: Wald and Wolfowitz (1940) for runs; Mann and Whitney (1947) for special values; Breusch
//! and Pagan (1979), in the form of Koenker (1981); Cook (1977).

mod between;
mod held_out;
mod residuals;

use std::fmt::Write as _;

use strata_model::percent;
use strata_model::set::Verdict;

pub(crate) use self::between::Between;
pub(crate) use self::held_out::{HeldOut, MEAN_OF_NORMAL};
use self::residuals::{Structure, hidden, matters, structure};
use crate::regress::Regression;
use crate::solve::sum;
use crate::{FitOptions, Residual};

/// A third of the samples with so many times the mean error is mentioned.
const STANDS_OUT: f64 = 1.25;
/// Tasks below these times may be empty, or too short for the timer, s.
const NOTHING: f64 = 5e-9;
const COARSE: f64 = 1e-5;
/// An input varies if its greatest value is this many times its least.
const VARIES: f64 = 8.0;

/// A verdict with its reason as text.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) reason: String,
    pub(crate) doubts: Vec<String>,
}

/// The verdict on a model. `wrong`: where in its domain a prediction is not a time, if anywhere.
pub(crate) fn judge(
    regression: &Regression,
    inputs: &[String],
    fit: &[Residual],
    verify: &[Residual],
    held_out: &HeldOut,
    wrong: Option<String>,
    options: &FitOptions,
) -> Judgement {
    let failed = |reason: String| Judgement { verdict: Verdict::Failed, reason, doubts: Vec::new() };
    let accept = percent(options.accept);
    if regression.coefficients.iter().all(|c| *c == 0.0) {
        return failed(if options.constant && regression.coefficients.len() == 1 {
            "there are no terms but a constant, which these samples do not tell from zero: name terms, or give \
             more samples to search for some"
                .into()
        } else {
            "no term is relevant: the times do not depend on any of them".into()
        });
    }
    if let Some(r) = verify.iter().find(|r| !r.predicted.is_finite()) {
        return failed(format!(
            "the prediction at the verification sample of line {} is {}",
            r.line, r.predicted
        ));
    }
    if let Some(r) = verify.iter().find(|r| r.predicted < 0.0 && r.observed >= 0.0) {
        return failed(format!(
            "the prediction at the verification sample of line {} is negative ({:.3e} s)",
            r.line, r.predicted
        ));
    }
    if let Some(wrong) = wrong {
        return failed(wrong);
    }
    if verify.is_empty() {
        let reason = "there are no verification samples".to_owned();
        return Judgement { verdict: Verdict::Unverified, reason, doubts: Vec::new() };
    }
    let Some((mre, own)) = held_out.mre.zip(held_out.own) else {
        return failed("the verification samples have no relative error: their times are zero".into());
    };
    let mut reason =
        format!("the mean relative error of {} verification samples is {}", verify.len(), percent(mre));
    if held_out.noise > 0.0 {
        let _ = write!(
            reason,
            ", of which the noise of the samples explains {}",
            percent(held_out.noise.min(mre))
        );
    }
    if held_out.spoiled > 0 {
        let _ =
            write!(reason, "; {} of them lie as far off as samples that the fit left out", held_out.spoiled);
    }
    if held_out.noisy > 0 {
        let _ = write!(reason, "; {} of them too noisy to tell anything", held_out.noisy);
    }
    let exceeds = |what: &str| {
        format!(
            "{reason}; the model's own error is {} ({} to {}), {what}",
            percent(own.at),
            percent(own.low),
            percent(own.high)
        )
    };
    if own.low > options.accept {
        let place = misses(inputs, verify).map_or(String::new(), |place| format!("; {place}"));
        return failed(format!(
            "{}{place}; a term is missing, or more budget to tell terms apart",
            exceeds(&format!("above the {accept} that is accepted"))
        ));
    }
    let (mut doubts, mut notes) = (Vec::new(), String::new());
    if matters(fit, options) {
        for Structure { note, doubt } in structure(regression, inputs, fit, verify, options) {
            match doubt {
                Some(doubt) => doubts.push(doubt),
                None => notes = format!("{notes}; {note}"),
            }
        }
    }
    doubts.extend(hidden(regression, inputs, fit, options));
    for (finding, is_doubt) in held_out.between.iter().map(|input| input.finding(options.accept)) {
        if is_doubt {
            doubts.push(finding);
        } else {
            notes = format!("{notes}; {finding}");
        }
    }
    doubts.extend(resolution(fit, options));
    let is_noise = held_out.noise >= own.at && own.at <= options.accept;
    let verdict = match () {
        () if !doubts.is_empty() => Verdict::Doubtful,
        () if own.high <= options.accept && mre <= options.accept => Verdict::Verified,
        // Noise must be the reason: a quieter machine does not reduce a large own error of few
        // samples.
        () if is_noise && held_out.noise <= options.accept => Verdict::WithinNoise,
        () => Verdict::Doubtful,
    };
    let mut reason = match verdict {
        Verdict::Verified => format!("{reason}, {accept} is accepted{notes}"),
        Verdict::WithinNoise => exceeds(&format!(
            "{accept} is accepted: the model is as good as these samples can tell; a quieter machine or more budget would tell more"
        )),
        _ if own.high <= options.accept && mre <= options.accept => format!("{reason}, {accept} is accepted"),
        _ if is_noise && held_out.noise > options.accept => {
            doubts.push(format!(
                "the noise is above the {accept} that is accepted, so that the model is as good as these samples can tell, but not \
                 verified; a quieter machine or more budget would tell more"
            ));
            exceeds(&format!("{accept} is accepted"))
        }
        _ => {
            let unclear = format!(
                "whether the model's own error ({} to {}) is within the {accept} that is accepted cannot be told: more verification \
                 samples would tell",
                percent(own.low),
                percent(own.high)
            );
            doubts.push(unclear);
            reason
        }
    };
    if !doubts.is_empty() {
        let _ = write!(reason, "; but {}", doubts.join("; "));
    }
    Judgement { verdict, reason, doubts }
}

/// A message about a task that was optimised away, or is too short for the timer.
fn resolution(fit: &[Residual], options: &FitOptions) -> Option<String> {
    let mut times: Vec<f64> = fit.iter().map(|r| r.observed).filter(|t| *t > 0.0).collect();
    times.sort_by(f64::total_cmp);
    let (least, most) = (*times.first()?, *times.last()?);
    let middle = times[times.len() / 2];
    let varies = |i: usize| {
        let values = || fit.iter().map(|r| r.inputs[i]);
        values().fold(f64::MIN, f64::max) > VARIES * values().fold(f64::MAX, f64::min).max(1.0)
    };
    if most < NOTHING && most < 2.0 * least && (0..fit.first()?.inputs.len()).any(varies) {
        return Some(format!(
            "the task takes {:.1} ns whatever its inputs: it was probably optimised away; hand its result to `black_box`",
            middle * 1e9
        ));
    }
    let steps = times.windows(2).map(|w| w[1] - w[0]).filter(|step| *step > 1e-6 * middle);
    let step = steps.fold(f64::INFINITY, f64::min);
    let whole = |t: &f64| (t / step - (t / step).round()).abs() < 0.01;
    // If the model predicts all times exactly, the steps belong to the task, as on a simulated
    // machine, not to the timer.
    let exact = fit.iter().all(|r| (r.observed - r.predicted).abs() < 0.01 * step);
    let coarse = middle < COARSE
        && step.is_finite()
        && step > options.accept * middle
        && times.iter().all(whole)
        && !exact;
    coarse.then(|| {
        format!(
            "times are multiples of {:.0} ns, the timer's resolution: repeat the task within one timing",
            step * 1e9
        )
    })
}

/// Where the error is largest, if one third of an input's values stands out.
fn misses(inputs: &[String], verify: &[Residual]) -> Option<String> {
    let size = |part: &[&Residual]| sum(part.iter().map(|r| r.relative_error().abs())) / part.len() as f64;
    let all: Vec<&Residual> = verify.iter().collect();
    let mut worst: Option<(f64, String)> = None;
    for (input, name) in inputs.iter().enumerate().take(verify.first()?.inputs.len()) {
        let mut sorted = all.clone();
        sorted.sort_by(|a, b| a.inputs[input].total_cmp(&b.inputs[input]));
        let third = sorted.len() / 3;
        if third < 2 || sorted[third].inputs[input] == sorted[sorted.len() - third - 1].inputs[input] {
            continue;
        }
        let parts = [
            ("up to", third - 1, &sorted[..third]),
            ("from", sorted.len() - third, &sorted[sorted.len() - third..]),
        ];
        for (side, edge, part) in parts {
            let error = size(part);
            if error > STANDS_OUT * size(&all) && worst.as_ref().is_none_or(|(w, _)| error > *w) {
                let edge = sorted[edge].inputs[input];
                worst =
                    Some((error, format!("it misses most for `{name}` {side} {edge} ({})", percent(error))));
            }
        }
    }
    worst.map(|(_, text)| text)
}
