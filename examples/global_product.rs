//! The product of matrices in global memory: they lie in blocks on all nodes, and a node gets two
//! blocks at a time and multiplies them (Luna 1994, §6.1).
//!
//!     STRATA_ON=threads:2 cargo run --release -p strata-global --example global_product -- --n 256
//!     STRATA_ON=sim:cm5:16 cargo run --release -p strata-global --example global_product
//!
//! `strata-matmul` is the fast one: its blocks are multiplied by `gemm`, and chosen by models.

use clap::Parser;
use strata_global::{Array, Space};
use strata_runtime::prelude::*;

/// On a simulated machine, the cycles of a multiplication and an addition: 23 MFLOPS on four nodes
/// of a CM-5, for blocks of 256 by 256 (Luna 1994, Table 1).
const MULTIPLY_ADD: f64 = 33e6 * 4.0 * 2.0 / 23e6;

/// The third matrix is the product of the first two. Each has `side` by `side` blocks of `n` by `n`
/// elements, block k on node k mod P; each node has as many.
pub(crate) fn multiply(space: &mut Space<'_>, [a, b, c]: [&Array<f64>; 3], side: usize, n: usize) {
    let block = |array: &Array<f64>, row, column| array.at((row * side + column) * n * n);
    let [mut left, mut right] = [vec![0.0; n * n], vec![0.0; n * n]];
    for mine in (0..side * side).skip(space.rank()).step_by(space.size()) {
        let (row, column) = (mine / side, mine % side);
        let mut sum = vec![0.0; n * n];
        for i in 0..side {
            // Each begins elsewhere, so that they do not all ask the same node.
            let inner = (row + column + i) % side;
            space.phase(|both| {
                both.get_slice(&mut left, block(a, row, inner));
                both.get_slice(&mut right, block(b, inner, column));
            });
            // A node answers while it waits, not while it multiplies.
            space.barrier();
            space.compute_always(MULTIPLY_ADD * (n * n * n) as f64, || {
                add_product([&left, &right], &mut sum, n);
            });
        }
        space.write_slice(block(c, row, column), &sum);
    }
    space.barrier();
}

/// Adds the product of two blocks.
fn add_product([a, b]: [&[f64]; 2], sum: &mut [f64], n: usize) {
    for (sum, a) in sum.chunks_exact_mut(n).zip(a.chunks_exact(n)) {
        for (a, b) in a.iter().zip(b.chunks_exact(n)) {
            sum.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
        }
    }
}

/// The blocks of a row of a matrix, and the rows of a block, so that each node has as many blocks
/// and about `n * n` elements.
pub(crate) fn shape(nodes: usize, n: usize) -> (usize, usize) {
    let side = (1..=nodes).find(|side| (side * side).is_multiple_of(nodes)).unwrap_or(1);
    let rows = (nodes as f64).sqrt() * n as f64;
    (side, ((rows / side as f64).round() as usize).max(1))
}

/// Multiplies matrices of about `n` by `n` elements on each node; millions of operations with
/// floating point a second.
///
/// # Errors
/// The heap cannot be had, or the product is wrong.
pub(crate) fn mflops(node: &mut Node, n: usize) -> Result<f64, Error> {
    let nodes = node.size();
    let (side, n) = shape(nodes, n);
    let all = side * side * n * n;
    let mut space = Space::open(node, 3 * (8 * all / nodes + 64))?;
    let mut matrix = || space.alloc_blocks::<f64>(side * side, n * n);
    let [a, b, c] = [matrix()?, matrix()?, matrix()?];
    // Row and column of an element.
    let place = |i: usize| {
        let (block, within) = (i / (n * n), i % (n * n));
        (block / side * n + within / n, block % side * n + within % n)
    };
    for ((i, p), (_, q)) in space.mine(&a).zip(space.mine(&b)) {
        let (row, column) = place(i);
        space.write(p, (row + 1) as f64);
        space.write(q, column as f64 - 1.0);
    }
    space.barrier();

    let start = space.now();
    multiply(&mut space, [&a, &b, &c], side, n);
    let seconds = space.now().get() - start.get();

    let seconds = space.reduce_max(seconds);
    let rows = (side * n) as f64;
    let mut wrong = 0u64;
    for (i, p) in space.mine(&c) {
        let (row, column) = place(i);
        wrong += u64::from(space.read(p) != rows * (row + 1) as f64 * (column as f64 - 1.0));
    }
    if space.reduce_add(wrong) > 0 {
        return Err(Error::Program("the product is wrong".to_owned()));
    }
    Ok(2.0 * rows.powi(3) / seconds / 1e6)
}

/// Multiplies two matrices in global memory.
#[derive(Parser)]
struct Cli {
    /// Rows and columns of the part of a matrix on a node.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    n: u16,
}

#[allow(dead_code, reason = "tests and benches include this file as a module")]
fn main() -> Result<(), Error> {
    let cli = Cli::parse();
    let line = launch(|node| {
        let mflops = mflops(node, cli.n.into())?;
        Ok(format!("{mflops:.1} MFLOPS on {} nodes", node.size()))
    })?;
    line.iter().for_each(|line| println!("{line}"));
    Ok(())
}
