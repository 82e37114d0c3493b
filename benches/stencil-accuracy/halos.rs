//! Widths of halos by models against the best of all, on many nodes.

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_benches::columns;
use strata_stencil::layout::Layout;

use crate::target::Target;

/// Points a side of a node's block, the fewest and the most.
const SIDES: [usize; 2] = [8, 128];

/// Widths that compete.
const WIDTHS: [usize; 4] = [1, 2, 4, 8];

/// One grid.
pub(crate) struct Tried {
    machine: String,
    size: [usize; 2],
    chosen: usize,
    best: usize,
    /// Time of the choice over the least.
    ratio: f64,
    /// Time with a halo of one over the least.
    narrow: f64,
}

/// Draws grids and tries all widths with squares.
pub(crate) fn judge(target: &Target, grids: usize, seed: u64) -> Result<Vec<Tried>, String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0x4A);
    let models = target.models("halos")?;
    let squares = target.squares();
    let blocks = [squares.columns, squares.rows];
    let mut all = Vec::new();
    for _ in 0..grids {
        // All magnitudes alike.
        let side = |random: &mut ChaCha8Rng, way: usize| {
            let [least, most] = SIDES.map(|points| (points * blocks[way]) as f64);
            (least * (most / least).powf(random.random_range(0.0..1.0))) as usize
        };
        let size = [side(&mut random, 0), side(&mut random, 1)];
        let [width, height] = [0, 1].map(|way| size[way].div_ceil(blocks[way]) as f64);
        let mut times = Vec::new();
        for halo in WIDTHS {
            let predicted = models.seconds("Halo", target.nodes, &[width, height, halo as f64]);
            let seconds = target.simulate(size, Layout { halo, ..squares })?;
            times.push((halo, predicted.ok_or("a grid is outside what was measured")?, seconds));
        }
        let by = |key: fn(&(usize, f64, f64)) -> f64| {
            times.iter().copied().min_by(|a, b| key(a).total_cmp(&key(b))).unwrap_or(times[0])
        };
        let (chosen, best) = (by(|time| time.1), by(|time| time.2));
        all.push(Tried {
            machine: target.name.clone(),
            size,
            chosen: chosen.0,
            best: best.0,
            ratio: chosen.2 / best.2,
            narrow: times[0].2 / best.2,
        });
    }
    Ok(all)
}

/// Prints a table; returns the share of right predictions.
pub(crate) fn report(all: &[Tried]) -> Option<f64> {
    if all.is_empty() {
        return None;
    }
    println!();
    columns("machine | grid | halo | best | slower than best | a halo of one slower");
    let per_cent = |ratio: f64| format!("{:.2} %", 100.0 * (ratio - 1.0));
    for Tried { machine, size, chosen, best, ratio, narrow } in all {
        println!(
            "| {machine} | {} by {} | {chosen} | {best} | {} | {} |",
            size[0],
            size[1],
            per_cent(*ratio),
            per_cent(*narrow)
        );
    }
    let right = all.iter().filter(|tried| tried.chosen == tried.best).count();
    let worst = all.iter().map(|tried| tried.ratio).fold(1.0, f64::max);
    println!(
        "\nWidths of halos: {right} of {} are the best; at worst {} slower.",
        all.len(),
        per_cent(worst)
    );
    Some(right as f64 / all.len() as f64)
}
