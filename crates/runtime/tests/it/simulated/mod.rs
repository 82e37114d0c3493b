//! What tests of simulated machines have in common.

use strata_runtime::prelude::*;
use strata_runtime::simulation::{SimulatedMachine, Simulation};

pub(crate) const PLATFORMS: [&str; 8] =
    ["cm5", "alewife", "paragon", "atm", "iwarp", "ipsc860", "ethernet-25g", "infiniband-fat-tree"];

/// As many nodes of a platform, or as it can have from there on.
pub(crate) fn sim(platform: &str, nodes: usize) -> Simulation {
    let nodes = if platform == "ipsc860" { nodes.next_power_of_two() } else { nodes };
    let platform = SimulatedMachine::find(platform).expect("a built-in platform");
    Machine::sim(&platform, nodes).expect("a number of nodes that fits")
}

/// A platform with other values for some of its keys.
pub(crate) fn changed(platform: &str, keys: &[(&str, &str)]) -> SimulatedMachine {
    let path = format!("{}/../sim/platforms/{platform}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut text = std::fs::read_to_string(path).expect("a platform file");
    for (key, value) in keys {
        let is_key = |line: &str| line.split('=').next().is_some_and(|found| found.trim() == *key);
        assert!(text.lines().any(is_key), "{platform} has no {key}");
        let line = format!("{key} = {value}");
        let lines: Vec<&str> = text.lines().map(|found| if is_key(found) { &line } else { found }).collect();
        text = lines.join("\n");
    }
    SimulatedMachine::parse("changed", text.as_bytes()).expect("a platform")
}

pub(crate) fn failure<T: Send>(
    simulation: &Simulation,
    program: impl Fn(&mut Node) -> Result<T, Error> + Sync,
) -> (Option<usize>, String) {
    match simulation.run(program) {
        Ok(_) => panic!("it did not fail"),
        Err(error) => (error.rank(), error.to_string()),
    }
}
