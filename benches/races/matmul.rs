//! The product of two matrices that lie on two nodes, beside the `gemm` crate with two threads on
//! matrices of one, in turns.
//!
//!     cargo bench -p strata-benches --bench matmul

#![allow(unsafe_code, reason = "the peer takes addresses")]

use std::time::Instant;

use clap::Parser;
use gemm::Parallelism;
use serde_json::{Map, json};
use strata_benches::{Timings, columns, machine, turns};
use strata_global::Space;
use strata_matmul::{Matrix, Plan, Schedule};
use strata_runtime::prelude::*;

fn left(i: usize, k: usize) -> f64 {
    ((i * 7 + k * 3) % 11) as f64 - 5.0
}

fn right(k: usize, j: usize) -> f64 {
    ((k * 5 + j * 2) % 13) as f64 - 6.0
}

/// Seconds of the product on two nodes, its trace, and how it was multiplied.
fn ours(n: usize) -> Result<(f64, f64, Plan), Error> {
    let run = Machine::threads(2)?.run(|node| {
        let plan = Plan::choose(node, n)?;
        let mut space = Space::open(node, 3 * Matrix::bytes(n, plan.block, 2))?;
        let a = Matrix::new(&mut space, n, plan.block)?;
        let b = Matrix::new(&mut space, n, plan.block)?;
        let c = Matrix::new(&mut space, n, plan.block)?;
        a.fill(&mut space, left);
        b.fill(&mut space, right);
        c.fill(&mut space, |_, _| 1.0);
        space.barrier();
        // The first product touches new memory, as the peer's did in its first round.
        plan.schedule.multiply(&mut space, [&a, &b, &c])?;
        let start = space.now().get();
        plan.schedule.multiply(&mut space, [&a, &b, &c])?;
        let seconds = space.now().get() - start;
        let trace = (0..n).map(|i| c.read(&mut space, i, i)).sum::<f64>();
        Ok((seconds, trace, plan))
    })?;
    Ok(run[0])
}

/// The same by the `gemm` crate, with as many threads.
fn theirs([a, b, c]: [&mut [f64]; 3], n: usize, threads: usize) -> (f64, f64) {
    let apart = n.cast_signed();
    let parallelism = if threads == 1 { Parallelism::None } else { Parallelism::Rayon(threads) };
    assert!([a.len(), b.len(), c.len()].iter().all(|length| *length == n * n));
    let start = Instant::now();
    // SAFETY: three matrices of n rows of n elements each, one after the other, by the assertion.
    unsafe {
        gemm::gemm(
            n,
            n,
            n,
            c.as_mut_ptr(),
            1,
            apart,
            false,
            a.as_ptr(),
            1,
            apart,
            b.as_ptr(),
            1,
            apart,
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
    (start.elapsed().as_secs_f64(), (0..n).map(|i| c[i * n + i]).sum())
}

#[derive(Parser)]
struct Arguments {
    /// A trial of few rounds with small matrices
    #[arg(long)]
    quick: bool,
}

strata_benches::main!(race);

fn race(&Arguments { quick }: &Arguments) -> Result<(), Error> {
    let rounds = if quick { 3 } else { 15 };
    println!("{}", machine());
    columns("n | Strata, 2 nodes | blocks of | gemm, 2 threads | gemm, 1 thread | gemm : Strata");
    let mut summary = Map::from_iter([("bench".to_owned(), json!("matmul"))]);
    for n in if quick { vec![512] } else { vec![512, 1024, 2048] } {
        let of =
            |value: fn(usize, usize) -> f64| (0..n * n).map(|at| value(at / n, at % n)).collect::<Vec<f64>>();
        let (mut a, mut b, mut c) = (of(left), of(right), vec![0.0; n * n]);
        let mut times: [Timings; 3] = Default::default();
        let mut ratios = Timings::default();
        let mut plan = Plan { block: 0, schedule: Schedule::Blocks };
        for round in 0..rounds {
            let mut seconds = [0.0; 3];
            let mut traces = [0.0; 3];
            for who in turns(round, 3) {
                (seconds[who], traces[who]) = match who {
                    0 => {
                        let (seconds, trace, by) = ours(n)?;
                        plan = by;
                        (seconds, trace)
                    }
                    _ => theirs([&mut a, &mut b, &mut c], n, if who == 1 { 2 } else { 1 }),
                };
            }
            assert!(traces.iter().all(|trace| *trace == traces[0]), "{traces:?}");
            times.iter_mut().zip(seconds).for_each(|(times, seconds)| times.push(seconds));
            ratios.push(seconds[1] / seconds[0]);
        }
        let schedule = if plan.schedule == Schedule::Panels { "panels" } else { "blocks" };
        let spread = |q| ratios.quantile(q);
        println!(
            "| {n} | {} | {}, {schedule} | {} | {} | {:.3} ({:.3} to {:.3}) |",
            times[0],
            plan.block,
            times[1],
            times[2],
            ratios.median(),
            spread(0.25),
            spread(0.75)
        );
        summary.insert(format!("gemm_to_strata_{n}"), json!(ratios.median()));
    }
    strata_benches::summary(&summary.into());
    Ok(())
}
