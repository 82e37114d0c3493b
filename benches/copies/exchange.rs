//! Two threads send blocks through slots that both map.

use std::convert::Infallible;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use strata_benches::{Timings, columns, fastest, race};
use strata_copy::{Hint, Routine, copy_hinted, routines};
use strata_runtime::prelude::*;

use crate::Settings;

/// The routines of which all pairs are tried: those that `specs/copy` knows, and two more.
const TRIED: [&str; 8] = [
    "memcpy", "rep_movsb", "avx512_forward", "avx512_forward_t0", "avx_forward", "avx_forward_stream",
    "sse2_backward_t0", "avx512_backward",
];
const SIZES: [usize; 6] = [1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 23];
/// Rounds in which the best pairs are found.
const SEARCH: usize = 5;
/// Spins after which a thread gives way, so that a busy machine goes on, too.
const SPINS: u32 = 20_000;

/// A buffer that belongs to one of two threads at a time.
struct Slot {
    /// 0 while its sender fills it, 1 while its receiver empties it.
    full: AtomicU32,
    bytes: Mutex<Vec<u8>>,
}

impl Slot {
    /// Waits until the slot is (not) full, and uses it; then it is the other one's.
    fn pass(&self, full: u32, use_it: impl FnOnce(&mut [u8])) {
        let mut spins = 0;
        while self.full.load(Ordering::Acquire) != full {
            spins += 1;
            if spins % SPINS == 0 {
                std::thread::yield_now();
            }
            spin_loop();
        }
        use_it(&mut self.bytes.lock().unwrap_or_else(PoisonError::into_inner));
        self.full.store(1 - full, Ordering::Release);
    }
}

/// How a side copies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    One(&'static Routine),
    Ours(Hint),
}

impl Way {
    fn copy(self, to: &mut [u8], from: &[u8]) {
        match self {
            Self::One(routine) if routine.is_default() => to.copy_from_slice(from),
            Self::One(routine) => routine.copy(to, from),
            Self::Ours(hint) => copy_hinted(hint, to, from),
        }
    }
}

#[derive(Clone, Copy)]
struct Pattern {
    bytes: usize,
    to_and_fro: bool,
    touched: bool,
}

/// Two slots for each direction, so that one is filled while the other is emptied.
type Slots = Arc<[[Slot; 2]; 2]>;

fn slots(bytes: usize) -> Slots {
    let slot = || Slot { full: AtomicU32::new(0), bytes: Mutex::new(vec![0; bytes]) };
    Arc::new([[slot(), slot()], [slot(), slot()]])
}

/// A node's side: the slots, and its own block.
struct Side {
    slots: Slots,
    mine: Vec<u8>,
    turn: [usize; 2],
}

impl Side {
    fn send(&mut self, direction: usize, way: Way, touched: bool) {
        if touched {
            self.turn[direction] += 1;
            let value = self.turn[direction] as u8;
            black_box(&mut self.mine).fill(value);
        } else {
            self.turn[direction] += 1;
        }
        let slot = &self.slots[direction][self.turn[direction] % 2];
        slot.pass(0, |room| way.copy(room, &self.mine));
    }

    fn receive(&mut self, direction: usize, way: Way, touched: bool) {
        self.turn[direction] += 1;
        let slot = &self.slots[direction][self.turn[direction] % 2];
        slot.pass(1, |room| way.copy(&mut self.mine, room));
        if touched {
            let (words, _) = self.mine.as_chunks::<8>();
            black_box(words.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word))));
        }
    }
}

/// Seconds of one message.
fn exchange(node: &mut Node, side: &mut Side, pattern: Pattern, [send, receive]: [Way; 2]) -> f64 {
    let count = (200_000 / (200 + pattern.bytes / 8)).max(2);
    let here = node.rank();
    let mut start = 0.0;
    for round in 0..count + 2 {
        if round == 2 {
            node.barrier();
            start = node.now().get();
        }
        if here == 0 {
            side.send(0, send, pattern.touched);
            if pattern.to_and_fro {
                side.receive(1, receive, pattern.touched);
            }
        } else {
            side.receive(0, receive, pattern.touched);
            if pattern.to_and_fro {
                side.send(1, send, pattern.touched);
            }
        }
    }
    node.barrier();
    let messages = if pattern.to_and_fro { 2 * count } else { count };
    let seconds = (node.now().get() - start) / messages as f64;
    node.reduce_max(seconds)
}

/// What was found for a pattern: names, and rates over the best pair's on fresh samples.
struct Found {
    pattern: Pattern,
    best: [&'static str; 2],
    equal: &'static str,
    ours: [&'static str; 2],
    microseconds: f64,
    /// Of the default, ours, and the best pair of equal routines.
    rates: [f64; 3],
}

pub(crate) fn measure(settings: &Settings) -> Result<Value, Error> {
    let (rounds, seed) = (settings.rounds, settings.seed as usize);
    let all: Vec<Slots> = SIZES.iter().map(|bytes| slots(*bytes)).collect();
    let found = Machine::threads(2)?.run(move |node| {
        let mut found = Vec::new();
        for (bytes, slots) in SIZES.into_iter().zip(&all) {
            let mut side = Side { slots: Arc::clone(slots), mine: vec![1; bytes], turn: [0; 2] };
            for (to_and_fro, touched) in [(false, false), (false, true), (true, false), (true, true)] {
                found.push(one(node, &mut side, Pattern { bytes, to_and_fro, touched }, rounds, seed));
            }
        }
        Ok(found)
    })?;
    Ok(report(&found.into_iter().next().unwrap_or_default()))
}

fn one(node: &mut Node, side: &mut Side, pattern: Pattern, rounds: usize, seed: usize) -> Found {
    let tried: Vec<&'static Routine> = TRIED.iter().filter_map(|name| Routine::named(name)).collect();
    let default = Way::One(routines()[0]);
    let pairs: Vec<[Way; 2]> =
        tried.iter().flat_map(|a| tried.iter().map(|b| [Way::One(a), Way::One(b)])).collect();
    let first = seed * 1000;
    let Ok(timings) = race::<Infallible>(first..first + SEARCH, 0, pairs.len(), |_, who| {
        Ok(exchange(node, side, pattern, pairs[who]))
    });
    let equal: Vec<usize> = (0..pairs.len()).filter(|who| pairs[*who][0] == pairs[*who][1]).collect();
    let of_equal: Vec<Timings> = equal.iter().map(|who| timings[*who].clone()).collect();
    let best = [pairs[fastest(&timings)], pairs[equal[fastest(&of_equal)]]];
    let receive = if pattern.touched { Hint::RECEIVE.read() } else { Hint::RECEIVE.left() };
    let ours = [Way::Ours(Hint::SEND), Way::Ours(receive)];
    let contestants = [best[0], [default; 2], ours, best[1]];
    let Ok(timings) = race::<Infallible>(first + 500..first + 500 + rounds, 0, 4, |_, who| {
        Ok(exchange(node, side, pattern, contestants[who]))
    });
    let name = |way: Way| match way {
        Way::One(routine) => routine.name(),
        Way::Ours(hint) => strata_copy::routine_for(hint, pattern.bytes, true).name(),
    };
    Found {
        pattern,
        best: contestants[0].map(name),
        equal: name(contestants[3][0]),
        ours: ours.map(name),
        microseconds: timings[0].median() * 1e6,
        rates: [1, 2, 3].map(|who| timings[0].over(&timings[who]).median()),
    }
}

fn report(found: &[Found]) -> Value {
    columns("bytes | pattern | best pair | µs | best equal | its rate | default's | ours | its rate");
    for Found { pattern, best, equal, ours, microseconds, rates } in found {
        let name = if pattern.to_and_fro { "ping-pong" } else { "ping-ping" };
        println!(
            "| {} | {name}{} | {} | {microseconds:.2} | {} | {:.2} | {:.2} | {} | {:.2} |",
            pattern.bytes,
            if pattern.touched { ", touched" } else { "" },
            best.join(" / "),
            *equal,
            rates[2],
            rates[0],
            ours.join(" / "),
            rates[1]
        );
    }
    println!();
    let mean = |which: usize| {
        let logs: f64 = found.iter().map(|found| found.rates[which].ln()).sum();
        (logs / found.len().max(1) as f64).exp()
    };
    let least = |which: usize| found.iter().map(|found| found.rates[which]).fold(f64::INFINITY, f64::min);
    json!({
        "patterns": found.len(),
        "default_over_best_pair": { "mean": mean(0), "least": least(0) },
        "ours_over_best_pair": { "mean": mean(1), "least": least(1) },
        "best_equal_over_best_pair": { "mean": mean(2), "least": least(2) },
        "ours_below_0.95": found.iter().filter(|found| found.rates[1] < 0.95).count(),
    })
}
