//! Extra rows and columns of boundary nodes, which exchange with a neighbour less, by the method of
//! Brewer (1994, §5.2): one direction at a time, as many as the missing exchange pays for.

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_benches::{columns, row};
use strata_model::Resolved;
use strata_stencil::layout::Layout;

use crate::target::Target;

/// The shortest and the longest side of a grid that is drawn; thesis's table 5-1 has 50 and 200.
const SIDES: [usize; 2] = [48, 400];

/// Extra rows or columns that are tried.
const MOST: usize = 12;

/// Times that differ by less are equal: the thesis's table 5-1 has benefits to 0.1 %.
const EQUAL: f64 = 1e-3;

/// Table 5-1: machine and side of the grid, extra columns and rows, and their benefit in per cent,
/// predicted and actual. Edges of its rows are strided in memory, as are those of columns here.
const TABLE: [(&str, usize, [usize; 2], [f64; 2]); 4] = [
    ("alewife", 200, [1, 1], [1.6, 1.4]),
    ("cm5", 200, [2, 1], [3.1, 2.5]),
    ("atm", 50, [9, 2], [8.9, 8.1]),
    ("paragon", 200, [3, 1], [3.3, 2.6]),
];

/// One grid, with columns and rows.
pub(crate) struct Tried {
    machine: String,
    size: [usize; 2],
    predicted: [usize; 2],
    best: [usize; 2],
    /// In either direction alone: time with what was predicted over the least.
    ratios: [f64; 2],
    /// By how much the time without is longer than with both, as predicted and as simulated.
    benefit: [f64; 2],
}

/// Tries table 5-1's grid of the machine, and others that it draws.
pub(crate) fn judge(target: &Target, grids: usize, seed: u64) -> Result<Vec<Tried>, String> {
    let models = target.models("edges")?;
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0x52);
    let printed = TABLE.iter().filter(|printed| printed.0 == target.name).map(|printed| [printed.1; 2]);
    let drawn = (0..grids).map(|_| [0; 2].map(|_| random.random_range(SIDES[0]..=SIDES[1])));
    printed.chain(drawn.collect::<Vec<_>>()).map(|size| one(target, &models, size)).collect()
}

fn one(target: &Target, models: &Resolved, size: [usize; 2]) -> Result<Tried, String> {
    let squares = target.squares();
    let blocks = [squares.columns as f64, squares.rows as f64];
    let time = |extra| target.simulate_mean(size, Layout { extra, ..squares });
    let (mut predicted, mut best, mut ratios) = ([0; 2], [0; 2], [1.0; 2]);
    let mean = [0, 1].map(|way| size[way] as f64 / blocks[way]);
    let block = |inputs: [f64; 2]| models.seconds("Block", target.nodes, &inputs);
    for way in 0..2 {
        let inner = |extra: usize| {
            let mut inner = mean;
            inner[way] -= 2.0 * extra as f64 / blocks[way];
            inner
        };
        // The greatest for which nodes at edges end no later than inner ones: the root, rounded down.
        let pays = |extra: &usize| {
            let mut edge = inner(*extra);
            edge[way] += *extra as f64;
            let edge = models.seconds("Edge", target.nodes, &[edge[0], edge[1], f64::from(way == 0)]);
            edge.zip(block(inner(*extra))).is_some_and(|(edge, inner)| edge <= inner)
        };
        predicted[way] = (1..=MOST).take_while(pays).last().unwrap_or(0);
        let alone = |extra| {
            let mut both = [0; 2];
            both[way] = extra;
            time(both)
        };
        let mut least = f64::INFINITY;
        for extra in 0..=MOST {
            let seconds = alone(extra)?;
            if seconds < least {
                (best[way], least) = (extra, seconds);
            }
        }
        ratios[way] = alone(predicted[way])? / least;
    }
    // Equation 41: as if the grid had so many columns and rows less.
    let less = [0, 1].map(|way| mean[way] - 2.0 * predicted[way] as f64 / blocks[way]);
    let foretold = block(mean).zip(block(less)).map_or(f64::NAN, |(without, with)| without / with - 1.0);
    let benefit = [foretold, time([0; 2])? / time(predicted)? - 1.0];
    Ok(Tried { machine: target.name.clone(), size, predicted, best, ratios, benefit })
}

/// Prints a table; returns the share of right predictions.
pub(crate) fn report(all: &[Tried]) -> Option<f64> {
    if all.is_empty() {
        return None;
    }
    println!();
    columns(
        "machine | grid | columns | best | slower | thesis | rows | best | slower | thesis | benefit predicted | thesis | benefit | thesis",
    );
    let per_cent = |share: f64| format!("{:.2} %", 100.0 * share);
    for Tried { machine, size, predicted, best, ratios, benefit } in all {
        let printed = TABLE.iter().find(|printed| printed.0 == machine && [printed.1; 2] == *size);
        let mut cells = vec![machine.clone(), format!("{} by {}", size[0], size[1])];
        for way in 0..2 {
            cells.extend([predicted[way].to_string(), best[way].to_string(), per_cent(ratios[way] - 1.0)]);
            cells.push(printed.map_or("-".to_owned(), |printed| printed.2[way].to_string()));
        }
        for (kind, share) in benefit.iter().enumerate() {
            cells.push(per_cent(*share));
            cells.push(printed.map_or("-".to_owned(), |printed| format!("{} %", printed.3[kind])));
        }
        row(&cells);
    }
    let ratios: Vec<f64> = all.iter().flat_map(|tried| tried.ratios).collect();
    let right = ratios.iter().filter(|ratio| **ratio < 1.0 + EQUAL).count();
    let none = all.iter().flat_map(|tried| tried.best).filter(|best| *best == 0).count();
    let slower = ratios.iter().map(|ratio| ratio - 1.0).sum::<f64>() / ratios.len() as f64;
    println!(
        "\nExtra rows and columns: {right} of {} take the least time (within 0.1 %), {} slower in the mean; \
         none at all would be the best in {none}.",
        ratios.len(),
        per_cent(slower)
    );
    Some(right as f64 / ratios.len() as f64)
}
