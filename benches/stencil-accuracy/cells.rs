//! Choices on single grids against the fastest layout, and what comes out over many.

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_stencil::Layout;

use crate::target::Target;

/// The longest side of a grid.
pub(crate) const LONGEST: usize = 2048;

/// Of all layouts those predicted to take longer than the best by this factor are not simulated.
const HOPELESS: f64 = 1.25;

/// Layouts are close if one is predicted to take longer by less than this share.
const CLOSE: f64 = 0.2;

/// Grids among which one with close layouts is looked for.
const DRAWN: usize = 1000;

/// One grid.
#[derive(Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) size: [usize; 2],
    /// Among the thesis's layouts.
    pub(crate) few: Outcome,
    /// Among the thesis's layouts, by its terms.
    pub(crate) short: Outcome,
    /// Among all.
    pub(crate) all: Outcome,
}

/// A choice on one grid.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) chosen: Layout,
    pub(crate) best: Layout,
    /// Time of the choice over that of the fastest.
    pub(crate) ratio: f64,
    /// Time of squares over that of the fastest, on grids drawn anywhere.
    square: Option<f64>,
}

/// Draws grids and simulates their layouts.
pub(crate) fn judge(target: &Target, cells: usize, seed: u64) -> Result<Vec<Cell>, String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed + target.nodes as u64);
    let of_thesis = target.of_thesis();
    let mut all = Vec::new();
    for number in 0..cells {
        let mut draw = || [0; 2].map(|_| random.random_range(1..=LONGEST));
        let anywhere = number % 2 == 0;
        let size = if anywhere {
            draw()
        } else {
            let close = |size: &[usize; 2]| {
                let few = target.predicted_of_thesis(*size);
                few.get(1).is_some_and(|second| second.1 / few[0].1 < 1.0 + CLOSE)
            };
            (0..DRAWN).map(|_| draw()).find(close).ok_or("no grid has two close layouts")?
        };
        let predicted = target.predicted(size);
        let least = predicted.iter().map(|(_, seconds)| *seconds).fold(f64::INFINITY, f64::min);
        let mut times = Vec::new();
        for (layout, seconds) in predicted {
            if of_thesis.contains(&layout) || seconds < HOPELESS * least {
                times.push(Time { layout, predicted: seconds, simulated: target.simulate(size, layout)? });
            }
        }
        let few: Vec<Time> = times.iter().copied().filter(|time| of_thesis.contains(&time.layout)).collect();
        let squares = target.squares();
        let least = |times: &[Time]| {
            times.iter().min_by(|a, b| a.predicted.total_cmp(&b.predicted)).map(|time| time.layout)
        };
        let of = |times: &[Time], chosen: Option<Layout>| {
            outcome(times, chosen?, squares, anywhere).filter(|outcome| outcome.ratio.is_finite())
        };
        let (short, long) = (of(&few, target.chosen_by_short(size)), of(&few, least(&few)));
        let outcomes = long.zip(short).zip(of(&times, least(&times)));
        let ((few, short), every) = outcomes.ok_or("nothing is predicted")?;
        all.push(Cell { size, few, short, all: every });
    }
    Ok(all)
}

#[derive(Clone, Copy)]
struct Time {
    layout: Layout,
    predicted: f64,
    simulated: f64,
}

fn outcome(times: &[Time], chosen: Layout, squares: Layout, anywhere: bool) -> Option<Outcome> {
    let chosen = times.iter().find(|time| time.layout == chosen)?;
    let best = times.iter().min_by(|a, b| a.simulated.total_cmp(&b.simulated))?;
    let square = times.iter().find(|time| time.layout == squares).filter(|_| anywhere);
    Some(Outcome {
        chosen: chosen.layout,
        best: best.layout,
        ratio: chosen.simulated / best.simulated,
        square: square.map(|square| square.simulated / best.simulated),
    })
}

/// What comes out over some grids, as shares.
pub(crate) struct Summary {
    pub(crate) grids: usize,
    pub(crate) right: f64,
    pub(crate) expected: f64,
    /// Of the wrong choices.
    pub(crate) mean: f64,
    pub(crate) worst: f64,
    /// By how much always taking squares is slower, on the grids drawn anywhere.
    pub(crate) square: f64,
    /// On what share of those squares are the fastest.
    pub(crate) square_right: f64,
}

impl Summary {
    pub(crate) fn of(cells: &[Outcome]) -> Self {
        let penalties = cells.iter().map(|cell| cell.ratio - 1.0);
        let wrong: Vec<f64> = penalties.filter(|penalty| *penalty > 0.0).collect();
        let share = |sum: f64, of: usize| if of == 0 { 0.0 } else { sum / of as f64 };
        let total = wrong.iter().fold(0.0, |sum, penalty| sum + penalty);
        let squares: Vec<f64> = cells.iter().filter_map(|cell| Some(cell.square? / cell.ratio)).collect();
        let fastest = cells.iter().filter(|cell| cell.square == Some(1.0)).count();
        Self {
            grids: cells.len(),
            right: 1.0 - share(wrong.len() as f64, cells.len()),
            expected: share(total, cells.len()),
            mean: share(total, wrong.len()),
            worst: wrong.iter().copied().fold(0.0, f64::max),
            square: share(squares.iter().map(|ratio| ratio - 1.0).sum(), squares.len()),
            square_right: share(fastest as f64, squares.len()),
        }
    }
}
