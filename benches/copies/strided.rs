//! Packing and unpacking at a stride, beside a loop that copies each block and the best of all
//! movers.

use std::convert::Infallible;

use serde_json::{Value, json};
use strata_benches::{columns, fastest, race};
use strata_copy::profile::{self, BlockCell, Moving, seconds_of_blocks};
use strata_copy::{Direction, Mover, Strided, mover_for, movers, pack, unpack};
use strata_runtime::prelude::*;

use crate::Settings;
use crate::cells::{SEARCH, geometric};

/// Elements of columns, records, and pieces of rows; from 2 KiB on a block is a copy of its own.
const BLOCKS: [usize; 20] =
    [1, 4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 100, 128, 192, 256, 384, 512, 1000, 1536];

/// Records, rows of narrow and of wide grids, and of grids whose rows are whole pages: models are
/// calibrated with none of these, nor with the first bytes of what lies in a block.
fn strides(block: usize) -> [usize; 5] {
    [block + 16, block + 320, block + 2000, 8 * 1537, 8192]
}

/// The contestants of fresh samples.
const CONTESTANTS: usize = 3;
const LOOP: usize = 0;
const OURS: usize = 1;
const BEST: usize = 2;

struct Found {
    cell: BlockCell,
    best: &'static Mover,
    ours: &'static Mover,
    /// The loop's seconds for a block.
    by_loop: f64,
    /// The loop's time over ours, and over that of the best mover.
    gains: [f64; CONTESTANTS],
    /// Our time over that of the best mover.
    regret: f64,
}

pub(crate) fn measure(settings: &Settings) -> Result<Value, Error> {
    let (rounds, seed) = (settings.rounds, settings.seed as usize);
    let found = Machine::threads(1)?.run(move |node| Ok(all(node, rounds, seed)))?;
    Ok(report(&found.into_iter().next().unwrap_or_default()))
}

fn all(node: &Node, rounds: usize, seed: usize) -> Vec<Found> {
    let mut found = Vec::new();
    for direction in [Direction::Pack, Direction::Unpack] {
        for cold in [false, true] {
            for block in BLOCKS {
                for stride in strides(block) {
                    found.push(one(node, BlockCell { direction, block, stride, cold }, rounds, seed));
                }
            }
        }
    }
    found
}

fn one(node: &Node, cell: BlockCell, rounds: usize, seed: usize) -> Found {
    let BlockCell { direction, block, stride, .. } = cell;
    let by = |mover: &Mover| {
        let sample = if direction == Direction::Pack { profile::pack } else { profile::unpack };
        sample(|| node.now().get(), mover.name(), block, stride, cell.cold)
    };
    let first = seed * 1000;
    let Ok(timings) =
        race::<Infallible>(first..first + SEARCH, 0, movers().len(), |_, who| Ok(by(movers()[who])));
    let best = movers()[fastest(&timings)];
    let Ok(timings) = race::<Infallible>(first + 500..first + 500 + rounds, 0, CONTESTANTS, |_, who| {
        let moved: Moving<'_> = match (who, direction) {
            (OURS, Direction::Pack) => &|to, from, strided| pack(to, from, strided).is_ok(),
            (OURS, Direction::Unpack) => &|to, from, strided| unpack(to, from, strided).is_ok(),
            (LOOP, Direction::Pack) => &pack_by_loop,
            (LOOP, Direction::Unpack) => &unpack_by_loop,
            _ => return Ok(by(best)),
        };
        Ok(seconds_of_blocks(|| node.now().get(), cell, moved))
    });
    Found {
        cell,
        best,
        ours: mover_for(direction, Strided { block, stride, count: 2 }),
        by_loop: timings[LOOP].median(),
        gains: [LOOP, OURS, BEST].map(|who| timings[LOOP].over(&timings[who]).median()),
        regret: timings[OURS].over(&timings[BEST]).median(),
    }
}

fn pack_by_loop(to: &mut [u8], from: &[u8], Strided { block, stride, .. }: Strided) -> bool {
    let blocks = to.chunks_exact_mut(block).zip(from.chunks(stride));
    blocks.for_each(|(to, from)| to.copy_from_slice(&from[..block]));
    true
}

fn unpack_by_loop(to: &mut [u8], from: &[u8], Strided { block, stride, .. }: Strided) -> bool {
    let blocks = to.chunks_mut(stride).zip(from.chunks_exact(block));
    blocks.for_each(|(to, from)| to[..block].copy_from_slice(from));
    true
}

fn report(found: &[Found]) -> Value {
    columns(" | blocks | bytes | stride | loop, a block | best mover | gain | ours | gain");
    for Found { cell, best, ours, by_loop, gains, .. } in found {
        println!(
            "| {} | {} | {} | {} | {:.1} ns | {} | {:.2} | {} | {:.2} |",
            if cell.direction == Direction::Pack { "pack" } else { "unpack" },
            if cell.cold { "cold" } else { "hot" },
            cell.block,
            cell.stride,
            by_loop * 1e9,
            best.name(),
            gains[BEST],
            ours.name(),
            gains[OURS]
        );
    }
    println!();
    let below = found.iter().filter(|found| found.gains[OURS] < 0.97);
    let below: Vec<String> = below
        .map(|found| format!("{:?} by {}: {:.3}", found.cell, found.ours.name(), found.gains[OURS]))
        .collect();
    let gaining = || found.iter().filter(|found| found.gains[BEST] >= 1.05);
    let of = |cold: bool| {
        geometric(found.iter().filter(|found| found.cell.cold == cold).map(|found| found.gains[OURS]))
    };
    json!({
        "cells": found.len(),
        "cells_where_some_mover_gains_5_percent": gaining().count(),
        "gain_of_the_best_there": geometric(gaining().map(|found| found.gains[BEST])),
        "gain_there": geometric(gaining().map(|found| found.gains[OURS])),
        "gain_hot": of(false),
        "gain_cold": of(true),
        "least_gain": found.iter().map(|found| found.gains[OURS]).fold(f64::INFINITY, f64::min),
        "cells_below_0.97": below,
        "regret": geometric(found.iter().map(|found| found.regret)),
        "worst_regret": found.iter().map(|found| found.regret).fold(0.0, f64::max),
    })
}
