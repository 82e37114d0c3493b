//! What each kernel moves, counted by the network of a simulated machine.

use std::collections::BTreeMap;

use strata_runtime::prelude::*;
use strata_runtime::simulation::SimulatedMachine;
use strata_sim::topology::Graph;

use super::trial::Trial;
use crate::mesh::Mesh;
use crate::suite::{Crossing, KERNELS, Moved, Size, moved};

/// A machine whose packets hold whole messages and nothing else, so that links count data. Barriers
/// are messages.
fn machine(topology: &str) -> SimulatedMachine {
    let text = format!(
        "name = \"counting\"\nsummary = \"made up\"\n[cpu]\nfrequency_mhz = 1000\nkernel_factor = 1\n\
         [interface]\nsend_ns = 100\nsend_byte_ns = 0\nafter_send_cycles = 0\nreceive_ns = 100\n\
         receive_byte_ns = 0\nfailed_poll_ns = 10\ndispatch_cycles = 0\nblock_setup_cycles = 0\n\
         combine_word_cycles = 4\npacket_bytes = 1048576\nheader_bytes = 0\nlatency_ns = 200\n\
         send_queue_packets = 16\nreceive_queue_packets = 16\n[topology]\nkind = \"{topology}\"\n[link]\n\
         bandwidth_mb_per_s = 100\nlatency_ns = 10\nbuffer_packets = 16\nswitching = \"cut-through\"\n"
    );
    SimulatedMachine::parse("counting.toml", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// Packets and bytes that nodes sent, the program's set-up included.
fn sent(nodes: usize, operations: usize, kernel: &(dyn Fn(&mut Node) + Sync)) -> (u64, u64) {
    let run = Machine::sim(&machine("crossbar"), nodes).unwrap().run(|node| {
        node.local::<Trial>().operations = Some(operations);
        kernel(node);
        Ok(())
    });
    let links = run.unwrap().network.links;
    // The first links are the nodes' own into the network.
    links[..nodes].iter().fold((0, 0), |(packets, bytes), link| (packets + link.packets, bytes + link.bytes))
}

/// Packets and bytes of one operation: what more operations send more.
fn each(nodes: usize, factor: u64, kernel: &(dyn Fn(&mut Node) + Sync)) -> (f64, f64) {
    let (few, many) = (8, 24);
    let (a, b) = (sent(nodes, few, kernel), sent(nodes, many, kernel));
    let operations = factor as f64 * (many - few) as f64;
    ((b.0 - a.0) as f64 / operations, (b.1 - a.1) as f64 / operations)
}

/// How many operations one of a timing of the model is.
fn factor(model: &str) -> u64 {
    match model {
        "Contention" => 8,
        "Gap" => 24,
        _ => 1,
    }
}

/// Data and messages of every kernel's operation are those that it claims, on each number of nodes
/// where it is defined.
#[test]
fn every_kernel_moves_what_it_claims() {
    let mut told = BTreeMap::new();
    for (at, nodes) in [(40, 2), (8, 4), (24, 6), (16, 9)].map(|(size, nodes)| (vec![size], nodes)) {
        let Mesh { rows, .. } = Mesh::new(nodes);
        for (part, model) in KERNELS.iter().flat_map(|part| part.models.iter().map(move |m| (part, m))) {
            let name = model.model;
            let on_mesh = rows >= 2 || !matches!(name, "Guard" | "Shift" | "RowBroadcast");
            if part.refuses(nodes, false).is_some() || !on_mesh {
                continue;
            }
            let mut at = if model.size == Size::None { vec![] } else { at.clone() };
            let last = nodes as i64 - 1;
            match name {
                // All pairs at once.
                "Stream" | "StreamBoth" => at.push(nodes as i64 / 2),
                "Pair" => at.extend([last - 1, last]),
                "Bisection" => at.push(1),
                "Contention" => at.extend([0, 2, 1, 3]),
                "EchoLate" => at.push(20),
                "Synchronous" | "Asynchronous" => at.push(100),
                _ => {}
            }
            // Time is not simulated, nor is the MPI library.
            if part.mpi || name.starts_with("Fixed") {
                continue;
            }
            let kernel = |node: &mut Node| assert!(crate::measure(node, name, &at).is_some(), "{name}");
            let (packets, bytes) = each(nodes, factor(name), &kernel);
            let claimed = moved(name, &at, nodes).unwrap();
            told.insert(format!("{name} {at:?} on {nodes}"), (packets, bytes, claimed));
        }
    }
    let wrong = |(_, (packets, bytes, claimed)): &(&String, &(f64, f64, Moved))| {
        let (all, data) = ((claimed.messages + claimed.empty) as f64, claimed.bytes as f64);
        if claimed.exact {
            return *packets != all || *bytes != data;
        }
        // An algorithm may send several blocks in one message, and blocks more than once.
        *packets < claimed.empty as f64
            || *packets == 0.0 && all > 0.0
            || *bytes < data
            || *bytes > 2.0 * data + 64.0 * packets
    };
    let bad: Vec<_> = told.iter().filter(wrong).collect();
    assert!(bad.is_empty() && told.len() > 130, "{} of {}: {bad:#?}", bad.len(), told.len());
}

/// The load passes the link that the echo passes, in whole messages.
#[test]
fn a_load_is_on_the_way_of_the_echo() {
    let (bytes, load) = (64, 3_000);
    let crossing = Crossing { peer: 2, source: 1, sink: 6 };
    let machine = machine("hypercube");
    let graph = Graph::new(&machine, 8).unwrap();
    let of_load = graph.certain_links(crossing.source, crossing.sink);
    let of_echo = graph.certain_links(0, crossing.peer);
    let shared: Vec<usize> = of_echo.into_iter().filter(|link| of_load.contains(link)).collect();
    assert_eq!(shared.len(), 1, "{shared:?}");
    let bytes_of = |load: usize| {
        let run = Machine::sim(&machine, 8).unwrap();
        let run = run.run(|node| Ok(crate::contention(node, bytes, load, crossing))).unwrap();
        run.network.links[shared[0]].bytes
    };
    let more = bytes_of(load) - bytes_of(0);
    assert!(more > 50 * load as u64 && more.is_multiple_of(load as u64), "{more} bytes");
}
