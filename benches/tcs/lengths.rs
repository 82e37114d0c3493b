//! Messages of 8 bytes to 64 KiB there and back, on threads and on MPI: by a connection, by a put
//! into an opened port, and by active messages, in one run.

use serde_json::{Map, Value};
use std::cell::Cell as Shared;
use std::rc::Rc;
use strata_benches::{Timings, columns, turns};
use strata_runtime::{
    Block,
    message::{LARGEST_MESSAGE, Request, WithBytes},
    prelude::*,
};
use strata_tcs::{App, Cell, Connection, Image, RunOptions, Target, link, run_with};

strata_tcs::communication! {
    networks { Lane }
    sets { Both: Lane; }
}

const LENGTHS: [usize; 14] = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];

/// The longest message that an active message carries here.
const ACTIVE: usize = LARGEST_MESSAGE - size_of::<u64>();

/// Two cells with a connection each way.
pub(crate) struct Lanes {
    image: Image,
    lanes: [Connection<u8, Lane>; 2],
}

/// Connections of the usual depth.
pub(crate) fn lanes() -> Result<Lanes, Error> {
    let mut app = App::new("lengths");
    let root = app.task("lengths", 2);
    let lanes = [app[root].connect(0, 1), app[root].connect(1, 0)];
    app[root].set::<Both>();
    Ok(Lanes { image: link(&app, root, &Target::crossbar(2))?, lanes })
}

/// By length: half of there and back by a connection, by puts, and by active messages, which end at
/// [`ACTIVE`] bytes. A node sends what it has just received. `apart`: connections go by messages,
/// as between hosts.
pub(crate) fn lengths(
    node: &mut Node,
    lanes: &Lanes,
    rounds: usize,
    apart: bool,
) -> Result<Vec<[Timings; 3]>, Error> {
    let options = RunOptions { apart, ..RunOptions::default() };
    let came = Rc::new(Shared::new(0u64));
    let mut handlers = node.handlers();
    let ping = handlers.request_with_bytes({
        let came = Rc::clone(&came);
        move |_, value: u64, bytes| came.set(value + u64::from(bytes.first().copied().unwrap_or(0) > 1))
    });
    node.install(handlers);
    let mut timings = vec![<[Timings; 3]>::default(); LENGTHS.len()];
    for round in 0..rounds {
        for (bytes, timings) in LENGTHS.into_iter().zip(&mut timings) {
            let times = (1 << 18) / (bytes + 1024);
            for who in turns(round, 3) {
                let seconds = match who {
                    0 => run_with(node, &lanes.image, options, |cell| {
                        by_connection(cell, lanes, bytes, times)
                    })?,
                    1 => Some(by_puts(node, bytes, times)),
                    _ if bytes <= ACTIVE => Some(by_active_messages(node, ping, &came, bytes, times)),
                    _ => continue,
                };
                timings[who].push(seconds.unwrap_or(0.0) / (2 * times) as f64);
            }
        }
    }
    Ok(timings)
}

/// Prints what [`lengths`] found, and adds to the summary the ratios of a connection's time to that
/// of the faster message.
pub(crate) fn print_lengths(found: &[[Timings; 3]], way: &str, summary: &mut Map<String, Value>) {
    columns("bytes | connection | put | active message | of the faster message's");
    let mut worst = 0.0f64;
    let mut ratios = Map::new();
    for (bytes, [connection, put, active]) in LENGTHS.iter().zip(found) {
        let message = if active.is_empty() { put.median() } else { put.median().min(active.median()) };
        let ratio = connection.median() / message;
        worst = worst.max(ratio);
        let active = if active.is_empty() { String::new() } else { active.to_string() };
        println!("| {bytes} | {connection} | {put} | {active} | {ratio:.2} |");
        ratios.insert(bytes.to_string(), ratio.into());
    }
    summary.insert(format!("{way}_to_message_by_bytes"), ratios.into());
    summary.insert(format!("{way}_to_message_worst"), worst.into());
}

fn by_connection(cell: &mut Cell<'_>, lanes: &Lanes, bytes: usize, times: usize) -> Result<f64, Error> {
    cell.phase::<Both, _>(|net| {
        let mut data = vec![1u8; bytes];
        let me = net.id();
        let mut start = 0.0;
        for time in 0..=times {
            if time == 1 {
                start = net.clocks();
            }
            if me == 0 {
                net.send(lanes.lanes[0], &data);
                net.receive(lanes.lanes[1], &mut data);
            } else {
                net.receive(lanes.lanes[0], &mut data);
                net.send(lanes.lanes[1], &data);
            }
        }
        // Clocks of the target are nanoseconds.
        Ok((net.clocks() - start) * 1e-9)
    })
}

fn by_puts(node: &mut Node, bytes: usize, times: usize) -> f64 {
    let mut data = node.block::<u8>(bytes);
    data.fill(1);
    let other = 1 - node.rank();
    let open = |node: &mut Node, memory: Block<u8>| {
        node.open_port(0, memory);
        node.expect::<u8>(0, bytes);
    };
    let take = |node: &mut Node| {
        node.wait_for_port(0);
        node.close_port::<u8>(0)
    };
    let second = node.block(bytes);
    open(node, second);
    node.barrier();
    let mut start = 0.0;
    for time in 0..=times {
        if time == 1 {
            start = node.now().get();
        }
        // Memory for the next message is opened before the other node can know of it.
        if node.rank() == 0 {
            node.put_block(other, 0, 0, &data);
            let came = take(node);
            open(node, std::mem::replace(&mut data, came));
        } else {
            let came = take(node);
            open(node, std::mem::replace(&mut data, came));
            node.put_block(other, 0, 0, &data);
        }
    }
    let seconds = node.now().get() - start;
    node.barrier();
    drop(node.close_port::<u8>(0));
    seconds
}

fn by_active_messages(
    node: &mut Node,
    ping: Request<WithBytes<u64>>,
    came: &Rc<Shared<u64>>,
    bytes: usize,
    times: usize,
) -> f64 {
    let data = vec![1u8; bytes];
    came.set(0);
    node.barrier();
    let start = node.now().get();
    for time in 1..=times as u64 {
        if node.rank() == 0 {
            node.send_with_bytes(1, ping, time, &data);
            node.wait_until(|| came.get() == time);
        } else {
            node.wait_until(|| came.get() == time);
            node.send_with_bytes(0, ping, time, &data);
        }
    }
    let seconds = node.now().get() - start;
    node.barrier();
    seconds
}
