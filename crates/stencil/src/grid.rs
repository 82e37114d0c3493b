//! The problem, its settings, and the call that solves it.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use strata_runtime::Node;
use strata_runtime::select::Options;
use strata_select::Note;

use crate::edge::{self, Edge, Side};
use crate::models::Stencil;
use crate::solver::{Limits, Solver};
use crate::{Choice, Layout, Solution, StencilError, Value};

/// How points are updated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Successive over-relaxation in two colours: points whose column and row add up to an even
    /// number, then the others (Brewer 1994, §4.4).
    #[default]
    RedBlack,
    /// All points by the values of the iteration before. Converges slowly; it smooths.
    Jacobi,
}

/// The state of a solution in progress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Iterations done.
    pub iteration: u64,
    /// The largest update of the last of them.
    pub residual: f64,
}

/// A function called with the state in between.
type Callback<'a> = RefCell<Box<dyn FnMut(Progress) + 'a>>;

/// The equation of Laplace on a regular grid, to be solved iteratively.
///
/// ```
/// use strata_runtime::prelude::*;
/// use strata_stencil::{Edge, Grid, Side};
///
/// let plates = Machine::threads(2)?.run(|node| {
///     let plate = Grid::<f64>::new(40, 30)
///         .boundary(Side::North, Edge::value(100.0))     // the other sides are at 0
///         .threshold(1e-9)
///         .solve(node)?;
///     assert!(plate.converged);
///     Ok(plate.gather(node))                             // on node 0
/// })?;
/// let plate = plates[0].as_ref().ok_or("node 0 has the plate")?;
/// assert!((plate[0] - 50.0).abs() < 1.0, "a corner is between a hot and a cold side");
/// # Ok::<(), Error>(())
/// ```
pub struct Grid<'a, T = f64> {
    pub(crate) size: [usize; 2],
    pub(crate) edges: [Edge<'a, T>; 4],
    pub(crate) initial: Rc<dyn Fn(usize, usize) -> T + 'a>,
    pub(crate) method: Method,
    pub(crate) weights: Option<[f64; 4]>,
    extra: [usize; 2],
    omega: Option<f64>,
    threshold: Option<f64>,
    iterations: u64,
    every: u64,
    progress: Option<Callback<'a>>,
}

impl<T> fmt::Debug for Grid<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { size, edges, method, weights, omega, threshold, iterations, every, .. } = self;
        f.debug_struct("Grid")
            .field("size", size)
            .field("edges", edges)
            .field("method", method)
            .field("weights", weights)
            .field("omega", omega)
            .field("threshold", threshold)
            .field("iterations", iterations)
            .field("every", every)
            .finish_non_exhaustive()
    }
}

impl<'a, T: Value> Grid<'a, T> {
    /// A grid of `width` by `height` unknown points, at first 0, between edges of value 0.
    ///
    /// Columns count from 0 in the west, rows from 0 in the north. Initially: red-black with the
    /// best `omega` for edges of given values, until the largest update is below 1e-6, at most
    /// 10,000 iterations.
    #[must_use]
    pub fn new(width: usize, height: usize) -> Self {
        Self {
            size: [width, height],
            edges: Side::ALL.map(|_| Edge::value(T::default())),
            initial: Rc::new(|_, _| T::default()),
            method: Method::default(),
            weights: None,
            extra: [0; 2],
            omega: None,
            threshold: Some(1e-6),
            iterations: 10_000,
            every: 1,
            progress: None,
        }
    }

    /// Sets what holds at a side.
    #[must_use]
    pub fn boundary(mut self, side: Side, edge: Edge<'a, T>) -> Self {
        self.edges[side as usize] = edge;
        self
    }

    /// Sets what holds at all sides.
    #[must_use]
    pub fn boundaries(mut self, edge: Edge<'a, T>) -> Self {
        self.edges = Side::ALL.map(|_| edge.clone());
        self
    }

    /// Sets the initial values, by column and row. Called once for each point, on its node.
    #[must_use]
    pub fn initial(mut self, value: impl Fn(usize, usize) -> T + 'a) -> Self {
        self.initial = Rc::new(value);
        self
    }

    /// Sets the method.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// Sets the coefficients of the neighbours in the west, east, north and south, at first a quarter
    /// each: a point moves towards the sum of its neighbours times these.
    ///
    /// The equation is then another one, such as (a, a, b, b) with a + b = 1/2 for heat that is
    /// conducted better in one direction. Magnitudes add up to at most 1.
    #[must_use]
    pub fn weights(mut self, west: f64, east: f64, north: f64, south: f64) -> Self {
        self.weights = Some([west, east, north, south]).filter(|weights| *weights != [0.25; 4]);
        self
    }

    /// Gives the nodes at the edges of the grid so many columns, and rows, more than the others, where
    /// there are others in that direction: they have a neighbour less to exchange with (Brewer 1994,
    /// §5.2). Models say how many, see [`Layout::balanced`].
    #[must_use]
    pub fn extra(mut self, columns: usize, rows: usize) -> Self {
        self.extra = [columns, rows];
        self
    }

    /// Sets how far points move towards the mean of their neighbours: above 0 and below 2, with
    /// [`Method::Jacobi`] at most 1.
    #[must_use]
    pub fn omega(mut self, omega: f64) -> Self {
        self.omega = Some(omega);
        self
    }

    /// Ends when the largest update of an iteration is below `threshold`, which is not negative; 0
    /// is never reached.
    #[must_use]
    pub fn threshold(mut self, threshold: f64) -> Self {
        self.threshold = Some(threshold);
        self
    }

    /// Ends after the greatest number of iterations only; nodes then need not agree in between.
    #[must_use]
    pub fn no_threshold(mut self) -> Self {
        self.threshold = None;
        self
    }

    /// Sets the greatest number of iterations.
    #[must_use]
    pub fn iterations(mut self, most: u64) -> Self {
        self.iterations = most;
        self
    }

    /// Looks at the largest update in every `iterations`-th iteration only, at least 1: cheaper,
    /// but there may be some iterations too many.
    #[must_use]
    pub fn check_every(mut self, iterations: u64) -> Self {
        self.every = iterations.max(1);
        self
    }

    /// Calls `progress` on node 0 whenever the largest update was looked at.
    #[must_use]
    pub fn progress(mut self, progress: impl FnMut(Progress) + 'a) -> Self {
        self.progress = Some(RefCell::new(Box::new(progress)));
        self
    }

    /// The factor of over-relaxation: as set, or the best one for edges of given values (Young
    /// 1954): 2/(1 + √(1 − ρ²)), with ρ the spectral radius of Jacobi's method.
    #[must_use]
    pub(crate) fn factor(&self) -> f64 {
        let [width, height] = self.size.map(|n| (std::f64::consts::PI / (n as f64 + 1.0)).cos());
        let [west, east, north, south] = self.weights.unwrap_or([0.25; 4]);
        // A root of weights of unlike signs is none: complex eigenvalues, for which 1 is safe.
        let radius = 2.0 * ((west * east).sqrt() * width + (north * south).sqrt() * height);
        match (self.omega, self.method) {
            (Some(omega), _) => omega,
            (None, Method::RedBlack) if radius < 1.0 => 2.0 / (1.0 + (1.0 - radius.powi(2)).sqrt()),
            (None, _) => 1.0,
        }
    }

    /// Whether columns, and rows, go around.
    pub(crate) fn periodic(&self) -> [bool; 2] {
        [0, 2].map(|side| matches!(self.edges[side], Edge::Periodic))
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits { iterations: self.iterations, threshold: self.threshold, every: self.every }
    }

    /// Whether the settings make sense.
    pub(crate) fn check(&self) -> Result<(), StencilError> {
        let [width, height] = self.size;
        let points = width.checked_mul(height).filter(|points| (1..=1 << 48).contains(points));
        if points.is_none() {
            return Err(StencilError::Size { width, height });
        }
        let omega = self.factor();
        let most = if self.method == Method::Jacobi { 1.0 } else { 2.0_f64.next_down() };
        if !(omega > 0.0 && omega <= most) {
            return Err(StencilError::Omega(omega));
        }
        if let Some(weights) = self.weights {
            let sum = weights.iter().fold(0.0, |sum, weight: &f64| sum + weight.abs());
            if !(sum > 0.0 && sum <= 1.0 + 4.0 * f64::EPSILON) {
                return Err(StencilError::Weights(weights));
            }
        }
        if let Some(threshold) = self.threshold.filter(|threshold| threshold.is_nan() || *threshold < 0.0) {
            return Err(StencilError::Threshold(threshold));
        }
        edge::check(&self.edges, self.size, self.method == Method::RedBlack)
    }

    /// A number that is equal on all nodes with equal settings.
    fn word(&self) -> u64 {
        let edges = self.edges.iter().fold(0, |word, edge| {
            3 * word
                + match edge {
                    Edge::Values(_) => 0,
                    Edge::Slope(_) => 1,
                    Edge::Periodic => 2,
                }
        });
        let threshold = self.threshold.map_or(1, f64::to_bits);
        let parts = [
            self.size[0] as u64,
            self.size[1] as u64,
            self.method as u64,
            self.factor().to_bits(),
            threshold,
            self.iterations,
            self.every,
            edges,
            size_of::<T>() as u64,
            self.extra[0] as u64,
            self.extra[1] as u64,
        ];
        let weights = self.weights.unwrap_or([0.25; 4]).map(f64::to_bits);
        parts.into_iter().chain(weights).fold(0xCBF2_9CE4_8422_2325, |hash: u64, part| {
            (hash ^ part).wrapping_mul(0x100_0000_01B3).rotate_left(23)
        })
    }

    /// Solves it with the data layout that models of this machine predict to be fastest.
    ///
    /// The values are equal to the bit for every layout and number of nodes. That the threshold was
    /// not reached is no error: see [`Solution::converged`].
    ///
    /// # Settings
    /// `STRATA_PIN=stencil=columns:2:1` takes two columns of blocks and a halo of one,
    /// `STRATA_MODELS=FILE` chooses by that model set, `STRATA_EXPLAIN=1` explains the choice on node
    /// 0's stderr. Only node 0's environment is read.
    ///
    /// # Participation
    /// Collective: every node calls it, with equal settings and functions.
    ///
    /// # Errors
    /// See [`StencilError`]; every node gets the same.
    pub fn solve(&self, node: &mut Node) -> Result<Solution<T>, StencilError> {
        self.solve_with(node, &Options::default())
    }

    /// As [`solve`](Self::solve), with options.
    ///
    /// # Participation
    /// Collective, with equal options.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_with(&self, node: &mut Node, options: &Options) -> Result<Solution<T>, StencilError> {
        // Even if this node fails, the exchange must take place, or the others would wait forever.
        let selector = node.selector::<Stencil>(options);
        let word = [selector.as_ref().map_or(0, |selector| selector.word()), self.word()];
        let words = node.all_gather(&word);
        let selector = selector?;
        if words.as_chunks::<2>().0.iter().any(|other| *other != word) {
            return Err(StencilError::Unlike);
        }
        self.check()?;
        let (layout, choice) = self.choose(node, &selector)?;
        let mut solution = self.solve_on(node, layout)?;
        solution.choice = Some(choice);
        Ok(solution)
    }

    /// Solves it with a given layout, which suits the nodes and the grid.
    pub(crate) fn solve_on(&self, node: &mut Node, layout: Layout) -> Result<Solution<T>, StencilError> {
        let mut solver = Solver::new(node, self, layout)?;
        let outcome = solver.run(node, self.limits(), &mut |state| {
            if let Some(progress) = &self.progress {
                (progress.borrow_mut())(state);
            }
        })?;
        Ok(Solution::new(self.size, layout, layout.block(self.size, node.rank()), &solver.part, outcome))
    }

    fn choose(
        &self,
        node: &mut Node,
        selector: &strata_runtime::select::Selector,
    ) -> Result<(Layout, Choice), StencilError> {
        let (nodes, size, periodic) = (node.size(), self.size, self.periodic());
        let every = if self.threshold.is_some() { self.every.min(self.iterations) } else { self.iterations };
        let inputs = [size[0] as f64, size[1] as f64, every.clamp(1, MOST_EVERY) as f64];
        let measured = self.method == Method::RedBlack && size_of::<T>() == 8;
        let note = (!measured).then_some(Note::Other(
            "the models were measured with red-black sweeps of f64: they only rank the layouts for others",
        ));
        let blocks = Layout::new(1, nodes, 1).suited(nodes, size, periodic);
        let applies = |candidate| match candidate {
            Stencil::One => true,
            Stencil::Columns { .. } | Stencil::Rows { .. } => nodes > 1 && blocks.nodes() == nodes,
        };
        let chosen = node.choose_by::<Stencil>(selector, &inputs, &applies, note)?;
        let count = |number: i64| usize::try_from(number).unwrap_or(1).max(1);
        let layout = match chosen.candidate {
            Stencil::One => Layout::ONE,
            Stencil::Columns { columns, halo } => {
                let columns = count(columns);
                Layout::new(columns, nodes / columns, count(halo))
            }
            Stencil::Rows { rows, halo } => {
                let rows = count(rows);
                Layout::new(nodes / rows, rows, count(halo))
            }
        };
        let exact = layout == Layout::ONE || layout.nodes() == nodes && layout.fits(size, periodic);
        if chosen.choice.pinned && !exact {
            return Err(StencilError::Layout(format!(
                "the pinned layout does not suit a grid of {} by {} points on {nodes} nodes: rows and columns \
                 of blocks divide the nodes, and no block is smaller than its halo",
                size[0], size[1]
            )));
        }
        // Models of other sizes or numbers of nodes only rank layouts; the nearest that suits is taken.
        let layout = if exact { layout } else { layout.suited(nodes, size, periodic) };
        let more = Layout { extra: self.extra, ..layout };
        let layout = if layout != Layout::ONE && more.fits(size, periodic) { more } else { layout };
        Ok((layout, chosen.choice))
    }
}

/// Beyond it the time of an iteration hardly depends on how often updates are looked at.
const MOST_EVERY: u64 = 16;
