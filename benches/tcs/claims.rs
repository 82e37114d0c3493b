//! Claims H1 to H21: predictions by arithmetic, schedules, and simulated time. Nothing here needs a
//! quiet machine.

use crate::{Error, Found, chapter6, messages};
use serde_json::{Map, Value};
use strata_motion::{HEIGHT, Motion, Moves, WIDTH, iwarp};
use strata_tcs::barrier::{Algorithm, Costs};
use strata_tcs::{App, Connection, Image, LinkError, Options, Shape, Target, link, link_with, simulate};

strata_tcs::communication! {
    networks { Data, More }
    sets { Go: Data; Other: More; }
}

/// Measured rows of the thesis: cells, barrier, switch, start, end (Figs 4.22, 5.1, 5.3, 5.4).
const MEASURED: [((usize, usize), [f64; 4]); 5] = [
    ((2, 2), [97.0, 444.0, 575.0, 165.0]),
    ((4, 2), [146.0, 598.0, 725.0, 216.0]),
    ((4, 4), [242.0, 872.0, 1000.0, 310.0]),
    ((8, 4), [423.0, 1425.0, 1550.0, 489.0]),
    ((8, 8), [800.0, 2551.0, 2681.0, 870.0]),
];

pub(crate) fn all(quick: bool, summary: &mut Map<String, Value>) -> Result<Vec<Found>, Error> {
    let mut claims = Vec::new();
    transfers(&mut claims)?;
    barriers(&mut claims)?;
    primitives(&mut claims, summary)?;
    locality(&mut claims)?;
    patterns(&mut claims, summary);
    all_to_all(quick, &mut claims, summary)?;
    motion(quick, &mut claims, summary)?;
    linker(&mut claims)?;
    claims.sort_by_key(|claim| claim.0);
    Ok(claims)
}

fn percent(error: f64) -> String {
    format!("{:+.1} %", 100.0 * error)
}

fn line() -> Target {
    Target { shape: Shape::Mesh { width: 8, height: 1 }, slots: None, ..Target::iwarp(8, 1) }
}

/// A connection that starts at cell 0, and the image of it.
fn one(target: &Target, cells: usize, to: usize) -> Result<(Image, Connection<u8, Data>), Error> {
    let mut app = App::new("one");
    let root = app.task("one", cells);
    let connection = app[root].connect(0, to);
    app[root].set::<Go>();
    Ok((link(&app, root, target)?, connection))
}

/// H1 and H2.
fn transfers(claims: &mut Vec<Found>) -> Result<(), Error> {
    let mut worst: f64 = 0.0;
    for distance in [1, 4, 7] {
        for bytes in [4usize, 256, 16384] {
            let (image, connection) = one(&line(), 8, distance)?;
            // The receiver sends nothing, so that its clock shows the transfer from a common start.
            let run = simulate(&image, |cell| {
                cell.phase::<Go, _>(|net| {
                    let start = net.clocks();
                    if net.id() == 0 {
                        net.send(connection, &vec![0; bytes]);
                        return Ok(start);
                    }
                    if net.id() == distance {
                        net.receive(connection, &mut vec![0; bytes]);
                    }
                    Ok(net.clocks())
                })
            })?;
            let took = run.results[distance] - run.results[0];
            worst = worst.max((took - iwarp::connection(bytes, distance)).abs());
        }
    }
    claims.push((
        1,
        format!(
            "all 98 printed predictions; {} to {} clocks; simulated within {worst:.0}",
            iwarp::connection(4, 1),
            iwarp::connection(16384, 7)
        ),
        Some(worst < 1.0),
    ));
    let ratio = |bytes| iwarp::deposit(bytes, 1) / iwarp::connection(bytes, 1);
    claims.push((
        2,
        format!("predicted {:.1}x and {:.2}x; on threads see below", ratio(4), ratio(16384)),
        Some(ratio(4) > 5.5 && ratio(16384) < 1.05),
    ));
    Ok(())
}

fn priced(algorithm: &Algorithm, n: usize, costs: &Costs, entries: &[f64]) -> Result<(f64, f64), Error> {
    let schedule = algorithm.schedule(n).ok_or("no such schedule")?;
    let outcome = schedule.price(costs, entries, |_, _| 1).ok_or("a schedule that does not end")?;
    Ok((outcome.time(), outcome.skew()))
}

/// H3 to H8.
fn barriers(claims: &mut Vec<Found>) -> Result<(), Error> {
    // §4.3, Fig 4.19: S = 40 or as the printed ring implies, m = 11.5 of connections.
    let pct = |startup| Costs { startup, send: 1.4, latency: 8.7, receive: 1.4, hop: 0.0 };
    // Deposit messages: most of a message's time is the receiver's and the sender's.
    let deposit = Costs { startup: 0.0, send: 253.0, latency: 7.0, receive: 230.0, hop: 0.0 };
    let time =
        |algorithm: Algorithm, n, costs: &Costs| priced(&algorithm, n, costs, &[]).map(|(time, _)| time);
    let (ring, token) = (time(Algorithm::Ring, 64, &pct(75.5))?, time(Algorithm::Token, 64, &pct(68.0))?);
    claims.push((3, format!("{token:.0} / {ring:.0} = {:.2}", token / ring), Some(token / ring >= 1.8)));
    let mut ratios = Vec::new();
    for n in [4, 8, 16, 32, 64] {
        ratios.push(time(Algorithm::Tree, n, &deposit)? / time(Algorithm::Hypercube, n, &deposit)?);
    }
    claims.push((
        4,
        format!("{:.2} to {:.2}", ratios[0], ratios[4]),
        Some(ratios.iter().all(|ratio| (1.4..=2.1).contains(ratio))),
    ));
    // One message at a time: what counts is how many there are.
    let serial = |algorithm: Algorithm, n: usize| {
        let messages = algorithm.schedule(n).map_or(0, |schedule| schedule.messages());
        40.0 + 28_340.0 * messages as f64
    };
    let order = [8, 16, 32, 64].iter().all(|n| {
        let [tree, token, ring] = [Algorithm::Tree, Algorithm::Token, Algorithm::Ring].map(|a| serial(a, *n));
        tree < token && token < ring
    });
    claims.push((
        5,
        format!(
            "{:.2} M, {:.2} M, {:.1} M (the thesis predicts 114 M for its ring, too)",
            serial(Algorithm::Tree, 64) / 1e6,
            serial(Algorithm::Token, 64) / 1e6,
            serial(Algorithm::Ring, 64) / 1e6
        ),
        Some(order),
    ));
    let (image, _) = one(&Target::iwarp(8, 8), 64, 1)?;
    let two = image.report().barriers.first().map_or(0.0, |barrier| barrier.clocks);
    claims.push((
        6,
        format!("{ring:.0} and {two:.0}: {:.1}x, {:.1}x", 2532.0 / ring, 2532.0 / two),
        Some(2532.0 / ring >= 3.1 && 2532.0 / two >= 5.5),
    ));
    let mut worst: f64 = 0.0;
    for ((width, height), [measured, ..]) in MEASURED {
        let n = width * height;
        worst = worst.max((iwarp::connections::ring(n) - measured).abs());
        worst = worst.max((time(Algorithm::Ring, n, &pct(75.5))? - measured).abs());
    }
    claims.push((7, format!("within {worst:.0} clocks, {:.2} µs", worst / 20.0), Some(worst <= 14.0)));
    let late = |n: usize| {
        let mut entries = vec![0.0; n];
        entries[1] = 2000.0;
        entries
    };
    let skew =
        |algorithm: Algorithm, n: usize| priced(&algorithm, n, &pct(75.5), &late(n)).map(|(_, skew)| skew);
    let found =
        [skew(Algorithm::Ring, 64)?, skew(Algorithm::Rings(vec![8, 8]), 64)?, skew(Algorithm::Token, 64)?];
    claims.push((
        8,
        format!("{:.0}, {:.0}, {:.0}", found[0], found[1], found[2]),
        Some(found.iter().zip([547.0, 122.0, 712.0]).all(|(f, m)| (f / m - 1.0).abs() < 0.03)),
    ));
    Ok(())
}

/// H9 and H10.
fn primitives(claims: &mut Vec<Found>, summary: &mut Map<String, Value>) -> Result<(), Error> {
    let mut errors = [0.0f64; 4];
    for ((width, height), measured) in MEASURED {
        let found = lifetimes(width, height, 1)?;
        for (error, (found, measured)) in errors.iter_mut().zip(found.iter().zip(measured)) {
            *error = error.max((found / measured - 1.0).abs());
        }
    }
    let worst = errors.iter().copied().fold(0.0, f64::max);
    summary.insert("primitives_worst_error".into(), worst.into());
    claims.push((
        9,
        format!(
            "simulated within {:.1} %: barrier {:.1}, switch {:.1}, start {:.1}, end {:.1}",
            100.0 * worst,
            100.0 * errors[0],
            100.0 * errors[1],
            100.0 * errors[2],
            100.0 * errors[3]
        ),
        Some(worst <= 0.03),
    ));
    let [few, many] = [lifetimes(8, 8, 1)?[1], lifetimes(8, 8, 64)?[1]];
    claims.push((
        10,
        format!("{few:.0} clocks with 1 connection, {many:.0} with 64"),
        Some((few - many).abs() < 1e-9),
    ));
    Ok(())
}

/// Clocks of barrier, switch, start and end on iWarp, by 1-D rings, simulated; sets of so many
/// connections.
fn lifetimes(width: usize, height: usize, connections: usize) -> Result<[f64; 4], Error> {
    let cells = width * height;
    let mut app = App::new("primitives");
    let (root, task) = (app.task("root", cells), app.task("task", cells));
    for from in 0..connections {
        app[root].connect::<u8, Data>(from, (from + 1) % cells);
        app[root].connect::<u8, More>((from + 1) % cells, from);
    }
    app[root].set::<Go>();
    app[root].set::<Other>();
    let child = app[root].child("child", task, &(0..cells).collect::<Vec<_>>());
    let options = Options { barrier: Some(Algorithm::Ring), ..Options::default() };
    let image = link_with(&app, root, &Target::iwarp(width, height), &options)?;
    let run = simulate(&image, |cell| {
        let begin = cell.clocks();
        cell.sync();
        let barrier = cell.clocks();
        cell.phase::<Other, _>(|_| Ok(()))?;
        let switch = cell.clocks();
        let start = cell.start(child, |cell| Ok(cell.clocks()))?;
        Ok([barrier - begin, switch - barrier, start - switch, cell.clocks() - start])
    })?;
    Ok(std::array::from_fn(|at| run.results.iter().map(|result| result[at]).fold(0.0, f64::max)))
}

/// H11: a task streams while another one switches, over links that both could use.
fn locality(claims: &mut Vec<Found>) -> Result<(), Error> {
    let streamed = |switches: usize| {
        let mut app = App::new("two");
        let root = app.task("root", 8);
        let (stream, change) = (app.task("stream", 4), app.task("change", 4));
        let lane = app[stream].connect::<u64, Data>(0, 3);
        app[stream].set::<Go>();
        app[change].connect::<u64, Data>(0, 3);
        app[change].connect::<u64, More>(3, 0);
        app[change].set::<Go>();
        app[change].set::<Other>();
        let streams = app[root].child("stream", stream, &[0, 2, 4, 6]);
        let changes = app[root].child("change", change, &[1, 3, 5, 7]);
        let image = link(&app, root, &line())?;
        let run = simulate(&image, |cell| {
            if cell.id() % 2 == 1 {
                return cell.start(changes, |cell| {
                    for _ in 0..switches {
                        cell.phase::<Other, _>(|_| Ok(()))?;
                        cell.phase::<Go, _>(|_| Ok(()))?;
                    }
                    Ok(0.0)
                });
            }
            cell.start(streams, |cell| {
                let start = cell.clocks();
                cell.phase::<Go, _>(|net| {
                    let mut values = [0; 64];
                    for _ in 0..200 {
                        match net.id() {
                            0 => net.send(lane, &values),
                            3 => net.receive(lane, &mut values),
                            _ => {}
                        }
                    }
                    Ok(net.clocks() - start)
                })
            })
        })?;
        Ok::<f64, Error>(run.results[6])
    };
    let (quiet, disturbed) = (streamed(0)?, streamed(200)?);
    claims.push((
        11,
        format!("simulated: {quiet:.0} clocks of streaming, {disturbed:.0} beside 400 switches"),
        Some((quiet - disturbed).abs() < 1e-9),
    ));
    Ok(())
}

/// H12, H13, H19: predictions beside the measured values that the thesis prints.
fn patterns(claims: &mut Vec<Found>, summary: &mut Map<String, Value>) {
    let sets = [4, 16, 64];
    let figures = chapter6::figures();
    let worst = |figure: usize, ours: &dyn Fn(usize, usize) -> Option<f64>| {
        let errors = figures[figure].rows.iter().flat_map(|(bytes, row)| {
            row.iter().zip(sets).map(|(m, n)| (ours(n, *bytes).unwrap_or(f64::NAN) / m - 1.0).abs())
        });
        errors.fold(0.0, f64::max)
    };
    let error = worst(1, &iwarp::scatter_gather::sets);
    claims.push((
        12,
        format!(
            "within {:.1} %; predicted {:.1}x",
            100.0 * error,
            iwarp::scatter_gather::messages(16, 16) / iwarp::scatter_gather::sets(16, 16).unwrap_or(f64::NAN)
        ),
        Some(error <= 0.034),
    ));
    let error = worst(3, &iwarp::reduce_broadcast::sets);
    let predicted = iwarp::reduce_broadcast::messages(64, 4096);
    let by_messages = predicted / 60_230.0 - 1.0;
    claims.push((
        13,
        format!(
            "{}; without collisions {}; sets within {:.1} %",
            percent(by_messages),
            percent(predicted / 29_830.0 - 1.0),
            100.0 * error
        ),
        Some(error <= 0.022 && by_messages < -0.49),
    ));
    let error = worst(5, &iwarp::all_to_all::sets);
    summary.insert("all_to_all_predicted_worst_error".into(), error.into());
    let ring = (iwarp::connections::ring(4) / 97.0 - 1.0).abs();
    claims.push((
        19,
        format!(
            "barrier {:.0} %; motion detector {:.1} %, all-to-all {:.1} %",
            100.0 * ring,
            100.0 * (iwarp::motion::latency(1, 28.0) / 8659.0 - 1.0),
            100.0 * error
        ),
        Some(error < ring),
    ));
}

/// H14 to H16.
fn all_to_all(quick: bool, claims: &mut Vec<Found>, summary: &mut Map<String, Value>) -> Result<(), Error> {
    let (width, bytes, seeds) = if quick { (4, 4096, 3) } else { (8, 32768, 5) };
    let cells = width * width;
    let mut messages = Vec::new();
    for seed in 1..=seeds {
        messages.push(messages::all_to_all(cells, bytes, seed)?);
    }
    let (least, most) = (
        messages.iter().copied().fold(f64::INFINITY, f64::min),
        messages.iter().copied().fold(0.0, f64::max),
    );
    let mean = messages.iter().sum::<f64>() / messages.len() as f64;
    let sets = chapter6::all_to_all_by_sets(width, bytes)?;
    let again = chapter6::all_to_all_by_sets(width, bytes)?;
    let ratio = least / sets;
    summary.insert("all_to_all_ratio".into(), ratio.into());
    summary.insert("all_to_all_sets_clocks".into(), sets.into());
    summary.insert("all_to_all_messages_clocks".into(), mean.into());
    // The trial is of fewer cells and shorter blocks.
    claims.push((
        14,
        format!("{cells} cells, {bytes} B: {mean:.0} / {sets:.0}; at least {ratio:.2}x"),
        (!quick).then_some(ratio >= 2.4),
    ));
    let spread = (most - least) / mean;
    claims.push((
        15,
        format!(
            "messages {:.1} % ({seeds} seeds), sets {:.1} %",
            100.0 * spread,
            100.0 * (again - sets).abs() / sets
        ),
        Some(spread > 0.01 && again == sets),
    ));
    let mut rows = Vec::new();
    let sizes: &[usize] = if quick { &[16, 256, 4096] } else { &[16, 64, 256, 1024, 4096] };
    for bytes in sizes {
        rows.push((
            *bytes,
            messages::all_to_all(cells, *bytes, 1)? / chapter6::all_to_all_by_sets(width, *bytes)?,
        ));
    }
    let text: Vec<String> = rows.iter().map(|(bytes, ratio)| format!("{bytes} B {ratio:.2}")).collect();
    // The winner at every size of which the thesis has both forms.
    claims.push((
        16,
        text.join(", "),
        (!quick).then(|| {
            rows.iter()
                .zip([0.87, 1.02, 1.32, 1.69, 2.00])
                .all(|((_, ours), theirs)| (*ours > 1.0) == (theirs > 1.0))
        }),
    ));
    Ok(())
}

/// H17 and H18.
fn motion(quick: bool, claims: &mut Vec<Found>, summary: &mut Map<String, Value>) -> Result<(), Error> {
    let frames = if quick { 1 } else { 3 };
    let still = |_: usize| vec![7; WIDTH * HEIGHT];
    let measure = |lines: usize, start: f64, end: f64| {
        let motion = Motion::on_iwarp(10, lines, Moves::Apart, start, end)?;
        let run = simulate(motion.image(), |cell| motion.body(cell, frames, still))?;
        let lost: usize = run.results.iter().map(|ended| ended.lost).sum();
        let latencies = run.results.into_iter().find_map(|ended| ended.seen).unwrap_or_default().latencies;
        Ok::<_, Error>((latencies.iter().sum::<f64>() / latencies.len().max(1) as f64, lost))
    };
    let [start, end] = iwarp::motion::START_END;
    let mut worst: f64 = 0.0;
    let mut first = 0.0;
    for lines in [1, 2, 3, 4, 6, 8, 12, 24] {
        let (latency, _) = measure(lines, start, end)?;
        worst = worst.max((latency / iwarp::motion::measured(lines) - 1.0).abs());
        if lines == 1 {
            first = latency;
        }
    }
    summary.insert("motion_worst_error".into(), worst.into());
    claims.push((
        17,
        format!("simulated {first:.0}; L of 1 to 24 within {:.1} %", 100.0 * worst),
        Some(worst <= 0.03),
    ));
    let (_, kept) = measure(1, start, end)?;
    let (_, lost) = measure(1, iwarp::motion::IDLE + 1.0 - end, end)?;
    claims.push((
        18,
        format!("285: {kept} lost; 313: {lost} of {}", frames * HEIGHT),
        Some(kept == 0 && lost > 0),
    ));
    Ok(())
}

/// H20 and H21.
fn linker(claims: &mut Vec<Found>) -> Result<(), Error> {
    let mut app = App::new("impossible");
    let (root, child) = (app.task("root", 3), app.task("child", 2));
    app[root].connect::<u8, Data>(0, 9);
    app[root].child("itself", root, &[0, 1, 2]);
    app[root].child("outside", child, &[2, 3]);
    app[child].input::<u8>("in", 0);
    let refused = link(&app, root, &Target::iwarp(2, 1));
    let errors = refused.as_ref().err().map_or(&[][..], |errors| errors.all());
    let recursion = errors.iter().any(|error| matches!(error, LinkError::Recursion { .. }));
    claims.push((
        20,
        format!("a test for each kind of error; a description with 6 faults gets {}", errors.len()),
        Some(recursion && errors.len() >= 6),
    ));
    let mut app = App::new("figure 3.4");
    let root = app.task("root", 9);
    for from in [6, 7, 8] {
        app[root].connect::<u8, Data>(from, 1);
    }
    app[root].set::<Go>();
    let image =
        link(&app, root, &Target { shape: Shape::Mesh { width: 3, height: 3 }, ..Target::iwarp(3, 3) })?;
    let worst = image.report().connections().map(|connection| connection.congestion).max().unwrap_or(0);
    claims.push((21, format!("congestion {worst}"), Some(worst == 1)));
    Ok(())
}
