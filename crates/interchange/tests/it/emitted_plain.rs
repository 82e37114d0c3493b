//! Models emitted for other languages: each is compiled or run, and returns the interpreter's
//! results.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use strata_interchange::emit;
use strata_interchange::emit::thresholds::{
    Branch, LibraryThresholds, Rule, Split, Table, ThresholdInput, ThresholdWay, Thresholds,
};
use strata_model::set::{
    Axis, Correction, Incumbent, Input, Kind, Library, LibraryCandidate, LibraryModels, Mode, Model, Nodes,
    ParameterRange, Term, Verdict,
};
use strata_model::{ModelSet, Platform, Prediction};
use strata_select::{Source as _, table::Step};

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
        "1", "n", "n*log2(n)", "sqrt(n/x)", "ln(n)", "exp(-x)", "n^1.5", "n^2", "x^3", "2^x", "2^-3",
        "pow(x,0.25)", "pow(n,2)", "ceil(n/x)", "floor(n/8)*8", "n%7", "abs(x-5)", "min(n,1000,x*100)",
        "max(0,n-4096)", "(n>8192)", "n*(n<=64)", "(n>5)*(x<3)+(n==1)", "(n!=1)&&(x>=2)", "(n>1e5)||!(x>2)",
        "!(n%2)", "x<<3", "n>>4", "1/n", "n/(x*x)/3", "n-(x-1)", "-(-x)", "(0-x)^2", "(x-5)^3+200",
        "n/(x-x)*0+1",
    ];
    let every = every_function.iter().enumerate().map(|(i, text)| term(text, 1e-9 * (i as f64 + 1.0) / 3.0));
    let whole = Model {
        requires: vec!["n>=x".into(), "P>1||x<4".into()],
        // The last term is NaN everywhere: the model predicts nowhere, in other languages too.
        covariance: (0..every_function.len() - 1)
            .map(|i| (0..every_function.len() - 1).map(|j| if i == j { 1e-20 } else { 1e-22 }).collect())
            .collect(),
        noise_variance: 1e-4,
        t_quantile: 2.1,
        own_error: 0.4,
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
    let covariance = vec![
        vec![1e-14, 2e-15, 0.0, -1e-18, 0.0],
        vec![2e-15, 3e-14, 1e-18, 0.0, 0.0],
        vec![0.0, 1e-18, 1e-20, 0.0, 0.0],
        vec![-1e-18, 0.0, 0.0, 2e-20, 0.0],
        vec![0.0; 5],
    ];
    let nodes = Model {
        nodes: Nodes { min: 1, max: 6 },
        covariance,
        mode: Mode::Absolute,
        noise_variance: 1e-15,
        t_quantile: 1.9,
        ..nodes
    };
    let kind = Kind::Factored { expression: "Every(lambda,min(10,max(1,double)))+2*anyNodes(lambda)".into() };
    let called = Model {
        name: "double".into(),
        inputs: ["lambda", "double"].map(|name| input(name, f64::NEG_INFINITY, f64::INFINITY)).to_vec(),
        kind,
        ..Model::default()
    };
    let tabled = Model {
        correction: Some(Correction {
            samples: 31,
            axes: vec![
                Axis { input: "n".into(), round: false, knots: vec![1.0, 60.0, 1e4] },
                Axis { input: "factor".into(), round: false, knots: vec![0.0, 4.0, 7.0] },
                Axis { input: "n".into(), round: true, knots: vec![0.0, 2.0] },
            ],
            factors: [1.0, 0.9, 1.25, 1.0, 0.81, 1.1, 1.3, 1.0, 0.97]
                .iter()
                .flat_map(|factor| [*factor, 2.0 * factor])
                .collect(),
        }),
        covariance: vec![vec![1e-20, 1e-21], vec![1e-21, 2e-20]],
        noise_variance: 1e-4,
        mean_time: 0.5,
        t_quantile: 2.1,
        ..model(
            "Tabled",
            0,
            vec![n(), input("factor", 0.0, 9.0)],
            vec![term("n", 1e-9), term("n/(1+factor)", 3e-9)],
        )
    };
    ModelSet {
        models: vec![
            whole,
            nodes,
            called,
            tabled,
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
        libraries: vec![Library {
            incumbent: Some(Incumbent { candidate: "every".into(), parameters: vec![3], gain: 0.3 }),
            equal: Vec::new(),
            regret: None,
            name: "pickOne".into(),
            inputs: vec!["n".into()],
            candidates: vec![
                candidate("every", "Every", &["n", "k"], &["k%3!=2"], &[("k", 1, 9, Step::Add(2))]),
                candidate(
                    "any-nodes",
                    "anyNodes",
                    &["n*w/(3+type)"],
                    &[],
                    &[("w", 1, 8, Step::Multiply(2)), ("type", 0, 4, Step::ONE)],
                ),
                candidate("both", "double", &["n", "3"], &[], &[]),
                with_last(
                    candidate("tabled", "Tabled", &["n", "8-w"], &[], &[("w", 0, 8, Step::ONE)]),
                    "min(5*cores/cores, n/3)",
                ),
            ],
        }],
        ..ModelSet::default()
    }
}

/// The same candidate, whose first parameter's last value depends on the problem.
fn with_last(mut candidate: LibraryCandidate, last: &str) -> LibraryCandidate {
    candidate.parameters[0].last = Some(last.to_owned());
    candidate
}

fn candidate(
    name: &str,
    model: &str,
    arguments: &[&str],
    requires: &[&str],
    parameters: &[(&str, i64, i64, Step)],
) -> LibraryCandidate {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let parameters = parameters.iter();
    LibraryCandidate {
        name: name.replace('-', "_"),
        model: model.into(),
        arguments: owned(arguments),
        requires: owned(requires),
        parameters: parameters
            .map(|(name, min, max, step)| ParameterRange {
                name: (*name).into(),
                min: *min,
                max: *max,
                step: *step,
                root: None,
                first: None,
                last: None,
            })
            .collect(),
    }
}

/// The least expected time over all candidates and parameters, by trying all: its time and half
/// width.
fn best(models: &LibraryModels, nodes: usize, n: f64) -> Option<(f64, f64)> {
    let mut best: Option<(f64, Prediction)> = None;
    for (place, declared) in models.candidates().iter().enumerate() {
        let mut all: Vec<Vec<i64>> = vec![vec![]];
        for range in &declared.parameters {
            let mut values = vec![range.min];
            while let Some(next) = values
                .last()
                .map(|value| match range.step {
                    Step::Add(by) => value + by,
                    Step::Multiply(by) => value * by,
                })
                .filter(|next| *next <= range.max)
            {
                values.push(next);
            }
            all = all.iter().flat_map(|at| values.iter().map(|v| [&at[..], &[*v]].concat())).collect();
        }
        for at in all {
            let Some(seconds) = models.seconds(place, nodes, &[n], &at) else { continue };
            let expected = seconds * models.about(place).expected_ratio;
            if best.is_none_or(|(least, _)| expected < least) {
                best = models.predict(place, nodes, &[n], &at).map(|prediction| (expected, prediction));
            }
        }
    }
    let (least, mut prediction) = best?;
    let kept = models.info().incumbent.unwrap();
    if let Some(own) = models.predict(kept.candidate, nodes, &[n], &kept.parameters)
        && least > (1.0 - kept.gain) * (own.seconds.get() * models.about(kept.candidate).expected_ratio)
    {
        prediction = own;
    }
    Some((prediction.seconds.get(), prediction.half_width.get()))
}

/// Compares choices, one line `SECONDS HALF_WIDTH COVERED` or `none` each, with an exhaustive
/// search.
fn compare_choices(language: &str, printed: &str) {
    let resolved = set().resolve().unwrap();
    let models = resolved.library("pickOne").unwrap();
    let (mut some, mut none, mut outside) = (0, 0, 0);
    for (line, (nodes, n)) in printed.lines().zip(choices()) {
        let words: Vec<&str> = line.split(' ').collect();
        let mut nearest = [n];
        let (nearest_nodes, distance) = models.info().domain.nearest(nodes, &mut nearest);
        match (best(models, nearest_nodes, nearest[0]), &words[..]) {
            (None, ["none"]) => none += 1,
            (Some(times), [seconds, half_width, covered]) => {
                let is_covered = ["1", "true", "True"].contains(covered);
                assert_eq!(is_covered, distance == 0.0, "{language}: {n} on {nodes}");
                outside += usize::from(!is_covered);
                let got: [f64; 2] = [seconds, half_width].map(|word| word.parse().unwrap());
                let near = |(a, b): (f64, f64)| (a - b).abs() <= 1e-6 * a.abs();
                assert!(
                    near((times.0, got[0])) && near((times.1, got[1])),
                    "{language}: {n} on {nodes}: {times:?} {got:?}"
                );
                some += 1;
            }
            (best, got) => panic!("{language}: {n} on {nodes}: {best:?}, not {got:?}"),
        }
    }
    assert!(outside > 5 && some > 50 && some + none == choices().len(), "{language}: {some} and {none}");
}

/// Numbers of nodes and inputs to choose at.
fn choices() -> Vec<(usize, f64)> {
    (0..120).map(|i| ([4, 4, 1, 6, 7][i % 5], 1.3_f64.powi(i as i32 / 2).round())).collect()
}

/// Name in the set, names in C and Python, number of inputs.
const MODELS: [(&str, [&str; 2], usize); 9] = [
    ("Every", ["strata_every", "every"], 2),
    ("anyNodes", ["strata_any_nodes", "any_nodes"], 1),
    ("double", ["strata_double_2", "double"], 2),
    ("Tabled", ["strata_tabled", "tabled"], 2),
    ("seconds", ["strata_seconds_2", "seconds_2"], 1),
    ("Nothing", ["strata_nothing", "nothing"], 1),
    ("never", ["strata_never", "never"], 1),
    ("overflow", ["strata_overflow", "overflow"], 1),
    ("logs", ["strata_logs", "logs"], 1),
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
    half_width: Option<f64>,
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
            let prediction = resolved.predict(name, nodes, &inputs);
            let half_width = prediction.map(|prediction| prediction.half_width.get());
            asks.push(Ask { model, nodes, inputs, answer, half_width });
        }
    }
    let some = |model: usize| asks.iter().filter(|a| a.model == model && a.answer.is_some()).count();
    for (model, (name, ..)) in MODELS.iter().enumerate() {
        assert_eq!(some(model) > 20, !["Nothing", "never"].contains(name), "{name}: {}", some(model));
    }
    asks
}

/// Whether two times are equal except for the last bits of their mathematical functions.
fn equal(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 8.0 * f64::EPSILON * a.abs(),
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// Compares the output of a program, two lines a question, with the interpreter; then its choices.
fn compare(language: &str, printed: &str, none: &str, asks: &[Ask]) {
    let lines: Vec<&str> = printed.lines().collect();
    let read = |line: &str| {
        if line.trim_start_matches('-') == none { None } else { Some(line.parse::<f64>().unwrap()) }
    };
    assert_eq!(lines.len(), 2 * asks.len() + choices().len(), "{language}");
    compare_choices(language, &lines[2 * asks.len()..].join("\n"));
    assert!(asks.iter().filter(|ask| ask.half_width.is_some_and(|half| half > 0.0)).count() > 100);
    for (lines, ask) in lines.chunks_exact(2).zip(asks) {
        let (got, half_width) = (read(lines[0]), read(lines[1]));
        let (name, inputs) = (MODELS[ask.model].0, &ask.inputs);
        // These are differences of times, which lose digits.
        let near = match (ask.half_width, half_width) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-6 * a.abs(),
            (a, b) => a.is_none() && b.is_none(),
        };
        assert!(
            near,
            "{language}: half width of {name}({}, {inputs:?}) is {:?}, not {half_width:?}",
            ask.nodes, ask.half_width
        );
        assert!(
            equal(ask.answer, got),
            "{language}: {name}({}, {inputs:?}) is {:?}, not {got:?}",
            ask.nodes,
            ask.answer
        );
    }
}

/// A program that prints two lines for each question.
fn calls(
    asks: &[Ask],
    language: usize,
    number: &dyn Fn(f64) -> String,
    line: &dyn Fn(&str) -> String,
) -> String {
    let mut text = String::new();
    for ask in asks {
        let arguments: String = ask.inputs.iter().map(|v| format!(", {}", number(*v))).collect();
        for suffix in ["", "_half_width"] {
            let call = format!("{}{suffix}({}{arguments})", MODELS[ask.model].1[language], ask.nodes);
            writeln!(text, "{}", line(&call)).unwrap();
        }
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
    write("models.h", &emit::c(&set(), "strata").unwrap());
    let mut body = calls(&asks, 0, &|v| literal(v, "NAN", "INFINITY"), &|call| {
        format!("    printf(\"%.17g\\n\", {call});")
    });
    for (nodes, n) in choices() {
        writeln!(body, "    show(strata_pick_one_choose({nodes}, {n:?}));").unwrap();
    }
    // The same models under another prefix, and another set: all in one program.
    write("twice.h", &emit::c(&set(), "twice").unwrap());
    let other =
        ModelSet { models: vec![model("Other", 0, vec![], vec![term("1", 1e-6)])], ..ModelSet::default() };
    write("other.h", &emit::c(&other, "strata").unwrap());
    let show = "static void show(strata_pick_one_choice c) {
    const char *name = strata_pick_one_name(c.candidate);
    if (!name) { printf(\"none\\n\"); return; }
    if (c.candidate == strata_pick_one_is_any_nodes && (c.parameters.w < 1 || name[0] != 'a')) { printf(\"wrong\\n\"); }
    printf(\"%.17g %.17g %d\\n\", c.seconds, c.half_width, c.covered);
}
";
    write(
        "main.c",
        &format!(
            "#include \"models.h\"\n#include \"models.h\"\n#include \"twice.h\"\n#include \"other.h\"\n#include <stdio.h>\n{show}\
             int main(void) {{\n    if (strata_other(1) != 1e-6 || !isnan(twice_never(1, 1.0))) {{ return 1; }}\n{body}    return 0;\n}}\n"
        ),
    );
    // Other headers may have unused functions, but no other warnings.
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
    let mut body =
        calls(&asks, 1, &|v| literal(v, "math.nan", "math.inf"), &|call| format!("print(models.{call})"));
    for (nodes, n) in choices() {
        writeln!(body, "show(models.pick_one_choose({nodes}, {n:?}))").unwrap();
    }
    let show = "def show(choice):
    if choice is None:
        return print('none')
    name, parameters, seconds, half_width, covered = choice
    assert list(parameters) == {'every': ['k'], 'any_nodes': ['w', 'type'], 'both': [], 'tabled': ['w']}[name]
    print(repr(seconds), repr(half_width), covered)
";
    write("main.py", &format!("import math\nimport models\n{show}{body}"));
    if let Some(printed) = run(Command::new("python3").current_dir(folder.path()).arg("main.py")) {
        compare("Python", &printed, "None", &asks);
    }
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
fn a_parameter_that_is_a_root_is_not_chosen() {
    let mut set = set();
    for candidate in set.libraries.iter_mut().flat_map(|library| &mut library.candidates) {
        for parameter in candidate.parameters.iter_mut().filter(|parameter| parameter.step == Step::ONE) {
            parameter.root = Some(format!("10-{}", parameter.name));
        }
    }
    let texts = [emit::c(&set, "strata"), emit::python(&set)];
    for text in texts {
        assert!(text.unwrap().contains("is a root, which only Rust searches"));
    }
}

#[test]
fn the_texts() {
    let few = ModelSet { models: set().models.drain(1..2).collect(), ..ModelSet::default() };
    insta::assert_snapshot!("c", emit::c(&few, "strata").unwrap());
    insta::assert_snapshot!("python", emit::python(&few).unwrap());
}

#[test]
fn a_set_that_makes_no_sense_is_an_error() {
    let kind = Kind::Factored { expression: "Loop()+1".into() };
    let bad = ModelSet {
        models: vec![Model { name: "Loop".into(), kind, ..Model::default() }],
        ..ModelSet::default()
    };
    let c = |set: &ModelSet| emit::c(set, "strata");
    for emitter in [&c as &dyn Fn(&ModelSet) -> _, &emit::python, &emit::latex] {
        assert!(emitter(&bad).unwrap_err().to_string().contains("Loop"));
        assert!(emitter(&ModelSet::default()).unwrap().contains("@generated"));
    }
}

/// Two ways to sort, of which the data's order decides, measured on one node; and a table that says
/// the same.
fn ordered() -> (ModelSet, Thresholds) {
    let inputs = || {
        let input = |name: &str, min, max| Input { integer: true, ..input(name, min, max) };
        vec![input("n", 1.0, 1e6), input("order", 0.0, 1.0)]
    };
    let kinds = BTreeMap::from([("order".to_owned(), vec!["random".to_owned(), "in-order".to_owned()])]);
    let set = ModelSet {
        kinds: kinds.clone(),
        models: vec![
            model("Quick", 1, inputs(), vec![term("n", 2e-9)]),
            model("Merge", 1, inputs(), vec![term("n", 3e-9), term("n*order", -2e-9)]),
        ],
        libraries: vec![Library {
            name: "sort".into(),
            inputs: vec!["n".into(), "order".into()],
            candidates: [("quick", "Quick"), ("merge", "Merge")]
                .map(|(name, model)| candidate(name, model, &["n", "order"], &[], &[]))
                .to_vec(),
            incumbent: None,
            regret: None,
            equal: Vec::new(),
        }],
        ..ModelSet::default()
    };
    let input = |name: &str, high| ThresholdInput { name: name.into(), whole: true, low: 0.0, high };
    let split = Split { input: 1, below: 1.0, then: [Branch::Way(0), Branch::Way(1)] };
    let way = |name: &str| ThresholdWay { candidate: name.into(), parameters: Vec::new() };
    let one = LibraryThresholds {
        library: "sort".into(),
        nodes: 1,
        inputs: vec![input("n", 1e6), input("order", 1.0)],
        held: Vec::new(),
        failed: Vec::new(),
        beside: Vec::new(),
        ways: vec![way("quick"), way("merge")],
        rule: Rule::Table(Table { splits: vec![split], ..Table::default() }),
    };
    (set, Thresholds { kinds, libraries: vec![one], ..Thresholds::default() })
}

#[test]
fn names_of_kinds_are_constants_and_others_are_refused() {
    let (folder, (set, thresholds)) = (tempfile::tempdir().unwrap(), ordered());
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("models.h", &emit::c(&set, "strata").unwrap());
    write("thresholds.h", &emit::thresholds::c(&thresholds, "strata"));
    let program = |name: &str| {
        format!(
            "#include \"models.h\"\n#include \"thresholds.h\"\nint main(void) {{\n    size_t n = 100;\n    \
             strata_sort_choice choice = strata_sort_choose(n, {name});\n    \
             if (choice.candidate != strata_sort_is_merge || !choice.covered) return 1;\n    \
             if (strata_sort_way_at(n, {name}) != strata_sort_way_merge) return 2;\n    \
             if (strata_sort_choose(n, strata_order_random).candidate != strata_sort_is_quick) return 3;\n    \
             return strata_sort_choose(n, (enum strata_order)7).candidate != strata_sort_none;\n}}\n"
        )
    };
    write("main.c", &program("strata_order_in_order"));
    write("wrong.c", &program("strata_order_inorder"));
    for (compiler, language) in [("cc", ["-xc", "-std=c99"]), ("c++", ["-xc++", "-std=c++17"])] {
        let command = |file: &str| {
            let mut command = Command::new(compiler);
            command.current_dir(folder.path()).args(language);
            command.args(["-Wall", "-Wextra", "-pedantic", "-Werror", file, "-o", "main", "-lm"]);
            command
        };
        if run(&mut command("main.c")).is_some() {
            run(&mut Command::new(folder.path().join("main"))).unwrap();
            assert!(!command("wrong.c").output().unwrap().status.success(), "{compiler}");
        }
    }
    write("models.py", &emit::python(&set).unwrap());
    let python = "import models\n\
                  assert models.sort_choose(1, 100, models.Order.IN_ORDER)[0] == 'merge'\n\
                  assert models.sort_choose(1, 100, models.Order.RANDOM)[0] == 'quick'\n\
                  try:\n    models.sort_choose(1, 100, 7)\nexcept ValueError:\n    pass\nelse:\n    assert False\n";
    write("main.py", python);
    run(Command::new("python3").current_dir(folder.path()).arg("main.py"));
    // One machine; two, of which a program names one.
    let of = |cpu: &str| {
        let platform = Platform { cpu: cpu.into(), cores: 2, ..Platform::default() };
        Thresholds { platform: Some(platform), ..thresholds.clone() }
    };
    for (sets, machine) in [(vec![thresholds.clone()], ""), (vec![of("one"), of("other")], "1, ")] {
        write("table.rs", &emit::thresholds::rust(&sets));
        let program = |name: &str| {
            format!(
                "mod table;\nuse table::sort::{{Order, WAYS, choose}};\nfn main() {{\n    \
                 assert_eq!(WAYS[choose({machine}100, Order::{name})].0, \"merge\");\n}}\n"
            )
        };
        let compile = |name: &str| {
            write("main.rs", &program(name));
            Command::new("rustc").current_dir(folder.path()).args(["--edition=2024", "main.rs"]).output()
        };
        assert!(!compile("Inorder").unwrap().status.success());
        let compiled = compile("InOrder").unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        run(&mut Command::new(folder.path().join("main"))).unwrap();
    }
}
