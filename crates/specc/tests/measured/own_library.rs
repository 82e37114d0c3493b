//! `examples/own-library`, a package outside the workspace, built, tested and run as its user
//! would.
//!
//! Nothing is downloaded: the package depends on `strata-select` alone, which depends on nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/own-library")
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(arguments)
        .args(["--offline", "--locked"])
        .current_dir(package())
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("own-library"))
        .env_remove("RUSTFLAGS")
        .env("CARGO_TERM_COLOR", "never")
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "cargo {arguments:?}\n{}", text(&output.stderr));
    text(&output.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run(pin: Option<&str>, sizes: &[&str]) -> Output {
    let mut program =
        Command::new(Path::new(env!("CARGO_TARGET_TMPDIR")).join("own-library/release/own-library"));
    program.args(sizes).env_remove("STRATA_PIN").env_remove("STRATA_EXPLAIN");
    pin.into_iter().fold(&mut program, |program, pin| program.env("STRATA_PIN", pin)).output().expect("built")
}

#[test]
fn it_chooses_by_the_models_and_says_why() {
    cargo(&["build", "--release"]);
    let output = run(None, &["30", "300"]);
    let out = text(&output.stdout);
    assert!(output.status.success(), "{out}");
    assert_eq!(out.matches("  naive").count(), 2, "{out}");
    // The models are of one machine; on another they rank, and the choice says so. In one line:
    // explanations are wrapped.
    let in_one_line = |out: &str| out.split_whitespace().collect::<Vec<_>>().join(" ");
    let out = in_one_line(&out);
    let here = out.matches(", predicted ").count();
    assert_eq!(here + out.matches("ranked by models of another machine").count(), 2, "{out}");
    assert!(here == 0 || here == 2, "{out}");

    // 1000 rows were not measured: the ranking at the nearest size holds, not the first candidate
    // that applies.
    let out = in_one_line(&text(&run(None, &["1000"]).stdout));
    let choice = out.split_once("matmul: ").expect(&out).1;
    let by = if here > 0 { "at the nearest point that was" } else { "by models of another machine" };
    assert!(choice.contains(&format!("outside what was measured: ranked {by}")), "{out}");
    assert!(!choice.starts_with("naive"), "{out}");
    // Nothing is to be multiplied, and nothing fails.
    assert!(text(&run(None, &["0"]).stdout).contains("n = 0, sum 0: matmul: "));

    let out = text(&run(Some("matmul=blocked:16"), &["30"]).stdout);
    assert!(out.contains("matmul: blocked (b = 16)") && out.contains("(pinned)"), "{out}");
    for (pin, answer) in [
        ("matmul=bloked", "did you mean `blocked`?"),
        ("matmull=blocked", "did you mean `matmul`?"),
        ("matmul=blocked:17", "17"),
    ] {
        let output = run(Some(pin), &["30"]);
        // It is said, and the models decide.
        assert!(
            output.status.success() && in_one_line(&text(&output.stderr)).contains(answer),
            "{pin}: {output:?}"
        );
        assert!(!text(&output.stdout).contains("(pinned)"), "{pin}: {output:?}");
    }
    for size in ["-1", "many", "99999999999"] {
        let output = run(None, &[size]);
        assert!(text(&output.stderr).contains("is not a number of rows"), "{output:?}");
    }
}

#[test]
fn its_own_tests_pass() {
    assert!(cargo(&["test", "--release"]).contains("all_ways_give_one_product ... ok"));
}

/// Counted are all lines of `multiply.rs`, comments and blank lines too; no other file that a
/// person wrote knows Strata.
#[test]
fn at_most_25_lines_of_rust_know_strata() {
    let source = |name: &str| fs::read_to_string(package().join("src").join(name)).expect(name);
    let lines = source("multiply.rs").lines().count();
    assert!((1..=25).contains(&lines), "{lines}");
    for name in ["lib.rs", "main.rs"] {
        let text = source(name).to_lowercase();
        assert!(!["strata", "matmul", "choose"].iter().any(|word| text.contains(word)), "{name}");
    }
}

#[test]
fn its_release_tree_has_at_most_5_crates() {
    let tree = cargo(&["tree", "--edges", "normal", "--prefix", "none", "--no-dedupe"]);
    let crates: std::collections::BTreeSet<_> =
        tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(crates.contains("strata-select"), "{tree}");
    let dependencies = crates.len() - 1;
    assert!(dependencies <= 5, "{tree}");
    let lock = fs::read_to_string(package().join("Cargo.lock")).expect("committed");
    assert!(!lock.contains("source ="), "a package from elsewhere has to be downloaded\n{lock}");
}

#[test]
fn its_spec_is_in_order_and_the_one_that_was_measured() {
    let spec = package().join("matmul.spec");
    let output =
        Command::new(env!("CARGO_BIN_EXE_specc")).arg("check").arg(&spec).output().expect("specc starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let checked = specc::lang::load_paths(&[spec]).expect("in order");
    let hash = specc::profiling_program::identity(&checked).expect("a workspace").sha256;
    let models = fs::read_to_string(package().join("src/multiply/models.rs")).expect("there");
    assert!(models.contains(&hash), "calibrate again: the models are of another spec");
}
