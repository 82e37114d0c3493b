//! Runs of single layouts, for calibration, benchmarks and tests.
//!
//! The profiling programs generated from `specs/stencil` call [`seconds`].

use strata_runtime::Node;
use strata_runtime::select::TimedOnNodes;

use crate::exchange::models::StencilExchange;
use crate::halo::HaloExchange;
use crate::problem::{Problem as _, solve_in};
use crate::solver::{Limits, Solver};
use crate::{Grid, Halo, Solution, StencilError, Value, Volume, Way, exchange::requests, layout::Layout};

/// Solves `grid` with `layout`, regardless of models.
///
/// # Participation
/// Collective, with equal arguments.
///
/// # Errors
/// As [`Grid::solve`]; [`StencilError::Layout`] if the layout does not suit the grid or the nodes.
pub fn solve<T: Value>(
    grid: &Grid<'_, T>,
    node: &mut Node,
    layout: Layout,
) -> Result<Solution<T>, StencilError> {
    solve_in(grid, node, layout)
}

/// Solves `volume` with `layout`, whose columns of blocks divide rows, and whose rows of blocks
/// divide planes.
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

/// The time of one iteration on the slowest node, in seconds: red-black sweeps of f64 over `width`
/// by `height` points between edges of given values. The largest update is checked in every
/// `every`-th iteration. The layout has `columns` of blocks, with halos of `halo`; 0 columns is
/// node 0 alone. NaN if there is no such layout.
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

/// The time of one iteration, in seconds, if each node has a block of `width` by `height` points:
/// as many columns of blocks as rows, or twice as many, with halos of one layer.
///
/// # Participation
/// Collective, with equal arguments.
pub fn block_seconds(node: &mut Node, width: usize, height: usize) -> f64 {
    block_seconds_with(node, [width, height], [0; 2])
}

/// As [`block_seconds`], with halos of `halo` layers; NaN if blocks are smaller.
///
/// # Participation
/// Collective, with equal arguments.
pub fn halo_seconds(node: &mut Node, width: usize, height: usize, halo: usize) -> f64 {
    let squares = Layout::squares(node.size());
    let layout = Layout { halo, ..squares };
    seconds_on(node, &Grid::new(squares.columns * width, squares.rows * height), layout, 1)
}

/// The time of one iteration, in seconds, if each node has `block` points: `columns` of blocks with
/// halos of `halo` layers, exchanged in this variant.
///
/// # Participation
/// Collective, with equal arguments.
pub fn exchange_seconds(
    node: &mut Node,
    block: [usize; 2],
    columns: usize,
    halo: usize,
    way: Way,
    overlap: bool,
) -> f64 {
    let layout = Layout { way, overlap, ..Layout::new(columns, node.size() / columns, halo) };
    seconds_on(node, &Grid::new(columns * block[0], layout.rows * block[1]), layout, 1)
}

/// The ways of exchanging halos time themselves as `specs/stencil/exchange` does.
impl TimedOnNodes for StencilExchange {
    fn seconds(self, node: &mut Node, inputs: &[f64], _: u64) -> Option<f64> {
        let &[width, height, columns, halo] = inputs else { return None };
        let (way, overlap) = Way::of(self);
        let block = [width as usize, height as usize];
        Some(exchange_seconds(node, block, (columns as usize).max(1), halo as usize, way, overlap))
    }
}

/// The time of one iteration, in seconds, of `width` by `height` points on one node, in waves of at
/// most `sweeps`, with rare checks of the largest update.
///
/// # Participation
/// Collective, with equal arguments.
pub fn wave_seconds(node: &mut Node, width: usize, height: usize, sweeps: usize) -> f64 {
    seconds_on(node, &Grid::new(width, height), Layout { wave: sweeps, ..Layout::ONE }, 16)
}

/// The time of one iteration, in seconds, whose slowest nodes are those at two edges of the grid,
/// with blocks of `width` by `height` points, and have a neighbour less (Brewer 1994, §5.2): inner
/// nodes have smaller blocks. The edges are the western and eastern (`upright`), or the northern and
/// southern ones. NaN if there are no nodes between them.
///
/// # Participation
/// Collective, with equal arguments.
pub fn edge_seconds(node: &mut Node, width: usize, height: usize, upright: bool) -> f64 {
    let (mut block, way) = ([width, height], usize::from(!upright));
    // The inner blocks keep a quarter of their points, and points of both colours.
    let more = block[way].saturating_sub(block[way].div_ceil(4).max(2));
    block[way] -= more;
    let mut extra = [0; 2];
    extra[way] = more;
    block_seconds_with(node, block, extra)
}

/// The time of one iteration with squares of `block` points, and `extra` columns and rows at edges.
fn block_seconds_with(node: &mut Node, block: [usize; 2], extra: [usize; 2]) -> f64 {
    let layout = Layout { extra, ..Layout::squares(node.size()) };
    let blocks = [layout.columns, layout.rows];
    if [0, 1].into_iter().any(|way| extra[way] > 0 && blocks[way] < 3) {
        return f64::NAN;
    }
    let [width, height] = [0, 1].map(|way| blocks[way] * block[way] + 2 * extra[way]);
    seconds_on(node, &Grid::new(width, height), layout, 1)
}

/// The time of one iteration with any layout; see [`seconds`].
///
/// # Participation
/// Collective, with equal arguments.
pub fn seconds_on(node: &mut Node, grid: &Grid<'_, f64>, layout: Layout, every: usize) -> f64 {
    let suits = layout.fits(grid.size, grid.periodic());
    if !suits || layout.nodes() != 1 && layout.nodes() != node.size() {
        return f64::NAN;
    }
    let Ok(mut solver) = Solver::new(node, grid, layout) else { return f64::NAN };
    let every = every.max(1) as u64;
    // The number of iterations contains whole numbers of exchanges and of checks.
    let exchanges = (layout.halo as u64 / 2).max(1);
    timed(node, exchanges, exchanges.max(every), |node, iterations| {
        // All values remain zero.
        let _ = solver.run(node, Limits { iterations, threshold: Some(0.0), every }, &mut |_| ());
    })
}

/// The time of one iteration on the slowest node, in seconds. Runs have whole numbers of `unit`s of
/// iterations; `few` of them touch all memory.
fn timed(node: &mut Node, few: u64, unit: u64, mut run: impl FnMut(&mut Node, u64)) -> f64 {
    let mut time = |node: &mut Node, iterations| {
        node.barrier();
        let start = node.now();
        run(node, iterations);
        node.reduce_max(node.now().get() - start.get())
    };
    if node.is_simulated() {
        // The difference between two runs excludes the start. Packets collide by chance if queues
        // are short, so iterations differ.
        let short = time(node, unit);
        let units = if unit == 1 { SIMULATED } else { 1 };
        return (time(node, (1 + units) * unit) - short) / (units * unit) as f64;
    }
    let _touched_first = time(node, few);
    let once = time(node, few) / few as f64;
    // As many iterations as between two checks, even of long ones: no wave extends beyond a check.
    let iterations =
        ((LEAST_SECONDS / once.max(1e-9)) as u64).clamp(1, MOST_ITERATIONS).next_multiple_of(unit);
    // Other programs can only lengthen a time, so the least of several runs is taken.
    let runs = (ALL_SECONDS / (once * iterations as f64)).clamp(2.0, 12.0) as usize;
    let least = (0..runs).map(|_| time(node, iterations)).fold(f64::INFINITY, f64::min);
    least / iterations as f64
}

/// The time of one exchange of the halos of so many `fields` on the slowest node, in seconds; NaN if
/// there can be no such halo. A node sends 1 to 4 `messages`, with so many `rows` of each field: of
/// so many bytes, rounded up to a multiple of 8, some cache lines apart.
///
/// # Participation
/// Collective, with equal arguments.
pub fn arrays_seconds(node: &mut Node, [messages, fields, rows, row]: [usize; 4], way: Way) -> f64 {
    let (rows, length) = (rows.max(1), row.div_ceil(8).max(1));
    let time = |node: &mut Node| exchanges_timed(node, messages, fields, [rows, length], way);
    // Puts need nodes that receive; prepared messages take longer if nodes do.
    if requests::prepares::<u64>(node, way) { time(node) } else { node.receiving(time) }
}

fn exchanges_timed(
    node: &mut Node,
    messages: usize,
    fields: usize,
    [rows, length]: [usize; 2],
    way: Way,
) -> f64 {
    let (rank, nodes) = (node.rank(), node.size());
    let around = [Some((rank + nodes - 1) % nodes), Some((rank + 1) % nodes)];
    // The last of an odd number is alone.
    let pair = match rank % 2 {
        0 => [None, Some(rank + 1).filter(|other| *other < nodes)],
        _ => [Some(rank - 1), None],
    };
    let neighbours = match messages {
        1 => [pair, [None; 2]],
        2 => [around, [None; 2]],
        3 => [around, pair],
        _ => [around; 2],
    };
    // Along both axes a layer, or all layers, are so many rows.
    let shape = [3, 3 * rows, length + APART];
    let halo = Halo::<u64>::around([1, rows, length]).widths([[1; 2], [rows; 2], [0; 2]]);
    let halo = halo.neighbours([neighbours[0], neighbours[1], [None; 2]]).allocated(shape, [1, rows, 0]);
    let Ok(mut halo) = halo.fields(fields).way(way).prepare(node) else { return f64::NAN };
    let memory = if node.is_skeleton() { 0 } else { shape.iter().product() };
    let mut arrays = vec![vec![0; memory]; fields];
    let mut arrays: Vec<&mut [u64]> = arrays.iter_mut().map(Vec::as_mut_slice).collect();
    let seconds = timed(node, 1, 1, |node, exchanges| {
        for _ in 0..exchanges {
            halo.exchange_all(node, &mut arrays);
        }
    });
    halo.close(node);
    seconds
}

/// The elements between two rows.
const APART: usize = 64;

/// The ways of exchanging the halos of arrays time themselves as `specs/stencil/halo` does.
impl TimedOnNodes for HaloExchange {
    fn seconds(self, node: &mut Node, inputs: &[f64], _: u64) -> Option<f64> {
        let inputs: &[f64; 4] = inputs.try_into().ok()?;
        Some(arrays_seconds(node, inputs.map(|number| number as usize), Way::of_arrays(self)))
    }
}

/// Number of iterations averaged on simulated machines.
const SIMULATED: u64 = 4;

/// The least time of a run in s: longer than its start, short compared with a time slice of the
/// system.
const LEAST_SECONDS: f64 = 4e-4;

/// The total time of the runs for one sample, in s.
const ALL_SECONDS: f64 = 8e-3;

/// The most iterations of a run.
const MOST_ITERATIONS: u64 = 10_000;
