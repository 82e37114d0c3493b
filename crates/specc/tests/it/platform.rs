//! `specc platform` as a user meets it.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/platform");

fn specc(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_specc"))
        .arg("platform")
        .args(arguments)
        .current_dir(HERE)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "1000")
        .output()
        .expect("specc starts")
}

/// Runs it, expects the status, and gives standard output and standard error.
fn expect(status: i32, arguments: &[&str]) -> (String, String) {
    let output = specc(arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{arguments:?}\n{out}\n{err}");
    (out, err)
}

#[test]
fn faults_read_well() {
    insta::glob!("../platform", "*.toml", |path| {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let (out, err) = expect(1, &["check", name]);
        assert_eq!(out, "");
        insta::assert_snapshot!(err);
    });
}

#[test]
fn right_files_pass_and_faults_of_all_files_come_at_once() {
    let folder = Path::new(HERE).join("../../../sim/platforms");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .expect("the built-in platforms")
        .map(|entry| entry.expect("a file").path().display().to_string())
        .collect();
    files.sort();
    let all = |files: &[String]| {
        [&["check".to_owned()], files].concat().iter().map(|x| x.to_owned()).collect::<Vec<String>>()
    };
    let arguments = all(&files);
    let (out, err) = expect(0, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((out.lines().count(), err.as_str()), (files.len(), ""));
    assert!(out.contains("cm5.toml: cm5\n"), "{out}");

    files.insert(1, "tree.toml".into());
    files.push("missing.toml".into());
    let arguments = all(&files);
    let (out, err) = expect(1, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(out, "");
    assert!(err.contains("tree.toml:26:9") && err.contains("missing.toml:1:1"), "{err}");
    assert!(err.trim_end().ends_with("errors in 2 files"), "{err}");
}

#[test]
fn the_cm5s_limits_are_shown() {
    let (out, err) = expect(0, &["show", "cm5"]);
    assert_eq!(err, "");
    insta::assert_snapshot!(out);
    let (out, _) = expect(0, &["show", "../../../sim/platforms/cm5.toml", "--json", "--nodes", "16"]);
    let json: Value = serde_json::from_str(&out).expect("JSON");
    let number = |path: &str| json.pointer(path).and_then(Value::as_f64).expect(path);
    // Brewer 1994, equations 47 and 48, and appendix A, table 1.
    assert!((number("/bandwidth/two_way") / 5.93e6 - 1.0).abs() < 1e-2);
    assert!((number("/bandwidth/one_way") / 8.52e6 - 1.0).abs() < 1e-2);
    assert!((number("/barrier/time") / (140.0 / 33e6) - 1.0).abs() < 1e-6);
    assert_eq!((number("/hops/most"), number("/nodes"), number("/bisection")), (4.0, 16.0, 160e6));
    assert_eq!(json.pointer("/barrier/control_network"), Some(&Value::Bool(true)));
}

#[test]
fn every_built_in_platform_is_listed_and_shown() {
    let (out, _) = expect(0, &["list"]);
    for name in
        ["cm5", "alewife", "paragon", "atm", "iwarp", "ipsc860", "ethernet-25g", "infiniband-fat-tree"]
    {
        assert!(out.contains(&format!("│ {name} ")), "{name}\n{out}");
        for nodes in ["1", "16"] {
            let (out, err) = expect(0, &["show", name, "--nodes", nodes]);
            assert!(out.starts_with(&format!("{name}: ")) && err.is_empty(), "{out}{err}");
        }
    }
    // As many as a simulation may have.
    let (out, _) = expect(0, &["show", "cm5", "--nodes", "4096"]);
    assert!(out.contains("4096 nodes on a fat tree"), "{out}");
    expect(2, &["show", "cm5", "--nodes", "4097"]);
}

#[test]
fn wrong_usage_is_told() {
    let (_, err) = expect(2, &["show", "cm-5"]);
    assert!(err.contains("did you mean `cm5`?") && err.contains("infiniband-fat-tree"), "{err}");
    expect(2, &["show", "cm5", "--nodes", "0"]);
    expect(2, &["show"]);
    expect(2, &["check"]);
    let (_, err) = expect(3, &["show", "./cm5"]);
    assert!(err.contains("cannot read the platform file ./cm5"), "{err}");
    expect(3, &["check", "nowhere.toml"]);
    expect(1, &["show", "tree.toml"]);
}
