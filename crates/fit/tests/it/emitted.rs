//! Emitted Rust: its text, and that it compiles without a warning and predicts the interpreter's
//! values.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use libm as _; // one of the programs takes it, offline
use strata_fit::emit;
use strata_model::set::{LibraryModels, ParameterRange};
use strata_model::{ModelSet, Platform, Prediction};
use strata_select::{
    Question, Row, Source as _, choose_among,
    table::{Ends, Parameter, Root},
};

fn set() -> ModelSet {
    ModelSet::read(include_str!("../sets/emitted.toml")).unwrap()
}

#[test]
fn the_text() {
    insta::assert_snapshot!(emit::rust(&[set()]).unwrap());
}

#[test]
fn a_set_that_makes_no_sense_is_an_error() {
    let bad = "strata-models = 1\n[[models]]\nname = \"Loop\"\nexpression = \"Loop()+1\"\n";
    assert!(emit::rust(&[ModelSet::read(bad).unwrap()]).unwrap_err().to_string().contains("Loop"));
    assert!(emit::rust(&[ModelSet::default()]).unwrap().starts_with("// @generated"));
}

#[test]
fn a_candidate_may_be_called_as_a_type() {
    let mut set = set();
    set.libraries[0].candidates[1].name = "library".into();
    let text = emit::rust(&[set]).unwrap();
    assert!(text.contains("        Library2,\n"), "{text}");
}

/// Ends hold the words of the spec, so that sets of two machines are of one library.
#[test]
fn ends_are_functions_and_may_differ_between_machines() {
    let mut small = set();
    let range = &mut small.libraries[0].candidates[0].parameters[0];
    (range.first, range.last) = (Some("cache1/16384".into()), Some("width/P+logP".into()));
    let mut large = small.clone();
    let platform = large.platform.as_mut().unwrap();
    (platform.nodes, platform.cores, platform.cache) = (2, 64, "L1d:48K".into());
    large.libraries[0].candidates[0].parameters[0].max = 99;
    let text = emit::rust(&[small.clone(), large.clone()]).unwrap();
    for (part, count) in [
        ("fn sort_radix_bits_ends(nodes: usize, _: f64, x: &[f64]) -> Option<(f64, f64)> {", 2),
        ("    let &[_, width] = x else { return None };", 2),
        ("Some((32768.0 / 16384.0, (width / p) + log_p))", 1),
        ("Some((49152.0 / 16384.0, (width / p) + log_p))", 1),
        (".ends(Ends(sort_radix_bits_ends))", 2),
        ("let cores = cores.min(64.0);", 1),
        ("/// `bits`: cache1/16384..=width/P+logP.", 1),
    ] {
        assert_eq!(text.matches(part).count(), count, "{part}: {text}");
    }
    large.libraries[0].candidates[0].parameters[0].last = Some("width".into());
    assert!(emit::rust(&[small, large]).unwrap_err().to_string().contains("other inputs, candidates"));
}

#[test]
fn what_needs_processes_is_marked() {
    let mut set = set();
    set.libraries[0].candidates[0].requires.push("processes".into());
    let text = emit::rust(&[set]).unwrap();
    assert_eq!(text.matches(".for_processes()").count(), 1, "{text}");
}

/// Points inside, at the edges of and outside the ranges.
const POINTS: [f64; 14] =
    [0.0, 1.0, 1.5, 2.0, 3.0, 7.0, 8.0, 16.0, 64.0, 333.0, 1000.0, 4096.0, 4097.0, f64::NAN];

/// Each known model with its Rust name and number of inputs.
const MODELS: [(&str, &str, usize); 6] = [
    ("Nested", "nested", 1),
    ("CombineVector", "combine_vector", 1),
    ("WideModel", "wide_model", 4),
    ("absolute", "absolute", 1),
    ("HybridSum", "hybrid_sum", 1),
    ("combine_vector", "combine_vector_2", 1),
];

fn points(inputs: usize) -> Vec<Vec<f64>> {
    let count = if inputs == 1 { POINTS.len() } else { 200 };
    (0..count)
        .map(|i| (0..inputs).map(|j| POINTS[(i * (2 * j + 1) + j * 5 + i / 14 * j) % POINTS.len()]).collect())
        .collect()
}

fn literal(value: f64) -> String {
    if value.is_nan() { "f64::NAN".into() } else { format!("{value:?}") }
}

/// The source of the program's models and evaluator.
#[derive(Clone, Copy, PartialEq)]
enum Evaluator {
    /// The crate `strata-select`.
    Crate,
    /// The emitted text.
    Text,
    /// The emitted text, in a library for `no_std`.
    TextWithoutStd,
}

/// Models in a module of their own.
const MODULE: &str = "#![deny(warnings, missing_docs, clippy::all)]\n/// Models.\npub mod models {\n    include!(\"models.rs\");\n}\n";

/// The emitted program, and the interpreter's answers line by line.
fn program_and_answers(evaluator: Evaluator) -> (String, Vec<Option<Prediction>>) {
    let set = set();
    let resolved = set.resolve().unwrap();
    let mut main = String::from("//! Prints predictions.\n");
    main += &match evaluator {
        Evaluator::Crate => MODULE.to_owned(),
        Evaluator::Text => format!("{MODULE}use models::strata_select;\n"),
        Evaluator::TextWithoutStd => "use emitted_models::models;\nuse models::strata_select;\n".to_owned(),
    };
    main.push_str(
        "use strata_select::Source as _;\n\
         fn show(s: Option<f64>, p: Option<strata_select::table::Prediction>) {\n\
             assert_eq!(s, p.map(|p| p.seconds.get()));\n\
             match p { Some(p) => println!(\"{:e} {:e} {:e}\", p.seconds.get(), p.half_width.get(), p.deviation.get()), None => println!(\"none\") }\n}\n\
         fn main() {\n",
    );
    let mut answers = Vec::new();
    for (model, function, inputs) in MODELS {
        for nodes in [0, 1, 4, 5] {
            for point in points(inputs) {
                let arguments: Vec<String> = point.iter().map(|v| literal(*v)).collect();
                let arguments = arguments.join(", ");
                writeln!(
                    main,
                    "    show(models::threads_4::{0}_MODEL.seconds({nodes}, &[{arguments}]), models::threads_4::{0}_MODEL.predict({nodes}, &[{arguments}]));",
                    function.to_ascii_uppercase()
                )
                .unwrap();
                answers.push(resolved.predict(model, nodes, &point));
            }
        }
    }
    let library = resolved.library("sort").unwrap();
    main += "    let table = &models::threads_4::SORT;\n    \
             assert_eq!((table.entries.len(), table.domain.nodes), (4, (1, 4)));\n";
    // By the models of this table, whatever machine it is from.
    let ask = |keys: f64, candidates: &str| {
        if evaluator == Evaluator::Crate {
            format!(
                "    let compiled = strata_select::models::Models {{ source: table, file: None, note: None }};\n    \
                 let question = strata_select::Question::new(4, &[{keys:?}, 8.0]);\n    \
                 let (_, choice) = compiled.choose(question, &|how| {candidates}).unwrap();\n"
            )
        } else {
            format!(
                "    let chooser = <models::Sort as strata_select::Library>::on(4);\n    \
                 let input = models::SortInput {{ keys: {keys:?} as _, width: 8.0 as _ }};\n    \
                 let (_, choice) = chooser.among(&|how| {candidates}).try_choose(input).unwrap();\n"
            )
        }
    };
    for point in points(2) {
        for (candidate, parameters) in [(0, vec![8]), (0, vec![17]), (0, vec![]), (1, vec![])] {
            let values: Vec<String> = point.iter().map(|v| literal(*v)).collect();
            writeln!(
                main,
                "    show(table.seconds({candidate}, 4, &[{0}], &{parameters:?}), table.predict({candidate}, 4, &[{0}], &{parameters:?}));",
                values.join(", ")
            )
            .unwrap();
            answers.push(library.predict(candidate, 4, &point, &parameters));
        }
    }
    // Variants have the values that the spec computes from the parameters, and an exhaustive match
    // covers them.
    main += "    let input = models::SortInput { keys: 100.0 as _, width: 8.0 as _ };\n    \
             let why = <models::Sort as strata_select::Library>::on(4).explain(input);\n    \
             match why.candidate {\n        models::Sort::Radix { bits } => assert!((1..=8).contains(&bits), \"{why}\"),\n        \
             models::Sort::Gather => {}\n        \
             models::Sort::Blocked { length } => assert_eq!(length.count_ones(), 1, \"{why}\"),\n        \
             models::Sort::Balanced { .. } => {}\n    }\n    \
             let blocked = <models::Sort as strata_select::Library>::candidate(2, &[5]);\n    \
             assert_eq!(blocked, Some(models::Sort::Blocked { length: 32 }));\n";
    // A root is found by the same expression.
    const BALANCED: &[Parameter] = &[
        Parameter::new("s", 1, 4).ends(Ends(|_, _, _| None)),
        Parameter::new("extra", 0, 5000).root(Root(|_, _| None)),
    ];
    let rows = [Row::EMPTY, Row::EMPTY, Row::EMPTY, Row::new("balanced", BALANCED)];
    for keys in [1.0, 2.0, 60.0, 500.0, 999.0, 1001.0] {
        let inputs = [keys, 8.0];
        let choice =
            choose_among(("sort", ""), rows, library, Question::new(4, &inputs), &|index| index == 3);
        let choice = choice.unwrap();
        main += &ask(keys, "matches!(how, models::Sort::Balanced { .. })");
        let _ = writeln!(
            main,
            "    assert_eq!((&choice.parameters[..], choice.predicted.is_some()), (&{:?}[..], {}));",
            &choice.parameters[..],
            choice.predicted.is_some()
        );
    }
    // The incumbent stays or is left as with the file.
    let rows = || library.candidates().iter().enumerate().map(|(at, _)| Row::new("", declared(library, at)));
    for keys in [1.0, 3.0, 20.0, 90.0, 400.0, 900.0] {
        let inputs = [keys, 8.0];
        let rows: Vec<Row> = rows().collect();
        let choice =
            choose_among(("sort", ""), rows, library, Question::new(4, &inputs), &|at| at < 3).unwrap();
        main += &ask(keys, "!matches!(how, models::Sort::Balanced { .. })");
        let _ = writeln!(
            main,
            "    assert_eq!((choice.index, &choice.parameters[..], choice.kept), ({}, &{:?}[..], {:?}));",
            choice.index,
            &choice.parameters[..],
            choice.kept
        );
    }
    main += "}\n";
    (main, answers)
}

/// The parameters of a candidate, as programs declare them.
fn declared(library: &LibraryModels, candidate: usize) -> &'static [Parameter] {
    let of = |range: &ParameterRange| range.declared(String::leak(range.name.clone()));
    library.parameters(candidate).iter().map(of).collect::<Vec<_>>().leak()
}

fn cargo(folder: &Path, arguments: &[&str]) -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emitted");
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--quiet", "--offline", "--manifest-path"])
        .arg(folder.join("Cargo.toml"))
        .env("CARGO_TARGET_DIR", target)
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?} failed:\n{errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn it_compiles_and_agrees_with_the_interpreter() {
    compiles_and_agrees(Evaluator::Crate, "emitted", &emit::rust(&[set()]).unwrap());
}

#[test]
fn with_the_evaluator_after_it_it_needs_no_crate() {
    let text = emit::standalone(&[set()], true).unwrap();
    assert!(!["std::", "libm", "crate::", "STRATA_"].iter().any(|sign| text.contains(sign)), "{text}");
    compiles_and_agrees(Evaluator::Text, "standalone", &text);
}

#[test]
fn with_the_evaluator_after_it_it_needs_no_std() {
    compiles_and_agrees(
        Evaluator::TextWithoutStd,
        "without_std",
        &emit::standalone(&[set()], false).unwrap(),
    );
}

/// A package `name` of these models and a program that prints their answers.
fn compiles_and_agrees(evaluator: Evaluator, name: &str, models: &str) {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let dependency = match evaluator {
        Evaluator::Crate => format!("strata-select = {{ path = {:?} }}", root.join("crates/select")),
        Evaluator::Text => String::new(),
        Evaluator::TextWithoutStd => "libm = \"0.2\"".to_owned(),
    };
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependency}\n\n[workspace]\n"
    );
    let (main, answers) = program_and_answers(evaluator);
    std::fs::create_dir(folder.path().join("src")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("Cargo.toml", &manifest);
    write("src/main.rs", &main);
    write("src/models.rs", models);
    if evaluator == Evaluator::TextWithoutStd {
        write("Cargo.toml", &format!("{manifest}\n[lib]\nname = \"emitted_models\"\n"));
        write("src/lib.rs", &format!("//! Models.\n#![no_std]\n{MODULE}"));
    }
    std::fs::copy(root.join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();

    match Command::new("rustfmt")
        .args(["--edition", "2024", "--check"])
        .arg(folder.path().join("src/models.rs"))
        .output()
    {
        Ok(output) => assert!(output.status.success(), "rustfmt would change the emitted text"),
        Err(_) => eprintln!("skipped: rustfmt is not installed"),
    }
    let clippy = Command::new(env!("CARGO")).args(["clippy", "--version"]).output();
    if clippy.is_ok_and(|o| o.status.success()) {
        cargo(folder.path(), &["clippy"]);
    } else {
        eprintln!("skipped: cargo clippy is not installed");
    }
    let printed = cargo(folder.path(), &["run"]);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), answers.len());
    let mut predicted = 0;
    // The lines of `WideModel`, the third model, which has a correction.
    let wide = (2 * 4 * POINTS.len(), 2 * 4 * POINTS.len() + 4 * 200);
    for (number, (line, answer)) in lines.iter().zip(&answers).enumerate() {
        let Some(answer) = answer else {
            assert_eq!(*line, "none", "line {number}");
            continue;
        };
        predicted += 1;
        let numbers: Vec<&str> = line.split(' ').collect();
        let [seconds, half_width, deviation] = numbers[..] else {
            panic!("line {number}: {line}, not {answer}")
        };
        let close = |text: &str, want: f64, tolerance: f64| {
            let got: f64 = text.parse().unwrap();
            assert!((got - want).abs() <= tolerance * want, "line {number}: {got:e} is not {want:e}");
        };
        let bits: u64 = seconds.parse::<f64>().unwrap().to_bits();
        let corrected = number >= wide.0 && number < wide.1;
        assert!(
            evaluator != Evaluator::Crate || !corrected || bits == answer.seconds.get().to_bits(),
            "line {number}"
        );
        // The functions of `libm` may differ in the last bits.
        let last_bits = if evaluator == Evaluator::TextWithoutStd { 8.0 } else { 2.0 };
        close(seconds, answer.seconds.get(), last_bits * f64::EPSILON);
        // The factor of the covariance has six digits.
        close(half_width, answer.half_width.get(), 1e-5);
        close(deviation, answer.deviation.get(), 1e-5);
    }
    assert!(predicted > 100, "only {predicted} points are inside");
}

/// The set as another machine, or another number of nodes, would have it.
fn on(nodes: usize, cpu: &str, coefficient: f64) -> ModelSet {
    let mut set = set();
    let platform = set.platform.take().unwrap();
    set.platform = Some(Platform { nodes, cpu: cpu.into(), ..platform });
    let combine = set.models.iter_mut().find(|model| model.name == "CombineVector").unwrap();
    combine.terms[1].coefficient = coefficient;
    set
}

#[test]
fn a_set_goes_beside_those_of_other_machines_or_replaces_its_own() {
    let (one, other, more) = (on(4, "Abacus", 1e-6), on(4, "Soroban", 2e-6), on(8, "Abacus", 3e-6));
    let text =
        |sets: &[&ModelSet]| emit::rust(&sets.iter().map(|set| (*set).clone()).collect::<Vec<_>>()).unwrap();
    let first = text(&[&one]);
    assert!(emit::is_generated(&first));
    let both = emit::add(&first, &other).unwrap();
    assert_eq!((both.text.as_str(), both.platforms), (text(&[&one, &other]).as_str(), 2));
    assert!(!both.replaced && !both.other_spec);
    let all = emit::add(&both.text, &more).unwrap();
    assert_eq!(all.text, text(&[&one, &other, &more]));
    // Measured again, each takes the place of its own.
    for again in [on(4, "Abacus", 4e-6), on(4, "Soroban", 5e-6)] {
        let changed = emit::add(&both.text, &again).unwrap();
        assert!(changed.replaced && changed.platforms == 2 && changed.text.contains("e-6"));
        let expected = if again.platform == one.platform { [&again, &other] } else { [&one, &again] };
        assert_eq!(changed.text, text(&expected));
        assert_eq!(emit::add(&changed.text, &again).unwrap().text, changed.text);
    }
    let mut newer = more.clone();
    newer.spec.as_mut().unwrap().sha256 = "f".repeat(64);
    assert!(emit::add(&both.text, &newer).unwrap().other_spec);
}

#[test]
fn what_others_wrote_is_refused() {
    let (one, mut other) = (on(4, "Abacus", 1e-6), on(4, "Soroban", 2e-6));
    let text = emit::rust(std::slice::from_ref(&one)).unwrap();
    for foreign in
        ["", "// mine\npub mod models {}\n", &text[2..], &text[..text.len() / 2], &format!("{text}\n")]
    {
        assert_eq!(emit::add(foreign, &other), Err(emit::AddError::Foreign));
        assert!(!emit::is_generated(foreign));
    }
    for (new, old) in [("library! {", "impl Library for Sort {"), ("select::table::Math", "select::Math")] {
        assert_eq!(emit::add(&text.replace(new, old), &other), Err(emit::AddError::Old), "{old}");
    }
    let standalone = emit::standalone(std::slice::from_ref(&one), true).unwrap();
    assert_eq!(emit::add(&standalone, &other), Err(emit::AddError::Foreign));
    other.libraries[0].candidates[1].name = "another".into();
    let Err(emit::AddError::Unlike(why)) = emit::add(&text, &other) else { panic!("it is unlike") };
    assert!(why.contains("Another"), "{why}");
    let nowhere = ModelSet { platform: None, ..one };
    assert_eq!(emit::add(&text, &nowhere), Err(emit::AddError::Nowhere));
}
