//! Samples that cannot be fitted are errors; models that should not be trusted get a verdict.

use crate::{absolute, samples, structure};
use strata_fit::{Fault, FitError, FitOptions, Fitted, Robust, Search, Structure, fit_model, fit_samples};
use strata_model::samples::Sample;
use strata_model::set::{Mode, Nodes, Verdict};
use strata_model::{ModelSet, Samples};

fn try_fit(text: &str, options: &FitOptions) -> Result<Fitted, FitError> {
    fit_samples(&Samples::parse(text, "test").unwrap(), options).remove(0)
}

fn error(text: &str, options: &FitOptions) -> String {
    try_fit(text, options).unwrap_err().to_string()
}

#[test]
fn samples_give_a_reason_or_a_verdict() {
    let mut all = String::new();
    for case in include_str!("../fits.txt").split("== ").skip(1) {
        let (options, text) = case.split_once('\n').unwrap();
        all += &format!("== {case}");
        all += &match try_fit(text, &FitOptions::read(options).unwrap()) {
            Err(error) => format!("error: {error}\n"),
            Ok(Fitted { model, warnings, .. }) => {
                let kept = model
                    .terms
                    .iter()
                    .map(|term| format!("{}{}", if term.relevant { "" } else { "!" }, term.term));
                let kept = kept.collect::<Vec<_>>().join(" + ");
                let warnings: String =
                    warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
                format!("{kept}, rank {}\n{}: {}\n{warnings}", model.rank, model.verdict, model.reason)
            }
        };
    }
    insta::assert_snapshot!(all);
    assert!(fit_samples(&Samples::default(), &FitOptions::default()).is_empty());
    for (options, says) in [
        (FitOptions { confidence: 1.0, ..absolute() }, "the confidence is 1"),
        (FitOptions { accept: f64::NAN, ..absolute() }, "the accepted error is NaN"),
    ] {
        assert!(error("M x\nM 1 1\nM 2 2\nM 3 3\n", &options).contains(says));
    }
}

/// Rows of a model `M` with the columns `columns` on 2 to 8 nodes, every third for verification.
fn on_nodes(columns: &str, row: impl Fn(f64) -> String) -> String {
    let line = |p: usize| format!("{}M {}\n", if p.is_multiple_of(3) { "@" } else { "" }, row(p as f64));
    format!("M {columns}\n{}", (2..=8).map(line).collect::<String>())
}

#[test]
fn a_model_of_several_numbers_of_nodes_holds_between_them() {
    let ripple = |p: f64| 1.0 + 0.005 * (p * 7.0).sin();
    let time = |p: f64| 1e-6 * (2.0 + 3.0 * p.log2()) * ripple(p);
    let log = on_nodes("logP", |p| format!("{} {}", time(p), p.log2()));
    let number = on_nodes("P log2(P)", |p| format!("{} {p} {}", time(p), p.log2()));
    let read = on_nodes("(P) logP", |p| format!("{} {p} {}", time(p), p.log2()));
    for text in [log, number, read] {
        let model = try_fit(&text, &FitOptions::default()).unwrap().model;
        assert_eq!((model.verdict, model.nodes), (Verdict::Verified, Nodes { min: 2, max: 8 }), "{text}");
        let set = ModelSet { models: vec![model], ..ModelSet::default() };
        let resolved = ModelSet::read(&set.to_text()).unwrap().resolve().unwrap();
        for nodes in [0, 1, 9] {
            assert_eq!(resolved.predict("M", nodes, &[]), None, "on {nodes} nodes");
        }
        for nodes in [2, 5, 8] {
            let seconds = resolved.seconds("M", nodes, &[]).unwrap();
            assert!((seconds / time(nodes as f64) - 1.0).abs() < 0.02, "{seconds} on {nodes} nodes");
        }
    }
}

#[test]
fn terms_in_the_number_of_nodes_are_silent_where_it_does_not_vary() {
    let rows: String = (1..=12).map(|n| format!("M {} {n}\n", 3 + 2 * n)).collect();
    let samples = Samples::parse(&format!("M (n)\n{rows}"), "test").unwrap();
    for nodes in [1, 4] {
        let named = structure(&["n"], &["n", "logP", "P", "n*P", "min(n,P)"]);
        let structure = Structure { nodes, several_nodes: true, ..named };
        let fitted = fit_model(&samples.models[0], &structure, &FitOptions::default(), &|_| None).unwrap();
        assert_eq!(fitted.warnings, Vec::<String>::new());
        let terms: Vec<&str> = fitted.model.terms.iter().map(|t| t.term.as_str()).collect();
        let said = if nodes == 1 { &["1", "n"][..] } else { &["1", "n", "min(n,P)"] };
        assert_eq!(terms, said);
        assert!((fitted.model.terms[1].coefficient - 2.0).abs() < 1e-9);
    }
}

#[test]
fn numbers_of_nodes_are_known() {
    let samples = Samples::parse("M (n)\nM 1 1\nM 2 2\nM 3 3\nM 4 4\n", "test").unwrap();
    let text = fit_model(&samples.models[0], &structure(&[], &["logP"]), &FitOptions::default(), &|_| None)
        .unwrap_err();
    assert_eq!(
        text.to_string(),
        "model `M`: the term `logP` reads the number of nodes, which neither a column `P` nor a line `platform` tells; add one"
    );
}

#[test]
fn extreme_magnitudes() {
    let m = try_fit(
        "M x\nM 1e-100 1e-100\nM 2e-100 2e-100\nM 4e-100 4e-100\n",
        &FitOptions { constant: false, ..FitOptions::default() },
    );
    let m = m.unwrap().model;
    assert!((m.terms[0].coefficient - 1.0).abs() < 1e-12);
    // Beyond, with or without terms, the number is named: a square of it is no number.
    for (x, t) in [(1e200, 1e-6), (1e-200, 1e-6), (1e300, 1e300), (2.0, 1e-200)] {
        let rows: String =
            (1..9).map(|i| format!("M {:e} {:e}\n", t * f64::from(i), x * f64::from(i))).collect();
        for head in ["M x\n", "model M (x)\n"] {
            let e = error(&format!("{head}{rows}"), &FitOptions::default());
            assert!(e.contains("line 2: `") && e.contains("use another unit"), "{e}");
        }
    }
}

#[test]
fn inputs_over_a_hundred_and_fifty_decades() {
    let mut text = String::from("model M x\n");
    for k in (-75..=75).step_by(15) {
        text += &format!("{}M {:e} 1e{k}\n", if k % 60 == 15 { "@" } else { "" }, 3.0 * 10f64.powi(k));
    }
    for options in [FitOptions::default(), FitOptions { constant: false, ..FitOptions::default() }] {
        match try_fit(&text, &options) {
            Ok(fitted) => {
                let slope = fitted.model.terms.last().unwrap();
                assert!((slope.coefficient - 3.0).abs() < 1e-9 && slope.relevant, "{slope:?}");
            }
            Err(e) => assert!(matches!(e.fault, Fault::Overflow), "{e}"),
        }
    }
    // A search over the same range must not overflow.
    let text = text.replace("model M x", "model M (x)");
    let _ = try_fit(&text, &FitOptions::default());
}

#[test]
fn a_million_samples() {
    let row = |i: usize| {
        let x = (1 + i % 1000) as f64;
        let noise = 1.0 + 0.02 * (((i * 7919) % 1009) as f64 / 1009.0 - 0.5);
        Sample {
            seconds: (1e-6 + 2e-9 * x) * noise,
            values: vec![x],
            verify: i.is_multiple_of(10),
            line: i + 2,
            notes: Default::default(),
        }
    };
    let samples = samples(&["x"], (0..1_000_000).map(row));
    let structure = structure(&["x"], &["x", "log2(x)"]);
    let m = fit_model(&samples, &structure, &FitOptions::default(), &|_| None).unwrap().model;
    assert_eq!(m.verdict, Verdict::Verified, "{}", m.reason);
    assert!((m.terms[1].coefficient / 2e-9 - 1.0).abs() < 1e-3);
}

/// Times of 1 + x with noise, some kept for verification.
fn noisy(rows: usize, time: impl Fn(f64, f64, usize) -> f64) -> String {
    let mut text = String::from("M x\n");
    let mut state = 12345u64;
    for i in 0..rows {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Twelve uniform numbers sum to nearly a normal one.
        let e = (0..12).map(|k| (state >> k & 0xffff) as f64 / 65536.0 - 0.5).sum::<f64>() / 12.0;
        let x = 1.0 + (i % 40) as f64;
        text += &format!("{}M {} {x}\n", if i % 3 == 2 { "@" } else { "" }, time(x, e, i));
    }
    text
}

#[test]
fn doubts_have_reasons() {
    let options = FitOptions { search: Search::Never, accept: 0.5, ..FitOptions::default() };
    let judge = |text: &str, options: &FitOptions| {
        let m = try_fit(text, options).unwrap().model;
        (m.verdict, m.doubts.join("; "), m)
    };
    let (verdict, doubts, m) = judge(&noisy(120, |x, e, _| (1.0 + x) * (1.0 + 0.2 * e)), &options);
    assert_eq!((verdict, doubts.as_str()), (Verdict::Verified, ""));
    let q = m.verify_quantiles.unwrap();
    assert!(q.p50 <= q.p90 && q.p90 <= q.p95 && q.p95 <= q.max);
    assert!(m.coverage.unwrap() > 0.8 && m.leverage_limit > 0.0);
    // A missing term is reported, with a doubt if some third of the input is off by more than is
    // accepted.
    let bent = noisy(120, |x, e, _| (1.0 + 0.1 * (x - 20.0).powi(2)) * (1.0 + 0.01 * e));
    let (verdict, doubts, m) = judge(&bent, &FitOptions { accept: 5.0, ..options });
    assert_eq!((verdict, doubts.as_str()), (Verdict::Verified, ""));
    assert!(m.reason.contains("residuals follow `x`"), "{}", m.reason);
    let (verdict, doubts, m) = judge(&bent, &FitOptions { accept: 0.8, ..options });
    assert_eq!(verdict, Verdict::Doubtful, "{}", m.reason);
    assert!(doubts.contains("residuals follow `x`") && doubts.contains("error for `x` from"), "{doubts}");
    // Too narrow intervals are reported; an error within the accepted one is no doubt.
    let (verdict, doubts, m) =
        judge(&noisy(240, |x, e, _| (1.0 + x) * (1.0 + e)), &FitOptions { mode: Mode::Absolute, ..options });
    assert_eq!((verdict, doubts.as_str()), (Verdict::Verified, ""));
    assert!(m.reason.contains("intervals are too narrow for predictions from "), "{}", m.reason);
    let lack_of_fit = |sign: f64| {
        move |x: f64, _, i: usize| {
            let off = if i.is_multiple_of(2) { 0.25 } else { -0.25 };
            (1.0 + x) * (1.0 + off * (if sign > 0.0 { x / 40.0 } else { 1.0 - x / 40.0 }).powi(3))
        }
    };
    let tenth = FitOptions { accept: 0.1, ..options };
    for (sign, place, advice) in
        [(1.0, "predictions from ", "a term"), (-1.0, "predictions up to ", "absolute errors")]
    {
        let (verdict, doubts, _) = judge(&noisy(240, lack_of_fit(sign)), &tenth);
        assert_eq!(verdict, Verdict::Doubtful, "{doubts}");
        assert!(doubts.contains("scatter changes") && doubts.contains(place), "{doubts}");
        assert!(doubts.contains(advice), "{doubts}");
    }
    let alone = |x: f64, e: f64, i: usize| if i == 0 { 400.0 } else { 100.0 + x + 10.0 * e };
    let (_, doubts, _) = judge(
        &noisy(60, alone).replacen(" 1\n", " 900\n", 1),
        &FitOptions { mode: Mode::Absolute, robust: Robust::None, ..options },
    );
    assert!(doubts.contains("line 2 decides"), "{doubts}");
    // Verification samples with far more scatter than the fitted ones widen the intervals.
    let (_, _, m) =
        judge(&noisy(120, |x, e, i| (1.0 + x) * (1.0 + if i % 3 == 2 { 0.8 } else { 0.1 } * e)), &options);
    assert!(m.coverage.unwrap() > 0.85, "{:?}", m.coverage);
}

#[test]
fn noise_is_told_from_error() {
    let options = FitOptions { search: Search::Never, ..FitOptions::default() };
    // Each point occurs six times, so its own scatter shows the noise.
    let judge = |text: &str| try_fit(text, &options).unwrap().model;
    let line = judge(&noisy(240, |x, e, _| (1.0 + x) * (1.0 + 1.5 * e)));
    assert!(line.mre_verify.unwrap() > 0.11, "{line:?}");
    assert_eq!(line.verdict, Verdict::Doubtful, "{}", line.reason);
    assert!(line.reason.contains("the noise is above the 10 % that is accepted"), "{}", line.reason);
    // As much noise is verified if as much is accepted.
    let tolerant = FitOptions { accept: 0.18, ..options };
    let line_of = try_fit(&noisy(240, |x, e, _| (1.0 + x) * (1.0 + 1.5 * e)), &tolerant).unwrap().model;
    assert!(matches!(line_of.verdict, Verdict::Verified | Verdict::WithinNoise), "{}", line_of.reason);
    assert!(line.own_error < 0.1 && (line.noise.unwrap() - 0.2).abs() < 0.03, "{line:?}");
    let bent = noisy(240, |x, e, _| (1.0 + x + if x > 34.0 { 40.0 } else { 0.0 }) * (1.0 + 0.3 * e));
    let bent = judge(&bent);
    assert_eq!(bent.verdict, Verdict::Failed, "{}", bent.reason);
    assert!(bent.reason.contains("it misses most for `x`"), "{}", bent.reason);
}

#[test]
fn one_sample_of_great_noise_excuses_no_error() {
    let options = FitOptions { search: Search::Never, ..FitOptions::default() };
    let bent = |x: f64, e: f64, _| (1.0 + x + if x > 34.0 { 40.0 } else { 0.0 }) * (1.0 + 0.3 * e);
    let text = noisy(240, bent);
    let held_out = text.lines().find(|line| line.starts_with('@')).unwrap();
    let text = text.replacen(held_out, &format!("{held_out} ; repeats=3 spread=40"), 1);
    let model = try_fit(&text, &options).unwrap().model;
    assert_eq!(model.verdict, Verdict::Failed, "{}", model.reason);
    assert!(model.reason.contains("1 of them too noisy"), "{}", model.reason);
    assert!(model.noise.unwrap() < 0.1, "{:?}", model.noise);
}

#[test]
fn what_is_no_task_is_named() {
    let options = FitOptions { search: Search::Never, ..FitOptions::default() };
    let reason = |time: &dyn Fn(i32) -> f64| {
        // Repeats of a point that agree exactly count as one sample; the times follow `x` closely.
        let row = |k: i32| format!("{}M {:e} {}\n", if k % 4 == 2 { "@" } else { "" }, time(k), 1 + k % 12);
        let text = format!("M x\n{}", (0..24).map(row).collect::<String>());
        let m = try_fit(&text, &options).unwrap().model;
        assert_ne!(m.verdict, Verdict::Verified, "{}", m.reason);
        m.reason
    };
    let away = reason(&|k| 1e-9 + 1e-11 * f64::from(k % 3));
    assert!(away.contains("optimised away"), "{away}");
    let coarse = reason(&|k| 1e-7 * (1.0 + f64::from(k % 12 / 4)));
    assert!(coarse.contains("multiples of 100 ns, the timer's resolution"), "{coarse}");
    // Simulated times may all be equal: they show no step of a clock.
    let rows: String = (0..24).map(|k| format!("M 1e-7 {}\n", 1 + k % 12)).collect();
    let reason = try_fit(&format!("M x\n{rows}"), &options).unwrap().model.reason;
    assert!(!reason.contains("multiples"), "{reason}");
    // A task's own times may be multiples of a step: here the model predicts all of them exactly.
    let rows =
        |k: i32| format!("{}M {:e} {}\n", if k % 4 == 2 { "@" } else { "" }, 7.85e-7 * level(k), level(k));
    let text = format!("M x\n{}", (0..48).map(rows).collect::<String>());
    let m = try_fit(&text, &options).unwrap().model;
    assert_eq!(m.verdict, Verdict::Verified, "{}", m.reason);
}

fn level(k: i32) -> f64 {
    f64::from(2 + k % 5)
}

#[test]
fn a_search_says_what_it_did_and_never_hides_a_failure() {
    let mut rows = String::new();
    for k in 0..20 {
        let x = 2f64.powi(k);
        rows += &format!(
            "{}M {:e} {x}\n",
            if k % 4 == 2 { "@" } else { "" },
            1e-6 + 3e-9 * x * x.max(1.0).log2()
        );
    }
    let fitted = try_fit(&format!("model M (x)\n{rows}"), &FitOptions::default()).unwrap();
    assert_eq!(fitted.model.verdict, Verdict::Verified, "{}", fitted.model.reason);
    assert!(fitted.warnings[0].contains("no terms are named; of"), "{:?}", fitted.warnings);
    assert!(fitted.warnings[0].contains("`x*log2(x)`"), "{:?}", fitted.warnings);
    assert!(fitted.model.reason.contains("found by search"));
    // A wrong term is named: the model fails, so terms are searched.
    let wrong = rows.lines().map(|l| format!("{l}\n")).collect::<String>();
    let samples = Samples::parse(&format!("model M (x)\n{wrong}"), "test").unwrap();
    let structure = structure(&["x"], &["sqrt(x)"]);
    let with = |search| {
        fit_model(&samples.models[0], &structure, &FitOptions { search, ..FitOptions::default() }, &|_| None)
            .unwrap()
    };
    assert_eq!(with(Search::Never).model.verdict, Verdict::Failed);
    let found = with(Search::WhenNeeded);
    assert_eq!(found.model.verdict, Verdict::Verified, "{}", found.model.reason);
    assert!(found.warnings[0].contains("better than by the named terms"), "{:?}", found.warnings);
    // One input that never varies: there are no candidates, and the model is its constant.
    let m = try_fit("model M (x)\nM 1 3\nM 1.1 3\nM 0.9 3\n@M 1 3\n", &FitOptions::default()).unwrap().model;
    assert_eq!((m.verdict, m.terms.len()), (Verdict::Verified, 1));
}
