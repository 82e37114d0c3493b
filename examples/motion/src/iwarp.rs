//! The thesis's predictions for iWarp (Warfel 1996, chapters 3 to 7), in clocks of 20 MHz.
//!
//! Plain arithmetic on the constants that the thesis prints, or that its printed predictions imply:
//! `tests/it/iwarp.rs` holds every printed prediction against it. Where prose and numbers of the
//! thesis differ, these are the numbers.

/// Whole clocks for `bytes` at a link's rate (§3.1: 39.96 MB/s).
pub fn on_link(bytes: usize) -> f64 {
    (bytes as f64 / 1.998).floor()
}

/// A transfer over a connection to a cell `distance` cells away (§3.2.1, Figs 3.7 and 3.8).
pub fn connection(bytes: usize, distance: usize) -> f64 {
    36.0 + on_link(bytes) + 5.0 * distance as f64
}

/// A deposit message (§3.2.3, Figs 3.10 and 3.11); those of one word need no DMA.
pub fn deposit(bytes: usize, distance: usize) -> f64 {
    let overhead = if bytes <= 4 { 253.0 } else { 359.0 };
    overhead + on_link(bytes) + 5.0 * distance as f64
}

fn log2(cells: usize) -> f64 {
    (cells as f64).log2()
}

/// Barriers by messages of a token ring through all cells, one at a time (Fig 4.20).
pub mod rts {
    use super::log2;

    /// Clocks of a message.
    const MESSAGE: f64 = 28_340.0;
    /// Clocks before the first.
    const STARTUP: f64 = 40.0;

    /// A token twice around.
    pub fn token(cells: usize) -> f64 {
        STARTUP + 2.0 * cells as f64 * MESSAGE
    }

    /// A reduction and a broadcast, if messages could overlap.
    pub fn tree(cells: usize) -> f64 {
        STARTUP + 2.0 * log2(cells) * MESSAGE
    }

    /// N - 1 messages of each cell around a ring, if messages could overlap.
    pub fn ring_overlapped(cells: usize) -> f64 {
        STARTUP + (cells as f64 - 1.0) * MESSAGE
    }

    /// The same, one message after the other.
    pub fn ring(cells: usize) -> f64 {
        STARTUP + cells as f64 * (cells as f64 - 1.0) * MESSAGE
    }
}

/// Barriers by deposit messages (Fig 4.21).
pub mod deposits {
    use super::log2;

    /// A token twice around.
    pub fn token(cells: usize) -> f64 {
        2.0 * cells as f64 * 275.0
    }

    /// A reduction and a broadcast.
    pub fn tree(cells: usize) -> f64 {
        432.0 + 630.0 * log2(cells)
    }

    /// N - 1 messages of each cell around a ring.
    pub fn ring(cells: usize) -> f64 {
        505.0 * (cells as f64 - 1.0)
    }

    /// Exchanges along the dimensions of a hypercube.
    pub fn hypercube(cells: usize) -> f64 {
        545.0 * log2(cells)
    }
}

/// Barriers by connections (Fig 4.22).
pub mod connections {
    /// A token twice around.
    pub fn token(cells: usize) -> f64 {
        80.0 + 23.0 * cells as f64
    }

    /// N - 1 messages of each cell around a ring.
    pub fn ring(cells: usize) -> f64 {
        64.0 + 11.5 * cells as f64
    }
}

/// A communication context switch around barriers of `barrier` clocks (§5.2.1, Fig 5.1).
pub fn switch(barrier: f64) -> f64 {
    162.0 + 12.0 + 3.0 * barrier
}

/// A task's start with a switch of `switch` clocks (§5.3.1, Fig 5.3).
pub fn start(switch: f64) -> f64 {
    130.0 + switch
}

/// A task's end with a barrier of `barrier` clocks (§5.4.1, Fig 5.4).
pub fn end(barrier: f64) -> f64 {
    70.0 + barrier
}

/// A pattern by connection sets on a square of cells: measured switches and latencies enter.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Square {
    cells: usize,
    /// Mean latency of a connection.
    latency: f64,
    /// Clocks of a switch in scatter and gather, and how many.
    scatter: (f64, f64),
    /// Clocks of the switch in reduction and broadcast.
    reduce: f64,
    /// All-to-all: clocks without data, and for each byte.
    all_to_all: (f64, f64),
}

const SQUARES: [Square; 3] = [
    Square { cells: 4, latency: 38.0, scatter: (441.0, 1.0), reduce: 441.0, all_to_all: (3726.0, 2.25) },
    Square { cells: 16, latency: 59.0, scatter: (869.0, 2.0), reduce: 877.0, all_to_all: (18_202.0, 14.0) },
    Square {
        cells: 64,
        latency: 66.0,
        scatter: (2550.0, 10.0),
        reduce: 2562.0,
        all_to_all: (73_594.0, 96.0),
    },
];

fn square(cells: usize) -> Option<Square> {
    SQUARES.into_iter().find(|square| square.cells == cells)
}

/// Scatter and gather of `bytes` to and from each cell.
pub mod scatter_gather {
    use super::{on_link, square};

    /// By deposit messages (§6.2.1, Fig 6.1).
    pub fn messages(cells: usize, bytes: usize) -> f64 {
        532.0 + (cells as f64 - 1.0) * (359.0 + 230.0 + 20.0 + 2.0 * on_link(bytes))
    }

    /// By connection sets (§6.2.2, Fig 6.2); for 4, 16 and 64 cells.
    pub fn sets(cells: usize, bytes: usize) -> Option<f64> {
        let square = square(cells)?;
        let (switch, phases) = square.scatter;
        let others = cells as f64 - 1.0;
        Some(398.0 + 2.0 * others * (square.latency + on_link(bytes)) + switch * phases)
    }
}

/// Reduction and broadcast of `bytes`.
pub mod reduce_broadcast {
    use super::{log2, on_link, square};

    /// By deposit messages (§6.3.1, Figs 6.3 and 6.4).
    pub fn messages(cells: usize, bytes: usize) -> f64 {
        432.0 + 2.0 * log2(cells) * (40.0 + 359.0 + 20.0 + on_link(bytes))
    }

    /// By connection sets (§6.3.2, Fig 6.5); for 4, 16 and 64 cells.
    pub fn sets(cells: usize, bytes: usize) -> Option<f64> {
        let square = square(cells)?;
        Some(302.0 + 2.0 * log2(cells) * (square.latency + bytes as f64 / 1.998) + square.reduce)
    }
}

/// All-to-all of `bytes` from each cell to each.
pub mod all_to_all {
    use super::{on_link, square};

    /// By deposit messages in random order (§6.4.1, Fig 6.6); for 4 to 64 cells, powers of two.
    pub fn messages(cells: usize, bytes: usize) -> Option<f64> {
        const BARRIERS: [(usize, f64); 5] = [(4, 77.0), (8, 127.0), (16, 219.0), (32, 404.0), (64, 780.0)];
        let (_, barrier) = BARRIERS.into_iter().find(|(of, _)| *of == cells)?;
        Some(barrier + (cells as f64 - 1.0) * (40.0 + 359.0 + 230.0 + 20.0 + 2.0 * on_link(bytes)))
    }

    /// By connection sets, one a phase (§6.4.2, Fig 6.7); for 4, 16 and 64 cells.
    pub fn sets(cells: usize, bytes: usize) -> Option<f64> {
        let (fixed, each) = square(cells)?.all_to_all;
        Some(fixed + each * bytes as f64)
    }
}

/// The motion detector (§7.2.3, Figs 7.2 and 7.3).
pub mod motion {
    /// Clocks from one scan line to the next.
    pub const LINE: f64 = 1336.0;
    /// Clocks from one frame to the next: 60 a second.
    pub const FRAME: f64 = 20e6 / 60.0;
    /// Clocks of a line's active part as the prediction takes it: 64 words of 20 clocks.
    pub const ACTIVE: f64 = 1280.0;
    /// Pixels of a line.
    pub const WIDTH: usize = 256;
    /// Clocks for a pixel without and with motion.
    pub const PIXEL: [f64; 2] = [28.0, 33.0];
    /// Clocks between the active parts of two lines: a task's start and end must fit.
    pub const IDLE: f64 = 312.0;
    /// Clocks of the start and end of tasks that move lines, as measured.
    pub const START_END: [f64; 2] = [225.0, 60.0];

    /// Latency from a block's first pixel in to its first pixel out; blocks of `lines` scan lines,
    /// `pixel` clocks for a pixel.
    pub fn latency(lines: usize, pixel: f64) -> f64 {
        let [start, end] = START_END;
        let lines = lines as f64;
        let load = ACTIVE + LINE * (lines - 1.0);
        let compute = 20.0 + pixel * WIDTH as f64 * lines + 20.0;
        60.0 + load + end + compute + start
    }

    /// Lines of a block; latency, completion of 100 frames in clocks, and workers' utilisation in
    /// per cent, as measured.
    pub type Row = (usize, [f64; 3]);

    /// Fig 7.2: no pixel moves.
    pub const STILL: [Row; 8] = [
        (24, [203_040.0, 33_533_136.0, 51.5]),
        (12, [101_618.0, 33_433_898.0, 51.9]),
        (8, [67_824.0, 33_400_834.0, 52.3]),
        (6, [50_912.0, 33_384_284.0, 52.5]),
        (4, [34_019.0, 33_367_755.0, 52.9]),
        (3, [25_560.0, 33_359_476.0, 53.3]),
        (2, [17_119.0, 33_351_223.0, 53.9]),
        (1, [8659.0, 33_342_940.0, 54.8]),
    ];

    /// Fig 7.3: every pixel moves.
    pub const NOISE: [Row; 8] = [
        (24, [235_903.0, 33_566_763.0, 61.5]),
        (12, [117_953.0, 33_450_728.0, 62.1]),
        (8, [78_751.0, 33_412_054.0, 62.5]),
        (6, [59_148.0, 33_392_694.0, 62.7]),
        (4, [39_544.0, 33_373_352.0, 63.1]),
        (3, [29_696.0, 33_363_680.0, 63.7]),
        (2, [19_866.0, 33_354_028.0, 64.4]),
        (1, [10_005.0, 33_344_342.0, 65.5]),
    ];

    /// A frame in which every pixel exceeds its moving average by 20, for the first 119 frames after
    /// a black one.
    pub fn noise(number: usize) -> Vec<u8> {
        let pixel = if number == 0 { 0 } else { (18 + 2 * number).min(255) };
        vec![pixel as u8; WIDTH * super::super::HEIGHT]
    }

    /// The line through the latencies measured without motion (Fig 7.2): within 7 clocks of each.
    pub fn measured(lines: usize) -> f64 {
        210.0 + 8451.2 * lines as f64
    }
}
