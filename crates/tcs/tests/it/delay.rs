//! The greatest delays that the linker promises, beside those of the simulated machine.

use crate::common::by;
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use proptest::prelude::*;
use strata_runtime::Error;
use strata_tcs::{
    App, Connection, LinkError, RunOptions, Shape, Target, TaskId, USUAL_DEPTH, link, simulate,
};

strata_tcs::communication! {
    networks { Data }
    sets { Go: Data; }
}

/// A connection of a random network.
#[derive(Clone, Debug)]
struct Flow {
    from: usize,
    to: usize,
    /// The share of a link that is reserved; `None`: it sends all the time.
    share: Option<f64>,
    depth: usize,
    bytes: usize,
}

/// What was seen of a connection: the greatest delay, and the promised one, in clocks.
type Seen = (f64, f64);

/// Runs connections between cells of a grid, each with cells of its own. The senders with a
/// reservation send as much as they may at once, then wait until they may again; the others send all
/// the time. A delay is from when a burst is there to when its last message is.
fn delays<T: Pod>(wide: usize, flows: &[Flow], bursts: usize) -> Result<Option<Vec<Seen>>, Error> {
    let shape = Shape::Mesh { width: wide, height: 4 };
    let target = Target { shape, slots: None, ..Target::iwarp(wide, 4) };
    let full = target.link_bandwidth().unwrap_or(0.0);
    let mut app = App::new("flows");
    let root = app.task("flows", target.cells);
    let lanes: Vec<Connection<T, Data>> = flows
        .iter()
        .map(|flow| {
            let lane = app[root].connect(flow.from, flow.to);
            app[root].depth(lane, flow.depth);
            if let Some(share) = flow.share {
                app[root].reserve(lane, share * full);
            }
            lane
        })
        .collect();
    app[root].set::<Go>();
    // What does not fit is refused, which is tested elsewhere.
    let Ok(image) = link(&app, root, &target) else { return Ok(None) };
    let promised: Vec<f64> = image.report().connections().map(|of| of.bound.unwrap()).collect();
    let run = simulate(&image, |cell| {
        let me = cell.id();
        let sends = flows.iter().position(|flow| flow.from == me);
        let takes = flows.iter().position(|flow| flow.to == me);
        cell.phase::<Go, _>(|net| {
            // All start when the last has left the barrier.
            let start = 4000.0;
            let of = |flow: &Flow| (flow.depth / flow.bytes, flow.bytes / 8);
            if let Some((number, flow)) = sends.map(|number| (number, &flows[number])) {
                let (count, words) = of(flow);
                // A little later than may be, for the rounding of times.
                let pause =
                    flow.share.map_or(0.0, |share| 1.0 + (count * flow.bytes) as f64 / (share * 1.998));
                for burst in 0..bursts {
                    let at = start + burst as f64 * pause;
                    net.work((at - net.clocks()).max(0.0), || ());
                    for _ in 0..count {
                        let at = if flow.share.is_some() { at } else { net.clocks() };
                        net.send(lanes[number], cast_slice::<u64, T>(&vec![at.to_bits(); words]));
                    }
                }
            }
            let mut most = 0.0f64;
            if let Some((number, flow)) = takes.map(|number| (number, &flows[number])) {
                let (count, words) = of(flow);
                let mut data = vec![0; words];
                for _ in 0..bursts * count {
                    net.receive(lanes[number], cast_slice_mut::<u64, T>(&mut data));
                    most = most.max(net.clocks() - f64::from_bits(data[0]));
                }
            }
            Ok(most)
        })
    })?;
    Ok(Some(flows.iter().zip(promised).map(|(flow, promised)| (run.results[flow.to], promised)).collect()))
}

/// Connections over one line of cells, each in its own row at its ends.
fn crossing(count: usize, share: impl Fn(usize) -> Option<f64>, depth: usize, bytes: usize) -> Vec<Flow> {
    (0..count)
        .map(|number| Flow { from: number, to: 8 + number, share: share(number), depth, bytes })
        .collect()
}

/// How near the promise is, for messages of one element each: the ratio of the promised delay to the greatest
/// one that was seen.
#[test]
fn a_promise_is_near_what_happens() {
    let most = |flows: &[Flow]| {
        let seen = delays::<[u64; 64]>(16, flows, 6).unwrap().unwrap();
        assert!(seen.iter().all(|(seen, promised)| seen <= promised), "{seen:?}");
        let ratio = |(seen, promised): &Seen| promised / seen;
        seen.iter()
            .zip(flows)
            .filter(|(_, flow)| flow.share.is_some())
            .map(|(seen, _)| ratio(seen))
            .fold(0.0, f64::max)
    };
    // Alone on its links; four that share them; one beside others that send all the time.
    let alone = most(&crossing(1, |_| Some(0.3), 4096, 512));
    let shared = most(&crossing(4, |_| Some(0.2), 4096, 512));
    let beside = most(&crossing(4, |number| (number == 0).then_some(0.25), 4096, 512));
    println!(
        "promised / seen: alone {alone:.2}, four with reservations {shared:.2}, beside greedy ones {beside:.2}"
    );
    assert!(alone < 1.1 && shared < 1.5 && beside < 1.1, "{alone} {shared} {beside}");
}

/// Two cells, and a connection at a reserved rate.
fn reserved<T: Pod>(target: &Target, rate: f64, depth: usize) -> (App, TaskId, Connection<T, Data>) {
    let mut app = App::new("flow");
    let root = app.task("flow", target.cells);
    let lane = app[root].connect(0, 1);
    app[root].reserve(lane, rate);
    app[root].depth(lane, depth);
    app[root].set::<Go>();
    (app, root, lane)
}

/// A sender that gives more than it has reserved is told.
#[test]
fn a_sender_that_exceeds_its_reservation_is_told() {
    let target = Target::iwarp(2, 1);
    let (app, root, lane) = reserved::<u64>(&target, 2e6, 512);
    let image = link(&app, root, &target).unwrap();
    // 0.1 bytes a clock: 8 in 80.
    let every = |clocks: f64, reservations: bool| {
        let options = RunOptions { simulated: true, reservations, ..RunOptions::default() };
        by("iwarp", &image, options, |cell| {
            cell.phase::<Go, _>(|net| {
                for at in 0..1000 {
                    if net.id() == 0 {
                        net.work((f64::from(at) * clocks - net.clocks()).max(0.0), || ());
                        net.send(lane, &[1]);
                    } else {
                        net.receive(lane, &mut [0]);
                    }
                }
                Ok(())
            })
        })
    };
    assert!(every(81.0, true).is_ok());
    assert!(every(60.0, false).is_ok(), "what others leave may be used");
    let told = every(60.0, true).unwrap_err();
    let said = ["`Data` 0 -> 1 of `flow` exceeds its reservation", "2000000 bytes a second", "cell 0"];
    assert!(said.iter().all(|said| told.contains(said)), "{told}");
}

/// On threads it is told where senders are checked, whatever the time; elsewhere nothing slows it down.
#[test]
fn threads_are_told_too_where_they_are_checked() {
    let known = Target { link_rate: Some(8.0), ..Target::crossbar(2) };
    let (app, root, lane) = reserved::<u64>(&known, 1e-3, 64);
    let image = link(&app, root, &known).unwrap();
    let sends = |reservations| {
        let options = RunOptions { reservations, ..RunOptions::default() };
        by("threads", &image, options, |cell| {
            cell.phase::<Go, _>(|net| {
                (0..100).for_each(|_| match net.id() {
                    0 => net.send(lane, &[1]),
                    _ => net.receive(lane, &mut [0]),
                });
                Ok(())
            })
        })
    };
    assert!(sends(false).is_ok());
    let told = sends(true).unwrap_err();
    assert!(told.contains("`Data` 0 -> 1 of `flow` exceeds its reservation"), "{told}");
}

/// Messages are at least as long as was said.
#[test]
fn messages_shorter_than_said_are_told() {
    let (mut app, root, lane) = reserved::<u8>(&Target::iwarp(2, 1), 5e6, USUAL_DEPTH);
    // A cell takes 18 clocks for a message, of whatever length.
    let short = link(&app, root, &Target::iwarp(2, 1)).unwrap_err();
    assert!(short.all().iter().any(|error| matches!(error, LinkError::Short { bytes: 1, .. })), "{short}");
    app[root].shortest(lane, 512);
    let image = link(&app, root, &Target::iwarp(2, 1)).unwrap();
    let options = RunOptions { reservations: true, ..RunOptions::default() };
    let sends = |bytes: usize| {
        by("threads", &image, options, |cell| {
            cell.phase::<Go, _>(|net| {
                if net.id() == 0 {
                    net.send(lane, &vec![1; bytes]);
                    return Ok(bytes);
                }
                Ok(net.receive_vec(lane).len())
            })
        })
    };
    assert_eq!(sends(512).unwrap(), [512; 2]);
    let told = sends(511).unwrap_err();
    assert!(told.contains("a message of 511 bytes on `Data` 0 -> 1"), "{told}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever is reserved beside whatever sends all the time: no message comes later than promised.
    #[test]
    fn no_message_comes_later_than_promised(
        order in Just((0..32usize).collect::<Vec<_>>()).prop_shuffle(),
        flows in prop::collection::vec((prop::option::weighted(0.7, 0.02..0.6f64), 7u32..13, 3u32..10), 1..12),
    ) {
        let flows: Vec<Flow> = flows
            .into_iter()
            .enumerate()
            .map(|(number, (share, depth, bytes))| Flow {
                from: order[2 * number],
                to: order[2 * number + 1],
                share,
                depth: 1 << depth,
                bytes: 1 << bytes.min(depth),
            })
            .collect();
        if let Some(seen) = delays::<u64>(8, &flows, 4).unwrap() {
            for ((seen, promised), flow) in seen.iter().zip(&flows) {
                if flow.share.is_some() {
                    prop_assert!(seen <= promised, "{flow:?}: {seen} clocks, promised {promised}; {flows:?}");
                }
            }
        }
    }
}
