//! Made-up machines, and what three libraries cost on them.
//!
//! Costs come from mechanisms (cycles, mispredicted branches, bandwidth and latency of the level of
//! memory that holds the data, messages), not from the terms of the models.

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// A machine; sizes in bytes, times in seconds.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    cycle: f64,
    mispredicted: f64,
    /// Size, seconds a byte of a stream, and seconds of a random access; the last is memory.
    levels: [(f64, f64, f64); 4],
    /// Seconds a message, of it on the processor, and seconds a byte.
    message: (f64, f64, f64),
}

impl Machine {
    /// The machine that the shipped models are of.
    pub(super) fn shipped() -> Self {
        Self::of(3e9, [32e3, 1e6, 32e6], 12e9, 90e-9, 2e-6, 5e9)
    }

    fn of(clock: f64, caches: [f64; 3], bandwidth: f64, latency: f64, message: f64, network: f64) -> Self {
        let cycle = 1.0 / clock;
        let [l1, l2, l3] = caches;
        Self {
            cycle,
            mispredicted: 16.0 * cycle,
            levels: [
                (l1, cycle / 32.0, 4.0 * cycle),
                (l2, cycle / 20.0, 14.0 * cycle),
                (l3, cycle / 8.0, 45.0 * cycle),
                (f64::INFINITY, 1.0 / bandwidth, latency),
            ],
            message: (message, 0.3 * message, 1.0 / network),
        }
    }

    /// Another machine: clock, caches, bandwidth, latency and network drawn at random.
    pub(super) fn drawn(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut between = |least: f64, most: f64| least * (most / least).powf(rng.random::<f64>());
        let clock = between(1.2e9, 5e9);
        let caches = [between(16e3, 128e3), between(256e3, 4e6), between(4e6, 256e6)];
        let (bandwidth, latency) = (between(3e9, 60e9), between(50e-9, 200e-9));
        let (message, network) = (between(0.3e-6, 30e-6), between(0.5e9, 30e9));
        Self::of(clock, caches, bandwidth, latency, message, network)
    }

    /// What a working set of so many bytes sees of a property of the levels.
    fn seen(&self, bytes: f64, of: impl Fn(&(f64, f64, f64)) -> f64) -> f64 {
        // A set that hardly fits is partly beyond.
        let mut rest = 1.0;
        let mut sum = 0.0;
        for level in &self.levels {
            let inside =
                if level.0.is_finite() { 1.0 / (1.0 + (bytes / (0.7 * level.0)).powi(4)) } else { 1.0 };
            sum += rest * inside * of(level);
            rest *= 1.0 - inside;
        }
        sum
    }

    fn stream(&self, moved: f64, set: f64) -> f64 {
        moved * self.seen(set, |level| level.1)
    }

    fn access(&self, set: f64) -> f64 {
        self.seen(set, |level| level.2)
    }

    fn cycles(&self, count: f64) -> f64 {
        count * self.cycle
    }
}

/// A candidate: its name, its terms, and its parameter with the steps of powers of two.
pub(super) struct Candidate {
    pub(super) name: &'static str,
    pub(super) terms: &'static [&'static str],
    pub(super) parameter: Option<(&'static str, i64, i64)>,
}

/// A library: inputs with their ranges, candidates, and the true cost of each.
pub(super) struct Library {
    pub(super) name: &'static str,
    pub(super) inputs: &'static [(&'static str, f64, f64)],
    pub(super) candidates: &'static [Candidate],
    pub(super) cost: fn(&Machine, usize, &[f64]) -> f64,
    /// What making an input costs, in bytes that are written.
    pub(super) bytes: fn(&[f64]) -> f64,
}

const fn plain(name: &'static str, terms: &'static [&'static str]) -> Candidate {
    Candidate { name, terms, parameter: None }
}

pub(super) const LIBRARIES: [Library; 3] = [
    Library {
        name: "sort",
        inputs: &[("n", 64.0, 4e6), ("w", 1.0, 64.0)],
        candidates: &[
            plain("compare", &["n", "n*log2(n)", "max(0,n-65536)", "max(0,n-65536)*log2(n)"]),
            plain("merge", &["n", "n*log2(n)", "max(0,n-65536)", "max(0,n-65536)*log2(n)"]),
            plain(
                "bytes",
                &["n", "ceil(w/8)", "n*ceil(w/8)", "max(0,n-65536)*ceil(w/8)", "max(0,n-2e6)*ceil(w/8)"],
            ),
            Candidate {
                name: "radix",
                terms: &[
                    "n",
                    "n*ceil(w/b)",
                    "ceil(w/b)*pow(2,b)",
                    "max(0,n-65536)*ceil(w/b)",
                    "n*ceil(w/b)*(b>9)",
                    "n*ceil(w/b)*max(0,b-9)",
                ],
                parameter: Some(("b", 2, 16)),
            },
        ],
        cost: sort,
        bytes: |x| 8.0 * x[0],
    },
    Library {
        name: "copy",
        inputs: &[("n", 64.0, 64e6)],
        candidates: &[
            plain("words", &["n", "max(0,n-16384)", "max(0,n-5e5)", "max(0,n-1.6e7)"]),
            plain("wide", &["n", "max(0,n-16384)", "max(0,n-5e5)", "max(0,n-1.6e7)"]),
            plain("string", &["n", "max(0,n-16384)", "max(0,n-5e5)", "max(0,n-1.6e7)"]),
            plain("past", &["n"]),
        ],
        cost: copy,
        bytes: |x| 2.0 * x[0],
    },
    Library {
        name: "exchange",
        inputs: &[("n", 8.0, 1e6)],
        candidates: &[
            plain("direct", &["n", "max(0,n-1e5)"]),
            plain("cube", &["n", "max(0,n-1e5)"]),
            plain("gathered", &["n", "max(0,n-1e5)"]),
            Candidate { name: "pieces", terms: &["n", "n/s", "s"], parameter: Some(("s", 256, 65536)) },
        ],
        cost: exchange,
        bytes: |x| 16.0 * x[0],
    },
];

/// Sorts of n keys of 8 bytes, w bits of which differ.
fn sort(m: &Machine, candidate: usize, x: &[f64]) -> f64 {
    let (n, w) = (x[0], x[1]);
    let (bytes, log) = (8.0 * n, n.log2());
    match candidate {
        // A quicksort: every other branch is mispredicted.
        0 => n * log * (m.cycles(3.0) + 0.45 * m.mispredicted) + log * m.stream(0.6 * bytes, bytes),
        // A merge sort without branches, with a buffer.
        1 => m.cycles(2000.0) + n * log * m.cycles(7.0) + log * m.stream(2.0 * bytes, 2.0 * bytes),
        2 => (w / 8.0).ceil() * pass(m, n, 8.0),
        _ => (w / x[2]).ceil() * pass(m, n, x[2]),
    }
}

/// A pass of a radix sort by digits of b bits.
fn pass(m: &Machine, n: f64, b: f64) -> f64 {
    let buckets = b.exp2();
    let open = 64.0 * buckets;
    let scatter = 0.3 * (m.access(open) - m.levels[0].2).max(0.0);
    m.cycles(60.0 + 3.0 * buckets) + n * (m.cycles(4.0) + scatter) + m.stream(24.0 * n, 16.0 * n)
}

fn copy(m: &Machine, candidate: usize, x: &[f64]) -> f64 {
    let n = x[0];
    let moved = m.stream(2.0 * n, 2.0 * n);
    match candidate {
        0 => m.cycles(8.0 + n / 8.0).max(moved) + 0.3 * moved,
        1 => m.cycles(40.0 + n / 32.0).max(moved) + 0.3 * moved,
        2 => m.cycles(120.0) + m.cycles(n / 64.0).max(0.85 * moved) + 0.3 * moved,
        // Past the caches: two thirds of the traffic, whatever the size.
        _ => m.cycles(300.0) + n * m.levels[3].1 * 1.25 + m.cycles(n / 32.0),
    }
}

/// All-to-all exchanges of n bytes for each of 8 nodes.
fn exchange(m: &Machine, candidate: usize, x: &[f64]) -> f64 {
    let (n, p) = (x[0], 8.0_f64);
    let (alpha, own, byte) = m.message;
    let copied = |bytes: f64| m.stream(2.0 * bytes, 2.0 * bytes);
    match candidate {
        0 => alpha + (p - 1.0) * (2.0 * own + n * byte),
        1 => p.log2() * (alpha + own + p / 2.0 * n * byte + copied(p / 2.0 * n)),
        2 => 2.0 * (alpha + (p - 1.0) * (own * 0.5) + p * n * byte) + copied(p * n),
        _ => {
            alpha
                + (p - 1.0) * (0.8 * own + 0.25 * own * (n / x[1]).ceil() + 0.9 * n * byte)
                + 0.5 * x[1] * byte
        }
    }
}
