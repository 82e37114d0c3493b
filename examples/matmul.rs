//! Blocked matrix multiplication in a global address space: matrices lie in blocks on all nodes,
//! and each node makes its blocks of the product, while the next blocks of the factors are under
//! way.
//!
//!     STRATA_ON=threads:2 cargo run --release -p strata-global --example matmul -- --n 512 --block 64
//!     STRATA_ON=sim:paragon:16 cargo run --release -p strata-global --example matmul -- --n 128 --block 16
//!
//! After Split-C's, as Luna (1994, §4) has it. The local product is plain Rust: an application
//! would take a library's.

use clap::Parser;
use std::mem::swap;
use strata_global::{Array, Space};
use strata_runtime::prelude::*;

/// Multiplies two square matrices that are spread over all nodes.
#[derive(Parser)]
struct Cli {
    /// Rows and columns.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=1 << 15))]
    n: u32,
    /// Rows and columns of a block; they must divide those of the matrix.
    #[arg(long, value_name = "B", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1 << 12))]
    block: u32,
}

/// A matrix of so many blocks in a row, each of so many rows.
struct Matrix {
    values: Array<f64>,
    blocks: usize,
    rows: usize,
}

impl Matrix {
    fn new(space: &mut Space<'_>, n: usize, rows: usize) -> Result<Self, Error> {
        let blocks = n / rows;
        Ok(Self { values: space.alloc_blocks(blocks * blocks, rows * rows)?, blocks, rows })
    }

    /// The first element of the block in block row `i` and block column `j`.
    fn at(&self, i: usize, j: usize) -> strata_global::Global<f64> {
        self.values.at((i * self.blocks + j) * self.rows * self.rows)
    }

    /// The blocks of this node.
    fn mine(&self, space: &Space<'_>) -> Vec<(usize, usize)> {
        let (rank, size) = (space.rank(), space.size());
        (rank..self.blocks * self.blocks).step_by(size).map(|k| (k / self.blocks, k % self.blocks)).collect()
    }

    /// Fills this node's blocks.
    fn fill(&self, space: &mut Space<'_>, value: impl Fn(usize, usize) -> f64) {
        let rows = self.rows;
        for (i, j) in self.mine(space) {
            let of = |k: usize| value(i * rows + k / rows, j * rows + k % rows);
            let block: Vec<f64> = (0..rows * rows).map(of).collect();
            space.write_slice(self.at(i, j), &block);
        }
    }
}

/// Small whole numbers, so that sums are exact in any order.
fn left(i: usize, k: usize) -> f64 {
    ((i * 7 + k * 3) % 11) as f64 - 5.0
}

fn right(k: usize, j: usize) -> f64 {
    ((k * 5 + j * 2) % 13) as f64 - 6.0
}

/// Adds the product of two blocks.
fn multiply(sum: &mut [f64], a: &[f64], b: &[f64], rows: usize) {
    for (sum, a) in sum.chunks_exact_mut(rows).zip(a.chunks_exact(rows)) {
        for (a, b) in a.iter().zip(b.chunks_exact(rows)) {
            sum.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
        }
    }
}

/// C = A B: for each block of C on this node the blocks of a row of A and of a column of B.
fn product(space: &mut Space<'_>, [a, b, c]: [&Matrix; 3]) {
    let (blocks, rows) = (c.blocks, c.rows);
    let empty = || vec![0.0; rows * rows];
    let (mut here, mut next) = ([empty(), empty()], [empty(), empty()]);
    for (i, j) in c.mine(space) {
        let mut sum = empty();
        // Each node begins elsewhere, so that not all read the same blocks at once.
        let turn = |k: usize| (k + i + j) % blocks;
        for k in 0..=blocks {
            let [next_a, next_b] = &mut next;
            space.phase(|phase| {
                if k < blocks {
                    phase.get_slice(next_a, a.at(i, turn(k)));
                    phase.get_slice(next_b, b.at(turn(k), j));
                }
                if k > 0 {
                    // A multiplication and an addition a cycle, on simulated machines.
                    let cycles = (rows * rows * rows) as f64;
                    phase.compute_always(cycles, || multiply(&mut sum, &here[0], &here[1], rows));
                }
            });
            swap(&mut here, &mut next);
        }
        space.write_slice(c.at(i, j), &sum);
    }
    space.barrier();
}

fn main() -> Result<(), Error> {
    let cli = Cli::parse();
    let (n, rows) = (cli.n as usize, cli.block as usize);
    if !n.is_multiple_of(rows) {
        return Err(Error::program(format!("blocks of {rows} rows do not fill {n}: take a divisor of {n}")));
    }
    let line = launch(|node| {
        let blocks = (n / rows).pow(2).div_ceil(node.size());
        let bytes = 3 * (blocks * rows * rows * size_of::<f64>()).next_multiple_of(64);
        let mut space = Space::open(node, bytes)?;
        let a = Matrix::new(&mut space, n, rows)?;
        let b = Matrix::new(&mut space, n, rows)?;
        let c = Matrix::new(&mut space, n, rows)?;
        a.fill(&mut space, left);
        b.fill(&mut space, right);
        space.barrier();
        let start = space.now().get();
        product(&mut space, [&a, &b, &c]);
        let seconds = space.now().get() - start;
        let seconds = space.reduce_max(seconds);
        // Of each block a row and a column are computed again.
        let mut wrong = 0u64;
        for (i, j) in c.mine(&space) {
            let mut block = vec![0.0; rows * rows];
            space.read_slice(c.at(i, j), &mut block);
            for at in (0..rows).flat_map(|k| [k, k * rows]) {
                let (row, column) = (i * rows + at / rows, j * rows + at % rows);
                let value: f64 = (0..n).map(|k| left(row, k) * right(k, column)).sum();
                wrong += u64::from(block[at] != value);
            }
        }
        let wrong = space.reduce_add(wrong);
        if wrong > 0 {
            return Err(Error::program(format!("{wrong} elements of the product are wrong")));
        }
        Ok(format!(
            "{n} x {n} in blocks of {rows}: {:.3} ms, {:.3} billion multiplications a second",
            1e3 * seconds,
            (n as f64).powi(3) / seconds / 1e9
        ))
    })?;
    line.iter().for_each(|line| println!("{line}"));
    Ok(())
}
