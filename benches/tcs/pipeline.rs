//! A pipeline of four threads, predicted by composing measured parts.

use crate::Error;
use crate::steps::work;
use serde_json::{Map, Value};
use std::hint::black_box;
use strata_benches::{Timings, columns, race};
use strata_runtime::prelude::*;
use strata_tcs::{App, Connection, Cost, Image, Target, link, run};

strata_tcs::communication! {
    networks { Line }
    sets { Flow: Line; }
}

const STAGES: usize = 4;
/// Values of an item.
const ITEM: usize = 64;

/// Iterations of each stage's work: even, one slow stage, rising, two slow stages.
const SHAPES: [(&str, [u64; STAGES]); 4] = [
    ("even", [100_000; STAGES]),
    ("one slow", [50_000, 50_000, 400_000, 50_000]),
    ("rising", [50_000, 100_000, 150_000, 200_000]),
    ("two slow", [250_000, 50_000, 250_000, 50_000]),
];

struct Pipeline {
    image: Image,
    lanes: Vec<Connection<u64, Line>>,
}

fn pipeline() -> Result<Pipeline, Error> {
    let mut app = App::new("pipeline");
    let root = app.task("pipeline", STAGES);
    let lanes: Vec<_> = (1..STAGES).map(|stage| app[root].connect(stage - 1, stage)).collect();
    lanes.iter().for_each(|lane| app[root].depth(*lane, 8 * ITEM * 8));
    app[root].set::<Flow>();
    Ok(Pipeline { image: link(&app, root, &Target::crossbar(STAGES))?, lanes })
}

/// Seconds for so many items through all stages, on the last one.
fn flow(node: &mut Node, of: &Pipeline, works: &[u64; STAGES], items: usize) -> Result<f64, Error> {
    let seconds = run(node, &of.image, |cell| {
        let me = cell.id();
        cell.sync();
        cell.phase::<Flow, _>(|net| {
            let mut item = [me as u64; ITEM];
            let start = net.clocks();
            for _ in 0..items {
                if let Some(before) = me.checked_sub(1) {
                    net.receive(of.lanes[before], &mut item);
                }
                item[0] = item[0].wrapping_add(work(works[me]));
                if let Some(lane) = of.lanes.get(me) {
                    net.send(*lane, &item);
                }
            }
            black_box(item);
            // Clocks of the target are nanoseconds.
            Ok((net.clocks() - start) * 1e-9)
        })
    })?;
    Ok(node.reduce_max(seconds.unwrap_or(0.0)))
}

/// The parts: seconds of an iteration of work, where all cores work, and of an item sent there and
/// received.
fn parts(node: &mut Node, of: &Pipeline, rounds: usize) -> Result<[f64; 2], Error> {
    const ITERATIONS: u64 = 1_000_000;
    let mut timings = [Timings::default(), Timings::default()];
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for _ in 0..rounds {
        node.barrier();
        let start = node.now().get();
        if node.rank() < cores {
            black_box(work(ITERATIONS));
            timings[0].push((node.now().get() - start) / ITERATIONS as f64);
        }
        // Items without work, of which all stages send and receive one after the other.
        let items = 1000;
        let seconds = flow(node, of, &[0; STAGES], items)?;
        timings[1].push(seconds / items as f64);
    }
    Ok([timings[0].median(), timings[1].median()])
}

/// A pipeline of these stages on so many cores. The run-time binds nodes to cores in turn, so the
/// stages of a core come one after the other.
fn predicted(works: &[u64; STAGES], items: usize, [iteration, message]: [f64; 2], cores: usize) -> f64 {
    let mut of_core = vec![Vec::new(); cores];
    for (stage, work) in works.iter().enumerate() {
        of_core[stage % cores].push(Cost::from(*work as f64 * iteration));
    }
    let works = Cost::Pipeline(items as u64, of_core.into_iter().map(Cost::Sequence).collect());
    let messages = Cost::Repeat(items as u64, Box::new(message.into()));
    Cost::Sequence(vec![works, messages]).estimate().mean
}

pub(crate) fn measure(quick: bool, summary: &mut Map<String, Value>) -> Result<(), Error> {
    let (rounds, items) = if quick { (3, 40) } else { (15, 200) };
    let of = pipeline()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(STAGES);
    let found = Machine::threads(STAGES)?.run(|node| {
        let parts = parts(node, &of, rounds)?;
        let shape = |_, shape: usize| flow(node, &of, &SHAPES[shape].1, items);
        Ok((parts, race(0..rounds, 0, SHAPES.len(), shape)?))
    })?;
    let Some((parts, timings)) = found.into_iter().next() else { return Ok(()) };
    println!(
        "\nA pipeline of {STAGES} threads on {cores} cores, {items} items; composed of work ({:.3} ns an iteration) \
         and items without work ({:.2} µs):\n",
        parts[0] * 1e9,
        parts[1] * 1e6
    );
    columns("stages | measured | predicted | error");
    let mut worst: f64 = 0.0;
    for ((name, works), timing) in SHAPES.iter().zip(&timings) {
        let predicted = predicted(works, items, parts, cores);
        let error = predicted / timing.median() - 1.0;
        worst = worst.max(error.abs());
        let predicted = format!("{:.3} ms", predicted * 1e3);
        println!("| {} | {timing} | {predicted} | {:+.1} % |", *name, 100.0 * error);
    }
    summary.insert("pipeline_worst_error".into(), worst.into());
    Ok(())
}
