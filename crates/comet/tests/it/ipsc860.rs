//! The iPSC/860 of Ganapati's thesis (§5.1), found again on the simulated machine.

use strata_comet as comet;
use strata_comet::curve::{Curve, Measured};
use strata_comet::suite::Crossing;
use strata_runtime::prelude::*;
use strata_sim::platform::SimulatedMachine;

/// What node 0, or the node that times, tells.
fn on(platform: &str, nodes: usize, kernel: impl Fn(&mut Node) -> f64 + Sync) -> f64 {
    let machine = SimulatedMachine::find(platform).unwrap();
    let run = Machine::sim(&machine, nodes).unwrap().run(|node| Ok(kernel(node))).unwrap();
    run.results.into_iter().fold(0.0, f64::max)
}

fn ipsc(nodes: usize, kernel: impl Fn(&mut Node) -> f64 + Sync) -> f64 {
    on("ipsc860", nodes, kernel)
}

fn curve(sizes: &[usize], time: impl Fn(usize) -> f64) -> Curve {
    let point = |size: &usize| Measured { size: *size as f64, seconds: time(*size), error: 0.0 };
    Curve::fit(&sizes.iter().map(point).collect::<Vec<_>>()).unwrap()
}

fn within(value: f64, right: f64, share: f64) -> bool {
    (value / right - 1.0).abs() <= share
}

#[test]
fn start_up_time_per_byte_and_the_break() {
    let mut sizes: Vec<usize> =
        strata_comet::suite::usual_sizes().iter().map(|size| *size as usize).collect();
    sizes.extend([98, 99, 100, 101, 102, 104]);
    let echo = curve(&sizes, |size| ipsc(2, |node| comet::echo(node, size, 1)));
    println!("{echo:#?}");
    let (first, last) = (&echo.pieces[0], echo.pieces.last().unwrap());
    assert!(within(first.start.value, 79e-6, 0.01), "{first:?}");
    assert!(within(first.per_byte.value, 0.63e-6, 0.01), "{first:?}");
    assert!(within(last.start.value, 156e-6, 0.01), "{last:?}");
    assert!(within(last.per_byte.value, 0.41e-6, 0.01), "{last:?}");
    assert_eq!((echo.breaks()[0].after, echo.breaks()[0].before), (100.0, 101.0));
}

#[test]
fn hops() {
    for (bytes, right) in [(50, 10e-6), (150, 25e-6), (400, 25e-6), (4000, 25e-6)] {
        let time = |peer| ipsc(16, move |node| comet::echo(node, bytes, peer));
        let each = (time(15) - time(1)) / 3.0;
        assert!(within(each, right, 0.01), "{bytes} bytes: {each}");
    }
}

/// R² of a straight line over log₂ P.
fn linear(times: &[(f64, f64)]) -> f64 {
    let n = times.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| times.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(&|t| t.0), mean(&|t| t.1));
    let (xx, yy) = (mean(&|t| (t.0 - x).powi(2)), mean(&|t| (t.1 - y).powi(2)));
    mean(&|t| (t.0 - x) * (t.1 - y)).powi(2) / (xx * yy)
}

#[test]
fn broadcast_sum_and_barrier_are_linear_in_the_logarithm_of_nodes() {
    let over = |kernel: &(dyn Fn(&mut Node) -> f64 + Sync)| -> Vec<(f64, f64)> {
        (1..=7).map(|bits| (f64::from(bits), ipsc(1 << bits, kernel))).collect()
    };
    for bytes in [8, 64, 1024] {
        let times = over(&|node| comet::broadcast(node, bytes));
        assert!(linear(&times) > 0.99, "{bytes} bytes: {times:?}");
    }
    for times in [over(&comet::reduce), over(&comet::barrier)] {
        assert!(linear(&times) > 0.99, "{times:?}");
    }
}

/// Both directions of a link at once.
#[test]
fn an_exchange_is_faster_than_an_echo() {
    for bytes in [1, 64, 100, 500, 5000] {
        let exchange = ipsc(2, |node| comet::exchange(node, bytes));
        let echo = 2.0 * ipsc(2, |node| comet::echo(node, bytes, 1));
        assert!(exchange < echo, "{bytes} bytes: {exchange} and {echo}");
    }
}

/// A load on the way slows an echo, more messages' bytes more; one off the way does not.
#[test]
fn contention_grows_with_the_load_on_the_way() {
    // The way from 1 to 6 leads over node 0 and its link to 2.
    let on_the_way = Crossing { peer: 2, source: 1, sink: 6 };
    let elsewhere = Crossing { peer: 2, source: 4, sink: 5 };
    let with = |load, nodes| ipsc(8, move |node| comet::contention(node, 64, load, nodes));
    let (none, half, full) = (with(0, on_the_way), with(486, on_the_way), with(5000, on_the_way));
    println!("{none} {half} {full}");
    assert!(none < half && half < full, "{none} {half} {full}");
    let away = with(5000, elsewhere);
    assert!(within(away, none, 0.01), "{away} {none}");
}

/// What is sent by DMA while the processor computes; with nothing to send nothing is gained.
#[test]
fn overlap_hides_the_shorter_of_the_two() {
    let time = |bytes, length, order| ipsc(2, move |node| comet::overlap(node, bytes, length, order));
    use comet::Order::{Asynchronous, ComputationOnly, Synchronous};
    let bytes = 20_000;
    let exchange = time(bytes, 0, Synchronous);
    // As much computation as communication: 4 cycles an element at 40 MHz.
    let length = (exchange / 1e-7) as usize;
    let (sync, asynchronous) = (time(bytes, length, Synchronous), time(bytes, length, Asynchronous));
    let improvement = (sync - asynchronous) / sync;
    println!("{exchange} {sync} {asynchronous} {improvement}");
    assert!(improvement > 0.33 && improvement <= 0.5, "{improvement}");
    let computation = time(1, length, ComputationOnly);
    assert!(asynchronous >= exchange.max(computation), "{asynchronous}");
    let (sync, asynchronous) = (time(0, 10, Synchronous), time(0, 10, Asynchronous));
    assert!((sync - asynchronous) / sync < 0.05, "{sync} {asynchronous}");
}

/// The exponent p of start + each·sizeᵖ that leaves the least relative squares.
fn exponent(times: &[(f64, f64)]) -> f64 {
    let squares = |p: f64| {
        let sums = times.iter().fold([0.0; 5], |[w, x, xx, y, xy], (size, time)| {
            let (weight, power) = (1.0 / (time * time), size.powf(p));
            [
                w + weight,
                x + weight * power,
                xx + weight * power * power,
                y + weight * time,
                xy + weight * power * time,
            ]
        });
        let [w, x, xx, y, xy] = sums;
        let each = (w * xy - x * y) / (w * xx - x * x);
        let start = (y - each * x) / w;
        times.iter().map(|(size, time)| ((start + each * size.powf(p)) / time - 1.0).powi(2)).sum::<f64>()
    };
    let all = (50..=300).map(|p| f64::from(p) / 100.0);
    all.min_by(|a, b| squares(*a).total_cmp(&squares(*b))).unwrap()
}

/// Guards and rows grow with the side of a block, whole blocks with its square.
#[test]
fn matrix_operations_grow_as_their_data() {
    type Kernel = fn(&mut Node, usize) -> f64;
    let kernels: [(&str, Kernel, f64); 5] = [
        ("guard", comet::guard::<comet::Blocks>, 1.0),
        ("row", comet::row_broadcast::<comet::Blocks>, 1.0),
        ("column", comet::column_broadcast::<comet::Blocks>, 1.0),
        ("shift", |node, dim| comet::shift::<comet::Blocks>(node, dim, comet::Direction::North), 2.0),
        ("transpose", comet::transpose::<comet::Blocks>, 2.0),
    ];
    for (name, kernel, right) in kernels {
        // Below, the senders' four set-ups take longer than their data.
        let time = |dim: &usize| (*dim as f64, ipsc(16, move |node| kernel(node, *dim)));
        let found = exponent(&[64, 80, 96, 128, 160, 192].iter().map(time).collect::<Vec<_>>());
        println!("{name} {found}");
        assert!((found - right).abs() < 0.1, "{name}: {found}");
    }
}
