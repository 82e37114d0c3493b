//! Bounds from above, units, and prices.

use super::*;

/// Time and instructions of 800 calls at 200 values, alternately 0 to 9 % above `900 + 3·n` ns.
fn calls(folder: &Path) {
    let mut csv = String::from("n,elapsed,cost\n");
    for i in 0..800 {
        let (n, noise) = (1 + i * 7 % 200, 1.0 + 0.01 * f64::from(i * 37 % 10));
        writeln!(csv, "{n},{:.3},{}", f64::from(900 + 3 * n) * noise, 2000 + 9 * n).expect("a string");
    }
    fs::write(folder.join("hash.csv"), csv).expect("written");
}

#[test]
fn bounds_say_what_they_promise_everywhere() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    calls(at);
    let fit = ["fit", "hash.csv", "--time", "elapsed:ns", "--time", "cost:gas", "--hold-out"];
    let (_, err) = expect(1, &[&fit[..], &["20%", "--upper", "99%"]].concat(), at);
    assert!(err.contains("has 160 samples held out, but to lie above 99 % of all with 95 %"), "{err}");
    assert!(err.contains("takes 299: hold out more (`--hold-out 50%`, in a spec"), "{err}");
    let (out, _) = expect(0, &[&fit[..], &["50%", "--upper", "99%", "-o", "fitted"]].concat(), at);
    assert!(out.contains("hash       verified") && out.contains("hash_cost  verified"), "{out}");
    assert!(out.contains("100.00 % below"), "{out}");

    let models = "fitted/models.toml";
    let (out, _) = expect(0, &["show", models, "hash_cost"], at);
    assert!(out.contains("hash_cost(n) in gas ≤") && out.contains("an upper bound: with 95 %"), "{out}");
    let (out, _) = expect(0, &["choose", models, "hash", "n=100"], at);
    assert!(out.contains("at most 1.31 µs: at least 99 % of samples lie below (95 % confidence)"), "{out}");
    let (out, _) = expect(0, &["choose", models, "hash_cost", "n=100"], at);
    assert!(out.contains("at most 2900 gas:"), "{out}");
    let (out, _) = expect(0, &["choose", models, "hash_cost", "n=100", "--json"], at);
    let json: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&json["unit"], &json["upper"]["share"]), (&"gas".into(), &0.99.into()));
    for to in ["c", "rust", "python"] {
        let (out, _) = expect(0, &["export", models, "--to", to], at);
        assert!(out.contains("in gas, a bound: at least 99 % of samples lie below"), "{to}: {out}");
    }
    let report = fs::read_to_string(at.join("fitted/report.html")).expect("a report");
    assert!(report.contains("hash_cost in gas &lt;=") && report.contains("An upper bound"), "a bound");

    let (out, _) = expect(0, &["export", models, "--to", "rust", "--round", "up"], at);
    assert!(out.contains("2_000_u64.saturating_add(9_u64.saturating_mul(n))"), "{out}");
    let (out, _) = expect(0, &["export", models, "--to", "csv", "--round", "up", "--unit", "ns"], at);
    assert!(out.contains("hash,1,981,ns,0.99") && out.contains("hash_cost,n,9,gas,0.99"), "{out}");
    let (out, _) = expect(0, &["export", models, "--to", "json", "--round", "up"], at);
    let prices: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(prices["models"][0]["others"]["cost"]["terms"][0]["coefficient"], 9, "{out}");
    for (arguments, status, say) in [
        (&["--to", "python", "--round", "up"][..], 2, "`--round` and `--unit` are for"),
        (&["--to", "csv", "--unit", "gas"], 2, "`gas=2.5e9`"),
    ] {
        let (_, err) = expect(status, &[&["export", models][..], arguments].concat(), at);
        assert!(err.contains(say), "{arguments:?}: {err}");
    }
}

#[test]
fn a_mean_in_a_unit_has_its_interval_in_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    calls(at);
    expect(
        0,
        &["fit", "hash.csv", "--inputs", "n", "--time", "elapsed:weight", "--hold-out", "20%", "-o", "w"],
        at,
    );
    let (out, _) = expect(0, &["choose", "w/models.toml", "hash", "n=100"], at);
    assert!(out.contains(" weight ± ") && out.trim_end().ends_with(" weight"), "{out}");
    let (out, _) = expect(
        0,
        &["export", "hash.csv", "--inputs", "n", "--time", "elapsed:weight", "--to", "samples"],
        at,
    );
    assert!(out.contains("\nunit hash weight\n"), "{out}");
    let (_, err) = expect(0, &["export", "w/models.toml", "--to", "csv", "--round", "up"], at);
    assert!(err.contains("is no bound: its rounded sum lies above the mean"), "{err}");
    let (_, err) = expect(2, &["fit", "hash.csv", "--time", "elapsed:nanoseconds"], at);
    assert!(err.contains("did you mean `ns`?"), "{err}");
}
