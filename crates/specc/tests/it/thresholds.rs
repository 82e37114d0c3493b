//! Crossovers with their intervals, and what is exported of them, from models and samples that are
//! made up, so that what must come out is known. Nothing is measured here.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::made_up::{head, library, model};
use specc::competition::Competition;
use specc::decisions::Like;
use specc::fitting::{Overrides, fit};
use specc::lang::load;
use specc::thresholds::intervals::{self, Evidence, Origin};
use specc::thresholds::{self, Limits};
use strata_interchange::emit::thresholds::{
    self as text, Branch, LibraryThresholds, Rule, Split, Table, Thresholds, read,
};
use strata_model::{ModelSet, Samples, sha256_hex};

fn specc(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    crate::specc(folder, "80", arguments)
}

const N: &str = "{ name = \"n\", min = 16.0, max = 65536.0, integer = true }";
const REAL: &str = "{ name = \"x\", min = 0.5, max = 64.0 }";

fn set(parts: &[String]) -> String {
    head("threads", 1, 2) + &parts.concat()
}

/// `few` to 400, `some` to 40,000, `many` from there on.
pub(crate) fn three() -> String {
    set(&[
        model("Few", N, &[("n", 10.0)]),
        model("Some", N, &[("1", 3_600.0), ("n", 1.0)]),
        model("Many", N, &[("1", 39_600.0), ("n", 0.1)]),
        library("three", &["n"], &[("few", "Few"), ("some", "Some"), ("many", "Many")]),
    ])
}

/// `a` to 10, `b` from there on, of an input that is no whole number.
pub(crate) fn real() -> String {
    set(&[
        model("A", REAL, &[("x", 1.0)]),
        model("B", REAL, &[("1", 5.0), ("x", 0.5)]),
        library("real", &["x"], &[("a", "A"), ("b", "B")]),
    ])
}

/// `far` would win from 111,112 on, which nobody measured, `worse` nowhere.
pub(crate) fn never() -> String {
    set(&[
        model("Few", N, &[("n", 10.0)]),
        model("Far", N, &[("1", 1e6), ("n", 1.0)]),
        model("Worse", N, &[("n", 20.0)]),
        library("far", &["n"], &[("few", "Few"), ("far", "Far")]),
        library("never", &["n"], &[("few", "Few"), ("worse", "Worse")]),
    ])
}

const SPEC: &str = include_str!("both.spec");

/// A takes 1 µs + 10 ns·n and B 5 µs + 3 ns·n: equally long at 571.4. Each time is off by a few per
/// cent, at random.
const CROSSING: f64 = 4000.0 / 7.0;

fn noisy(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    // About normal, with a deviation of 1.
    let mut noise = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    let mut text = String::from(
        "strata-samples 1\nplatform threads nodes=1 cores=2 cpu=\"made up\" cache=\"\" os=linux arch=x86_64\n\
         model A n\nmodel B n\n",
    );
    let mut row = |mark: &str, n: f64| {
        let [a, b] = [1e-6 + 10e-9 * n, 5e-6 + 3e-9 * n].map(|time| time * (1.0 + 0.03 * noise()));
        writeln!(text, "{mark}A {a:e} {n}\n{mark}B {b:e} {n}").unwrap();
    };
    (4..=16).for_each(|e| row("", f64::from(1 << e)));
    [24.0, 100.0, 700.0, 3000.0, 20_000.0, 50_000.0].into_iter().for_each(|n| row("@", n));
    text
}

/// The intervals of the crossing of one data set, by its samples and by the covariance alone.
fn intervals(seed: u64) -> [(f64, f64); 2] {
    let samples_text = noisy(seed);
    let samples = Samples::parse(&samples_text, "made up").unwrap();
    let spec = load("both.spec", SPEC).unwrap_or_else(|errors| panic!("{}", errors.render(false)));
    let set = fit(&samples, sha256_hex(samples_text.as_bytes()), Some(&spec), &Overrides::default()).set;
    let competition = Competition::new(&set, "both").unwrap();
    [Some(samples), None].map(|samples| {
        let evidence = Evidence { samples, decisions: None };
        let found = intervals::compute(&set, &competition, &[], None, &evidence).unwrap();
        let crossover = &found.lines[0].crossovers[0];
        match (&evidence.samples, found.origin) {
            // An outlier may be left out.
            (Some(_), Origin::Samples(24..)) => {
                // GMP's rule is asked of the same data, and hardly loses less.
                let tuneup = crossover.tuneup.unwrap();
                assert!(tuneup.points == 19 && tuneup.ours <= tuneup.least + 0.01, "{seed}: {tuneup:?}");
            }
            (None, Origin::Covariance) => assert_eq!(crossover.tuneup, None),
            (_, other) => panic!("{seed}: {other:?}"),
        }
        let (low, high) = crossover.interval.unwrap();
        let (low, high) = (low.unwrap(), high.unwrap());
        assert!(low <= crossover.at && crossover.at <= high, "{seed}: {crossover:?}");
        assert!(high / low < 1.3, "{seed}: {low} to {high}");
        (low, high)
    })
}

#[test]
fn intervals_hold_the_crossing_as_often_as_they_say() {
    const SETS: u64 = 100;
    let mut covered = [0; 2];
    for seed in 1..=SETS {
        for ((low, high), covered) in intervals(seed).into_iter().zip(&mut covered) {
            *covered += u64::from(low <= CROSSING.ceil() && CROSSING <= high);
        }
    }
    let shares = covered.map(|covered| covered as f64 / SETS as f64);
    assert!(shares.iter().all(|share| (0.90..=0.99).contains(share)), "{shares:?}");
}

#[test]
fn one_sample_gives_no_interval_and_no_panic() {
    let text = "strata-samples 1\nmodel A n\nA 1e-6 16\nmodel B n\nB 2e-6 16\n";
    let samples = Samples::parse(text, "made up").unwrap();
    let spec = load("both.spec", SPEC).unwrap_or_else(|errors| panic!("{}", errors.render(false)));
    let set = fit(&samples, sha256_hex(text.as_bytes()), Some(&spec), &Overrides::default()).set;
    let competition = Competition::new(&set, "both").unwrap();
    let evidence = Evidence { samples: Some(samples), decisions: None };
    let found = intervals::compute(&set, &competition, &[], None, &evidence);
    assert!(found.as_ref().is_err_and(|why| why.contains("so there is no range")), "{found:?}");
}

/// The thresholds of the only library of a set.
fn thresholds_of(models: &str, fixed: &[(String, f64)]) -> (ModelSet, LibraryThresholds) {
    let set = ModelSet::read(models).unwrap();
    let competition = Competition::new(&set, &set.libraries[0].name).unwrap();
    let (found, _) =
        thresholds::of(&set, &competition, fixed, Limits::default(), &Evidence::default()).unwrap();
    (set, found)
}

/// A library of two whole inputs, with a border that is no straight line.
pub(crate) fn plane() -> String {
    let inputs = format!("{N}, {{ name = \"width\", min = 1.0, max = 64.0, integer = true }}");
    set(&[
        model("Wide", &inputs, &[("1", 20_000.0), ("n", 4.0)]),
        model("Narrow", &inputs, &[("n*width", 1.0)]),
        model("Small", &inputs, &[("n", 30.0), ("width", 2.0)]),
        library("plane", &["n", "width"], &[("wide", "Wide"), ("narrow", "Narrow"), ("small", "Small")]),
    ])
}

/// The three ways win in about equal parts of the plane; each is left out in turn, and no table may
/// name it. What is said of the loss is true at other inputs.
#[test]
fn few_ways_are_as_few_and_lose_what_is_said() {
    let set = ModelSet::read(&plane()).unwrap();
    let competition = Competition::new(&set, "plane").unwrap();
    for (ways, slowdown) in [(Some(1), None), (Some(2), None), (None, Some(0.5)), (None, Some(1e-9))] {
        let limits = Limits { ways, slowdown };
        let few = thresholds::few(&competition, &[], limits).unwrap();
        let (found, _) = thresholds::of(&set, &competition, &[], limits, &Evidence::default()).unwrap();
        assert!(ways.is_none_or(|ways| few.ways.len() == ways), "{few:?}");
        assert!(slowdown.is_none_or(|slowdown| few.loss.worst <= slowdown.max(0.01)), "{few:?}");
        let name = |way: usize| competition.candidates()[way].name;
        let named: Vec<&str> = few.ways.iter().map(|((way, _), _)| name(*way)).collect();
        assert!(found.ways.iter().all(|way| named.contains(&way.candidate.as_str())), "{named:?}");
        let one_more_loses = few.more.is_none_or(|more| more.mean <= few.loss.mean);
        assert!(one_more_loses && few.fewer.is_none_or(|fewer| fewer.mean >= few.loss.mean), "{few:?}");
        // At the inputs of a sequence of its own.
        let losses = problems(&found).into_iter().map(|inputs| {
            let best = competition.choose(&inputs, None).unwrap().expected.unwrap().get();
            let of = few.ways.iter().filter_map(|((way, _), _)| competition.expected(*way, &inputs, &[]));
            (of.fold(f64::INFINITY, f64::min) / best - 1.0).clamp(0.0, thresholds::NEVER)
        });
        let mean = losses.sum::<f64>() / 1000.0;
        assert!((mean - few.loss.mean).abs() <= 0.1 * few.loss.mean + 0.002, "{mean} {few:?}");
    }
}

/// The best block is the square root of `n`.
#[test]
fn a_spec_s_ways_are_all_that_is_chosen() {
    let pair = format!("{N}, {{ name = \"b\", min = 1.0, max = 1000.0, integer = true }}");
    let blocks = |name: &str| {
        library(name, &["n"], &[("plain", "Plain")])
            + "[[libraries.candidates]]\nname = \"blocked\"\nmodel = \"Blocked\"\narguments = [\"n\", \"b\"]\n\
               parameters = [{ name = \"b\", min = 1, max = 1000, step = \"*2\" }]\n"
    };
    let terms = [("1", 100.0), ("n/b", 1.0), ("b", 1.0)];
    let models = [model("Plain", N, &[("n", 0.3)]), model("Blocked", &pair, &terms)].concat();
    let free = ModelSet::read(&set(&[models, blocks("few"), blocks("any")])).unwrap();
    let library =
        "(n) { candidate plain = Plain(n) candidate blocked = Blocked(n, b) for b in 1..=1000 step *2 }";
    let limited = library.replace("{ ", "{ ways 3; slowdown 1% ");
    let text = format!(
        "model Plain(n) ~ n\nmodel Blocked(n, b) ~ n/b, b\nlibrary few{limited}\nlibrary any{library}"
    );
    let (mut set, spec) = (free.clone(), load("l.spec", &text).unwrap());
    let notes = thresholds::limit(&mut set, &spec, &Like::default());
    assert!(notes[0].starts_with("few: 3 of ") && notes[0].contains("more than 1 %"), "{notes:?}");
    assert_eq!((notes.len(), set.library("any")), (1, free.library("any")), "no limit, no change");
    let set = ModelSet::read(&set.to_text()).unwrap();
    let exported = Competition::new(&set, "few").unwrap();
    let (_, warnings) =
        thresholds::of(&set, &exported, &[], Limits::default(), &Evidence::default()).unwrap();
    assert!(warnings.iter().all(|one| !one.contains("a `require`")), "{warnings:?}");
    let [all, limited] = [&free, &set].map(|set| Competition::new(set, "few").unwrap());
    let (mut taken, mut lost) = (BTreeSet::new(), 0.0);
    for inputs in (0..500).map(|at| [(16.0 * (4096.0_f64).powf(at as f64 / 499.0)).round()]) {
        let [best, choice] = [&all, &limited].map(|one| one.choose(&inputs, None).unwrap());
        let [best, seconds] = [&best, &choice].map(|one| one.expected.unwrap().get());
        taken.insert((choice.index, choice.parameters.to_vec()));
        let of = taken.iter().filter_map(|(way, values)| all.expected(*way, &inputs, values));
        assert_eq!(of.fold(f64::INFINITY, f64::min), seconds, "the best of the ways, at {inputs:?}");
        lost += (seconds / best - 1.0) / 500.0;
    }
    assert!(taken.len() <= 3 && lost > 0.0 && lost < 0.1, "{taken:?} {lost}");
}

#[test]
fn ways_that_leave_none_of_equal_candidates_are_said() {
    let models = [("A", 0.1), ("B", 0.2), ("C", 0.3)].map(|(name, slope)| model(name, N, &[("n", slope)]));
    let candidates = [("a", "A"), ("b", "B"), ("c", "C")];
    for (group, left) in [(["b", "c"], false), (["a", "c"], true)] {
        let mut set = ModelSet::read(&set(&[models.concat(), library("l", &["n"], &candidates)])).unwrap();
        set.libraries[0].equal = vec![group.map(str::to_owned).to_vec()];
        let text = format!(
            "model A(n) ~ n\nmodel B(n) ~ n\nmodel C(n) ~ n\nlibrary l(n) {{ ways 1; equal {{{}}} candidate a = A(n) \
             candidate b = B(n) candidate c = C(n) }}",
            group.join(", ")
        );
        let notes = thresholds::limit(&mut set, &load("l.spec", &text).unwrap(), &Like::default());
        assert_eq!(notes.iter().any(|one| one.contains("none is left")), !left, "{notes:?}");
        let asked = Competition::new(&set, "l").unwrap().equal_to(Some("c"));
        assert_eq!(asked.map_err(|why| why.contains("leave none of b, c")).err(), (!left).then_some(true));
    }
}

/// The inputs of 1000 problems, all over the ranges.
fn problems(one: &LibraryThresholds) -> Vec<Vec<f64>> {
    let value = |place: usize, number: usize| {
        let input = &one.inputs[place];
        // Two sequences that do not follow each other.
        let share = (number as f64 * [0.618_034, 0.754_878][place % 2]).fract();
        let value = input.low * (input.high / input.low).powf(share);
        if input.whole { value.round().clamp(input.low, input.high) } else { value }
    };
    (0..1000).map(|number| (0..one.inputs.len()).map(|place| value(place, number)).collect()).collect()
}

/// The loss of a rule on average at these problems, against what the models choose.
fn lost(set: &ModelSet, one: &LibraryThresholds, chosen: &[usize]) -> f64 {
    let competition = Competition::new(set, &one.library).unwrap();
    let all = problems(one);
    let losses = all.iter().zip(chosen).map(|(inputs, way)| {
        let best = competition.choose(inputs, None).unwrap().expected.unwrap().get();
        let way = &one.ways[*way];
        let place = competition.candidates().iter().position(|row| row.name == way.candidate).unwrap();
        competition.expected(place, inputs, &[]).unwrap() / best - 1.0
    });
    losses.sum::<f64>() / all.len() as f64
}

#[test]
fn a_table_of_two_inputs_loses_less_than_a_percent() {
    let (set, one) = thresholds_of(&plane(), &[]);
    let Rule::Table(table) = &one.rule else { panic!("{one:?}") };
    assert!(table.loss <= thresholds::LOSS && table.points == thresholds::POINTS, "{table:?}");
    assert!((2..40).contains(&table.splits.len()), "{table:?}");
    let chosen: Vec<usize> = problems(&one).iter().map(|inputs| one.choose(inputs)).collect();
    let lost = lost(&set, &one, &chosen);
    assert!(lost < 1.5 * thresholds::LOSS, "{lost}");
    // With the width held, the number of the border at that width.
    let (_, line) = thresholds_of(&plane(), &[("width".into(), 2.0)]);
    assert_eq!(line.held, [("width".to_owned(), 2.0)]);
    let Rule::Line { steps, .. } = &line.rule else { panic!("{line:?}") };
    assert!(steps.is_empty(), "2 n is less than 4 n: {line:?}");
    let (_, line) = thresholds_of(&plane(), &[("width".into(), 24.0)]);
    let Rule::Line { steps, .. } = &line.rule else { panic!("{line:?}") };
    assert!(steps.len() == 1 && (1000.0..=1002.0).contains(&steps[0].at), "20000 + 4 n = 24 n: {line:?}");
}

fn thresholds_set(set: &ModelSet, one: &LibraryThresholds) -> Thresholds {
    Thresholds {
        models_sha256: set.digest(),
        spec: None,
        platform: set.platform.clone(),
        kinds: set.kinds.clone(),
        libraries: vec![one.clone()],
    }
}

/// What the compiled Rust chooses at the problems, and whether it compiles without a warning in a
/// library that uses nothing of it.
fn by_rust(folder: &Path, one: &LibraryThresholds, source: &str) -> Vec<usize> {
    fs::write(folder.join("thresholds.rs"), source).unwrap();
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let compile = |name: &str, text: &str, kind: &str| {
        fs::write(folder.join(name), text).unwrap();
        let output = Command::new(&rustc)
            .args(["--edition", "2024", "-D", "warnings", "--crate-type", kind, name])
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{source}\n{}", String::from_utf8_lossy(&output.stderr));
    };
    compile("empty.rs", "mod thresholds;\n", "rlib");
    let mut calls = String::new();
    for inputs in problems(one) {
        let arguments: Vec<String> = inputs
            .iter()
            .zip(&one.inputs)
            .map(|(value, input)| if input.whole { format!("{value:.0}") } else { format!("{value:?}") })
            .collect();
        writeln!(
            calls,
            "    println!(\"{{}}\", thresholds::{}::choose({}));",
            one.library,
            arguments.join(", ")
        )
        .unwrap();
    }
    compile("main.rs", &format!("mod thresholds;\nfn main() {{\n{calls}}}\n"), "bin");
    printed(&folder.join("main"))
}

/// The same of the C; `None` where there is no C compiler.
fn by_c(folder: &Path, one: &LibraryThresholds, source: &str) -> Option<Vec<usize>> {
    fs::write(folder.join("thresholds.h"), source).unwrap();
    let mut calls = String::new();
    for inputs in problems(one) {
        let arguments: Vec<String> = inputs.iter().map(|value| format!("{value:?}")).collect();
        let call = format!("strata_{}_way_at({})", one.library, arguments.join(", "));
        writeln!(calls, "    printf(\"%d\\n\", (int){call});").unwrap();
    }
    let text = format!(
        "#include <stdio.h>\n#include \"thresholds.h\"\nint main(void) {{\n{calls}    return 0;\n}}\n"
    );
    fs::write(folder.join("main.c"), text).unwrap();
    let output = Command::new("cc")
        .args(["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "main.c", "-o", "main-c"])
        .current_dir(folder)
        .output();
    let Ok(output) = output else {
        println!("skipped: there is no C compiler `cc`");
        return None;
    };
    assert!(output.status.success(), "{source}\n{}", String::from_utf8_lossy(&output.stderr));
    Some(printed(&folder.join("main-c")))
}

/// The headers of models and of thresholds in one program, in C and in C++, with the value that a
/// parameter has in each way.
#[test]
fn headers_go_together_and_say_the_values_of_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/own-library/models/models.toml");
    for (form, file) in [("c", "models.h"), ("thresholds-c", "thresholds.h")] {
        let (status, _, err) = specc(folder.path(), &["export", models, "--to", form, "-o", file]);
        assert_eq!(status, Some(0), "{err}");
    }
    let text = "#include <stdio.h>\n#include \"models.h\"\n#include \"thresholds.h\"\nint main(void) {\n    \
                printf(\"%d\\n%d\\n\", (int)strata_matmul_way_b(strata_matmul_way_at(300)), \
                (int)strata_matmul_way_b(strata_matmul_way_at(4)));\n    return 0;\n}\n";
    for (compiler, file, standard) in [("cc", "both.c", "-std=c99"), ("c++", "both.cpp", "-std=c++17")] {
        fs::write(folder.path().join(file), text).unwrap();
        let output = Command::new(compiler)
            .args([standard, "-Wall", "-Werror", file, "-o", compiler, "-lm"])
            .current_dir(folder.path())
            .output();
        let Ok(output) = output else {
            println!("skipped: there is no compiler `{compiler}`");
            continue;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(printed(&folder.path().join(compiler)), [128, 0]);
    }
}

fn printed(program: &Path) -> Vec<usize> {
    let output = Command::new(program).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn exports_compile_without_warnings_and_choose_as_the_models_do() {
    let mixed = set(&[
        model("A", &format!("{N}, {REAL}"), &[("n", 1.0)]),
        model("B", &format!("{N}, {REAL}"), &[("n*x", 0.1)]),
        library("mixed", &["n", "x"], &[("a", "A"), ("b", "B")]),
    ]);
    for models in [three(), plane(), mixed, real()] {
        let folder = tempfile::tempdir().unwrap();
        let (set, one) = thresholds_of(&models, &[]);
        let sets = [thresholds_set(&set, &one)];
        let rust = text::rust(&sets);
        if one.inputs.iter().all(|input| input.whole) {
            assert!(!rust.split("// strata-thresholds").next().unwrap().contains("f64"), "{rust}");
        }
        let chosen = by_rust(folder.path(), &one, &rust);
        let c = text::c(&sets[0], "strata");
        if let Some(by_c) = by_c(folder.path(), &one, &c) {
            assert_eq!(chosen, by_c, "{}", one.library);
        }
        let own: Vec<usize> = problems(&one).iter().map(|inputs| one.choose(inputs)).collect();
        assert_eq!(chosen, own);
        let competition = Competition::new(&set, &one.library).unwrap();
        let names = problems(&one).into_iter().zip(&chosen).filter(|(inputs, way)| {
            competition.choose(inputs, None).unwrap().name == one.ways[**way].candidate
        });
        let (agreed, lost) = (names.count(), lost(&set, &one, &chosen));
        match one.rule {
            Rule::Line { .. } => assert_eq!(agreed, 1000, "{}", one.library),
            Rule::Table(_) => assert!(agreed > 900 && lost < 1.5 * thresholds::LOSS, "{agreed} {lost}"),
        }
        // Each form reads back as it was; a text that somebody edited does not.
        for text in [&rust, &c, &text::json(&sets)] {
            assert_eq!(read(text).as_deref(), Ok(&sets[..]));
        }
        if rust.contains("401") {
            let why = read(&rust.replace("_BELOW: usize = 401", "_BELOW: usize = 300")).unwrap_err();
            assert!(why.contains("edited"), "{why}");
            let indented: String = rust.lines().map(|line| format!("  {line}\n\n")).collect();
            assert!(read(&indented).is_ok(), "formatting changes nothing");
        }
    }
    assert!(read("{}").is_err() && read("pub const A: usize = 1;").is_err());
}

/// A grid over as many numbers would be large; questions that follow each other are not.
#[test]
fn a_table_of_too_many_cells_asks_its_questions_one_by_one() {
    let (set, mut one) = thresholds_of(&plane(), &[]);
    let split = |place: usize| Split {
        input: place % 2,
        below: [100.0 * place as f64, place as f64 / 4.0][place % 2].ceil(),
        then: [Branch::Way(place % 3), if place == 199 { Branch::Way(1) } else { Branch::Split(place + 1) }],
    };
    let splits = (0..200).map(split).collect();
    one.rule = Rule::Table(Table { splits, points: 1, ..Table::default() });
    let folder = tempfile::tempdir().unwrap();
    let sets = [thresholds_set(&set, &one)];
    let rust = text::rust(&sets);
    assert!(!rust.contains("const CELLS"), "{rust}");
    let own: Vec<usize> = problems(&one).iter().map(|inputs| one.choose(inputs)).collect();
    assert_eq!(by_rust(folder.path(), &one, &rust), own);
    if let Some(by_c) = by_c(folder.path(), &one, &text::c(&sets[0], "strata")) {
        assert_eq!(by_c, own);
    }
}

#[test]
fn several_machines_are_told_apart_by_target_or_by_what_they_are() {
    let (set, one) = thresholds_of(&three(), &[]);
    let on = |arch: &str, cpu: &str, cores: usize| {
        let mut of = thresholds_set(&set, &one);
        let platform = of.platform.as_mut().unwrap();
        (platform.arch, platform.cpu, platform.cores) = (arch.to_owned(), cpu.to_owned(), cores);
        if let Rule::Line { steps, .. } = &mut of.libraries[0].rule {
            steps[0].at *= cores as f64;
        }
        of
    };
    let targets = text::rust(&[on("aarch64", "a", 4), on("x86_64", "b", 2), on("x86_64+avx512vnni", "c", 8)]);
    let special = "all(target_arch = \"x86_64\", target_feature = \"avx512vnni\")";
    assert!(
        targets.contains(&format!("#[cfg({special})]\n    pub use self::x86_64_avx512vnni::*;")),
        "{targets}"
    );
    let machines = text::rust(&[on("x86_64", "a", 4), on("x86_64", "a", 16), on("x86_64", "b", 2)]);
    let folder = tempfile::tempdir().unwrap();
    let main = |body: &str| format!("mod thresholds;\nfn main() {{\n{body}}}\n");
    for (source, body, expected) in [
        (
            &machines,
            "    use thresholds::three::{choose, machine};\n    for (cpu, cores) in [(\"a\", 8), (\"a\", 64), (\"b\", 64)] \
             {\n        let machine = machine(cpu, cores);\n        println!(\"{machine}\");\n        \
             println!(\"{}\", choose(machine, 1000));\n    }\n",
            vec![0, 0, 1, 0, 2, 1],
        ),
        (
            &targets,
            "    println!(\"{}\", thresholds::three::choose(1000));\n",
            // At 4, 2 and 8 times 401.
            vec![usize::from(cfg!(all(target_arch = "x86_64", not(target_feature = "avx512vnni"))))],
        ),
    ] {
        fs::write(folder.path().join("thresholds.rs"), source).unwrap();
        fs::write(folder.path().join("main.rs"), main(body)).unwrap();
        fs::write(folder.path().join("empty.rs"), "mod thresholds;\n").unwrap();
        for arguments in [["--crate-type", "rlib", "empty.rs"], ["--crate-type", "bin", "main.rs"]] {
            let output = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()))
                .args(["--edition", "2024", "-D", "warnings"])
                .args(arguments)
                .current_dir(folder.path())
                .output()
                .unwrap();
            assert!(output.status.success(), "{source}\n{}", String::from_utf8_lossy(&output.stderr));
        }
        assert_eq!(printed(&folder.path().join("main")), expected);
    }
}
