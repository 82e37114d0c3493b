//! Connections on two threads beside the run-time's active messages, in one run.

use crate::Error;
use serde_json::{Map, Value};
use std::cell::Cell as Shared;
use std::hint::black_box;
use std::rc::Rc;
use strata_benches::{Timings, head, row, turns};
use strata_runtime::{Request, prelude::*};
use strata_tcs::switch::Mode;
use strata_tcs::{App, Cell, Connection, Image, Options, Target, link_with, run};

strata_tcs::communication! {
    networks { There, Back }
    sets { Ping: There, Back; Other: There, Back; }
}

struct Pair {
    image: Image,
    there: Connection<u64, There>,
    back: Connection<u64, Back>,
}

/// Two cells with a connection each way, in both of two sets.
fn pair(mode: Mode) -> Result<Pair, Error> {
    let mut app = App::new("pair");
    let root = app.task("pair", 2);
    let (there, back) = (app[root].connect(0, 1), app[root].connect(1, 0));
    app[root].set::<Ping>();
    app[root].set::<Other>();
    let options = Options { switch: mode, ..Options::default() };
    Ok(Pair { image: link_with(&app, root, &Target::crossbar(2), &options)?, there, back })
}

pub(crate) fn measure(quick: bool, summary: &mut Map<String, Value>) -> Result<(), Error> {
    let (rounds, times) = if quick { (20, 2000) } else { (200, 20_000) };
    message(rounds, times, summary)?;
    granularity(rounds, summary)?;
    switches(rounds, times / 10, summary)
}

/// A message of 8 bytes there and back, by a connection and by active messages.
fn message(rounds: usize, times: usize, summary: &mut Map<String, Value>) -> Result<(), Error> {
    let pair = pair(Mode::Triple)?;
    let found = Machine::threads(2)?.run(|node| {
        let came = Rc::new(Shared::new(0u64));
        let mut handlers = node.handlers();
        let ping = handlers.request({
            let came = Rc::clone(&came);
            move |_, value: u64| came.set(value)
        });
        node.install(handlers);
        let mut timings = [Timings::default(), Timings::default()];
        for round in 0..rounds {
            for who in turns(round, 2) {
                let seconds = if who == 0 {
                    run(node, &pair.image, |cell| by_connection(cell, &pair, times))?.unwrap_or(0.0)
                } else {
                    by_messages(node, ping, &came, times)
                };
                timings[who].push(seconds / (2 * times) as f64);
            }
        }
        Ok(timings)
    })?;
    let [connection, active] = &found[0];
    println!("\n8 bytes from a thread to another one, half of there and back:\n");
    head(&["", "time", "of the active message's"]);
    let ratio = connection.median() / active.median();
    row(&["connection".into(), connection.to_string(), format!("{ratio:.2}")]);
    row(&["active message".into(), active.to_string(), "1".into()]);
    summary.insert("connection_ns".into(), (connection.median() * 1e9).into());
    summary.insert("active_message_ns".into(), (active.median() * 1e9).into());
    summary.insert("connection_to_active_message".into(), ratio.into());
    Ok(())
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
fn work(iterations: u64) -> u64 {
    (0..iterations).fold(1, |value, at| black_box(value).wrapping_mul(31).wrapping_add(at))
}

/// The least work between two exchanges at which half of the time is work (METG of 50 %: Slaughter
/// and others, "Task Bench", SC 2020), for a stencil of two nodes.
fn granularity(rounds: usize, summary: &mut Map<String, Value>) -> Result<(), Error> {
    const STEPS: usize = 1000;
    let pair = pair(Mode::Triple)?;
    let grains: Vec<u64> = (0..16).map(|step| 1 << step).collect();
    let found = Machine::threads(2)?.run(|node| {
        // By grain: alone, by connections, by a collective of all nodes.
        let mut timings = vec![[Timings::default(), Timings::default(), Timings::default()]; grains.len()];
        for round in 0..rounds / 4 {
            for (grain, timings) in grains.iter().zip(&mut timings) {
                for who in turns(round, 3) {
                    node.barrier();
                    let start = node.now().get();
                    match who {
                        0 => _ = black_box((0..STEPS).map(|_| work(*grain)).fold(0, u64::wrapping_add)),
                        1 => {
                            run(node, &pair.image, |cell| step_by_connections(cell, &pair, STEPS, *grain))?;
                        }
                        _ => {
                            let mut value = 1u64;
                            for _ in 0..STEPS {
                                value ^= work(*grain);
                                value = node.all_gather(&[value]).into_iter().fold(0, |a, b| a ^ b);
                            }
                            black_box(value);
                        }
                    }
                    timings[who].push((node.now().get() - start) / STEPS as f64);
                }
            }
        }
        Ok(timings)
    })?;
    println!("\nSteps of work between exchanges of 8 bytes, two threads:\n");
    head(&["work", "alone", "connections", "a collective"]);
    let mut least = [None; 2];
    for timings in &found[0] {
        let alone = timings[0].median();
        let cells: Vec<String> = timings.iter().map(|timing| format!("{:.0} ns", timing.median() * 1e9)).collect();
        row(&[format!("{:.0} ns", alone * 1e9), cells[0].clone(), cells[1].clone(), cells[2].clone()]);
        for (least, timing) in least.iter_mut().zip(&timings[1..]) {
            if least.is_none() && alone >= 0.5 * timing.median() {
                *least = Some(timing.median());
            }
        }
    }
    let micros = |least: Option<f64>| least.map_or(Value::Null, |seconds| (seconds * 1e6).into());
    summary.insert("metg_connections_us".into(), micros(least[0]));
    summary.insert("metg_collective_us".into(), micros(least[1]));
    Ok(())
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

/// Switches of each mode, predicted from the measured barrier and the switch of one barrier.
fn switches(rounds: usize, times: usize, summary: &mut Map<String, Value>) -> Result<(), Error> {
    let pairs = [Mode::Single, Mode::Double, Mode::Triple].map(pair);
    let [single, double, triple] = pairs;
    let pairs = [single?, double?, triple?];
    let found = Machine::threads(2)?.run(|node| {
        // The barrier, and the switch of each mode.
        let mut timings: [Timings; 4] = Default::default();
        for round in 0..rounds {
            for who in turns(round, 4) {
                let image = &pairs[who.saturating_sub(1)].image;
                let seconds = run(node, image, |cell| {
                    cell.phase::<Other, _>(|_| Ok(()))?;
                    let start = cell.clocks();
                    for _ in 0..times {
                        if who == 0 {
                            cell.sync();
                            cell.sync();
                        } else {
                            cell.phase::<Ping, _>(|_| Ok(()))?;
                            cell.phase::<Other, _>(|_| Ok(()))?;
                        }
                    }
                    Ok((cell.clocks() - start) * 1e-9)
                })?;
                timings[who].push(seconds.unwrap_or(0.0) / (2 * times) as f64);
            }
        }
        Ok(timings)
    })?;
    let [barrier, single, double, triple] = &found[0];
    let rest = single.median() - barrier.median();
    println!("\nSwitches of two threads, predicted as their barriers and what the single one has beside:\n");
    head(&["", "measured", "predicted", "error"]);
    row(&["barrier".into(), barrier.to_string(), String::new(), String::new()]);
    row(&["single".into(), single.to_string(), String::new(), String::new()]);
    for (name, timing, barriers) in [("double", double, 2.0), ("triple", triple, 3.0)] {
        let predicted = barriers * barrier.median() + rest;
        let error = predicted / timing.median() - 1.0;
        let predicted = format!("{:.3} µs", predicted * 1e6);
        row(&[name.into(), timing.to_string(), predicted, format!("{:+.1} %", 100.0 * error)]);
        summary.insert(format!("switch_{name}_error"), error.into());
        summary.insert(format!("switch_{name}_ns"), (timing.median() * 1e9).into());
    }
    Ok(())
}
