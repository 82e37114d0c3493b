//! Connections on threads beside the run-time's active messages and collectives, in one run.

use crate::Error;
use crate::lengths::{lanes, print_lengths};
use crate::steps::{Other, Ping, granularity, messages, pair, print_granularity, print_messages};
use serde_json::{Map, Value};
use strata_benches::{columns, race};
use strata_runtime::prelude::*;
use strata_tcs::run;
use strata_tcs::switch::Mode;

pub(crate) fn measure(quick: bool, summary: &mut Map<String, Value>) -> Result<(), Error> {
    let (rounds, times) = if quick { (20, 2000) } else { (200, 20_000) };
    let two = pair(Mode::Triple)?;
    let found = Machine::threads(2)?.run(|node| messages(node, &two, rounds, times))?;
    println!("\n8 bytes from a thread to another one, half of there and back:\n");
    let ratio = print_messages(&found[0]);
    let (connection, active) = (&found[0][0], &found[0][1]);
    summary.insert("connection_ns".into(), (connection.median() * 1e9).into());
    summary.insert("active_message_ns".into(), (active.median() * 1e9).into());
    summary.insert("connection_to_active_message".into(), ratio.into());

    let found = Machine::threads(2)?.run(|node| {
        granularity(node, &two, rounds / 4, &mut |node, value| {
            node.all_gather(&[value]).into_iter().fold(0, |a, b| a ^ b)
        })
    })?;
    println!("\nSteps of work between exchanges of 8 bytes, two threads:\n");
    let [connections, collective] = print_granularity(&found[0], "a collective");
    summary.insert("metg_connections_us".into(), connections.map_or(Value::Null, Value::from));
    summary.insert("metg_collective_us".into(), collective.map_or(Value::Null, Value::from));
    switches(rounds, times / 10, summary)
}

/// Messages of every length.
pub(crate) fn lengths(quick: bool, summary: &mut Map<String, Value>) -> Result<(), Error> {
    let lanes = lanes()?;
    let rounds = if quick { 20 } else { 200 };
    let found = Machine::threads(2)?.run(|node| crate::lengths::lengths(node, &lanes, rounds, false))?;
    println!("\nA message from a thread to another one, half of there and back:\n");
    print_lengths(&found[0], "connection", summary);
    Ok(())
}

/// Switches of each mode, predicted from the measured barrier and the switch of one barrier.
fn switches(rounds: usize, times: usize, summary: &mut Map<String, Value>) -> Result<(), Error> {
    let pairs = [Mode::Single, Mode::Double, Mode::Triple].map(pair);
    let [single, double, triple] = pairs;
    let pairs = [single?, double?, triple?];
    let found = Machine::threads(2)?.run(|node| {
        // The barrier, and the switch of each mode.
        race(0..rounds, 0, 4, |_, who| {
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
            Ok::<_, Error>(seconds.unwrap_or(0.0) / (2 * times) as f64)
        })
    })?;
    let [barrier, single, double, triple] = &found[0][..] else { return Ok(()) };
    let rest = single.median() - barrier.median();
    println!("\nSwitches of two threads, predicted as their barriers and what the single one has beside:\n");
    columns(" | measured | predicted | error");
    println!("| barrier | {barrier} | |  |");
    println!("| single | {single} | |  |");
    for (name, timing, barriers) in [("double", double, 2.0), ("triple", triple, 3.0)] {
        let predicted = barriers * barrier.median() + rest;
        let error = predicted / timing.median() - 1.0;
        let predicted = format!("{:.3} µs", predicted * 1e6);
        println!("| {name} | {timing} | {predicted} | {:+.1} % |", 100.0 * error);
        summary.insert(format!("switch_{name}_error"), error.into());
        summary.insert(format!("switch_{name}_ns"), (timing.median() * 1e9).into());
    }
    Ok(())
}
