//! A problem of two dimensions, and its settings.

use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use crate::edge::{self, Edge, Side};
use crate::near::{By, Near, Near9, Runs, Update, Weighted};
use crate::part::Part;
use crate::plain::{Plain, Rules};
use crate::points::Bad;
use crate::problem::{Parts, Problem};
use crate::settings::{Method, Settings, builders};
use crate::{StencilError, Value};

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
    edges: [Edge<'a, T>; 4],
    initial: Rc<dyn Fn(usize, usize) -> T + 'a>,
    stencil: Stencil<'a, T>,
    corners: Option<[T; 4]>,
    settings: Settings<'a>,
}

/// The neighbours that an update reads, with their weights.
#[derive(Clone)]
enum Stencil<'a, T> {
    /// The neighbours in the west, east, north and south, with these weights.
    Five([f64; 4]),
    /// All neighbours, with these weights: rows from the north, the point itself in the middle.
    Nine([[f64; 3]; 3]),
    /// The user's function; true if it reads the diagonal neighbours.
    By(Rc<dyn Update<T> + 'a>, bool),
}

/// Weights of five points for Laplace's equation.
const QUARTERS: [f64; 4] = [0.25; 4];

impl<T> fmt::Debug for Grid<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { size, edges, settings, .. } = self;
        f.debug_struct("Grid")
            .field("size", size)
            .field("edges", edges)
            .field("method", &settings.method)
            .field("omega", &settings.omega)
            .field("threshold", &settings.threshold)
            .field("iterations", &settings.iterations)
            .field("every", &settings.every)
            .finish_non_exhaustive()
    }
}

impl<'a, T: Value> Grid<'a, T> {
    /// A grid of `width` by `height` unknown points, initially 0, between edges of value 0.
    ///
    /// Columns count from 0 in the west, rows from 0 in the north. Defaults: red-black with the
    /// best `omega` for edges of given values, until the largest update is below 1e-6, at most
    /// 10,000 iterations.
    #[must_use]
    pub fn new(width: usize, height: usize) -> Self {
        Self {
            size: [width, height],
            edges: Side::ALL.map(|_| Edge::value(T::default())),
            initial: Rc::new(|_, _| T::default()),
            stencil: Stencil::Five(QUARTERS),
            corners: None,
            settings: Settings::default(),
        }
    }

    /// Sets the boundary condition at a side.
    #[must_use]
    pub fn boundary(mut self, side: Side, edge: Edge<'a, T>) -> Self {
        self.edges[side as usize] = edge;
        self
    }

    /// Sets the boundary condition at all sides.
    #[must_use]
    pub fn boundaries(mut self, edge: Edge<'a, T>) -> Self {
        self.edges = Side::ALL.map(|_| edge.clone());
        self
    }

    /// Sets the initial values, by column and row. The function is called once for each point, on
    /// the point's node.
    #[must_use]
    pub fn initial(mut self, value: impl Fn(usize, usize) -> T + 'a) -> Self {
        self.initial = Rc::new(value);
        self
    }

    /// Sets the coefficients of the neighbours in the west, east, north and south, initially a
    /// quarter each: a point moves towards the sum of its neighbours times these.
    ///
    /// This changes the equation: for example (a, a, b, b) with a + b = 1/2 describes heat that is
    /// conducted better in one direction. Their magnitudes must add up to at most 1.
    #[must_use]
    pub fn weights(mut self, west: f64, east: f64, north: f64, south: f64) -> Self {
        self.stencil = Stencil::Five([west, east, north, south]);
        self
    }

    /// Sets the coefficients of all neighbours, with rows from the north and columns from the west;
    /// the middle one is that of the point itself. A point moves towards the sum of the values
    /// around it times these. Their magnitudes must add up to at most 1.
    ///
    /// With [`LAPLACE_NINE`](Self::LAPLACE_NINE) the error of Laplace's equation falls with the
    /// sixth power of the spacing. A corner of the grid is the mean of the two points beside it,
    /// unless [`corners`](Self::corners) sets it.
    #[must_use]
    pub fn weights_nine(mut self, weights: [[f64; 3]; 3]) -> Self {
        let [[north_west, north, north_east], [west, centre, east], [south_west, south, south_east]] =
            weights;
        let diagonal = [north_west, north_east, south_west, south_east, centre];
        self.stencil = match diagonal {
            // The sweeps of five points are faster than those of nine.
            [0.0, 0.0, 0.0, 0.0, 0.0] => Stencil::Five([west, east, north, south]),
            _ => Stencil::Nine(weights),
        };
        self
    }

    /// The weights of nine points for Laplace's equation (Collatz, *The Numerical Treatment of
    /// Differential Equations*, 3rd ed., ch. V §2.4).
    pub const LAPLACE_NINE: [[f64; 3]; 3] = [[0.05, 0.2, 0.05], [0.2, 0.0, 0.2], [0.05, 0.2, 0.05]];

    /// Sets the values beyond the corners between edges of given values, in the order north-west,
    /// north-east, south-west, south-east. Updates that read diagonal neighbours use them.
    #[must_use]
    pub fn corners(mut self, north_west: T, north_east: T, south_west: T, south_east: T) -> Self {
        self.corners = Some([north_west, north_east, south_west, south_east]);
        self
    }

    /// Sets the function that computes a point's target value from the point and its four
    /// neighbours: for other equations, such as those with sources or with coefficients that differ
    /// by place.
    ///
    /// All nodes call it, some also for other nodes' points. It must depend only on its argument
    /// and on values that are equal on all nodes. [`omega`](Self::omega) is 1 unless it is set,
    /// because the best value depends on the equation.
    ///
    /// ```
    /// # use strata_runtime::prelude::*;
    /// # use strata_stencil::{Edge, Grid};
    /// # let solutions = Machine::threads(2)?.run(|node| {
    /// // −Δu = 2 between edges of 0, on a square with 19 points a side.
    /// let h = 1.0 / 20.0;
    /// let plate = Grid::new(19, 19)
    ///     .update(|at| 0.25 * (at.west + at.east + at.north + at.south + 2.0 * h * h))
    ///     .omega(1.7)
    ///     .solve(node)?;
    /// # Ok(plate.gather(node))
    /// # })?;
    /// # let middle = solutions[0].as_ref().map_or(0.0, |all: &Vec<f64>| all[9 * 19 + 9]);
    /// # assert!((middle - 0.1473).abs() < 1e-3, "{middle}");
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn update(mut self, target: impl Fn(Near<T>) -> T + 'a) -> Self {
        self.stencil = Stencil::By(Rc::new(Runs::<_, 4>(By(target))), false);
        self
    }

    /// As [`update`](Self::update), from all eight neighbours.
    #[must_use]
    pub fn update_nine(mut self, target: impl Fn(Near9<T>) -> T + 'a) -> Self {
        self.stencil = Stencil::By(Rc::new(Runs::<_, 8>(By(target))), true);
        self
    }

    /// Gives the nodes at the edges of the grid this many columns and rows more than the inner
    /// nodes, if there are inner nodes in that direction. Nodes at edges have one neighbour less to
    /// exchange with (Brewer 1994, §5.2). An experiment: no model chooses the numbers.
    #[must_use]
    pub fn extra(mut self, columns: usize, rows: usize) -> Self {
        self.settings.extra = [columns, rows];
        self
    }

    builders!();

    /// True if the diagonal neighbours are read.
    fn is_diagonal(&self) -> bool {
        matches!(self.stencil, Stencil::Nine(_) | Stencil::By(_, true))
    }

    /// The factor of over-relaxation; see [`Settings::factor`].
    fn factor(&self) -> f64 {
        let [width, height] = self.size.map(|n| (std::f64::consts::PI / (n as f64 + 1.0)).cos());
        // The root of weights of opposite signs is NaN: the eigenvalues are complex, and a factor
        // of 1 is safe.
        let pair = |a: f64, b: f64| (a * b).sqrt();
        let radius = match self.stencil {
            Stencil::Five([west, east, north, south]) => {
                2.0 * (pair(west, east) * width + pair(north, south) * height)
            }
            Stencil::Nine([[nw, north, ne], [west, centre, east], [sw, south, se]]) => {
                let straight = pair(west, east) * width + pair(north, south) * height;
                centre + 2.0 * (straight + (pair(nw, se) + pair(ne, sw)) * width * height)
            }
            Stencil::By(..) => f64::NAN,
        };
        self.settings.factor(radius)
    }
}

impl<'a, T: Value> Problem<'a, T> for Grid<'a, T> {
    fn settings(&self) -> &Settings<'a> {
        &self.settings
    }

    fn size(&self) -> [usize; 3] {
        [self.size[0], self.size[1], 1]
    }

    fn cells(&self) -> [usize; 2] {
        self.size
    }

    fn periodic(&self) -> [bool; 2] {
        [0, 2].map(|side| matches!(self.edges[side], Edge::Periodic))
    }

    fn check(&self) -> Result<(), StencilError> {
        let [width, height] = self.size;
        let points = width.checked_mul(height).filter(|points| (1..=1 << 48).contains(points));
        if points.is_none() {
            return Err(StencilError::Size { width, height });
        }
        let weights = match &self.stencil {
            Stencil::Five(weights) => Some(&weights[..]),
            Stencil::Nine(weights) => Some(weights.as_flattened()),
            Stencil::By(..) => None,
        };
        self.settings.check(self.factor(), weights)?;
        edge::check(&self.edges, &self.size, self.settings.method == Method::RedBlack)
    }

    fn word(&self) -> u64 {
        let edges = self.edges.iter().fold(0, |word, edge| 3 * word + edge.kind());
        let (kind, weights) = match &self.stencil {
            Stencil::Five(weights) => (5, &weights[..]),
            Stencil::Nine(weights) => (9, weights.as_flattened()),
            Stencil::By(_, diagonal) => (u64::from(*diagonal), &[][..]),
        };
        let parts = [self.size[0] as u64, self.size[1] as u64, self.factor().to_bits(), edges, kind];
        self.settings.word::<T>(parts.into_iter().chain(weights.iter().map(|weight| weight.to_bits())))
    }

    fn like(&self) -> ([f64; 2], bool) {
        (self.size.map(|points| points as f64), matches!(self.stencil, Stencil::Five(_)))
    }

    fn values_of_cell(&self) -> usize {
        let twice = self.settings.method == Method::Jacobi && !matches!(self.stencil, Stencil::Five(_));
        1 + usize::from(twice)
    }

    fn part(&self, block: &[Range<usize>; 2], halo: usize, hollow: bool) -> Result<Parts<'a, T>, u64> {
        let diagonal = self.is_diagonal();
        let update: Rc<dyn Update<T> + 'a> = match &self.stencil {
            Stencil::Five(weights) => {
                let weights = Some(*weights).filter(|weights| *weights != QUARTERS);
                let (method, omega) = (self.settings.method, self.factor());
                let part = Part::new(block, halo, self.size, self.periodic(), method, hollow)?;
                return Ok(Parts::Coloured(part.relaxing(weights, omega)));
            }
            Stencil::Nine([[nw, north, ne], [west, centre, east], [sw, south, se]]) => {
                let weights = [west, east, north, south, nw, ne, sw, se].map(|weight| T::nearest(*weight));
                Rc::new(Runs(Weighted { weights, centre: T::nearest(*centre) }))
            }
            Stencil::By(update, _) => Rc::clone(update),
        };
        let initial = Rc::clone(&self.initial);
        let rules = Rules {
            update,
            diagonal,
            colours: match self.settings.method {
                Method::Jacobi => 1,
                Method::RedBlack if diagonal => 4,
                Method::RedBlack => 2,
            },
            omega: T::nearest(self.factor()),
            initial: Rc::new(move |[x, y, _]| initial(x, y)),
            faces: Side::ALL
                .map(|side| {
                    let along = usize::from(side.is_horizontal());
                    self.edges[side as usize].at_places(move |place| place[along])
                })
                .to_vec(),
            corners: self.corners,
        };
        Plain::new(rules, Problem::size(self), block, halo, hollow).map(Parts::Plain)
    }

    fn fill(&self, part: &mut Parts<'a, T>) -> Result<(), Bad> {
        match part {
            Parts::Coloured(part) => part.fill(self.size, &self.edges, &*self.initial),
            Parts::Plain(part) => part.fill(),
        }
    }

    fn bad(&self, Bad { face, place: [x, y, _], value }: Bad) -> StencilError {
        match face.and_then(|face| Side::ALL.get(face)) {
            Some(&side) => StencilError::Edge { side, at: if side.is_horizontal() { y } else { x }, value },
            None => StencilError::Initial { x, y, value },
        }
    }
}
