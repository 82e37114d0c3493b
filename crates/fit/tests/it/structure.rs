//! Models whose terms come from a spec: computed from the inputs, or calls of earlier models.

use strata_fit::{Callee, FitError, FitOptions, Fitted, Structure, fit_model};
use strata_model::Samples;
use strata_model::expr::parse;
use strata_model::set::{Nodes, Verdict};

fn structure(inputs: &[&str], terms: &[&str], nodes: usize) -> Structure {
    Structure {
        inputs: inputs.iter().map(|i| (*i).into()).collect(),
        terms: terms.iter().map(|t| parse(t).unwrap()).collect(),
        requires: vec![parse("x >= 1").unwrap()],
        nodes,
        variance: None,
        ..Structure::default()
    }
}

fn row(time: f64, x: f64, verify: bool) -> String {
    format!("{}M {time:e} {x}\n", if verify { "@" } else { "" })
}

/// 2 µs + 3 ns · x log2(x) log2(8), to 0.1 %.
fn samples() -> Samples {
    let mut text = String::from("model M (x)\n");
    for i in 0..24 {
        let x = (1.5f64).powi(i).round();
        let noise = 1.0 + 1e-3 * f64::from((i * 37) % 17 - 8) / 8.0;
        text += &row((2e-6 + 3e-9 * x * x.max(1.0).log2() * 3.0) * noise, x, i % 4 == 3);
    }
    Samples::parse(&text, "test").unwrap()
}

fn fit(structure: &Structure) -> Result<Fitted, FitError> {
    fit_model(&samples().models[0], structure, &FitOptions::default(), &|name| {
        (name == "Sort").then(|| Callee { inputs: vec!["n".into()], body: parse("1e-9*n*log2(n)").unwrap() })
    })
}

#[test]
fn terms_are_computed_from_the_inputs() {
    let fitted = fit(&structure(&["x"], &["x", "x*log2(x)*logP", "1"], 8)).unwrap();
    let m = &fitted.model;
    assert_eq!(m.verdict, Verdict::Verified, "{}", m.reason);
    assert_eq!(m.terms.iter().map(|t| t.term.as_str()).collect::<Vec<_>>(), ["1", "x", "x*log2(x)*logP"]);
    assert!((m.terms[2].coefficient / 3e-9 - 1.0).abs() < 5e-3, "{:?}", m.terms);
    assert_eq!((m.nodes, m.requires.as_slice()), (Nodes::known(8), &["x>=1".to_owned()][..]));
    let x = &m.inputs[0];
    assert_eq!((x.name.as_str(), x.min, x.max, x.integer), ("x", 1.0, 11223.0, true));
}

#[test]
fn a_hybrid_term_calls_an_earlier_model() {
    let fitted = fit(&structure(&["x"], &["Sort(x)"], 8)).unwrap();
    let term = &fitted.model.terms[1];
    assert_eq!(term.term, "Sort(x)");
    assert!((term.coefficient / 9.0 - 1.0).abs() < 5e-3, "{term:?}");
}

#[test]
fn the_model_predicts_what_the_residuals_say() {
    let fitted = fit(&structure(&["x"], &["x*log2(x)"], 8)).unwrap();
    let set = strata_model::ModelSet { models: vec![fitted.model.clone()], ..Default::default() };
    let set = strata_model::ModelSet::read(&set.to_text()).unwrap();
    assert_eq!(set.models[0], fitted.model);
    let resolved = set.resolve().unwrap();
    let mut inside = 0;
    for r in &fitted.residuals {
        let p = resolved.predict("M", 8, &r.inputs).unwrap();
        assert!((p.seconds.get() / r.predicted - 1.0).abs() < 1e-13);
        inside += usize::from(p.low().get() <= r.observed && r.observed <= p.high().get());
    }
    assert!(inside >= 22, "{inside} of 24 lie in the 95 % interval");
}

#[test]
fn what_cannot_be_evaluated_is_named() {
    let message =
        |terms: &[&str], inputs: &[&str]| fit(&structure(inputs, terms, 8)).unwrap_err().to_string();
    assert!(message(&["Nowhere(x)"], &["x"]).contains("there is no fitted model `Nowhere`"));
    assert!(message(&["Sort(x,1)"], &["x"]).contains("takes 1 arguments, not 2"));
    assert!(message(&["y"], &["x"]).contains("`y` cannot be evaluated"));
    assert!(message(&["x"], &["x", "z"]).contains("no column for the input `z`"));
    let text = message(&["log2(x-1)"], &["x"]);
    assert!(text.contains("line 2: term `log2(x-1)` is -inf"), "{text}");
}

#[test]
fn the_order_of_rows_and_terms_does_not_change_predictions() {
    let straight = fit(&structure(&["x"], &["x", "x*log2(x)", "sqrt(x)", "x^2"], 8)).unwrap();
    let mut samples = samples();
    samples.models[0].rows.reverse();
    let other = structure(&["x"], &["x^2", "sqrt(x)", "x*log2(x)", "x"], 8);
    let turned = fit_model(&samples.models[0], &other, &FitOptions::default(), &|_| None).unwrap();
    for r in &straight.residuals {
        let same = turned.residuals.iter().find(|t| t.line == r.line).unwrap();
        assert!((same.predicted / r.predicted - 1.0).abs() < 1e-12, "{same:?} is not {r:?}");
    }
}
