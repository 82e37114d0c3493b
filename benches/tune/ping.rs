//! Messages between two threads through a slot: the sender copies to it, the receiver out of it
//! (Borg 2006, §6.1). The best pair of routines by trying all, the best with the same routine on
//! both sides, `memcpy`, what models choose, and what the tuner adopts; all on fresh timings.

use crate::{Run, tune};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;
use strata_benches::{head, row, turns};
use strata_runtime::Error;
use strata_runtime::copy::{Routine, copy, routines};
use strata_tune::{Knob, Tuner};

/// How a copy goes; `None` as models choose.
type How = Option<&'static Routine>;

/// The slot, and whose turn it is. A lock is never contended: turns are taken by the flag.
struct Slot {
    /// Data, and the receiver's way to copy: it belongs to the message.
    message: Mutex<(Vec<u8>, How)>,
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

fn copy_as(how: How, to: &mut [u8], from: &[u8]) {
    match how {
        Some(routine) => routine.copy(to, from),
        None => copy(to, from),
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
}

impl Side<'_> {
    fn write(&mut self, slot: usize, how: How, receiver: How) {
        let slot = &self.slots[slot];
        wait(&slot.turn, |turn| turn.is_multiple_of(2));
        if self.touch {
            self.data.iter_mut().step_by(8).for_each(|byte| *byte = byte.wrapping_add(1));
        }
        if let Ok(mut message) = slot.message.lock() {
            copy_as(how, &mut message.0, &self.data);
            message.1 = receiver;
        }
        slot.turn.fetch_add(1, Ordering::AcqRel);
    }

    /// `None` at the end.
    fn read(&mut self, slot: usize) -> Option<u64> {
        let slot = &self.slots[slot];
        if wait(&slot.turn, |turn| !turn.is_multiple_of(2)) == END {
            return None;
        }
        if let Ok(message) = slot.message.lock() {
            copy_as(message.1, &mut self.data, &message.0);
        }
        slot.turn.fetch_add(1, Ordering::AcqRel);
        Some(if self.touch { read(&self.data) } else { 0 })
    }
}

/// What is measured.
#[derive(Clone, Copy)]
struct Cell {
    bytes: usize,
    pong: bool,
    touch: bool,
}

/// Runs `program` with a function that sends one message there, and back with ping-pong, the sender
/// copying by the first way and the receiver by the second; it returns when the receiver has it.
fn with_peer<T>(cell: Cell, program: impl FnOnce(&mut dyn FnMut(How, How)) -> T) -> T {
    let slot = || Slot { message: Mutex::new((vec![0; cell.bytes], None)), turn: AtomicU32::new(0) };
    let slots = [slot(), slot()];
    let side = || Side { slots: &slots, data: vec![1; cell.bytes], touch: cell.touch };
    // The way back: that of the message that came.
    let back = Mutex::new((None, None));
    thread::scope(|scope| {
        let peer = scope.spawn(|| {
            let (mut side, mut sum) = (side(), 0u64);
            while let Some(read) = side.read(0) {
                sum = sum.wrapping_add(read);
                if cell.pong {
                    let (send, receive) = back.lock().map_or((None, None), |back| *back);
                    side.write(1, send, receive);
                }
            }
            sum
        });
        let mut side = side();
        let result = program(&mut |send, receive| {
            if cell.pong
                && let Ok(mut back) = back.lock()
            {
                *back = (send, receive);
            }
            side.write(0, send, receive);
            if cell.pong {
                std::hint::black_box(side.read(1));
            } else {
                wait(&slots[0].turn, |turn| turn.is_multiple_of(2));
            }
        });
        slots[0].turn.store(END, Ordering::Release);
        drop(peer.join());
        result
    })
}

/// The mean seconds of `count` messages.
fn seconds(send: &mut dyn FnMut(How, How), pair: (How, How), count: u32) -> f64 {
    send(pair.0, pair.1);
    let start = Instant::now();
    (0..count).for_each(|_| send(pair.0, pair.1));
    start.elapsed().as_secs_f64() / f64::from(count)
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

pub(crate) fn measure(run: Run) -> Result<Value, Error> {
    println!("## Messages between two threads: times as fast as `memcpy` on both sides, fresh timings\n");
    head(&[
        "",
        "bytes",
        "touched",
        "`memcpy`",
        "models",
        "best routine",
        "best pair",
        "tuner",
        "tuner of best",
        "adopted",
    ]);
    let sizes: &[usize] =
        if run.quick { &[1 << 16] } else { &[1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22] };
    let all: Vec<How> = routines().iter().map(|routine| Some(*routine)).collect();
    let mut summary = Vec::new();
    let folder = tempfile::tempdir()?;
    for (number, (pong, touch)) in
        [(false, false), (false, true), (true, false), (true, true)].into_iter().enumerate()
    {
        for &bytes in sizes {
            let cell = Cell { bytes, pong, touch };
            let file = folder.path().join(format!("{number}-{bytes}.json"));
            let found = with_peer(cell, |send| -> Result<_, Error> {
                // About 100 µs a timing, and at least two messages.
                let once = seconds(send, (all[0], all[0]), 10);
                let count = ((1e-4 / once) as u32).clamp(2, 200);
                // All pairs three times, each pass in another order; of each the median.
                let pairs: Vec<(How, How)> =
                    all.iter().flat_map(|one| all.iter().map(move |other| (*one, *other))).collect();
                let mut times = vec![Vec::new(); pairs.len()];
                for pass in 0..3 {
                    for at in turns(pass + 7, pairs.len()) {
                        times[at].push(seconds(send, pairs[at], count));
                    }
                }
                let medians: Vec<f64> = times.iter_mut().map(|times| median(times)).collect();
                let best = |wanted: &dyn Fn(usize) -> bool| {
                    let all = (0..pairs.len()).filter(|at| wanted(*at));
                    all.min_by(|a, b| medians[*a].total_cmp(&medians[*b])).map_or(pairs[0], |at| pairs[at])
                };
                let symmetric = best(&|at| pairs[at].0 == pairs[at].1);
                let asymmetric = best(&|_| true);
                // The tuner, for as many messages as it needs.
                let knob = |name| {
                    let others = routines().iter().map(|routine| (routine.name(), Some(*routine)));
                    Knob::named(name, ("models", None), others)
                };
                let (sending, receiving) = (knob("send"), knob("receive"));
                let mut tuner = Tuner::new("ping", tune(&file, run.seed)).map_err(Error::program)?;
                let until = Instant::now();
                let mut messages = 0u32;
                let pair = loop {
                    let pair = (*tuner.pick(&sending), *tuner.pick(&receiving));
                    send(pair.0, pair.1);
                    messages += 1;
                    let last = messages.is_multiple_of(256) && {
                        let seconds = if run.quick { 1.0 } else { 6.0 };
                        until.elapsed().as_secs_f64() > seconds
                    };
                    if last || messages > 400_000 {
                        let report = tuner.report();
                        let chosen = |at: usize| {
                            let name = report.intervals.iter().flat_map(|each| &each.knobs).nth(at);
                            name.and_then(|knob| Routine::named(&knob.chosen))
                        };
                        break (chosen(0), chosen(1));
                    }
                };
                let contestants = [(all[0], all[0]), (None, None), symmetric, asymmetric, pair];
                let mut fresh = vec![Vec::new(); contestants.len()];
                for round in 0..if run.quick { 15 } else { 61 } {
                    for at in turns(round, contestants.len()) {
                        fresh[at].push(seconds(send, contestants[at], count));
                    }
                }
                let name = |how: How| how.map_or("models", Routine::name);
                let adopted = format!("{}, {}", name(pair.0), name(pair.1));
                Ok((fresh.iter_mut().map(|times| median(times)).collect::<Vec<_>>(), adopted))
            });
            let (times, adopted) = found?;
            let faster = |at: usize| times[0] / times[at];
            let of_best = times[3] / times[4];
            row(&[
                if pong { "ping-pong" } else { "ping" }.to_owned(),
                bytes.to_string(),
                if touch { "yes" } else { "no" }.to_owned(),
                format!("{:.1} µs", 1e6 * times[0]),
                format!("{:.2}", faster(1)),
                format!("{:.2}", faster(2)),
                format!("{:.2}", faster(3)),
                format!("{:.2}", faster(4)),
                format!("{of_best:.2}"),
                adopted,
            ]);
            summary.push(json!({"pong": pong, "touch": touch, "bytes": bytes, "models": faster(1),
                "symmetric": faster(2), "best": faster(3), "tuner": faster(4), "of_best": of_best}));
        }
    }
    println!();
    Ok(Value::Array(summary))
}
