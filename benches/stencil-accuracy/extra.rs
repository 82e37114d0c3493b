//! Extra rows and columns of boundary nodes, which exchange with a neighbour less (Brewer 1994,
//! §5.2), against exhaustive search.

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_benches::{head, row};
use strata_stencil::Layout;

use crate::target::Target;

/// The shortest and the longest side of a grid; thesis's table 5-1 has 50 and 200.
const SIDES: [usize; 2] = [48, 400];

/// Extra rows and columns that are tried.
const MOST: usize = 12;

/// Times that differ by less are equal: the thesis's table 5-1 has benefits to 0.1 %.
const EQUAL: f64 = 1e-3;

/// By at most so much the benefits that the thesis's table 5-1 predicts differ from the measured
/// ones.
const CLOSE: f64 = 8e-3;

/// One grid.
pub(crate) struct Tried {
    machine: String,
    size: [usize; 2],
    predicted: [usize; 2],
    best: [usize; 2],
    /// Time with what was predicted over the least.
    ratio: f64,
    /// By how much the time without is longer, as predicted and as simulated.
    benefit: [f64; 2],
}

/// Draws grids and tries all extra rows and columns of squares.
pub(crate) fn judge(target: &Target, grids: usize, seed: u64) -> Result<Vec<Tried>, String> {
    let models = target.models("edges")?;
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0x52);
    let squares = target.squares();
    let mut all = Vec::new();
    for _ in 0..grids {
        let size = [0; 2].map(|_| random.random_range(SIDES[0]..=SIDES[1]));
        let time = |extra| target.simulate_mean(size, Layout { extra, ..squares });
        let (predicted, with) = target.extra(&models, size)?;
        let chosen = time(predicted)?;
        let (mut best, mut least) = (predicted, chosen);
        let mut others = Vec::new();
        for extra in (0..=MOST).flat_map(|x| (0..=MOST).map(move |y| [x, y])) {
            let layout = Layout { extra, ..squares };
            if let Some(block) = largest(target, size, layout) {
                others.push((target.simulate(block, Layout::ONE)?, extra));
            }
        }
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        // An iteration takes no less than its largest block on a node alone: no others can be best.
        for (_, extra) in others.into_iter().take_while(|(alone, _)| *alone < chosen) {
            let seconds = time(extra)?;
            if seconds < least {
                (best, least) = (extra, seconds);
            }
        }
        let block = [size[0] as f64 / squares.columns as f64, size[1] as f64 / squares.rows as f64];
        let without = models.seconds("Block", target.nodes, &block);
        let foretold = without.map_or(0.0, |without| without / with - 1.0);
        let benefit = [foretold, time([0; 2])? / chosen - 1.0];
        all.push(Tried {
            machine: target.name.clone(),
            size,
            predicted,
            best,
            ratio: chosen / least,
            benefit,
        });
    }
    Ok(all)
}

/// The largest block of a layout; `None` if an inner one has no points.
fn largest(target: &Target, size: [usize; 2], layout: Layout) -> Option<[usize; 2]> {
    let blocks = (0..target.nodes).map(|node| layout.block(size, node).map(|side| side.len()));
    let blocks: Vec<[usize; 2]> = blocks.collect();
    let is_full = blocks.iter().flatten().all(|side| *side > 0);
    blocks.into_iter().max_by_key(|[width, height]| width * height).filter(|_| is_full)
}

/// Prints a table; returns the share of right predictions.
pub(crate) fn report(all: &[Tried]) -> Option<f64> {
    if all.is_empty() {
        return None;
    }
    println!();
    head(&[
        "machine",
        "grid",
        "columns",
        "best",
        "rows",
        "best",
        "slower than best",
        "benefit predicted",
        "benefit",
    ]);
    let per_cent = |share: f64| format!("{:.2} %", 100.0 * share);
    for Tried { machine, size, predicted, best, ratio, benefit } in all {
        row(&[
            machine.clone(),
            format!("{} by {}", size[0], size[1]),
            predicted[0].to_string(),
            best[0].to_string(),
            predicted[1].to_string(),
            best[1].to_string(),
            per_cent(ratio - 1.0),
            per_cent(benefit[0]),
            per_cent(benefit[1]),
        ]);
    }
    let within = |share: f64| all.iter().filter(|tried| tried.ratio < 1.0 + share).count();
    let (right, close) = (within(EQUAL), within(CLOSE));
    let slower = all.iter().map(|tried| tried.ratio - 1.0).sum::<f64>() / all.len() as f64;
    println!(
        "\nExtra rows and columns: {right} of {} take the least time (within 0.1 %), {close} within 0.8 %; \
         {} slower in the mean.",
        all.len(),
        per_cent(slower)
    );
    Some(right as f64 / all.len() as f64)
}
