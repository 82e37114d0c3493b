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

/// Moves each point towards the mean of its neighbours, `omega` times the way (Brewer 1994, eq. 31),
/// and returns the largest update.
///
/// The same operations in the same order for every point, whatever vector instructions there are:
/// results are equal to the bit.
#[inline(always)]
pub(crate) fn relax<T: Value>(points: &mut [T], near: Neighbours<'_, T>, omega: T) -> T {
    let quarter = T::nearest(0.25);
    let update = |point: &mut T, [west, east, north, south]: [T; 4], most: &mut T| {
        let change = omega * (quarter * ((north + south) + (west + east)) - *point);
        *point = *point + change;
        let size = change.magnitude();
        // Not so for what is no number: an update was infinite before.
        *most = if size > *most { size } else { *most };
    };
    let len = points.len();
    let (west, east) = (&near.west[..len], &near.east[..len]);
    let (north, south) = (&near.north[..len], &near.south[..len]);
    let mut most = [T::default(); LANES];
    let (chunks, rest) = points.as_chunks_mut::<LANES>();
    let done = len - rest.len();
    let sides = west.as_chunks::<LANES>().0.iter().zip(east.as_chunks::<LANES>().0);
    let sides = sides.zip(north.as_chunks::<LANES>().0.iter().zip(south.as_chunks::<LANES>().0));
    for (chunk, ((west, east), (north, south))) in chunks.iter_mut().zip(sides) {
        for lane in 0..LANES {
            update(&mut chunk[lane], [west[lane], east[lane], north[lane], south[lane]], &mut most[lane]);
        }
    }
    for (at, point) in (done..).zip(rest) {
        update(point, [west[at], east[at], north[at], south[at]], &mut most[0]);
    }
    most.into_iter().fold(T::default(), |a, b| if b > a { b } else { a })
}
