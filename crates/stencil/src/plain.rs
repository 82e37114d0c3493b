//! A part with all points in one array, for any rule and for two or three dimensions.
//!
//! The fast sweeps of five points are in `part`. This module has those of nine points, of the
//! user's functions, and of volumes, whose cells are lines of points from west to east. A line has
//! an additional point at each end, for the boundary.

use std::ops::{Range, RangeFrom};
use std::rc::Rc;

use pulp::Arch;
use strata_runtime::copy::{Strided, copy, pack, unpack};

use crate::edge::Edge;
use crate::near::{Run, Update};
use crate::points::{Area, Bad, Charge, Points, sides_with_halo, zeros};
use crate::{Side, Value};

/// A function of column, row and plane.
pub(crate) type Field<'a, T> = Rc<dyn Fn([usize; 3]) -> T + 'a>;

/// The boundary condition at a face.
pub(crate) type Face<'a, T> = Edge<'a, T, [usize; 3]>;

/// The problem and its method: equal on all nodes.
#[derive(Clone)]
pub(crate) struct Rules<'a, T> {
    pub(crate) update: Rc<dyn Update<T> + 'a>,
    /// True if the diagonal neighbours are read.
    pub(crate) diagonal: bool,
    /// 1 if all points are updated from the previous values; otherwise the points of one colour are
    /// updated together.
    pub(crate) colours: usize,
    pub(crate) omega: T,
    pub(crate) initial: Field<'a, T>,
    /// West, east, north, south; for volumes also top and bottom.
    pub(crate) faces: Vec<Face<'a, T>>,
    /// Values in the corners, for diagonal neighbours: north-west, north-east, south-west,
    /// south-east.
    pub(crate) corners: Option<[T; 4]>,
}

/// One node's block with its halo.
pub(crate) struct Plain<'a, T> {
    rules: Rules<'a, T>,
    /// Points of the whole problem from west to east, north to south, top to bottom.
    whole: [usize; 3],
    /// The block's first cell in the whole problem.
    origin: [usize; 2],
    size: [usize; 2],
    halo: usize,
    /// Number of values of a cell: one point, or a line of points with an additional one at each
    /// end.
    line: usize,
    has_halo: [bool; 4],
    /// The values, and the previous values if they are needed.
    values: [Vec<T>; 2],
    /// The differences added to the values one step inside, by face and position along it.
    slopes: [Vec<T>; 6],
    arch: Arch,
}

impl<'a, T: Value> Plain<'a, T> {
    /// A block of zeros; without memory if `hollow`.
    ///
    /// # Errors
    /// The number of bytes that could not be allocated.
    pub(crate) fn new(
        rules: Rules<'a, T>,
        whole: [usize; 3],
        block: &[Range<usize>; 2],
        halo: usize,
        hollow: bool,
    ) -> Result<Self, u64> {
        let flat = rules.faces.len() == 4;
        let (line, cells) =
            if flat { (1, [whole[0], whole[1]]) } else { (whole[0] + 2, [whole[1], whole[2]]) };
        let across = |face: usize| matches!(rules.faces[face], Edge::Periodic);
        let periodic = if flat { [across(0), across(2)] } else { [across(2), across(4)] };
        let has_halo = sides_with_halo(block, cells, periodic);
        let origin = [block[0].start, block[1].start];
        let size = [block[0].len(), block[1].len()];
        let points = line as u128 * (size[0] + 2 * halo) as u128 * (size[1] + 2 * halo) as u128;
        let arrays = if rules.colours == 1 { 2 } else { 1 };
        let too_much = u64::try_from(points * arrays * size_of::<T>() as u128).unwrap_or(u64::MAX);
        let points = if hollow { 0 } else { usize::try_from(points).map_err(|_| too_much)? };
        let array = |points| zeros(points).map_err(|()| too_much);
        let values = [array(points)?, array(if arrays == 2 { points } else { 0 })?];
        let slopes = std::array::from_fn(|_| Vec::new());
        let arch = Arch::new();
        Ok(Self { rules, whole, origin, size, halo, line, has_halo, values, slopes, arch })
    }

    /// True if cells are points.
    fn is_flat(&self) -> bool {
        self.rules.faces.len() == 4
    }

    /// Number of cells in a direction, including the halo.
    fn extent(&self, direction: usize) -> usize {
        self.size[direction] + 2 * self.halo
    }

    /// Index of the first value of a cell.
    fn at(&self, x: usize, y: usize) -> usize {
        (y * self.extent(0) + x) * self.line
    }

    /// The cells from an area's first one on, and the area's rows as blocks of cells.
    fn rows(&self, area: &Area) -> (RangeFrom<usize>, Strided) {
        let row = self.extent(0) * self.line * size_of::<T>();
        let block = area.columns.len() * self.line * size_of::<T>();
        let first = if area.rows.is_empty() { 0 } else { self.at(area.columns.start, area.rows.start) };
        (first.., Strided { block, stride: row, count: area.rows.len() })
    }

    /// The position in the whole problem of a column or row of the block or its halo, if it has
    /// one.
    fn position(&self, direction: usize, at: usize) -> Option<usize> {
        let points = self.whole[direction + usize::from(!self.is_flat())] as isize;
        let position = (self.origin[direction] + at) as isize - self.halo as isize;
        let periodic = matches!(self.rules.faces[self.first_face() + 2 * direction], Edge::Periodic);
        (periodic || (0..points).contains(&position)).then(|| position.rem_euclid(points) as usize)
    }

    /// The index of the face on the west side of the cells.
    fn first_face(&self) -> usize {
        if self.is_flat() { 0 } else { 2 }
    }

    /// The place of a point of a cell in the whole problem.
    fn place(&self, k: usize, x: usize, y: usize) -> [usize; 3] {
        if self.is_flat() { [x, y, 0] } else { [k, x, y] }
    }

    /// Number of points of a cell, without those at its ends.
    fn inner(&self) -> usize {
        if self.is_flat() { 1 } else { self.line - 2 }
    }

    /// Number of values of a cell before its first point.
    fn before(&self) -> usize {
        usize::from(!self.is_flat())
    }

    /// Sets the initial values of the block and the fixed values around it.
    ///
    /// # Errors
    /// If a value is not finite.
    pub(crate) fn fill(&mut self) -> Result<(), Bad> {
        let finite = |face: Option<usize>, place: [usize; 3], value: T| match value.wide() {
            wide if wide.is_finite() => Ok(value),
            value => Err(Bad { face, place, value }),
        };
        let [origin_x, origin_y] = self.origin;
        for y in 0..self.size[1] {
            for x in 0..self.size[0] {
                let cell = self.at(self.halo + x, self.halo + y) + self.before();
                for k in 0..self.inner() {
                    let place = self.place(k, origin_x + x, origin_y + y);
                    self.values[0][cell + k] = finite(None, place, (self.rules.initial)(place))?;
                }
            }
        }
        if !self.is_flat() {
            self.fill_ends(&finite)?;
        }
        for side in Side::ALL {
            if self.has_halo[side as usize] {
                continue;
            }
            let face = self.first_face() + side as usize;
            let (value, slope) = match self.rules.faces[face].clone() {
                Edge::Values(value) => (value, false),
                Edge::Slope(value) => (value, true),
                Edge::Periodic => continue,
            };
            let along = usize::from(side.is_horizontal());
            let outside = self.outside(side);
            let mut slopes = Vec::new();
            for at in 0..self.extent(along) {
                // A corner beyond an edge with a slope has the slope of the edge's end.
                let end = self.whole[along + usize::from(!self.is_flat())] - 1;
                let clamped = (self.origin[along] + at).saturating_sub(self.halo).min(end);
                let Some(position) = self.position(along, at).or(slope.then_some(clamped)) else { continue };
                let (x, y) = if along == 1 { (outside, at) } else { (at, outside) };
                let cell = self.at(x, y) + self.before();
                for k in 0..self.inner() {
                    // The coordinate across the face is not an argument of the function.
                    let place =
                        if along == 1 { self.place(k, 0, position) } else { self.place(k, position, 0) };
                    let value = finite(Some(face), place, value(place))?;
                    if slope {
                        slopes.push(value);
                    } else {
                        self.values[0][cell + k] = value;
                    }
                }
            }
            self.slopes[face] = slopes;
        }
        self.fill_corners(&finite)?;
        if !self.values[1].is_empty() {
            let (now, before) = self.values.split_at_mut(1);
            before[0].copy_from_slice(&now[0]);
        }
        Ok(())
    }

    /// Sets the boundary at the ends of lines.
    fn fill_ends(
        &mut self,
        finite: &impl Fn(Option<usize>, [usize; 3], T) -> Result<T, Bad>,
    ) -> Result<(), Bad> {
        for face in [0, 1] {
            let (value, slope) = match self.rules.faces[face].clone() {
                Edge::Values(value) => (value, false),
                Edge::Slope(value) => (value, true),
                Edge::Periodic => continue,
            };
            let mut slopes =
                if slope { vec![T::default(); self.extent(0) * self.extent(1)] } else { Vec::new() };
            for y in 0..self.extent(1) {
                for x in 0..self.extent(0) {
                    let positions = self.position(0, x).zip(self.position(1, y));
                    let Some((px, py)) = positions else { continue };
                    let place = [0, px, py];
                    let value = finite(Some(face), place, value(place))?;
                    if slope {
                        slopes[y * self.extent(0) + x] = value;
                    } else {
                        let end = self.at(x, y) + face * (self.line - 1);
                        self.values[0][end] = value;
                    }
                }
            }
            self.slopes[face] = slopes;
        }
        Ok(())
    }

    /// Sets the points in corners between edges of given values.
    fn fill_corners(
        &mut self,
        finite: &impl Fn(Option<usize>, [usize; 3], T) -> Result<T, Bad>,
    ) -> Result<(), Bad> {
        if !self.rules.diagonal {
            return Ok(());
        }
        for (number, [a, b]) in [
            [Side::West, Side::North],
            [Side::East, Side::North],
            [Side::West, Side::South],
            [Side::East, Side::South],
        ]
        .into_iter()
        .enumerate()
        {
            let given = |side: Side| {
                !self.has_halo[side as usize] && matches!(self.rules.faces[side as usize], Edge::Values(_))
            };
            if !given(a) || !given(b) {
                continue;
            }
            let (x, y) = (self.outside(a), self.outside(b));
            let inside = |at: usize| if at < self.halo { at + 1 } else { at - 1 };
            let beside = [self.values[0][self.at(x, inside(y))], self.values[0][self.at(inside(x), y)]];
            let mean = T::nearest(0.5) * (beside[0] + beside[1]);
            let value = self.rules.corners.map_or(mean, |corners| corners[number]);
            let place = self.at(x, y);
            self.values[0][place] = finite(Some(b as usize), [0; 3], value)?;
        }
        Ok(())
    }

    /// The column or row just outside the block.
    fn outside(&self, side: Side) -> usize {
        match side {
            Side::West | Side::North => self.halo - 1,
            Side::East => self.halo + self.size[0],
            Side::South => self.halo + self.size[1],
        }
    }

    /// Sets the points beyond faces with a slope, and beyond periodic ends of lines, for a sweep of
    /// `area`.
    fn mirror(&mut self, area: &Area) {
        let more = usize::from(self.rules.diagonal);
        let wider = |range: &Range<usize>| range.start - more..range.end + more;
        if !self.is_flat() {
            self.mirror_ends(area);
        }
        // Rows first: the corners are then set with the columns.
        for side in [Side::North, Side::South, Side::West, Side::East] {
            let face = self.first_face() + side as usize;
            if self.slopes[face].is_empty() {
                continue;
            }
            let outside = self.outside(side);
            let inside = if outside < self.halo { outside + 2 } else { outside - 2 };
            let along = if side.is_horizontal() { wider(&area.rows) } else { wider(&area.columns) };
            let (before, inner) = (self.before(), self.inner());
            for at in along {
                let cell = |across| {
                    if side.is_horizontal() { self.at(across, at) } else { self.at(at, across) }
                };
                let (to, from) = (cell(outside) + before, cell(inside) + before);
                for k in 0..inner {
                    self.values[0][to + k] = self.values[0][from + k] + self.slopes[face][at * inner + k];
                }
            }
        }
    }

    fn mirror_ends(&mut self, area: &Area) {
        let last = self.line - 1;
        for y in area.rows.clone() {
            for x in area.columns.clone() {
                let (cell, place) = (self.at(x, y), y * self.extent(0) + x);
                let values = &mut self.values[0][cell..=cell + last];
                match &self.rules.faces[0] {
                    Edge::Periodic => (values[0], values[last]) = (values[last - 1], values[1]),
                    Edge::Slope(_) => values[0] = values[2] + self.slopes[0][place],
                    Edge::Values(_) => (),
                }
                if matches!(self.rules.faces[1], Edge::Slope(_)) {
                    values[last] = values[last - 2] + self.slopes[1][place];
                }
            }
        }
    }

    /// The points of `colour` in row `y` of `columns`, as runs.
    fn runs(&self, colour: usize, columns: &Range<usize>, y: usize) -> impl Iterator<Item = Run> + use<T> {
        let (flat, line, colours) = (self.is_flat(), self.line, self.rules.colours);
        let (row, halo, origin) = (self.extent(0) as isize * line as isize, self.halo, self.origin);
        let next = line as isize;
        let offsets = if flat {
            [-1, 1, -row, row, -row - 1, -row + 1, row - 1, row + 1]
        } else {
            [-1, 1, -next, next, -row, row, 0, 0]
        };
        let [rows, around] =
            if flat { [self.whole[1], self.whole[0]] } else { [self.whole[2], self.whole[1]] };
        // Even halos before the first point do not change colours.
        let parity = |direction: usize, at: usize| (origin[direction] + at + halo) % 2;
        let position = move |direction: usize, at: usize, points: usize| {
            ((origin[direction] + at) as isize - halo as isize).rem_euclid(points as isize) as usize
        };
        let even = parity(1, y);
        let (from, to) = (columns.start, columns.end);
        let skip = move |first: usize| match colours {
            1 => Some((0, 1)),
            2 => Some(((first + even + colour) % 2, 2)),
            _ => (colour / 2 == even).then_some(((first + colour) % 2, 2)),
        };
        let first_column = parity(0, from);
        let extent = self.extent(0);
        let cells = if flat { from..from + usize::from(from < to) } else { from..to };
        let whole_line = self.whole[0];
        let place_y = position(1, y, rows);
        cells.filter_map(move |x| {
            let first = (y * extent + x) * line;
            let column = (first_column + x - from) % 2;
            let (start, step) = skip(column)?;
            let count = |points: usize| points.saturating_sub(start).div_ceil(step);
            let place_x = position(0, x, around);
            Some(if flat {
                let place = [(place_x + start) % around, place_y, 0];
                Run { first: first + start, step, count: count(to - from), place, around, offsets }
            } else {
                let place = [start, place_x, place_y];
                let around = whole_line;
                Run { first: first + 1 + start, step, count: count(whole_line), place, around, offsets }
            })
        })
    }

    fn sweep(&mut self, colour: usize, area: &Area, counted: bool) -> T {
        self.mirror(area);
        let (update, omega, arch) = (Rc::clone(&self.rules.update), self.rules.omega, self.arch);
        let jacobi = self.rules.colours == 1;
        let mut most = T::default();
        for y in area.rows.clone() {
            for run in self.runs(colour, &area.columns, y).filter(|run| run.count > 0) {
                let [values, next] = &mut self.values;
                let largest = match jacobi {
                    true => update.step(values, next, &run, omega, arch),
                    false => update.relax(values, &run, omega, arch),
                };
                let moved = if jacobi { next } else { values };
                let last = run.first + (run.count - 1) * run.step;
                let mut moved = moved[run.first..=last].iter().step_by(run.step);
                if counted && moved.any(|value| !value.wide().is_finite()) {
                    most = T::nearest(f64::INFINITY);
                }
                most = if largest > most { largest } else { most };
            }
        }
        if jacobi {
            self.values.swap(0, 1);
        }
        most
    }
}

impl<T: Value> Points<T> for Plain<'_, T> {
    fn size(&self) -> [usize; 2] {
        self.size
    }

    fn halo(&self) -> usize {
        self.halo
    }

    fn has_halo(&self, side: Side) -> bool {
        self.has_halo[side as usize]
    }

    fn reads_corners(&self) -> bool {
        self.rules.diagonal
    }

    fn sweeps(&self) -> usize {
        self.rules.colours
    }

    fn charge(&self) -> Charge {
        // The kernel sweeps half of an area's points with five points each; nine points take twice
        // as long.
        let kernels = if self.rules.diagonal { 4 } else { 2 };
        Charge { kernels: (kernels / self.rules.colours).max(1), line: self.inner() }
    }

    fn wave(&mut self, first: usize, areas: &[Area], uncounted: usize) -> T {
        let mut most = T::default();
        for (sweep, area) in areas.iter().enumerate() {
            let counted = sweep >= uncounted;
            let update = self.sweep((first + sweep) % self.rules.colours, area, counted);
            most = if counted && update > most { update } else { most };
        }
        most
    }

    fn count(&self, area: &Area, _: Option<usize>) -> usize {
        area.columns.len() * area.rows.len() * self.line
    }

    fn pack(&self, area: &Area, _: Option<usize>, into: &mut [T]) {
        let (from, rows) = self.rows(area);
        let from = bytemuck::cast_slice(&self.values[0][from]);
        pack(bytemuck::cast_slice_mut(into), from, rows).expect(WITHIN);
    }

    fn pieces(&self, area: &Area, _: Option<usize>) -> Vec<Range<usize>> {
        let len = area.columns.len() * self.line;
        let row = |y| self.at(area.columns.start, y);
        area.rows.clone().map(|y| row(y)..row(y) + len).collect()
    }

    fn memory(&mut self) -> &mut [T] {
        &mut self.values[0]
    }

    fn unpack(&mut self, area: &Area, _: Option<usize>, from: &[T]) {
        let (to, rows) = self.rows(area);
        let to = bytemuck::cast_slice_mut(&mut self.values[0][to]);
        unpack(to, bytemuck::cast_slice(from), rows).expect(WITHIN);
    }

    fn values(&self) -> Vec<T> {
        let (inner, before) = (self.inner(), self.before());
        if self.values[0].is_empty() {
            return Vec::new();
        }
        let mut all = Vec::with_capacity(inner * self.size[0] * self.size[1]);
        for y in 0..self.size[1] {
            for x in 0..self.size[0] {
                let cell = self.at(self.halo + x, self.halo + y) + before;
                all.extend_from_slice(&self.values[0][cell..cell + inner]);
            }
        }
        all
    }
}

/// The reason why rows can always be packed.
const WITHIN: &str = "an area lies within its part";

/// Copies a run of values; for few values, a call would take longer than the copy.
#[inline]
pub(crate) fn move_run<T: Value>(to: &mut [T], from: &[T]) {
    if from.len() <= 4 {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    } else {
        copy(bytemuck::cast_slice_mut(to), bytemuck::cast_slice(from));
    }
}
