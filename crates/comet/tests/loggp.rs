//! LogGP's parameters, where the truth is known: simulated machines, one of which nobody has seen.

#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

use strata_comet as comet;
use strata_runtime::prelude::*;
use strata_sim::platform::{Figures, SimulatedMachine};

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

/// A machine made up for this test.
fn unseen(seed: u64) -> SimulatedMachine {
    let draw = |k: u64, low: u64, high: u64| {
        let mixed = (seed.wrapping_mul(1000) + k).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        low + mixed % (high - low)
    };
    let text = format!(
        "name = \"unseen-{seed}\"\nsummary = \"made up\"\n[cpu]\nfrequency_mhz = 1000\nkernel_factor = 1\n\
         [interface]\nsend_ns = {}\nsend_byte_ns = 0\nafter_send_cycles = 0\nreceive_ns = {}\n\
         receive_byte_ns = 0\nfailed_poll_ns = {}\ndispatch_cycles = {}\nblock_setup_cycles = 0\n\
         combine_word_cycles = 4\npacket_bytes = {}\nheader_bytes = {}\nlatency_ns = {}\n\
         send_queue_packets = 8\nreceive_queue_packets = 16\n[topology]\nkind = \"crossbar\"\n[link]\n\
         bandwidth_mb_per_s = {}\nlatency_ns = {}\nbuffer_packets = 4\nswitching = \"cut-through\"\n",
        draw(1, 100, 3000),
        draw(2, 100, 3000),
        draw(3, 5, 50),
        draw(4, 0, 100),
        draw(5, 16, 512),
        draw(6, 0, 16),
        draw(7, 200, 5000),
        draw(8, 50, 5000),
        draw(9, 10, 500),
    );
    SimulatedMachine::parse("unseen.toml", text.as_bytes()).unwrap()
}

#[test]
fn parameters_are_those_of_the_platforms_file() {
    let mut machines: Vec<SimulatedMachine> =
        ["cm5", "ethernet-25g"].iter().map(|name| SimulatedMachine::find(name).unwrap()).collect();
    machines.extend((1..=8).map(unseen));
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
