//! A problem of three dimensions.

use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use crate::edge::{self, Edge, Face};
use crate::near::{By, Near3d, Runs, Update, Weighted};
use crate::plain::{Field, Plain, Rules};
use crate::points::Bad;
use crate::problem::{Parts, Problem};
use crate::settings::{Method, Settings, builders};
use crate::{StencilError, Value};

/// The equation of Laplace, or another one with six neighbours, in a box, to be solved iteratively.
///
/// Lines of points from west to east are not divided; nodes divide the rows (as [`Layout::columns`]
/// blocks) and the planes (as [`Layout::rows`]). Models of grids rank the layouts.
///
/// ```
/// use strata_runtime::prelude::*;
/// use strata_stencil::{Edge, Volume, edge::Face};
///
/// let rooms = Machine::threads(2)?.run(|node| {
///     let room = Volume::<f64>::new(20, 12, 8)
///         .boundary(Face::Bottom, Edge::value(30.0))     // heated from below, at 0 elsewhere
///         .boundary(Face::West, Edge::insulated())
///         .solve(node)?;
///     assert!(room.converged);
///     Ok(room.gather(node))                              // on node 0: planes of rows
/// })?;
/// let room = rooms[0].as_ref().ok_or("node 0 has the room")?;
/// assert!(room[7 * 240 + 5 * 20] > 20.0 && room[5 * 20] < 5.0);
/// # Ok::<(), Error>(())
/// ```
///
/// [`Layout::columns`]: crate::layout::Layout::columns
/// [`Layout::rows`]: crate::layout::Layout::rows
pub struct Volume<'a, T = f64> {
    size: [usize; 3],
    faces: [Edge<'a, T, [usize; 2]>; 6],
    initial: Field<'a, T>,
    weights: [f64; 6],
    by: Option<Rc<dyn Update<T> + 'a>>,
    settings: Settings<'a>,
}

impl<T> fmt::Debug for Volume<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { size, faces, weights, settings, .. } = self;
        f.debug_struct("Volume")
            .field("size", size)
            .field("faces", faces)
            .field("weights", weights)
            .field("method", &settings.method)
            .field("omega", &settings.omega)
            .field("threshold", &settings.threshold)
            .field("iterations", &settings.iterations)
            .field("every", &settings.every)
            .finish_non_exhaustive()
    }
}

impl<'a, T: Value> Volume<'a, T> {
    /// A volume of `width` by `height` by `depth` unknown points, initially 0, between faces of
    /// value 0; other settings as in [`Grid::new`](crate::Grid::new).
    ///
    /// Columns count from 0 in the west, rows from 0 in the north, planes from 0 at the top.
    #[must_use]
    pub fn new(width: usize, height: usize, depth: usize) -> Self {
        Self {
            size: [width, height, depth],
            faces: Face::ALL.map(|_| Edge::value(T::default())),
            initial: Rc::new(|_| T::default()),
            weights: [1.0 / 6.0; 6],
            by: None,
            settings: Settings::default(),
        }
    }

    /// Sets the boundary condition at a face: by the two positions along it, in the order column,
    /// row, plane.
    #[must_use]
    pub fn boundary(mut self, face: Face, edge: Edge<'a, T, [usize; 2]>) -> Self {
        self.faces[face as usize] = edge;
        self
    }

    /// Sets the boundary condition at all faces.
    #[must_use]
    pub fn boundaries(mut self, edge: Edge<'a, T, [usize; 2]>) -> Self {
        self.faces = Face::ALL.map(|_| edge.clone());
        self
    }

    /// Sets the initial values, by column, row and plane.
    #[must_use]
    pub fn initial(mut self, value: impl Fn(usize, usize, usize) -> T + 'a) -> Self {
        self.initial = Rc::new(move |[x, y, z]| value(x, y, z));
        self
    }

    /// Sets the coefficients of the neighbours in the order of [`Face::ALL`], initially a sixth
    /// each: a point moves towards the sum of its neighbours times these. Their magnitudes must add
    /// up to at most 1.
    #[must_use]
    pub fn weights(mut self, weights: [f64; 6]) -> Self {
        (self.weights, self.by) = (weights, None);
        self
    }

    /// Sets the function that computes a point's target value from the point and its six
    /// neighbours; see [`Grid::update`](crate::Grid::update).
    #[must_use]
    pub fn update(mut self, target: impl Fn(Near3d<T>) -> T + 'a) -> Self {
        self.by = Some(Rc::new(Runs::<_, 6>(By(target))));
        self
    }

    builders!();

    /// The factor of over-relaxation; see [`Settings::factor`].
    fn factor(&self) -> f64 {
        let pair = |way: usize| {
            let cosine = (std::f64::consts::PI / (self.size[way] as f64 + 1.0)).cos();
            (self.weights[2 * way] * self.weights[2 * way + 1]).sqrt() * cosine
        };
        let radius = if self.by.is_some() { f64::NAN } else { 2.0 * (pair(0) + pair(1) + pair(2)) };
        self.settings.factor(radius)
    }
}

impl<'a, T: Value> Problem<'a, T> for Volume<'a, T> {
    fn settings(&self) -> &Settings<'a> {
        &self.settings
    }

    fn size(&self) -> [usize; 3] {
        self.size
    }

    fn cells(&self) -> [usize; 2] {
        [self.size[1], self.size[2]]
    }

    fn periodic(&self) -> [bool; 2] {
        [2, 4].map(|face| matches!(self.faces[face], Edge::Periodic))
    }

    fn check(&self) -> Result<(), StencilError> {
        let points = self.size.iter().try_fold(1_usize, |product, points| product.checked_mul(*points));
        if points.filter(|points| (1..=1 << 48).contains(points)).is_none() {
            return Err(StencilError::Volume { size: self.size });
        }
        let weights = self.by.is_none().then_some(&self.weights[..]);
        self.settings.check(self.factor(), weights)?;
        edge::check(&self.faces, &self.size, self.settings.method == Method::RedBlack)
    }

    fn word(&self) -> u64 {
        let faces = self.faces.iter().fold(0, |word, edge| 3 * word + edge.kind());
        let size = self.size.map(|points| points as u64);
        let parts = [self.factor().to_bits(), faces, u64::from(self.by.is_some())];
        let weights = self.weights.map(f64::to_bits);
        self.settings.word::<T>(size.into_iter().chain(parts).chain(weights))
    }

    fn like(&self) -> ([f64; 2], bool) {
        // A grid with as many points and the same ratio of sides.
        let across = (self.size[0] as f64).sqrt();
        (self.cells().map(|lines| (lines as f64 * across).round()), false)
    }

    fn values_of_cell(&self) -> usize {
        (self.size[0] + 2) * (1 + usize::from(self.settings.method == Method::Jacobi))
    }

    fn part(&self, block: &[Range<usize>; 2], halo: usize, hollow: bool) -> Result<Parts<'a, T>, u64> {
        let weighted = || {
            let weights = self.weights.map(T::nearest);
            Rc::new(Runs(Weighted { weights, centre: T::default() })) as Rc<dyn Update<T> + 'a>
        };
        let rules = Rules {
            update: self.by.clone().unwrap_or_else(weighted),
            diagonal: false,
            colours: if self.settings.method == Method::Jacobi { 1 } else { 2 },
            omega: T::nearest(self.factor()),
            initial: Rc::clone(&self.initial),
            faces: Face::ALL
                .map(|face| {
                    let [a, b] = along(face);
                    self.faces[face as usize].at_places(move |place| [place[a], place[b]])
                })
                .to_vec(),
            corners: None,
        };
        Plain::new(rules, self.size, block, halo, hollow).map(Parts::Plain)
    }

    fn fill(&self, part: &mut Parts<'a, T>) -> Result<(), Bad> {
        match part {
            Parts::Plain(part) => part.fill(),
            Parts::Coloured(_) => Ok(()),
        }
    }

    fn bad(&self, Bad { face, place, value }: Bad) -> StencilError {
        match face.and_then(|face| Face::ALL.get(face)) {
            Some(&face) => StencilError::Face { face, at: along(face).map(|way| place[way]), value },
            None => StencilError::InitialVolume { place, value },
        }
    }
}

/// The two directions along a face.
fn along(face: Face) -> [usize; 2] {
    match face {
        Face::West | Face::East => [1, 2],
        Face::North | Face::South => [0, 2],
        Face::Top | Face::Bottom => [0, 1],
    }
}
