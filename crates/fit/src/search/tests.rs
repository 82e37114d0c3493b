//! Shapes that the search must find again.

use super::*;
use strata_model::Samples;

fn found(text: &str, inputs: &[&str]) -> Found {
    let samples = Samples::parse(text, "test").unwrap();
    let structure =
        Structure { inputs: inputs.iter().map(|i| (*i).into()).collect(), ..Structure::default() };
    search(&samples.models[0], &structure, &Options::default()).unwrap()
}

/// A cost as a function of one input.
type Shape = fn(f64) -> f64;

fn names(found: &Found) -> Vec<String> {
    let mut names: Vec<String> = found.terms.iter().map(Expr::to_string).collect();
    names.sort();
    names
}

#[test]
fn shapes_of_one_input_are_found_again() {
    let shapes: [(Shape, &[&str]); 5] = [
        (|x| 3e-6 + 2e-9 * x, &["x"]),
        (|x| 1e-6 + 4e-9 * x * x.log2(), &["x*log2(x)"]),
        (|x| 5e-6 * x.log2() + 1e-10 * x * x, &["log2(x)", "x^2"]),
        (|x| 1e-5 + 7e-8 * x.sqrt() + 1e-9 * x, &["sqrt(x)", "x"]),
        (
            |x| 1e-6 + 1e-9 * x + if x > 4096.0 { 5e-6 + 1e-9 * x } else { 0.0 },
            &["x", "x*(x>4096)", "x>4096"],
        ),
    ];
    for (shape, want) in shapes {
        let rows: String = (0..21).map(|k| 2f64.powi(k)).map(|x| format!("M {:e} {x}\n", shape(x))).collect();
        let got = found(&format!("model M (x)\n{rows}"), &["x"]);
        assert_eq!(names(&got), want, "{got:?}");
        assert!(got.error < 1e-9);
    }
}

#[test]
fn a_continuous_breakpoint_is_placed_between_samples() {
    let shape = |x: f64| 1e-6 + 1e-9 * x + 3e-9 * (x - 3000.0f64).max(0.0);
    let rows: String = (0..21).map(|k| 2f64.powi(k)).map(|x| format!("M {:e} {x}\n", shape(x))).collect();
    let got = found(&format!("model M (x)\n{rows}"), &["x"]);
    assert_eq!(names(&got), ["max(0,x-3000)", "x"], "{got:?}");
}

#[test]
fn products_are_found_among_irrelevant_inputs() {
    let mut text = String::from("model M (n) (p) (z)\n");
    for n in (6..14).map(|k| 2f64.powi(k)) {
        for p in [2.0f64, 4.0, 8.0, 16.0, 32.0] {
            for z in [1.0, 3.0] {
                text += &format!("M {:e} {n} {p} {z}\n", 1e-6 + 3e-9 * n * p.log2() + 2e-8 * n / p);
            }
        }
    }
    let got = found(&text, &["n", "p", "z"]);
    assert_eq!(names(&got), ["n*log2(p)", "n/p"], "{got:?}");
}

#[test]
fn nothing_to_choose_from_is_nothing_found() {
    let samples = Samples::parse("model M (x)\nM 1 3\nM 1 3\nM 2 3\nM 1 3\n", "test").unwrap();
    let structure = Structure { inputs: vec!["x".into()], ..Structure::default() };
    assert!(search(&samples.models[0], &structure, &Options::default()).is_none());
    let samples = Samples::parse("model M (x)\nM 1 3\nM 1 4\n", "test").unwrap();
    assert!(search(&samples.models[0], &structure, &Options::default()).is_none());
}
