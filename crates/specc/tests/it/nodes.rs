//! Samples of several numbers of nodes, fitted together, on the command line.

use std::fs;
use std::path::Path;

/// `Meet` takes 5 µs and 3 µs for each doubling of the nodes, and 2 ns for each of its `n` words.
fn samples(nodes: usize, cpu: &str) -> String {
    let machine = format!("platform threads nodes={nodes} cores=8 cpu=\"{cpu}\" cache=\"\" os=any arch=any");
    let mut text = format!("strata-samples 1\n{machine}\nmodel Meet n logP\n");
    let logarithm = (nodes as f64).log2();
    for (number, n) in [1, 500, 1000, 2000, 4000, 8000, 700, 3000].into_iter().enumerate() {
        let ripple = 1.0 + 0.002 * f64::from([1, -1, -1, 1][(number + nodes) % 4]);
        let seconds = (5e-6 + 3e-6 * logarithm + 2e-9 * f64::from(n)) * ripple;
        text += &format!("{}Meet {seconds:e} {n} {logarithm}\n", if number > 5 { "@" } else { "" });
    }
    text
}

fn specc(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    crate::specc(folder, "1000", arguments)
}

#[test]
fn models_of_several_numbers_of_nodes_hold_between_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    for nodes in [1, 2, 8] {
        fs::write(at.join(format!("{nodes}.txt")), samples(nodes, "x")).expect("written");
    }
    let (status, _, err) = specc(at, &["fit", "1.txt", "2.txt", "8.txt", "-o", "all"]);
    assert_eq!(status, Some(0), "{err}");
    let set = fs::read_to_string(at.join("all/models.toml")).expect("written");
    assert!(set.contains("nodes = [1, 8]") && set.contains("verify_samples = 6"), "{set}");
    let (status, out, err) =
        specc(at, &["choose", "all/models.toml", "Meet", "n=1000", "--nodes", "4", "--json"]);
    assert_eq!(status, Some(0), "{err}");
    let seconds: f64 = out
        .split("\"seconds\":")
        .nth(1)
        .and_then(|t| t.trim_end().trim_end_matches('}').parse().ok())
        .expect(&out);
    assert!((seconds / 13e-6 - 1.0).abs() < 0.01, "{seconds}");
    let (status, _, err) = specc(at, &["choose", "all/models.toml", "Meet", "n=1000", "--nodes", "9"]);
    assert!(status == Some(1) && err.contains("measured for n in 1..=8000, 1 to 8 nodes"), "{err}");
}

#[test]
fn samples_of_other_machines_are_not_fitted_together() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    fs::write(at.join("a.txt"), samples(2, "x")).expect("written");
    fs::write(at.join("b.txt"), samples(4, "y")).expect("written");
    fs::write(at.join("bare.txt"), "Meet n logP\nMeet 1 2 3\n").expect("written");
    for (other, why) in
        [("b.txt", "the processor differs: `x` against `y`"), ("bare.txt", "does not say where")]
    {
        let (status, _, err) = specc(at, &["fit", "a.txt", other]);
        assert!(status == Some(1) && err.contains(other) && err.contains(why), "{err}");
    }
}

#[test]
fn an_emitted_program_lies_beside_what_it_measures() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/small.spec");
    let emit = |more: &[&str]| {
        let spec = spec.to_string_lossy();
        let (status, out, err) = specc(folder.path(), &[&["emit", &*spec, "-o", "."], more].concat());
        assert_eq!(status, Some(0), "{err}");
        assert!(Path::new(out.trim_end()).join("Cargo.toml").is_file(), "{out}");
        strata_model::Plan::parse(
            &fs::read_to_string(folder.path().join("plan.txt")).expect("written"),
            "plan.txt",
        )
        .expect("a plan")
    };
    let plan = emit(&["--nodes", "3,1,3"]);
    assert!(plan.run(1).is_some() && plan.run(3).is_some() && plan.run(2).is_none());
    assert!(emit(&[]).run(3).is_none());
}

/// `Sweep` takes 2 µs on each node and 3 ns a cell, shared by the nodes; its terms name no number
/// of nodes.
#[test]
fn what_differs_between_numbers_of_nodes_is_no_noise_and_is_searched_for() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    let mut text = String::from("strata-samples 1\n");
    for nodes in [1, 2, 4, 8] {
        text += &format!(
            "platform threads nodes={nodes} cores=8 cpu=\"x\" cache=\"\" os=any arch=any\nmodel Sweep n\n"
        );
        for (number, n) in (0..24).map(|number| (number, 500 + 700 * ((number * 7) % 24))) {
            let ripple = 1.0 + 0.01 * f64::from([1, -1, -1, 1, 1, -1][(number + nodes) as usize % 6]);
            let seconds = (2e-6 * f64::from(nodes) + 3e-9 * f64::from(n) / f64::from(nodes)) * ripple;
            text += &format!("{}Sweep {seconds:e} {n}\n", if number % 4 == 3 { "@" } else { "" });
        }
    }
    fs::write(at.join("samples.txt"), text).expect("written");
    let (status, out, err) = specc(at, &["fit", "samples.txt", "--search", "never", "-o", "named"]);
    assert!(status == Some(0) && out.contains("failed"), "{out}\n{err}");
    let (status, out, err) = specc(at, &["fit", "samples.txt", "-o", "found"]);
    assert!(status == Some(0) && !out.contains("failed"), "{out}\n{err}");
    let (_, out, err) =
        specc(at, &["choose", "found/models.toml", "Sweep", "n=4000", "--nodes", "3", "--json"]);
    let seconds: f64 = out
        .split("\"seconds\":")
        .nth(1)
        .and_then(|t| t.trim_end().trim_end_matches('}').parse().ok())
        .unwrap_or_else(|| panic!("{out}\n{err}"));
    assert!((seconds / 10e-6 - 1.0).abs() < 0.05, "{seconds}");
}
