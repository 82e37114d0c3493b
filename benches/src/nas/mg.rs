//! MG (RNR-94-007, §3.3): V-cycles for Poisson's equation on a cube that is periodic, with a right
//! side of ten charges of each sign.
//!
//! Each node has a slice of planes of each grid, with a frame of one point around it that has the
//! values of the points beyond. The coarsest grids, of too few planes to share, are whole on every
//! node, which all compute the same there.

use super::random::Random;
use super::{Class, Outcome, timed};
use strata_runtime::{Block, Error, Node};

struct Problem {
    /// The points along an edge are two to this power.
    power: u32,
    published: f64,
}

const CYCLES: usize = 4;
const CHARGES: usize = 10;

/// Factors of a point and of its neighbours across a face, an edge and a corner: of the operator,
/// and of the smoother of these classes.
const OPERATOR: [f64; 4] = [-8.0 / 3.0, 0.0, 1.0 / 6.0, 1.0 / 12.0];
const SMOOTHER: [f64; 4] = [-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0.0];
/// Of the projection to a coarser grid.
const PROJECTION: [f64; 4] = [0.5, 0.25, 0.125, 0.0625];

/// The ports of the planes, taken in turn, so that neighbours need not be in step.
const PORTS: [usize; 2] = [0, 1];

impl Problem {
    const fn of(class: Class) -> Self {
        let (power, published) = match class {
            Class::S => (5, 0.530_770_700_573_4e-4),
            Class::W => (7, 0.646_732_937_533_9e-5),
            Class::A => (8, 0.243_336_530_906_9e-5),
        };
        Self { power, published }
    }
}

/// A node's slice of a grid.
struct Grid {
    /// Points along an edge, without the frame; and the planes of this node.
    edge: usize,
    planes: usize,
    values: Vec<f64>,
}

impl Grid {
    fn new(edge: usize, planes: usize) -> Self {
        Self { edge, planes, values: vec![0.0; (edge + 2) * (edge + 2) * (planes + 2)] }
    }

    /// The values of a row, which begins with the frame's.
    fn at(&self, plane: usize, row: usize) -> usize {
        (plane * (self.edge + 2) + row) * (self.edge + 2)
    }

    fn row(&self, plane: usize, row: usize) -> &[f64] {
        let start = self.at(plane, row);
        &self.values[start..start + self.edge + 2]
    }

    fn row_mut(&mut self, plane: usize, row: usize) -> &mut [f64] {
        let (start, length) = (self.at(plane, row), self.edge + 2);
        &mut self.values[start..start + length]
    }

    fn plane(&self, plane: usize) -> &[f64] {
        let (start, end) = (self.at(plane, 0), self.at(plane + 1, 0));
        &self.values[start..end]
    }

    fn plane_mut(&mut self, plane: usize) -> &mut [f64] {
        let (start, end) = (self.at(plane, 0), self.at(plane + 1, 0));
        &mut self.values[start..end]
    }

    /// True if it is whole on every node.
    fn is_whole(&self) -> bool {
        self.planes == self.edge
    }

    fn frame_planes(&mut self) {
        let edge = self.edge;
        for plane in 1..=self.planes {
            for row in 1..=edge {
                let values = self.row_mut(plane, row);
                (values[0], values[edge + 1]) = (values[edge], values[1]);
            }
            let (first, last) = (self.at(plane, 0), self.at(plane, edge));
            self.values.copy_within(last..last + edge + 2, first);
            let (second, end) = (self.at(plane, 1), self.at(plane, edge + 1));
            self.values.copy_within(second..second + edge + 2, end);
        }
    }
}

/// For each point along a row: the sums over the rows beside it, of the four across a face and of
/// the four across an edge.
struct Sums {
    faces: Vec<f64>,
    edges: Vec<f64>,
}

impl Sums {
    fn new(edge: usize) -> Self {
        Self { faces: vec![0.0; edge + 2], edges: vec![0.0; edge + 2] }
    }

    fn take(&mut self, grid: &Grid, plane: usize, row: usize) {
        let (below, above) = (grid.row(plane - 1, row), grid.row(plane + 1, row));
        let (left, right) = (grid.row(plane, row - 1), grid.row(plane, row + 1));
        let corners =
            [(plane - 1, row - 1), (plane - 1, row + 1), (plane + 1, row - 1), (plane + 1, row + 1)];
        let [a, b, c, d] = corners.map(|(plane, row)| grid.row(plane, row));
        let length = grid.edge + 2;
        let (faces, edges) = (&mut self.faces[..length], &mut self.edges[..length]);
        for at in 0..length {
            faces[at] = left[at] + right[at] + below[at] + above[at];
            edges[at] = a[at] + b[at] + c[at] + d[at];
        }
    }

    /// Changes each value of `to` by the weighted sum over its point of `of` and the neighbours.
    fn sweep(&mut self, factors: [f64; 4], of: &Grid, to: &mut Grid, change: impl Fn(&mut f64, f64)) {
        for plane in 1..=of.planes {
            for row in 1..=of.edge {
                self.take(of, plane, row);
                let (of, result) = (of.row(plane, row), to.row_mut(plane, row));
                for (at, value) in result.iter_mut().enumerate().take(of.len() - 1).skip(1) {
                    change(value, self.weighted(factors, of, at));
                }
            }
        }
    }

    /// The weighted sum over a point of `row` and its 26 neighbours.
    #[inline]
    fn weighted(&self, factors: [f64; 4], row: &[f64], at: usize) -> f64 {
        let [point, face, edge, corner] = factors;
        point * row[at]
            + face * (row[at - 1] + row[at + 1] + self.faces[at])
            + edge * (self.faces[at - 1] + self.faces[at + 1] + self.edges[at])
            + corner * (self.edges[at - 1] + self.edges[at + 1])
    }
}

/// The exchange of planes with both neighbours.
struct Frames {
    /// The number of exchanges so far.
    done: usize,
}

impl Frames {
    /// Opens the ports, for grids of up to `edge` points along an edge.
    fn open(node: &mut Node, edge: usize) -> Self {
        node.install(node.handlers());
        PORTS
            .iter()
            .for_each(|port| node.open_port(*port, Block::<f64>::zeroed(2 * (edge + 2) * (edge + 2))));
        node.barrier();
        Self { done: 0 }
    }

    fn fill(&mut self, node: &mut Node, grid: &mut Grid) {
        grid.frame_planes();
        let (planes, length) = (grid.planes, (grid.edge + 2) * (grid.edge + 2));
        if grid.is_whole() {
            let start = planes * length;
            grid.values.copy_within(start..start + length, 0);
            grid.values.copy_within(length..2 * length, (planes + 1) * length);
            return;
        }
        let (rank, size) = (node.rank(), node.size());
        let port = PORTS[self.done % 2];
        self.done += 1;
        node.expect::<f64>(port, 2 * length);
        node.put((rank + size - 1) % size, port, length, grid.plane(1));
        node.put((rank + 1) % size, port, 0, grid.plane(planes));
        node.wait_for_port(port);
        let memory = node.close_port::<f64>(port);
        grid.plane_mut(0).copy_from_slice(&memory[..length]);
        grid.plane_mut(planes + 1).copy_from_slice(&memory[length..2 * length]);
        node.open_port(port, memory);
    }

    fn close(node: &mut Node) {
        node.barrier();
        PORTS.iter().for_each(|port| drop(node.close_port::<f64>(*port)));
        node.uninstall();
    }
}

/// The grids of all sizes, the coarsest first.
struct Cycle {
    solutions: Vec<Grid>,
    residuals: Vec<Grid>,
    /// The right side, on the finest grid.
    charges: Grid,
    sums: Sums,
    frames: Frames,
}

impl Cycle {
    fn new(node: &mut Node, problem: &Problem) -> Self {
        let size = node.size();
        let grids = || -> Vec<Grid> {
            let grid = |power: u32| {
                let edge = 1 << power;
                // A node needs two planes, from which a coarser one has one.
                let shared = edge >= 2 * size;
                Grid::new(edge, if shared { edge / size } else { edge })
            };
            (1..=problem.power).map(grid).collect()
        };
        let edge = 1 << problem.power;
        let charges = Grid::new(edge, edge / size);
        let frames = Frames::open(node, edge);
        let mut cycle =
            Self { solutions: grids(), residuals: grids(), charges, sums: Sums::new(edge), frames };
        cycle.charge(node);
        cycle
    }

    /// Places +1 at the ten points with the greatest random numbers, and −1 at the ten with the
    /// least.
    fn charge(&mut self, node: &mut Node) {
        let (edge, planes) = (self.charges.edge, self.charges.planes);
        let first = (node.rank() * planes * edge * edge) as u64;
        let mut random = Random::new().after(first);
        // Number and place.
        let (mut least, mut most) = (Vec::<[u64; 2]>::new(), Vec::<[u64; 2]>::new());
        for place in first..first + (planes * edge * edge) as u64 {
            let found = [random.next_bits(), place];
            if least.len() < CHARGES || found < least[CHARGES - 1] {
                least.insert(least.partition_point(|other| *other < found), found);
                least.truncate(CHARGES);
            }
            if most.len() < CHARGES || found > most[CHARGES - 1] {
                most.insert(most.partition_point(|other| *other > found), found);
                most.truncate(CHARGES);
            }
        }
        let mut least = node.all_gather(least.as_flattened()).as_chunks::<2>().0.to_vec();
        let mut most = node.all_gather(most.as_flattened()).as_chunks::<2>().0.to_vec();
        least.sort_unstable();
        most.sort_unstable_by(|one, other| other.cmp(one));
        for (charges, sign) in [(&most, 1.0), (&least, -1.0)] {
            for [_, place] in &charges[..CHARGES] {
                let Some(place) = place.checked_sub(first).map(|place| place as usize) else { continue };
                let (plane, row, at) = (place / (edge * edge), place / edge % edge, place % edge);
                if plane < planes {
                    self.charges.row_mut(plane + 1, row + 1)[at + 1] = sign;
                }
            }
        }
        self.frames.fill(node, &mut self.charges);
    }

    /// The residual of the finest grid: the right side less the operator of the solution.
    fn residual(&mut self, node: &mut Node) {
        let finest = self.residuals.len() - 1;
        self.residuals[finest].values.copy_from_slice(&self.charges.values);
        self.residual_in_place(node, finest);
    }

    /// The residual of a grid, in place of its right side.
    fn residual_in_place(&mut self, node: &mut Node, level: usize) {
        let (solution, residual) = (&self.solutions[level], &mut self.residuals[level]);
        self.sums.sweep(OPERATOR, solution, residual, |value, sum| *value -= sum);
        self.frames.fill(node, residual);
    }

    fn smooth(&mut self, node: &mut Node, level: usize) {
        let (solution, residual) = (&mut self.solutions[level], &self.residuals[level]);
        self.sums.sweep(SMOOTHER, residual, solution, |value, sum| *value += sum);
        self.frames.fill(node, solution);
    }

    /// The residual of the next coarser grid: coarse point c is fine point 2 c, counted from 1.
    fn project(&mut self, node: &mut Node, level: usize) {
        let (coarser, finer) = self.residuals.split_at_mut(level);
        let (coarse, fine) = (&mut coarser[level - 1], &finer[0]);
        // Of a whole coarse grid this node computes those planes that it has the points of.
        let mine = fine.planes / 2;
        let (first, edge) = (if coarse.planes == mine { 0 } else { node.rank() * mine }, coarse.edge);
        for plane in 1..=mine {
            for row in 1..=edge {
                self.sums.take(fine, 2 * plane, 2 * row);
                let of = fine.row(2 * plane, 2 * row);
                let result = coarse.row_mut(first + plane, row);
                for (at, value) in result.iter_mut().enumerate().take(edge + 1).skip(1) {
                    *value = self.sums.weighted(PROJECTION, of, 2 * at);
                }
            }
        }
        if coarse.planes != mine {
            let part = coarse.at(first + 1, 0)..coarse.at(first + mine + 1, 0);
            let part = coarse.values[part].to_vec();
            let all = coarse.at(1, 0)..coarse.at(coarse.planes + 1, 0);
            node.all_gather_into(&part, &mut coarse.values[all]);
        }
        self.frames.fill(node, coarse);
    }

    /// Adds the next coarser grid's solution to this one's: fine point 2 c is coarse point c, and
    /// 2 c − 1 the mean of c − 1 and c.
    fn interpolate(&mut self, node: &mut Node, level: usize) {
        let (coarser, finer) = self.solutions.split_at_mut(level);
        let (coarse, fine) = (&coarser[level - 1], &mut finer[0]);
        let first = if fine.is_whole() || !coarse.is_whole() { 0 } else { node.rank() * fine.planes / 2 };
        let mut sums = vec![0.0; coarse.edge + 2];
        for plane in 1..=fine.planes {
            for row in 1..=fine.edge {
                // The coarse rows of which a fine one is the mean.
                let of = |fine: usize| [fine / 2, fine.div_ceil(2)];
                let (planes, rows) = (of(plane).map(|plane| first + plane), of(row));
                let four = [(0, 0), (0, 1), (1, 0), (1, 1)];
                let [a, b, c, d] = four.map(|(one, other)| coarse.row(planes[one], rows[other]));
                for (at, sum) in sums.iter_mut().enumerate() {
                    *sum = 0.25 * (a[at] + b[at] + c[at] + d[at]);
                }
                let result = fine.row_mut(plane, row);
                for at in 1..=coarse.edge {
                    result[2 * at - 1] += 0.5 * (sums[at - 1] + sums[at]);
                    result[2 * at] += sums[at];
                }
            }
        }
        self.frames.fill(node, fine);
    }

    fn turn(&mut self, node: &mut Node) {
        let finest = self.solutions.len() - 1;
        (1..=finest).rev().for_each(|level| self.project(node, level));
        for level in 0..finest {
            self.solutions[level].values.fill(0.0);
            if level > 0 {
                self.interpolate(node, level);
                self.residual_in_place(node, level);
            }
            self.smooth(node, level);
        }
        self.interpolate(node, finest);
        self.residual(node);
        self.smooth(node, finest);
        self.residual(node);
    }

    /// The root of the mean square of the residual.
    fn norm(&self, node: &mut Node) -> f64 {
        let Some(residual) = self.residuals.last() else { return 0.0 };
        let edge = residual.edge;
        let rows = (1..=residual.planes).flat_map(|plane| (1..=edge).map(move |row| (plane, row)));
        let squares = rows.map(|(plane, row)| {
            residual.row(plane, row)[1..=edge].iter().map(|value| value * value).sum::<f64>()
        });
        (node.reduce_add(squares.sum::<f64>()) / (edge * edge * edge) as f64).sqrt()
    }
}

pub(super) fn run(node: &mut Node, class: Class) -> Result<Outcome, Error> {
    let problem = Problem::of(class);
    let (edge, size) = (1usize << problem.power, node.size());
    if !size.is_power_of_two() || edge < 2 * size {
        return Err(Error::program(format!("MG: {size} nodes; it takes 1, 2, 4, … up to {}", edge / 2)));
    }
    let mut cycle = Cycle::new(node, &problem);
    // The definition wants a cycle before those that are timed.
    cycle.residual(node);
    cycle.turn(node);
    cycle.solutions.iter_mut().for_each(|grid| grid.values.fill(0.0));
    let (value, time) = timed(node, |node| {
        cycle.residual(node);
        (0..CYCLES).for_each(|_| cycle.turn(node));
        cycle.norm(node)
    });
    Frames::close(node);
    Ok(Outcome { time, value, published: problem.published, allowed: 1e-8 })
}
