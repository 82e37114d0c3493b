//! What is raced on threads and on MPI: a message there and back, and steps of work between
//! exchanges.

use std::cell::Cell as Shared;
use std::hint::black_box;
use std::rc::Rc;
use strata_benches::{Timings, columns, head, turns};
use strata_runtime::{message::Request, prelude::*};
use strata_tcs::switch::Mode;
use strata_tcs::{App, Cell, Connection, Image, Options, Target, link_with, run};

strata_tcs::communication! {
    networks { pub(crate) There, pub(crate) Back }
    sets { pub(crate) Ping: There, Back; pub(crate) Other: There, Back; }
}

pub(crate) struct Pair {
    pub(crate) image: Image,
    there: Connection<u64, There>,
    back: Connection<u64, Back>,
}

/// Two cells with a connection each way, in both of two sets.
pub(crate) fn pair(mode: Mode) -> Result<Pair, Error> {
    let mut app = App::new("pair");
    let root = app.task("pair", 2);
    let (there, back) = (app[root].connect(0, 1), app[root].connect(1, 0));
    app[root].set::<Ping>();
    app[root].set::<Other>();
    let options = Options { switch: mode, ..Options::default() };
    Ok(Pair { image: link_with(&app, root, &Target::crossbar(2), &options)?, there, back })
}

/// Half of there and back, of 8 bytes: by a connection, and by active messages.
pub(crate) fn messages(
    node: &mut Node,
    pair: &Pair,
    rounds: usize,
    times: usize,
) -> Result<Vec<Timings>, Error> {
    let came = Rc::new(Shared::new(0u64));
    let mut handlers = node.handlers();
    let ping = handlers.request({
        let came = Rc::clone(&came);
        move |_, value: u64| came.set(value)
    });
    node.install(handlers);
    strata_benches::race(0..rounds, 0, 2, |_, who| {
        let seconds = if who == 0 {
            run(node, &pair.image, |cell| by_connection(cell, pair, times))?.unwrap_or(0.0)
        } else {
            by_messages(node, ping, &came, times)
        };
        Ok(seconds / (2 * times) as f64)
    })
}

/// Prints what [`messages`] found; returns the ratio.
pub(crate) fn print_messages(found: &[Timings]) -> f64 {
    let (connection, active) = (&found[0], &found[1]);
    columns(" | time | of the active message's");
    let ratio = connection.median() / active.median();
    println!("| connection | {connection} | {ratio:.2} |");
    println!("| active message | {active} | 1 |");
    ratio
}

fn by_connection(cell: &mut Cell<'_>, pair: &Pair, times: usize) -> Result<f64, Error> {
    cell.phase::<Ping, _>(|net| {
        let mut value = [1u64];
        let start = net.clocks();
        for _ in 0..times {
            if net.id() == 0 {
                net.send(pair.there, &value);
                net.receive(pair.back, &mut value);
            } else {
                net.receive(pair.there, &mut value);
                net.send(pair.back, &value);
            }
        }
        // Clocks of the target are nanoseconds.
        Ok((net.clocks() - start) * 1e-9)
    })
}

fn by_messages(node: &mut Node, ping: Request<u64>, came: &Rc<Shared<u64>>, times: usize) -> f64 {
    came.set(0);
    node.barrier();
    let start = node.now().get();
    for time in 1..=times as u64 {
        if node.rank() == 0 {
            node.send(1, ping, time);
            node.wait_until(|| came.get() == time);
        } else {
            node.wait_until(|| came.get() == time);
            node.send(0, ping, time);
        }
    }
    let seconds = node.now().get() - start;
    node.barrier();
    seconds
}

/// Work of a number of iterations; returns something of it.
pub(crate) fn work(iterations: u64) -> u64 {
    (0..iterations).fold(1, |value, at| black_box(value).wrapping_mul(31).wrapping_add(at))
}

/// Steps of each timing.
const STEPS: usize = 1000;

/// Work of a step, in iterations.
pub(crate) fn grains() -> Vec<u64> {
    (0..16).map(|step| 1 << step).collect()
}

/// By grain: seconds of a step alone, with an exchange by connections, and with an exchange by
/// `other`, which gets a value and returns the other node's.
pub(crate) fn granularity(
    node: &mut Node,
    pair: &Pair,
    rounds: usize,
    other: &mut dyn FnMut(&mut Node, u64) -> u64,
) -> Result<Vec<[Timings; 3]>, Error> {
    let grains = grains();
    let mut timings = vec![<[Timings; 3]>::default(); grains.len()];
    for round in 0..rounds {
        for (grain, timings) in grains.iter().zip(&mut timings) {
            for who in turns(round, 3) {
                node.barrier();
                let start = node.now().get();
                match who {
                    0 => _ = black_box((0..STEPS).map(|_| work(*grain)).fold(0, u64::wrapping_add)),
                    1 => {
                        run(node, &pair.image, |cell| step_by_connections(cell, pair, STEPS, *grain))?;
                    }
                    _ => {
                        let mut value = 1u64;
                        for _ in 0..STEPS {
                            value ^= work(*grain);
                            value ^= other(node, value);
                        }
                        black_box(value);
                    }
                }
                timings[who].push((node.now().get() - start) / STEPS as f64);
            }
        }
    }
    Ok(timings)
}

/// Prints what [`granularity`] found; returns the least step of both that is half work, in µs (METG
/// of 50 %: Slaughter and others, "Task Bench", SC 2020).
pub(crate) fn print_granularity(timings: &[[Timings; 3]], other: &str) -> [Option<f64>; 2] {
    head(&["work", "alone", "connections", other]);
    let mut least = [None; 2];
    for timings in timings {
        let alone = timings[0].median();
        let cells: Vec<String> =
            timings.iter().map(|timing| format!("{:.0} ns", timing.median() * 1e9)).collect();
        println!("| {:.0} ns | {} | {} | {} |", alone * 1e9, cells[0], cells[1], cells[2]);
        for (least, timing) in least.iter_mut().zip(&timings[1..]) {
            if least.is_none() && alone >= 0.5 * timing.median() {
                *least = Some(timing.median() * 1e6);
            }
        }
    }
    least
}

fn step_by_connections(cell: &mut Cell<'_>, pair: &Pair, steps: usize, grain: u64) -> Result<(), Error> {
    cell.phase::<Ping, _>(|net| {
        let (mut value, mut other) = ([1u64], [0u64]);
        for _ in 0..steps {
            value[0] ^= work(grain);
            if net.id() == 0 {
                net.send(pair.there, &value);
                net.receive(pair.back, &mut other);
            } else {
                net.send(pair.back, &value);
                net.receive(pair.there, &mut other);
            }
            value[0] ^= other[0];
        }
        black_box(value);
        Ok(())
    })
}
