//! How often a race deceives, and how often it finds what was planted: `suite.rs` against builds of
//! itself. Besides, the same builds one after the other, judged by Welch's test on the repeats.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const FUNCTIONS: [&str; 5] = ["sum", "hash", "search", "divide", "chase"];

fn build(folder: &Path, name: &str, planted: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/measured/suite.rs");
    let mut rustc = Command::new("rustc");
    rustc.arg("-O").arg(source).args(["--edition", "2024", "-o"]).arg(folder.join(name));
    assert!(rustc.env("PLANT", planted).status().unwrap().success());
}

/// The models that were told as slower or faster, with where that begins.
fn told(output: &[u8]) -> Vec<String> {
    let value: Value = serde_json::from_slice(output).unwrap();
    let mut told = Vec::new();
    for model in value["models"].as_array().unwrap() {
        let parts = model["parts"].as_array().unwrap().iter().filter(|part| part["verdict"] != "same");
        let parts = parts.map(|part| format!("{} from {} to {}", part["verdict"], part["from"], part["to"]));
        let parts: Vec<String> = parts.collect();
        if model["changed"] == true {
            let whole = format!("{} {} {}", model["model"], model["ratio"], model["verdict"]);
            told.push(format!("{whole} {}", parts.join(", ")));
        }
    }
    told
}

#[test]
#[ignore = "half an hour: RACES=50 PEER=1 cargo test -p specc --test measured -- --ignored --nocapture race"]
fn a_race_believes_no_noise_and_finds_what_was_planted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let races = std::env::var("RACES").map_or(2, |text| text.parse().unwrap());
    let has_peer = std::env::var_os("PEER").is_some();
    build(folder, "a", "none:0");
    let specc = |arguments: &[&str]| {
        let mut specc = Command::new(env!("CARGO_BIN_EXE_specc"));
        specc.current_dir(folder).args(arguments).output().unwrap().stdout
    };
    let race = |b: &str| told(&specc(&["compare", "--run", "./a", b, "--from", "google", "--json"]));
    for percent in [5, 15] {
        let (mut found, mut placed, mut others) = (0, 0, 0);
        let planted = races * 2 / 5;
        for number in 0..planted {
            let function = FUNCTIONS[number % FUNCTIONS.len()];
            build(folder, "planted", &format!("{function}:{percent}"));
            let seen = race("./planted");
            let is_it = |text: &&String| text.contains(&format!("\"{function}")) && text.contains("slower");
            found += usize::from(seen.iter().any(|text| is_it(&text)));
            placed += usize::from(seen.iter().any(|text| is_it(&text) && text.contains("from 1000")));
            others += seen.iter().filter(|text| !text.contains(&format!("\"{function}"))).count();
            println!("{percent} % in {function}: {seen:?}");
        }
        println!(
            "{percent} % planted: found in {found} of {planted}, with its place in {placed}; {others} others told"
        );
    }
    let (mut alarms, mut in_turn) = (0, 0);
    for number in 0..races {
        let other = folder.join(number.to_string());
        fs::create_dir_all(&other).unwrap();
        fs::copy(folder.join("a"), other.join("b")).unwrap();
        let seen = race(&format!("./{number}/b"));
        alarms += usize::from(!seen.is_empty());
        println!("identical {number}: {seen:?}");
        let beside = [(folder.join("a"), "before.json"), (other.join("b"), "after.json")];
        for (program, file) in beside.into_iter().filter(|_| has_peer) {
            let runs = (0..11).map(|_| Command::new(&program).output().unwrap().stdout);
            let rows: Vec<Value> = runs
                .flat_map(|run| {
                    let mut run: Value = serde_json::from_slice(&run).unwrap();
                    std::mem::take(run["benchmarks"].as_array_mut().unwrap())
                })
                .collect();
            let all = serde_json::json!({ "context": {}, "benchmarks": rows });
            fs::write(folder.join(file), all.to_string()).unwrap();
        }
        if !has_peer {
            continue;
        }
        let seen = told(&specc(&["compare", "before.json", "after.json", "--json"]));
        in_turn += usize::from(!seen.is_empty());
        println!("  one after the other: {seen:?}");
    }
    println!(
        "identical builds: a change is told in {alarms} of {races} races, {in_turn} one after the other"
    );
}
