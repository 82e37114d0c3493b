//! `Halo` in each of its ways, beside `MPI_Neighbor_alltoallw` and beside `Isend` and `Irecv` of
//! derived datatypes, in the same processes, alternating. All must leave the same arrays.
//!
//!     cargo bench -p strata-benches --features mpi --bench halo

mod raw;

use clap::Parser;
use mpi::topology::SimpleCommunicator;
use serde_json::{Value, json};
use strata_benches::{Timings, at_least, columns, hand_over, is_rank, machine, mpirun, summary, turns};
use strata_runtime::prelude::*;
use strata_stencil::halo::HaloBuilder;
use strata_stencil::{Halo, Way};

use raw::Peer;

#[derive(Clone, Debug, Parser)]
struct Arguments {
    /// Rounds of each cell
    #[arg(long, default_value_t = 20, value_parser = at_least(1))]
    rounds: usize,
}

/// The least time of the exchanges of a timing, in s.
const LEAST_SECONDS: f64 = 4e-4;

/// The ways that alternate with the peers: those of prepared messages, and those of ports.
const GROUPS: [&[Way]; 2] = [&[Way::Persistent, Way::Typed], &[Way::Packed, Way::Stored, Way::Transferred]];

/// The peers, after the ways of a group.
const PEERS: [&str; 2] = ["MPI_Neighbor_alltoallw", "Isend, Irecv of datatypes"];

/// A cell: blocks of `side` elements along each axis, on nodes in a grid.
struct Cell<const R: usize> {
    grid: [usize; R],
    side: usize,
    width: usize,
}

impl<const R: usize> Cell<R> {
    fn halo(&self) -> HaloBuilder<f64, R> {
        Halo::around([self.side; R]).width(self.width).nodes(self.grid)
    }
}

strata_benches::main!(|arguments: &Arguments| if is_rank() {
    inside(arguments.rounds)
} else {
    outside(arguments.rounds)
});

fn outside(rounds: usize) -> Result<(), String> {
    println!("{}\n{rounds} rounds; medians of one exchange of f64, without corners\n", machine());
    columns("nodes | side | width | way | time | to the best way | to alltoallw | to Isend, Irecv");
    let mut cells = Vec::new();
    for ranks in [2, 4] {
        cells.extend(mpirun(ranks)?);
    }
    let ratios = |name: &str| -> Vec<f64> { cells.iter().filter_map(|cell| cell[name].as_f64()).collect() };
    let told = ["best", "alltoallw", "by_hand"].map(|name| {
        let ratios = ratios(name);
        let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp();
        let worst = ratios.iter().copied().fold(0.0, f64::max);
        let within = ratios.iter().filter(|ratio| **ratio <= 1.05).count();
        println!("\n{name}: {mean:.3} in the geometric mean, at worst {worst:.2}; {within} of {} cells within 1.05", ratios.len());
        json!({ "ratio to": name, "mean": mean, "worst": worst, "within": within })
    });
    summary(&json!({ "bench": "halo", "cells": cells.len(), "ratios": told, "results": cells }));
    Ok(())
}

fn inside(rounds: usize) -> Result<(), String> {
    let run = strata_runtime::launch(|node| {
        let (flat, deep): (&[[usize; 2]], &[[usize; 3]]) = match node.size() {
            2 => (&[[2, 1], [1, 2]], &[[2, 1, 1], [1, 1, 2]]),
            _ => (&[[2, 2], [4, 1]], &[[2, 2, 1], [1, 2, 2]]),
        };
        for &grid in flat {
            for side in [16, 64, 256, 1024] {
                for width in [1, 2, 4] {
                    race(node, rounds, &Cell { grid, side, width })?;
                }
            }
        }
        for &grid in deep {
            for side in [16, 64] {
                for width in [1, 2] {
                    race(node, rounds, &Cell { grid, side, width })?;
                }
            }
        }
        Ok(())
    });
    run.map(drop).map_err(|error| error.to_string())
}

/// Times one cell, and hands it over.
fn race<const R: usize>(node: &mut Node, rounds: usize, cell: &Cell<R>) -> Result<(), Error> {
    let halo = cell.halo().prepare(node)?;
    let taken = halo.way();
    halo.close(node);
    let mut timings = Vec::new();
    for ways in GROUPS {
        // Handlers that ways with ports need would slow the others down.
        node.uninstall();
        timings.push(race_group(node, rounds, cell, ways)?);
    }
    if node.rank() == 0 {
        print(cell, taken, &timings).iter().for_each(hand_over);
    }
    Ok(())
}

/// The timings of some ways, and of the peers.
fn race_group<const R: usize>(
    node: &mut Node,
    rounds: usize,
    cell: &Cell<R>,
    ways: &[Way],
) -> Result<Vec<Timings>, Error> {
    let mut halos = Vec::new();
    for way in ways {
        halos.push(cell.halo().way(*way).prepare(node)?);
    }
    let &Cell { grid, side, width } = cell;
    let mut peer = Peer::new(&SimpleCommunicator::world(), grid, side, width);
    let len = (side + 2 * width).pow(R as u32);
    let array: Vec<f64> = (0..len).map(|at| (node.rank() * 1_000_003 + at) as f64).collect();
    let mut arrays = vec![array; ways.len() + PEERS.len()];
    let mut exchange = |node: &mut Node, who: usize, array: &mut Vec<f64>| -> Result<(), Error> {
        match halos.get_mut(who) {
            Some(halo) => halo.exchange(node, [array])?,
            None if who == ways.len() => peer.neighbour_alltoallw(array),
            None => peer.by_hand(array),
        }
        Ok(())
    };
    let mut timings: Vec<Timings> = vec![Timings::default(); arrays.len()];
    let mut batch = vec![1; arrays.len()];
    for round in 0..=rounds {
        for who in turns(round, arrays.len()) {
            node.barrier();
            let start = node.now().get();
            for _ in 0..batch[who] {
                exchange(node, who, &mut arrays[who])?;
            }
            let seconds = node.reduce_max(node.now().get() - start) / f64::from(batch[who]);
            match round {
                // The first round tells how many are long enough for the clock.
                0 => batch[who] = (LEAST_SECONDS / seconds).clamp(1.0, 1000.0) as u32,
                _ => timings[who].push(seconds),
            }
        }
    }
    for (who, array) in arrays.iter().enumerate() {
        assert!(
            *array == arrays[0],
            "contestant {who} has another halo: {grid:?}, side {side}, width {width}"
        );
    }
    halos.into_iter().for_each(|halo| halo.close(node));
    Ok(timings)
}

/// Prints a cell's row; returns it for the summary.
fn print<const R: usize>(cell: &Cell<R>, taken: Way, timings: &[Vec<Timings>]) -> Option<Value> {
    let timed = GROUPS.iter().zip(timings).flat_map(|(ways, timings)| ways.iter().zip(timings));
    let (best_way, best) = timed.min_by(|a, b| a.1.median().total_cmp(&b.1.median()))?;
    let mut groups = GROUPS.iter().zip(timings);
    let (ways, timings) = groups.find(|(ways, _)| ways.contains(&taken))?;
    let ours = &timings[ways.iter().position(|way| *way == taken)?];
    let others = [best, &timings[ways.len()], &timings[ways.len() + 1]];
    let ratios = others.map(|other| ours.median() / other.median());
    let by = |numbers: &[usize]| numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(" by ");
    println!(
        "| {} | {}^{R} | {} | {taken} | {ours} | {:.2} ({best_way}) | {:.2} | {:.2} |",
        by(&cell.grid),
        cell.side,
        cell.width,
        ratios[0],
        ratios[1],
        ratios[2]
    );
    Some(json!({
        "grid": &cell.grid[..], "side": cell.side, "width": cell.width, "way": taken.to_string(),
        "best way": best_way.to_string(), "best": ratios[0], "alltoallw": ratios[1], "by_hand": ratios[2],
        "seconds": ours.median(),
    }))
}
