//! What choices are worth: where more samples help, and where no model is right.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::made_up::{folder, json, pair, project};

#[test]
fn advice_names_samples_that_narrow_the_choice() {
    let folder = project();
    let at = folder.path();
    json(at, "fit samples.txt --spec job.spec -o out --keep-all --json");
    let advise = |more: &str| json(at, &format!("advise out/models.toml --spec job.spec --json {more}"));
    let advice = advise("--count 6 -o plan.txt");
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
    let other = advise("--count 6 --samples taken.txt");
    for sample in other["samples"].as_array().expect("samples") {
        assert!(
            samples.iter().all(|s| (&s["model"], &s["at"]) != (&sample["model"], &sample["at"])),
            "{sample}"
        );
    }
    let cheap = advise("--count 1000 --budget 10ms");
    let cost: f64 =
        cheap["samples"].as_array().expect("samples").iter().filter_map(|s| s["seconds"].as_f64()).sum();
    assert!(cost > 0.0 && cost <= 0.01, "{cost}");
    let single = advise("Flat --count 3");
    assert_eq!(
        (&single["targets"][0]["kind"], &single["samples"][0]["model"]),
        (&"model".into(), &"Flat".into())
    );
}

#[test]
fn where_all_models_failed_the_better_still_wins_without_certainty() {
    let folder = folder(&[("pair.spec", "pair.spec")]);
    let at = folder.path();
    let samples = pair((50, 1000.0, |n| 1e-7 + 2e-9 * n * n), (50, 1000.0, |n| 1e-7 + 1e-9 * n * n));
    fs::write(at.join("samples.txt"), samples).unwrap();
    let fit = ["fit", "samples.txt", "--spec", "pair.spec", "-o", "."];
    let (status, _, err) = crate::specc(at, "1000", &fit);
    assert!(status == Some(0) && err.contains("`A` is failed") && err.contains("`B` is failed"), "{err}");
    for n in ["n=2", "n=30", "n=1000"] {
        let choice = json(at, &format!("choose --json models.toml pair {n}"));
        assert_eq!((&choice["candidate"], &choice["verdict"]), (&"b".into(), &"failed".into()), "{choice}");
        assert!(choice["probability_fastest"].as_f64().is_some_and(|p| p < 0.8), "{choice}");
        // What ranks the candidates is compared with what ranks them.
        let seconds = |at: &str| choice.pointer(at).and_then(Value::as_f64).expect(at);
        let (expected, other) = (seconds("/expected_seconds"), seconds("/outcomes/0/seconds"));
        assert!(expected > 1.1 * seconds("/predicted/seconds") && other > expected, "{choice}");
        let (_, said, _) = crate::specc(at, "1000", &["choose", "--explain", "models.toml", "pair", n]);
        assert!(said.contains(&format!("{:.2} times as long", other / expected)), "{said}");
        assert!(said.contains("though its model failed verification,\n    expected "), "{said}");
    }
}
