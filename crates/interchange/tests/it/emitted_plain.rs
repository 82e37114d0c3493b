//! Models emitted for other languages: each is compiled or run, and returns the interpreter's
//! results.

use std::fmt::Write as _;
use std::process::Command;

use strata_interchange::emit;
use strata_interchange::emit::thresholds::{
    Branch, LibraryThresholds, Rule, Split, Table, ThresholdInput, ThresholdWay, Thresholds,
};
use strata_model::set::LibraryModels;
use strata_model::{ModelSet, Platform, Prediction};
use strata_select::{Source as _, table::Step};

fn set() -> ModelSet {
    ModelSet::read(include_str!("../sets/functions.toml")).unwrap()
}

/// A set of one model.
fn one(name: &str, cost: &str) -> ModelSet {
    ModelSet::read(&format!("strata-models = 1\n[[models]]\nname = \"{name}\"\n{cost}\n")).unwrap()
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
    let (nan, infinity) = (f64::NAN, f64::INFINITY);
    let edges = [
        0.0, -0.0, 1.0, 2.0, 3.0, 8.0, 10.0, -4.0, 4.0, 64.0, 8192.0, 1e6, 1_000_001.0, nan, infinity, 1000.0,
    ];
    *chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let bits = *chance >> 33;
    match bits % 3 {
        0 => edges[(bits / 3) as usize % edges.len()],
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
    let other = one("Other", "terms = [{ term = \"1\", coefficient = 1e-6, relevant = true }]");
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
    let bad = one("Loop", "expression = \"Loop()+1\"");
    let c = |set: &ModelSet| emit::c(set, "strata");
    for emitter in [&c as &dyn Fn(&ModelSet) -> _, &emit::python] {
        assert!(emitter(&bad).unwrap_err().to_string().contains("Loop"));
        assert!(emitter(&ModelSet::default()).unwrap().contains("@generated"));
    }
}

/// Two ways to sort, of which the data's order decides, measured on one node; and a table that says
/// the same.
fn ordered() -> (ModelSet, Thresholds) {
    let set = ModelSet::read(include_str!("../sets/ordered.toml")).unwrap();
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
    (set.clone(), Thresholds { kinds: set.kinds, libraries: vec![one], ..Thresholds::default() })
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
