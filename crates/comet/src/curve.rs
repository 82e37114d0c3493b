//! Times over sizes as piecewise linear curves: start-up time, time per byte, and changes of
//! protocol (Ganapati 1993, §5.1).

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use strata_model::normal::HALF_WIDTH;

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
    /// The least measured size on the piece.
    pub from: f64,
    /// The greatest measured size on the piece.
    pub to: f64,
    /// t_startup in s.
    pub start: Estimate,
    /// t_per_byte in s.
    pub per_byte: Estimate,
}

/// A piecewise linear curve; pieces in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The pieces; at least one.
    pub pieces: Vec<Piece>,
    /// The root mean square of relative residuals.
    pub residual: f64,
}

/// A boundary between two pieces: the protocol or the path of messages changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Break {
    /// The greatest measured size before it.
    pub after: f64,
    /// The least measured size after it.
    pub before: f64,
    /// The time at `before` predicted by the piece after the break over that predicted by the piece
    /// before it.
    pub jump: f64,
}

/// The most pieces of a curve.
const PIECES: usize = 6;

/// The least number of points of a piece: two more points than a line has parameters tell little
/// of how far it is off, and three little more.
pub(crate) const LEAST: usize = 5;

/// Pieces are added only while the scatter of relative residuals exceeds this: the last, partly
/// filled packet of a message also causes steps, which are not changes of protocol.
const FLOOR: f64 = 0.015;

/// Number of bootstrap samples for intervals.
const COPIES: usize = 200;

impl Curve {
    /// Fits pieces to measured times by least squares of relative residuals; the Bayesian
    /// information criterion selects their number, over all possible cuts. `None` for fewer than
    /// five sizes, or if a time is not above zero.
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

    /// The time in seconds for a size, on the piece that contains it or the nearest piece. NaN if
    /// there are no pieces.
    #[must_use]
    pub fn seconds(&self, size: f64) -> f64 {
        let piece = self.pieces.iter().find(|piece| size <= piece.to).or(self.pieces.last());
        piece.map_or(f64::NAN, |piece| piece.start.value + size * piece.per_byte.value)
    }

    /// The boundaries between pieces.
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

    /// r∞: the bandwidth of infinitely long messages in bytes a second, by the last piece.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        let last = self.pieces.last()?;
        // Without a time per byte above zero there is no rate.
        let each = last.per_byte.value;
        (each * last.to > 1e-3 * last.start.value.abs() && each > 0.0).then(|| each.recip())
    }

    /// The least size that reaches `share` of r∞: n½ for a half. `None` if no size below 2⁴⁰ does.
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

#[derive(Clone, Copy, Debug)]
struct Weighed {
    size: f64,
    seconds: f64,
    error: f64,
    /// The part of the range that the point represents, relative to the mean: without this weight,
    /// the many sizes near a break would dominate the line.
    share: f64,
}

/// The relative standard error at which a time's weight is halved.
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
        // An uncertain time gets a small weight.
        let known = 1.0 / (1.0 + (p.error / p.seconds / KNOWN).powi(2));
        let share = (apart(at) / mean).clamp(SHARES.0, SHARES.1) * known;
        Weighed { size: p.size, seconds: p.seconds, error: p.error, share }
    };
    points.iter().enumerate().map(one).collect()
}

/// Sums of a relative least-squares line; they allow fitting any piece in constant time.
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
        // The weights make residuals relative to the measured times.
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

/// The cuts with the least sum of squares: dynamic programming over the last piece.
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
    // best[k][to]: least squares of k pieces up to `to`, and the start of the last piece.
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
    // The precision of single times bounds the improvement that another piece may bring.
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

/// Lines fitted to copies of the points, which are disturbed by the points' standard errors, and by
/// what the points of a piece scatter beyond those (the variance between points of a random-effects
/// model; DerSimonian and Laird 1986). With few points that scatter is known badly: Student's
/// distribution.
fn copies(points: &[Weighed], fitted: &[f64], cuts: &[usize]) -> Vec<Vec<(f64, f64)>> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut normal = move || {
        let sum: f64 = (0..12).map(|_| random.random::<f64>()).sum();
        sum - 6.0
    };
    // The relative scatter of each point of a piece.
    let scatter = |ends: &[usize]| {
        let of = ends[0]..ends[1];
        let free = of.len().saturating_sub(2).max(1) as f64;
        let residual = |at: usize| points[at].seconds / fitted[at] - 1.0;
        let squares: f64 = of.clone().map(|at| residual(at).powi(2)).sum();
        let errors: f64 = of.clone().map(|at| (points[at].error / points[at].seconds).powi(2)).sum();
        let beyond = (squares / free - errors / of.len() as f64).max(0.0);
        std::iter::repeat_n(beyond.sqrt() * student(free) / HALF_WIDTH, of.len())
    };
    let scatters: Vec<f64> = cuts.windows(2).flat_map(scatter).collect();
    (0..COPIES)
        .map(|_| {
            let one = |((p, f), scatter): ((&Weighed, &f64), &f64)| {
                f + normal() * (p.error.powi(2) + (scatter * f).powi(2)).sqrt()
            };
            let seconds: Vec<f64> = points.iter().zip(fitted).zip(&scatters).map(one).collect();
            lines(points, &seconds, cuts)
        })
        .collect()
}

/// The quantile of 97.5 % of Student's distribution with this many degrees of freedom, within 2 %
/// from 2 on (a fit to the table).
fn student(free: f64) -> f64 {
    HALF_WIDTH + 2.37 / free + 2.83 / (free * free) + 2.55 / free.powi(3) + 3.0 / free.powi(5)
}

#[cfg(test)]
mod tests {
    use super::student;

    #[test]
    fn quantiles_are_those_of_the_table() {
        for (free, right) in
            [(1.0, 12.706), (2.0, 4.303), (3.0, 3.182), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042)]
        {
            assert!((student(free) / right - 1.0).abs() < 0.02, "{free}: {}", student(free));
        }
    }
}
