//! Models of single operations (Brewer 1994, figure 6-6), fitted to simulated times.

use std::cell::Cell;
use std::fmt::Write as _;
use std::rc::Rc;

use strata_benches::jobs::simulated;
use strata_fit::{FitOptions, Search, fit_samples};
use strata_model::Samples;
use strata_runtime::prelude::*;
use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::{Computing, Network};
use strata_sim::network::{Channel, Network as Wires};
use strata_sim::topology::Graph;
use strata_sort::profile::thesis;
use strata_stencil::profile;

/// Fits lines of seconds and values of the columns; returns the coefficients in cycles, that of the
/// constant first.
fn fit(platform: &SimulatedMachine, columns: &str, lines: &[(f64, Vec<f64>)]) -> Result<Vec<f64>, String> {
    let mut text = format!("M {columns}\n");
    for (seconds, values) in lines {
        let values: Vec<String> = values.iter().map(f64::to_string).collect();
        let _ = writeln!(text, "M {seconds} {}", values.join(" "));
    }
    let samples = Samples::parse(&text, "simulation").map_err(|error| error.to_string())?;
    let options = FitOptions { search: Search::Never, ..FitOptions::default() };
    let fitted = fit_samples(&samples, &options).pop().ok_or("nothing fitted")?;
    let model = fitted.map_err(|error| error.to_string())?.model;
    Ok(model.terms.iter().map(|term| term.coefficient * platform.cpu.frequency).collect())
}

/// Cycles between two readings of the clock, less the one that the second reading takes.
fn between(platform: &SimulatedMachine, start: f64, end: f64) -> f64 {
    (end - start) * platform.cpu.frequency - 1.0
}

/// A scan of a vector of `length` words on `nodes` nodes that begin together: seconds until the
/// last node has its result. A word is the platform's: 4 bytes, or the 8 bytes that the CM-5's file
/// counts as one.
fn combine(platform: &SimulatedMachine, nodes: usize, length: usize) -> Result<f64, String> {
    let wide = platform.control.is_some();
    let run = simulated(platform, nodes, |node| {
        let start = node.now().get();
        if wide {
            node.scan(Op::Add, &mut vec![1i64; length]);
        } else {
            node.scan(Op::Add, &mut vec![1i32; length]);
        }
        Ok(node.now().get() - start)
    })?;
    Ok(run.into_iter().fold(0.0, f64::max))
}

/// `CombineVector`: the constant, and those of `length`, `logP` and `length * logP`.
pub(crate) fn combine_vector(platform: &SimulatedMachine) -> Result<Vec<f64>, String> {
    let mut lines = Vec::new();
    for nodes in [2, 4, 8, 16, 32, 64] {
        for exponent in 0..=11 {
            let length = 1 << exponent;
            let seconds = combine(platform, nodes, length)?;
            let (length, height) = (length as f64, (nodes as f64).log2());
            lines.push((seconds, vec![length, height, length * height]));
        }
    }
    fit(platform, "length logP length*logP", &lines)
}

/// `Roundtrip`: the constant, and that of `hops` if distances differ.
pub(crate) fn round_trip(platform: &SimulatedMachine) -> Result<Vec<f64>, String> {
    const NODES: usize = 64;
    let graph = Graph::new(platform, NODES).map_err(|error| error.to_string())?;
    let simulation = Machine::sim(platform, NODES).map_err(|error| error.to_string())?;
    let mut lines: Vec<(f64, Vec<f64>)> = Vec::new();
    for to in 1..NODES {
        let hops = graph.hops(0, to) as f64;
        let run = simulation.run(|node| {
            let back = Rc::new(Cell::new(false));
            let mut handlers = node.handlers();
            let set = Rc::clone(&back);
            let pong = handlers.reply(move |_, _: [u32; 4]| set.set(true));
            let ping = handlers.request(move |context, words: [u32; 4]| context.reply(pong, words));
            node.install(handlers);
            node.barrier();
            if node.rank() > 0 {
                return Ok(0.0);
            }
            // When all are waiting for messages.
            node.compute(10_000.0, || ());
            let start = node.now().get();
            node.send(to, ping, [1; 4]);
            node.wait_until(|| back.get());
            Ok(between(platform, start, node.now().get()))
        });
        let cycles = run.map_err(|error| error.to_string())?.results[0];
        lines.push((cycles / platform.cpu.frequency, vec![hops]));
    }
    // Where all distances are equal, `hops` is no term: the model is that time.
    if lines.iter().all(|(_, hops)| *hops == lines[0].1) {
        return Ok(vec![lines[0].0 * platform.cpu.frequency]);
    }
    fit(platform, "hops", &lines)
}

/// An iteration of the stencil over `size` by `size` points on 64 nodes, in microseconds: in so many
/// columns of blocks, of which one makes strips along the memory's order, or none, on one node.
pub(crate) fn iteration(platform: &SimulatedMachine, columns: usize, size: usize) -> Result<f64, String> {
    let run = Machine::sim(platform, 64).and_then(|simulation| {
        let run = |node: &mut Node| Ok(profile::seconds(node, size, size, columns, 1, 1));
        simulation.computing(Computing::Skeleton).run(run)
    });
    Ok(run.map_err(|error| error.to_string())?.results[0] * 1e6)
}

/// A sort of `keys` keys of 32 bits on each of 64 nodes, in microseconds: by digits of so many bits,
/// each key a message, or by samples (figures 4-15 and 4-16).
pub(crate) fn sorting(platform: &SimulatedMachine, bits: Option<u32>, keys: usize) -> Result<f64, String> {
    Ok(simulated(platform, 64, |node| Ok(thesis::seconds(node, keys, 32, bits, 0..2)))?[0] * 1e6)
}

/// `SendRequest`: cycles to send a word and poll both networks once; and of polls of both until
/// empty.
pub(crate) fn send_request(platform: &SimulatedMachine) -> Result<(f64, f64), String> {
    let run = simulated(platform, 2, |node| {
        let mut handlers = node.handlers();
        let request = handlers.request(|_, _: u32| ());
        node.install(handlers);
        node.barrier();
        node.compute(10_000.0, || ());
        let start = node.now().get();
        if node.rank() == 0 {
            node.send(1, request, 1);
            node.poll_once();
        }
        let send = between(platform, start, node.now().get());
        let start = node.now().get();
        if node.rank() == 0 {
            node.poll();
        }
        Ok((send, between(platform, start, node.now().get())))
    });
    Ok(run?[0])
}

/// Packets that each of `nodes` nodes can send when nobody receives: each to the one on the other
/// side of the machine, on both networks.
pub(crate) fn capacity(platform: &SimulatedMachine, nodes: usize) -> Result<f64, String> {
    let mut network: Wires<()> = Wires::new(platform, nodes, 1).map_err(|error| error.to_string())?;
    let mut sent = 0;
    loop {
        let before = sent;
        for (node, channel) in (0..nodes).flat_map(|node| [(node, Channel(0)), (node, Channel(1))]) {
            let to = (node + nodes / 2) % nodes;
            while network.try_send(network.now(), node, to, channel, platform.interface.packet, ()).is_ok() {
                sent += 1;
            }
        }
        while network.step().is_some() {}
        if sent == before {
            return Ok(sent as f64 / nodes as f64);
        }
    }
}

/// Sending alone and receiving alone, in cycles, as `specs/matching` measures them: a packet put
/// and a look in vain; looks until a hundred packets have been received, less those in vain.
pub(crate) fn alone(platform: &SimulatedMachine) -> Result<(f64, f64), String> {
    let run = simulated(platform, 2, |node| {
        let data = vec![1u8; node.packet_bytes()];
        let sends = node.rank() == 0;
        node.install(node.handlers());
        node.open_port(1, Block::<u8>::zeroed(data.len()));
        node.expect::<u8>(1, if sends { 0 } else { 104 * data.len() });
        node.barrier();
        let start = node.now().get();
        for _ in 0..if sends { 4 } else { 0 } {
            node.put(1, 1, 0, &data);
            node.poll_one(Network::Reply);
        }
        let send = between(platform, start, node.now().get()) / 4.0;
        while !sends && node.port_count(1) > 100 * data.len() as i64 {
            node.poll_one(Network::Request);
            node.poll_one(Network::Reply);
        }
        node.barrier();
        for _ in 0..if sends { 100 } else { 0 } {
            node.put(1, 1, 0, &data);
        }
        node.compute(if sends { 0.0 } else { 10_000.0 }, || ());
        let (start, mut looks) = (node.now().get(), 0);
        while !sends && node.port_count(1) > 0 {
            node.poll_one(if looks % 2 == 0 { Network::Request } else { Network::Reply });
            looks += 1;
        }
        let with = between(platform, start, node.now().get());
        node.barrier();
        let start = node.now().get();
        for look in 0..looks {
            node.poll_one(if look % 2 == 0 { Network::Request } else { Network::Reply });
        }
        let without = between(platform, start, node.now().get());
        node.barrier();
        let vain = without * f64::from(looks.max(100) - 100) / f64::from(looks.max(1));
        Ok((send, (with - vain) / 100.0))
    });
    let results = run?;
    Ok((results[0].0, results[1].1))
}
