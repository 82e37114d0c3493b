//! Iterations over a node's part: sweeps in waves, exchanges between them, and regular checks of
//! the largest update.

use strata_runtime::{Node, Work};

use crate::exchange::Exchange;
use crate::links::{self, Coloured};
use crate::points::{Area, Bad, Charge, Points, split};
use crate::problem::{Parts, Problem};
use crate::{Progress, Side, StencilError, Value, layout::Layout, memory};

/// The most sweeps of a wave of any part.
pub(crate) const MOST_WAVE: usize = 16;

/// The conditions for ending iterations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) iterations: u64,
    /// The threshold for the largest update; with `None` it is computed only in the last iteration.
    pub(crate) threshold: Option<f64>,
    /// Number of iterations between two checks.
    pub(crate) every: u64,
}

/// The state after the last iteration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) iterations: u64,
    /// The largest update of the last iteration.
    pub(crate) residual: f64,
    pub(crate) converged: bool,
}

/// A node's part of a problem.
pub(crate) struct Solver<'a, T> {
    pub(crate) parts: Parts<'a, T>,
    layout: Layout,
}

impl<'a, T: Value> Solver<'a, T> {
    /// Creates this node's part of a problem with its initial values.
    ///
    /// # Participation
    /// Collective.
    ///
    /// # Errors
    /// If a node lacks memory, or a value is not finite; equal on all nodes.
    pub(crate) fn new(
        node: &mut Node,
        problem: &impl Problem<'a, T>,
        layout: Layout,
    ) -> Result<Self, StencilError> {
        let block = layout.block(problem.cells(), node.rank());
        let hollow = node.is_skeleton();
        let cells: u128 = block.iter().map(|range| (range.len() + 2 * layout.halo) as u128).product();
        let bytes = cells * (problem.values_of_cell() * size_of::<T>()) as u128;
        memory::check(node, u64::try_from(bytes).unwrap_or(u64::MAX))?;
        let made = problem.part(&block, layout.halo, hollow);
        let rooms = node.all_gather(&[made.as_ref().err().copied().unwrap_or(0)]);
        if let Some((node, &bytes)) = rooms.iter().enumerate().find(|(_, bytes)| **bytes > 0) {
            return Err(StencilError::Memory { node, bytes });
        }
        let mut parts = made.map_err(|bytes| StencilError::Memory { node: node.rank(), bytes })?;
        let filled = if hollow { Ok(()) } else { problem.fill(&mut parts) };
        match first_bad(node, filled.err()) {
            Some(bad) => Err(problem.bad(bad)),
            None => Ok(Self { parts, layout }),
        }
    }

    /// Iterates until the conditions in `limits` are met.
    ///
    /// # Participation
    /// Collective.
    ///
    /// # Errors
    /// [`StencilError::Overflow`], on all nodes.
    pub(crate) fn run(
        &mut self,
        node: &mut Node,
        limits: Limits,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Outcome, StencilError> {
        if self.layout.nodes() > 1 {
            return node.receiving(|node| self.iterate(node, limits, progress));
        }
        let alone = (node.rank() == 0).then(|| self.iterate(node, limits, progress));
        let told = match &alone {
            Some(Ok(Outcome { iterations, residual, converged })) => {
                [*iterations, residual.to_bits(), u64::from(*converged), 0]
            }
            Some(Err(StencilError::Overflow(iteration))) => [*iteration, 0, 0, 1],
            _ => [0; 4],
        };
        let [iterations, residual, converged, overflow] = node.broadcast_value(0, told);
        match overflow {
            0 => Ok(Outcome { iterations, residual: f64::from_bits(residual), converged: converged == 1 }),
            _ => Err(StencilError::Overflow(iterations)),
        }
    }

    fn iterate(
        &mut self,
        node: &mut Node,
        limits: Limits,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Outcome, StencilError> {
        let part = self.parts.points_mut();
        let per = part.sweeps() as u64;
        // With one layer, red-black sweeps read only points of the other colour.
        let narrow = part.needs_one_colour() && self.layout.halo == 1;
        let colours = if narrow { [Some(1), Some(0)] } else { [None; 2] };
        let mut exchange = links::open(node, part, self.layout, colours);
        let longest = match self.layout.wave {
            0 => part.longest_wave(),
            sweeps => sweeps.min(MOST_WAVE),
        };
        let connected = Side::ALL.into_iter().any(|side| part.has_halo(side));
        let mut valid = if connected { 0 } else { usize::MAX };
        let mut sweep = 0;
        let mut outcome = Outcome { iterations: 0, residual: 0.0, converged: false };
        let mut result = Ok(());
        while outcome.iterations < limits.iterations {
            let until = match limits.threshold {
                Some(_) => limits.iterations.min((outcome.iterations / limits.every + 1) * limits.every),
                None => limits.iterations,
            };
            let mut most = 0.0;
            while sweep < until * per {
                let overlapped = valid == 0 && narrow && self.layout.overlap;
                if valid == 0 {
                    if !overlapped {
                        exchange.run(node, part);
                    }
                    valid = part.halo();
                }
                let left = usize::try_from(until * per - sweep).unwrap_or(usize::MAX);
                let wave = left.min(valid).min(longest);
                // Both colours of the last iteration count, in one wave or two.
                let before = usize::try_from((until - 1) * per).unwrap_or(usize::MAX);
                let uncounted = before.saturating_sub(usize::try_from(sweep).unwrap_or(usize::MAX));
                let first = usize::try_from(sweep % per).unwrap_or(0);
                let areas: Vec<Area> = (0..wave).map(|done| part.area(valid - done)).collect();
                let update = match overlapped {
                    false => swept(node, part, first, &areas, uncounted),
                    true => swept_while(node, part, &mut exchange, first, &areas[0], uncounted),
                };
                most = if uncounted < wave { f64::max(most, update) } else { most };
                sweep += wave as u64;
                valid = if connected { valid - wave } else { valid };
            }
            let residual = if self.layout.nodes() > 1 { node.reduce_max(most) } else { most };
            outcome.iterations = until;
            outcome.residual = residual;
            if residual.is_infinite() {
                result = Err(StencilError::Overflow(until));
                break;
            }
            if node.rank() == 0 {
                progress(Progress { iteration: until, residual });
            }
            // The updates of a skeleton are unknown.
            if limits.threshold.is_some_and(|threshold| residual < threshold) && !node.is_skeleton() {
                outcome.converged = true;
                break;
            }
        }
        exchange.close(node);
        result.map(|()| outcome)
    }
}

/// As [`swept`] of one area, with an exchange during the sweep of the cells that need no halo.
fn swept_while<T: Value>(
    node: &mut Node,
    part: &mut dyn Points<T>,
    exchange: &mut Exchange<T, Coloured>,
    first: usize,
    area: &Area,
    uncounted: usize,
) -> f64 {
    let (inner, border) = split(part, area);
    let mut most = 0.0;
    let mut sweep = |node: &mut Node, part: &mut dyn Points<T>, area: &Area| {
        if !area.columns.is_empty() && !area.rows.is_empty() {
            most = f64::max(most, swept(node, part, first, std::slice::from_ref(area), uncounted));
        }
    };
    exchange.start(node, part);
    sweep(node, part, &inner);
    exchange.finish(node, part);
    for area in &border {
        sweep(node, part, area);
    }
    most
}

/// Sweeps `areas` with colours from `first` on; returns the largest update of all but the first
/// `uncounted` sweeps.
fn swept<T: Value>(
    node: &mut Node,
    part: &mut dyn Points<T>,
    first: usize,
    areas: &[Area],
    uncounted: usize,
) -> f64 {
    let Charge { kernels, line } = part.charge();
    let cost = |area: &Area| [(area.columns.len() * line) as f64, area.rows.len() as f64];
    let costs: Vec<[f64; 2]> =
        areas.iter().flat_map(|area| std::iter::repeat_n(cost(area), kernels)).collect();
    let Some((last, before)) = costs.split_last() else { return 0.0 };
    for cost in before {
        node.compute(Work::Kernel("StencilSweep", cost), || ());
    }
    node.compute(Work::Kernel("StencilSweep", last), || part.wave(first, areas, uncounted).wide())
}

/// The first node's non-finite value, if any node has one; equal on all nodes.
///
/// # Participation
/// Collective.
fn first_bad(node: &mut Node, mine: Option<Bad>) -> Option<Bad> {
    let word = mine.map_or([0; 5], |Bad { face, place: [x, y, z], value }| {
        let kind = face.map_or(1, |face| 2 + face as u64);
        [kind, x as u64, y as u64, z as u64, value.to_bits()]
    });
    let words = node.all_gather(&word);
    let &[kind, x, y, z, value] = words.as_chunks().0.iter().find(|word| word[0] > 0)?;
    let place = [x, y, z].map(|position| position as usize);
    let face = (kind as usize).checked_sub(2);
    Some(Bad { face, place, value: f64::from_bits(value) })
}
