//! Kernels on a matrix that is distributed in blocks over a mesh of nodes (Ganapati 1993, §3.3.8 to
//! §3.3.11).
//!
//! Every node has a block of `dim` by `dim` numbers with a guard of one element around it.
//! Directions are those of a halo exchange: a node's north guard holds the southernmost row of the
//! node above. The thesis's text and its Fig 4.3 contradict each other and its Fig 3.10, and its
//! Fig 4.4 sends rows to the wrong nodes of a mesh of more than four.

use strata_runtime::{Block, Node, Work};

use crate::mesh::{Mesh, Place};

use super::mail::wrong_data;
use super::measure::time;
use super::trial::spoils;

/// Directions from which data arrive in one operation.
const SIDES: usize = 4;

/// The operations on a distributed matrix that the kernels time and check. [`Blocks`] is the
/// benchmark's own; a vendor's own guard or transposition implements this trait, and is timed by
/// [`guard`], [`shift`], [`transpose`], [`row_broadcast`] and [`column_broadcast`] in a spec of its
/// own (Ganapati 1993, §3.1.6: any implementation of
/// the matrix is allowed).
///
/// ```
/// use strata_comet::{Blocks, Matrix, guard};
/// use strata_runtime::prelude::*;
///
/// /// The benchmark's blocks with another guard.
/// struct Mine(Blocks);
///
/// impl Matrix for Mine {
///     fn open(node: &mut Node, dim: usize) -> Self {
///         Self(Blocks::open(node, dim))
///     }
///     fn get(&self, row: usize, column: usize) -> f64 {
///         self.0.get(row, column)
///     }
///     fn update_guard(&mut self, node: &mut Node) {
///         self.0.update_guard(node); // here a vendor's own
///     }
///     fn close(self, node: &mut Node) {
///         self.0.close(node);
///     }
/// }
///
/// let run = Machine::threads(4)?.run(|node| Ok(guard::<Mine>(node, 8)))?;
/// assert!(run[0] > 0.0);
/// # Ok::<(), strata_runtime::Error>(())
/// ```
///
/// # Participation
/// All functions but `get` are collective, with equal arguments.
pub trait Matrix: Sized {
    /// A matrix of blocks of `dim` by `dim` numbers with a guard of one number around each, on the
    /// [`Mesh`] of all nodes: element (r, c) of the whole has the value r·columns + c.
    fn open(node: &mut Node, dim: usize) -> Self;

    /// An element of this node's block; row and column 0 and `dim` + 1 are the guard.
    fn get(&self, row: usize, column: usize) -> f64;

    /// Fills the guard with the neighbours' outermost elements, without the corners.
    fn update_guard(&mut self, node: &mut Node) {
        missing(node, "update_guard");
    }

    /// Moves every whole block to the next node.
    fn shift(&mut self, node: &mut Node, _direction: Direction) {
        missing(node, "shift");
    }

    /// Transposes the matrix, which is on a square mesh.
    fn transpose(&mut self, node: &mut Node) {
        missing(node, "transpose");
    }

    /// Copies row `row` of the whole matrix into the same row of all blocks below and above.
    fn broadcast_row(&mut self, node: &mut Node, _row: usize) {
        missing(node, "broadcast_row");
    }

    /// Copies column `column` of the whole matrix into the same column of all blocks beside.
    fn broadcast_column(&mut self, node: &mut Node, _column: usize) {
        missing(node, "broadcast_column");
    }

    /// Frees what the matrix has.
    fn close(self, _node: &mut Node) {}
}

/// Ends the job: a kernel needs an operation that a matrix lacks.
fn missing(node: &mut Node, operation: &str) {
    node.fail(format!("this matrix does not implement `Matrix::{operation}`, which the kernel times"));
}

/// A node's block of the matrix with its guard.
pub struct Blocks {
    mesh: Mesh,
    place: Place,
    dim: usize,
    /// (dim + 2)² numbers, row by row, including the guard.
    values: Vec<f64>,
    acks: std::rc::Rc<std::cell::Cell<u64>>,
    ack: strata_runtime::message::Request<()>,
    taken: u64,
    operations: usize,
    /// The kind of the last operation.
    last: Kind,
    /// Number of boxes of one side, which operations use in turn: in a ring of nodes, the
    /// predecessor may be ahead by as many operations as there are other nodes.
    turns: usize,
}

/// The pattern of an operation: which nodes wait for which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    None,
    Guard,
    Shift(Direction),
    Transpose,
    Row(usize),
    Column(usize),
}

/// The direction in which a shift moves every block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the node above.
    North,
    /// To the node on the right.
    East,
}

/// The value of the element at a row and a column of the whole matrix.
fn value(mesh: &Mesh, dim: usize, row: usize, column: usize) -> f64 {
    (row * mesh.columns * dim + column) as f64
}

impl Blocks {
    /// Sets an element of this node's block.
    pub fn set(&mut self, row: usize, column: usize, value: f64) {
        self.values[row * (self.dim + 2) + column] = value;
    }

    /// Begins an operation. Taking boxes in turn suffices while all operations have one pattern.
    /// Nodes in different patterns could be further ahead of each other, so a barrier separates
    /// patterns.
    fn begin(&mut self, node: &mut Node, kind: Kind) {
        if self.last != kind {
            if self.last != Kind::None {
                node.barrier();
            }
            self.last = kind;
        }
    }

    /// The box of a side in this operation.
    fn port(&self, side: usize) -> usize {
        side * self.turns + self.operations % self.turns
    }

    /// A row or column of this block, packed; `first` and `stride` select its elements.
    fn line(&self, node: &mut Node, first: usize, stride: usize) -> Vec<f64> {
        let dim = self.dim;
        let mut packed = vec![0.0; dim];
        node.compute_always(Work::Kernel("Pack", &[dim as f64, stride as f64]), || {
            packed
                .iter_mut()
                .zip(self.values[first..].iter().step_by(stride))
                .for_each(|(to, from)| *to = *from);
        });
        packed
    }

    /// Waits for `length` numbers in the box of a side, and returns them.
    fn take(&self, node: &mut Node, side: usize, length: usize) -> Vec<f64> {
        let port = self.port(side);
        node.expect::<f64>(port, length);
        node.wait_for_port(port);
        // A port's memory can be read only when the port is closed; it is opened again before its
        // next turn.
        let memory: Block<f64> = node.close_port(port);
        let taken = memory[..length].to_vec();
        node.open_port(port, memory);
        taken
    }

    fn place_line(&mut self, node: &mut Node, first: usize, stride: usize, line: &[f64]) {
        let values = &mut self.values[first..];
        node.compute_always(Work::Kernel("Pack", &[line.len() as f64, stride as f64]), || {
            values.iter_mut().step_by(stride).zip(line).for_each(|(to, from)| *to = *from);
        });
    }

    /// Sends elements from the `owner` of a row or column of nodes to the others of this `line`, and
    /// acknowledgements back.
    fn spread(&mut self, node: &mut Node, (first, stride): (usize, usize), owner: usize, line: &[usize]) {
        let source = line[owner];
        if node.rank() == source {
            let numbers = self.line(node, first, stride);
            line.iter().filter(|to| **to != source).for_each(|to| node.put(*to, self.port(0), 0, &numbers));
            self.taken += line.len() as u64 - 1;
            let (acks, taken) = (&self.acks, self.taken);
            node.wait_until(|| acks.get() >= taken);
        } else {
            let numbers = self.take(node, 0, self.dim);
            self.place_line(node, first, stride, &numbers);
            node.send(source, self.ack, ());
        }
        self.operations += 1;
    }
}

impl Matrix for Blocks {
    fn open(node: &mut Node, dim: usize) -> Self {
        let mesh = Mesh::new(node.size());
        let place = mesh.place(node.rank());
        let acks = std::rc::Rc::new(std::cell::Cell::new(0));
        let mut handlers = node.handlers();
        let ack = handlers.request({
            let acks = std::rc::Rc::clone(&acks);
            move |_, ()| acks.set(acks.get() + 1)
        });
        node.install(handlers);
        let all = (dim + 2) * (dim + 2);
        let turns = mesh.rows.max(mesh.columns) + 1;
        for port in 0..SIDES * turns {
            // Whole blocks arrive only at the first side.
            node.open_port(port, Block::<f64>::zeroed(if port < turns { all } else { dim }));
        }
        let mut values = vec![-1.0; all];
        for row in 0..dim {
            for column in 0..dim {
                values[(row + 1) * (dim + 2) + column + 1] =
                    value(&mesh, dim, place.row * dim + row, place.column * dim + column);
            }
        }
        node.barrier();
        Self { mesh, place, dim, values, acks, ack, taken: 0, operations: 0, last: Kind::None, turns }
    }

    fn get(&self, row: usize, column: usize) -> f64 {
        self.values[row * (self.dim + 2) + column]
    }

    fn update_guard(&mut self, node: &mut Node) {
        self.begin(node, Kind::Guard);
        let (dim, width) = (self.dim, self.dim + 2);
        let Place { top, bottom, pred, succ, .. } = self.place;
        // Target node, first element and stride of each side; the box tells the direction from
        // which data arrive.
        let (north, south, west, east) = (0, 1, 2, 3);
        let edges = [
            (top, width + 1, 1, south),
            (bottom, dim * width + 1, 1, north),
            (succ, width + dim, width, west),
            (pred, width + 1, width, east),
        ];
        for (to, first, stride, side) in edges {
            let line = self.line(node, first, stride);
            node.put(to, self.port(side), 0, &line);
        }
        let guards = [
            (north, 1, 1),
            (south, (dim + 1) * width + 1, 1),
            (east, width + dim + 1, width),
            (west, width, width),
        ];
        for (side, first, stride) in guards {
            let line = self.take(node, side, dim);
            self.place_line(node, first, stride, &line);
        }
        self.operations += 1;
    }

    fn shift(&mut self, node: &mut Node, direction: Direction) {
        self.begin(node, Kind::Shift(direction));
        let to = match direction {
            Direction::North => self.place.top,
            Direction::East => self.place.succ,
        };
        node.put(to, self.port(0), 0, &self.values);
        self.values = self.take(node, 0, self.values.len());
        self.operations += 1;
    }

    fn transpose(&mut self, node: &mut Node) {
        if !self.mesh.is_square() {
            return;
        }
        self.begin(node, Kind::Transpose);
        let other = self.mesh.at(self.place.column, self.place.row);
        if other != node.rank() {
            node.put(other, self.port(0), 0, &self.values);
            self.values = self.take(node, 0, self.values.len());
        }
        let width = self.dim + 2;
        let values = &mut self.values;
        node.compute_always(Work::Kernel("Pack", &[(width * width) as f64, width as f64]), || {
            for row in 0..width {
                for column in 0..row {
                    values.swap(row * width + column, column * width + row);
                }
            }
        });
        self.operations += 1;
    }

    fn broadcast_row(&mut self, node: &mut Node, row: usize) {
        let (owner, local) = (row / self.dim % self.mesh.rows, row % self.dim + 1);
        self.begin(node, Kind::Row(owner));
        let line: Vec<_> = (0..self.mesh.rows).map(|row| self.mesh.at(row, self.place.column)).collect();
        self.spread(node, (local * (self.dim + 2) + 1, 1), owner, &line);
    }

    fn broadcast_column(&mut self, node: &mut Node, column: usize) {
        let (owner, local) = (column / self.dim % self.mesh.columns, column % self.dim + 1);
        self.begin(node, Kind::Column(owner));
        let line: Vec<_> =
            (0..self.mesh.columns).map(|column| self.mesh.at(self.place.row, column)).collect();
        self.spread(node, (self.dim + 2 + local, self.dim + 2), owner, &line);
    }

    fn close(self, node: &mut Node) {
        node.barrier();
        for port in 0..SIDES * self.turns {
            let _memory: Block<f64> = node.close_port(port);
        }
        node.uninstall();
    }
}

/// What a timed operation has left behind.
struct After<'a, M> {
    matrix: &'a M,
    mesh: Mesh,
    place: Place,
    dim: usize,
    operations: usize,
}

impl<M: Matrix> After<'_, M> {
    /// The value of the element at a row and a column of the whole matrix.
    fn value(&self, row: usize, column: usize) -> f64 {
        value(&self.mesh, self.dim, row, column)
    }

    /// True if every element of the block is that at this row and column of the whole matrix.
    fn all(&self, of: impl Fn(usize, usize) -> (usize, usize)) -> bool {
        (0..self.dim).all(|r| {
            (0..self.dim).all(|c| {
                let (row, column) = of(r, c);
                self.matrix.get(r + 1, c + 1) == self.value(row, column)
            })
        })
    }
}

/// The seconds of a guard update of blocks of `dim` by `dim`.
///
/// # Participation
/// Collective. Wrong data end the job.
pub fn guard<M: Matrix>(node: &mut Node, dim: usize) -> f64 {
    timed::<M>(node, "guard", dim, M::update_guard, |after| {
        let After { matrix, mesh, place, dim, .. } = after;
        let (height, width) = (mesh.rows * dim, mesh.columns * dim);
        let global = |row: usize, column: usize| {
            let (row, column) = (place.row * dim + row + height - 1, place.column * dim + column + width - 1);
            after.value(row % height, column % width)
        };
        let ring = (1..=*dim).flat_map(|at| [(0, at), (dim + 1, at), (at, 0), (at, dim + 1)]);
        ring.into_iter().all(|(row, column)| matrix.get(row, column) == global(row, column))
    })
}

/// The seconds of a shift of blocks of `dim` by `dim` with their guards.
///
/// # Participation
/// As [`guard`].
pub fn shift<M: Matrix>(node: &mut Node, dim: usize, direction: Direction) -> f64 {
    let one = |matrix: &mut M, node: &mut Node| matrix.shift(node, direction);
    timed(node, "shift", dim, one, |after| {
        let After { mesh, place, dim, operations, .. } = after;
        // After this many shifts, this node holds the block of this row or column of nodes.
        let (row, column) = match direction {
            Direction::North => ((place.row + operations) % mesh.rows, place.column),
            Direction::East => {
                let back = operations % mesh.columns;
                (place.row, (place.column + mesh.columns - back) % mesh.columns)
            }
        };
        after.all(|r, c| (row * dim + r, column * dim + c))
    })
}

/// The seconds of a transposition of blocks of `dim` by `dim`, on a square mesh.
///
/// # Participation
/// As [`guard`]; the job ends if the mesh is not square.
pub fn transpose<M: Matrix>(node: &mut Node, dim: usize) -> f64 {
    if !Mesh::new(node.size()).is_square() {
        let size = node.size();
        node.fail(format!("transpose: a mesh of {size} nodes is no square; take 1, 4, 16 or 64 nodes"));
    }
    timed(node, "transpose", dim, M::transpose, |after| {
        let After { place, dim, .. } = after;
        let turned = after.operations % 2 == 1;
        after.all(|r, c| {
            let (row, column) = (place.row * dim + r, place.column * dim + c);
            if turned { (column, row) } else { (row, column) }
        })
    })
}

/// The seconds of a broadcast of the first row along the columns of nodes, with acknowledgements.
///
/// # Participation
/// As [`guard`].
pub fn row_broadcast<M: Matrix>(node: &mut Node, dim: usize) -> f64 {
    let one = |matrix: &mut M, node: &mut Node| matrix.broadcast_row(node, 0);
    timed(node, "row_broadcast", dim, one, |after| {
        (0..after.dim)
            .all(|c| after.matrix.get(1, c + 1) == after.value(0, after.place.column * after.dim + c))
    })
}

/// The seconds of a broadcast of the first column along the rows of nodes, with acknowledgements.
///
/// # Participation
/// As [`guard`].
pub fn column_broadcast<M: Matrix>(node: &mut Node, dim: usize) -> f64 {
    let one = |matrix: &mut M, node: &mut Node| matrix.broadcast_column(node, 0);
    timed(node, "column_broadcast", dim, one, |after| {
        (0..after.dim).all(|r| after.matrix.get(r + 1, 1) == after.value(after.place.row * after.dim + r, 0))
    })
}

fn timed<M: Matrix>(
    node: &mut Node,
    kernel: &str,
    dim: usize,
    operation: impl Fn(&mut M, &mut Node),
    right: impl Fn(&After<'_, M>) -> bool,
) -> f64 {
    let mut matrix = M::open(node, dim);
    let mut operations = 0;
    let seconds = time(node, |node, _| {
        operation(&mut matrix, node);
        operations += 1;
    });
    let mesh = Mesh::new(node.size());
    let place = mesh.place(node.rank());
    let right = right(&After { matrix: &matrix, mesh, place, dim, operations });
    if !right || spoils(node, kernel) {
        wrong_data(node, kernel, "the matrix is not what it was or ought to be");
    }
    matrix.close(node);
    seconds
}
