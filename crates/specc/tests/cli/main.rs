//! The command line as a user meets it: outputs, files and exit statuses. Nothing is measured here;
//! the samples are made up from known formulas, so that what must come out is known.

mod bounds;
mod busy;
mod fitting;
mod foreign;
mod screens;
mod trusted;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn specc(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_specc"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        // Messages that are looked for stand on one line; tests/cli/screens.rs wraps them.
        .env("COLUMNS", "1000")
        .output()
        .expect("specc starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs it, expects the status, and gives standard output and standard error.
fn expect(status: i32, arguments: &[&str], folder: &Path) -> (String, String) {
    let output = specc(arguments, folder);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "specc {arguments:?}\n{out}\n{err}");
    (out, err)
}

const SPEC: &str = include_str!("job.spec");

/// A spec and samples in which `Steps` takes 1 µs + 1 ns·n + 10 ns·width and `Flat` takes 1.2 µs +
/// 0.5 ns·n.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("job.spec"), SPEC).expect("written");
    let mut samples = String::from(
        "strata-samples 1\nplatform threads nodes=2 cores=2 cpu=\"made up\" cache=\"\" os=linux arch=x86_64\n\
         model Steps n width n*width\nmodel Flat n\n",
    );
    let noise = |i: usize| 1.0 + 1e-4 * ((i * 7919 % 13) as f64 - 6.0);
    for (i, exponent) in (0..=12).enumerate() {
        let n = f64::from(1 << exponent);
        for (j, width) in [1.0, 4.0, 16.0, 64.0].into_iter().enumerate() {
            let seconds = (1e-6 + 1e-9 * n + 1e-8 * width) * noise(4 * i + j);
            for mark in ["", "@"] {
                writeln!(samples, "{mark}Steps {seconds:e} {n} {width} {}", n * width).expect("a string");
            }
        }
        let seconds = (1.2e-6 + 0.5e-9 * n) * noise(100 + i);
        for mark in ["", "@"] {
            writeln!(samples, "{mark}Flat {seconds:e} {n}").expect("a string");
        }
    }
    fs::write(folder.path().join("samples.txt"), samples).expect("written");
    folder
}

#[test]
fn without_arguments_it_shows_how_it_is_used() {
    let (_, err) = expect(2, &[], Path::new("."));
    assert!(err.contains("cargo strata new counting") && err.contains("docs/first-library.md"), "{err}");
    let (out, _) = expect(0, &["--help"], Path::new("."));
    assert!(out.contains("Make models:") && out.contains("130"), "{out}");
    let (out, _) = expect(0, &["choose", "--help"], Path::new("."));
    assert!(out.trim_end().ends_with("--models there"), "{out}");
    // Earlier names do what they did.
    let (_, err) = expect(3, &["predict", "none.toml", "Flat"], Path::new("."));
    assert!(err.contains("note: `predict` is `choose` now") && err.contains("none.toml"), "{err}");
    // Options that count only beside another are not taken without it.
    for (arguments, needed) in [
        (&["check", "x.spec", "--budget", "1s"][..], "--models"),
        (&["check", "x.spec", "--models", "m.toml"], "--output"),
        (&["check", "x.spec", "--nodes", "2"], "--models and --rules"),
        (&["compare", "a", "b", "--rounds", "7"], "--run"),
        (&["compare", "a"], "<B>"),
    ] {
        let (_, err) = expect(2, arguments, Path::new("."));
        assert!(err.contains(needed), "{arguments:?}: {err}");
    }
    expect(2, &["calibrate", "x.spec", "--nodes", "0", "-o", "out"], Path::new("."));
    expect(2, &["calibrate", "x.spec", "--budget", "soon", "-o", "out"], Path::new("."));
    expect(2, &["sing"], Path::new("."));
}

#[test]
fn messages_name_what_is_wrong_and_the_way_out() {
    let folder = project();
    let spec = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    // What is renamed to `Many` does not exist yet: that follows of the first error.
    spec(
        "twice.spec",
        "model Few(n) { for n in 1..=8 task { n } }\nmodel Few(n) { for n in 1..=9 task { n } }\n\
         library l(n) { candidate few = Few(n) candidate fewer = Fewer(n) }\n",
    );
    spec(
        "alike.spec",
        "model Few(n) { for n in 1..=8 task { n } }\nlibrary l(n) {\n  candidate fast = Few(n)\n  \
         candidate Fast = Few(n)\n  candidate option = Few(n)\n}\n",
    );
    let table = [
        (
            2,
            &["calibrate", "job.spec", "--nodes", "x", "-o", "out"][..],
            "a number is missing: say how many",
            "``",
        ),
        (3, &["fit", "samples.txt", "-o", "samples.txt/x"], "cannot make the folder samples.txt/x: ", "lock"),
        (1, &["check", "twice.spec"], "is it the second `Few`, which", "did you mean"),
        (0, &["check", "alike.spec"], "alike.spec:4: `Fast` is `Fast2` in Rust", "alike.spec:3"),
        (0, &["check", "alike.spec"], "alike.spec:5: `option` is `Option2` in Rust", "`fast`"),
        (0, &["check", "job.spec"], "", "warning"),
    ];
    for (status, arguments, told, not) in table {
        let (_, err) = expect(status, arguments, folder.path());
        assert!(err.contains(told) && !err.contains(not), "{arguments:?}: {err}");
    }
}

#[test]
fn completions_and_man_pages_know_every_command() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for shell in ["bash", "zsh", "fish"] {
        let (out, _) = expect(0, &["completions", shell], folder.path());
        assert!(out.contains("calibrate") && out.contains("hold-out"), "{shell}: {out}");
    }
    let (_, err) = expect(2, &["completions", "ksh"], folder.path());
    assert!(err.contains("bash"), "{err}");
    expect(0, &["man", "-o", "man"], folder.path());
    let page = |name: &str| fs::read_to_string(folder.path().join("man").join(name)).expect(name);
    assert!(page("specc.1").contains("specc\\-calibrate(1)") && page("specc-fit.1").contains("hold\\-out"));
    assert!(page("specc-platform-show.1").contains("bandwidth"));
    fs::write(folder.path().join("file"), "").expect("written");
    let (_, err) = expect(3, &["man", "-o", "file"], folder.path());
    assert!(err.contains("file"), "{err}");
}

#[test]
fn files_that_are_not_there_are_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for arguments in [
        &["check", "none.spec"][..],
        &["fit", "none.txt"],
        &["choose", "none.toml", "Flat", "n=1"],
        &["show", "none.toml"],
    ] {
        let output = specc(arguments, folder.path());
        assert!(matches!(output.status.code(), Some(1 | 3)), "{arguments:?}: {:?}", output.status);
        assert!(text(&output.stderr).contains(arguments[1]), "{arguments:?}: {}", text(&output.stderr));
    }
    let (_, err) = expect(1, &["check", "."], folder.path());
    assert!(err.contains("has no file *.spec"), "{err}");
}

#[test]
fn fitted_models_are_written_and_the_candidates_chosen_as_the_formulas_say() {
    let folder = project();
    let at = folder.path();
    let (out, err) = expect(0, &["fit", "samples.txt", "--spec", "job.spec", "-o", "out"], at);
    assert!(
        out.contains("verified") && out.contains("Twice") && out.contains("job on 2 nodes"),
        "{out}\n{err}"
    );
    for file in ["models.toml", "models.rs", "residuals.txt", "report.html"] {
        assert!(fs::metadata(at.join("out").join(file)).is_ok_and(|m| m.len() > 0), "{file}");
    }

    let chosen = |n: &str| -> Value {
        let (out, _) = expect(0, &["choose", "out/models.toml", "job", n, "--json"], at);
        serde_json::from_str(&out).expect("JSON")
    };
    // 1 µs + n ns + 10 ns against 1.2 µs + n/2 ns: even at n = 380.
    let (few, many) = (chosen("n=300"), chosen("n=500"));
    assert_eq!((&few["candidate"], &few["parameters"][0]), (&"steps".into(), &1.into()));
    assert_eq!(many["candidate"], "flat");
    let predicted = many["predicted"]["seconds"].as_f64().expect("a number");
    assert!((predicted / 1.45e-6 - 1.0).abs() < 1e-3, "{predicted}");

    let (out, _) = expect(0, &["choose", "out/models.toml", "job", "n=500", "--explain"], at);
    assert!(out.contains("steps") && out.contains("not taken"), "{out}");
    let (out, _) =
        expect(0, &["choose", "out/models.toml", "job", "n=500", "--pin", "job=steps:7", "--json"], at);
    let pinned: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&pinned["candidate"], &pinned["parameters"][0]), (&"steps".into(), &7.into()));

    let (out, _) = expect(0, &["choose", "out/models.toml", "Twice", "n=1000", "--json"], at);
    let twice: Value = serde_json::from_str(&out).expect("JSON");
    assert!((twice["seconds"].as_f64().expect("a number") / 3.4e-6 - 1.0).abs() < 1e-3, "{twice}");

    let (out, _) = expect(0, &["show", "out/models.toml", "--json"], at);
    let map: Value = serde_json::from_str(&out).expect("JSON");
    let row = map["cells"][0].as_array().expect("a row");
    assert_eq!(row.len(), map["x"]["values"].as_array().expect("an axis").len());
    assert!(row.iter().any(|c| c["candidate"] == "steps") && row.iter().any(|c| c["candidate"] == "flat"));
    assert!(
        row.iter().all(|c| (0.0..=1.0).contains(&c["probability_fastest"].as_f64().expect("a probability")))
    );
}

#[test]
fn a_reader_that_stops_reading_is_no_failure() {
    let folder = project();
    let at = folder.path();
    let mut child = Command::new(env!("CARGO_BIN_EXE_specc"))
        .args(["fit", "samples.txt", "--spec", "job.spec"])
        .current_dir(at)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("specc starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("specc ends");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn questions_that_cannot_be_answered_say_what_could_be_asked() {
    let folder = project();
    let at = folder.path();
    expect(0, &["fit", "samples.txt", "--spec", "job.spec", "-o", "out"], at);
    for (status, arguments, say) in [
        (2, &["choose", "out/models.toml", "Nobody"][..], "it has job, Steps, Flat, Twice"),
        (2, &["choose", "out/models.toml", "Flta"], "no library or model `Flta` (did you mean `Flat`?)"),
        (2, &["choose", "out/models.toml", "Steps", "n=1", "wdith=2"], "(did you mean `width`?)"),
        (2, &["choose", "out/models.toml", "jbo", "n=1"], "(did you mean `job`?)"),
        (2, &["choose", "out/models.toml", "job", "n=1", "--pin", "jop=flat"], "(did you mean `job`?)"),
        (1, &["choose", "out/models.toml", "job", "n=1", "--pin", "job=step"], "(did you mean `steps`?)"),
        (2, &["advise", "out/models.toml", "--spec", "job.spec", "Stesp"], "(did you mean `Steps`?)"),
        (2, &["export", "samples.txt", "--to", "samples", "--model", "Stesp"], "(did you mean `Steps`?)"),
        (2, &["fit", "samples.txt", "--robust", "rejct"], "(did you mean `reject`?)"),
        (
            2,
            &["calibrate", "--only-samples", "job.spec", "-o", "x", "--on", "thread"],
            "(did you mean `threads`?)",
        ),
        (2, &["calibate", "job.spec"], "'calibrate'"),
        (2, &["choose", "out/models.toml", "Flat"], "n=VALUE"),
        (2, &["choose", "out/models.toml", "Flat", "m=1"], "no input `m`"),
        (2, &["choose", "out/models.toml", "Flat", "n=1", "n=2"], "given twice"),
        (1, &["choose", "out/models.toml", "Flat", "n=5000"], "1..=4096"),
        (2, &["choose", "out/models.toml", "sort", "n=1"], "it has job"),
        (1, &["choose", "out/models.toml", "job", "n=1", "--pin", "job=fast"], "steps, flat"),
        (1, &["choose", "out/models.toml", "job", "n=1", "--pin", "job=steps:65"], "1..=64"),
        (2, &["choose", "out/models.toml", "job", "n=1", "--pin", "nonsense"], "sort=radix:11"),
        (2, &["show", "out/models.toml", "job", "n=1"], "leave one or two free"),
        (2, &["show", "out/models.toml", "Flat", "--grid"], "`Flat` is a model"),
        (2, &["choose", "out/models.toml", "Flat", "n=1", "--explain"], "`Flat` is a model"),
    ] {
        let (_, err) = expect(status, arguments, at);
        assert!(err.contains(say), "{arguments:?}: {err}");
    }
}

#[test]
fn advice_names_samples_that_narrow_the_choice() {
    let folder = project();
    let at = folder.path();
    expect(0, &["fit", "samples.txt", "--spec", "job.spec", "-o", "out", "--keep-all"], at);
    let advise = |more: &[&str]| -> Value {
        let arguments = [&["advise", "out/models.toml", "--spec", "job.spec", "--json"], more].concat();
        serde_json::from_str(&expect(0, &arguments, at).0).expect("JSON")
    };
    let advice = advise(&["--count", "6", "-o", "plan.txt"]);
    let samples = advice["samples"].as_array().expect("samples");
    assert_eq!(samples.len(), 6);
    let (mut last, target) = (f64::INFINITY, &advice["targets"][0]);
    for sample in samples {
        let number = |key: &str| sample[key].as_f64().expect("a number");
        assert!(
            number("before") > number("after") && number("before") <= last && number("seconds") > 0.0,
            "{advice}"
        );
        last = number("after");
        let n = sample["at"]["n"].as_i64().expect("a number");
        assert!((1..=4096).contains(&n), "{sample}");
    }
    assert_eq!((&target["name"], &target["kind"]), (&"job".into(), &"library".into()));
    assert_eq!(target["after"], samples[5]["after"]);
    let plan = fs::read_to_string(at.join("plan.txt")).expect("written");
    assert!(
        plan.starts_with("strata-plan 1\nspec ")
            && plan.contains("job.spec sha256=")
            && plan.lines().count() == 8,
        "{plan}"
    );
    // What there is already is not named again, and the budget is kept.
    let taken = at.join("taken.txt");
    let mut rows = String::from("model Steps n width n*width\nmodel Flat n\n");
    for sample in samples {
        let (model, at) = (sample["model"].as_str().expect("a name"), &sample["at"]);
        let values: Vec<String> =
            ["n", "width"].iter().filter_map(|v| at[v].as_i64()).map(|v| v.to_string()).collect();
        let columns = if model == "Flat" { "1" } else { "1 1 1" };
        writeln!(rows, "{model} 1e-6 {columns} ; at={}", values.join(",")).expect("a string");
    }
    fs::write(&taken, rows).expect("written");
    let other = advise(&["--count", "6", "--samples", "taken.txt"]);
    for sample in other["samples"].as_array().expect("samples") {
        assert!(
            samples.iter().all(|s| (&s["model"], &s["at"]) != (&sample["model"], &sample["at"])),
            "{sample}"
        );
    }
    let cheap = advise(&["--count", "1000", "--budget", "10ms"]);
    let cost: f64 =
        cheap["samples"].as_array().expect("samples").iter().filter_map(|s| s["seconds"].as_f64()).sum();
    assert!(cost > 0.0 && cost <= 0.01, "{cost}");
    let single = advise(&["Flat", "--count", "3"]);
    assert_eq!(
        (&single["targets"][0]["kind"], &single["samples"][0]["model"]),
        (&"model".into(), &"Flat".into())
    );
    let (out, _) = expect(0, &["advise", "out/models.toml", "--spec", "job.spec"], at);
    assert!(
        out.contains("expected loss before") && out.contains("choosing in `job` is expected to lose"),
        "{out}"
    );
    for (status, arguments, say) in [
        (2, &["advise", "out/models.toml"][..], "--spec"),
        (2, &["advise", "out/models.toml", "--spec", "job.spec", "sort"], "it has job, Steps, Flat, Twice"),
        (2, &["advise", "out/models.toml", "--spec", "job.spec", "--count", "0"], "1..=10000"),
        (2, &["calibrate", "job.spec", "-o", "x", "--goal", "1%"], "--refine"),
        (2, &["calibrate", "job.spec", "-o", "x", "--refine", "--goal", "0.5"], "a percentage"),
        (1, &["calibrate", "--only-samples", "job.spec", "-o", "x", "--points", "job.spec"], "strata-plan 1"),
        (3, &["calibrate", "--only-samples", "job.spec", "-o", "x", "--points", "none.txt"], "none.txt"),
    ] {
        let (_, err) = expect(status, arguments, at);
        assert!(err.contains(say), "{arguments:?}: {err}");
    }
}

#[test]
fn specs_are_checked_and_formatted() {
    let folder = project();
    let at = folder.path();
    let (out, _) = expect(0, &["check", "job.spec"], at);
    assert_eq!(out.trim(), "1 file, 3 models, 1 library");
    expect(0, &["check", "--fmt", "job.spec"], at);
    expect(0, &["check", "--formatted", "job.spec"], at);
    let formatted = fs::read_to_string(at.join("job.spec")).expect("read");
    fs::write(at.join("job.spec"), formatted.replace("terms n\n", "terms  n\n")).expect("written");
    let (_, err) = expect(1, &["check", "--formatted", "job.spec"], at);
    assert!(err.contains("specc check --fmt job.spec"), "{err}");

    let five = "model A(n) { for n in 1..=8 task { f(n) } terms m }\nmodel B(n) { for n in 8..=1 task { f(n) } }\n\
                model C(n) { for n in 1..=8 step *1 task { f(n) } }\nmodel D(n) { for n in 1..=8 task { f( } }\nmodel A(k) = k\n";
    fs::write(at.join("five.spec"), five).expect("written");
    let (_, err) = expect(1, &["check", "five.spec"], at);
    assert!(err.matches("five.spec:").count() >= 5, "{err}");
}
