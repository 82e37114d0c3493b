//! What moves a predicted time, of models that are made up, so that what must come out is known.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// A halo of two rows by a message of 2 µs and 1 ns a byte, and `n` points of 5 ns on each of the
/// nodes; a library of it and of a way that takes 30 µs whatever the width.
const SET: &str = include_str!("impact.toml");

fn impact(folder: &Path, columns: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    crate::specc(folder, columns, &[&["impact", "models.toml"], arguments].concat())
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("models.toml"), SET).unwrap();
    folder
}

/// The elasticity and the effect of a change, by cause, at one point.
fn effects(json: &str) -> Vec<(String, f64, Option<f64>)> {
    let json: Value = serde_json::from_str(json).unwrap();
    let effect = |effect: &Value| {
        let at = &effect["at"][0];
        let cause = effect["cause"].as_str().unwrap().to_owned();
        (cause, at["elasticity"].as_f64().unwrap(), at["changed"].as_f64())
    };
    json["effects"].as_array().unwrap().iter().map(effect).collect()
}

#[test]
fn elasticities_are_shares_of_the_time_and_changes_are_predicted() {
    let folder = folder();
    let (status, out, err) = impact(folder.path(), "80", &["Iterate", "width=1000", "height=16", "--json"]);
    assert_eq!(status, Some(0), "{err}");
    // 20 µs of points, 4 µs of latency, 16 µs of bytes.
    let found = effects(&out);
    for (cause, elasticity, changed) in [
        ("width", 0.9, Some(0.9)),
        ("height", 0.5, Some(0.5)),
        ("P", -0.5, Some(-0.25)),
        ("Points.n", 0.5, Some(-0.25)),
        ("Send.bytes", 0.4, Some(-0.2)),
        ("Send.constant", 0.1, Some(-0.05)),
        ("Send", 0.5, Some(-0.25)),
    ] {
        let (_, slope, change) = found.iter().find(|(name, ..)| name == cause).expect(cause);
        assert!((slope - elasticity).abs() < 1e-6, "{cause}: {slope}");
        assert_eq!(change.map(|change| (change * 1e6).round() / 1e6), changed, "{cause}");
    }
    let (status, out, _) = impact(
        folder.path(),
        "80",
        &["Iterate", "width=1000", "height=16", "--set", "Send*=0.5", "--formulas"],
    );
    assert!(status == Some(0) && out.contains("with the changes 30.0 µs (-25 %)"), "{out}");
    assert!(out.contains("d time / d width = ") && out.lines().all(|line| line.len() <= 80), "{out}");
}

#[test]
fn over_ranges_the_greatest_effect_has_its_place_and_a_library_chooses_anew() {
    let folder = folder();
    let (status, out, err) = impact(folder.path(), "60", &["way", "--set", "Flat*=0.2"]);
    assert_eq!(status, Some(0), "{err}");
    assert!(out.starts_with("way at ") && out.contains("another candidate is chosen"), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 60), "{out}");
    let (status, out, _) = impact(folder.path(), "80", &["way", "width=1000", "--set", "Flat*=0.2"]);
    assert!(status == Some(0) && out.contains("by flat"), "{out}");
    let (_, out, _) = impact(folder.path(), "80", &["way", "width=100", "--set", "Flat*=0.1"]);
    assert!(out.contains("by rows\n") && out.contains("by flat in place of rows"), "{out}");
}

#[test]
fn long_places_and_terms_take_more_lines_and_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let input = |name: &str, most: &str| format!("{{ name = \"{name}\", min = 1.0, max = {most} }}");
    let names = ["elements_a_node", "bytes_an_element", "neighbours", "iterations"];
    let inputs: Vec<String> = names.map(|name| input(name, "1000000.0")).to_vec();
    let term = "max(0, elements_a_node*bytes_an_element-32768)+neighbours*iterations*bytes_an_element";
    let head = SET.split("[[models]]").next().unwrap();
    let set = format!(
        "{head}[[models]]\nname = \"Long\"\ninputs = [{}]\nterms = [{{ term = \"{term}\", coefficient = 1e-9, \
         relevant = true }}, {{ term = \"iterations\", coefficient = 1e-6, relevant = true }}]\n\
         mean_time = 1e-5\nnodes = [1, 16]\n",
        inputs.join(", ")
    );
    fs::write(folder.path().join("models.toml"), set).unwrap();
    let (status, out, err) = impact(folder.path(), "80", &["Long", "--formulas"]);
    assert_eq!(status, Some(0), "{err}");
    assert!(out.lines().all(|line| line.chars().count() <= 80) && !out.contains('…'), "{out}");
    for line in out.lines().filter(|line| line.starts_with("    ")) {
        assert!(line.trim_start().starts_with(['+', '-', '*']) || !line.starts_with("    d"), "{out}");
    }
    let there = |name: &str| out.matches(&format!("{name}=")).count();
    assert!(names.iter().all(|name| there(name) > 0), "{out}");
}

#[test]
fn what_is_not_there_is_named() {
    let folder = folder();
    for (arguments, status, told) in [
        (&["Iterat"][..], 2, "did you mean `Iterate`?"),
        (&["Iterate", "width=8"], 2, "give height=VALUE"),
        (&["Iterate", "width=8", "height=8", "--set", "Sent*=2"], 2, "did you mean `Send`?"),
        (&["Iterate", "width=8", "height=8", "--set", "Send.byte*=2"], 2, "it has `Send.constant`"),
        (&["Iterate", "width=8", "height=8", "--set", "Send*=0"], 2, "is not a number above zero"),
        (&["Iterate", "width=8", "--set", "Send"], 2, "is not of the form COST*=FACTOR"),
        (&["Iterate", "depth=8"], 2, "has no input `depth`"),
        (&["Send", "bytes=8", "--set", "Points*=2"], 2, "it takes no part in `Send`"),
        (&["Send", "bytes=7"], 1, "measured for bytes in 8..=1000000"),
        (&["way", "width=100", "--nodes", "99"], 1, "predicts nothing there on 99 nodes"),
    ] {
        let (found, out, err) = impact(folder.path(), "1000", arguments);
        assert!(found == Some(status) && err.contains(told), "{arguments:?}: {found:?} {out} {err}");
    }
}
