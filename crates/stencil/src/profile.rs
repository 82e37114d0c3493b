//! Single layouts, for calibration, benchmarks and tests.
//!
//! The profiling programs generated from `specs/stencil` call [`seconds`].

use strata_runtime::Node;

use crate::problem::{Problem as _, solve_in};
use crate::solver::{Limits, Solver};
use crate::{Edge, Grid, Layout, Side, Solution, StencilError, Value, Volume};

/// Solves `grid` with `layout`, whatever models say.
///
/// # Participation
/// Collective, with equal arguments.
///
/// # Errors
/// As [`Grid::solve`]; [`StencilError::Layout`] if the layout does not suit.
pub fn solve<T: Value>(
    grid: &Grid<'_, T>,
    node: &mut Node,
    layout: Layout,
) -> Result<Solution<T>, StencilError> {
    solve_in(grid, node, layout)
}

/// Solves `volume` with `layout`, whose columns of blocks divide rows, and whose rows planes.
///
/// # Participation
/// Collective, with equal arguments.
///
/// # Errors
/// As [`solve`].
pub fn solve_volume<T: Value>(
    volume: &Volume<'_, T>,
    node: &mut Node,
    layout: Layout,
) -> Result<Solution<T>, StencilError> {
    solve_in(volume, node, layout)
}

/// The time of one iteration, in seconds, on the slowest node: red-black sweeps of f64 over
/// `width` by `height` points between edges of given values, where the largest update is looked at
/// in every `every`-th iteration. `columns` of blocks, with halos of `halo`; 0 columns is node 0
/// alone. NaN where that is no layout.
///
/// # Participation
/// Collective, with equal arguments.
pub fn seconds(
    node: &mut Node,
    width: usize,
    height: usize,
    columns: usize,
    halo: usize,
    every: usize,
) -> f64 {
    let layout = match columns {
        0 => Layout::ONE,
        _ => Layout::new(columns, node.size() / columns, halo.max(1)),
    };
    seconds_on(node, &Grid::new(width, height), layout, every)
}

/// The time by which a neighbour makes an iteration of a node longer, in seconds: halos of one
/// layer of `points` points, in columns if `upright`, else in rows. NaN where nodes are not even.
///
/// It is the difference between a grid of two blocks across, which goes around, and one that does
/// not: each block has two neighbours in that direction, or one.
///
/// # Participation
/// Collective, with equal arguments.
pub fn side_seconds(node: &mut Node, points: usize, upright: bool) -> f64 {
    let others = node.size() / 2;
    if others * 2 != node.size() {
        return f64::NAN;
    }
    // Few points across, as they are no matter here; an even number, so that the grid can go around.
    let (size, layout) = if upright {
        ([2 * ACROSS, others * points], Layout::new(2, others, 1))
    } else {
        ([others * points, 2 * ACROSS], Layout::new(others, 2, 1))
    };
    let sides = if upright { [Side::West, Side::East] } else { [Side::North, Side::South] };
    let open = Grid::new(size[0], size[1]);
    let around =
        sides.into_iter().fold(Grid::new(size[0], size[1]), |grid, side| grid.boundary(side, Edge::Periodic));
    seconds_on(node, &around, layout, 1) - seconds_on(node, &open, layout, 1)
}

/// Points across a block where only those along it matter.
const ACROSS: usize = 8;

/// The time of one iteration with any layout; see [`seconds`].
///
/// # Participation
/// Collective, with equal arguments.
pub fn seconds_on(node: &mut Node, grid: &Grid<'_, f64>, layout: Layout, every: usize) -> f64 {
    let suits = layout.fits(grid.size, grid.periodic());
    if !suits || layout != Layout::ONE && layout.nodes() != node.size() {
        return f64::NAN;
    }
    let Ok(mut solver) = Solver::new(node, grid, layout) else { return f64::NAN };
    let every = every.max(1) as u64;
    let mut time = |node: &mut Node, iterations| {
        node.barrier();
        let start = node.now();
        // Zeros stay zeros.
        let _ = solver.run(node, Limits { iterations, threshold: Some(0.0), every }, &mut |_| ());
        node.reduce_max(node.now().get() - start.get())
    };
    // Whole numbers of exchanges and of looks.
    let exchanges = (layout.halo as u64 / 2).max(1);
    let unit = exchanges.max(every);
    if node.is_simulated() {
        // What two runs differ by has no start in it. Packets meet by chance where queues are short,
        // so that iterations differ.
        let short = time(node, unit);
        let units = if unit == 1 { SIMULATED } else { 1 };
        return (time(node, (1 + units) * unit) - short) / (units * unit) as f64;
    }
    let _touched_first = time(node, exchanges);
    let once = time(node, exchanges) / exchanges as f64;
    let iterations = match (LEAST_SECONDS / once.max(1e-9)) as u64 {
        // A look is nothing beside so long an iteration.
        few if few < unit => few.max(1).next_multiple_of(exchanges),
        many => many.min(MOST_ITERATIONS).next_multiple_of(unit),
    };
    // Other programs only add to a time.
    let runs = (ALL_SECONDS / (once * iterations as f64)).clamp(2.0, 12.0) as usize;
    let least = (0..runs).map(|_| time(node, iterations)).fold(f64::INFINITY, f64::min);
    least / iterations as f64
}

/// Iterations whose mean is taken on simulated machines.
const SIMULATED: u64 = 4;

/// The least time of a run, longer than its start; short beside a time slice of the system.
const LEAST_SECONDS: f64 = 4e-4;

/// The time of all runs for one sample.
const ALL_SECONDS: f64 = 8e-3;

/// The most iterations of a run.
const MOST_ITERATIONS: u64 = 10_000;
