//! Patterns paced by models of sending and receiving alone, in the file of `STRATA_MODELS`.

use std::process::{Command, Output};

use strata_runtime::ensure;
use strata_runtime::patterns::cyclic_shift;
use strata_runtime::prelude::*;
use strata_runtime::simulation::SimulatedMachine;

const NODES: usize = 16;

/// Prints the simulated time of a shift by four, of blocks of 4 kB.
#[test]
#[ignore = "a part of others"]
fn program() {
    let cm5 = SimulatedMachine::find("cm5").unwrap();
    let run = Machine::sim(&cm5, NODES).unwrap().run(|node| {
        let mine = vec![node.rank() as u8; 4096];
        // They do not begin in step.
        node.compute((170 * node.rank() % 1000) as f64, || ());
        let theirs = cyclic_shift(node, 4, &mine, Block::zeroed(4096));
        ensure!(node, theirs.iter().all(|byte| usize::from(*byte) == (node.rank() + NODES - 4) % NODES));
        Ok(())
    });
    match run {
        Ok(run) => println!("took {} us", run.time().seconds() * 1e6),
        Err(error) => println!("failed: {error}"),
    }
}

fn with(pacing: Option<&str>) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["pacing::program", "--exact", "--ignored", "--nocapture"]).env_remove("STRATA_MODELS");
    if let Some(file) = pacing {
        command.env("STRATA_MODELS", file);
    }
    let Output { stdout, .. } = command.output().unwrap();
    String::from_utf8(stdout).unwrap()
}

fn micros(output: &str) -> f64 {
    let (_, rest) = output.split_once("took ").unwrap_or_else(|| panic!("{output}"));
    rest.split_once(" us").unwrap().0.parse().unwrap()
}

/// A set of both models, in cycles of the CM-5.
fn set(send: f64, receive: f64) -> tempfile::NamedTempFile {
    let model = |name: &str, cycles: f64| {
        format!(
            "[[models]]\nname = \"{name}\"\ninputs = []\nterms = [{{ term = \"1\", coefficient = {:e}, \
             std_error = 0.0, half_width = 0.0, relevant = true }}]\ncovariance = [[0.0]]\n",
            cycles / 33e6
        )
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    let text = format!("strata-models = 1\n{}{}", model("SendAlone", send), model("ReceiveAlone", receive));
    std::fs::write(file.path(), text).unwrap();
    file
}

/// Brewer 1994, section 6.1.3: 62 - 37 cycles. A put that receives only where it finds no room is
/// as fast on this machine; matching gains over polls after every packet (FIGURES.md).
#[test]
fn models_pace_a_shift() {
    let plain = micros(&with(None));
    let matched = set(37.0, 62.0);
    let paced = micros(&with(matched.path().to_str()));
    assert!(plain != paced && (plain / paced - 1.0).abs() < 0.02, "{plain} us, paced {paced} us");
    // A receiver that is faster needs no pause.
    let fast = set(62.0, 37.0);
    assert_eq!(micros(&with(fast.path().to_str())), micros(&with(set(50.0, 50.0).path().to_str())));
}

#[test]
fn a_file_without_both_models_is_told() {
    let missing = with(Some("no such file"));
    assert!(missing.contains("failed") && missing.contains("STRATA_MODELS=no such file"), "{missing}");
    // One of the two models does not do; a file without either is of something else.
    let file = set(37.0, 62.0);
    let text = std::fs::read_to_string(file.path()).unwrap();
    std::fs::write(file.path(), text.replace("ReceiveAlone", "Other")).unwrap();
    let half = with(file.path().to_str());
    assert!(half.contains("`ReceiveAlone` do not pace patterns of 16 nodes"), "{half}");
    assert!(half.contains("specc calibrate specs/matching --nodes 16"), "{half}");
    std::fs::write(file.path(), "strata-models = 1\n").unwrap();
    assert_eq!(micros(&with(file.path().to_str())), micros(&with(None)));
}
