//! Commands about simulated machines: `platform list`, `check`, `show` and `kernels`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use comfy_table::{CellAlignment, Table};
use miette::NamedSource;
use serde_json::{Value, json};
use strata_model::count;
use strata_model::expr::Span;
use strata_model::set::{Kind, Resolved, SetError};
use strata_screen::{self as screen, Failure, print, wrapped};
use strata_sim::Time;
use strata_sim::platform::{Faults, MachineError, SimulatedMachine, Topology};
use strata_sim::{Barrier, Figures};

use super::choose::read;
use super::tables;
use crate::lang::{CheckError, CheckErrors, ErrorCode};

pub(super) fn failure(error: MachineError) -> Failure {
    match error {
        MachineError::Unknown { .. } => Failure::Usage(error.to_string()),
        MachineError::File { .. } => Failure::Machine(error.to_string()),
        MachineError::Faults(faults) => CheckErrors::new(drawn(faults)).into(),
    }
}

/// Converts faults to errors that are printed with their source.
fn drawn(faults: Faults) -> Vec<CheckError> {
    let source = Arc::new(NamedSource::new(faults.file, faults.text.replace('\u{1b}', "?")));
    let one = |fault: strata_sim::platform::Fault| {
        let span = Span { start: fault.span.start, end: fault.span.end };
        CheckError::new(ErrorCode::Platform(fault.kind), fault.message, span, fault.label)
            .help(fault.help)
            .within(&source)
    };
    faults.faults.into_iter().map(one).collect()
}

/// `specc platform list`.
pub(super) fn list() -> Result<(), Failure> {
    let mut table = tables::new(screen::width());
    table.set_header(["platform", "what it is"]);
    for name in SimulatedMachine::built_in() {
        table.add_row([name.to_owned(), SimulatedMachine::named(name).map_err(failure)?.summary]);
    }
    print(table)
}

/// `specc platform check`.
pub(super) fn check(files: &[PathBuf]) -> Result<(), Failure> {
    let mut errors = Vec::new();
    let mut read = Vec::new();
    for path in files {
        match SimulatedMachine::read(path) {
            Ok(platform) => read.push(format!("{}: {}", path.display(), platform.name)),
            Err(MachineError::Faults(faults)) => errors.extend(drawn(faults)),
            Err(other) => return Err(failure(other)),
        }
    }
    if errors.is_empty() { print(read.join("\n")) } else { Err(CheckErrors::new(errors).into()) }
}

/// `specc platform show`.
pub(super) fn show(name_or_path: &str, nodes: usize, as_json: bool) -> Result<(), Failure> {
    let platform = SimulatedMachine::find(name_or_path).map_err(failure)?;
    let figures = Figures::new(&platform, nodes).map_err(|error| Failure::Usage(error.to_string()))?;
    if as_json {
        return print(json_of(&platform, &figures));
    }
    let megahertz = round(platform.cpu.frequency / 1e6);
    let factor = round(platform.cpu.kernel_factor);
    print(wrapped(&format!("{}: {}", platform.name, platform.summary), screen::width(), "  "))?;
    print(format_args!("processor of {megahertz} MHz, kernel factor {factor}"))?;
    print(costs_table(&platform))?;
    let network = format!("{} on a {}", count(nodes, "node", "nodes"), topology_text(&platform.topology));
    print(wrapped(&network, screen::width(), "  "))?;
    print(figures_table(&platform, &figures))
}

/// The costs in the order of the file, each with its key.
fn costs(platform: &SimulatedMachine) -> Vec<(String, Time)> {
    let costs = &platform.interface;
    let mut all: Vec<(String, Time)> = [
        ("send", costs.send),
        ("send_byte", costs.send_byte),
        ("after_send", costs.after_send),
        ("receive", costs.receive),
        ("receive_byte", costs.receive_byte),
        ("failed_poll", costs.failed_poll),
        ("dispatch", costs.dispatch),
        ("block_setup", costs.block_setup),
        ("combine_word", costs.combine_word),
        ("latency", costs.latency),
    ]
    .map(|(name, time)| (format!("interface.{name}"), time))
    .into();
    if costs.combine_call > Time::ZERO {
        all.push(("interface.combine_call".into(), costs.combine_call));
    }
    all.push(("link.latency".into(), platform.link.latency));
    if let Topology::Dragonfly { global_latency, .. } = platform.topology {
        all.push(("topology.global_latency".into(), global_latency));
    }
    if let Some(control) = &platform.control {
        let control = [
            ("barrier", control.barrier),
            ("combine", control.combine),
            ("combine_word", control.combine_word),
            ("broadcast", control.broadcast),
            ("broadcast_word", control.broadcast_word),
        ];
        all.extend(control.map(|(name, time)| (format!("control.{name}"), time)));
    }
    if let Some(dma) = &platform.dma {
        all.push(("dma.setup".into(), dma.setup));
        for (name, time) in [("dma.receive", dma.receive), ("dma.request_hop", dma.request_hop)] {
            if time > Time::ZERO {
                all.push((name.into(), time));
            }
        }
    }
    all
}

fn costs_table(platform: &SimulatedMachine) -> Table {
    let mut table = tables::new(screen::width());
    table.set_header(["cost", "ns", "cycles"]);
    for (name, time) in costs(platform) {
        table.add_row([name, nanoseconds(time), cycles(platform, time)]);
    }
    right(&mut table, [1, 2]);
    table
}

fn figures_table(platform: &SimulatedMachine, figures: &Figures) -> Table {
    let mut table = tables::new(screen::width());
    table.set_header(["what follows", "value", "cycles"]);
    let mut time = |what: &str, time: Time| {
        table.add_row([what.to_owned(), format!("{} ns", nanoseconds(time)), cycles(platform, time)]);
    };
    time("L, mean of all pairs", figures.latency.0);
    time("L, farthest pair", figures.latency.1);
    time("o, sender", figures.send);
    time("o, receiver", figures.receive);
    time("g", figures.gap);
    match figures.barrier {
        Barrier::Control(barrier) => time("barrier, control network", barrier),
        Barrier::Dissemination(barrier) => time("barrier, dissemination (estimate)", barrier),
    }
    let mut plain = |what: &str, value: String| {
        table.add_row([what.to_owned(), value, String::new()]);
    };
    let bandwidth = |bytes: f64| format!("{} MB/s", round(bytes / 1e6));
    plain("G", format!("{} ns/byte", round(figures.gap_byte * 1e9)));
    plain("one way, a pair", bandwidth(figures.one_way));
    plain("two ways, each", bandwidth(figures.two_way));
    if let Some(dma) = figures.dma {
        plain("one way by DMA", bandwidth(dma));
    }
    plain("bisection, each way", bandwidth(figures.bisection));
    plain("hops, mean", round(figures.hops.0));
    plain("hops, most", figures.hops.1.to_string());
    plain("links", figures.links.to_string());
    right(&mut table, [1, 2]);
    table
}

fn right(table: &mut Table, columns: [usize; 2]) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

fn nanoseconds(time: Time) -> String {
    round(time.seconds() * 1e9)
}

fn cycles(platform: &SimulatedMachine, time: Time) -> String {
    round(time.seconds() * platform.cpu.frequency)
}

/// A number with four significant digits, or all before the point, without trailing zeros.
fn round(value: f64) -> String {
    let before = if value.abs() < 1.0 { 1 } else { value.abs().log10() as usize + 1 };
    let text = format!("{value:.*}", 4usize.saturating_sub(before));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The text of a topology, to follow "a ".
fn topology_text(topology: &Topology) -> String {
    let list = |counts: &[usize], between: &str| {
        counts.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
    };
    match topology {
        Topology::Crossbar => "crossbar".into(),
        Topology::Switch { backplane } => format!("switch of {} MB/s", round(backplane / 1e6)),
        Topology::Bus => "bus".into(),
        Topology::FatTree { arity, parents, .. } => {
            format!("fat tree: {arity} children and {} parents a switch, from below", list(parents, ", "))
        }
        Topology::Mesh { extents, dimensions, wrap } => {
            let kind = if *wrap { "torus" } else { "mesh" };
            match extents {
                Some(extents) => format!("{kind} of {}", list(extents, " x ")),
                None => format!("{kind} of {dimensions} dimensions"),
            }
        }
        Topology::Hypercube => "hypercube".into(),
        Topology::Dragonfly { nodes, switches, global, .. } => format!(
            "dragonfly: {nodes} nodes and {global} global links a switch, {switches} switches a group"
        ),
    }
}

fn json_of(platform: &SimulatedMachine, figures: &Figures) -> Value {
    let costs: serde_json::Map<String, Value> =
        costs(platform).into_iter().map(|(name, time)| (name, json!(time.seconds()))).collect();
    let (barrier, control) = match figures.barrier {
        Barrier::Control(time) => (time, true),
        Barrier::Dissemination(time) => (time, false),
    };
    json!({
        "name": platform.name,
        "summary": platform.summary,
        "sha256": platform.sha256,
        "frequency": platform.cpu.frequency,
        "kernel_factor": platform.cpu.kernel_factor,
        "topology": topology_text(&platform.topology),
        "link_bandwidth": platform.link.bandwidth,
        "packet_bytes": platform.interface.packet,
        "header_bytes": platform.interface.header,
        "costs": costs,
        "nodes": figures.nodes,
        "links": figures.links,
        "hops": { "mean": figures.hops.0, "most": figures.hops.1 },
        "latency": { "mean": figures.latency.0.seconds(), "most": figures.latency.1.seconds() },
        "overhead": { "send": figures.send.seconds(), "receive": figures.receive.seconds() },
        "gap": figures.gap.seconds(),
        "gap_byte": figures.gap_byte,
        "bandwidth": { "one_way": figures.one_way, "two_way": figures.two_way, "dma": figures.dma },
        "bisection": figures.bisection,
        "barrier": { "time": barrier.seconds(), "control_network": control },
    })
}

/// `specc platform kernels`: the factors of kernels for a platform file, from models of them on that
/// machine and on the one that the built-in models are of.
pub(super) fn kernels(there: &Path, reference: &Path) -> Result<(), Failure> {
    let (one, other) = (read(there)?, read(reference)?);
    let mut lines = vec!["[kernels]".to_owned()];
    for model in one.models.iter().filter(|model| model.kind == Kind::Fitted && model.unit.is_seconds()) {
        let Some(base) = other.model(&model.name).filter(|base| base.inputs.len() == model.inputs.len())
        else {
            continue;
        };
        let ends = model.inputs.iter().zip(&base.inputs).map(|(a, b)| (a.min.max(b.min), a.max.min(b.max)));
        let ranges: Vec<((f64, f64), bool)> =
            ends.zip(&model.inputs).map(|(range, input)| (range, input.integer)).collect();
        let fault = |path: &Path| {
            let path = path.display().to_string();
            move |error: SetError| Failure::Fault(format!("{path}: {error}"))
        };
        let (one, other) = (one.resolve().map_err(fault(there))?, other.resolve().map_err(fault(reference))?);
        let log = |point: Vec<f64>| {
            let time =
                |resolved: &Resolved| resolved.seconds(&model.name, 1, &point).filter(|time| *time > 0.0);
            Some((time(&one)? / time(&other)?).ln())
        };
        let logs: Vec<f64> =
            crate::advise::places(&ranges).unwrap_or_default().into_iter().filter_map(log).collect();
        if !logs.is_empty() {
            let factor = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
            lines.push(format!("{} = {factor:.4}", model.name));
        }
    }
    if lines.len() == 1 {
        return Err(Failure::Usage(format!(
            "{} and {} have no model in common: both are of `specs/kernels`",
            there.display(),
            reference.display()
        )));
    }
    print(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::round;

    #[test]
    fn numbers_have_four_digits() {
        let cases = [
            (818.1818, "818.2"),
            (27.0, "27"),
            (0.1, "0.1"),
            (0.0, "0"),
            (12345.6, "12346"),
            (5.932, "5.932"),
        ];
        for (value, text) in cases {
            assert_eq!(round(value), text);
        }
    }
}
