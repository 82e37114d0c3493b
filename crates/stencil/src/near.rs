//! The update of a point from its neighbours: by weights, or by the user's function.

use crate::Value;

/// A point and its four neighbours; see [`Grid::update`](crate::Grid::update).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near<T> {
    /// Column, from 0 in the west.
    pub x: usize,
    /// Row, from 0 in the north.
    pub y: usize,
    /// The point's value.
    pub here: T,
    /// The value of the neighbour in the west; the others accordingly.
    pub west: T,
    #[allow(missing_docs, reason = "as `west`")]
    pub east: T,
    #[allow(missing_docs, reason = "as `west`")]
    pub north: T,
    #[allow(missing_docs, reason = "as `west`")]
    pub south: T,
}

/// A point and its eight neighbours; see [`Grid::update_nine`](crate::Grid::update_nine).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near9<T> {
    /// Column, from 0 in the west.
    pub x: usize,
    /// Row, from 0 in the north.
    pub y: usize,
    /// The values around the point and, in the middle, its own: rows from the north, columns from
    /// the west.
    pub around: [[T; 3]; 3],
}

/// A point and its six neighbours; see [`Volume::update`](crate::Volume::update).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near3d<T> {
    /// Column, from 0 in the west.
    pub x: usize,
    /// Row, from 0 in the north.
    pub y: usize,
    /// Plane, from 0 at the top.
    pub z: usize,
    /// The point's value.
    pub here: T,
    /// The value of the neighbour in the west; the others accordingly.
    pub west: T,
    #[allow(missing_docs, reason = "as `west`")]
    pub east: T,
    #[allow(missing_docs, reason = "as `west`")]
    pub north: T,
    #[allow(missing_docs, reason = "as `west`")]
    pub south: T,
    #[allow(missing_docs, reason = "as `west`")]
    pub top: T,
    #[allow(missing_docs, reason = "as `west`")]
    pub bottom: T,
}

/// Computes the target value of a point with `N` neighbours. In two dimensions the neighbours are
/// those in the west, east, north and south, then north-west, north-east, south-west and
/// south-east. In three dimensions they are those in the west, east, north and south, at the top
/// and the bottom.
pub(crate) trait Rule<T, const N: usize> {
    /// `place` is column, row and plane.
    fn target(&self, place: [usize; 3], here: T, near: [T; N]) -> T;
}

/// The weighted sum of the neighbours and of the point itself.
pub(crate) struct Weighted<T, const N: usize> {
    pub(crate) weights: [T; N],
    pub(crate) centre: T,
}

impl<T: Value, const N: usize> Rule<T, N> for Weighted<T, N> {
    #[inline(always)]
    fn target(&self, _: [usize; 3], here: T, near: [T; N]) -> T {
        let mut sum = self.centre * here;
        for (weight, value) in self.weights.iter().zip(near) {
            sum = sum + *weight * value;
        }
        sum
    }
}

/// The user's function.
pub(crate) struct By<F>(pub(crate) F);

impl<T: Value, F: Fn(Near<T>) -> T> Rule<T, 4> for By<F> {
    #[inline(always)]
    fn target(&self, [x, y, _]: [usize; 3], here: T, [west, east, north, south]: [T; 4]) -> T {
        (self.0)(Near { x, y, here, west, east, north, south })
    }
}

impl<T: Value, F: Fn(Near9<T>) -> T> Rule<T, 8> for By<F> {
    #[inline(always)]
    fn target(&self, [x, y, _]: [usize; 3], here: T, near: [T; 8]) -> T {
        let [west, east, north, south, north_west, north_east, south_west, south_east] = near;
        let around = [[north_west, north, north_east], [west, here, east], [south_west, south, south_east]];
        (self.0)(Near9 { x, y, around })
    }
}

impl<T: Value, F: Fn(Near3d<T>) -> T> Rule<T, 6> for By<F> {
    #[inline(always)]
    fn target(&self, [x, y, z]: [usize; 3], here: T, near: [T; 6]) -> T {
        let [west, east, north, south, top, bottom] = near;
        (self.0)(Near3d { x, y, z, here, west, east, north, south, top, bottom })
    }
}

/// Points of a row that are updated together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Index of the first point among all values.
    pub(crate) first: usize,
    /// Distance from one point to the next: 1, or 2 if colours alternate.
    pub(crate) step: usize,
    /// Number of points to update.
    pub(crate) count: usize,
    /// Column, row and plane of the first point.
    pub(crate) place: [usize; 3],
    /// Number of places in the first direction, which wraps around.
    pub(crate) around: usize,
    /// Index distances from a point to its neighbours.
    pub(crate) offsets: [isize; 8],
}

impl Run {
    #[inline(always)]
    fn place(&self, index: usize) -> [usize; 3] {
        let [x, y, z] = self.place;
        let x = x + index * self.step;
        [if x < self.around { x } else { x % self.around }, y, z]
    }
}

/// Updates of whole runs, so that a rule is called through a pointer once a run, not once a point.
pub(crate) trait Update<T> {
    /// Moves points in place; returns the largest update.
    fn relax(&self, values: &mut [T], run: &Run, omega: T, arch: pulp::Arch) -> T;

    /// Updates points from the previous values; returns the largest update. The run must have
    /// step 1.
    fn step(&self, from: &[T], to: &mut [T], run: &Run, omega: T, arch: pulp::Arch) -> T;
}

/// Turns a rule with `N` neighbours into updates of runs.
pub(crate) struct Runs<R, const N: usize>(pub(crate) R);

/// Number of points updated at once; each lane keeps its largest update.
const LANES: usize = 8;

impl<T: Value, R: Rule<T, N>, const N: usize> Update<T> for Runs<R, N> {
    fn relax(&self, values: &mut [T], run: &Run, omega: T, arch: pulp::Arch) -> T {
        arch.dispatch(|| {
            let mut most = T::default();
            for index in 0..run.count {
                let at = run.first + index * run.step;
                let near = std::array::from_fn(|k| values[at.wrapping_add_signed(run.offsets[k])]);
                let change = omega * (self.0.target(run.place(index), values[at], near) - values[at]);
                values[at] = values[at] + change;
                let size = change.magnitude();
                most = if size > most { size } else { most };
            }
            most
        })
    }

    fn step(&self, from: &[T], to: &mut [T], run: &Run, omega: T, arch: pulp::Arch) -> T {
        arch.dispatch(|| {
            let len = run.count;
            let slice = |offset: isize| &from[run.first.wrapping_add_signed(offset)..][..len];
            let near: [&[T]; N] = std::array::from_fn(|k| slice(run.offsets[k]));
            let near = near.map(|values| values.as_chunks::<LANES>());
            let here = slice(0).as_chunks();
            let to = to[run.first..][..len].as_chunks_mut::<LANES>();
            // The last points have a maximum of their own: if they changed a lane of `most`, the compiler
            // would compute that lane apart from the others (seen with `perf`).
            let (mut most, mut last) = ([T::default(); LANES], [T::default()]);
            for (chunk, (here, to)) in here.0.iter().zip(to.0).enumerate() {
                let near = std::array::from_fn(|k| &near[k].0[chunk]);
                let place = |lane| run.place(chunk * LANES + lane);
                move_points(&self.0, place, here, near, omega, to, &mut most);
            }
            let done = here.0.len() * LANES;
            for (index, (here, to)) in here.1.iter().zip(to.1).enumerate() {
                let near = std::array::from_fn(|k| std::array::from_ref(&near[k].1[index]));
                let (here, to) = (std::array::from_ref(here), std::array::from_mut(to));
                move_points(&self.0, |_| run.place(done + index), here, near, omega, to, &mut last);
            }
            most.into_iter().fold(last[0], |a, b| if b > a { b } else { a })
        })
    }
}

/// Computes the next values `to` of `L` points, which are `here` now, from their neighbours. Each
/// step is done in all lanes before the next one: that is how the compiler finds vectors.
#[inline(always)]
fn move_points<T: Value, R: Rule<T, N>, const N: usize, const L: usize>(
    rule: &R,
    place: impl Fn(usize) -> [usize; 3],
    here: &[T; L],
    near: [&[T; L]; N],
    omega: T,
    to: &mut [T; L],
    most: &mut [T; L],
) {
    let mut change = [T::default(); L];
    for lane in 0..L {
        let values = std::array::from_fn(|k| near[k][lane]);
        change[lane] = omega * (rule.target(place(lane), here[lane], values) - here[lane]);
    }
    for lane in 0..L {
        to[lane] = here[lane] + change[lane];
    }
    for lane in 0..L {
        let size = change[lane].magnitude();
        most[lane] = if size > most[lane] { size } else { most[lane] };
    }
}
