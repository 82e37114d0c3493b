//! Matrix multiplication in a global address space: matrices lie in blocks on all nodes; models
//! choose the blocks and in which order they are multiplied.
//!
//!     STRATA_ON=threads:2 cargo run --release -p strata-matmul -- --n 512
//!     STRATA_ON=sim:paragon:16 cargo run --release -p strata-matmul -- --n 128 --block 16
//!
//! After Split-C's, as Luna (1994, §6) has it.

use clap::{Parser, ValueEnum};
use strata_global::Space;
use strata_matmul::{Matrix, Plan, Schedule};
use strata_runtime::prelude::*;

/// Multiplies two square matrices that are spread over all nodes.
#[derive(Parser)]
struct Cli {
    /// Rows and columns.
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=1 << 15))]
    n: u32,
    /// Rows and columns of a block, instead of those that models choose.
    #[arg(long, value_name = "B", value_parser = clap::value_parser!(u32).range(1..=1 << 12))]
    block: Option<u32>,
    /// The order of the products, instead of the one that models choose.
    #[arg(long, value_name = "ORDER")]
    schedule: Option<Order>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Order {
    /// Each block of the product by itself.
    Blocks,
    /// All blocks of a node together.
    Panels,
}

/// Small whole numbers, so that sums are exact in any order.
fn left(i: usize, k: usize) -> f64 {
    ((i * 7 + k * 3) % 11) as f64 - 5.0
}

fn right(k: usize, j: usize) -> f64 {
    ((k * 5 + j * 2) % 13) as f64 - 6.0
}

fn main() -> Result<(), Error> {
    let cli = Cli::parse();
    let n = cli.n as usize;
    let line = launch(|node| {
        let Plan { block, schedule } = Plan::choose(node, n)?;
        let block = cli.block.map_or(block, |block| block as usize);
        let schedule = cli.schedule.map_or(schedule, |order| match order {
            Order::Blocks => Schedule::Blocks,
            Order::Panels => Schedule::Panels,
        });
        let mut space = Space::open(node, 3 * Matrix::bytes(n, block, node.size()))?;
        let a = Matrix::new(&mut space, n, block)?;
        let b = Matrix::new(&mut space, n, block)?;
        let c = Matrix::new(&mut space, n, block)?;
        a.fill(&mut space, left);
        b.fill(&mut space, right);
        space.barrier();
        let start = space.now().get();
        schedule.multiply(&mut space, [&a, &b, &c])?;
        let seconds = space.now().get() - start;
        let seconds = space.reduce_max(seconds);
        // A part of the elements is computed again.
        let mut wrong = 0u64;
        for at in (0..n * n).skip(space.rank()).step_by(space.size() * (1 + n * n / 4096)) {
            let (row, column) = (at / n, at % n);
            let value: f64 = (0..n).map(|k| left(row, k) * right(k, column)).sum();
            wrong += u64::from(c.read(&mut space, row, column) != value);
        }
        let wrong = space.reduce_add(wrong);
        if wrong > 0 {
            return Err(Error::program(format!("{wrong} elements of the product are wrong")));
        }
        Ok(format!(
            "{n} x {n} by {schedule:?} of {block}: {:.3} ms, {:.3} billion multiplications a second",
            1e3 * seconds,
            (n as f64).powi(3) / seconds / 1e9
        ))
    })?;
    line.iter().for_each(|line| println!("{line}"));
    Ok(())
}
