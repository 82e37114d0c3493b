//! Models emitted for other languages: each is compiled or run, and answers as the interpreter does.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use libm as _; // the emitted Rust takes it, offline
use strata_interchange::emit;
use strata_model::ModelSet;
use strata_model::set::{Input, Kind, Model, Nodes, Term, Verdict};

fn term(term: &str, coefficient: f64) -> Term {
    Term { term: term.into(), coefficient, std_error: 0.0, half_width: 0.0, relevant: coefficient != 0.0 }
}

fn input(name: &str, min: f64, max: f64) -> Input {
    Input { name: name.into(), min, max, integer: false }
}

fn model(name: &str, nodes: usize, inputs: Vec<Input>, terms: Vec<Term>) -> Model {
    Model {
        name: name.into(),
        nodes: Nodes::known(nodes),
        inputs,
        terms,
        verdict: Verdict::Verified,
        ..Model::default()
    }
}

fn set() -> ModelSet {
    let n = || input("n", 1.0, 1e6);
    let every_function = [
        "1",
        "n",
        "n*log2(n)",
        "sqrt(n/x)",
        "ln(n)",
        "exp(-x)",
        "n^1.5",
        "n^2",
        "x^3",
        "2^x",
        "2^-3",
        "pow(x,0.25)",
        "pow(n,2)",
        "ceil(n/x)",
        "floor(n/8)*8",
        "n%7",
        "abs(x-5)",
        "min(n,1000,x*100)",
        "max(0,n-4096)",
        "(n>8192)",
        "n*(n<=64)",
        "(n>5)*(x<3)+(n==1)",
        "(n!=1)&&(x>=2)",
        "(n>1e5)||!(x>2)",
        "!(n%2)",
        "x<<3",
        "n>>4",
        "1/n",
        "n/(x*x)/3",
        "n-(x-1)",
        "-(-x)",
        "(0-x)^2",
        "(x-5)^3+200",
        "n/(x-x)*0+1",
    ];
    let every = every_function.iter().enumerate().map(|(i, text)| term(text, 1e-9 * (i as f64 + 1.0) / 3.0));
    let whole = Model {
        requires: vec!["n>=x".into(), "P>1||x<4".into()],
        // The last term is NaN everywhere: a model that never answers is emitted as one.
        ..model("Every", 4, vec![n(), input("x", 1.0, 10.0)], every.take(every_function.len() - 1).collect())
    };
    let nodes = model(
        "anyNodes",
        0,
        vec![n()],
        vec![
            term("1", 1e-6),
            term("logP", 2e-6 / 3.0),
            term("n/P", 1e-9),
            term("sqrtP*n", 1.1e-9),
            term("log2(P)", 0.0),
        ],
    );
    let nodes = Model { nodes: Nodes { min: 1, max: 6 }, ..nodes };
    let kind = Kind::Factored { expression: "Every(lambda,min(10,max(1,double)))+2*anyNodes(lambda)".into() };
    let called = Model {
        name: "double".into(),
        inputs: ["lambda", "double"].map(|name| input(name, f64::NEG_INFINITY, f64::INFINITY)).to_vec(),
        kind,
        ..Model::default()
    };
    ModelSet {
        models: vec![
            whole,
            nodes,
            called,
            model("seconds", 0, vec![input("type", 0.0, 8.0)], vec![term("type", 1e-6), term("1", -2e-6)]),
            model("Nothing", 0, vec![input("math", 0.0, 8.0)], vec![term("math", 0.0)]),
            model("never", 0, vec![input("x", 0.0, 8.0)], vec![term("x/(x-x)", 1e-6)]),
            model(
                "overflow",
                0,
                vec![input("x", 0.0, 1e4)],
                vec![term("exp(x)", 1e-6), term("2^x", 1e-6), term("x^x", 1e-300)],
            ),
            model(
                "logs",
                0,
                vec![input("x", -4.0, 4.0)],
                vec![
                    term("max(0,log2(x))", 1e-6),
                    term("max(0,ln(x))", 1e-6),
                    term("max(1,sqrt(x))", 1e-6),
                    term("max(1,x^0.5)", 1e-6),
                    term("max(1,min(9,x^-1))", 1e-6),
                    term("max(1,min(9,1/x))", 1e-6),
                    term("max(1,5%x)", 1e-6),
                    term("max(3,ceil(x))", 1e-6),
                ],
            ),
        ],
        ..ModelSet::default()
    }
}

/// Name in the set, names in Rust, C and Python, number of inputs.
const MODELS: [(&str, [&str; 3], usize); 8] = [
    ("Every", ["every", "strata_every", "every"], 2),
    ("anyNodes", ["any_nodes", "strata_any_nodes", "any_nodes"], 1),
    ("double", ["double", "strata_double_2", "double"], 2),
    ("seconds", ["seconds", "strata_seconds_2", "seconds"], 1),
    ("Nothing", ["nothing", "strata_nothing", "nothing"], 1),
    ("never", ["never", "strata_never", "never"], 1),
    ("overflow", ["overflow", "strata_overflow", "overflow"], 1),
    ("logs", ["logs", "strata_logs", "logs"], 1),
];

/// Values inside, at the edges of and outside the ranges.
fn value(chance: &mut u64) -> f64 {
    const EDGES: [f64; 16] = [
        0.0,
        -0.0,
        1.0,
        2.0,
        3.0,
        8.0,
        10.0,
        -4.0,
        4.0,
        64.0,
        8192.0,
        1e6,
        1_000_001.0,
        f64::NAN,
        f64::INFINITY,
        1000.0,
    ];
    *chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let bits = *chance >> 33;
    match bits % 3 {
        0 => EDGES[(bits / 3) as usize % EDGES.len()],
        1 => 1.0 + (bits / 3) as f64 / (1u64 << 31) as f64 * 3.0 * 9.0,
        _ => ((bits / 3) as f64 / (1u64 << 31) as f64 * 3.0 * 20.0).exp2().round(),
    }
}

struct Ask {
    model: usize,
    nodes: usize,
    inputs: Vec<f64>,
    answer: Option<f64>,
}

fn asks() -> Vec<Ask> {
    let resolved = set().resolve().unwrap();
    let mut chance = 20;
    let mut asks = Vec::new();
    for (model, (name, _, inputs)) in MODELS.iter().enumerate() {
        for i in 0..600 {
            let nodes = [4, 4, 4, 1, 0, 7][i % 6];
            let inputs: Vec<f64> = (0..*inputs).map(|_| value(&mut chance)).collect();
            let answer = resolved.seconds(name, nodes, &inputs);
            asks.push(Ask { model, nodes, inputs, answer });
        }
    }
    let some = |model: usize| asks.iter().filter(|a| a.model == model && a.answer.is_some()).count();
    for (model, (name, ..)) in MODELS.iter().enumerate() {
        assert_eq!(some(model) > 20, !["Nothing", "never"].contains(name), "{name}: {}", some(model));
    }
    asks
}

/// Whether two times are equal but for the last bits of the functions in them.
fn equal(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 8.0 * f64::EPSILON * a.abs(),
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// Compares what a program printed, a line an ask, with the interpreter.
fn compare(language: &str, printed: &str, none: &str, asks: &[Ask]) {
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), asks.len(), "{language}");
    for (line, ask) in lines.iter().zip(asks) {
        let got =
            if line.trim_start_matches('-') == none { None } else { Some(line.parse::<f64>().unwrap()) };
        let (name, inputs) = (MODELS[ask.model].0, &ask.inputs);
        assert!(
            equal(ask.answer, got),
            "{language}: {name}({}, {inputs:?}) is {:?}, not {got:?}",
            ask.nodes,
            ask.answer
        );
    }
}

/// A program with a line an ask.
fn calls(
    asks: &[Ask],
    language: usize,
    number: &dyn Fn(f64) -> String,
    line: &dyn Fn(&str) -> String,
) -> String {
    let mut text = String::new();
    for ask in asks {
        let arguments: String = ask.inputs.iter().map(|v| format!(", {}", number(*v))).collect();
        let call = format!("{}({}{arguments})", MODELS[ask.model].1[language], ask.nodes);
        writeln!(text, "{}", line(&call)).unwrap();
    }
    text
}

fn literal(value: f64, nan: &str, infinity: &str) -> String {
    if value.is_nan() {
        nan.into()
    } else if value.is_infinite() {
        infinity.into()
    } else {
        format!("{value:?}")
    }
}

/// Runs a command; `None`, with a message, where there is no such program.
fn run(command: &mut Command) -> Option<String> {
    match command.output() {
        Err(error) => {
            eprintln!("skipped: {}: {error}", command.get_program().to_string_lossy());
            None
        }
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command:?} failed:\n{errors}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
    }
}

#[test]
fn c_compiles_without_a_warning_and_agrees() {
    let (folder, asks) = (tempfile::tempdir().unwrap(), asks());
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("models.h", &emit::c(&set()).unwrap());
    let body = calls(&asks, 1, &|v| literal(v, "NAN", "INFINITY"), &|call| {
        format!("    printf(\"%.17g\\n\", {call});")
    });
    write(
        "main.c",
        &format!(
            "#include \"models.h\"\n#include \"models.h\"\n#include <stdio.h>\nint main(void) {{\n{body}    return 0;\n}}\n"
        ),
    );
    // Headers of others need not be free of unused functions, but of all else.
    let cc = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "main.c", "-o", "main", "-lm"];
    if run(Command::new("cc").current_dir(folder.path()).args(cc)).is_some() {
        compare("C", &run(&mut Command::new(folder.path().join("main"))).unwrap(), "nan", &asks);
    }
}

#[test]
fn python_runs_and_agrees() {
    let (folder, asks) = (tempfile::tempdir().unwrap(), asks());
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("models.py", &emit::python(&set()).unwrap());
    let body =
        calls(&asks, 2, &|v| literal(v, "math.nan", "math.inf"), &|call| format!("print(models.{call})"));
    write("main.py", &format!("import math\nimport models\n{body}"));
    if let Some(printed) = run(Command::new("python3").current_dir(folder.path()).arg("main.py")) {
        compare("Python", &printed, "None", &asks);
    }
}

#[test]
fn rust_compiles_without_the_standard_library_and_agrees() {
    let (folder, asks) = (tempfile::tempdir().unwrap(), asks());
    std::fs::create_dir(folder.path().join("src")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "Cargo.toml",
        "[package]\nname = \"plain\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\nlibm = \"0.2\"\n\n[workspace]\n",
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::copy(root.join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    write("src/lib.rs", "//! Models.\n#![no_std]\n#![deny(warnings, missing_docs)]\npub mod models;\n");
    write("src/models.rs", &emit::no_std(&set()).unwrap());
    let line = |call: &str| format!("    show(plain::models::{call});");
    let body = calls(&asks, 0, &|v| literal(v, "f64::NAN", "f64::INFINITY"), &line);
    write(
        "src/main.rs",
        &format!(
            "fn show(s: Option<f64>) {{\n    match s {{ Some(s) => println!(\"{{s:e}}\"), None => println!(\"none\") }}\n}}\nfn main() {{\n{body}}}\n"
        ),
    );
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plain");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--offline", "--manifest-path"]).arg(folder.path().join("Cargo.toml"));
    cargo.env("CARGO_TARGET_DIR", target).env_remove("RUSTFLAGS");
    compare("Rust", &run(&mut cargo).unwrap(), "none", &asks);
}

#[test]
fn latex_is_well_formed() {
    let text = emit::latex(&set()).unwrap();
    assert_eq!(text.matches("\\begin{equation*}").count(), MODELS.len());
    for (open, close) in
        [("\\begin{", "\\end{"), ("\\left", "\\right"), ("{", "}"), ("\\lfloor", "\\rfloor"), ("[", "]")]
    {
        assert_eq!(text.matches(open).count(), text.matches(close).count(), "{open}");
    }
    let document = format!(
        "\\documentclass{{article}}\n\\usepackage{{amsmath}}\n\\begin{{document}}\n{text}\\end{{document}}\n"
    );
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("models.tex"), document).unwrap();
    run(Command::new("pdflatex").current_dir(folder.path()).args([
        "-halt-on-error",
        "-interaction=nonstopmode",
        "models.tex",
    ]));
    insta::assert_snapshot!("latex", text);
}

#[test]
fn the_texts() {
    let few = ModelSet { models: set().models.drain(1..2).collect(), ..ModelSet::default() };
    insta::assert_snapshot!("c", emit::c(&few).unwrap());
    insta::assert_snapshot!("python", emit::python(&few).unwrap());
    insta::assert_snapshot!("no_std", emit::no_std(&few).unwrap());
}

#[test]
fn a_set_that_makes_no_sense_is_an_error() {
    let kind = Kind::Factored { expression: "Loop()+1".into() };
    let bad = ModelSet {
        models: vec![Model { name: "Loop".into(), kind, ..Model::default() }],
        ..ModelSet::default()
    };
    for emitter in [emit::c, emit::python, emit::latex, emit::no_std] {
        assert!(emitter(&bad).unwrap_err().to_string().contains("Loop"));
        assert!(emitter(&ModelSet::default()).unwrap().contains("@generated"));
    }
}
