//! `specc check` and `cargo strata compare`: a package that is calibrated, and then changed. What
//! is measured are times that its code makes up, so that nothing depends on the machine's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{ROOT, release_profile, run};

/// Times of two ways, the second of which has `slope` nanoseconds for each of `n`.
fn library(slope: f64) -> String {
    format!(
        "//! Two ways.\n\n/// Up to some 500.\npub fn few(n: usize) -> f64 {{ 1e-6 + 10e-9 * n as f64 }}\n\n\
         /// From there on.\npub fn many(n: usize) -> f64 {{ 5e-6 + {slope:?}e-9 * n as f64 }}\n"
    )
}

const SPEC: &str = "use verified::{few, many};

model Few(n) {
    for e in 8..=32
    let n = floor(pow(2, e/2))
    sample { few(n) }
    terms n
}

model Many(n) {
    for e in 8..=32
    let n = floor(pow(2, e/2))
    sample { many(n) }
    terms n
}

library ways(n) {
    candidate few = Few(n)
    candidate many = Many(n)
}
";

/// A package with the two ways and their spec.
fn package_in(folder: &Path) -> PathBuf {
    let package = folder.join("verified");
    fs::create_dir_all(package.join("src")).unwrap();
    let select = fs::canonicalize(Path::new(ROOT).join("crates/select")).unwrap();
    let profile = release_profile();
    let manifest = format!(
        "[package]\nname = \"verified\"\nedition = \"2024\"\n\n[dependencies]\nstrata-select = {{ path = {select:?} \
         }}\n\n{profile}\n"
    );
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    fs::copy(Path::new(ROOT).join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    fs::write(package.join("src/lib.rs"), library(3.0)).unwrap();
    fs::write(package.join("ways.spec"), SPEC).unwrap();
    package
}

#[test]
fn models_thresholds_and_constants_hold_until_the_code_changes() {
    let folder = tempfile::tempdir().unwrap();
    let package = package_in(folder.path());
    let specc = |arguments: &[&str]| run(&package, env!("CARGO_BIN_EXE_specc"), arguments);
    let (status, out, err) =
        specc(&["calibrate", "ways.spec", "--nodes", "1", "--budget", "2s", "-o", "made"]);
    assert_eq!(status, Some(0), "{out}\n{err}");
    fs::copy(package.join("made/models.toml"), package.join("models.toml")).unwrap();
    let (status, _, err) =
        specc(&["export", "made/models.toml", "--to", "thresholds", "-o", "src/thresholds.rs"]);
    assert_eq!(status, Some(0), "{err}");
    // Of several numbers of nodes the most are judged; a fit of the same samples keeps that.
    let both = ["calibrate", "ways.spec", "--nodes", "1,2", "--budget", "2s", "-o", "both"];
    let again = ["fit", "both/samples.txt", "--spec", "ways.spec"];
    for arguments in [&both[..], &again] {
        let (status, out, err) = specc(arguments);
        assert!(status == Some(0) && out.contains("ways on 2 nodes"), "{out}\n{err}");
        assert!(out.contains("choices lose 0 %") && out.contains("drawn evenly"), "{out}\n{err}");
    }
    let verify = |more: &[&str]| {
        let fixed = ["check", "ways.spec", "--budget", "1s", "-o", "checked", "--models"];
        specc(&[&fixed, &["models.toml"][..], more].concat())
    };

    let (status, out, err) = verify(&[]);
    assert_eq!(status, Some(0), "{out}\n{err}");
    assert!(out.contains("choices lose 0 %") && out.contains("at 20 inputs drawn evenly"), "{out}");
    // Constants made from the models, and programs that use them, are not what was measured.
    assert!(!out.contains("before this change"), "{out}");
    fs::write(package.join("src/main.rs"), "fn main() {}\n").unwrap();
    let (status, out, err) = verify(&[]);
    assert!(status == Some(0) && !out.contains("before this change"), "{out}\n{err}");
    let thresholds = package.join("here.json").display().to_string();
    specc(&["export", "made/models.toml", "--to", "thresholds-json", "-o", &thresholds]);
    let (status, out, err) = verify(&["--thresholds", &thresholds]);
    assert_eq!(status, Some(0), "{out}\n{err}");
    let (status, out, err) = verify(&["--constant", "ways=few"]);
    assert!(status == Some(1) && out.contains("more than the accepted 5 %"), "{out}\n{err}");
    assert!(err.contains("`ways=few` everywhere"), "{err}");
    let (status, _, err) = verify(&["--constant", "ways=fewer"]);
    assert!(status == Some(2) && err.contains("`ways` has few, many"), "{err}");
    let (status, _, err) = verify(&["--thresholds", "ways.spec"]);
    assert!(status == Some(1) && err.contains("neither thresholds"), "{err}");

    // At the calls of a program, and beside earlier models, of which these are no better.
    fs::write(package.join("calls.csv"), "n,count\n100,3\n3000,1\n9000000,4\n").unwrap();
    let again = |more: &[&str]| {
        let fixed = ["calibrate", "ways.spec", "--nodes", "1", "--budget", "2s", "-o", "again"];
        specc(&[&fixed, more].concat())
    };
    let (status, out, err) = again(&["--like", "calls.csv"]);
    assert!(status == Some(0) && out.contains("measured at 32 calls of calls.csv"), "{out}\n{err}");
    assert!(err.contains("50 % of the calls of `ways` lie outside"), "{err}");
    fs::remove_file(package.join("again/models.toml")).unwrap();
    let (status, out, err) = again(&["--keep", "models.toml"]);
    assert!(status == Some(0) && err.contains("ways: the earlier choices are kept"), "{out}\n{err}");
    assert!(!package.join("again/models.toml").exists());
    // Those of another machine are not kept, however they choose.
    let foreign =
        fs::read_to_string(package.join("models.toml")).unwrap().replace("\ncpu = \"", "\ncpu = \"Other ");
    fs::write(package.join("foreign.toml"), foreign).unwrap();
    let (status, _, err) = again(&["--keep", "foreign.toml"]);
    assert!(status == Some(0) && err.contains("are of another machine or number of nodes"), "{err}");
    fs::remove_file(package.join("again/models.toml")).unwrap();
    let (status, out, err) = verify(&["--like", "calls.csv"]);
    assert!(status == Some(0) && out.contains("measured at 20 calls of calls.csv"), "{out}\n{err}");
    let (status, _, err) = again(&["--like", "ways.spec"]);
    assert!(status == Some(1) && err.contains("no calls of a library: `ways` takes n"), "{err}");

    // Now it is never the faster one.
    fs::write(package.join("src/lib.rs"), library(40.0)).unwrap();
    let (status, out, err) = again(&["--keep", "models.toml"]);
    assert!(status == Some(0) && err.contains("ways: new choices at "), "{out}\n{err}");
    assert!(package.join("again/models.toml").exists());
    for more in [&[][..], &["--thresholds", &thresholds]] {
        let (status, out, err) = verify(more);
        assert!(status == Some(1) && out.contains("more than the accepted 5 %"), "{more:?} {out}\n{err}");
        assert!(out.contains("measured before this change of the code"), "{out}");
        assert!(err.contains("no longer hold for `ways`"), "{err}");
        // Of two models that moved apart either may be the one that did.
        let moved = out.contains(" times what it predicts beside the others (20 points)");
        assert_eq!(moved, more.is_empty(), "{out}");
    }
    let (status, out, _) = verify(&["--json"]);
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(status == Some(1) && found["holds"] == false && found["changes"][0].is_string(), "{out}");
    let (status, out, err) = verify(&["--constant", "ways=few"]);
    assert_eq!(status, Some(0), "{out}\n{err}");
    // A change of the spec is said as well.
    fs::write(package.join("ways.spec"), SPEC.replace("..=32", "..=30")).unwrap();
    let (_, out, _) = verify(&["--constant", "ways=few"]);
    assert!(out.contains("measured before this change of the spec"), "{out}");
}

/// A package whose first commit is faster than what lies in its folder.
fn with_history(folder: &Path) -> PathBuf {
    let package = package_in(folder);
    let git = |arguments: &[&str]| {
        let who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"];
        let (status, _, err) = run(&package, "git", &[&who, arguments].concat());
        assert_eq!(status, Some(0), "{arguments:?} {err}");
    };
    fs::write(package.join(".gitignore"), "target\n").unwrap();
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "fast"]);
    fs::write(package.join("src/lib.rs"), library(4.5)).unwrap();
    package
}

const STRATA: &str = env!("CARGO_BIN_EXE_cargo-strata");

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let package = with_history(folder.path());
    for (before, told) in [
        ("nowhere", "`nowhere` is neither a folder nor a revision"),
        ("HEAD", "both sides would be built in"),
    ] {
        let (status, out, err) = run(&package, STRATA, &["strata", "compare", before, "-o", "compared"]);
        assert!(status == Some(2) && err.contains(told), "{out}\n{err}");
    }
    let (_, trees, _) = run(&package, "git", &["worktree", "list"]);
    assert_eq!(trees.lines().count(), 1, "{trees}");
}

#[test]
#[ignore = "builds the run-time twice: cargo test -p specc --test measured -- --ignored"]
fn two_revisions_are_measured_in_turns() {
    let folder = tempfile::tempdir().unwrap();
    let package = with_history(folder.path());
    let strata = |arguments: &[&str]| {
        let output = Command::new(STRATA)
            .args(arguments)
            .current_dir(&package)
            .env_remove("CARGO_TARGET_DIR")
            .envs([("CARGO_NET_OFFLINE", "true"), ("NO_COLOR", "1"), ("COLUMNS", "1000")])
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (status, out, err) = strata(&["strata", "compare", "HEAD", "--budget", "6s", "--fail-above", "5%"]);
    assert_eq!(status, Some(1), "{out}\n{err}");
    assert!(out.starts_with("the package here compared with HEAD"), "{out}");
    let line = |model: &str| out.lines().find(|line| line.trim_start().starts_with(model)).unwrap();
    assert!(line("Few").contains("no change") && line("Many").contains("slower"), "{out}");
    assert!(err.contains("round 8 of 8") && err.contains("`Many` is"), "{err}");
    let (_, trees, _) = run(&package, "git", &["worktree", "list"]);
    assert_eq!(trees.lines().count(), 1, "{trees}");
    assert!(package.join("target/strata/verified/compare/before/samples.txt").is_file());
}
