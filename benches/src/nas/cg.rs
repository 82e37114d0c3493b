//! CG (RNR-94-007, §3.2): the eigenvalue of a sparse symmetric matrix nearest to a shift, by
//! inverse iteration; each step solves a system by 25 steps of conjugate gradients.

use super::random::Random;
use super::{Class, Outcome, timed};
use std::ops::Range;
use strata_runtime::{Error, Node};

struct Problem {
    /// Rows, and random numbers in each vector of which the matrix is made.
    rows: usize,
    numbers: usize,
    shift: f64,
    published: f64,
}

const STEPS: usize = 15;
const INNER: usize = 25;
/// The matrix's condition is the reciprocal of it.
const CONDITION: f64 = 0.1;

impl Problem {
    const fn of(class: Class) -> Self {
        let (rows, numbers, shift, published) = match class {
            Class::S => (1400, 7, 10.0, 8.597_177_507_864_8),
            Class::W => (7000, 8, 12.0, 10.362_595_087_124),
            Class::A => (14_000, 11, 20.0, 17.130_235_054_029),
        };
        Self { rows, numbers, shift, published }
    }
}

/// A strip of a matrix's rows: the elements of row i are those from `starts[i]` to `starts[i + 1]`.
struct Strip {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

/// A sparse vector: places and their numbers.
type Sparse = Vec<(usize, f64)>;

/// A random sparse vector of `numbers` numbers at different places below `rows`.
fn sparse(random: &mut Random, rows: usize, numbers: usize) -> Sparse {
    let power = rows.next_power_of_two() as f64;
    let mut vector = Sparse::with_capacity(numbers + 1);
    while vector.len() < numbers {
        let (value, place) = (random.next(), (random.next() * power) as usize);
        if place < rows && vector.iter().all(|(other, _)| *other != place) {
            vector.push((place, value));
        }
    }
    vector
}

impl Strip {
    /// These rows of the problem's matrix: the sum of products ωᵢ x xᵀ of sparse vectors, whose
    /// weights fall from 1 to [`CONDITION`], and a diagonal.
    fn new(problem: &Problem, mine: Range<usize>) -> Self {
        let mut random = Random::new();
        random.next();
        let mut rows: Vec<Sparse> = vec![Sparse::new(); mine.len()];
        let (mut weight, ratio) = (1.0, CONDITION.powf(1.0 / problem.rows as f64));
        for number in 0..problem.rows {
            let mut vector = sparse(&mut random, problem.rows, problem.numbers);
            match vector.iter_mut().find(|(place, _)| *place == number) {
                Some((_, value)) => *value = 0.5,
                None => vector.push((number, 0.5)),
            }
            for (row, value) in vector.iter().filter(|(row, _)| mine.contains(row)) {
                let scale = weight * value;
                rows[row - mine.start].extend(vector.iter().map(|(column, value)| (*column, value * scale)));
            }
            weight *= ratio;
        }
        let mut strip = Self { starts: vec![0], columns: Vec::new(), values: Vec::new() };
        for (row, elements) in mine.zip(&mut rows) {
            elements.push((row, CONDITION - problem.shift));
            elements.sort_by_key(|(column, _)| *column);
            for same in elements.chunk_by(|one, other| one.0 == other.0) {
                strip.columns.push(same[0].0 as u32);
                strip.values.push(same.iter().map(|(_, value)| value).sum());
            }
            strip.starts.push(strip.columns.len());
            *elements = Sparse::new();
        }
        strip
    }

    /// These rows' part of the product with a vector.
    fn times(&self, vector: &[f64], product: &mut [f64]) {
        for (row, element) in self.starts.windows(2).zip(product) {
            let of_row = self.columns[row[0]..row[1]].iter().zip(&self.values[row[0]..row[1]]);
            *element = of_row.map(|(column, value)| value * vector[*column as usize]).sum();
        }
    }
}

fn dot(node: &mut Node, one: &[f64], other: &[f64]) -> f64 {
    node.reduce_add(one.iter().zip(other).map(|(one, other)| one * other).sum::<f64>())
}

fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

/// A node's part of the solution z of A z = x, and what it takes to find it.
struct Solver {
    matrix: Strip,
    solution: Vec<f64>,
    residual: Vec<f64>,
    direction: Vec<f64>,
    product: Vec<f64>,
    /// The whole direction, from all nodes.
    all: Vec<f64>,
}

impl Solver {
    fn new(matrix: Strip, rows: usize) -> Self {
        let mine = matrix.starts.len() - 1;
        let [solution, residual, direction, product] = [(); 4].map(|()| vec![0.0; mine]);
        Self { matrix, solution, residual, direction, product, all: vec![0.0; rows] }
    }

    /// Solves A z = x, as far as [`INNER`] steps come.
    fn solve(&mut self, node: &mut Node, x: &[f64]) {
        let Self { matrix, solution, residual, direction, product, all } = self;
        solution.fill(0.0);
        residual.copy_from_slice(x);
        direction.copy_from_slice(x);
        let mut rho = dot(node, residual, residual);
        for _ in 0..INNER {
            node.all_gather_into(direction, all);
            matrix.times(all, product);
            let alpha = rho / dot(node, direction, product);
            add(solution, alpha, direction);
            add(residual, -alpha, product);
            let before = rho;
            rho = dot(node, residual, residual);
            let beta = rho / before;
            direction.iter_mut().zip(&*residual).for_each(|(p, r)| *p = r + beta * *p);
        }
    }
}

pub(super) fn run(node: &mut Node, class: Class) -> Result<Outcome, Error> {
    let problem = Problem::of(class);
    let (rank, size) = (node.rank(), node.size());
    if !problem.rows.is_multiple_of(size) {
        return Err(Error::program(format!("CG: {size} nodes do not divide {} rows", problem.rows)));
    }
    let each = problem.rows / size;
    let mut solver = Solver::new(Strip::new(&problem, rank * each..(rank + 1) * each), problem.rows);
    let mut x = vec![1.0; each];
    // The definition wants a step before those that are timed.
    solver.solve(node, &x);
    let (value, time) = timed(node, |node| {
        let mut zeta = 0.0;
        for _ in 0..STEPS {
            solver.solve(node, &x);
            zeta = problem.shift + 1.0 / dot(node, &x, &solver.solution);
            let norm = dot(node, &solver.solution, &solver.solution).sqrt();
            x.iter_mut().zip(&solver.solution).for_each(|(x, z)| *x = z / norm);
        }
        zeta
    });
    Ok(Outcome { time, value, published: problem.published, allowed: 1e-10 })
}
