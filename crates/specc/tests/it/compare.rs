//! Runs compared by samples and models that are made up, so that what must come out is known.
//! Nothing is measured here.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::Value;
use specc::compare::{self, ModelChange, Run, Verdict};
use strata_model::{Samples, normal, sha256_hex};

/// The exit status, standard output and standard error of `specc compare`.
fn specc(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    crate::specc(folder, "80", &[&["compare"], arguments].concat())
}

const PLATFORM: &str =
    "platform threads nodes=1 cores=2 cpu=\"made up\" cache=\"L1d:32K\" os=linux arch=x86_64\n";

/// Lengths and widths that are measured.
fn inputs() -> impl Iterator<Item = (f64, f64)> {
    (4..=15).flat_map(|n| [1.0, 2.0, 4.0, 8.0].map(|width| (f64::from(n).exp2(), width)))
}

/// Samples with 3 % noise of a model that takes as much longer as `longer` says.
fn samples(seed: u64, longer: impl Fn(f64, f64) -> f64) -> String {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut text = format!("strata-samples 1\n{PLATFORM}model Scan n width n*width\n");
    for (n, width) in inputs() {
        let noise = 0.03 * normal::draw(random.random(), random.random());
        let seconds = (1e-6 + 1e-9 * n * width) * longer(n, width) * noise.exp();
        writeln!(text, "Scan {seconds:e} {n} {width} {}", n * width).unwrap();
    }
    text
}

fn run(text: &str) -> Run {
    Run { samples: Some(Samples::parse(text, "samples").unwrap()), ..Run::default() }
}

fn compared(before: &str, after: &str) -> ModelChange {
    let mut models = compare::models(&run(before), &run(after)).unwrap();
    assert_eq!((models.changes.len(), models.left_out.len()), (1, 0));
    models.changes.remove(0)
}

fn same(_: f64, _: f64) -> f64 {
    1.0
}

/// 5 % longer in the upper half of the lengths.
fn half(n: f64, _: f64) -> f64 {
    if n >= 1024.0 { 1.05 } else { 1.0 }
}

#[test]
fn what_is_slower_in_half_of_its_range_is_found_there() {
    let (mut found, mut held, mut near) = (0, 0, 0);
    let trials = 100;
    for seed in 0..trials {
        let change = compared(&samples(2 * seed, same), &samples(2 * seed + 1, half));
        let Some([low, high]) = &change.parts else { continue };
        if high.change.verdict == Verdict::Slower && high.input == "n" && low.input == "n" {
            found += 1;
            let interval = high.change.interval.unwrap();
            held += usize::from(interval.0 <= 1.05 && 1.05 <= interval.1);
            near += usize::from((256.0..=4096.0).contains(&high.from.unwrap()));
            assert_eq!(low.to.map(|to| 2.0 * to), high.from);
        }
    }
    assert!(found >= 75, "{found} of {trials}");
    assert!(10 * held >= 9 * found && 10 * near >= 9 * found, "{held} and {near} of {found}");
}

#[test]
fn without_a_change_none_is_told() {
    let trials = 200;
    let told = (0..trials).filter(|seed| {
        compared(&samples(1000 + 2 * seed, same), &samples(1001 + 2 * seed, same)).is_changed()
    });
    let told = told.count();
    assert!(told <= 10, "{told} of {trials}");
}

#[test]
fn intervals_hold_what_is_true() {
    let longer = |_: f64, _: f64| 1.02;
    let trials = 200;
    let held = (0..trials).filter(|seed| {
        let change = compared(&samples(5000 + 2 * seed, same), &samples(5001 + 2 * seed, longer));
        let (low, high) = change.whole.interval.unwrap();
        low <= 1.02 && 1.02 <= high
    });
    let held = held.count();
    assert!(held >= 184, "{held} of {trials}");
}

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn the_screen_says_where_and_a_limit_fails() {
    let tenth = |n: f64, _: f64| if n >= 1024.0 { 1.1 } else { 1.0 };
    let folder = folder(&[("old.txt", &samples(1, same)), ("new/samples.txt", &samples(2, tenth))]);
    let (status, out, err) = specc(folder.path(), &["old.txt", "new"]);
    assert_eq!((status, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.contains("Scan") && out.contains("at 48 points of both"), "{out}");
    assert!(out.contains("where n >= ") && out.contains("where n <= "), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let (status, _, err) = specc(folder.path(), &["old.txt", "new", "--fail-above", "1%"]);
    assert_eq!(status, Some(1), "{err}");
    let told = err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("slower by more than 1 %: `Scan` is ") && told.contains("where n >= "), "{err}");
    let (status, ..) = specc(folder.path(), &["old.txt", "new", "--fail-above", "20%"]);
    assert_eq!(status, Some(0));
    // The other way round it got faster.
    let (status, out, _) = specc(folder.path(), &["new", "old.txt", "--fail-above", "1%"]);
    assert!(status == Some(0) && out.contains("% faster ("), "{out}");

    let (status, out, _) = specc(folder.path(), &["old.txt", "new", "--json", "--fail-above", "1%"]);
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((status, &value["fails"]), (Some(1), &Value::Bool(true)));
    let model = &value["models"][0];
    assert_eq!((&model["model"], &model["by"]), (&"Scan".into(), &"samples".into()));
    assert_eq!(model["points"], 48);
    assert!(model["interval"][0].as_f64() < model["ratio"].as_f64(), "{model:#}");
    assert_eq!((&model["parts"][1]["input"], &model["parts"][1]["verdict"]), (&"n".into(), &"slower".into()));
    assert_eq!(value["code"], Value::Null);
}

#[test]
fn runs_that_cannot_be_compared_are_refused_by_name() {
    let text = samples(1, same);
    let other_input = text.replace(" width n*width", " depth n*depth");
    let elsewhere = samples(2, same).replace("8192 ", "8193 ");
    let few: String = text.lines().take(6).map(|line| format!("{line}\n")).collect();
    let apart: String = text
        .lines()
        .map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
            ["Scan", seconds, n, width, _] => {
                let (n, width): (f64, f64) = (n.parse::<f64>().unwrap() + 0.5, width.parse().unwrap());
                format!("Scan {seconds} {n} {width} {}\n", n * width)
            }
            _ => format!("{line}\n"),
        })
        .collect();
    let folder = folder(&[
        ("a.txt", &text),
        ("input.txt", &other_input),
        ("name.txt", &text.replace("Scan", "Sum")),
        ("unit.txt", &text.replace("n*width\n", "n*width\nunit Scan gas\n")),
        ("machine.txt", &elsewhere.replace("made up", "another")),
        ("few.txt", &few),
        ("apart.txt", &apart),
        ("torn.txt", "model Scan n\nScan x\n"),
        ("empty/readme", ""),
    ]);
    let refused = |arguments: &[&str], said: &[&str]| {
        let (status, out, err) = specc(folder.path(), arguments);
        assert_eq!(status, Some(2), "{out}\n{err}");
        assert!(said.iter().all(|said| err.contains(said)), "{err}");
    };
    refused(
        &["a.txt", "input.txt"],
        &["`Scan` depends on other inputs", "n, width in a.txt", "depth, n in input.txt"],
    );
    refused(
        &["a.txt", "name.txt"],
        &["no model in common", "a.txt has Scan", "name.txt has Sum", "of one spec"],
    );
    refused(&["a.txt", "unit.txt"], &["`Scan` is in s in a.txt, and in gas in unit.txt"]);
    refused(&["a.txt", "apart.txt"], &["no point in common", "specc fit"]);
    refused(&["a.txt", "empty"], &["empty has neither samples.txt nor models.toml"]);
    refused(&["a.txt", "torn.txt"], &["torn.txt"]);
    let (status, _, err) = specc(folder.path(), &["a.txt", "none.txt"]);
    assert!(status == Some(3) && err.contains("none.txt"), "{err}");
    // Another machine is said; so are too few points.
    let (status, out, err) = specc(folder.path(), &["a.txt", "machine.txt"]);
    assert!(
        status == Some(0) && err.contains("warning:") && err.contains("`made up` against `another`"),
        "{out}{err}"
    );
    assert!(out.contains("at 44 points of both"), "{out}");
    let (status, out, _) = specc(folder.path(), &["a.txt", "few.txt"]);
    assert!(status == Some(0) && out.contains("too few points to tell"), "{out}");
}

const N: &str = "{ name = \"n\", min = 16.0, max = 65536.0, integer = true }";

/// A fitted model whose time is `constant + each n`, in nanoseconds.
fn model(name: &str, constant: f64, each: f64) -> String {
    let term = |term: &str, value: f64| {
        format!("  {{ term = \"{term}\", coefficient = {:e}, relevant = true }},\n", value * 1e-9)
    };
    format!(
        "[[models]]\nname = \"{name}\"\ninputs = [{N}]\nterms = [\n{}{}]\nt_quantile = 2.0\nmean_time = 1e-6\n",
        term("1", constant),
        term("n", each)
    )
}

/// `few` below, `many` above; both take as long where 10 n = start + n.
fn set(start: f64, head: &str, samples_sha256: &str) -> String {
    let mut text = format!("strata-models = 1\nsamples_sha256 = \"{samples_sha256}\"\n{head}");
    text += "[platform]\ntransport = \"threads\"\nnodes = 1\ncpu = \"made up\"\ncores = 2\ncache = \"\"\n\
             os = \"linux\"\narch = \"x86_64\"\n";
    text += &(model("Few", 0.0, 10.0) + &model("Many", start, 1.0));
    text += "[[libraries]]\nname = \"sum\"\ninputs = [\"n\"]\n";
    for (candidate, model) in [("few", "Few"), ("many", "Many")] {
        writeln!(
            text,
            "[[libraries.candidates]]\nname = \"{candidate}\"\nmodel = \"{model}\"\narguments = [\"n\"]"
        )
        .unwrap();
    }
    text
}

#[test]
fn a_choice_that_moves_is_told_with_what_the_old_one_loses() {
    let code = |digit: char| format!("code_sha256 = \"{}\"\n", digit.to_string().repeat(64));
    let folder = folder(&[
        ("a/models.toml", &set(3_600.0, &code('a'), "")),
        ("b/models.toml", &set(36_000.0, &code('b'), "")),
        ("c.toml", &set(3_650.0, &code('a'), "")),
    ]);
    let (status, out, err) = specc(folder.path(), &["a", "b"]);
    assert_eq!((status, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.contains("the code measured differs: aaaaaaaa before, bbbbbbbb after"), "{out}");
    assert!(out.contains("at 64 points, both times predicted"), "{out}");
    assert!(out.contains("few < 4,001 < many") && out.contains("before few < 401 < many"), "{out}");
    assert!(out.contains("the choices before lose "), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let (_, out, _) = specc(folder.path(), &["a", "b", "--json"]);
    let value: Value = serde_json::from_str(&out).unwrap();
    let line = &value["libraries"][0]["lines"][0];
    assert_eq!((&value["code"], &line["changed"]), (&"differs".into(), &Value::Bool(true)), "{value:#}");
    assert_eq!(line["crossovers"][0]["before"], 401.0, "{value:#}");
    assert_eq!(line["crossovers"][0]["after"], 4001.0, "{value:#}");
    assert!(line["kept_loses"]["most"].as_f64().unwrap() > 1.0, "{value:#}");
    // A place that moves by a little, where little is lost, is as before.
    let (status, out, _) = specc(folder.path(), &["a", "c.toml"]);
    assert!(status == Some(0) && out.contains("as before, few < 40"), "{out}");
    assert!(out.contains("the code measured is the same (aaaaaaaa)"), "{out}");
}

#[test]
fn models_stand_in_where_no_point_is_shared() {
    let line = |name: &str, start: f64, each: f64, shift: f64| -> String {
        let value = |n: i32| f64::from(n).exp2() + shift;
        (5..=15).map(|n| format!("{name} {:e} {}\n", (start + each * value(n)) * 1e-9, value(n))).collect()
    };
    let samples = |start: f64, shift: f64| {
        let head = format!("strata-samples 1\n{}", PLATFORM.replace("L1d:32K", ""));
        format!(
            "{head}model Few n\n{}model Many n\n{}",
            line("Few", 0.0, 10.0, shift),
            line("Many", start, 1.0, shift)
        )
    };
    let (old, new) = (samples(3_600.0, 0.0), samples(3_960.0, 3.0));
    let folder = folder(&[
        ("a/samples.txt", &old),
        ("a/models.toml", &set(3_600.0, "", &sha256_hex(old.as_bytes()))),
        ("b.txt", &new),
    ]);
    let (status, out, err) = specc(folder.path(), &["a", "b.txt"]);
    assert_eq!((status, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.contains("at 11 points, one of the times predicted"), "{out}");
    assert!(out.contains("choices are not compared: there are no models of b.txt"), "{out}");
    let few = out.lines().find(|line| line.contains("Few")).unwrap();
    assert!(few.contains("no change"), "{out}");
    assert!(out.lines().any(|line| line.contains("Many") && line.contains("% slower")), "{out}");
    // Of a samples file the models beside it count, if they were fitted to it.
    let (status, same, _) = specc(folder.path(), &["a/samples.txt", "b.txt"]);
    assert_eq!((status, same.lines().skip(1).collect::<Vec<_>>()), (Some(0), out.lines().skip(1).collect()));
}

/// Benchmarks without inputs are judged by their repeats, of which there may be too few.
#[test]
fn repeats_tell_the_change_of_one_point() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, repeats: usize, factors: [f64; 2]| {
        let mut random = ChaCha8Rng::seed_from_u64(7 + repeats as u64 + u64::from(name == "after.txt"));
        let mut text = String::new();
        for (model, factor) in ["Parse", "Merge"].into_iter().zip(factors) {
            for _ in 0..repeats {
                let noise = 0.015 * normal::draw(random.random(), random.random());
                writeln!(text, "Benchmark{model}-8\t1000\t{:.1} ns/op", 1000.0 * factor * noise.exp())
                    .unwrap();
            }
        }
        fs::write(folder.path().join(name), text).unwrap();
    };
    let run = || {
        let (status, out, err) = specc(folder.path(), &["before.txt", "after.txt", "--fail-above", "3%"]);
        (status, out.split_whitespace().collect::<Vec<_>>().join(" ") + &err)
    };
    write("before.txt", 10, [1.0, 1.0]);
    write("after.txt", 10, [1.0, 1.12]);
    let (status, said) = run();
    assert!(status == Some(1) && said.contains("Parse no change") && said.contains("`Merge` is 1"), "{said}");
    assert!(said.contains("by repeats at 1 point"), "{said}");
    write("after.txt", 10, [1.0, 1.0]);
    let (status, said) = run();
    assert!(status == Some(0) && said.contains("Merge no change"), "{said}");
    write("after.txt", 3, [1.0, 1.5]);
    let (status, said) = run();
    assert!(status == Some(4) && said.contains("no change of 2 models can be told"), "{said}");
}

/// Of few points each is judged by its repeats: a change at one does not hide behind the others.
#[test]
fn each_of_few_points_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    for (name, factors) in [("before.csv", [1.0; 3]), ("after.csv", [0.94, 0.94, 1.3])] {
        let mut random = ChaCha8Rng::seed_from_u64(name.len() as u64);
        let mut text = "way,n,time\n".to_owned();
        for (n, factor) in (1..).zip(factors) {
            for _ in 0..8 {
                let noise = 0.01 * normal::draw(random.random(), random.random());
                writeln!(text, "x,{n},{:e}", 1e-6 * f64::from(n) * factor * noise.exp()).unwrap();
            }
        }
        fs::write(folder.path().join(name), text).unwrap();
    }
    let (status, out, err) = specc(folder.path(), &["before.csv", "after.csv", "--fail-above", "3%"]);
    let said = out.split_whitespace().collect::<Vec<_>>().join(" ") + &err;
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("x n=1 ") && said.contains("faster") && said.contains("`x n=3` is "), "{said}");
}
