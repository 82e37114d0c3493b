//! Messages between two threads through a slot: the sender copies to it, the receiver out of it
//! (Borg 2006, §6.1). The best pair of routines, the best with the same routine on both sides,
//! `memcpy`, what models choose, and what is adopted by the tuners of the two threads, each of which
//! calls [`strata_runtime::tune::copy`] as any program would; all on fresh timings.

use crate::{Run, tune};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;
use strata_benches::{Timings, columns, turns};
use strata_runtime::Error;
use strata_runtime::copy::{Hint, Routine, copy_hinted, routines};
use strata_tune::{Report, Tuner};

/// How a copy goes; `None` as models choose.
type How = Option<&'static Routine>;

/// A copy as said, or as the tuner of its thread chooses.
#[derive(Clone, Copy)]
enum Way {
    By(How),
    Tuned,
}

/// The ways of the sender and the receiver of a message there, and of one back.
type Ways = [Way; 4];

/// Both messages by the same pair.
fn by((send, receive): (How, How)) -> Ways {
    [send, receive, send, receive].map(Way::By)
}

/// The slot, and whose turn it is. A lock is never contended: turns are taken by the flag.
struct Slot {
    /// Data, and how they and their answer are copied. This belongs to the measurement: a program
    /// whose copies are tuned passes nothing of the kind.
    message: Mutex<(Vec<u8>, Ways)>,
    /// Even: to be written; odd: to be read; the last number ends the receiver.
    turn: AtomicU32,
}

const END: u32 = u32::MAX;

fn wait(turn: &AtomicU32, until: impl Fn(u32) -> bool) -> u32 {
    let mut looks = 0u32;
    loop {
        let now = turn.load(Ordering::Acquire);
        if until(now) {
            return now;
        }
        looks += 1;
        // On a busy machine the other thread may not run.
        if looks.is_multiple_of(1 << 14) { thread::yield_now() } else { std::hint::spin_loop() }
    }
}

fn read(bytes: &[u8]) -> u64 {
    bytes.chunks_exact(8).fold(0, |sum, word| sum.wrapping_add(u64::from(word[0])))
}

/// One side of the program.
struct Side<'a> {
    slots: &'a [Slot; 2],
    data: Vec<u8>,
    touch: bool,
    tuner: Tuner,
}

impl Side<'_> {
    fn write(&mut self, slot: usize, ways: Ways) {
        let (place, way) = (&self.slots[slot], ways[2 * slot]);
        wait(&place.turn, |turn| turn.is_multiple_of(2));
        if self.touch {
            self.data.iter_mut().step_by(8).for_each(|byte| *byte = byte.wrapping_add(1));
        }
        if let Ok(mut message) = place.message.lock() {
            match way {
                Way::Tuned => {
                    strata_runtime::tune::copy(&mut self.tuner, Hint::SEND, &mut message.0, &self.data);
                }
                Way::By(Some(routine)) => routine.copy(&mut message.0, &self.data),
                Way::By(None) => copy_hinted(Hint::SEND, &mut message.0, &self.data),
            }
            message.1 = ways;
        }
        place.turn.fetch_add(1, Ordering::AcqRel);
    }

    /// The ways of the message, for its answer, and a sum over its data; `None` at the end.
    fn read(&mut self, slot: usize) -> Option<(Ways, u64)> {
        let place = &self.slots[slot];
        if wait(&place.turn, |turn| !turn.is_multiple_of(2)) == END {
            return None;
        }
        let mut ways = by((None, None));
        if let Ok(message) = place.message.lock() {
            ways = message.1;
            match ways[2 * slot + 1] {
                Way::Tuned => {
                    strata_runtime::tune::copy(&mut self.tuner, Hint::RECEIVE, &mut self.data, &message.0);
                }
                Way::By(Some(routine)) => routine.copy(&mut self.data, &message.0),
                Way::By(None) => copy_hinted(Hint::RECEIVE, &mut self.data, &message.0),
            }
        }
        place.turn.fetch_add(1, Ordering::AcqRel);
        Some((ways, if self.touch { read(&self.data) } else { 0 }))
    }
}

#[derive(Clone, Copy)]
struct Cell {
    bytes: usize,
    pong: bool,
    touch: bool,
}

/// Runs `program` with a function that sends one message there, and back with ping-pong; it returns
/// when the receiver has it. Returns the reports of the tuners of both threads, too.
fn with_peer<T>(
    cell: Cell,
    tuners: [Tuner; 2],
    program: impl FnOnce(&mut dyn FnMut(Ways)) -> T,
) -> Result<(T, [Report; 2]), Error> {
    let slot =
        || Slot { message: Mutex::new((vec![0; cell.bytes], by((None, None)))), turn: AtomicU32::new(0) };
    let slots = [slot(), slot()];
    let side = |tuner| Side { slots: &slots, data: vec![1; cell.bytes], touch: cell.touch, tuner };
    let [mine, others] = tuners;
    thread::scope(|scope| {
        let peer = scope.spawn(move || {
            let (mut side, mut sum) = (side(others), 0u64);
            while let Some((ways, read)) = side.read(0) {
                sum = sum.wrapping_add(read);
                if cell.pong {
                    side.write(1, ways);
                }
            }
            std::hint::black_box(sum);
            side.tuner.close()
        });
        let mut side = side(mine);
        let result = program(&mut |ways| {
            side.write(0, ways);
            if cell.pong {
                std::hint::black_box(side.read(1));
            } else {
                wait(&slots[0].turn, |turn| turn.is_multiple_of(2));
            }
        });
        slots[0].turn.store(END, Ordering::Release);
        let of_peer = peer.join().map_err(|_| Error::program("the peer panicked"))?;
        let reports = [side.tuner.close(), of_peer].map(|report| report.map_err(Error::program));
        let [mine, others] = reports;
        Ok((result, [mine?, others?]))
    })
}

/// Two tuners that take the default.
fn untuned() -> Result<[Tuner; 2], Error> {
    let tuner = || Tuner::new("ping", strata_tune::Options::default()).map_err(Error::program);
    Ok([tuner()?, tuner()?])
}

/// The mean seconds of `count` messages.
fn seconds(send: &mut dyn FnMut(Ways), ways: Ways, count: u32) -> f64 {
    send(ways);
    let start = Instant::now();
    (0..count).for_each(|_| send(ways));
    start.elapsed().as_secs_f64() / f64::from(count)
}

fn median(times: &[f64]) -> f64 {
    Timings::from_iter(times.iter().copied()).median()
}

fn all() -> Vec<How> {
    routines().iter().map(|routine| Some(*routine)).collect()
}

/// Several timings of each pair of routines: of sender `number / all().len()` and of receiver
/// `number % all().len()`. Each pass goes through all in another order.
fn times_of_pairs(send: &mut dyn FnMut(Ways), passes: usize) -> Vec<Vec<f64>> {
    let all = all();
    let count = messages(send);
    let mut times = vec![Vec::new(); all.len() * all.len()];
    for pass in 0..passes {
        for at in turns(pass + 7, times.len()) {
            let pair = (all[at / all.len()], all[at % all.len()]);
            times[at].push(seconds(send, by(pair), count));
        }
    }
    times
}

/// The messages of a timing: about 100 µs, and at least two.
fn messages(send: &mut dyn FnMut(Ways)) -> u32 {
    let once = seconds(send, by((all()[0], all()[0])), 10);
    ((1e-4 / once) as u32).clamp(2, 200)
}

/// How many of the pairs that seem best are timed again: the least of many medians was lucky.
const AGAIN: usize = 10;

/// The best pair among those wanted.
fn best(
    send: &mut dyn FnMut(Ways),
    times: &[Vec<f64>],
    rounds: usize,
    wanted: impl Fn(usize) -> bool,
) -> (How, How) {
    let all = all();
    let pair = |at: usize| (all[at / all.len()], all[at % all.len()]);
    let mut candidates: Vec<usize> = (0..times.len()).filter(|at| wanted(*at)).collect();
    candidates.sort_by(|a, b| median(&times[*a]).total_cmp(&median(&times[*b])));
    candidates.truncate(AGAIN);
    let (count, mut again) = (messages(send), vec![Vec::new(); candidates.len()]);
    for round in 0..rounds {
        for at in turns(round + 3, candidates.len()) {
            again[at].push(seconds(send, by(pair(candidates[at])), count));
        }
    }
    let best = (0..candidates.len()).min_by(|a, b| median(&again[*a]).total_cmp(&median(&again[*b])));
    best.map_or((None, None), |at| pair(candidates[at]))
}

/// What the tuners of both threads have adopted, in the order of [`Ways`].
fn adopted([mine, others]: &[Report; 2]) -> [How; 4] {
    let chosen = |report: &Report, at: usize| {
        let knob = report.intervals.iter().flat_map(|each| &each.knobs).nth(at);
        knob.and_then(|knob| Routine::named(&knob.chosen))
    };
    [chosen(mine, 0), chosen(others, 0), chosen(others, 1), chosen(mine, 1)]
}

pub(crate) fn measure(run: Run) -> Result<Value, Error> {
    println!("## Messages between two threads: times as fast as `memcpy` on both sides, fresh timings\n");
    columns(
        " | bytes | touched | `memcpy` | models | best routine | best pair | tuners | tuners of best | adopted",
    );
    let sizes: &[usize] =
        if run.quick { &[1 << 16] } else { &[1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22] };
    let all = all();
    let mut summary = Vec::new();
    let folder = tempfile::tempdir()?;
    for (number, (pong, touch)) in
        [(false, false), (false, true), (true, false), (true, true)].into_iter().enumerate()
    {
        for &bytes in sizes {
            let cell = Cell { bytes, pong, touch };
            let rounds = if run.quick { 15 } else { 61 };
            let ((symmetric, asymmetric), _) = with_peer(cell, untuned()?, |send| {
                let times = times_of_pairs(send, 3);
                let same = |at: usize| at / all.len() == at % all.len();
                (best(send, &times, rounds, same), best(send, &times, rounds, |_| true))
            })?;
            // The tuners, for as many messages as they need.
            let tuner = |side: &str| {
                let file = folder.path().join(format!("{number}-{bytes}-{side}.json"));
                Tuner::new("ping", tune(&file, run.seed)).map_err(Error::program)
            };
            let ((), reports) = with_peer(cell, [tuner("here")?, tuner("there")?], |send| {
                let (start, most) = (Instant::now(), if run.quick { 1.0 } else { 6.0 });
                for messages in 1..400_000u32 {
                    send([Way::Tuned; 4]);
                    if messages.is_multiple_of(256) && start.elapsed().as_secs_f64() > most {
                        break;
                    }
                }
            })?;
            let found = adopted(&reports);
            let memcpy = (all[0], all[0]);
            let contestants =
                [by(memcpy), by((None, None)), by(symmetric), by(asymmetric), found.map(Way::By)];
            let (fresh, _) = with_peer(cell, untuned()?, |send| {
                let (count, mut fresh) = (messages(send), vec![Vec::new(); contestants.len()]);
                for round in 0..rounds {
                    for at in turns(round, contestants.len()) {
                        fresh[at].push(seconds(send, contestants[at], count));
                    }
                }
                fresh
            })?;
            let times: Vec<f64> = fresh.iter().map(|times| median(times)).collect();
            let faster = |at: usize| times[0] / times[at];
            let of_best = times[3] / times[4];
            let names = found.map(|how| how.map_or("models", Routine::name));
            println!(
                "| {} | {bytes} | {} | {:.1} µs | {:.2} | {:.2} | {:.2} | {:.2} | {of_best:.2} | {} |",
                if pong { "ping-pong" } else { "ping" },
                if touch { "yes" } else { "no" },
                1e6 * times[0],
                faster(1),
                faster(2),
                faster(3),
                faster(4),
                names[..if pong { 4 } else { 2 }].join(", ")
            );
            summary.push(json!({"pong": pong, "touch": touch, "bytes": bytes, "models": faster(1),
                "symmetric": faster(2), "best": faster(3), "tuner": faster(4), "of_best": of_best}));
        }
    }
    println!();
    Ok(Value::Array(summary))
}
