//! One node's part of a grid: its block, with a halo.
//!
//! Points whose column and row add up to an even number are red, the others black. Each colour is
//! stored in one half of an array. The neighbours of a row's red points are then contiguous in the
//! black half, so that a sweep reads and writes whole vectors.
//!
//! Coordinates here count from the outermost column and row of the halo.

use std::ops::Range;

use pulp::Arch;

use crate::edge::{Edge, Side};
use crate::plain::move_run;
use crate::points::{Area, Bad, Charge, Points, sides_with_halo, zeros};
use crate::solver::MOST_WAVE;
use crate::sweep::{Neighbours, Row};
use crate::{Method, Value};

/// The content beyond a side of a block.
enum Beyond<T> {
    /// Another block, or the opposite side of this one.
    Halo,
    /// Fixed values.
    Values,
    /// The value inside plus this difference, by position.
    Mirror(Vec<T>),
}

/// One node's block of a grid with its halo.
pub(crate) struct Part<T> {
    /// Column and row in the grid of the block's first point.
    origin: [usize; 2],
    /// Columns and rows of the block.
    size: [usize; 2],
    halo: usize,
    method: Method,
    omega: T,
    places: Places,
    /// The red points, then the black ones.
    points: Vec<T>,
    /// Red points of the last [`RING`] rows with their values before each of a wave's Jacobi
    /// sweeps; empty for other methods.
    before: Vec<T>,
    beyond: [Beyond<T>; 4],
    /// Weights of the neighbours, if they are not a quarter each.
    weights: Option<[T; 4]>,
    arch: Arch,
}

/// Number of rows of red points that are kept: those next to a row of black points, rounded up to a
/// power of two.
const RING: usize = 4;

/// The most Jacobi sweeps of a wave.
const LONGEST_JACOBI: usize = MOST_WAVE;

/// Bytes of rows that a wave sweeps again while they are in the cache.
const WAVE_BYTES: usize = 256 << 10;

/// Splits all points into the red and the black ones.
fn halves<T>(points: &mut [T]) -> [&mut [T]; 2] {
    let (red, black) = points.split_at_mut(points.len() / 2);
    [red, black]
}

/// The values of the other colour from which a row is relaxed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    /// The current values.
    Now,
    /// The values before this sweep of a wave of Jacobi sweeps.
    Before(usize),
}

impl Others {
    /// The index of row `y` among these values, with `stride` elements a row.
    fn line(self, y: usize, stride: usize) -> usize {
        match self {
            Self::Now => y * stride,
            Self::Before(sweep) => (sweep * RING + y % RING) * stride,
        }
    }
}

/// The places of points in the arrays.
#[derive(Clone, Copy)]
struct Places {
    /// The colour of the outermost point in the north-west.
    corner: usize,
    /// Elements a row of one colour.
    stride: usize,
}

impl Places {
    /// The colour of a point, and its index in that colour's array.
    fn of(self, x: usize, y: usize) -> (usize, usize) {
        ((self.corner + x + y) % 2, y * self.stride + x / 2)
    }

    /// The indices of a row's points of `colour` in `columns`; with them the column, 0 or 1, of the
    /// first element of the row's array.
    fn run(self, colour: usize, columns: &Range<usize>, y: usize) -> (usize, Range<usize>) {
        let shift = (self.corner + y + colour) % 2;
        let place = |x: usize| y * self.stride + (x + 1 - shift) / 2;
        (shift, place(columns.start)..place(columns.end))
    }

    /// The runs of `area` in the order in which they are sent: row by row, of one colour, or of
    /// both with the colour of the first column first. That order is independent of the colours,
    /// which may swap across a periodic edge.
    fn runs(self, area: &Area, colour: Option<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let columns = area.columns.clone();
        area.rows
            .clone()
            .flat_map(move |y| {
                let first = self.of(columns.start, y).0;
                let colours = match colour {
                    Some(colour) => [Some(colour), None],
                    None => [Some(first), Some(1 - first)],
                };
                colours.map(|colour| colour.map(|colour| (colour, self.run(colour, &columns, y).1)))
            })
            .flatten()
    }
}

impl<T: Value> Part<T> {
    /// A block of zeros in a grid of `grid` (width, height); without memory if `hollow`.
    ///
    /// # Errors
    /// The number of bytes that could not be allocated.
    pub(crate) fn new(
        block: &[Range<usize>; 2],
        halo: usize,
        grid: [usize; 2],
        periodic: [bool; 2],
        method: Method,
        hollow: bool,
    ) -> Result<Self, u64> {
        let origin = [block[0].start, block[1].start];
        let size = [block[0].len(), block[1].len()];
        let stride = (size[0] + 2 * halo).div_ceil(2);
        let points = stride as u128 * (size[1] + 2 * halo) as u128;
        let kept = if method == Method::Jacobi && !hollow { LONGEST_JACOBI * RING * stride } else { 0 };
        let bytes = (2 * points + kept as u128) * size_of::<T>() as u128;
        let too_much = u64::try_from(bytes).unwrap_or(u64::MAX);
        let points = if hollow { 0 } else { usize::try_from(2 * points).map_err(|_| too_much)? };
        let array = |len: usize| zeros(len).map_err(|()| too_much);
        let has_halo = sides_with_halo(block, grid, periodic);
        let beyond = has_halo.map(|halo| if halo { Beyond::Halo } else { Beyond::Values });
        let before = array(kept)?;
        let points = array(points)?;
        // The halo before the block's first point has an even number of columns and rows.
        let places = Places { corner: (origin[0] + origin[1]) % 2, stride };
        let (omega, weights, arch) = (T::default(), None, Arch::new());
        Ok(Self { origin, size, halo, method, omega, places, points, before, beyond, weights, arch })
    }

    /// This part with weights of the neighbours, if they are not a quarter each.
    pub(crate) fn relaxing(mut self, weights: Option<[f64; 4]>, omega: f64) -> Self {
        self.weights = weights.map(|weights| weights.map(T::nearest));
        self.omega = T::nearest(omega);
        self
    }

    /// The red points, and the black ones.
    fn colours(&self) -> [&[T]; 2] {
        let (red, black) = self.points.split_at(self.points.len() / 2);
        [red, black]
    }

    /// Number of columns or rows, including the halo.
    fn extent(&self, direction: usize) -> usize {
        self.size[direction] + 2 * self.halo
    }

    /// Sets the initial values of the block and the fixed values around it.
    ///
    /// # Errors
    /// If a value is not finite.
    pub(crate) fn fill(
        &mut self,
        grid: [usize; 2],
        edges: &[Edge<'_, T>; 4],
        initial: &dyn Fn(usize, usize) -> T,
    ) -> Result<(), Bad> {
        let halo = self.halo;
        for y in 0..self.size[1] {
            for x in 0..self.size[0] {
                let value = initial(self.origin[0] + x, self.origin[1] + y);
                if !value.wide().is_finite() {
                    let (x, y) = (self.origin[0] + x, self.origin[1] + y);
                    return Err(Bad { face: None, place: [x, y, 0], value: value.wide() });
                }
                let (colour, at) = self.places.of(halo + x, halo + y);
                halves(&mut self.points)[colour][at] = value;
            }
        }
        for side in Side::ALL {
            let (values, slope) = match &edges[side as usize] {
                _ if self.has_halo(side) => continue,
                Edge::Values(values) => (values, false),
                Edge::Slope(values) => (values, true),
                Edge::Periodic => continue,
            };
            let along = usize::from(side.is_horizontal());
            let outside = match side {
                Side::West | Side::North => halo - 1,
                Side::East => halo + self.size[0],
                Side::South => halo + self.size[1],
            };
            let mut differences = vec![T::default(); self.extent(along)];
            let periodic = matches!(edges[2 * along], Edge::Periodic);
            for (at, difference) in differences.iter_mut().enumerate() {
                // Set in the halo, too: a wide halo's points are computed.
                let points = grid[along] as isize;
                let position = (self.origin[along] + at) as isize - halo as isize;
                if !periodic && !(0..points).contains(&position) {
                    continue;
                }
                let position = position.rem_euclid(points) as usize;
                let value = values(position);
                if !value.wide().is_finite() {
                    let (x, y) = if along == 1 { (0, position) } else { (position, 0) };
                    return Err(Bad { face: Some(side as usize), place: [x, y, 0], value: value.wide() });
                }
                if slope {
                    *difference = value;
                } else {
                    let (x, y) = if along == 1 { (outside, at) } else { (at, outside) };
                    let (colour, place) = self.places.of(x, y);
                    halves(&mut self.points)[colour][place] = value;
                }
            }
            if slope {
                self.beyond[side as usize] = Beyond::Mirror(differences);
            }
        }
        Ok(())
    }

    /// Relaxes `areas.len()` times, with alternating colours from `first` on and one area for each
    /// sweep; returns the largest update of all but the first `uncounted` sweeps.
    ///
    /// Sweep k of row y follows sweep k − 1 of row y + 1, so that rows are still in the cache when
    /// they are needed again.
    fn red_black(&mut self, first: usize, areas: &[Area], omega: T, uncounted: usize) -> T {
        let from = areas.iter().map(|area| area.rows.start).min().unwrap_or(0);
        let to = areas.iter().map(|area| area.rows.end).max().unwrap_or(0) + areas.len();
        let mut most = T::default();
        for front in from..to {
            for (sweep, area) in areas.iter().enumerate() {
                let Some(y) = front.checked_sub(sweep).filter(|y| area.rows.contains(y)) else { continue };
                let (colour, counted) = ((first + sweep) % 2, sweep >= uncounted);
                let update = self.row(colour, y, &area.columns, omega, Others::Now, counted);
                most = if counted && update > most { update } else { most };
            }
        }
        most
    }

    /// Sweeps `areas.len()` times; each sweep updates all points of an area from the previous
    /// values. Returns the largest update of all but the first `uncounted` sweeps.
    ///
    /// A row's red points are updated after the previous sweep's black points of the next row, and
    /// before the black points of the row before. This works in place; only a few rows of red
    /// points are kept with their old values.
    fn jacobi(&mut self, areas: &[Area], omega: T, uncounted: usize) -> T {
        let from = areas.iter().map(|area| area.rows.start).min().unwrap_or(0);
        let to = areas.iter().map(|area| area.rows.end).max().unwrap_or(0) + 2 * areas.len();
        let mut most = T::default();
        for front in from..to {
            for (sweep, area) in areas.iter().enumerate() {
                let Range { start, end } = area.rows;
                let Some(y) = front.checked_sub(2 * sweep).filter(|y| (start..=end).contains(y)) else {
                    continue;
                };
                if y == start {
                    self.keep(sweep, y - 1);
                }
                self.keep(sweep, y);
                let counted = sweep >= uncounted;
                if y < end {
                    let red = self.row(0, y, &area.columns, omega, Others::Now, counted);
                    most = if counted && red > most { red } else { most };
                }
                if y > start {
                    let black = self.row(1, y - 1, &area.columns, omega, Others::Before(sweep), counted);
                    most = if counted && black > most { black } else { most };
                }
            }
        }
        most
    }

    /// Keeps the values of the red points of row `y` before a Jacobi sweep.
    fn keep(&mut self, sweep: usize, y: usize) {
        let stride = self.places.stride;
        let (from, to) = (Others::Now.line(y, stride), Others::Before(sweep).line(y, stride));
        self.before[to..to + stride].copy_from_slice(&self.points[from..from + stride]);
    }

    /// Relaxes the points of `colour` in a row; returns the largest update, or infinity if
    /// `counted` and a value is not finite.
    #[inline]
    fn row(
        &mut self,
        colour: usize,
        y: usize,
        columns: &Range<usize>,
        omega: T,
        others: Others,
        counted: bool,
    ) -> T {
        self.mirror(colour, y, columns, others);
        let (shift, own) = self.places.run(colour, columns, y);
        let (len, stride) = (own.len(), self.places.stride);
        let [red, black] = halves(&mut self.points);
        let (points, values) = match (colour, others) {
            (0, _) => (red, &*black),
            (_, Others::Now) => (black, &*red),
            (_, Others::Before(_)) => (black, &self.before[..]),
        };
        let first = own.start - y * stride;
        let run = |y: usize, first: usize| &values[others.line(y, stride) + first..][..len];
        let near = Neighbours {
            west: run(y, first + shift - 1),
            east: run(y, first + shift),
            north: run(y - 1, first),
            south: run(y + 1, first),
        };
        let points = &mut points[own];
        let update = self.arch.dispatch(Row { points: &mut *points, near, omega, weights: self.weights });
        // A value that overflowed before the last check may be NaN by now, which comparisons do not
        // detect.
        match counted && points.iter().any(|value| !value.wide().is_finite()) {
            true => T::nearest(f64::INFINITY),
            false => update,
        }
    }

    /// Sets the points beyond edges with a slope that the update of the points of `colour` in row
    /// `y` reads.
    fn mirror(&mut self, colour: usize, y: usize, columns: &Range<usize>, others: Others) {
        let stride = self.places.stride;
        let values = match others {
            Others::Now => {
                let [red, black] = halves(&mut self.points);
                if colour == 0 { black } else { red }
            }
            Others::Before(_) => &mut self.before,
        };
        // Converts an index among all points to an index among these values.
        let at = |place: usize| others.line(place / stride, stride) + place % stride;
        for (side, edge) in [(Side::North, self.halo), (Side::South, self.halo + self.size[1] - 1)] {
            if y == edge
                && let Beyond::Mirror(differences) = &self.beyond[side as usize]
            {
                let (to, from) = if side == Side::North { (y - 1, y + 1) } else { (y + 1, y - 1) };
                let (shift, to) = self.places.run(1 - colour, columns, to);
                let (_, from) = self.places.run(1 - colour, columns, from);
                let first = 2 * (to.start % stride) + shift;
                for (k, (to, from)) in to.zip(from).enumerate() {
                    values[at(to)] = values[at(from)] + differences[first + 2 * k];
                }
            }
        }
        let (first, last) = (self.halo, self.halo + self.size[0] - 1);
        for (side, to, from) in [(Side::West, first - 1, first + 1), (Side::East, last + 1, last - 1)] {
            if let Beyond::Mirror(differences) = &self.beyond[side as usize] {
                let (other, place) = self.places.of(to, y);
                if other != colour {
                    values[at(place)] = values[at(self.places.of(from, y).1)] + differences[y];
                }
            }
        }
    }
}

impl<T: Value> Points<T> for Part<T> {
    fn size(&self) -> [usize; 2] {
        self.size
    }

    fn halo(&self) -> usize {
        self.halo
    }

    fn has_halo(&self, side: Side) -> bool {
        matches!(self.beyond[side as usize], Beyond::Halo)
    }

    fn sweeps(&self) -> usize {
        if self.method == Method::Jacobi { 1 } else { 2 }
    }

    fn needs_one_colour(&self) -> bool {
        self.method == Method::RedBlack
    }

    /// The number of sweeps whose rows fit the cache together.
    fn longest_wave(&self) -> usize {
        let row = (self.size[0] + 2 * self.halo) * size_of::<T>();
        match self.method {
            // A Jacobi sweep needs two rows, and four rows of red points with their old values.
            Method::Jacobi => (WAVE_BYTES / (4 * row)).clamp(1, LONGEST_JACOBI),
            Method::RedBlack => (WAVE_BYTES / row).clamp(4, MOST_WAVE + 2) - 2,
        }
    }

    fn charge(&self) -> Charge {
        Charge { kernels: 3 - self.sweeps(), line: 1 }
    }

    fn wave(&mut self, first: usize, areas: &[Area], uncounted: usize) -> T {
        match self.method {
            Method::RedBlack => self.red_black(first, areas, self.omega, uncounted),
            Method::Jacobi => self.jacobi(areas, self.omega, uncounted),
        }
    }

    fn count(&self, area: &Area, colour: Option<usize>) -> usize {
        let Some(colour) = colour else { return area.columns.len() * area.rows.len() };
        let row = |y: usize| self.places.run(colour, &area.columns, y).1.len();
        // The rows alternate.
        let (start, len) = (area.rows.start, area.rows.len());
        row(start) * len.div_ceil(2) + row(start + 1) * (len / 2)
    }

    fn pack(&self, area: &Area, colour: Option<usize>, into: &mut [T]) {
        let mut rest = into;
        for (colour, run) in self.places.runs(area, colour) {
            let (to, tail) = rest.split_at_mut(run.len());
            move_run(to, &self.colours()[colour][run]);
            rest = tail;
        }
    }

    fn pieces(&self, area: &Area, colour: Option<usize>) -> Vec<Range<usize>> {
        let half = self.places.stride * self.extent(1);
        let runs = self.places.runs(area, colour);
        runs.map(|(colour, run)| colour * half + run.start..colour * half + run.end).collect()
    }

    fn memory(&mut self) -> &mut [T] {
        &mut self.points
    }

    fn unpack(&mut self, area: &Area, colour: Option<usize>, from: &[T]) {
        let mut rest = from;
        for (colour, run) in self.places.runs(area, colour) {
            let (values, tail) = rest.split_at(run.len());
            move_run(&mut halves(&mut self.points)[colour][run], values);
            rest = tail;
        }
    }

    fn values(&self) -> Vec<T> {
        if self.points.is_empty() {
            return Vec::new();
        }
        let points = |y: usize| {
            (0..self.size[0]).map(move |x| {
                let (colour, at) = self.places.of(self.halo + x, self.halo + y);
                self.colours()[colour][at]
            })
        };
        (0..self.size[1]).flat_map(points).collect()
    }
}
