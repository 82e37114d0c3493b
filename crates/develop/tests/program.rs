//! The program `strata-job`: `log`, `trace` and `tuned`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Runs it, expects the status, and gives standard output and standard error.
fn expect(status: i32, arguments: &[&str], folder: &Path) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_strata-job"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        // Messages that are looked for stand on one line.
        .env("COLUMNS", "1000")
        .output()
        .expect("strata-job starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "strata-job {arguments:?}\n{out}\n{err}");
    (out, err)
}

/// A folder with one file a node, `node-0000.log` and so on.
fn node_files(ending: &str, texts: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (node, text) in texts.iter().enumerate() {
        let head = format!("strata-{ending} 1 node={node} nodes={} began={}\n", texts.len(), 1000 * node);
        fs::write(folder.path().join(format!("node-{node:04}.{ending}")), head + text).expect("written");
    }
    folder
}

#[test]
fn logs_show_the_last_entries_and_who_is_missing() {
    let waits = "5 enter 1 scan add of 1 u64 at a.rs:3\n7 leave 1\n2000000000 enter 2 barrier at a.rs:4\n";
    let folder = node_files(
        "log",
        &[waits, "5 enter 1 scan add of 1 u64 at a.rs:3\n7 leave 1\n9 say a\\nb\n11 ent", waits],
    );
    let (out, err) = expect(0, &["log", ".", "--last", "1"], folder.path());
    assert_eq!(
        out,
        "node 0          2.000000 s  enter 2 barrier at a.rs:4\n\
         node 1          0.000001 s  say a\\nb\n\
         node 1    (the last line is torn)\n\
         node 2          2.000002 s  enter 2 barrier at a.rs:4\n\
         \n\
         nodes 0, 2 wait in barrier #2 at a.rs:4; node 1 has not come: last in scan add of 1 u64 #1 at a.rs:3, 2.00 s ago\n"
    );
    assert_eq!(err, "");
    fs::remove_file(folder.path().join("node-0001.log")).expect("removed");
    let (out, _) = expect(0, &["log", ".", "--last", "0"], folder.path());
    assert_eq!(out, "of node 1 there is no log\n\nnodes 0, 2 wait in barrier #2 at a.rs:4\n");
    fs::write(folder.path().join("node-0001.log"), "what is this\n").expect("written");
    let (_, err) = expect(1, &["log", "."], folder.path());
    assert!(err.contains("node-0001.log:1: the first line must be `strata-log 1"), "{err}");
    expect(3, &["log", "nowhere"], folder.path());
    let (_, err) = expect(1, &["trace", "."], folder.path());
    assert!(err.contains("there is no `node-NNNN.trace` in this folder"), "{err}");
}

#[test]
fn traces_are_drawn_and_exported() {
    let head = "clock 0 0\nstate 0 idle\nstate 1 busy\nstate 8 count & <send>\n";
    let mut texts = Vec::new();
    for node in 0..64u64 {
        let (to, from) = ((node + 1) % 64, (node + 63) % 64);
        texts.push(format!(
            "{head}0 s 1\n{} s 8\n{} > {to} 8\n{} < {from} 8\n{} p {to} 4096\n900000 a 4096\n950000 s 0\n1000000 end\n",
            1000 * node + 1,
            2000 * node + 2,
            400_000 + node,
            500_000 + node,
        ));
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let folder = node_files("trace", &texts);
    let arguments =
        ["trace", ".", "--svg", "states.svg", "--flight", "flight.svg", "--perfetto", "trace.json"];
    let (out, err) = expect(0, &arguments, folder.path());
    assert_eq!((out.as_str(), err.as_str()), ("", ""));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("written");
    let states = read("states.svg");
    assert!(states.contains("count &amp; &lt;send&gt;") && states.contains("time, µs"), "{states}");
    // All rows in the colour of the named state, and of idle at the end.
    for colour in ["#009E73", "#E8E8E8"] {
        assert!(states.matches(colour).count() >= 64, "{colour}");
    }
    let flight = read("flight.svg");
    assert!(
        flight.contains("packets on their way") && flight.contains("bytes of puts on their way"),
        "{flight}"
    );
    let json: Value = serde_json::from_str(&read("trace.json")).expect("JSON");
    let events = json["traceEvents"].as_array().expect("events");
    let count = |is: &dyn Fn(&Value) -> bool| events.iter().filter(|event| is(event)).count();
    assert_eq!(count(&|event| event["name"] == "thread_name"), 64);
    assert_eq!(count(&|event| event["ph"] == "X" && event["name"] == "count & <send>"), 64);
    assert_eq!(count(&|event| event["ph"] == "C" && event["name"] == "packets to node 5"), 2);
    let (out, _) = expect(0, &["trace", "."], folder.path());
    assert!(out.starts_with("64 nodes, 1.00 ms, one clock\nidle "), "{out}");
    // A trace without its end is drawn, and said to be one; one that is missing is not.
    fs::write(
        folder.path().join("node-0003.trace"),
        "strata-trace 1 node=3 nodes=64 began=3000\nstate 1 busy\n5 s 1\n9 s",
    )
    .expect("written");
    let (_, err) = expect(0, &["trace", ".", "--svg", "torn.svg"], folder.path());
    assert!(err.contains("the trace of node 3 has no end"), "{err}");
    fs::remove_file(folder.path().join("node-0003.trace")).expect("removed");
    let (_, err) = expect(1, &["trace", "."], folder.path());
    assert!(err.contains("node 3 of 64 has no trace"), "{err}");
}

#[test]
fn what_a_tuner_found_is_shown_and_checked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("found.json");
    let options = strata_tune::Options::of(strata_tune::Mode::Tune(Some(file.clone())));
    let mut tuner = strata_tune::Tuner::new("heat", options).expect("a tuner");
    let rows = strata_tune::Knob::new("rows", 64, [8, 16]);
    for _ in 0..500 {
        std::hint::black_box(tuner.pick(&rows));
    }
    tuner.close().expect("kept");
    let (out, err) = expect(0, &["tuned", "found.json"], folder.path());
    assert!(out.starts_with("heat: 1 call site, 1 interval, 1 with knobs\nrows at "), "{out}");
    assert!(out.contains("note: of build ") && out.trim_end().ends_with("it is this one"), "{out}");
    assert_eq!(err, "");
    let (out, _) = expect(0, &["tuned", "found.json", "--json"], folder.path());
    let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(report["intervals"][0]["knobs"][0]["options"][1]["name"], "8");
    expect(0, &["tuned", "found.json", "--svg", "graph.svg"], folder.path());
    assert!(fs::read_to_string(folder.path().join("graph.svg")).expect("written").starts_with("<svg"));
    let text = fs::read_to_string(&file).expect("written");
    fs::write(&file, &text[..text.len() / 2]).expect("cut");
    let (_, err) = expect(1, &["tuned", "found.json"], folder.path());
    assert!(err.starts_with("strata-job: found.json: it is cut short; "), "{err}");
    // Nor is the machine at fault for bytes that are no text.
    fs::write(&file, [text.as_bytes(), b"\xff\xfe"].concat()).expect("damaged");
    let (_, err) = expect(1, &["tuned", "found.json"], folder.path());
    assert!(err.starts_with("strata-job: found.json: it is not what a tuner writes"), "{err}");
    let (_, err) = expect(3, &["tuned", "nowhere.json"], folder.path());
    assert!(err.contains("cannot read nowhere.json"), "{err}");
}
