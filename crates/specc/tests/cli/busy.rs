//! Samples that were taken while other programs had the cores.

use super::*;

#[test]
fn models_of_a_busy_machine_claim_less_and_say_why() {
    let folder = project();
    let at = folder.path();
    let quiet = fs::read_to_string(at.join("samples.txt")).expect("written");
    let (first, rest) = quiet.split_once('\n').expect("lines");
    fs::write(at.join("busy.txt"), format!("{first}\nbusy 1.5\n{rest}")).expect("written");
    let sure = |samples: &str| -> (f64, String, String) {
        let (_, err) = expect(0, &["fit", samples, "--spec", "job.spec", "-o", "out"], at);
        let ask = ["choose", "out/models.toml", "job", "n=1500", "--json"];
        let (out, _) = expect(0, &ask, at);
        let choice: Value = serde_json::from_str(&out).expect("JSON");
        let fastest = choice["probability_fastest"].as_f64().expect("odds");
        (fastest, err, fs::read_to_string(at.join("out/models.rs")).expect("written"))
    };
    let (before, _, table) = sure("samples.txt");
    assert!(!table.contains("busy"), "{table}");
    let (after, err, table) = sure("busy.txt");
    assert!(after < before, "{after} of {before}");
    let why = "other programs kept 1.5 of 2 cores busy while it was measured";
    assert!(err.contains(why), "{err}");
    let head = "busy     other programs kept 1.5 cores busy while it was measured";
    assert!(table.contains(head) && table.contains("Verdict::Doubtful"), "{table}");
    let bad = fs::read_to_string(at.join("busy.txt")).expect("written").replace("busy 1.5", "busy many");
    fs::write(at.join("bad.txt"), bad).expect("written");
    let (_, err) = expect(1, &["fit", "bad.txt"], at);
    assert!(err.contains("bad.txt:2:6: expected `busy CORES`"), "{err}");
}
