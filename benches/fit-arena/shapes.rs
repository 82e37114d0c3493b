//! The true costs, which the contenders estimate from noisy samples.

use std::sync::LazyLock;

use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use strata_benches::cost::{Cost, grid, normal, whole};
use strata_benches::rows;
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
    pub(crate) inputs: Vec<(&'static str, u32, u32, u32)>,
    /// The terms of the cost, in seconds.
    pub(crate) truth: Vec<(f64, &'static str)>,
    /// Null terms: terms given to the contenders that are not in the cost.
    nulls: Vec<&'static str>,
}

/// Those of `shapes.txt`.
pub(crate) static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let shape = |line: [&'static str; 4]| {
        let [name, inputs, truth, nulls] = line;
        let input = |text: &'static str| {
            let mut words = text.split(' ');
            let name = words.next().expect(text);
            let mut number = || words.next().and_then(|word| word.parse().ok()).expect(text);
            (name, number(), number(), number())
        };
        let term = |text: &'static str| {
            let (coefficient, term) = text.split_once(' ').expect(text);
            (coefficient.parse().expect(text), term)
        };
        Shape {
            name,
            inputs: inputs.split("; ").map(input).collect(),
            truth: truth.split("; ").map(term).collect(),
            nulls: nulls.split("; ").collect(),
        }
    };
    rows(include_str!("shapes.txt")).map(shape).collect()
});

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
    pub(crate) points: Vec<Vec<f64>>,
    /// Repeated times of each, in seconds.
    pub(crate) values: Vec<Vec<f64>>,
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
        let truth = self.cost(&mut rng);
        let cost = |point: &[f64]| truth.at(point);
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
        let points = grid(grids.clone());
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
        let shares = self.shares(&truth, &points);
        Cell { shape: self, noise, points, values, tests, costs, measured, shares }
    }

    /// The true cost with every coefficient scaled by 1/2 to 2.
    pub(crate) fn cost(&self, rng: &mut ChaCha8Rng) -> Cost {
        let mut coefficients = self.truth.iter().map(|(coefficient, _)| *coefficient);
        let mut scaled = || coefficients.next().unwrap_or(0.0) * f64::exp2(rng.random_range(-1.0..1.0));
        Cost::of(self.truth.iter().map(|(_, term)| *term), &self.names(), |_, _| scaled())
    }

    fn shares(&self, truth: &Cost, points: &[Vec<f64>]) -> Vec<f64> {
        let share = |(c, _, term): &(f64, String, Program)| {
            points.iter().map(|p| c * term.eval(p) / truth.at(p)).sum::<f64>() / points.len() as f64
        };
        let named = truth.0.iter().filter(|(_, text, _)| text != "1");
        named.map(share).chain(self.nulls.iter().map(|_| 0.0)).collect()
    }
}

fn expr(text: &str) -> Expr {
    parse(text).unwrap_or_else(|e| panic!("`{text}`: {e}"))
}
