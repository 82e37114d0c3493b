//! The motion detector: what it sees, and when, on simulated iWarp (Figs 7.2 and 7.3).

use strata_motion::{Ended, HEIGHT, Motion, Moves, Seen, WIDTH, clip, iwarp, sequential};
use strata_runtime::Machine;
use strata_tcs::switch::Mode;
use strata_tcs::{Options, Simulated, Target, run, simulate};

fn simulated(workers: usize, lines: usize, costs: [f64; 2], frame: fn(usize) -> Vec<u8>) -> Simulated<Ended> {
    moved(workers, lines, Moves::Apart, costs, frame)
}

fn moved(
    workers: usize,
    lines: usize,
    moves: Moves,
    costs: [f64; 2],
    frame: fn(usize) -> Vec<u8>,
) -> Simulated<Ended> {
    let motion = Motion::on_iwarp(workers, lines, moves, costs[0], costs[1]).unwrap();
    simulate(motion.image(), |cell| motion.body(cell, 2, frame)).unwrap()
}

fn seen(run: &Simulated<Ended>) -> Seen {
    run.results.iter().find_map(|ended| ended.seen.clone()).unwrap()
}

fn lost(run: &Simulated<Ended>) -> usize {
    run.results.iter().map(|ended| ended.lost).sum()
}

/// No pixel ever moves.
fn still(_: usize) -> Vec<u8> {
    vec![7; WIDTH * HEIGHT]
}

/// Within 3 % of the law of the measured latencies, 210 + 8451.2 L, for every size of block.
#[test]
fn latency_is_what_was_measured() {
    for lines in [1, 2, 3, 4, 6, 8, 12, 24] {
        let run = simulated(10, lines, iwarp::motion::START_END, still);
        let seen = seen(&run);
        assert_eq!(lost(&run), 0, "{lines} lines");
        let latency = seen.latencies.iter().sum::<f64>() / seen.latencies.len() as f64;
        let measured = iwarp::motion::measured(lines);
        assert!((latency / measured - 1.0).abs() <= 0.03, "{lines} lines: {latency}, measured {measured}");
        // The signal is kept up with: the last mask comes one latency after its block.
        let frames = iwarp::motion::FRAME + iwarp::motion::LINE * HEIGHT as f64;
        assert!(seen.clocks <= frames + 1.1 * measured);
    }
}

/// Figs 7.2 and 7.3: latency within 3 %, the workers' utilisation within 3 points, in the second
/// frame of two; the first has no averages yet.
#[test]
fn both_figures_are_what_was_measured() {
    let frames: [fn(usize) -> Vec<u8>; 2] = [still, iwarp::motion::noise];
    for (rows, frame) in [iwarp::motion::STILL, iwarp::motion::NOISE].into_iter().zip(frames) {
        for (lines, [latency, _, used]) in rows {
            let run = simulated(10, lines, iwarp::motion::START_END, frame);
            assert_eq!(lost(&run), 0, "{lines} lines");
            let seen = seen(&run);
            let second = &seen.latencies[seen.latencies.len() / 2..];
            let mean = second.iter().sum::<f64>() / second.len() as f64;
            assert!((mean / latency - 1.0).abs() <= 0.03, "{lines} lines: {mean}, measured {latency}");
            // Of a frame: the busy time of two frames less that of a still one.
            let busy = |run: &Simulated<Ended>| run.results.iter().map(|ended| ended.busy).sum::<f64>();
            let one = busy(&simulated(10, lines, iwarp::motion::START_END, still)) / 2.0;
            let share = 100.0 * (busy(&run) - one) / (10.0 * iwarp::motion::FRAME);
            assert!((share - used).abs() <= 3.0, "{lines} lines: {share} %, measured {used} %");
        }
    }
}

/// §7.2.3: with filling and draining in one task eight workers suffice, even where every pixel
/// moves; but the third cell's barrier takes 12 clocks in each start and end, so that these must be
/// shorter than those of two cells by about 25 clocks.
#[test]
fn eight_workers_suffice_that_are_filled_and_drained_at_once() {
    let [start, end] = iwarp::motion::START_END;
    assert!(lost(&moved(8, 1, Moves::Together, [start, end], still)) > 0);
    for lines in [1, 2, 6] {
        let run = moved(8, lines, Moves::Together, [start - 25.0, end], iwarp::motion::noise);
        assert_eq!(lost(&run), 0, "{lines} lines");
        assert!(seen(&run).masks[1].iter().flatten().all(|word| *word == u64::MAX));
    }
}

/// 225 + 60 clocks fit between two lines, which leave 312.
#[test]
fn lines_are_lost_where_start_and_end_do_not_fit() {
    let [start, end] = iwarp::motion::START_END;
    assert_eq!(lost(&simulated(10, 1, [start, end], still)), 0);
    let over = iwarp::motion::IDLE + 1.0 - end;
    assert!(lost(&simulated(10, 1, [over, end], still)) > 0);
    // Larger blocks need the time between blocks only, but even that must fit.
    assert!(lost(&simulated(10, 8, [over, end], still)) > 0);
    // Too few workers cannot keep up (§7.2.2: seven are needed).
    assert!(lost(&simulated(5, 1, [start, end], still)) > 0);
    assert_eq!(lost(&simulated(8, 1, [start, end], still)), 0);
}

#[test]
fn everything_sees_the_same() {
    let expected = sequential(3, clip);
    assert!(expected[0].iter().flatten().all(|word| *word == 0));
    assert!(expected[2].iter().flatten().any(|word| *word != 0));
    for (workers, lines, mode, moves) in [
        (1, 24, Mode::Triple, Moves::Apart),
        (3, 24, Mode::Single, Moves::Apart),
        (4, 60, Mode::Neighbour, Moves::Apart),
        (1, 24, Mode::Triple, Moves::Together),
        (3, 24, Mode::Single, Moves::Together),
        (4, 60, Mode::Neighbour, Moves::Together),
    ] {
        let target = Target::crossbar(workers + Motion::OTHERS);
        let options = Options { switch: mode, ..Options::default() };
        let motion = Motion::with(workers, lines, moves, &target, &options).unwrap();
        let found = Machine::threads(workers + Motion::OTHERS)
            .unwrap()
            .run(|node| run(node, motion.image(), |cell| motion.body(cell, 3, clip)))
            .unwrap();
        let seen = found.into_iter().flatten().find_map(|ended| ended.seen).unwrap();
        assert_eq!(seen.masks, expected, "{workers} workers");
    }
}
