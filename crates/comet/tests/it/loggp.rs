//! LogGP's parameters, where the truth is known: simulated machines, one of which nobody has seen.

use crate::unseen;
use strata_comet as comet;
use strata_runtime::prelude::*;
use strata_sim::Figures;
use strata_sim::platform::SimulatedMachine;

fn on(machine: &SimulatedMachine, kernel: impl Fn(&mut Node) -> f64 + Sync) -> f64 {
    let run = Machine::sim(machine, 2).unwrap().run(|node| Ok(kernel(node))).unwrap();
    run.results.into_iter().fold(0.0, f64::max)
}

/// L, o_s, o_r, g and G: measured as `Results` derives them, and as the platform's file says.
fn measured_and_true(machine: &SimulatedMachine) -> [(&'static str, f64, f64); 5] {
    let truth = Figures::new(machine, 2).unwrap();
    let sent = on(machine, |node| comet::send_overhead(node, 8));
    let received = on(machine, |node| comet::receive_overhead(node, 8));
    let look = on(machine, comet::poll) / 2.0;
    let one_way = on(machine, |node| comet::echo(node, 8, 1));
    let gap = |bytes| on(machine, move |node| comet::gap(node, bytes));
    let each = (gap(65_536) - gap(16_384)) / 49_152.0;
    [
        ("L", one_way - sent - received, truth.latency.0.seconds()),
        ("o_s", sent, truth.send.seconds()),
        ("o_r", received - look, truth.receive.seconds()),
        ("g", gap(8), truth.gap.seconds()),
        ("G", each, truth.gap_byte),
    ]
}

#[test]
fn parameters_are_those_of_the_platforms_file() {
    let mut machines: Vec<SimulatedMachine> =
        ["cm5", "ethernet-25g"].iter().map(|name| SimulatedMachine::find(name).unwrap()).collect();
    machines.extend((1..=8).map(|seed| unseen::machine(seed).unwrap()));
    let mut bad = Vec::new();
    for machine in &machines {
        for (name, measured, right) in measured_and_true(machine) {
            println!(
                "{} {name} {measured:.4e} {right:.4e} {:+.1} %",
                machine.name,
                100.0 * (measured / right - 1.0)
            );
            if (measured / right - 1.0).abs() > 0.05 {
                bad.push(format!("{} {name}: {measured:.4e}, not {right:.4e}", machine.name));
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}
