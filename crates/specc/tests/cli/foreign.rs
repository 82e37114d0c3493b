//! Samples of other programs, models for other languages.

use super::*;

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
fn what_nothing_verifies_says_how_and_what_fails_prints_no_table() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    let rows: String = (1..=40).map(|n| format!("{n},{:e}\n", 1e-6 * f64::from(n))).collect();
    fs::write(at.join("runs.csv"), format!("n,time\n{rows}")).expect("written");
    let (_, err) = expect(0, &["fit", "runs.csv"], at);
    assert!(err.contains("`--hold-out 20%` keeps a fifth of the points apart"), "{err}");
    let (_, err) = expect(0, &["fit", "runs.csv", "--hold-out", "20%"], at);
    assert!(!err.contains("--hold-out"), "{err}");
    fs::write(at.join("one.csv"), "n,time\n1,0.5\n").expect("written");
    let (out, err) = expect(1, &["fit", "one.csv"], at);
    assert!(err.contains("model `one` has 1 sample for 1 term") && out.is_empty(), "{out}{err}");
}

#[test]
fn columns_of_csv_are_named_with_their_units_and_groups() {
    let folder = project();
    let at = folder.path();
    let mut csv = String::from("variant,n,width,host,ms\n");
    for n in (0..=12).map(|exponent| f64::from(1 << exponent)) {
        for width in [1.0, 4.0, 16.0] {
            let _ = writeln!(csv, "Steps,{n},{width},here,{}", 1e3 * (1e-6 + 1e-9 * n + 1e-8 * width));
        }
        let _ = writeln!(csv, "Flat,{n},1,there,{}", 1e3 * (1.2e-6 + 0.5e-9 * n));
    }
    fs::write(at.join("runs.csv"), &csv).expect("written");
    let (_, err) = expect(1, &["fit", "runs.csv"], at);
    assert!(err.contains("for example `--time ms:ms`"), "{err}");
    let (_, err) = expect(2, &["fit", "runs.csv", "--time", "ms"], at);
    assert!(err.contains("does not say in which unit"), "{err}");
    let how = ["fit", "runs.csv", "--time", "ms:ms", "--model-column", "variant", "--hold-out", "25%"];
    let (out, err) = expect(0, &[&how[..], &["--spec", "job.spec", "-o", "out", "--json"]].concat(), at);
    assert!(err.contains("the column `host` holds text and is not used"), "{err}");
    let json: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&json["models"][0]["samples"], &json["models"][1]["samples"]), (&29.into(), &10.into()));
    let (out, _) = expect(0, &["choose", "out/models.toml", "Flat", "n=1000", "--json"], at);
    let flat: Value = serde_json::from_str(&out).expect("JSON");
    assert!((flat["seconds"].as_f64().expect("a number") / 1.7e-6 - 1.0).abs() < 1e-3, "{flat}");
    // Samples that are not of the spec.
    fs::write(at.join("runs.csv"), csv.replace("Steps,", "Stepps,").replace("Flat,", "Even,"))
        .expect("written");
    let (_, err) = expect(1, &[&how[..], &["--spec", "job.spec"]].concat(), at);
    assert!(
        err.contains("of `Stepps` (did you mean `Steps`?), `Even`, the spec has `Steps`, `Flat`"),
        "{err}"
    );
    // A fault that all rows share is said once.
    fs::write(at.join("runs.csv"), csv.replace(",here,0", ",here,about 0")).expect("written");
    let (_, err) = expect(1, &how, at);
    assert!(
        err.contains("runs.csv:2:16: `ms` must be a number") && err.contains("(and 38 more like it)"),
        "{err}"
    );
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
        (&["choose", "latin.toml", "A"], "latin.toml: this is not UTF-8 text"),
        (&["choose", "latin.toml", "job"], "latin.toml: this is not UTF-8 text"),
        (&["show", "latin.toml"], "latin.toml: this is not UTF-8 text"),
        (&["advise", "latin.toml", "--spec", "job.spec"], "latin.toml: this is not UTF-8 text"),
        (&["export", "latin.toml", "--to", "c"], "latin.toml: this is not UTF-8 text"),
        (&["fit", "latin.csv"], "UTF-8"),
        (&["fit", "latin.txt"], "UTF-8"),
        (
            &["calibrate", "--only-samples", "job.spec", "--points", "latin.points", "-o", "out"],
            "latin.points: this is not UTF-8 text",
        ),
    ] {
        let (_, err) = expect(1, arguments, at);
        assert!(err.contains(say) && err.contains("latin."), "{arguments:?}: {err}");
    }
    let metrics = ["time", "visits", "bytes"]
        .map(|metric| format!("METRIC {metric}\nDATA 1\nDATA 2\nDATA 4\nDATA 8\n"));
    let extra_p = format!("PARAMETER p\nPOINTS 1 2 4 8\nREGION main\n{}", metrics.concat());
    write("three.txt", extra_p.as_bytes());
    let (_, err) = expect(1, &["fit", "three.txt"], at);
    assert!(
        err.contains("this file has 3 metrics, `time`, `visits`, `bytes`") && err.contains("--metric NAME"),
        "{err}"
    );
    let (_, err) = expect(1, &["fit", "three.txt", "--metric", "joules"], at);
    assert!(err.contains("joules") && err.contains("`bytes`"), "{err}");
    let (_, err) = expect(0, &["fit", "three.txt", "--metric", "bytes"], at);
    assert!(err.contains("the metric `bytes` is no time"), "{err}");
    let (_, err) = expect(0, &["fit", "three.txt", "--metric", "time"], at);
    assert!(!err.contains("is no time"), "{err}");
    // A cell that is empty, and one that is not there.
    write("hole.csv", b"n,time\n1,1e-6\n2,\n4,4e-6\n");
    write("short.csv", b"n,time\n1,1e-6\n2\n4,4e-6\n");
    for file in ["hole.csv", "short.csv"] {
        let (_, err) = expect(1, &["fit", file], at);
        assert!(err.contains(&format!("{file}:3")), "{err}");
    }
}

#[test]
fn models_import_by_the_dependency_that_the_package_has() {
    for (dependencies, import) in [
        ("strata = { package = \"strata-hpc\", version = \"0.1\" }", "use strata::select::{Explained,"),
        ("strata-hpc = \"0.1\"", "use strata::select::{Explained,"),
        ("all-of = { package = \"strata-hpc\", version = \"0.1\" }", "use all_of::select::{Explained,"),
        ("strata-hpc = \"0.1\"\nstrata-select = \"0.1\"", "use strata_select::{Explained,"),
        ("strata-select = \"0.1\"", "use strata_select::{Explained,"),
        ("# without strata-hpc", "use strata_select::{Explained,"),
    ] {
        let folder = project();
        let at = folder.path();
        let manifest = "[package]\nname = \"own\"\nversion = \"0.1.0\"\n[workspace]\n[dependencies]\n";
        fs::write(at.join("Cargo.toml"), format!("{manifest}{dependencies}\n")).expect("written");
        fs::create_dir(at.join("src")).expect("made");
        fs::write(at.join("src/lib.rs"), "").expect("written");
        expect(0, &["fit", "samples.txt", "--spec", "job.spec", "-o", "out"], at);
        let models = fs::read_to_string(at.join("out/models.rs")).expect("read");
        let imports = models.lines().filter(|line| line.starts_with("use ")).count();
        let same = import.split('{').next().map_or(0, |start| models.matches(start).count());
        assert!(models.contains(import) && imports == same, "{dependencies}: {models}");
    }
}

#[test]
fn models_are_exported_to_other_languages() {
    let folder = project();
    let at = folder.path();
    expect(0, &["fit", "samples.txt", "--spec", "job.spec", "-o", "out"], at);
    for (form, say) in [
        ("models", "use strata_select::{Explained, Library,"),
        ("rust", "pub static STEPS_MODEL: Model ="),
        ("rust", "use super::strata_select::{Explained, Library,"),
        ("rust", "pub mod strata_select {"),
        ("c", "static inline double strata_steps(unsigned nodes, double n, double width)"),
        ("rust-no-std", "inputs n: usize;"),
        ("rust-no-std", "impl Math for f64 {"),
        ("c", "static inline strata_job_choice strata_job_choose(unsigned nodes, size_t n)"),
        ("python", "def job_choose(nodes, n):"),
        ("python", "def steps(nodes, n, width):"),
        ("latex", "T_{\\mathrm{Steps}}(n, \\mathit{width})"),
    ] {
        let (out, _) = expect(0, &["export", "out/models.toml", "--to", form], at);
        assert!(out.contains(say), "{form}: {out}");
        expect(0, &["export", "out/models.toml", "--to", form, "-o", "written"], at);
        assert_eq!(fs::read_to_string(at.join("written")).expect("read").trim_end(), out.trim_end());
    }
    let twice = ["export", "out/models.toml", "out/models.toml", "--to"];
    let (out, _) = expect(0, &[&twice[..], &["rust"]].concat(), at);
    assert_eq!(out.matches("pub static STEPS_MODEL: Model =").count(), 2, "{out}");
    let (_, err) = expect(2, &[&twice[..], &["c"]].concat(), at);
    assert!(err.contains("only to models, rust, rust-no-std, thresholds"), "{err}");
    let (out, _) = expect(0, &["export", "out/models.toml", "--to", "c", "--prefix", "mine"], at);
    assert!(
        out.contains("mine_steps_half_width(unsigned nodes") && out.contains("#ifndef MINE_MODELS_"),
        "{out}"
    );
    for arguments in [["c", "_x"], ["c", "a b"], ["python", "mine"]] {
        expect(2, &["export", "out/models.toml", "--to", arguments[0], "--prefix", arguments[1]], at);
    }
    let (_, err) = expect(2, &["export", "out/models.toml", "--to", "c", "--model", "Steps"], at);
    assert!(err.contains("--model"), "{err}");
    let (_, err) = expect(2, &["export", "out/models.toml", "--to", "json-lines"], at);
    assert!(err.contains("is a model set"), "{err}");
}

#[test]
fn results_of_benchmarks_fit_and_say_what_they_do_not_show() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    for n in [1u32, 4, 16, 64, 256, 1024] {
        let new = at.join(format!("criterion/fold/{n}/new"));
        fs::create_dir_all(&new).expect("made");
        let benchmark = format!("{{\"group_id\":\"fold\",\"function_id\":null,\"value_str\":\"{n}\"}}");
        fs::write(new.join("benchmark.json"), benchmark).expect("written");
        let times: Vec<String> =
            (1..=5).map(|i| (f64::from(i) * (50.0 + 3.0 * f64::from(n))).to_string()).collect();
        let sample = format!("{{\"iters\":[1.0,2.0,3.0,4.0,5.0],\"times\":[{}]}}", times.join(","));
        fs::write(new.join("sample.json"), sample).expect("written");
    }
    let (out, _) = expect(0, &["fit", "criterion", "--set", "threads=4", "--json"], at);
    let json: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&json["models"][0]["name"], &json["models"][0]["samples"]), (&"fold".into(), &30.into()));
    let (_, err) = expect(0, &["fit", "criterion", "--set", "threads=4"], at);
    assert!(err.contains("`threads` was 4 in all samples"), "{err}");
    let (_, err) = expect(1, &["fit", "criterion/fold/1/new"], at);
    assert!(err.contains("there is no folder of criterion here"), "{err}");
    fs::write(at.join("two.csv"), "n,time\n1,1.2e-5\n1,1.3e-5\n50,9e-5\n").expect("written");
    let (_, err) = expect(1, &["fit", "two.csv"], at);
    assert!(err.contains("samples at 2 points only"), "{err}");
    expect(2, &["fit", "two.csv", "--set", "threads"], at);
}

/// An input that followed another at all samples has no known effect; a damaged relation is named.
#[test]
fn a_prediction_off_the_line_of_all_samples_says_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    let row = |n: i32| format!("{},{},{:e}\n", n * n, 8 * n * n, 1e-6 + 1e-9 * f64::from(n * n));
    let rows: String = (3..40).map(row).collect();
    fs::write(at.join("runs.csv"), format!("keys,bytes,time\n{rows}")).expect("written");
    let (_, err) = expect(0, &["fit", "runs.csv", "--hold-out", "20%", "-o", "out"], at);
    let said = |err: &str| err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said(&err).contains("`bytes` is 8*keys at all samples"), "{err}");
    for (bytes, strays) in [("bytes=8000", false), ("bytes=600", true)] {
        let (_, err) = expect(0, &["choose", "out/models.toml", "runs", "keys=1000", bytes], at);
        assert_eq!(said(&err).contains("`bytes` was 8*keys at all samples"), strays, "{err}");
    }
    let set = fs::read_to_string(at.join("out/models.toml")).expect("read");
    for (damaged, why) in [("8*kyes", "`kyes` is no input"), ("8*", "the value `8*`")] {
        fs::write(at.join("damaged.toml"), set.replace("8*keys", damaged)).expect("written");
        let (_, err) = expect(1, &["show", "damaged.toml", "runs"], at);
        assert!(err.contains("follows") && err.contains(why), "{err}");
    }
}
