//! What cannot be fitted says so; what should not be trusted gets a verdict.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

use strata_fit::{Elimination, FitError, Fitted, Options, Search, Weights, fit_samples};
use strata_model::Samples;
use strata_model::set::{Mode, Verdict};

const ABSOLUTE: Options = Options {
    mode: Mode::Absolute,
    weights: Weights::Measured,
    constant: true,
    keep_all: false,
    confidence: 0.95,
    accept: 0.1,
    elimination: Elimination::Confidence,
    robust: None,
    nonnegative: false,
    search: Search::Never,
    pieces: 1,
};

fn try_fit(text: &str, options: &Options) -> Result<Fitted, FitError> {
    fit_samples(&Samples::parse(text, "test").unwrap(), options).remove(0)
}

fn error(text: &str, options: &Options) -> String {
    try_fit(text, options).unwrap_err().to_string()
}

#[test]
fn fewer_samples_than_terms() {
    let text = error("M x x^2 x^3\nM 1 1 1 1\nM 2 2 4 8\n", &Options::default());
    assert_eq!(
        text,
        "model `M` has 2 samples for 4 terms; take at least 3 more at other inputs, or name fewer terms"
    );
    assert!(error("M x\nM 1 1\nM 2 2\n", &Options::default()).contains("at least 1 more"));
}

#[test]
fn no_samples_at_all() {
    let text = error("M x\n@M 1 1\n", &Options::default());
    assert_eq!(text, "model `M` has no samples to fit, only 1 to verify it; profile it first");
    assert!(fit_samples(&Samples::default(), &Options::default()).is_empty());
}

#[test]
fn values_that_are_no_numbers_are_named() {
    let text = error("M x log2(x)\nM 1 1 0\nM 2 2 1\nM 3 0 -inf\nM 4 4 2\n", &ABSOLUTE);
    assert!(text.contains("`M`, line 4: term `log2(x)` is -inf"), "{text}");
    let text = error("M x\nM 1 1\nM NaN 2\nM 3 3\n", &ABSOLUTE);
    assert!(text.contains("line 3: the time is NaN"), "{text}");
    let text = error("M x\nM 1 NaN\nM 2 2\nM 3 3\n", &ABSOLUTE);
    assert!(text.contains("line 2: term `x` is NaN"), "{text}");
}

#[test]
fn times_of_zero_need_absolute_errors() {
    let text = "M x\nM 0 1\nM 1 2\nM 2 3\nM 3 4.1\n";
    assert!(error(text, &Options::default()).contains("line 2: the time is 0, and a relative fit"));
    assert!(error(&text.replace("M 0 1", "M -1 1"), &Options::default()).contains("the time is -1"));
    let m = try_fit(text, &ABSOLUTE).unwrap().model;
    assert!(m.terms.iter().all(|t| t.relevant));
    let m = try_fit("M x\nM 0 1\nM 0 2\nM 0 3\n", &ABSOLUTE).unwrap().model;
    assert_eq!(m.verdict, Verdict::Failed);
}

#[test]
fn a_constant_column_is_dependent_and_named() {
    let fitted = try_fit("M x k\nM 3 1 7\nM 5 2 7\nM 7.1 3 7\nM 9 4 7\n", &Options::default()).unwrap();
    assert_eq!(fitted.warnings.len(), 1);
    assert!(fitted.warnings[0].contains("`1`, `k` are constant"), "{:?}", fitted.warnings);
    assert_eq!(fitted.model.rank, 2);
}

#[test]
fn identical_terms_and_columns_of_zeros() {
    let fitted =
        try_fit("M x max(0,x-9) 2*x\nM 1 1 0 2\nM 2 2 0 4\nM 3.1 3 0 6\nM 4 4 0 8\n", &Options::default())
            .unwrap();
    let text = fitted.warnings.join("\n");
    assert!(text.contains("`x`, `2*x` depend on each other"), "{text}");
    assert!(text.contains("`max(0,x-9)` is zero at every sample"), "{text}");
    assert!(!fitted.model.terms[2].relevant);
}

#[test]
fn nothing_relevant_is_a_failed_model() {
    let options = Options { constant: false, ..ABSOLUTE };
    let m = try_fit("M x\nM 1 1\nM 1 -1\nM 1 1\nM 1 -1\n@M 1 1\n", &options).unwrap().model;
    assert_eq!(m.verdict, Verdict::Failed);
    assert!(m.reason.contains("no term is relevant"), "{}", m.reason);
}

#[test]
fn verification_decides() {
    let text = "M x\nM 1 1\nM 2 2\nM 3.1 3\nM 4 4\n";
    let verdict = |rows: &str, options: &Options| {
        let m = try_fit(&format!("{text}{rows}"), options).unwrap().model;
        (m.verdict, m.reason, m.mre_verify)
    };
    assert_eq!(verdict("", &Options::default()).0, Verdict::Unverified);
    assert_eq!(verdict("@M 5 5\n", &Options::default()).0, Verdict::Verified);
    let (v, reason, mre) = verdict("@M 10 5\n", &Options::default());
    assert_eq!((v, mre.is_some()), (Verdict::Failed, true));
    assert!(reason.contains("above the 10 % that is accepted"), "{reason}");
    assert_eq!(verdict("@M 10 5\n", &Options { accept: 0.6, ..Options::default() }).0, Verdict::Verified);
}

#[test]
fn a_term_that_overflows_at_a_verification_sample_fails_the_model() {
    let m = try_fit(
        "M (x) exp(x)\nM 1 0 1\nM 2.7 1 2.7\nM 7.4 2 7.4\nM 20 3 20\n@M 9 800 inf\n",
        &Options::default(),
    )
    .unwrap()
    .model;
    assert_eq!(m.verdict, Verdict::Failed);
    assert!(m.reason.contains("line 6 is inf"), "{}", m.reason);
}

#[test]
fn a_negative_prediction_fails_the_model() {
    let m = try_fit("M x\nM 1 1\nM 2 2\nM 3 3\nM 4.1 4\n@M 0.1 -3\n", &Options::default()).unwrap().model;
    assert_eq!(m.verdict, Verdict::Failed);
    assert!(m.reason.contains("negative"), "{}", m.reason);
}

#[test]
fn extreme_magnitudes() {
    let m = try_fit(
        "M x\nM 1e-100 1e-100\nM 2e-100 2e-100\nM 4e-100 4e-100\n",
        &Options { constant: false, ..Options::default() },
    );
    let m = m.unwrap().model;
    assert!((m.terms[0].coefficient - 1.0).abs() < 1e-12);
    let e = try_fit("M x\nM 1e300 1e300\nM 2e300 2e300\nM 4.1e300 4e300\n", &ABSOLUTE).unwrap_err();
    assert!(matches!(e, FitError::Overflow { .. }), "{e}");
}

#[test]
fn duplicates_of_one_point_leave_one_independent_term() {
    let fitted = try_fit("M x\nM 1 3\nM 1.1 3\nM 0.9 3\nM 1 3\n", &Options::default()).unwrap();
    assert_eq!(fitted.model.rank, 1);
    assert_eq!((fitted.model.inputs[0].min, fitted.model.inputs[0].max), (3.0, 3.0));
}

#[test]
fn options_out_of_range_are_refused() {
    let text = "M x\nM 1 1\nM 2 2\nM 3 3\n";
    assert!(error(text, &Options { confidence: 1.0, ..ABSOLUTE }).contains("the confidence is 1"));
    assert!(error(text, &Options { accept: f64::NAN, ..ABSOLUTE }).contains("the accepted error is NaN"));
}
