//! Samples of simulated machines, on the command line.

use std::fs;

const HEAD: &str =
    "strata-samples 1\nplatform MACHINE nodes=2 cores=1 cpu=\"x\" cache=\"\" os=any arch=any\n";
const SAMPLES: &str = "model Instant n\nInstant 0 1\nInstant 1.1e-16 2\nInstant 0 3\nInstant 0 4\n@Instant 0 5\n\
                       model Sent n\nSent 1e-6 1\nSent 2e-6 2\nSent 3e-6 3\nSent 4e-6 4\n@Sent 5e-6 5\n";

fn fit(machine: &str) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("samples.txt");
    fs::write(&path, HEAD.replace("MACHINE", machine) + SAMPLES).expect("written");
    crate::specc(folder.path(), "1000", &["fit", "samples.txt"])
}

/// Only messages take simulated time, and what `node.compute` is told of: there is nothing to fit
/// of the rest. On a real machine no time at all is a fault of the measurement.
#[test]
fn models_without_simulated_time_are_passed_over() {
    let (status, out, err) = fit("sim:cm5");
    assert_eq!(status, Some(0), "{out}\n{err}");
    assert!(out.contains("Sent") && !out.contains("Instant"), "{out}");
    assert!(err.contains("model `Instant` is not fitted: it takes no simulated time"), "{err}");
    let (status, out, err) = fit("threads");
    assert_eq!(status, Some(1), "{out}\n{err}");
    assert!(err.contains("model `Instant`, line 4: the time is 0"), "{err}");
}
