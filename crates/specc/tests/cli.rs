//! The command line as a user meets it: outputs, files and exit statuses. Nothing is measured here; the samples are made up
//! from known formulas, so that what must come out is known.

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

const SPEC: &str = "
model Steps(n, width) {
    for n in 1..=4096 step *2
    for width in 1..=64 step *4
    task { work(n, width) }
    terms n, width, n*width
}
model Flat(n) {
    for n in 1..=4096 step *2
    task { flat(n) }
    terms n
}
model Twice(n) = 2*Flat(n)
library job(n) {
    candidate steps = Steps(n, width) for width in 1..=64
    candidate flat = Flat(n)
}
";

/// A spec and samples in which `Steps` takes 1 µs + 1 ns·n + 10 ns·width and `Flat` takes 1.2 µs + 0.5 ns·n.
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
    assert!(err.contains("Usage: specc"), "{err}");
    let (out, _) = expect(0, &["--help"], Path::new("."));
    assert!(out.contains("Exit status: 0 done"), "{out}");
    expect(2, &["calibrate", "x.spec", "--nodes", "0", "-o", "out"], Path::new("."));
    expect(2, &["calibrate", "x.spec", "--budget", "soon", "-o", "out"], Path::new("."));
    expect(2, &["sing"], Path::new("."));
}

#[test]
fn files_that_are_not_there_are_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for arguments in [
        &["check", "none.spec"][..],
        &["fit", "none.txt"],
        &["predict", "none.toml", "Flat", "n=1"],
        &["map", "none.toml"],
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
        out.contains("verified") && out.contains("Twice") && out.contains("who wins in `job`"),
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

    let (out, _) = expect(0, &["predict", "out/models.toml", "Twice", "n=1000", "--json"], at);
    let twice: Value = serde_json::from_str(&out).expect("JSON");
    assert!((twice["seconds"].as_f64().expect("a number") / 3.4e-6 - 1.0).abs() < 1e-3, "{twice}");

    let (out, _) = expect(0, &["map", "out/models.toml", "--json"], at);
    let map: Value = serde_json::from_str(&out).expect("JSON");
    let row = map["cells"][0].as_array().expect("a row");
    assert_eq!(row.len(), map["x"]["values"].as_array().expect("an axis").len());
    assert!(row.iter().any(|c| c["candidate"] == "steps") && row.iter().any(|c| c["candidate"] == "flat"));
    assert!(
        row.iter().all(|c| (0.0..=1.0).contains(&c["probability_fastest"].as_f64().expect("a probability")))
    );
}

#[test]
fn samples_of_another_text_of_the_spec_are_told() {
    let folder = project();
    let at = folder.path();
    let samples = fs::read_to_string(at.join("samples.txt")).expect("read");
    let (head, rest) = samples.split_at(samples.find("model Steps").expect("the first model"));
    let spec = format!("spec job.spec sha256={}\n", "0".repeat(64));
    fs::write(at.join("samples.txt"), format!("{head}{spec}{rest}")).expect("written");
    let (_, err) = expect(0, &["fit", "samples.txt", "--spec", "job.spec"], at);
    assert!(err.contains("another text of job.spec"), "{err}");
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
fn the_same_samples_give_the_same_files() {
    let folder = project();
    for out in ["one", "two"] {
        expect(0, &["fit", "samples.txt", "--spec", "job.spec", "-o", out], folder.path());
    }
    for file in ["models.toml", "models.rs", "report.html", "residuals.txt"] {
        let read = |out: &str| fs::read(folder.path().join(out).join(file)).expect("written");
        assert_eq!(read("one"), read("two"), "{file}");
    }
}

#[test]
fn questions_that_cannot_be_answered_say_what_could_be_asked() {
    let folder = project();
    let at = folder.path();
    expect(0, &["fit", "samples.txt", "--spec", "job.spec", "-o", "out"], at);
    for (status, arguments, say) in [
        (2, &["predict", "out/models.toml", "Nobody"][..], "it has Steps, Flat, Twice"),
        (2, &["predict", "out/models.toml", "Flat"], "n=VALUE"),
        (2, &["predict", "out/models.toml", "Flat", "m=1"], "no input `m`"),
        (2, &["predict", "out/models.toml", "Flat", "n=1", "n=2"], "given twice"),
        (1, &["predict", "out/models.toml", "Flat", "n=5000"], "1..=4096"),
        (2, &["choose", "out/models.toml", "sort", "n=1"], "it has job"),
        (1, &["choose", "out/models.toml", "job", "n=1", "--pin", "job=fast"], "steps, flat"),
        (1, &["choose", "out/models.toml", "job", "n=1", "--pin", "job=steps:65"], "1..=64"),
        (2, &["choose", "out/models.toml", "job", "n=1", "--pin", "nonsense"], "sort=radix:11"),
        (2, &["map", "out/models.toml", "job", "n=1"], "leave one or two free"),
    ] {
        let (_, err) = expect(status, arguments, at);
        assert!(err.contains(say), "{arguments:?}: {err}");
    }
}

#[test]
fn a_bare_fragment_fits_without_a_spec() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The first rows of Brewer (1994), Fig 3-7.
    let fragment = "CombineVector length logP length*logP\nCombineVector .00005784 1 4 4\nCombineVector .00006927 2 4 8\n\
                    CombineVector .00008853 4 4 16\nCombineVector .00013707 8 4 32\nCombineVector .00023070 16 4 64\n\
                    CombineVector .00042423 32 4 128\n@CombineVector .00061532 47 4 188\n";
    fs::write(folder.path().join("fig.txt"), fragment).expect("written");
    let (out, _) = expect(0, &["fit", "fig.txt", "--json"], folder.path());
    let json: Value = serde_json::from_str(&out).expect("JSON");
    let model = &json["models"][0];
    assert_eq!((&model["name"], &model["mode"]), (&"CombineVector".into(), &"relative".into()));
    assert!(model["r2"].as_f64().is_some_and(|r2| r2 > 0.998), "{model}");
    // logP is 4 throughout: it cannot be told from the constant, nor length*logP from length.
    assert_eq!(model["rank"], 2);
}

#[test]
fn bad_samples_are_refused_with_file_and_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &[u8]| fs::write(folder.path().join(name), text).expect("written");
    write("torn.txt", b"strata-samples 1\nmodel M n\nM 1e-6 1\nM 2e-6 2\nM 3e");
    write("bytes.txt", b"strata-samples 1\nmodel M n\nM 1e-6 \xff\n");
    write("few.txt", b"model M n\nM 1e-6 1\n");
    write("zero.txt", b"model M n\nM 1e-6 1\nM 0 2\nM 3e-6 3\nM 4e-6 4\n");
    write("nan.txt", b"model M n\nM 1e-6 1\nM 2e-6 NaN\nM 3e-6 3\nM 4e-6 4\n");
    for (file, say) in [
        ("torn.txt", "torn.txt:5"),
        ("bytes.txt", "UTF-8"),
        ("few.txt", "M"),
        ("zero.txt", "3"),
        ("nan.txt", "3"),
    ] {
        let (_, err) = expect(1, &["fit", file], folder.path());
        assert!(err.contains(say), "{file}: {err}");
    }
}

#[test]
fn samples_of_other_programs_fit_and_go_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    let write = |name: &str, text: &str| fs::write(at.join(name), text).expect("written");
    let mut csv = String::from("size,seconds\n");
    let mut extra_p = String::from("PARAMETER size\nPOINTS");
    let mut data = String::new();
    for n in [16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0] {
        let _ = writeln!(csv, "{n},{:e}", 1e-6 + 1e-9 * n);
        let _ = write!(extra_p, " {n}");
        let _ = writeln!(data, "DATA {:e}", 1e-6 + 1e-9 * n);
    }
    let _ =
        write!(extra_p, "\nREGION main->copy\nMETRIC time\n{data}METRIC visits\n{}", "DATA 1\n".repeat(6));
    write("copy.csv", &csv);
    write("copy.txt", &extra_p);
    let (_, err) = expect(1, &["fit", "copy.txt"], at);
    assert!(err.contains("copy.txt:12:1: this file has 2 metrics, `time`, `visits`"), "{err}");
    assert!(err.contains("--metric NAME"), "{err}");
    for (arguments, name) in [
        (&["fit", "copy.csv", "--json"][..], "copy"),
        (&["fit", "copy.txt", "--metric", "time", "--json"], "main_copy"),
        (&["fit", "copy.txt", "--metric", "time", "--format", "extra-p-text", "--json"], "main_copy"),
    ] {
        let (out, _) = expect(0, arguments, at);
        let json: Value = serde_json::from_str(&out).expect("JSON");
        assert_eq!(json["models"][0]["name"], name);
        assert_eq!(json["models"][0]["samples"], 6);
    }
    expect(0, &["export", "copy.txt", "--metric", "time", "--to", "json-lines", "-o", "copy.jsonl"], at);
    let (ours, _) = expect(0, &["export", "copy.jsonl", "--to", "samples", "--model", "main_copy"], at);
    let (head, first) = ("model main_copy (size)\n", format!("\nmain_copy {:e} 16\n", 1e-6 + 1e-9 * 16.0));
    assert!(ours.contains(head) && ours.contains(&first), "{ours}");
    for (arguments, status, say) in [
        (&["fit", "copy.csv", "--format", "xml"][..], 2, "csv"),
        (&["fit", "copy.csv", "--format", "json-lines"], 1, "copy.csv:1:1"),
        (&["export", "copy.jsonl", "--to", "json-lines", "--model", "other"], 1, "main_copy"),
        (&["export", "copy.jsonl", "--to", "c"], 1, "not a model set"),
        (&["export", "none.toml", "--to", "c"], 3, "none.toml"),
    ] {
        let (_, err) = expect(status, arguments, at);
        assert!(err.contains(say), "{arguments:?}: {err}");
    }
}

#[test]
fn input_that_is_not_what_it_seems_is_named_with_its_place() {
    let folder = project();
    let at = folder.path();
    let write = |name: &str, text: &[u8]| fs::write(at.join(name), text).expect("written");
    // Latin 1 wherever text is read.
    write("latin.spec", b"// gr\xfc\xdfe\nmodel A(n) = n\n");
    write("latin.toml", b"strata-models = 1\n# gr\xfc\xdfe\n");
    write("latin.csv", b"gr\xf6\xdfe,time\n1,1e-6\n");
    write("latin.txt", b"strata-samples 1\nmodel M n\nM 1e-6 1 ; gr\xfc\xdfe\n");
    write("latin.points", b"strata-plan 1\n# gr\xfc\xdfe\n");
    for (arguments, say) in [
        (&["check", "latin.spec"][..], "not UTF-8"),
        (&["predict", "latin.toml", "A"], "latin.toml: this is not UTF-8 text"),
        (&["choose", "latin.toml", "job"], "latin.toml: this is not UTF-8 text"),
        (&["map", "latin.toml"], "latin.toml: this is not UTF-8 text"),
        (&["advise", "latin.toml", "--spec", "job.spec"], "latin.toml: this is not UTF-8 text"),
        (&["export", "latin.toml", "--to", "c"], "latin.toml: this is not UTF-8 text"),
        (&["fit", "latin.csv"], "UTF-8"),
        (&["fit", "latin.txt"], "UTF-8"),
        (
            &["profile", "job.spec", "--points", "latin.points", "-o", "out"],
            "latin.points: this is not UTF-8 text",
        ),
    ] {
        let (_, err) = expect(1, arguments, at);
        assert!(err.contains(say) && err.contains("latin."), "{arguments:?}: {err}");
    }
    let metrics =
        ["time", "visits", "bytes"].map(|metric| format!("METRIC {metric}\nDATA 1\nDATA 2\nDATA 3\n"));
    let extra_p = format!("PARAMETER p\nPOINTS 1 2 4\nREGION main\n{}", metrics.concat());
    write("three.txt", extra_p.as_bytes());
    let (_, err) = expect(1, &["fit", "three.txt"], at);
    assert!(
        err.contains("this file has 3 metrics, `time`, `visits`, `bytes`") && err.contains("--metric NAME"),
        "{err}"
    );
    let (_, err) = expect(1, &["fit", "three.txt", "--metric", "joules"], at);
    assert!(err.contains("joules") && err.contains("`bytes`"), "{err}");
    expect(0, &["fit", "three.txt", "--metric", "bytes"], at);
    // A cell that is empty, and one that is not there.
    write("hole.csv", b"n,time\n1,1e-6\n2,\n4,4e-6\n");
    write("short.csv", b"n,time\n1,1e-6\n2\n4,4e-6\n");
    for file in ["hole.csv", "short.csv"] {
        let (_, err) = expect(1, &["fit", file], at);
        assert!(err.contains(&format!("{file}:3")), "{err}");
    }
}

#[test]
fn predictions_beyond_the_samples_say_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    // Measured along both axes, never far out on both at once.
    let mut samples = String::from("model M a b a*b\n");
    for (i, n) in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].into_iter().enumerate() {
        let noise = 1.0 + 0.01 * (i % 3) as f64;
        for (a, b) in [(n, 1.0), (1.0, n), (n, 2.0), (2.0, n)] {
            writeln!(samples, "M {:e} {a} {b} {}", (1e-6 + 1e-8 * a * b) * noise, a * b).expect("a string");
        }
    }
    fs::write(at.join("samples.txt"), samples).expect("written");
    expect(0, &["fit", "samples.txt", "-o", "out", "--keep-all"], at);
    let (_, err) = expect(0, &["predict", "out/models.toml", "M", "a=4", "b=2"], at);
    assert!(!err.contains("extrapolates"), "{err}");
    let (out, err) = expect(0, &["predict", "out/models.toml", "M", "a=64", "b=64"], at);
    assert!(
        !out.is_empty() && err.contains("`M` extrapolates here: inside the measured ranges"),
        "{out}{err}"
    );
    // Outside the ranges there is no answer at all.
    let (out, err) = expect(1, &["predict", "out/models.toml", "M", "a=65", "b=1"], at);
    assert!(
        out.is_empty() && err.contains("predicts nothing here") && err.contains("a in 1..=64"),
        "{out}{err}"
    );
}

#[test]
fn flags_of_fit_do_what_they_say() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    // 1 µs + 10 ns·n - 1 ns·m, a term that is nothing, an outlier, and the variance of each time.
    let mut samples = String::from("model M n m k (v)\n");
    for i in 1..=40 {
        let (n, m, k) = (f64::from(i), f64::from(i * 7 % 11), f64::from(i * 5 % 3));
        let noise = 1.0 + 0.01 * (f64::from(i * 13 % 7) / 3.0 - 1.0);
        let outlier = if i == 20 { 3.0 } else { 1.0 };
        let seconds = (1e-6 + 1e-8 * n - 1e-9 * m) * noise * outlier;
        let mark = if i % 5 == 0 && i != 20 { "@" } else { "" };
        writeln!(samples, "{mark}M {seconds:e} {n} {m} {k} {:e}", (0.01 * seconds).powi(2))
            .expect("a string");
    }
    fs::write(at.join("samples.txt"), samples).expect("written");
    let fit = |flags: &[&str]| -> Value {
        let arguments = [&["fit", "samples.txt", "--json", "--search", "never"], flags].concat();
        let (out, _) = expect(0, &arguments, at);
        serde_json::from_str::<Value>(&out).expect("JSON")["models"][0].clone()
    };
    let terms = |model: &Value| -> Vec<(String, f64)> {
        let term = |t: &Value| {
            (t["term"].as_str().expect("a name").to_owned(), t["coefficient"].as_f64().expect("a number"))
        };
        model["terms"].as_array().expect("terms").iter().map(term).collect()
    };
    let coefficient =
        |model: &Value, name: &str| terms(model).into_iter().find(|t| t.0 == name).map_or(f64::NAN, |t| t.1);
    let plain = fit(&["--variance", "v"]);
    assert_eq!((&plain["mode"], plain["samples"].as_u64()), (&"relative".into(), Some(33)));
    assert_eq!(fit(&["--variance", "v", "--absolute"])["mode"], "absolute");
    let without = fit(&["--variance", "v", "--no-constant", "--keep-all"]);
    assert!(terms(&without).iter().all(|t| t.0 != "1" && t.1 != 0.0), "{without}");
    let all = fit(&["--variance", "v", "--keep-all"]);
    assert!(terms(&all).len() == 4 && terms(&all).iter().all(|t| t.1 != 0.0), "{all}");
    assert!(terms(&plain).iter().any(|t| t.1 == 0.0), "something is irrelevant: {plain}");
    let positive = fit(&["--variance", "v", "--nonnegative", "--keep-all"]);
    assert!(terms(&positive).iter().all(|t| t.1 >= 0.0), "{positive}");
    // The outlier is three times too long: robust fits hardly see it.
    for how in ["huber", "bisquare"] {
        let robust = fit(&["--variance", "v", "--robust", how]);
        assert!((coefficient(&robust, "n") / 1e-8 - 1.0).abs() < 0.1, "{how}: {robust}");
    }
    assert_eq!(fit(&["--variance", "v", "--robust", "reject"]), plain);
    assert_ne!(fit(&["--variance", "v", "--robust", "none"]), plain);
    for by in ["aicc", "leave-one-out"] {
        assert_eq!(fit(&["--variance", "v", "--eliminate", by])["samples"], 33);
    }
    for (flags, say) in [
        (&["--robust", "tukey"][..], "huber"),
        (&["--eliminate", "luck"], "leave-one-out"),
        (&["--weights", "mine"], "predicted"),
        (&["--search", "often"], "when-needed"),
        (&["--pieces", "5"], "1..=4"),
        (&["--weights", "predicted", "--absolute"], "cannot be used with"),
    ] {
        let (_, err) = expect(2, &[&["fit", "samples.txt"], flags].concat(), at);
        assert!(err.contains(say), "{flags:?}: {err}");
    }
    let (_, err) = expect(1, &["fit", "samples.txt", "--variance", "w"], at);
    assert!(err.contains("`w`"), "{err}");
}

#[test]
fn a_spec_says_how_to_fit_and_the_command_line_says_otherwise() {
    let folder = project();
    let at = folder.path();
    let spec =
        SPEC.replace("    terms n\n}", "    terms n\n    fit absolute, robust huber\n    accept 5%\n}");
    fs::write(at.join("job.spec"), &spec).expect("written");
    let mode = |arguments: &[&str]| -> (Value, Value) {
        let (out, _) = expect(0, &[arguments, &["--json"]].concat(), at);
        let json: Value = serde_json::from_str(&out).expect("JSON");
        (json["models"][0]["mode"].clone(), json["models"][1]["mode"].clone())
    };
    let both = |a: &str, b: &str| (Value::from(a), Value::from(b));
    assert_eq!(mode(&["fit", "samples.txt", "--spec", "job.spec"]), both("relative", "absolute"));
    assert_eq!(mode(&["fit", "samples.txt"]), both("relative", "relative"));
    // Samples that carry the words of their spec need it no more.
    let samples = fs::read_to_string(at.join("samples.txt")).expect("read");
    let carried =
        samples.replace("model Flat n\n", "model Flat n\nfit Flat absolute, robust huber, accept 0.05\n");
    fs::write(at.join("carried.txt"), &carried).expect("written");
    assert_eq!(mode(&["fit", "carried.txt"]), both("relative", "absolute"));
    assert_eq!(mode(&["fit", "carried.txt", "--absolute"]), both("absolute", "absolute"));
    let by_spec = expect(0, &["fit", "samples.txt", "--spec", "job.spec", "--json"], at).0;
    let flat = |out: &str| serde_json::from_str::<Value>(out).expect("JSON")["models"][1].clone();
    assert_eq!(flat(&by_spec)["terms"], flat(&expect(0, &["fit", "carried.txt", "--json"], at).0)["terms"]);
    let plain = expect(0, &["fit", "carried.txt", "--json", "--robust", "none"], at).0;
    assert_ne!(flat(&by_spec)["terms"], flat(&plain)["terms"], "the command line counts more");
    fs::write(at.join("odd.txt"), carried.replace("robust huber", "robust hubris")).expect("written");
    let (_, err) = expect(1, &["fit", "odd.txt"], at);
    assert!(err.contains("`Flat`") && err.contains("hubris"), "{err}");
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
        (1, &["profile", "job.spec", "-o", "x", "--points", "job.spec"], "strata-plan 1"),
        (3, &["profile", "job.spec", "-o", "x", "--points", "none.txt"], "none.txt"),
    ] {
        let (_, err) = expect(status, arguments, at);
        assert!(err.contains(say), "{arguments:?}: {err}");
    }
}

#[test]
fn models_are_exported_to_other_languages() {
    let folder = project();
    let at = folder.path();
    expect(0, &["fit", "samples.txt", "--spec", "job.spec", "-o", "out"], at);
    for (form, say) in [
        ("rust", "pub fn steps(nodes: usize, n: f64, width: f64) -> Option<f64>"),
        ("c", "static inline double strata_steps(unsigned nodes, double n, double width)"),
        ("python", "def steps(nodes, n, width):"),
        ("latex", "T_{\\mathrm{Steps}}(n, \\mathit{width})"),
    ] {
        let (out, _) = expect(0, &["export", "out/models.toml", "--to", form], at);
        assert!(out.contains(say), "{form}: {out}");
        expect(0, &["export", "out/models.toml", "--to", form, "-o", "written"], at);
        assert_eq!(fs::read_to_string(at.join("written")).expect("read").trim_end(), out.trim_end());
    }
    let (_, err) = expect(2, &["export", "out/models.toml", "--to", "c", "--model", "Steps"], at);
    assert!(err.contains("--model"), "{err}");
    let (_, err) = expect(2, &["export", "out/models.toml", "--to", "json-lines"], at);
    assert!(err.contains("is a model set"), "{err}");
}

#[test]
fn specs_are_checked_and_formatted() {
    let folder = project();
    let at = folder.path();
    let (out, _) = expect(0, &["check", "job.spec"], at);
    assert_eq!(out.trim(), "1 file, 3 models, 1 library");
    expect(0, &["fmt", "job.spec"], at);
    expect(0, &["fmt", "--check", "job.spec"], at);
    let formatted = fs::read_to_string(at.join("job.spec")).expect("read");
    fs::write(at.join("job.spec"), formatted.replace("terms n\n", "terms  n\n")).expect("written");
    let (_, err) = expect(1, &["fmt", "--check", "job.spec"], at);
    assert!(err.contains("specc fmt job.spec"), "{err}");

    let five = "model A(n) { for n in 1..=8 task { f(n) } terms m }\nmodel B(n) { for n in 8..=1 task { f(n) } }\n\
                model C(n) { for n in 1..=8 step *1 task { f(n) } }\nmodel D(n) { for n in 1..=8 task { f( } }\nmodel A(k) = k\n";
    fs::write(at.join("five.spec"), five).expect("written");
    let (_, err) = expect(1, &["check", "five.spec"], at);
    assert!(err.matches("five.spec:").count() >= 5, "{err}");
}

/// A folder with one file a node, `node-0000.log` and so on.
fn node_files(ending: &str, texts: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (node, text) in texts.iter().enumerate() {
        let head = format!("strata-{ending} 1 node={node} nodes={} began={}\n", texts.len(), 1000 * node);
        fs::write(folder.path().join(format!("node-{node:04}.{ending}")), head + text).expect("written");
    }
    folder
}

#[test]
fn logs_show_the_last_entries_and_who_is_missing() {
    let waits = "5 enter 1 scan add of 1 u64 at a.rs:3\n7 leave 1\n2000000000 enter 2 barrier at a.rs:4\n";
    let folder = node_files(
        "log",
        &[waits, "5 enter 1 scan add of 1 u64 at a.rs:3\n7 leave 1\n9 say a\\nb\n11 ent", waits],
    );
    let (out, err) = expect(0, &["log", ".", "--last", "1"], folder.path());
    assert_eq!(
        out,
        "node 0          2.000000 s  enter 2 barrier at a.rs:4\n\
         node 1          0.000001 s  say a\\nb\n\
         node 1    (the last line is torn)\n\
         node 2          2.000002 s  enter 2 barrier at a.rs:4\n\
         \n\
         nodes 0, 2 wait in barrier #2 at a.rs:4; node 1 has not come: last in scan add of 1 u64 #1 at a.rs:3, 2.00 s ago\n"
    );
    assert_eq!(err, "");
    fs::remove_file(folder.path().join("node-0001.log")).expect("removed");
    let (out, _) = expect(0, &["log", ".", "--last", "0"], folder.path());
    assert_eq!(out, "of node 1 there is no log\n\nnodes 0, 2 wait in barrier #2 at a.rs:4\n");
    fs::write(folder.path().join("node-0001.log"), "what is this\n").expect("written");
    let (_, err) = expect(1, &["log", "."], folder.path());
    assert!(err.contains("node-0001.log:1: the first line must be `strata-log 1"), "{err}");
    expect(3, &["log", "nowhere"], folder.path());
    let (_, err) = expect(1, &["trace", "."], folder.path());
    assert!(err.contains("there is no `node-NNNN.trace` in this folder"), "{err}");
}

#[test]
fn traces_are_drawn_and_exported() {
    let head = "clock 0 0\nstate 0 idle\nstate 1 busy\nstate 8 count & <send>\n";
    let mut texts = Vec::new();
    for node in 0..64u64 {
        let (to, from) = ((node + 1) % 64, (node + 63) % 64);
        texts.push(format!(
            "{head}0 s 1\n{} s 8\n{} > {to} 8\n{} < {from} 8\n{} p {to} 4096\n900000 a 4096\n950000 s 0\n1000000 end\n",
            1000 * node + 1,
            2000 * node + 2,
            400_000 + node,
            500_000 + node,
        ));
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let folder = node_files("trace", &texts);
    let arguments =
        ["trace", ".", "--svg", "states.svg", "--flight", "flight.svg", "--perfetto", "trace.json"];
    let (out, err) = expect(0, &arguments, folder.path());
    assert_eq!((out.as_str(), err.as_str()), ("", ""));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("written");
    let states = read("states.svg");
    assert!(states.contains("count &amp; &lt;send&gt;") && states.contains("time, µs"), "{states}");
    // All rows in the colour of the named state, and of idle at the end.
    for colour in ["#009E73", "#E8E8E8"] {
        assert!(states.matches(colour).count() >= 64, "{colour}");
    }
    let flight = read("flight.svg");
    assert!(
        flight.contains("packets on their way") && flight.contains("bytes of puts on their way"),
        "{flight}"
    );
    let json: Value = serde_json::from_str(&read("trace.json")).expect("JSON");
    let events = json["traceEvents"].as_array().expect("events");
    let count = |is: &dyn Fn(&Value) -> bool| events.iter().filter(|event| is(event)).count();
    assert_eq!(count(&|event| event["name"] == "thread_name"), 64);
    assert_eq!(count(&|event| event["ph"] == "X" && event["name"] == "count & <send>"), 64);
    assert_eq!(count(&|event| event["ph"] == "C" && event["name"] == "packets to node 5"), 2);
    let (out, _) = expect(0, &["trace", "."], folder.path());
    assert!(out.starts_with("64 nodes, 1.00 ms, one clock\nidle "), "{out}");
    // A trace without its end is drawn, and said to be one; one that is missing is not.
    fs::write(
        folder.path().join("node-0003.trace"),
        "strata-trace 1 node=3 nodes=64 began=3000\nstate 1 busy\n5 s 1\n9 s",
    )
    .expect("written");
    let (_, err) = expect(0, &["trace", ".", "--svg", "torn.svg"], folder.path());
    assert!(err.contains("the trace of node 3 has no end"), "{err}");
    fs::remove_file(folder.path().join("node-0003.trace")).expect("removed");
    let (_, err) = expect(1, &["trace", "."], folder.path());
    assert!(err.contains("node 3 of 64 has no trace"), "{err}");
}
