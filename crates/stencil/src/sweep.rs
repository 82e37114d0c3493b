//! The innermost loop: one row of one colour.

use crate::Value;

/// Number of values relaxed at once; each lane keeps its largest update.
const LANES: usize = 8;

/// The neighbours in the west, east, north and south of a row's points of one colour. All slices
/// have the row's length.
#[derive(Clone, Copy)]
pub(crate) struct Neighbours<'a, T> {
    pub(crate) west: &'a [T],
    pub(crate) east: &'a [T],
    pub(crate) north: &'a [T],
    pub(crate) south: &'a [T],
}

/// A row's points of one colour. As an operation of `pulp` it moves each point by `omega` times the
/// difference to the mean of its neighbours (Brewer 1994, eq. 31), and returns the largest update.
///
/// Every point is computed with the same operations in the same order, whatever vector instructions
/// there are: results are equal to the bit.
pub(crate) struct Row<'a, T> {
    pub(crate) points: &'a mut [T],
    pub(crate) near: Neighbours<'a, T>,
    pub(crate) omega: T,
    /// Weights of the neighbours, if they are not a quarter each.
    pub(crate) weights: Option<[T; 4]>,
}

impl<T: Value> pulp::WithSimd for Row<'_, T> {
    type Output = T;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> T {
        match self.weights {
            None => self.run::<true>([T::nearest(0.25); 4]),
            Some(weights) => self.run::<false>(weights),
        }
    }
}

impl<T: Value> Row<'_, T> {
    /// `EQUAL`: true if all weights are a quarter.
    #[inline(always)]
    fn run<const EQUAL: bool>(self, weights: [T; 4]) -> T {
        let Self { points, near, omega, .. } = self;
        let len = points.len();
        let (west, east) = (near.west[..len].as_chunks(), near.east[..len].as_chunks());
        let (north, south) = (near.north[..len].as_chunks(), near.south[..len].as_chunks());
        let mut most = [T::default(); LANES];
        // The last points have a maximum of their own: if they changed a lane of `most`, the compiler
        // would compute that lane apart from the others (seen with `perf`).
        let mut last = [T::default()];
        let (chunks, rest) = points.as_chunks_mut::<LANES>();
        for ((((chunk, west), east), north), south) in
            chunks.iter_mut().zip(west.0).zip(east.0).zip(north.0).zip(south.0)
        {
            relax::<T, LANES, EQUAL>(chunk, [west, east, north, south], omega, weights, &mut most);
        }
        for ((((point, west), east), north), south) in
            rest.iter_mut().zip(west.1).zip(east.1).zip(north.1).zip(south.1)
        {
            let near = [&[*west], &[*east], &[*north], &[*south]];
            relax::<T, 1, EQUAL>(std::array::from_mut(point), near, omega, weights, &mut last);
        }
        most.into_iter().fold(last[0], |a, b| if b > a { b } else { a })
    }
}

/// Relaxes `N` points, given their neighbours in the west, east, north and south.
#[inline(always)]
fn relax<T: Value, const N: usize, const EQUAL: bool>(
    points: &mut [T; N],
    near: [&[T; N]; 4],
    omega: T,
    weights: [T; 4],
    most: &mut [T; N],
) {
    let [west, east, north, south] = near;
    let mut change = [T::default(); N];
    for lane in 0..N {
        let mean = if EQUAL {
            weights[0] * ((north[lane] + south[lane]) + (west[lane] + east[lane]))
        } else {
            let [w, e, n, s] = weights;
            (n * north[lane] + s * south[lane]) + (w * west[lane] + e * east[lane])
        };
        change[lane] = omega * (mean - points[lane]);
    }
    for lane in 0..N {
        points[lane] = points[lane] + change[lane];
    }
    for lane in 0..N {
        let size = change[lane].magnitude();
        most[lane] = if size > most[lane] { size } else { most[lane] };
    }
}
