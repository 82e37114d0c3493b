//! The innermost loop: one row of one colour.

use crate::Value;

/// Values relaxed at once; the largest update is kept for each lane.
const LANES: usize = 8;

/// The neighbours of a row's points of one colour: of each point those in the west, east, north and
/// south. All have the row's length.
#[derive(Clone, Copy)]
pub(crate) struct Neighbours<'a, T> {
    pub(crate) west: &'a [T],
    pub(crate) east: &'a [T],
    pub(crate) north: &'a [T],
    pub(crate) south: &'a [T],
}

/// A row's points of one colour. As an operation of `pulp` it moves each point towards the mean of
/// its neighbours, `omega` times the way (Brewer 1994, eq. 31), and returns the largest update.
///
/// The same operations in the same order for every point, whatever vector instructions there are:
/// results are equal to the bit.
pub(crate) struct Row<'a, T> {
    pub(crate) points: &'a mut [T],
    pub(crate) near: Neighbours<'a, T>,
    pub(crate) omega: T,
}

impl<T: Value> pulp::WithSimd for Row<'_, T> {
    type Output = T;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> T {
        let Self { points, near, omega } = self;
        let len = points.len();
        let (west, east) = (near.west[..len].as_chunks(), near.east[..len].as_chunks());
        let (north, south) = (near.north[..len].as_chunks(), near.south[..len].as_chunks());
        let mut most = [T::default(); LANES];
        let (chunks, rest) = points.as_chunks_mut::<LANES>();
        for ((((chunk, west), east), north), south) in
            chunks.iter_mut().zip(west.0).zip(east.0).zip(north.0).zip(south.0)
        {
            relax(chunk, [west, east, north, south], omega, &mut most);
        }
        for ((((point, west), east), north), south) in
            rest.iter_mut().zip(west.1).zip(east.1).zip(north.1).zip(south.1)
        {
            let mut last = [most[0]];
            relax(std::array::from_mut(point), [&[*west], &[*east], &[*north], &[*south]], omega, &mut last);
            most[0] = last[0];
        }
        most.into_iter().fold(T::default(), |a, b| if b > a { b } else { a })
    }
}

/// Relaxes `N` points, whose neighbours in the west, east, north and south are given.
#[inline(always)]
fn relax<T: Value, const N: usize>(points: &mut [T; N], near: [&[T; N]; 4], omega: T, most: &mut [T; N]) {
    let quarter = T::nearest(0.25);
    let [west, east, north, south] = near;
    let mut change = [T::default(); N];
    for lane in 0..N {
        let mean = quarter * ((north[lane] + south[lane]) + (west[lane] + east[lane]));
        change[lane] = omega * (mean - points[lane]);
    }
    for lane in 0..N {
        points[lane] = points[lane] + change[lane];
    }
    for lane in 0..N {
        let size = change[lane].magnitude();
        // Not so for what is no number: an update was infinite before.
        most[lane] = if size > most[lane] { size } else { most[lane] };
    }
}
