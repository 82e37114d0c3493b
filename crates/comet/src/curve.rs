//! Times over sizes as straight pieces: start-up time, time per byte, and where protocols switch
//! (Ganapati 1993, §5.1).

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use serde::{Deserialize, Serialize};

/// A measured time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The size, in bytes or elements.
    pub size: f64,
    /// Seconds.
    pub seconds: f64,
    /// The standard error of `seconds`.
    pub error: f64,
}

/// A value with the ends of its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// One straight piece: seconds = start + size · per_byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// The least size measured on it.
    pub from: f64,
    /// The greatest.
    pub to: f64,
    /// t_startup, s.
    pub start: Estimate,
    /// t_per_byte, s.
    pub per_byte: Estimate,
}

/// Pieces, ascending.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// At least one.
    pub pieces: Vec<Piece>,
    /// The root mean square of relative residuals.
    pub residual: f64,
}

/// A place where one piece ends and the next begins: the protocol or the path of messages changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Break {
    /// The greatest measured size before it.
    pub after: f64,
    /// The least measured size after it.
    pub before: f64,
    /// The time at `before` by the piece after it over that by the piece before it.
    pub jump: f64,
}

/// The most pieces of a curve.
const PIECES: usize = 6;

/// Points of a piece.
const LEAST: usize = 3;

/// Pieces are added only while relative residuals scatter by more than this: the last, partly
/// filled packet of a message makes steps, too, which are no change of protocol.
const FLOOR: f64 = 0.015;

/// Bootstrap samples from which intervals are computed.
const COPIES: usize = 200;

impl Curve {
    /// Fits pieces to measured times by least squares of relative residuals; how many, the Bayesian
    /// information criterion decides, by all ways to cut. `None` for fewer than three sizes, or
    /// times that are not above zero.
    #[must_use]
    pub fn fit(points: &[Measured]) -> Option<Self> {
        let mut points: Vec<Measured> =
            points.iter().copied().filter(|p| p.seconds > 0.0 && p.seconds.is_finite()).collect();
        points.sort_by(|a, b| a.size.total_cmp(&b.size));
        points.dedup_by(|a, b| a.size == b.size);
        if points.len() < LEAST {
            return None;
        }
        let points: Vec<Weighed> = weighed(&points);
        let cuts = cut(&points);
        let seconds: Vec<f64> = points.iter().map(|p| p.seconds).collect();
        let lines = lines(&points, &seconds, &cuts);
        let fitted: Vec<f64> = cuts
            .windows(2)
            .zip(&lines)
            .flat_map(|(ends, line)| points[ends[0]..ends[1]].iter().map(|p| line.0 + line.1 * p.size))
            .collect();
        let squares: f64 = points.iter().zip(&fitted).map(|(p, f)| (p.seconds / f - 1.0).powi(2)).sum();
        let copies = copies(&points, &fitted, &cuts);
        let pieces = cuts.windows(2).enumerate().map(|(at, ends)| {
            let estimate = |value: f64, of: fn(&(f64, f64)) -> f64| {
                let mut values: Vec<f64> = copies.iter().map(|lines| of(&lines[at])).collect();
                values.sort_by(f64::total_cmp);
                let [low, high] = [0.025, 0.975].map(|q| crate::series::quantile(&values, q));
                Estimate { value, low: low.min(value), high: high.max(value) }
            };
            Piece {
                from: points[ends[0]].size,
                to: points[ends[1] - 1].size,
                start: estimate(lines[at].0, |line| line.0),
                per_byte: estimate(lines[at].1, |line| line.1),
            }
        });
        Some(Self { pieces: pieces.collect(), residual: (squares / points.len() as f64).sqrt() })
    }

    /// The seconds of a size, on the piece that holds it or the nearest one. NaN without pieces.
    #[must_use]
    pub fn seconds(&self, size: f64) -> f64 {
        let piece = self.pieces.iter().find(|piece| size <= piece.to).or(self.pieces.last());
        piece.map_or(f64::NAN, |piece| piece.start.value + size * piece.per_byte.value)
    }

    /// Where pieces meet.
    #[must_use]
    pub fn breaks(&self) -> Vec<Break> {
        let pairs = self.pieces.windows(2);
        pairs
            .map(|pair| {
                let at = pair[1].from;
                let by = |piece: &Piece| piece.start.value + at * piece.per_byte.value;
                Break { after: pair[0].to, before: at, jump: by(&pair[1]) / by(&pair[0]) }
            })
            .collect()
    }

    /// r∞: bytes a second of endless messages, by the last piece.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        let last = self.pieces.last()?;
        // A time that does not grow tells no rate.
        let each = last.per_byte.value;
        (each * last.to > 1e-3 * last.start.value.abs() && each > 0.0).then(|| each.recip())
    }

    /// The least size at which `share` of r∞ is reached: n½ for a half. `None` where no such size
    /// is below 2⁴⁰.
    #[must_use]
    pub fn size_at(&self, share: f64) -> Option<f64> {
        let rate = self.rate()?;
        for (at, piece) in self.pieces.iter().enumerate() {
            // size / (start + size·each) = share·rate
            let each = 1.0 / (share * rate) - piece.per_byte.value;
            let size = (piece.start.value / each).max(piece.from);
            let end = if at + 1 == self.pieces.len() { 2f64.powi(40) } else { piece.to };
            if each > 0.0 && size <= end {
                return Some(size);
            }
        }
        None
    }
}

/// A measured time and what it counts.
#[derive(Clone, Copy, Debug)]
struct Weighed {
    size: f64,
    seconds: f64,
    error: f64,
    /// The part of the range that it stands for, relative to the mean: sizes lie close together
    /// where a break was looked for, and would draw the line to themselves.
    share: f64,
}

/// The relative standard error from which on a time counts half or less.
const KNOWN: f64 = 0.02;

/// The least and the greatest share.
const SHARES: (f64, f64) = (0.05, 4.0);

fn weighed(points: &[Measured]) -> Vec<Weighed> {
    let log = |at: usize| points[at].size.max(0.5).ln();
    let last = points.len() - 1;
    let apart = |at: usize| {
        let (from, to) = (at.saturating_sub(1), (at + 1).min(last));
        (log(to) - log(from)) / (to - from) as f64
    };
    let mean = (log(last) - log(0)) / last as f64;
    let one = |(at, p): (usize, &Measured)| {
        // A time that is known badly tells little.
        let known = 1.0 / (1.0 + (p.error / p.seconds / KNOWN).powi(2));
        let share = (apart(at) / mean).clamp(SHARES.0, SHARES.1) * known;
        Weighed { size: p.size, seconds: p.seconds, error: p.error, share }
    };
    points.iter().enumerate().map(one).collect()
}

/// Sums of a relative least-squares line, from which pieces are fitted in constant time.
#[derive(Clone, Copy, Default)]
struct Sums {
    n: f64,
    w: f64,
    wx: f64,
    wxx: f64,
    wy: f64,
    wxy: f64,
}

impl Sums {
    fn add(self, point: &Weighed, y: f64) -> Self {
        // Weights make residuals relative to what was measured.
        let (x, w) = (point.size, point.share / (point.seconds * point.seconds));
        Self {
            n: self.n + 1.0,
            w: self.w + w,
            wx: self.wx + w * x,
            wxx: self.wxx + w * x * x,
            wy: self.wy + w * y,
            wxy: self.wxy + w * x * y,
        }
    }

    /// Intercept and slope.
    fn line(self) -> (f64, f64) {
        let spread = self.wxx - self.wx * self.wx / self.w;
        if self.n < 2.0 || spread <= 1e-12 * self.wxx {
            return (self.wy / self.w, 0.0);
        }
        let slope = (self.wxy - self.wx * self.wy / self.w) / spread;
        ((self.wy - slope * self.wx) / self.w, slope)
    }
}

fn line_of(points: &[Weighed], seconds: &[f64]) -> (f64, f64) {
    points.iter().zip(seconds).fold(Sums::default(), |sums, (p, y)| sums.add(p, *y)).line()
}

/// The least sum of squares, and from where to where pieces reach: dynamic programming over the
/// last piece.
fn cut(points: &[Weighed]) -> Vec<usize> {
    let n = points.len();
    let seconds: Vec<f64> = points.iter().map(|p| p.seconds).collect();
    let squares = |from: usize, to: usize| -> f64 {
        let (start, each) = line_of(&points[from..to], &seconds[from..to]);
        points[from..to].iter().map(|p| p.share * ((start + each * p.size) / p.seconds - 1.0).powi(2)).sum()
    };
    let row = |from| (0..=n).map(move |to| (from, to));
    let sum = |(from, to)| if to >= from + LEAST { squares(from, to) } else { f64::INFINITY };
    let table: Vec<Vec<f64>> = (0..n).map(|from| row(from).map(sum).collect()).collect();
    let most = PIECES.min(n / LEAST);
    // best[k][to]: least squares of k pieces up to `to`, and where the last one begins.
    let mut best = vec![vec![(f64::INFINITY, 0); n + 1]; most + 1];
    best[0][0].0 = 0.0;
    for k in 1..=most {
        for to in 1..=n {
            for from in 0..to {
                let sum = best[k - 1][from].0 + table[from][to];
                if sum < best[k][to].0 {
                    best[k][to] = (sum, from);
                }
            }
        }
    }
    // What single times are known to bounds what pieces may explain.
    let weights: f64 = points.iter().map(|p| p.share).sum();
    let noise = points.iter().map(|p| p.share * (p.error / p.seconds).powi(2)).sum::<f64>() / weights;
    let least = FLOOR * FLOOR + noise;
    let criterion = |k: usize| {
        let sum = best[k][n].0;
        n as f64 * (sum / n as f64 + least).ln() + 3.0 * k as f64 * (n as f64).ln()
    };
    let pieces = (1..=most)
        .filter(|k| best[*k][n].0.is_finite())
        .min_by(|a, b| criterion(*a).total_cmp(&criterion(*b)))
        .unwrap_or(1);
    let mut cuts = vec![n];
    let mut to = n;
    for k in (1..=pieces).rev() {
        to = best[k][to].1;
        cuts.push(to);
    }
    cuts.reverse();
    cuts
}

fn lines(points: &[Weighed], seconds: &[f64], cuts: &[usize]) -> Vec<(f64, f64)> {
    cuts.windows(2).map(|ends| line_of(&points[ends[0]..ends[1]], &seconds[ends[0]..ends[1]])).collect()
}

/// Lines of copies of the points, disturbed by what each is uncertain of, and by the residuals with
/// random signs (Wu's wild bootstrap, 1986, which holds where scatter differs from point to point).
fn copies(points: &[Weighed], fitted: &[f64], cuts: &[usize]) -> Vec<Vec<(f64, f64)>> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut normal = move || {
        let sum: f64 = (0..12).map(|_| random.random::<f64>()).sum();
        sum - 6.0
    };
    (0..COPIES)
        .map(|_| {
            let one = |(p, f): (&Weighed, &f64)| {
                let sign = if normal() < 0.0 { -1.0 } else { 1.0 };
                f + sign * (p.seconds - f) + normal() * p.error
            };
            let seconds: Vec<f64> = points.iter().zip(fitted).map(one).collect();
            lines(points, &seconds, cuts)
        })
        .collect()
}
