//! The platform file of a measured machine: the simulator then takes what was measured.

use strata_comet::{self as comet, Results, machine_file};
use strata_model::Samples;
use strata_runtime::prelude::*;
use strata_sim::platform::SimulatedMachine;

/// The time of a model by its size, s.
type Line = (&'static str, bool, f64, f64);

/// Made up: by the name of the model, whether it has a size, its start and its time a byte or
/// element.
const LINES: [Line; 10] = [
    ("Echo", true, 1e-6, 0.5e-9),
    ("EchoData", true, 1e-6, 0.8e-9),
    ("SendOverhead", true, 0.3e-6, 0.2e-9),
    ("ReceiveOverhead", true, 0.4e-6, 0.1e-9),
    ("Gap", true, 0.5e-6, 0.5e-9),
    ("Broadcast", true, 0.8e-6, 0.1e-9),
    ("ReduceVector", true, 0.6e-6, 2e-9),
    ("Poll", false, 0.04e-6, 0.0),
    ("Barrier", false, 0.5e-6, 0.0),
    ("Reduce", false, 0.6e-6, 0.0),
];

/// Results of a machine that takes exactly that.
fn results(transport: &str) -> Results {
    let mut text = format!(
        "strata-samples 1\nplatform {transport} nodes=2 cores=2 cpu=\"x\" cache=\"\" os=linux arch=any\n"
    );
    for (model, sized, start, each) in LINES {
        if !sized {
            text += &format!("model {model}\n{model} {start:e} ; repeats=1\n& {start:e}@1\n");
            continue;
        }
        let (variables, others, at) =
            if model == "Echo" { ("bytes (hops)", " 1", ",1") } else { ("bytes", "", "") };
        text += &format!("model {model} {variables}\n");
        for bits in 0..=16 {
            let size = 1u32 << bits;
            let seconds = start + f64::from(size) * each;
            text +=
                &format!("{model} {seconds:e} {size}{others} ; at={size}{at} repeats=1\n& {seconds:e}@1\n");
        }
    }
    Results::of(&Samples::parse(&text, "made up").unwrap())
}

/// What the simulator then takes for each of these.
fn simulated(results: &Results) -> impl Fn(&(dyn Fn(&mut Node) -> f64 + Sync)) -> f64 + use<> {
    let text = machine_file::platform(results).unwrap();
    let here = SimulatedMachine::parse("here.toml", text.as_bytes())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    move |kernel| {
        let run = Machine::sim(&here, 2).unwrap().run(|node| Ok(kernel(node))).unwrap();
        run.results.into_iter().fold(0.0, f64::max)
    }
}

#[test]
fn messages_and_collectives_take_what_was_measured() {
    for (transport, byte) in [("threads", 0.8e-9), ("mpi", 0.5e-9)] {
        let seconds = simulated(&results(transport));
        let mut bad = Vec::new();
        let mut judge = |what: String, found: f64, right: f64| {
            println!("{transport} {what}: {found:.4e}, {right:.4e}");
            if (found / right - 1.0).abs() > 0.05 {
                bad.push(format!("{what}: {found:.4e}, not {right:.4e}"));
            }
        };
        for bytes in [8usize, 1000, 20_000, 65_536] {
            let right = 1e-6 + byte * bytes as f64;
            judge(format!("echo of {bytes}"), seconds(&|node| comet::echo(node, bytes, 1)), right);
        }
        judge("barrier".into(), seconds(&comet::barrier), 0.5e-6);
        judge("sum".into(), seconds(&comet::reduce), 0.6e-6);
        judge("sums".into(), seconds(&|node| comet::reduce_vector(node, 4096)), 0.6e-6 + 4096.0 * 2e-9);
        judge("broadcast".into(), seconds(&|node| comet::broadcast(node, 4096)), 0.8e-6 + 4096.0 * 0.1e-9);
        assert!(bad.is_empty(), "{transport}: {bad:#?}");
    }
}

#[test]
fn a_simulated_machine_or_one_without_the_parts_of_messages_has_no_file() {
    let mut without = results("threads");
    without.loggp = None;
    assert!(machine_file::platform(&without).is_none());
    let simulated = Results { simulated: true, ..results("threads") };
    assert!(machine_file::platform(&simulated).is_none());
}

#[test]
fn simgrid_gets_the_costs_of_messages_between_processes() {
    let text = machine_file::simgrid(&results("mpi")).unwrap();
    let value = |id: &str| {
        let rest = text.split(&format!("<prop id=\"{id}\" value=\"0:")).nth(1).unwrap();
        let numbers = rest.split('"').next().unwrap().split(':').map(|number| number.parse::<f64>().unwrap());
        numbers.collect::<Vec<_>>()
    };
    let attribute = |name: &str, unit: &str| -> f64 {
        let rest = text.split(&format!(" {name}=\"")).nth(1).unwrap();
        rest.split('"').next().unwrap().strip_suffix(unit).unwrap().parse().unwrap()
    };
    // The time of a message as SMPI computes it.
    let (os, or) = (value("smpi/os"), value("smpi/or"));
    for bytes in [8.0, 1000.0, 65_536.0] {
        let host = os[0] + or[0] + (os[1] + or[1]) * bytes;
        let found = host + 2.0 * attribute("lat", "s") + bytes / attribute("bw", "Bps");
        let right = 1e-6 + 0.5e-9 * bytes;
        assert!((found / right - 1.0).abs() < 0.05, "{bytes}: {found:e}, not {right:e}\n{text}");
    }
    assert!(machine_file::simgrid(&results("threads")).is_none());
    assert!(machine_file::simgrid(&Results { simulated: true, ..results("mpi") }).is_none());
}
