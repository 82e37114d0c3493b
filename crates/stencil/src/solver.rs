//! Iterations over a node's part: sweeps in waves, exchanges between them, a look at the largest
//! update now and then.

use strata_runtime::{Node, Work};

use crate::exchange::Exchange;
use crate::part::{Area, LONGEST_JACOBI, Part};
use crate::{Grid, Layout, Method, Progress, StencilError, Value};

/// Bytes of rows that are swept again while they are in the cache.
const WAVE_BYTES: usize = 256 << 10;

/// The most sweeps of one wave.
const LONGEST_WAVE: usize = 16;

/// When iterations end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) iterations: u64,
    /// The largest update below which they end; `None` never looks before the last.
    pub(crate) threshold: Option<f64>,
    /// Iterations from one look to the next.
    pub(crate) every: u64,
}

/// How iterations ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) iterations: u64,
    /// The largest update of the last iteration.
    pub(crate) residual: f64,
    pub(crate) converged: bool,
}

/// A node's part of a problem.
pub(crate) struct Solver<T> {
    pub(crate) part: Part<T>,
    layout: Layout,
    method: Method,
    omega: T,
}

impl<T: Value> Solver<T> {
    /// This node's part of `grid`, with its initial values.
    ///
    /// # Participation
    /// Collective.
    ///
    /// # Errors
    /// There is no room on a node, or a value is not finite; equal on all nodes.
    pub(crate) fn new(node: &mut Node, grid: &Grid<'_, T>, layout: Layout) -> Result<Self, StencilError> {
        let block = layout.block(grid.size, node.rank());
        let (hollow, jacobi) = (node.is_skeleton(), grid.method == Method::Jacobi);
        let made = Part::new(&block, layout.halo, grid.size, grid.periodic(), jacobi, hollow);
        let rooms = node.all_gather(&[made.as_ref().err().copied().unwrap_or(0)]);
        if let Some((node, &bytes)) = rooms.iter().enumerate().find(|(_, bytes)| **bytes > 0) {
            return Err(StencilError::Memory { node, bytes });
        }
        let mut part = made.map_err(|bytes| StencilError::Memory { node: node.rank(), bytes })?;
        part.weights = grid.weights.map(|weights| weights.map(T::nearest));
        let filled = if hollow { Ok(()) } else { part.fill(grid.size, &grid.edges, &*grid.initial) };
        first_error(node, filled.err())?;
        Ok(Self { part, layout, method: grid.method, omega: T::nearest(grid.factor()) })
    }

    /// Iterates until `limits` end it.
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

    /// Sweeps of an iteration, and how many layers of the halo each uses up: one.
    fn sweeps(&self) -> u64 {
        if self.method == Method::Jacobi { 1 } else { 2 }
    }

    fn iterate(
        &mut self,
        node: &mut Node,
        limits: Limits,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Outcome, StencilError> {
        let per = self.sweeps();
        // With one layer, red-black sweeps need the points of the other colour only.
        let narrow = per == 2 && self.layout.halo == 1;
        let colours = if narrow { [Some(1), Some(0)] } else { [None; 2] };
        let mut exchange = Exchange::open(node, &self.part, self.layout, colours);
        let longest = self.longest_wave();
        let connected = crate::Side::ALL.into_iter().any(|side| self.part.has_halo(side));
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
                if valid == 0 {
                    exchange.run(node, &mut self.part);
                    valid = self.part.halo;
                }
                let left = usize::try_from(until * per - sweep).unwrap_or(usize::MAX);
                let wave = left.min(valid).min(longest);
                // Both colours of the last iteration count, in one wave or in two.
                let before = usize::try_from((until - 1) * per).unwrap_or(usize::MAX);
                let uncounted = before.saturating_sub(usize::try_from(sweep).unwrap_or(usize::MAX));
                let update = self.wave(node, sweep % per == 1, wave, valid, uncounted);
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
            // A skeleton does not know its updates.
            if limits.threshold.is_some_and(|threshold| residual < threshold) && !node.is_skeleton() {
                outcome.converged = true;
                break;
            }
        }
        exchange.close(node);
        result.map(|()| outcome)
    }

    /// The number of sweeps whose rows fit the cache together.
    fn longest_wave(&self) -> usize {
        let row = (self.part.size[0] + 2 * self.part.halo) * size_of::<T>();
        match self.method {
            // A Jacobi sweep holds two rows, and four of red points as they were.
            Method::Jacobi => (WAVE_BYTES / (4 * row)).clamp(1, LONGEST_JACOBI),
            Method::RedBlack => (WAVE_BYTES / row).clamp(4, LONGEST_WAVE + 2) - 2,
        }
    }

    /// Sweeps `count` times, where `valid` layers of the halo are valid; returns the largest update
    /// but in the first `uncounted` sweeps.
    fn wave(&mut self, node: &mut Node, black: bool, count: usize, valid: usize, uncounted: usize) -> f64 {
        let areas: Vec<Area> = (0..count).map(|done| self.part.area(valid - done)).collect();
        let kernels = areas.iter().flat_map(|area| std::iter::repeat_n(area, 3 - self.sweeps() as usize));
        let costs: Vec<[f64; 2]> =
            kernels.map(|area| [area.columns.len() as f64, area.rows.len() as f64]).collect();
        if let Some((last, before)) = costs.split_last() {
            for cost in before {
                node.compute(Work::Kernel("StencilSweep", cost), || ());
            }
            let (part, omega, method) = (&mut self.part, self.omega, self.method);
            return node.compute(Work::Kernel("StencilSweep", last), || match method {
                Method::RedBlack => part.wave(usize::from(black), &areas, omega, uncounted).wide(),
                Method::Jacobi => part.jacobi(&areas, omega, uncounted).wide(),
            });
        }
        0.0
    }
}

/// Returns the first node's error, if any has one, on all of them.
///
/// # Participation
/// Collective.
fn first_error(node: &mut Node, mine: Option<StencilError>) -> Result<(), StencilError> {
    let word = match &mine {
        None => [0; 4],
        Some(StencilError::Initial { x, y, value }) => [1, *x as u64, *y as u64, value.to_bits()],
        Some(StencilError::Edge { side, at, value }) => [2, *side as u64, *at as u64, value.to_bits()],
        Some(_) => [3, 0, 0, 0],
    };
    let words = node.all_gather(&word);
    let Some(&[kind, a, b, value]) = words.as_chunks().0.iter().find(|word| word[0] > 0) else {
        return Ok(());
    };
    let value = f64::from_bits(value);
    let (a, b) = (a as usize, b as usize);
    Err(match (kind, crate::Side::ALL.get(a)) {
        (2, Some(&side)) => StencilError::Edge { side, at: b, value },
        _ => StencilError::Initial { x: a, y: b, value },
    })
}
