//! Times and choices on a machine of which only the costs are known, from models that are made up,
//! so that what must come out is known.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// A machine with an overhead and a latency in ns, and a factor of local work.
fn machine(name: &str, overhead: f64, latency: f64, work: f64) -> String {
    let half = overhead / 2.0;
    format!(
        "name = \"{name}\"\nsummary = \"made up\"\n[cpu]\nfrequency_mhz = 1000\nkernel_factor = {work}\n\
         [interface]\nsend_ns = {half}\nsend_byte_ns = 0\nafter_send_ns = 0\nreceive_ns = {half}\n\
         receive_byte_ns = 0\nfailed_poll_ns = 1\ndispatch_ns = 0\nblock_setup_ns = 0\n\
         combine_word_ns = 1\npacket_bytes = 1024\nheader_bytes = 0\nlatency_ns = {latency}\n\
         send_queue_packets = 16\nreceive_queue_packets = 16\n[topology]\nkind = \"crossbar\"\n[link]\n\
         bandwidth_mb_per_s = 1000\nlatency_ns = 0\nbuffer_packets = 16\nswitching = \"cut-through\"\n\
         [control]\nbarrier_ns = 1000\ncombine_ns = 1000\ncombine_word_ns = 1\nbroadcast_ns = 1000\n\
         broadcast_word_ns = 1\npipelined = true\n"
    )
}

/// The models of a machine: `local` takes `n` times its work, `shared` a quarter of it and 40
/// messages.
fn set(overhead: f64, latency: f64, work: f64) -> String {
    let mut text = "strata-models = 1\n[platform]\ntransport = \"threads\"\nnodes = 4\ncpu = \"made up\"\n\
                    cores = 8\ncache = \"\"\nos = \"linux\"\narch = \"x86_64\"\n"
        .to_owned();
    let messages = 40e-9 * (overhead + latency);
    for (name, constant, slope) in [("Local", 1e-12, 1e-9 * work), ("Shared", messages, 0.25e-9 * work)] {
        let _ = write!(
            text,
            "[[models]]\nname = \"{name}\"\ninputs = [{{ name = \"n\", min = 1.0, max = 1e9 }}]\nterms = [\n\
             {{ term = \"1\", coefficient = {constant:e}, relevant = true }},\n\
             {{ term = \"n\", coefficient = {slope:e}, relevant = true }},\n]\nmean_time = 1e-5\n\
             nodes = [1, 16]\n"
        );
    }
    text + "[[libraries]]\nname = \"way\"\ninputs = [\"n\"]\n[[libraries.candidates]]\nname = \"local\"\n\
            model = \"Local\"\narguments = [\"n\"]\n[[libraries.candidates]]\nname = \"shared\"\n\
            model = \"Shared\"\narguments = [\"n\"]\n"
}

/// Overhead, latency and work of machines.
const MACHINES: [[f64; 3]; 6] = [
    [1000.0, 2000.0, 1.0],
    [4000.0, 1000.0, 3.0],
    [500.0, 8000.0, 0.5],
    [2000.0, 500.0, 10.0],
    [8000.0, 4000.0, 2.0],
    [300.0, 1000.0, 4.0],
];

const HERE: [f64; 3] = [1500.0, 3000.0, 2.0];

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (at, [overhead, latency, work]) in MACHINES.into_iter().enumerate() {
        let write = |name: String, text: String| fs::write(folder.path().join(name), text).unwrap();
        write(format!("m{at}.toml"), machine(&format!("m{at}"), overhead, latency, work));
        write(format!("s{at}.toml"), set(overhead, latency, work));
    }
    let [overhead, latency, work] = HERE;
    fs::write(folder.path().join("here.toml"), machine("here", overhead, latency, work)).unwrap();
    folder
}

/// `specc predict` from the first so many machines.
fn predict(folder: &Path, machines: usize, arguments: &[&str]) -> (Option<i32>, String, String) {
    let sources: Vec<String> = (0..machines).map(|at| format!("s{at}.toml@m{at}.toml")).collect();
    let mut all = vec!["predict", &sources[0]];
    all.extend(arguments);
    for source in &sources[1..] {
        all.extend(["--with", source]);
    }
    crate::specc(folder, "80", &all)
}

#[test]
fn times_and_the_choice_follow_from_the_costs() {
    let folder = folder();
    let on = |machines: usize, n: &str| {
        let (status, out, err) = predict(folder.path(), machines, &["way", n, "--on", "here.toml", "--json"]);
        assert_eq!(status, Some(0), "{err}");
        serde_json::from_str::<Value>(&out).unwrap()
    };
    // Local work of 2 ns each against 180 µs and 0.5 ns each: they are even at 120,000.
    for (n, fastest) in [(20_000.0, "local"), (2e6, "shared")] {
        let found = on(6, &format!("n={n}"));
        assert_eq!(found["candidates"][0]["candidate"], fastest, "{found}");
        for row in found["candidates"].as_array().unwrap() {
            let local = row["candidate"] == "local";
            let truth = if local { 2e-9 * n } else { 180e-6 + 0.5e-9 * n };
            let [low, high, time] = ["lowest", "highest", "seconds"].map(|key| row[key].as_f64().unwrap());
            assert!(low <= truth && truth <= high, "{n} {row}");
            assert!((time / truth).ln().abs() < 0.3, "{n}: {truth} {row}");
        }
    }
    // By fewer machines less is known.
    let width = |found: &Value| {
        let of = |key: &str| found["candidates"][0][key].as_f64().unwrap();
        of("highest") / of("lowest")
    };
    assert!(width(&on(2, "n=2e6")) > width(&on(6, "n=2e6")));
    // A known machine itself is predicted near its own time.
    let (_, out, _) = predict(folder.path(), 6, &["Shared", "n=2e6", "--on", "m1.toml", "--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    let truth = 200e-6 + 1.5e-3;
    assert!((found["candidates"][0]["seconds"].as_f64().unwrap() / truth).ln().abs() < 0.2, "{found}");
}

#[test]
fn the_screen_says_what_how_sure_and_why() {
    let folder = folder();
    let (status, out, err) = predict(folder.path(), 6, &["way", "n=2e6", "--on", "here.toml"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(out.starts_with("way at n=2000000 on 4 nodes of here: "), "{out}");
    assert!(!out.contains("not to be relied on"), "{out}");
    let (_, few, _) = predict(folder.path(), 2, &["way", "n=2e6", "--on", "here.toml"]);
    assert!(few.contains("not to be relied on") && few.contains("  unknown"), "{few}");
    for part in [", by shared", "95 of 100 cases", "how sure: ", "of 6 choices", "why: of shared "] {
        assert!(out.split_whitespace().collect::<Vec<_>>().join(" ").contains(part.trim()), "{part}: {out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    // Without factors of kernels it says so.
    fs::write(folder.path().join("plain.toml"), machine("plain", 10.0, 3000.0, 1.0)).unwrap();
    let (_, out, err) = predict(folder.path(), 6, &["way", "n=2e6", "--on", "plain.toml"]);
    assert!(out.contains("beyond the known machines: overhead"), "{out}");
    assert!(err.contains("has no factors of kernels"), "{err}");
}

#[test]
fn what_cannot_be_predicted_is_refused_with_the_way_out() {
    let folder = folder();
    let refused = |arguments: &[&str], machines: usize, status: i32, part: &str| {
        let (found, _, err) = predict(folder.path(), machines, arguments);
        let told = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(found, Some(status), "{arguments:?}: {err}");
        assert!(told.contains(part), "{arguments:?}: {err}");
    };
    let here = ["way", "n=2e6", "--on", "here.toml"];
    refused(&here, 1, 2, "name a further set by `--with FILE`");
    refused(&["wy", "n=2e6", "--on", "here.toml"], 2, 2, "did you mean `way`?");
    refused(&["way", "--on", "here.toml"], 2, 2, "needs `n`");
    refused(&["way", "n=2e9", "--on", "here.toml"], 2, 1, "is not predicted there on 4 nodes");
    refused(&["way", "n=2", "--on", "nowhere.toml"], 2, 3, "nowhere.toml");
    refused(&[&here[..], &["--with", "s2.toml"]].concat(), 1, 2, "`s2.toml@FILE`");
    refused(&[&here[..], &["--with", "s2.toml@m0.toml"]].concat(), 1, 2, "machines with the same costs");
    refused(&[&here[..], &["--with", "no.toml@m1.toml"]].concat(), 1, 3, "no.toml");
    let text = fs::read_to_string(folder.path().join("here.toml")).unwrap();
    fs::write(folder.path().join("short.toml"), text.replace("latency_ns = 3000\n", "")).unwrap();
    refused(&["way", "n=2", "--on", "short.toml"], 2, 1, "`[interface]` lacks `latency_cycles`");
    let other = fs::read_to_string(folder.path().join("s1.toml")).unwrap();
    fs::write(folder.path().join("other.toml"), other.replace("name = \"shared\"", "name = \"spread\""))
        .unwrap();
    refused(&[&here[..], &["--with", "other.toml@m1.toml"]].concat(), 1, 2, "`way` is not the same in");
    let (status, _, err) =
        crate::specc(folder.path(), "80", &["predict", "s0.toml", "Local", "n=1", "--with", "s1.toml"]);
    assert_eq!(status, Some(2), "{err}");
}

#[test]
fn factors_of_kernels_come_from_two_sets() {
    let folder = folder();
    let kernels =
        |one: &str, other: &str| crate::specc(folder.path(), "80", &["platform", "kernels", one, other]);
    let (status, out, err) = kernels("s1.toml", "s0.toml");
    assert_eq!(status, Some(0), "{err}");
    let local = out.lines().find_map(|line| line.strip_prefix("Local = ")).unwrap();
    assert!((local.parse::<f64>().unwrap() - 3.0).abs() < 0.05, "{out}");
    let text = machine("more", 10.0, 3000.0, 1.0) + &out;
    fs::write(folder.path().join("more.toml"), text).unwrap();
    assert_eq!(crate::specc(folder.path(), "80", &["platform", "check", "more.toml"]).0, Some(0));
    fs::write(folder.path().join("none.toml"), "strata-models = 1\n").unwrap();
    let (status, _, err) = kernels("s1.toml", "none.toml");
    assert_eq!(status, Some(2), "{err}");
}
