//! Choices by models that are hard to trust.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{expect, specc, text};

const SPEC: &str = include_str!("pair.spec");

/// Samples of a model at `count` sizes up to `greatest`, a quarter of them held out, with 2 % of
/// noise.
fn samples(model: &str, count: usize, greatest: f64, seconds: impl Fn(f64) -> f64) -> String {
    let mut all = format!("{model} n\n");
    for i in 0..count {
        let n = greatest.powf((i + 1) as f64 / count as f64).round();
        let noise = 1.0 + 0.02 * ((i * 7919 % 13) as f64 - 6.0) / 6.0;
        let mark = if i % 4 == 3 && i + 1 < count { "@" } else { "" };
        writeln!(all, "{mark}{model} {:e} {n}", seconds(n) * noise).expect("a string");
    }
    all
}

/// Fits both models, expecting this exit status; the folder and what was said on standard error.
fn fitted(status: i32, a: &str, b: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    fs::write(at.join("pair.spec"), SPEC).expect("written");
    fs::write(at.join("samples.txt"), format!("{a}{b}")).expect("written");
    let (_, err) = expect(status, &["fit", "samples.txt", "--spec", "pair.spec", "-o", "out"], at);
    (folder, err)
}

fn choice(n: &str, folder: &Path) -> Value {
    let (out, _) = expect(0, &["choose", "--json", "out/models.toml", "pair", &format!("n={n}")], folder);
    serde_json::from_str(&out).expect("JSON")
}

#[test]
fn a_model_with_one_sample_is_told_and_the_other_chosen() {
    let (folder, err) =
        fitted(1, &samples("A", 50, 1000.0, |n| 1e-6 * n), &samples("B", 1, 500.0, |n| 1e-7 * n));
    assert!(
        err.contains("`B` has 1 sample") && err.contains("`b` of library `pair` cannot be chosen"),
        "{err}"
    );
    assert_eq!(choice("500", folder.path())["candidate"], "a");
}

#[test]
fn where_all_models_failed_the_better_still_wins_without_certainty() {
    let square = |c: f64| move |n: f64| 1e-7 + c * n * n;
    let (folder, err) =
        fitted(0, &samples("A", 50, 1000.0, square(2e-9)), &samples("B", 50, 1000.0, square(1e-9)));
    assert!(err.contains("`A` is failed") && err.contains("`B` is failed"), "{err}");
    for n in ["2", "30", "1000"] {
        let choice = choice(n, folder.path());
        assert_eq!((&choice["candidate"], &choice["verdict"]), (&"b".into(), &"failed".into()), "{choice}");
        assert!(choice["probability_fastest"].as_f64().is_some_and(|p| p < 0.8), "{choice}");
        // What ranks the candidates is compared with what ranks them.
        let expected = choice["expected_seconds"].as_f64().expect("a time");
        let predicted = choice["predicted"]["seconds"].as_f64().expect("a time");
        let other = choice["outcomes"][0]["seconds"].as_f64().expect("a time");
        assert!(expected > 1.1 * predicted && other > expected, "{choice}");
        let output =
            specc(&["choose", "--explain", "out/models.toml", "pair", &format!("n={n}")], folder.path());
        let said = text(&output.stdout);
        assert!(said.contains(&format!("{:.2} times as long", other / expected)), "{said}");
        assert!(said.contains("though its model failed verification,\n    expected "), "{said}");
    }
}

#[test]
fn identical_candidates_are_as_likely_and_cost_nothing() {
    let of = |model: &str| samples(model, 50, 1000.0, |n| 1e-6 * n);
    let (folder, _) = fitted(0, &of("A"), &of("B"));
    let choice = choice("100", folder.path());
    assert_eq!(choice["candidate"], "a");
    let likely = choice["probability_fastest"].as_f64().expect("a probability");
    assert!((likely - 0.5).abs() < 0.01, "{choice}");
    let loss = choice["expected_loss_seconds"].as_f64().expect("a time");
    assert!(loss < 0.01 * choice["predicted"]["seconds"].as_f64().expect("a time"), "{choice}");
}

#[test]
fn a_model_of_a_corner_wins_there_and_nowhere_else() {
    let (folder, _) =
        fitted(0, &samples("A", 50, 1000.0, |n| 1e-6 * n), &samples("B", 50, 20.0, |n| 5e-7 * n));
    assert_eq!(choice("10", folder.path())["candidate"], "b");
    let beyond = choice("21", folder.path());
    assert_eq!(
        (&beyond["candidate"], &beyond["outcomes"][1]["outcome"]),
        (&"a".into(), &"out of range".into())
    );
}

/// A folder from elsewhere can carry a lock that is a link or a pipe.
#[cfg(unix)]
#[test]
fn a_lock_that_is_no_file_of_its_own_is_refused_and_nothing_is_emptied() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    let rows: String = (1..=20).map(|n| format!("{n},{:e}\n", 1e-6 * f64::from(n))).collect();
    fs::write(at.join("runs.csv"), format!("n,time\n{rows}")).expect("written");
    fs::write(at.join("victim"), "another's").expect("written");
    for out in ["link", "pipe"] {
        let lock = at.join(out).join(".specc-lock");
        fs::create_dir(at.join(out)).expect("a folder");
        match out {
            "link" => std::os::unix::fs::symlink("../victim", lock).expect("a link"),
            _ => assert!(Command::new("mkfifo").arg(lock).status().expect("mkfifo").success()),
        }
        let (_, err) = expect(3, &["fit", "runs.csv", "-o", out], at);
        assert!(err.contains(".specc-lock: it is no regular file"), "{err}");
    }
    assert_eq!(fs::read(at.join("victim")).expect("it is there"), b"another's");
}

/// A file's contents reach the terminal as text that does nothing there.
#[test]
fn what_a_file_contains_is_escaped_and_cut() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    let title = "\u{1b}]0;owned\u{7}";
    fs::write(at.join("a.csv"), format!("n,{title}x,time\n1,2,{title}\n")).expect("written");
    fs::write(at.join("b.txt"), "\0".repeat(1 << 20)).expect("written");
    fs::write(at.join("c.spec"), format!("model A(n) {{ {title} }}\n")).expect("written");
    for arguments in [["fit", "a.csv"], ["fit", "b.txt"], ["check", "c.spec"]] {
        let (_, err) = expect(1, &arguments, at);
        let bad = |c: char| c.is_control() && c != '\n';
        assert!(!err.contains(bad) && err.len() < 20_000, "{arguments:?}: {} bytes: {err:.500}", err.len());
    }
}

/// Every command that decides by a model that failed says so; with terms that suit none does.
#[test]
fn a_failed_model_goes_nowhere_in_silence() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    let mut csv = "way,n,time\n".to_owned();
    for n in
        [20.0, 30.0, 45.0, 60.0, 100.0, 150.0, 200.0, 300.0, 450.0, 700.0, 1000.0, 1500.0, 2000.0, 3000.0_f64]
    {
        for noise in [0.99, 1.0, 1.01] {
            let (a, b) = ((3e-7 + 2e-9 * n.powf(1.5)) * noise, (2e-6 + 3e-8 * n) * noise);
            csv += &format!("a,{n},{a:e}\nb,{n},{b:e}\n");
        }
    }
    fs::write(at.join("runs.csv"), csv).expect("written");
    let spec =
        "model a(n) ~ n\nmodel b(n) ~ n\nlibrary either(n) { candidate a = a(n); candidate b = b(n) }\n";
    fs::write(at.join("runs.spec"), spec).expect("written");
    let fit = |search: &[&str], out: &str| {
        let arguments = ["fit", "runs.csv", "--spec", "runs.spec", "--hold-out", "20%", "-o", out];
        expect(0, &[&arguments[..], search].concat(), at)
    };
    // What another tool measured is searched for terms, unless it is forbidden.
    let (out, _) = fit(&["--search", "never"], "failed");
    assert!(out.contains("a      failed"), "{out}");
    let (out, _) = fit(&[], "found");
    assert!(out.contains("a      verified"), "{out}");
    for (arguments, in_output) in [
        (&["choose", "SET", "either", "n=60"][..], ""),
        (&["thresholds", "SET"], ""),
        (&["show", "SET"], ""),
        (&["export", "SET", "--to", "thresholds"], "verification failed for `a`"),
        (&["export", "SET", "--to", "thresholds-c"], "verification failed for `a`"),
        (&["export", "SET", "--to", "thresholds-json"], "\"failed\": ["),
        (&["export", "SET", "--to", "c"], "// failed,"),
        (&["export", "SET", "--to", "python"], "failed,"),
        (&["export", "SET", "--to", "latex"], "% failed,"),
        (&["export", "SET", "--to", "rust"], "a: failed,"),
        (&["export", "SET", "--to", "csv"], "failed"),
    ] {
        for (set, is_failed) in [("failed/models.toml", true), ("found/models.toml", false)] {
            let with_set: Vec<&str> =
                arguments.iter().map(|word| if *word == "SET" { set } else { word }).collect();
            let (out, err) = expect(0, &with_set, at);
            let err = err.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(err.contains("failed verification"), is_failed, "{arguments:?}: {err}");
            assert!(!is_failed || err.contains(&format!("`specc show {set} a`")), "{arguments:?}: {err}");
            assert!(!is_failed || out.contains(in_output), "{arguments:?}: {out}");
        }
    }
}
