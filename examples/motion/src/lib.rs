//! The thesis's application: motion in a video signal, line by line (Warfel 1996, chapter 7).
//!
//! A gateway deals out blocks of scan lines to workers, each of which always sees the same part of
//! the frame; they compare every pixel with its weighted moving average, and a second gateway
//! collects what moves. Filling a worker, computing and draining it are tasks of their own, so that
//! a gateway serves all workers though it communicates with one at a time.
//!
//! ```text
//! camera ─ gateway in ─┬─ fill 0 ─ worker 0 ─ drain 0 ─┬─ gateway out ─ display
//!                      ├─ fill 1 ─ worker 1 ─ drain 1 ─┤
//!                      ┆                               ┆
//! ```
//!
//! Filling and draining may also be one task of three cells (§7.2.3): a worker gives the masks of
//! its last block while it takes the next, so that eight workers suffice.

#![forbid(unsafe_code)]

pub mod iwarp;

use strata_runtime::Error;
use strata_tcs::barrier::Costs;
use strata_tcs::switch::Mode;
use strata_tcs::{
    App, Cell, Child, Connection, Image, Input, LinkErrors, Net, Options, Output, Placement, Target,
    link_with,
};

/// Pixels of a scan line.
pub const WIDTH: usize = iwarp::motion::WIDTH;
/// Scan lines of a frame.
pub const HEIGHT: usize = 240;
/// Pixels that cross a connection at once: a word.
const WORD: usize = 8;
/// Clocks between two words of the signal: 1024 of active video a line (§7.1: 51.2 µs).
const WORD_CLOCKS: f64 = 1024.0 / (WIDTH / WORD) as f64;
/// Bytes a second of the signal, and of the masks.
const SIGNAL: f64 = 5e6;
const MASKS: f64 = MASK_BYTES as f64 * 20e6 / iwarp::motion::LINE;
const MASK_BYTES: usize = size_of::<[u64; MASK]>();
/// By how much a pixel that moves exceeds its average.
const THRESHOLD: u8 = 20;
/// Words of a line of the mask, a bit for each pixel.
const MASK: usize = WIDTH / 64;

strata_tcs::communication! {
    networks { pub(crate) Lines, pub(crate) Masks }
    sets { pub(crate) Stream: Lines, Masks; }
}

/// The motion detector, linked.
#[derive(Clone, Debug)]
pub struct Motion {
    image: Image,
    workers: usize,
    lines: usize,
    camera: Child,
    detect: Child,
    display: Child,
    /// By worker: what fills it and what drains it, which may be the same.
    fill: Vec<Child>,
    compute: Vec<Child>,
    drain: Vec<Child>,
    moves: Moves,
    signal_out: Output<u64>,
    fill_in: Input<u64>,
    fill_line: Connection<u64, Lines>,
    drain_line: Connection<u64, Masks>,
    drain_out: Output<[u64; MASK]>,
    screen_in: Input<[u64; MASK]>,
}

/// How workers are filled and drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// By a task of two cells each.
    Apart,
    /// By one task of three cells: the masks of a worker's last block leave while its next comes.
    Together,
}

/// What the display saw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Where something moves, frame by frame, a bit for each pixel.
    pub masks: Vec<Vec<[u64; MASK]>>,
    /// For each block the clocks from its first pixel to the first line of its mask.
    pub latencies: Vec<f64>,
    /// Clocks from the first pixel to the last mask.
    pub clocks: f64,
}

/// What a cell knows at the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ended {
    /// Of the display.
    pub seen: Option<Seen>,
    /// Scan lines that began before the gateway was ready for them: on a real machine, lost.
    pub lost: usize,
    /// Clocks for which a worker was in use: from the end of each fill to the end of its drain, or
    /// of its computation if the two are one task.
    pub busy: f64,
}

impl Motion {
    /// The cells that it needs besides its workers: camera, two gateways, display.
    pub const OTHERS: usize = 4;

    /// The detector with `workers` workers and blocks of `lines` scan lines, linked for `target`. It
    /// reserves the bandwidth of the signal and the masks, if the rates of the target's links are known.
    ///
    /// # Errors
    /// As [`link_with`]. `workers` and `lines` are at least 1, and `lines` at most a frame's.
    pub fn new(workers: usize, lines: usize, target: &Target, options: &Options) -> Result<Self, LinkErrors> {
        Self::with(workers, lines, Moves::Apart, target, options)
    }

    /// As [`new`](Self::new), with workers filled and drained as `moves` says.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with(
        workers: usize,
        lines: usize,
        moves: Moves,
        target: &Target,
        options: &Options,
    ) -> Result<Self, LinkErrors> {
        let workers = workers.max(1);
        let lines = lines.clamp(1, HEIGHT);
        let mut app = App::new("motion");
        let root = app.task("video", workers + Self::OTHERS);
        let (camera, screen) = (app.task("camera", 1), app.task("display", 1));
        let signal_out = app[camera].output("signal", 0);
        let screen_in = app[screen].input("mask", 0);
        // Cell 0 takes the signal, the last one gives the mask.
        let detect = app.task("detect", workers + 2);
        app[detect].input::<u64>("signal", 0);
        app[detect].output::<[u64; MASK]>("mask", workers + 1);
        let compute = app.task("compute", 1);
        let (fill, drain, first) = match moves {
            Moves::Apart => (app.task("fill", 2), app.task("drain", 2), 0),
            Moves::Together => {
                let both = app.task("swap", 3);
                (both, both, 1)
            }
        };
        let fill_in = app[fill].input("signal", 0);
        let fill_line = app[fill].connect(0, 1);
        // Where nothing is guaranteed, nothing can be reserved.
        let reserves = target.guarantees();
        if reserves {
            app[fill].reserve(fill_line, SIGNAL);
        }
        app[fill].set::<Stream>();
        let drain_out = app[drain].output("mask", first + 1);
        let drain_line = app[drain].connect(first, first + 1);
        if reserves {
            app[drain].reserve(drain_line, MASKS);
        }
        app[drain].set::<Stream>();
        let (mut fills, mut computes, mut drains) = (Vec::new(), Vec::new(), Vec::new());
        for worker in 0..workers {
            let at = worker + 1;
            computes.push(app[detect].child(format!("compute{worker}"), compute, &[at]));
            let (into, out) = match moves {
                Moves::Apart => (
                    app[detect].child(format!("fill{worker}"), fill, &[0, at]),
                    app[detect].child(format!("drain{worker}"), drain, &[at, workers + 1]),
                ),
                Moves::Together => {
                    let both = app[detect].child(format!("swap{worker}"), fill, &[0, at, workers + 1]);
                    (both, both)
                }
            };
            app[detect].inherit(into, "signal", "signal");
            app[detect].inherit(out, "mask", "mask");
            fills.push(into);
            drains.push(out);
        }
        let inside: Vec<usize> = (1..workers + 3).collect();
        let camera = app[root].child("camera", camera, &[0]);
        let detect = app[root].child("detect", detect, &inside);
        let display = app[root].child("display", screen, &[workers + 3]);
        let signal = app[root].wire(camera, "signal", detect, "signal");
        let mask = app[root].wire(detect, "mask", display, "mask");
        if reserves {
            app[root].reserve(signal, SIGNAL);
            app[root].reserve(mask, MASKS);
        }
        let image = link_with(&app, root, target, options)?;
        Ok(Self {
            image,
            workers,
            lines,
            camera,
            detect,
            display,
            fill: fills,
            compute: computes,
            drain: drains,
            moves,
            signal_out,
            fill_in,
            fill_line,
            drain_line,
            drain_out,
            screen_in,
        })
    }

    /// On iWarp, with the costs that were measured of this application's parts (§7.2): tasks of two
    /// cells start in `start` and end in `end` clocks, 225 and 60; those of one cell in 20 and 20.
    /// A word passes two gates in 5 and each cell in 5 (Fig 3.6), not the 36 of a transfer by DMA.
    /// The workers are placed close to the gateways, so that a line's last word does not come late.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn on_iwarp(
        workers: usize,
        lines: usize,
        moves: Moves,
        start: f64,
        end: f64,
    ) -> Result<Self, LinkErrors> {
        let costs = Costs { startup: 10.0, send: 1.5, latency: 8.7, receive: 1.5, hop: 0.0 };
        let barrier = costs.startup + costs.send + costs.latency + costs.receive;
        let target = Target {
            overhead: 5.0,
            barrier: costs,
            task_change: 20.0,
            reconfigure: (start - 20.0 - barrier).max(0.0),
            restore: (end - barrier).max(0.0),
            ..Target::iwarp(8, 8)
        };
        // The gateways in the middle, and the cells nearest to them for the workers.
        let (into, out) = (27, 28);
        let mut others: Vec<usize> = (0..target.cells).filter(|cell| ![into, out].contains(cell)).collect();
        others.sort_by_key(|cell| [into, out].map(|gateway| target.shape.distance(*cell, gateway)));
        let mut at = vec![0; workers + Self::OTHERS];
        at[1] = into;
        at[workers + 2] = out;
        let places = (2..workers + 2).chain([0, workers + 3]);
        places.zip(others).for_each(|(cell, place)| at[cell] = place);
        let options = Options { switch: Mode::Single, placement: Placement::At(at), ..Options::default() };
        Self::with(workers, lines, moves, &target, &options)
    }

    /// The linked application.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// The program of every cell: `frames` frames, of which `frame(number)` makes each, 61,440
    /// pixels, at the camera.
    ///
    /// # Errors
    /// None of its own.
    pub fn body(
        &self,
        cell: &mut Cell<'_>,
        frames: usize,
        frame: impl Fn(usize) -> Vec<u8>,
    ) -> Result<Ended, Error> {
        let last = self.workers + 3;
        match cell.id() {
            0 => cell.start(self.camera, |cell| self.film(cell, frames, frame)),
            id if id == last => cell.start(self.display, |cell| self.show(cell, frames)),
            _ => cell.start(self.detect, |cell| match cell.id() {
                0 => self.deal(cell, frames),
                id if id == self.workers + 1 => self.collect(cell, frames),
                id => self.work(cell, id - 1, frames),
            }),
        }
    }

    /// The blocks of a frame: first line, number of lines.
    fn blocks(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let lines = self.lines;
        (0..HEIGHT).step_by(lines).map(move |first| (first, lines.min(HEIGHT - first)))
    }

    /// The worker of the block that begins with a line.
    fn worker(&self, first: usize) -> usize {
        first / self.lines % self.workers
    }

    /// When a scan line begins: after the tasks have started.
    fn begins(frame: usize, line: usize) -> f64 {
        const FIRST: f64 = 20_000.0;
        FIRST + iwarp::motion::FRAME * frame as f64 + iwarp::motion::LINE * line as f64
    }

    fn film(
        &self,
        cell: &mut Cell<'_>,
        frames: usize,
        frame: impl Fn(usize) -> Vec<u8>,
    ) -> Result<Ended, Error> {
        // So much earlier that a word is at the gateway when the signal says so.
        let root = self.image.report().tasks.first();
        let way = root.and_then(|root| root.external.first()).map_or(0.0, |signal| signal.latency);
        let way = way + self.image.target().link_rate.map_or(0.0, |rate| (WORD as f64 / rate).floor());
        for number in 0..frames {
            let mut pixels = frame(number);
            pixels.resize(WIDTH * HEIGHT, 0);
            for (line, pixels) in pixels.chunks_exact(WIDTH).enumerate() {
                for (word, pixels) in pixels.chunks_exact(WORD).enumerate() {
                    let mut bytes = [0; WORD];
                    bytes.copy_from_slice(pixels);
                    cell.until(Self::begins(number, line) + WORD_CLOCKS * (word + 1) as f64 - way);
                    cell.write(self.signal_out, &[u64::from_ne_bytes(bytes)]);
                }
            }
        }
        Ok(Ended::default())
    }

    fn deal(&self, cell: &mut Cell<'_>, frames: usize) -> Result<Ended, Error> {
        let mut ended = Ended::default();
        for frame in 0..frames {
            for (first, lines) in self.blocks() {
                cell.start(self.fill[self.worker(first)], |cell| {
                    cell.phase::<Stream, _>(|net| {
                        for line in first..first + lines {
                            ended.lost += usize::from(net.clocks() > Self::begins(frame, line));
                            let mut word = [0];
                            for _ in 0..WIDTH / WORD {
                                net.read(self.fill_in, &mut word);
                                net.send(self.fill_line, &word);
                            }
                        }
                        Ok(())
                    })
                })?;
            }
        }
        for (worker, _) in self.last(frames) {
            cell.start(self.fill[worker], |_| Ok(()))?;
        }
        Ok(ended)
    }

    /// The blocks of all frames, in order: the number of lines of each.
    fn all(&self, frames: usize) -> Vec<(usize, usize)> {
        let frame = || self.blocks().map(|(first, lines)| (self.worker(first), lines));
        (0..frames).flat_map(|_| frame()).collect()
    }

    /// The workers that still hold masks when the last block has come, and the lines of each, in
    /// order; none if they are drained by tasks of their own.
    fn last(&self, frames: usize) -> Vec<(usize, usize)> {
        let all = if self.moves == Moves::Together { self.all(frames) } else { Vec::new() };
        let is_last = |at: usize| all[at + 1..].iter().all(|(worker, _)| *worker != all[at].0);
        (0..all.len()).filter(|at| is_last(*at)).map(|at| all[at]).collect()
    }

    fn work(&self, cell: &mut Cell<'_>, worker: usize, frames: usize) -> Result<Ended, Error> {
        let mut averages = vec![0u8; WIDTH * HEIGHT];
        let (mut ended, mut before) = (Ended::default(), Vec::new());
        let together = self.moves == Moves::Together;
        for frame in 0..frames {
            for (first, lines) in self.blocks().filter(|(first, _)| self.worker(*first) == worker) {
                let mut pixels = vec![0u8; lines * WIDTH];
                cell.start(self.fill[worker], |cell| {
                    cell.phase::<Stream, _>(|net| {
                        self.give(net, &std::mem::take(&mut before));
                        for bytes in pixels.chunks_exact_mut(WORD) {
                            let mut word = [0u64];
                            net.receive(self.fill_line, &mut word);
                            bytes.copy_from_slice(&word[0].to_ne_bytes());
                        }
                        Ok(())
                    })
                })?;
                let filled = cell.clocks();
                let averages = &mut averages[first * WIDTH..(first + lines) * WIDTH];
                let masks = cell.start(self.compute[worker], |cell| {
                    let masks = moving(&pixels, averages, frame == 0);
                    let moved: u32 = masks.iter().flatten().map(|word| word.count_ones()).sum();
                    let [still, moving] = iwarp::motion::PIXEL;
                    let clocks = still * pixels.len() as f64 + (moving - still) * f64::from(moved);
                    cell.work(clocks, || ());
                    Ok(masks)
                })?;
                if together {
                    before = masks;
                } else {
                    self.drain(cell, worker, &masks)?;
                }
                ended.busy += cell.clocks() - filled;
            }
        }
        if !before.is_empty() {
            self.drain(cell, worker, &before)?;
        }
        Ok(ended)
    }

    fn drain(&self, cell: &mut Cell<'_>, worker: usize, masks: &[[u64; MASK]]) -> Result<(), Error> {
        cell.start(self.drain[worker], |cell| {
            cell.phase::<Stream, _>(|net| {
                self.give(net, masks);
                Ok(())
            })
        })
    }

    fn give(&self, net: &mut Net<'_, '_, Stream>, masks: &[[u64; MASK]]) {
        masks.iter().flatten().for_each(|word| net.send(self.drain_line, &[*word]));
    }

    fn collect(&self, cell: &mut Cell<'_>, frames: usize) -> Result<Ended, Error> {
        // Together with each block come the masks of the worker's block before it.
        let (mut held, mut order) = (vec![0; self.workers], Vec::new());
        for (worker, lines) in self.all(frames) {
            order.push((worker, if self.moves == Moves::Together { held[worker] } else { lines }));
            held[worker] = lines;
        }
        order.extend(self.last(frames));
        for (worker, lines) in order {
            cell.start(self.drain[worker], |cell| {
                cell.phase::<Stream, _>(|net| {
                    for _ in 0..lines {
                        let mut mask = [[0u64; MASK]];
                        for word in &mut mask[0] {
                            net.receive(self.drain_line, std::slice::from_mut(word));
                        }
                        net.write(self.drain_out, &mask);
                    }
                    Ok(())
                })
            })?;
        }
        Ok(Ended::default())
    }

    fn show(&self, cell: &mut Cell<'_>, frames: usize) -> Result<Ended, Error> {
        let mut seen = Seen::default();
        for frame in 0..frames {
            let mut masks = Vec::with_capacity(HEIGHT);
            for (first, lines) in self.blocks() {
                for line in 0..lines {
                    let mut mask = [[0; MASK]];
                    cell.read(self.screen_in, &mut mask);
                    masks.extend(mask);
                    if line == 0 {
                        seen.latencies.push(cell.clocks() - Self::begins(frame, first));
                    }
                }
            }
            seen.masks.push(masks);
        }
        seen.clocks = cell.clocks() - Self::begins(0, 0);
        Ok(Ended { seen: Some(seen), ..Ended::default() })
    }
}

/// Which pixels exceed their averages, which are updated; the first frame sets them.
fn moving(pixels: &[u8], averages: &mut [u8], first: bool) -> Vec<[u64; MASK]> {
    let mut masks = vec![[0; MASK]; pixels.len() / WIDTH];
    for (at, (pixel, average)) in pixels.iter().zip(averages).enumerate() {
        if first {
            *average = *pixel;
        }
        if pixel.saturating_sub(*average) >= THRESHOLD {
            masks[at / WIDTH][at % WIDTH / 64] |= 1 << (at % 64);
        }
        // Seven parts of what was, one of what is.
        *average = ((u16::from(*average) * 7 + u16::from(*pixel)) / 8) as u8;
    }
    masks
}

/// What a detector without any parallelism sees, for comparison.
pub fn sequential(frames: usize, frame: impl Fn(usize) -> Vec<u8>) -> Vec<Vec<[u64; MASK]>> {
    let mut averages = vec![0; WIDTH * HEIGHT];
    (0..frames)
        .map(|number| {
            let mut pixels = frame(number);
            pixels.resize(WIDTH * HEIGHT, 0);
            moving(&pixels, &mut averages, number == 0)
        })
        .collect()
}

/// A made-up clip: a bright ball that bounces over a slope of grey. Frame `number`.
pub fn clip(number: usize) -> Vec<u8> {
    let fold = |at: usize, most: usize| {
        let at = at % (2 * most);
        if at < most { at } else { 2 * most - 1 - at }
    };
    let (centre_x, centre_y) = (20 + fold(9 * number, WIDTH - 40), 20 + fold(5 * number, HEIGHT - 40));
    let pixel = |x: usize, y: usize| {
        let (dx, dy) = (x.abs_diff(centre_x), y.abs_diff(centre_y));
        if dx * dx + dy * dy <= 15 * 15 { 230 } else { (40 + x / 4 + y / 8) as u8 }
    };
    (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| pixel(x, y))).collect()
}
