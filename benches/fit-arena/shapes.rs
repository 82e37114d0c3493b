//! The true costs, which the contenders estimate from noisy samples.

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use strata_model::Program;
use strata_model::expr::{Expr, parse};

/// Measurements of every point: the five repetitions recommended by Extra-P's authors.
const REPEATS: usize = 5;
/// Random points to predict.
const TESTS: usize = 200;

/// A true cost over some inputs, each sampled at powers of two.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// Name, least exponent, greatest exponent, step.
    pub(crate) inputs: &'static [(&'static str, u32, u32, u32)],
    /// The terms of the cost, in seconds.
    pub(crate) truth: &'static [(f64, &'static str)],
    /// Null terms: terms given to the contenders that are not in the cost.
    nulls: &'static [&'static str],
}

const N: (&str, u32, u32, u32) = ("n", 4, 20, 2);
const P: (&str, u32, u32, u32) = ("p", 1, 6, 1);

const fn shape(
    name: &'static str,
    inputs: &'static [(&'static str, u32, u32, u32)],
    truth: &'static [(f64, &'static str)],
    nulls: &'static [&'static str],
) -> Shape {
    Shape { name, inputs, truth, nulls }
}

/// Coefficients are typical of today's machines: microseconds to begin a message, nanoseconds for a
/// byte or an element.
pub(crate) const SHAPES: &[Shape] = &[
    // One input. Those of one power with or without a constant can be expressed in Extra-P's
    // language.
    shape("constant", &[N], &[(3e-6, "1")], &["n", "log2(n)", "sqrt(n)"]),
    shape("latency-bandwidth", &[N], &[(4e-6, "1"), (1.2e-9, "n")], &["n*log2(n)", "sqrt(n)"]),
    shape("n log n", &[N], &[(2e-6, "1"), (3e-9, "n*log2(n)")], &["n", "n^2"]),
    shape("sort", &[N], &[(5e-6, "1"), (2e-8, "n"), (2e-9, "n*log2(n)")], &["n^2"]),
    shape("quadratic", &[("n", 2, 12, 1)], &[(1e-6, "1"), (2e-9, "n^2")], &["n", "n*log2(n)"]),
    shape(
        "matrix product",
        &[("n", 3, 10, 1)],
        &[(3e-6, "1"), (4e-9, "n^2"), (5e-10, "n^3")],
        &["n", "n^2*log2(n)"],
    ),
    shape("binary search", &[N], &[(2e-8, "1"), (9e-9, "log2(n)")], &["n", "sqrt(n)"]),
    shape("square root", &[N], &[(1e-6, "1"), (3e-8, "sqrt(n)")], &["n", "log2(n)"]),
    shape("barrier", &[P], &[(8e-7, "1"), (1.5e-6, "log2(p)")], &["p", "sqrt(p)"]),
    shape("Amdahl", &[("p", 0, 7, 1)], &[(2e-3, "1"), (6e-2, "1/p")], &["log2(p)", "p"]),
    shape(
        "eager and rendezvous",
        &[("n", 4, 20, 1)],
        &[(2e-6, "1"), (6e-6, "(n>8192)"), (4e-10, "n")],
        &["sqrt(n)"],
    ),
    shape(
        "two protocols",
        &[("n", 4, 20, 1)],
        &[(3e-6, "(n<=2048)"), (2e-9, "n*(n<=2048)"), (9e-6, "(n>2048)"), (5e-10, "n*(n>2048)")],
        &["log2(n)"],
    ),
    shape(
        "cache knees",
        &[("n", 8, 24, 1)],
        &[(1e-7, "1"), (3e-10, "n"), (5e-10, "max(0,n-32768)"), (2e-9, "max(0,n-1048576)")],
        &["n*log2(n)"],
    ),
    shape(
        "cache steps",
        &[("n", 8, 22, 1)],
        &[(2e-10, "n*(n<=16384)"), (6e-10, "n*(n>16384)*(n<=524288)"), (2.5e-9, "n*(n>524288)")],
        &["log2(n)"],
    ),
    shape(
        "one of ten",
        &[("n", 4, 20, 1)],
        &[(1e-6, "1"), (1e-9, "n")],
        &["log2(n)", "log2(n)^2", "sqrt(n)", "sqrt(n)*log2(n)", "n*log2(n)", "n^1.5", "n^2", "n^2*log2(n)"],
    ),
    // Two inputs.
    shape("broadcast", &[N, P], &[(2e-6, "log2(p)"), (8e-10, "n*log2(p)")], &["n", "p"]),
    shape("all to all", &[("n", 4, 16, 2), P], &[(3e-6, "1"), (1e-6, "p"), (1e-9, "n*p")], &["log2(p)", "n"]),
    shape("ring reduction", &[N, P], &[(2e-6, "p"), (2e-9, "n"), (2e-9, "n/p")], &["log2(p)", "n*log2(p)"]),
    shape(
        "halo in 2D",
        &[("n", 10, 22, 2), P],
        &[(8e-6, "1"), (3e-9, "n/p"), (4e-8, "sqrt(n/p)")],
        &["log2(p)", "n"],
    ),
    shape(
        "halo in 3D",
        &[("n", 10, 22, 2), P],
        &[(1e-5, "1"), (5e-9, "n/p"), (2e-8, "(n/p)^(2/3)"), (1e-6, "log2(p)")],
        &["sqrt(n/p)"],
    ),
    shape(
        "conjugate gradients",
        &[("n", 10, 22, 2), P],
        &[(8e-9, "n/p"), (4e-6, "log2(p)"), (1e-8, "sqrt(n)")],
        &["n", "p"],
    ),
    shape(
        "sample sort",
        &[("n", 6, 18, 2), P],
        &[(2e-9, "n*log2(n)"), (6e-9, "n"), (3e-6, "p"), (1e-7, "p^2*log2(p)")],
        &["n*p"],
    ),
    shape(
        "radix sort",
        &[("n", 8, 20, 2), ("b", 0, 4, 1)],
        &[(2e-6, "1"), (2e-9, "n*ceil(32/b)"), (4e-9, "2^b*ceil(32/b)")],
        &["n*b", "n"],
    ),
    shape(
        "stencil sweeps",
        &[("n", 6, 18, 2), ("t", 0, 6, 1)],
        &[(1e-6, "1"), (2e-7, "t"), (9e-10, "n*t")],
        &["n", "t*log2(n)"],
    ),
    shape("bodies", &[("n", 5, 13, 1), P], &[(1e-5, "1"), (4e-9, "n^2/p"), (2e-8, "n")], &["n*log2(p)", "p"]),
    // Three inputs.
    shape(
        "product of three",
        &[("a", 3, 7, 1), ("b", 3, 7, 1), ("c", 3, 7, 1)],
        &[(5e-7, "1"), (6e-10, "a*b*c")],
        &["a*b", "b*c", "a*c"],
    ),
    shape(
        "block product",
        &[("a", 3, 7, 1), ("b", 3, 7, 1), ("c", 3, 7, 1)],
        &[(1e-6, "1"), (4e-10, "a*b*c"), (2e-9, "a*c")],
        &["a*b", "b*c", "a"],
    ),
    shape(
        "grid sweeps",
        &[("n", 8, 16, 2), ("t", 0, 4, 1), ("p", 1, 5, 1)],
        &[(3e-9, "n*t/p"), (2e-6, "t*log2(p)"), (5e-6, "1")],
        &["n", "n*t", "t*p"],
    ),
    shape(
        "dense solver",
        &[("n", 6, 10, 1), ("k", 0, 4, 1), ("p", 1, 5, 1)],
        &[(1e-5, "1"), (2e-10, "n^2*k/p"), (4e-8, "n*log2(p)")],
        &["n*k", "n^2", "k*p"],
    ),
];

/// Where the tests of a cell lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the measured ranges.
    Inside,
    /// At an inner value of one input that was not measured; of each input [`FEW`] were.
    Between,
    /// At `p` = 512, which was measured up to 32.
    Beyond,
}

/// The most values of an input where one is held out.
const FEW: usize = 6;

/// The samples of one cell, and the points to predict.
pub(crate) struct Cell {
    pub(crate) shape: &'static Shape,
    pub(crate) noise: f64,
    /// The points that were measured.
    pub(crate) points: Vec<Vec<f64>>,
    /// Repeated times of each, in seconds.
    pub(crate) values: Vec<Vec<f64>>,
    /// The points to predict.
    pub(crate) tests: Vec<Vec<f64>>,
    /// Their true costs, without noise.
    pub(crate) costs: Vec<f64>,
    /// One new measurement at each of them.
    pub(crate) measured: Vec<f64>,
    /// The mean share of each named term in the true costs of the measured points; zero for null
    /// terms.
    pub(crate) shares: Vec<f64>,
}

impl Shape {
    /// The named terms: those of the cost (except the constant, which is always included), then
    /// null ones.
    pub(crate) fn terms(&self) -> Vec<Expr> {
        let truth = self.truth.iter().map(|(_, term)| *term).filter(|term| *term != "1");
        truth.chain(self.nulls.iter().copied()).map(expr).collect()
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.inputs.iter().map(|input| input.0).collect()
    }

    /// The measurements of one seed: true costs with every coefficient scaled by 1/2 to 2, and
    /// noise of relative size `noise`.
    pub(crate) fn cell(&'static self, noise: f64, seed: u64, tested: Place) -> Cell {
        let place = SHAPES.iter().position(|s| s.name == self.name).unwrap_or(0) as u64;
        let mut rng = ChaCha8Rng::seed_from_u64(1000 * place + seed);
        let stream = match tested {
            Place::Inside => 0,
            Place::Beyond => 1,
            Place::Between => 2,
        };
        rng.set_stream((noise * 1000.0).round() as u64 + (stream << 32));
        let truth: Vec<(f64, Program)> = (self.truth.iter())
            .map(|(c, term)| (c * f64::exp2(rng.random_range(-1.0..1.0)), self.program(term)))
            .collect();
        let cost = |point: &[f64]| truth.iter().map(|(c, term)| c * term.eval(point)).sum::<f64>();
        let mut noisy = |cost: f64| cost * (1.0 + noise * normal(&mut rng)).max(0.05);

        let beyond = |name: &str| tested == Place::Beyond && name == "p";
        let mut grids: Vec<Vec<f64>> = (self.inputs.iter())
            .map(|&(name, low, high, step)| {
                let (low, high) = if beyond(name) { (1, 5) } else { (low, high) };
                (low..=high).step_by(step as usize).map(|e| f64::exp2(f64::from(e))).collect()
            })
            .collect();
        let mut held_out = None;
        if tested == Place::Between {
            for grid in &mut grids {
                let all = std::mem::take(grid);
                let last = (FEW.min(all.len()) - 1).max(1);
                *grid = (0..=last).map(|i| all[i * (all.len() - 1) / last]).collect();
            }
            let input = seed as usize % grids.len();
            let inner = 1 + (seed as usize / grids.len()) % (grids[input].len() - 2);
            held_out = Some((input, grids[input].remove(inner)));
        }
        let points = grids.iter().fold(vec![Vec::new()], |points: Vec<Vec<f64>>, grid| {
            points.iter().flat_map(|p| grid.iter().map(move |v| [p.as_slice(), &[*v]].concat())).collect()
        });
        let values: Vec<Vec<f64>> =
            points.iter().map(|p| (0..REPEATS).map(|_| noisy(cost(p))).collect()).collect();

        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(place);
        let tests: Vec<Vec<f64>> = (0..TESTS)
            .map(|_| {
                let value = |(place, grid): (usize, &Vec<f64>)| match held_out {
                    Some((input, value)) if input == place => value,
                    _ if beyond(self.inputs[place].0) => 512.0,
                    _ => whole(&mut rng, grid[0], grid[grid.len() - 1]),
                };
                grids.iter().enumerate().map(value).collect()
            })
            .collect();
        let costs: Vec<f64> = tests.iter().map(|p| cost(p)).collect();
        let measured = costs.iter().map(|c| c * (1.0 + noise * normal(&mut rng)).max(0.05)).collect();
        let shares = self.shares(&truth, &points, &cost);
        Cell { shape: self, noise, points, values, tests, costs, measured, shares }
    }

    fn shares(
        &self,
        truth: &[(f64, Program)],
        points: &[Vec<f64>],
        cost: &dyn Fn(&[f64]) -> f64,
    ) -> Vec<f64> {
        let share = |(c, term): &(f64, Program)| {
            points.iter().map(|p| c * term.eval(p) / cost(p)).sum::<f64>() / points.len() as f64
        };
        let named = self.truth.iter().zip(truth).filter(|((_, term), _)| *term != "1");
        named.map(|(_, part)| share(part)).chain(self.nulls.iter().map(|_| 0.0)).collect()
    }

    /// A term as a function of the inputs.
    pub(crate) fn program(&self, term: &str) -> Program {
        Program::compile(&expr(term), &self.names())
            .unwrap_or_else(|e| panic!("{}: `{term}`: {e}", self.name))
    }
}

fn expr(text: &str) -> Expr {
    parse(text).unwrap_or_else(|e| panic!("`{text}`: {e}"))
}

/// A whole number whose logarithm is uniformly distributed.
pub(crate) fn whole(rng: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    (low * (high / low).powf(rng.random_range(0.0..1.0))).round().clamp(low, high)
}

/// A number of the standard normal distribution: Box and Muller (1958).
pub(crate) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    strata_select::normal::draw(rng.random_range(0.0..1.0), rng.random_range(0.0..1.0))
}
