//! Luna's tables (1994, appendix C) beside simulated times: accesses, collectives, and a program
//! on 1 to 64 nodes.

use strata_benches::jobs::{asked_and_told, platform, simulated};
use strata_global::{Global, Space, Way};
use strata_runtime::prelude::*;
use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::trees::{Flow, Trees};

use super::{Origin, near, near_as, print_as};

#[path = "../../examples/global_product.rs"]
mod global_product;

/// Accesses of a stream: so many that latency no longer shows.
const TIMES: usize = 1000;
/// Messages of a burst, which fit every queue: what sending alone costs.
const BURST: usize = 4;

/// Blocks of a stream of them.
const BLOCKS: usize = 16;

pub(crate) fn rows() -> Result<(), String> {
    accesses()?;
    bandwidth()?;
    collectives()?;
    products()
}

/// A machine of which three times are printed, in microseconds: sending an active message, sending
/// one and receiving its answer in a stream, and a round trip. `poll` is a look in vain.
///
/// Receiving takes what a stream needs beside sending. Half a round trip less receiving is what
/// sending takes until the message leaves; the rest of sending comes after that. (Two sendings and
/// two receptions take longer than a round trip, as on machines of PROTEUS: see `atm.toml`.)
fn machine(name: &str, [send, stream, trip]: [f64; 3], poll: f64) -> Result<SimulatedMachine, String> {
    let receive = stream - send;
    let before = (trip - poll) / 2.0 - receive;
    let after = send - poll - before;
    let each = poll / 2.0;
    let text = format!(
        "name = \"{name}\"\nsummary = \"{name} by three times that Luna printed\"\n\
         [cpu]\nfrequency_mhz = 1\nkernel_factor = 100\n\
         [interface]\nsend_cycles = {before}\nsend_byte_cycles = 0\nafter_send_cycles = {after}\n\
         receive_cycles = {receive}\nreceive_byte_cycles = 0\nfailed_poll_cycles = {each}\n\
         dispatch_cycles = 0\nblock_setup_cycles = {send}\ncombine_call_cycles = 0\n\
         combine_word_cycles = 0\npacket_bytes = 80\nheader_bytes = 8\nlatency_cycles = 0\n\
         send_queue_packets = 8\nreceive_queue_packets = 16\n\
         [topology]\nkind = \"switch\"\nbackplane_mb_per_s = 10000\n\
         [link]\nbandwidth_mb_per_s = 10000\nlatency_cycles = 0\nbuffer_packets = 16\n\
         switching = \"cut-through\"\n"
    );
    SimulatedMachine::parse(name, text.as_bytes()).map_err(|error| error.to_string())
}

/// Tables 5 and 6: NXAM with and without the message processor, a look in vain at 5 µs (§4.1.3);
/// MPLp on the SP-1, a look chosen.
const OTHERS: [(&str, &str, [f64; 3], f64); 3] = [
    ("paragon-nxam", "table 5", [52.0, 107.0, 189.0], 5.0),
    ("paragon-nxam-1cpu", "table 5", [84.0, 292.0, 458.0], 5.0),
    ("sp1", "table 6", [33.7, 54.6, 88.6], 1.0),
];

/// Names of what is timed: three of active messages, five of global memory.
const ACCESSES: [&str; 8] = [
    "active message sent",
    "active message sent and answered, streamed",
    "active message, there and back",
    "store",
    "get",
    "put",
    "read",
    "write",
];

/// Their times in microseconds, on node 0 of two; node 1 receives meanwhile.
fn times(platform: &SimulatedMachine) -> Result<[f64; 8], String> {
    let run = simulated(platform, 2, |node| {
        let (came, [ask, tell]) = asked_and_told(node);
        let mut space = Space::open_by(node, 1 << 12, Way::Messages)?;
        let p = Global::<u64>::new(1, 8);
        let each = |space: &mut Space<'_>, times: usize, access: &dyn Fn(&mut Space<'_>)| {
            space.barrier();
            // When the other one waits in the next barrier.
            space.compute(1e4, || ());
            let start = space.now().get();
            if space.rank() == 0 {
                access(space);
            }
            let seconds = space.now().get() - start;
            space.barrier();
            1e6 * seconds / times as f64
        };
        let asked = |space: &mut Space<'_>, times: usize| {
            came.set(0);
            (0..times).for_each(|_| space.send(1, ask, [1; 2]));
            space.wait_until(|| came.get() == times);
        };
        Ok([
            each(&mut space, BURST, &|space| (0..BURST).for_each(|_| space.send(1, tell, [1; 2]))),
            each(&mut space, TIMES, &|space| asked(space, TIMES)),
            each(&mut space, TIMES, &|space| (0..TIMES).for_each(|_| asked(space, 1))),
            each(&mut space, BURST, &|space| (0..BURST).for_each(|_| space.store(p, 1))),
            each(&mut space, TIMES, &|space| {
                let mut values = vec![0; TIMES];
                space.phase(|phase| values.iter_mut().for_each(|value| phase.get(value, p)));
            }),
            each(&mut space, TIMES, &|space| {
                space.phase(|phase| (0..TIMES).for_each(|_| phase.put(p, 1)));
            }),
            each(&mut space, TIMES, &|space| (0..TIMES).for_each(|_| _ = space.read(p))),
            each(&mut space, TIMES, &|space| (0..TIMES).for_each(|_| space.write(p, 1))),
        ])
    });
    Ok(run?[0])
}

/// Tables 4 to 6. Nothing of Luna's is in the CM-5's file but the time of stores in a stream, which
/// is another one than that of a burst; its round trip is Brewer's.
fn accesses() -> Result<(), String> {
    let cm5 = platform("cm5")?;
    let measured = [1.6, 3.4, 13.1, 2.1, 4.4, 4.1, 14.0, 13.4];
    for ((what, thesis), ours) in ACCESSES.iter().zip(measured).zip(times(&cm5)?) {
        near_as(Origin::Derived, &format!("`cm5` {what}, us"), "Luna, table 4", thesis, ours, 2);
    }
    let measured = [
        [52.0, 107.0, 189.0, 53.0, 114.0, 109.0, 198.0, 198.0],
        [84.0, 292.0, 458.0, 87.0, 286.0, 290.0, 460.0, 464.0],
        [33.7, 54.6, 88.6, 34.5, 57.5, 57.0, 89.6, 89.2],
    ];
    for ((name, table, inputs, poll), measured) in OTHERS.into_iter().zip(measured) {
        let ours = times(&machine(name, inputs, poll)?)?;
        for (i, (what, thesis)) in ACCESSES.iter().zip(measured).enumerate() {
            // A get and a put take a round trip of the first rows, a store a message: to the digit.
            let origin = if i < 3 { Origin::Input } else { Origin::Derived };
            near_as(origin, &format!("`{name}` {what}, us"), &format!("Luna, {table}"), thesis, ours[i], 1);
        }
    }
    Ok(())
}

/// Section 5.2: what the text says of figure 10, "about 10 MB/sec" on the CM-5 and half of it "for a
/// message size of about 50 bytes"; opened segments are not counted. Of figures 11 to 15 it has no
/// number.
fn bandwidth() -> Result<(), String> {
    let cm5 = platform("cm5")?;
    let rate = |bytes: usize| {
        let run = simulated(&cm5, 2, |node| {
            node.install(node.handlers());
            if node.rank() == 1 {
                for port in 1..=BLOCKS {
                    node.open_port(port, Block::<u8>::zeroed(bytes));
                    node.expect::<u8>(port, bytes);
                }
            }
            node.barrier();
            let start = node.now().get();
            match node.rank() {
                0 => (1..=BLOCKS).for_each(|port| node.put(1, port, 0, &vec![1u8; bytes])),
                _ => (1..=BLOCKS).for_each(|port| node.wait_for_port(port)),
            }
            Ok((BLOCKS * bytes) as f64 / (node.now().get() - start) / 1e6)
        });
        Ok::<_, String>(run?[1])
    };
    let peak = rate(16_000)?;
    let mut half = 0;
    for bytes in (8..=1000).step_by(8) {
        if half == 0 && rate(bytes)? >= peak / 2.0 {
            half = bytes;
        }
    }
    near_as(Origin::Derived, "`cm5` blocks from one node to another, MB/s", "Luna, figure 10", 10.0, peak, 2);
    near_as(Origin::Derived, "`cm5` block for half of that, bytes", "Luna, figure 10", 50.0, half as f64, 0);
    Ok(())
}

const COLLECTIVES: [&str; 4] = ["barrier", "broadcast", "reduction to node 0", "inclusive scan"];

/// Microseconds of an operation of a stream: by trees, or by the transport's own collectives.
fn collective(
    platform: &SimulatedMachine,
    nodes: usize,
    trees: Option<(usize, Flow)>,
) -> Result<[f64; 4], String> {
    const TIMES: u64 = 200;
    let run = simulated(platform, nodes, |node| {
        let trees = trees.map(|(depth, flow)| Trees::install(node, depth, flow));
        let mut times = [0.0; 4];
        for (which, time) in times.iter_mut().enumerate() {
            node.barrier();
            let start = node.now().get();
            for round in 0..TIMES {
                match (which, &trees) {
                    (0, _) => node.barrier(),
                    (1, Some(trees)) => trees.broadcast(node, 0, &mut [round]),
                    (2, Some(trees)) => trees.reduce_to_first(node, Op::Add, &mut [round]),
                    (_, Some(trees)) => trees.inclusive_scan(node, Op::Add, &mut [round]),
                    (1, None) => node.broadcast(0, &mut [round]),
                    (2, None) => _ = node.reduce_add(round),
                    (_, None) => _ = node.inclusive_scan(Op::Add, round),
                }
            }
            node.barrier();
            *time = 1e6 * (node.now().get() - start) / TIMES as f64;
        }
        if trees.is_some() {
            node.uninstall();
        }
        Ok(times)
    });
    Ok(run?[0])
}

/// Tables 8 to 11. A barrier of the CM-5 is its control network's, of which Brewer's figure 6-6 is a
/// source.
fn collectives() -> Result<(), String> {
    let cm5 = platform("cm5")?;
    let barriers = Some((1, Flow::Barriers));
    let mut all = Vec::new();
    for (nodes, table, messages, network) in [
        (4, "table 8", [3.4, 25.2, 22.3, 48.1], [3.6, 12.5, 10.5, 12.1]),
        (64, "table 9", [3.2, 68.3, 65.3, 134.1], [4.4, 13.0, 10.4, 12.2]),
    ] {
        let ours = collective(&cm5, nodes, barriers)?;
        let by_network = collective(&cm5, nodes, None)?;
        for (i, name) in COLLECTIVES.iter().enumerate() {
            let table = format!("Luna, {table}");
            let origin = if i == 0 { Origin::Derived } else { Origin::Predicted };
            near_as(
                origin,
                &format!("`cm5` {name} by messages, {nodes} nodes, us"),
                &table,
                messages[i],
                ours[i],
                1,
            );
            let what = format!("`cm5` {name} by the control network, {nodes} nodes, us");
            near_as(Origin::Derived, &what, &table, network[i], by_network[i], 1);
        }
        all.push((messages, ours));
    }
    if let [(four, ours_four), (most, ours_most)] = all[..] {
        for i in 1..4 {
            let what = format!("`cm5` {} by messages, from 4 to 64 nodes slower by", COLLECTIVES[i]);
            let thesis = format!("{:.2}", most[i] / four[i]);
            let ours = ours_most[i] / ours_four[i];
            print_as(Origin::Predicted, &what, "Luna, tables 8, 9", &thesis, ours, 2, Some((2.5, 3.2)));
        }
    }
    let (name, _, inputs, poll) = OTHERS[0];
    let nxam = machine(name, inputs, poll)?;
    for (machine_name, platform) in [(name, nxam), ("paragon", platform("paragon")?)] {
        let dataflow = collective(&platform, 8, Some((3, Flow::Dataflow)))?;
        let barriers = collective(&platform, 8, barriers.map(|(_, flow)| (3, flow)))?;
        let (there, with) = ([705.0, 453.0, 486.0, 661.0], [705.0, 1597.0, 951.0, 2039.0]);
        for i in 0..4 {
            let what = |how| format!("`{machine_name}` {} {how}, 8 nodes", COLLECTIVES[i]);
            // PROTEUS's machine has no operating system: only ratios are comparable.
            if machine_name == name {
                let how = if i == 0 { "by messages" } else { "by data-flow" };
                near(&format!("{}, us", what(how)), "Luna, table 10", there[i], dataflow[i], 0);
            }
            if i > 0 {
                if machine_name == name {
                    near(
                        &format!("{}, us", what("with barriers")),
                        "Luna, table 10",
                        with[i],
                        barriers[i],
                        0,
                    );
                }
                let what = what("by data-flow faster than with barriers by");
                let thesis = format!("{:.2}", with[i] / there[i]);
                let ours = barriers[i] / dataflow[i];
                print_as(Origin::Predicted, &what, "Luna, table 10", &thesis, ours, 2, Some((2.0, 3.5)));
            }
        }
    }
    let (name, _, inputs, poll) = OTHERS[2];
    let ours = collective(&machine(name, inputs, poll)?, 8, Some((3, Flow::Dataflow)))?;
    for (i, thesis) in [314.0, 187.0, 221.0, 329.0].into_iter().enumerate() {
        near(&format!("`{name}` {}, 8 nodes, us", COLLECTIVES[i]), "Luna, table 11", thesis, ours[i], 0);
    }
    Ok(())
}

/// Tables 1 and 2: a product of matrices, the same on each node. Table 3, of a radix sort, is damaged.
fn products() -> Result<(), String> {
    let cm5 = platform("cm5")?;
    for (nodes, n, table, thesis) in
        [(4, 64, 1, 19.0), (4, 256, 1, 23.0), (4, 128, 2, 23.0), (16, 128, 2, 76.0), (64, 128, 2, 301.0)]
    {
        let ours = simulated(&cm5, nodes, |node| global_product::mflops(node, n))?[0];
        let origin = if n == 256 { Origin::Input } else { Origin::Predicted };
        let what = format!("`cm5` product, {n} x {n} on each of {nodes} nodes, MFLOPS");
        near_as(origin, &what, &format!("Luna, table {table}"), thesis, ours, 1);
    }
    Ok(())
}
