//! Collectives and sorts on topologies that no model has seen, by models without and with the mean
//! number of hops.
//!
//! The nodes and links of the machines are those of one cluster, in several topologies, with one
//! node on each host and with four. Of each topology in turn the models have seen all others. The
//! same samples, candidates and problems; only the terms differ.

use std::sync::OnceLock;

use strata_benches::fitted::entry;
use strata_benches::{head, row};
use strata_fit::Search;
use strata_model::Program;
use strata_model::expr::parse;
use strata_model::samples::Sample;
use strata_runtime::prelude::*;
use strata_runtime::select::TimedOnNodes;
use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::trees::{Broadcasts, Reductions, Scans};
use strata_select::{Compute, Domain, Question, Row, Table, choose_among};
use strata_sim::Time;
use strata_sim::platform::{Host, Link, Topology};
use strata_sim::topology::Graph;
use strata_sort::Sort;

use super::teams::time;

const NODES: [usize; 4] = [4, 8, 16, 64];
const WORDS: [f64; 5] = [1.0, 4.0, 16.0, 64.0, 256.0];
const KEYS: [f64; 4] = [4.0, 16.0, 64.0, 256.0];
const HOSTED: [usize; 2] = [1, 4];

/// Latencies of a link, in ns: that of the cluster, and those of slower switches.
const LATENCIES: [u64; 3] = [130, 500, 2000];

const LIBRARIES: [&str; 4] = ["broadcasts", "reductions", "scans", "sorts"];
/// The one of [`LIBRARIES`] whose candidates are sorts.
const SORTS: usize = 3;

const STREAMS: &[&str] = &["transport", "trees:1", "trees:4", "trees:16"];
const SORTING: &[(&str, Sort)] = &[
    ("gather", Sort::Gather),
    ("radix", Sort::Radix { bits: 11 }),
    ("sample", Sort::Sample { oversample: 32 }),
    ("batcher", Sort::Batcher),
    ("histogram", Sort::Histogram),
    ("quick", Sort::Quick),
];
/// The width of the keys, in bits.
const WIDTH: f64 = 32.0;

/// What terms read: `size` is words or keys.
const NAMES: [&str; 5] = ["size", "hosts", "hops", "P", "logP"];
/// Without `hops`.
const PLAIN: [&str; 10] = [
    "size",
    "logP",
    "P",
    "size*logP",
    "size*P",
    "ceil(size/7)",
    "logP*ceil(size/7)",
    "log2(size)",
    "log2(hosts)",
    "size*log2(hosts)",
];
const OF_HOPS: [&str; 4] = ["hops", "hops*logP", "hops*size", "hops*size*logP"];

/// The constant and the first terms.
fn terms<const COUNT: usize>(nodes: usize, x: &[f64], to: &mut [f64]) -> Option<usize> {
    static ALL: OnceLock<Vec<Program>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let each = std::iter::once("1").chain(PLAIN).chain(OF_HOPS);
        each.map(|term| Program::compile(&parse(term).expect(term), &NAMES).expect(term)).collect()
    });
    let p = nodes as f64;
    let (size, hosts, hops) = match *x {
        [size, hosts] => (size, hosts, 0.0),
        [size, hosts, hops] => (size, hosts, hops),
        _ => return None,
    };
    for (to, program) in to.get_mut(..=COUNT)?.iter_mut().zip(all) {
        *to = program.eval(&[size, hosts, hops, p, p.log2()]);
    }
    Some(COUNT + 1)
}

/// The terms of models: without `hops`, with the first two that read it, and with all.
const SETS: [(usize, Compute); 3] = [
    (PLAIN.len(), terms::<{ PLAIN.len() }>),
    (PLAIN.len() + 2, terms::<{ PLAIN.len() + 2 }>),
    (PLAIN.len() + OF_HOPS.len(), terms::<{ PLAIN.len() + OF_HOPS.len() }>),
];

/// One problem: on a topology, so many nodes, hosts and hops, a library's call, and the candidates'
/// seconds.
struct Cell {
    topology: usize,
    nodes: usize,
    hosts: f64,
    hops: f64,
    library: usize,
    size: f64,
    seconds: Vec<f64>,
}

fn topologies() -> Vec<(&'static str, Topology)> {
    let mesh = |dimensions, wrap| Topology::Mesh { extents: None, dimensions, wrap };
    let bandwidth = 12.5e9;
    let dragonfly = Topology::Dragonfly {
        nodes: 2,
        switches: 4,
        global: 2,
        global_bandwidth: bandwidth,
        global_latency: Time::ZERO,
    };
    vec![
        ("crossbar", Topology::Crossbar),
        ("fat tree", Topology::FatTree { arity: 4, parents: vec![2, 2], bandwidths: vec![bandwidth] }),
        ("mesh", mesh(2, false)),
        ("torus", mesh(3, true)),
        ("hypercube", Topology::Hypercube),
        ("dragonfly", dragonfly),
    ]
}

/// The seconds of a stream's candidates.
fn streams<L: TimedOnNodes>(node: &mut Node, words: f64) -> Vec<f64> {
    let ways = [(0, None), (1, Some(1)), (1, Some(4)), (1, Some(16))];
    let each = ways.iter().map(|(index, depth)| match L::candidate(*index, depth.as_slice()) {
        Some(way) => time(node, way, &[words]),
        None => f64::INFINITY,
    });
    each.collect()
}

/// All problems on these nodes: library, size and the candidates' seconds.
fn problems(node: &mut Node) -> Vec<(usize, f64, Vec<f64>)> {
    let mut all = Vec::new();
    for words in WORDS {
        all.push((0, words, streams::<Broadcasts>(node, words)));
        all.push((1, words, streams::<Reductions>(node, words)));
        all.push((2, words, streams::<Scans>(node, words)));
    }
    for keys in KEYS {
        let seconds = SORTING.iter().map(|(_, sort)| time(node, *sort, &[keys, WIDTH])).collect();
        all.push((SORTS, keys, seconds));
    }
    all
}

/// The mean number of links with latency between two different nodes.
fn mean_hops(machine: &SimulatedMachine, nodes: usize) -> Result<f64, String> {
    let graph = Graph::new(machine, nodes).map_err(|error| error.to_string())?;
    let all: usize = (0..nodes).map(|from| (0..nodes).map(|to| graph.hops(from, to)).sum::<usize>()).sum();
    Ok(all as f64 / (nodes * (nodes - 1)) as f64)
}

/// All cells with links of this latency.
fn measured(latency: u64) -> Result<Vec<Cell>, String> {
    let plain = SimulatedMachine::named("infiniband-fat-tree").map_err(|error| error.to_string())?;
    let latency = Time(latency * 1000);
    let link = Link { latency, ..plain.link };
    let mut cells = Vec::new();
    for (topology, (_, of_it)) in topologies().into_iter().enumerate() {
        let of_it = match of_it {
            Topology::Dragonfly { nodes, switches, global, global_bandwidth, .. } => {
                Topology::Dragonfly { nodes, switches, global, global_bandwidth, global_latency: latency }
            }
            other => other,
        };
        for hosted in HOSTED {
            // As shared memory: 200 ns from node to node.
            let host = Host { nodes: hosted, bandwidth: 12.5e9, latency: Time(100_000) };
            let host = (hosted > 1).then_some(host);
            let machine = SimulatedMachine { topology: of_it.clone(), host, link, ..plain.clone() };
            for nodes in NODES.into_iter().filter(|nodes| *nodes > hosted) {
                let hops = mean_hops(&machine, nodes)?;
                let team = Machine::sim(&machine, nodes).map_err(|error| error.to_string())?;
                let run = team.run(|node| Ok((node.hosts(), problems(node))));
                let mut results = run.map_err(|error| error.to_string())?.results.into_iter();
                let (hosts, all) = results.next().ok_or("no node")?;
                let hosts = hosts as f64;
                cells.extend(all.into_iter().map(|(library, size, seconds)| Cell {
                    topology,
                    nodes,
                    hosts,
                    hops,
                    library,
                    size,
                    seconds,
                }));
            }
        }
    }
    Ok(cells)
}

/// How many inputs the library of a set of [`SETS`] has.
fn inputs(set: usize) -> usize {
    if set == 0 { 2 } else { 3 }
}

/// The models of a library by these cells.
fn calibrated(cells: &[&Cell], library: usize, set: usize) -> Result<&'static Table, String> {
    let (count, compute) = SETS[set];
    let terms: Vec<&str> = PLAIN.into_iter().chain(OF_HOPS).take(count).collect();
    let names: Vec<&'static str> = match library {
        SORTS => SORTING.iter().map(|(name, _)| *name).collect(),
        _ => STREAMS.to_vec(),
    };
    let mut entries = Vec::new();
    for (way, name) in names.into_iter().enumerate() {
        let sample = |cell: &&Cell| {
            let p = cell.nodes as f64;
            let values = vec![cell.size, cell.hosts, cell.hops, p, p.log2()];
            Sample { values, seconds: cell.seconds[way], ..Sample::default() }
        };
        let rows = cells.iter().filter(|cell| cell.seconds[way].is_finite()).map(sample).collect();
        entries.push(entry(name, &NAMES, &terms, rows, (compute, 1e-6), Search::Never)?);
    }
    let range = |of: &dyn Fn(&Cell) -> f64| {
        let values = cells.iter().map(|cell| of(cell));
        values.fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)))
    };
    let ranges: [(f64, f64); 3] =
        [range(&|cell| cell.size), range(&|cell| cell.hosts), range(&|cell| cell.hops)];
    Ok(Box::leak(Box::new(Table {
        library: LIBRARIES[library],
        spec: "",
        platform: "mpi nodes=64 cores=2 cpu=\"\" cache=\"\" os=linux arch=x86_64",
        digest: "",
        inputs: &["size", "hosts", "hops"][..inputs(set)],
        domain: Domain {
            nodes: (NODES[0], NODES[NODES.len() - 1]),
            inputs: ranges[..inputs(set)].to_vec().leak(),
        },
        entries: entries.leak(),
    })))
}

/// By how much more time than the least the choice for a cell takes.
fn lost(table: &'static Table, cell: &Cell, set: usize) -> Result<f64, String> {
    let rows: Vec<Row> = table.entries.iter().map(|entry| Row::new(entry.name, entry.parameters)).collect();
    let inputs = &[cell.size, cell.hosts, cell.hops][..inputs(set)];
    let applies = |index: usize| cell.seconds[index].is_finite();
    let choice = choose_among((table.library, ""), rows, table, Question::new(cell.nodes, inputs), &applies)
        .map_err(|error| error.to_string())?;
    let least = cell.seconds.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(cell.seconds[choice.index] / least - 1.0)
}

/// What is lost by models of the sets.
type Losses = [Vec<f64>; SETS.len()];

fn line(names: &[&str], lost: &Losses) {
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let cells = lost[0].len().to_string();
    let of_all = lost.iter().flat_map(|lost| [percent(mean(lost)), percent(worst(lost))]);
    row(&names.iter().map(|name| (*name).to_owned()).chain([cells]).chain(of_all).collect::<Vec<_>>());
}

fn mean(all: &[f64]) -> f64 {
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

fn worst(all: &[f64]) -> f64 {
    all.iter().copied().fold(0.0, f64::max)
}

pub(super) fn run() -> Result<(), String> {
    let names = ["latency of a link", "not seen", "hops of 64 hosts", "cells"];
    head(&[&names[..], &["without", "worst", "two terms", "worst", "all", "worst"]].concat());
    let mut all = Losses::default();
    let mut by_library: [Losses; LIBRARIES.len()] = Default::default();
    let mut summary = Vec::new();
    for latency in LATENCIES {
        let cells = measured(latency)?;
        for (unseen, (name, _)) in topologies().into_iter().enumerate() {
            let mut of_it = Losses::default();
            for (library, of_library) in by_library.iter_mut().enumerate() {
                let (held, seen): (Vec<&Cell>, Vec<&Cell>) = cells
                    .iter()
                    .filter(|cell| cell.library == library)
                    .partition(|cell| cell.topology == unseen);
                for set in 0..SETS.len() {
                    let table = calibrated(&seen, library, set)?;
                    for cell in &held {
                        let lost = lost(table, cell, set)?;
                        of_it[set].push(lost);
                        all[set].push(lost);
                        of_library[set].push(lost);
                    }
                }
            }
            let hops = |cell: &Cell| (cell.hosts == NODES[NODES.len() - 1] as f64).then_some(cell.hops);
            let hops = cells.iter().filter(|cell| cell.topology == unseen).find_map(hops);
            let hops = hops.map_or(String::new(), |hops| format!("{hops:.2}"));
            line(&[&format!("{latency} ns"), name, &hops], &of_it);
            summary.push(serde_json::json!({
                "latency_ns": latency, "topology": name,
                "without": mean(&of_it[0]), "two_terms": mean(&of_it[1]), "all_terms": mean(&of_it[2]),
            }));
        }
    }
    for (name, lost) in LIBRARIES.iter().zip(&by_library) {
        line(&["all", name, ""], lost);
    }
    line(&["all", "", ""], &all);
    strata_benches::summary(&summary.into());
    Ok(())
}
