//! Packing and unpacking blocks at a stride, beside a loop that copies each block.

use std::hint::black_box;

use serde_json::{Value, json};
use strata_benches::{Timings, head, row, turns};
use strata_copy::{Strided, pack, unpack};
use strata_runtime::prelude::*;

use crate::Settings;

/// Bytes of a block, and from one to the next: elements of columns of narrow and wide grids,
/// records, and rows of blocks of a grid.
const SHAPES: [(usize, usize); 9] = [
    (4, 4 * 129),
    (8, 16),
    (8, 8 * 513),
    (16, 8 * 1025),
    (24, 40),
    (64, 8 * 513),
    (512, 8 * 513),
    (4096, 8 * 1025),
    (65_536, 8 * 16_385),
];
/// Bytes in all blocks.
const TOTAL: usize = 1 << 18;

pub(crate) fn race(settings: &Settings) -> Result<Value, Error> {
    let (rounds, seed) = (settings.rounds, settings.seed as usize);
    let found = Machine::threads(1)?.run(move |node| {
        Ok(SHAPES
            .map(|(block, stride)| one(node, Strided { block, stride, count: TOTAL / block }, rounds, seed)))
    })?;
    let found = found.into_iter().next().unwrap_or([[1.0; 2]; SHAPES.len()]);
    head(&["block", "stride", "pack over a loop", "unpack over a loop"]);
    for ((block, stride), [packed, unpacked]) in SHAPES.iter().zip(found) {
        row(&[block.to_string(), stride.to_string(), format!("{packed:.2}"), format!("{unpacked:.2}")]);
    }
    println!();
    let all = || found.iter().flatten();
    let mean = (all().map(|gain| gain.ln()).sum::<f64>() / (2 * SHAPES.len()) as f64).exp();
    Ok(
        json!({ "shapes": SHAPES.len(), "least_gain": all().copied().fold(f64::INFINITY, f64::min), "gain": mean }),
    )
}

/// The loop's time over that of packing, and of unpacking.
fn one(node: &Node, strided: Strided, rounds: usize, seed: usize) -> [f64; 2] {
    let Strided { block, stride, count } = strided;
    let (mut spread, mut packed) = (vec![1u8; stride * count], vec![2u8; block * count]);
    let mut gains: [Timings; 2] = Default::default();
    for round in 0..rounds {
        let mut times = [0.0; 4];
        for who in turns(seed * 1000 + round, 4) {
            let start = node.now().get();
            for _ in 0..4 {
                let (spread, packed) = (black_box(&mut spread[..]), black_box(&mut packed[..]));
                match who {
                    0 => packed
                        .chunks_exact_mut(block)
                        .zip(spread.chunks(stride))
                        .for_each(|(to, from)| to.copy_from_slice(&from[..block])),
                    1 => pack(packed, spread, strided).unwrap_or_default(),
                    2 => spread
                        .chunks_mut(stride)
                        .zip(packed.chunks_exact(block))
                        .for_each(|(to, from)| to[..block].copy_from_slice(from)),
                    _ => unpack(spread, packed, strided).unwrap_or_default(),
                }
            }
            times[who] = node.now().get() - start;
        }
        gains[0].push(times[0] / times[1]);
        gains[1].push(times[2] / times[3]);
    }
    gains.map(|gain| gain.median())
}
