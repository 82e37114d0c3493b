//! An application on a machine of which only primitives were measured, from models that are made
//! up, so that what must come out is known.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// A set of `nodes` nodes with these primitives: name, inputs, their sum of terms.
fn machine(nodes: usize, primitives: &[(&str, &str, f64)]) -> String {
    let mut text = format!(
        "strata-models = 1\n[platform]\ntransport = \"threads\"\nnodes = {nodes}\ncpu = \"made up\"\ncores = 8\n\
         cache = \"\"\nos = \"linux\"\narch = \"x86_64\"\n"
    );
    for (name, input, each) in primitives {
        let _ = write!(
            text,
            "[[models]]\nname = \"{name}\"\ninputs = [{{ name = \"{input}\", min = 1.0, max = 1e9 }}]\n\
             terms = [{{ term = \"{input}\", coefficient = {each:e}, relevant = true }}]\nmean_time = 1e-5\n\
             nodes = [1, {nodes}]\n"
        );
    }
    text
}

const OLD: [(&str, &str, f64); 3] = [("Send", "bytes", 1e-9), ("Point", "n", 5e-9), ("Other", "n", 1e-3)];
const NEW: [(&str, &str, f64); 2] = [("Send", "bytes", 3e-9), ("Point", "n", 1e-9)];

/// Models over `Send` and `Point`: composed, with a coefficient of the old machine, and a choice of
/// all points on each node or a part of them with a message.
fn application() -> String {
    let mut text = machine(4, &OLD);
    let any = "{ name = \"n\", min = -inf, max = inf }";
    for (name, rest) in [
        ("Iterate", "expression = \"Point(n/P)+2*Send(8*n)\"\n"),
        ("Alone", "expression = \"Point(n)\"\n"),
        (
            "Whole",
            "terms = [{ term = \"Iterate(n)\", coefficient = 1.5, relevant = true }]\nmean_time = 1e-5\n\
             nodes = [4, 4]\n",
        ),
    ] {
        let _ = write!(text, "[[models]]\nname = \"{name}\"\ninputs = [{any}]\n{rest}");
    }
    text + "[[libraries]]\nname = \"way\"\ninputs = [\"n\"]\n[[libraries.candidates]]\nname = \"alone\"\n\
            model = \"Alone\"\narguments = [\"n\"]\n[[libraries.candidates]]\nname = \"shared\"\n\
            model = \"Iterate\"\narguments = [\"n\"]\n"
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("new")).unwrap();
    fs::write(folder.path().join("old.toml"), application()).unwrap();
    fs::write(folder.path().join("new/models.toml"), machine(4, &NEW)).unwrap();
    folder
}

fn seconds(folder: &Path, arguments: &[&str]) -> f64 {
    let all = [&["choose", "old.toml"], arguments, &["n=1000", "--json"]].concat();
    let (status, out, err) = crate::specc(folder, "80", &all);
    assert_eq!(status, Some(0), "{arguments:?}: {err}");
    serde_json::from_str::<Value>(&out).unwrap()["seconds"].as_f64().unwrap()
}

#[test]
fn structure_is_of_the_application_and_times_are_of_the_machine() {
    let folder = folder();
    let write = |name: &str, primitives: &[(&str, &str, f64)]| {
        fs::write(folder.path().join(name), machine(4, primitives)).unwrap();
    };
    let iterate = |send: f64, point: f64| 250.0 * point + 16_000.0 * send;
    let near = |found: f64, right: f64| assert!((found / right - 1.0).abs() < 1e-9, "{found} {right}");
    near(seconds(folder.path(), &["Whole"]), 1.5 * iterate(1e-9, 5e-9));
    near(seconds(folder.path(), &["Iterate", "--models", "new"]), iterate(3e-9, 1e-9));
    near(seconds(folder.path(), &["Whole", "--models", "new/models.toml"]), 1.5 * iterate(3e-9, 1e-9));
    // What nothing of the model calls takes no part, also under the names of what is composed.
    write("poisoned.toml", &[&NEW[..], &[("Other", "n", 7.0), ("Iterate", "n", 7.0)]].concat());
    near(seconds(folder.path(), &["Whole", "--models", "poisoned.toml"]), 1.5 * iterate(3e-9, 1e-9));
    // What it calls does.
    write("slow.toml", &[NEW[0], ("Point", "n", 1e-6)]);
    near(seconds(folder.path(), &["Whole", "--models", "slow.toml"]), 1.5 * iterate(3e-9, 1e-6));
    // Of several sets the first that has a model counts.
    write("points.toml", &[("Point", "n", 2e-9)]);
    let both = ["Whole", "--models", "points.toml", "--models", "new"];
    near(seconds(folder.path(), &both), 1.5 * iterate(3e-9, 2e-9));
    // That `Whole` was measured on four nodes alone hinders only `Whole`.
    fs::write(folder.path().join("two.toml"), machine(2, &NEW)).unwrap();
    near(seconds(folder.path(), &["Iterate", "--models", "two.toml"]), 500.0 * 1e-9 + 16_000.0 * 3e-9);
}

#[test]
fn a_primitive_may_itself_be_composed_there() {
    let folder = folder();
    let send = "[[models]]\nname = \"Send\"\ninputs = [{ name = \"bytes\", min = -inf, max = inf }]\n\
                expression = \"Word(bytes/8)\"\n";
    let text = machine(4, &[NEW[1], ("Word", "words", 8e-9)]) + send;
    fs::write(folder.path().join("new/models.toml"), text).unwrap();
    let found = seconds(folder.path(), &["Iterate", "--models", "new"]);
    assert!((found - (250e-9 + 16e-6)).abs() < 1e-12, "{found}");
}

#[test]
fn the_choice_follows_the_machine() {
    let folder = folder();
    let choose = |more: &[&str]| {
        let (status, out, err) =
            crate::specc(folder.path(), "80", &[&["choose", "old.toml", "way", "n=1000"], more].concat());
        assert_eq!(status, Some(0), "{err}");
        out
    };
    // 5 ns a point against 17.25 ns, and 1 ns against 48.25 ns; with messages as good as free, 1.25.
    assert!(choose(&[]).contains("alone") && choose(&["--models", "new"]).contains("alone"));
    fs::write(folder.path().join("new/models.toml"), machine(4, &[("Send", "bytes", 1e-12), OLD[1]]))
        .unwrap();
    assert!(choose(&["--models", "new"]).contains("shared"));
}

#[test]
fn what_does_not_fit_is_refused_with_the_way_out() {
    let folder = folder();
    let refused = |name: &str, text: &str, status: i32, parts: &[&str]| {
        fs::write(folder.path().join("new/models.toml"), text).unwrap();
        let (found, _, err) =
            crate::specc(folder.path(), "80", &["choose", "old.toml", name, "n=1000", "--models", "new"]);
        let told = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(found, Some(status), "{name}: {err}");
        parts.iter().for_each(|part| assert!(told.contains(part), "{part}: {err}"));
    };
    let good = machine(4, &NEW);
    let lacks =
        ["new/models.toml: no measured model `Point`", "of old.toml stands", "further set by `--models`"];
    refused("Whole", &machine(4, &NEW[..1]), 1, &lacks);
    let unmeasured = "[[models]]\nname = \"Point\"\ninputs = [{ name = \"n\", min = 1.0, max = 2.0 }]\nunmeasured = true\n";
    refused("Whole", &(machine(4, &NEW[..1]) + unmeasured), 1, &lacks);
    let inputs = ["`Point(m)` in s is not `Point(n)` in s of old.toml", "measure both by one spec"];
    refused("Whole", &good.replace("\"n\"", "\"m\""), 1, &inputs);
    let kinds = "[[kinds]]\ninput = \"n\"\nnames = [\"a\", \"b\"]\n";
    refused("Whole", &(good.clone() + kinds), 1, &["or its inputs have other names"]);
    refused("Whole", &good.replace("mean_time", "unit = \"gas\"\nmean_time"), 1, &["in gas is not"]);
    refused("Whole", &machine(2, &NEW), 1, &["old.toml over new/models.toml", "calibrate --nodes"]);
    refused("Whole", &good[..good.len() - 20], 1, &["new/models.toml"]);
    refused("Point", &good, 1, &["`Point` stands on no other model"]);
    refused("Whol", &good, 2, &["did you mean `Whole`?"]);
    fs::remove_file(folder.path().join("new/models.toml")).unwrap();
    let (status, _, err) =
        crate::specc(folder.path(), "80", &["choose", "old.toml", "Whole", "n=9", "--models", "new"]);
    assert_eq!(status, Some(3), "{err}");
    assert!(err.contains("new/models.toml"), "{err}");
}

#[test]
fn factors_of_kernels_come_from_two_sets() {
    let folder = folder();
    let kernels =
        |one: &str, other: &str| crate::specc(folder.path(), "80", &["platform", "kernels", one, other]);
    let (status, out, err) = kernels("new/models.toml", "old.toml");
    assert_eq!(status, Some(0), "{err}");
    let factor = out.lines().find_map(|line| line.strip_prefix("Send = ")).unwrap();
    assert!((factor.parse::<f64>().unwrap() - 3.0).abs() < 0.05, "{out}");
    let cm5 = include_str!("../../../sim/platforms/cm5.toml").split("[kernels]").next().unwrap();
    fs::write(folder.path().join("more.toml"), cm5.to_owned() + &out).unwrap();
    assert_eq!(crate::specc(folder.path(), "80", &["platform", "check", "more.toml"]).0, Some(0));
    fs::write(folder.path().join("none.toml"), "strata-models = 1\n").unwrap();
    let (status, _, err) = kernels("old.toml", "none.toml");
    assert_eq!(status, Some(2), "{err}");
}
