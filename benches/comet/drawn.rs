//! Machines with parameters drawn at random, of three kinds: CoMet's results beside the machines'
//! own parameters.

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_benches::{columns, jobs::simulated, row};
use strata_comet as comet;
use strata_comet::Results;
use strata_comet::suite::{self, Ground, Peer, model_named};
use strata_model::Samples;
use strata_runtime::prelude::*;
use strata_runtime::simulation::SimulatedMachine;
use strata_sim::Figures;
use strata_sim::topology::Graph;

/// Machines of each kind.
const EACH: usize = 20;

/// The share of the truth within which a figure is recovered.
const CLOSE: f64 = 0.03;

/// The greatest message.
const LONGEST: i64 = 65_536;

/// A machine, and what is not in its [`Figures`]: seconds a hop for long messages, and the last
/// size of its protocol for short ones.
struct Drawn {
    machine: SimulatedMachine,
    nodes: usize,
    hop: Option<f64>,
    last_short: Option<f64>,
}

/// A machine of this kind: a crossbar of small packets, a mesh of wormholes, and a hypercube with
/// two protocols.
fn draw(kind: usize, random: &mut ChaCha8Rng) -> Result<Drawn, String> {
    let mut number = |low: f64, high: f64| (random.random_range(low..high) * 10.0).round() / 10.0;
    let (send, receive, poll) = (number(200.0, 3e3), number(200.0, 3e3), number(5.0, 50.0));
    let (bandwidth, latency, link) = (number(50.0, 2e3), number(200.0, 5e3), number(50.0, 2e3));
    let packet = [16, 24, 32, 48, 64, 80, 128, 256, 512][number(0.0, 8.9) as usize];
    let header = number(0.0, 8.9) as usize;
    let request = number(50.0, 2e3);
    let setup = number(1e3, 2e4);
    let (nodes, topology, more) = match kind {
        0 => (2, "kind = \"crossbar\"", String::new()),
        1 => (16, "kind = \"mesh\"\ndimensions = 2", String::new()),
        _ => {
            let dma = format!(
                "[dma]\nsetup_ns = {setup}\nleast_bytes = {}\nreceive_ns = {receive}\nrequest_hop_ns = {request}\n\
                 receives_short = false\n",
                packet + 1
            );
            (8, "kind = \"hypercube\"", dma)
        }
    };
    let text = format!(
        "name = \"drawn\"\nsummary = \"made up\"\n[cpu]\nfrequency_mhz = 1000\nkernel_factor = 1\n[interface]\n\
         send_ns = {send}\nsend_byte_ns = 0\nafter_send_cycles = 0\nreceive_ns = {receive}\nreceive_byte_ns = 0\n\
         failed_poll_ns = {poll}\ndispatch_cycles = 0\nblock_setup_cycles = 0\ncombine_word_cycles = 4\n\
         packet_bytes = {packet}\nheader_bytes = {header}\nlatency_ns = {latency}\nsend_queue_packets = 8\n\
         receive_queue_packets = 4096\n[topology]\n{topology}\n[link]\nbandwidth_mb_per_s = {bandwidth}\n\
         latency_ns = {link}\nbuffer_packets = 4096\nswitching = \"cut-through\"\n{more}"
    );
    let machine =
        SimulatedMachine::parse("drawn.toml", text.as_bytes()).map_err(|e| format!("{e}\n{text}"))?;
    let hop = [None, Some(link * 1e-9), Some((link + request) * 1e-9)][kind];
    let last_short = [None, None, Some(f64::from(packet))][kind];
    Ok(Drawn { machine, nodes, hop, last_short })
}

fn times(drawn: &Drawn, points: &[(String, Vec<i64>)]) -> Result<Vec<f64>, String> {
    let kernel =
        |node: &mut Node, model: &str, at: &[i64]| comet::measure(node, model, at).unwrap_or(f64::NAN);
    let times = simulated(&drawn.machine, drawn.nodes, |node| {
        Ok(points.iter().map(|(model, at)| kernel(node, model, at)).collect::<Vec<f64>>())
    });
    Ok(times?.swap_remove(0))
}

/// The text of samples with these timings of each point.
fn samples(nodes: usize, points: &[(String, Vec<i64>)], timings: &[Vec<f64>]) -> Result<Samples, String> {
    let transport = if timings.iter().all(|all| all.len() == 1) { "sim:drawn" } else { "threads" };
    let mut text = format!(
        "strata-samples 1\nplatform {transport} nodes={nodes} cores=1 cpu=\"\" cache=\"\" os=linux arch=any\n"
    );
    let mut last = "";
    for (number, ((model, at), timings)) in points.iter().zip(timings).enumerate() {
        if model != last {
            let variables = match (model.as_str(), at.len()) {
                ("Echo", _) => "bytes hops peer",
                (_, 0) => "",
                _ => "bytes",
            };
            text += format!("model {model} {variables}").trim_end();
            text.push('\n');
            last = model;
        }
        let words = |sign: &str| at.iter().map(i64::to_string).collect::<Vec<_>>().join(sign);
        let place = if at.is_empty() { String::new() } else { format!("at={} ", words(",")) };
        text += &format!(
            "{}\n&",
            [format!("{model} {:e}", timings[0]), words(" "), format!("; {place}repeats=1")]
                .join(" ")
                .replace("  ", " ")
        );
        for (turn, seconds) in timings.iter().enumerate() {
            text += &format!(" {seconds:e}@{}", turn * points.len() + number);
        }
        text.push('\n');
    }
    Samples::parse(&text, "drawn").map_err(|error| error.to_string())
}

/// What the command would measure: the echo over all distances, and the parts of a message.
fn results(drawn: &Drawn) -> Result<Results, String> {
    let graph = Graph::new(&drawn.machine, drawn.nodes).map_err(|e| e.to_string())?;
    let mut peers: Vec<Peer> = Vec::new();
    for node in 1..drawn.nodes {
        let hops = graph.hops(0, node) as i64;
        if peers.iter().all(|peer| peer.hops != hops) {
            peers.push(Peer { hops, node: node as i64 });
        }
    }
    let ground = Ground { peers, no_hops: String::new(), ..Ground::unknown(drawn.nodes, false) };
    let nearest = ground.peers[0].hops;
    let kernels: Vec<_> = ["echo", "loggp"].into_iter().filter_map(suite::kernel_named).collect();
    let plan = suite::plan(&kernels, &ground, None, &[]);
    let mut points: Vec<(String, Vec<i64>)> = Vec::new();
    for model in ["Echo", "SendOverhead", "ReceiveOverhead", "Gap"] {
        let all = plan.points.of(model).unwrap_or_default().iter().filter(|at| at[0] <= LONGEST);
        points.extend(all.map(|at| (model.to_owned(), at.clone())));
    }
    points.push(("Poll".to_owned(), Vec::new()));
    let mut all: Vec<Vec<f64>> = times(drawn, &points)?.into_iter().map(|time| vec![time]).collect();
    let mut found = Results::of(&samples(drawn.nodes, &points, &all)?);
    for _ in 0..12 {
        let known =
            |size: i64| points.iter().any(|(model, at)| model == "Echo" && at[..2] == [size, nearest]);
        let more: Vec<_> = found
            .more_sizes()
            .into_iter()
            .filter(|size| !known(*size))
            .map(|size| ("Echo".to_owned(), vec![size, nearest, 1]))
            .collect();
        if more.is_empty() {
            break;
        }
        all.splice(0..0, times(drawn, &more)?.into_iter().map(|time| vec![time]));
        points.splice(0..0, more);
        found = Results::of(&samples(drawn.nodes, &points, &all)?);
    }
    Ok(found)
}

/// The least size that reaches half of the bandwidth of the longest message.
fn half_of_peak(drawn: &Drawn) -> Result<f64, String> {
    let bandwidth = |size: i64| -> Result<f64, String> {
        Ok(size as f64 / times(drawn, &[("Echo".to_owned(), vec![size, 1, 1])])?[0])
    };
    let half = bandwidth(LONGEST)? / 2.0;
    let (mut below, mut above) = (0, LONGEST);
    while above - below > 1 {
        let middle = (below + above) / 2;
        if bandwidth(middle)? < half { below = middle } else { above = middle }
    }
    // A packet more makes a message slower, so that smaller ones may have reached it before.
    let step = (above / 400).max(1) as usize;
    let sizes: Vec<_> = (above * 6 / 10..=above).step_by(step).map(|size| size.max(1)).collect();
    let points: Vec<_> = sizes.iter().map(|size| ("Echo".to_owned(), vec![*size, 1, 1])).collect();
    let reach =
        times(drawn, &points)?.into_iter().zip(sizes).find(|(time, size)| *size as f64 / time >= half);
    Ok(reach.map_or(above, |(_, size)| size) as f64)
}

/// Figures, how many of them are within [`CLOSE`], and the greatest error of each.
pub(crate) struct Recovered {
    pub(crate) figures: usize,
    pub(crate) close: usize,
    pub(crate) worst: f64,
}

/// The table of all kinds.
pub(crate) fn recovered(seed: u64) -> Result<Recovered, String> {
    println!("\nMachines drawn at random, {EACH} of each kind: figures within 3 %, and the greatest error\n");
    columns(" | L | o_s | o_r | g | G | hop | last short size | N50");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut sum = Recovered { figures: 0, close: 0, worst: 0.0 };
    for (kind, name) in
        ["crossbar", "mesh, 16 nodes", "hypercube, 8 nodes, two protocols"].into_iter().enumerate()
    {
        let mut errors: [Vec<f64>; 8] = Default::default();
        for _ in 0..EACH {
            let drawn = draw(kind, &mut random)?;
            let found = results(&drawn)?;
            // Of the two nodes that were timed.
            let truth = Figures::new(&drawn.machine, 2).map_err(|e| e.to_string())?;
            let loggp = found.loggp.ok_or("no LogGP")?;
            let echo = found.kernel("Echo").ok_or("no echo")?;
            // Long messages of this kind are moved by the network.
            let gap_byte = truth.dma.map_or(truth.gap_byte, f64::recip);
            let pairs = [
                (Some(loggp.latency.value), Some(truth.latency.0.seconds())),
                (Some(loggp.o_s.value), Some(truth.send.seconds())),
                (Some(loggp.o_r.value), Some(truth.receive.seconds())),
                (Some(loggp.g.value), Some(truth.gap.seconds())),
                (Some(loggp.gap_byte.value), Some(gap_byte)),
                (echo.per_hop.last().map(|hop| hop.seconds.value), drawn.hop),
                (echo.breaks.first().map(|one| one.after), drawn.last_short),
                (echo.n50, Some(half_of_peak(&drawn)?)),
            ];
            for (errors, (found, truth)) in errors.iter_mut().zip(pairs) {
                let Some(truth) = truth else { continue };
                errors.push(found.map_or(f64::INFINITY, |found| (found / truth - 1.0).abs()));
            }
        }
        let mut cells = vec![name.to_owned()];
        for errors in &errors {
            let close = errors.iter().filter(|error| **error <= CLOSE).count();
            let worst = errors.iter().copied().fold(0.0, f64::max);
            sum.figures += errors.len();
            sum.close += close;
            sum.worst = sum.worst.max(worst);
            cells.push(if errors.is_empty() {
                "-".to_owned()
            } else {
                format!("{close}, {:.1} %", 100.0 * worst)
            });
        }
        row(&cells);
    }
    Ok(sum)
}

/// The shares of 95 % intervals that hold the truth under noise: of medians, and of start-up times
/// and times per byte. Machines are straight lines, so that the truth is known.
pub(crate) fn coverage(seed: u64) -> Result<[f64; 2], String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut medians, mut lines) = ([0usize; 2], [0usize; 2]);
    let count = |of: &mut [usize; 2], holds: bool| {
        of[0] += usize::from(holds);
        of[1] += 1;
    };
    let (_, model) = model_named("Exchange").ok_or("no kernel")?;
    for _ in 0..200 {
        let (start, each) = (random.random_range(1e-6..1e-4), random.random_range(1e-10..1e-8));
        let noise = random.random_range(0.005..0.05);
        let timings = random.random_range(20..60usize);
        let sizes: Vec<i64> = (0..=16).map(|bits| 1 << bits).collect();
        let right = |size: i64| start + each * size as f64;
        let points: Vec<_> = sizes.iter().map(|size| (model.model.to_owned(), vec![*size])).collect();
        let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        // Skewed as timings are, with the truth as its median.
        let series = |size: &i64| (0..timings).map(|_| right(*size) * (noise * normal()).exp()).collect();
        let all: Vec<Vec<f64>> = sizes.iter().map(series).collect();
        let found = Results::of(&samples(2, &points, &all)?);
        let kernel = found.kernel(model.model).ok_or("no results")?;
        for point in &kernel.points {
            let right = right(point.at[0]);
            count(&mut medians, (point.belief.low..=point.belief.high).contains(&right));
        }
        let Some(curve) = kernel.curve.as_ref().filter(|curve| curve.pieces.len() == 1) else { continue };
        let piece = curve.pieces[0];
        for (found, right) in [(piece.start, start), (piece.per_byte, each)] {
            count(&mut lines, (found.low..=found.high).contains(&right));
        }
    }
    let share = |[holds, all]: [usize; 2]| holds as f64 / all as f64;
    println!("\nIntervals of 95 % that hold the truth under noise\n");
    columns("of | number | hold it");
    for (what, of) in [("medians", medians), ("start-up times and times per byte", lines)] {
        println!("| {what} | {} | {:.1} % |", of[1], 100.0 * share(of));
    }
    Ok([share(medians), share(lines)])
}
