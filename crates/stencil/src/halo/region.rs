//! Boxes of elements of an array in memory, and the fields of an exchange.

use std::ops::Range;

use bytemuck::Pod;
use strata_runtime::copy::{Strided, pack, unpack};

use crate::exchange::Arrays;

/// A box of elements: rows of contiguous elements, and how they repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Region {
    /// Index of the first element.
    first: usize,
    /// Number of contiguous elements.
    row: usize,
    /// Number and distance of the rows that are moved together.
    rows: [usize; 2],
    /// Number and distance of their repetitions, the outermost first.
    outer: Vec<[usize; 2]>,
    /// The same elements by their positions along each axis, relative to the interior.
    ranges: Vec<Range<isize>>,
}

/// The least bytes of a row that is sent from where it lies. On a Xeon several rows of 2 KiB took up
/// to twice as long to put as to pack. By the samples of `specs/stencil/halo` rows of 32 KiB take
/// 0.6 to 0.9 times as long on threads; on MPI, where other ways are faster, 0.8 to 1.6 times.
const LONG_ROW_BYTES: usize = 8 << 10;

impl Region {
    /// The elements at `ranges` of axes with these `strides`, which do not increase. Positions are
    /// relative to the element of index `origin`; none lies before the array.
    pub(super) fn new(ranges: &[Range<isize>], strides: &[usize], origin: usize) -> Self {
        if ranges.iter().any(Range::is_empty) {
            return Self { ranges: ranges.to_vec(), ..Self::default() };
        }
        let steps = ranges.iter().zip(strides);
        let first = steps.clone().fold(origin, |at, (range, stride)| {
            at.wrapping_add_signed(range.start.wrapping_mul(stride.cast_signed()))
        });
        let mut loops: Vec<[usize; 2]> = Vec::new();
        for (range, &stride) in steps.filter(|(range, _)| range.len() > 1) {
            match loops.last_mut() {
                // This axis is covered as a whole: both are one loop.
                Some(last) if last[1] == range.len() * stride => *last = [last[0] * range.len(), stride],
                _ => loops.push([range.len(), stride]),
            }
        }
        let row = loops.pop_if(|[_, stride]| *stride == 1).map_or(1, |[count, _]| count);
        let rows = loops.pop().unwrap_or([1, row]);
        Self { first, row, rows, outer: loops, ranges: ranges.to_vec() }
    }

    /// Number of elements.
    pub(super) fn count(&self) -> usize {
        self.row * self.repetitions()
    }

    /// The positions of its elements along each axis in memory, relative to the interior.
    #[cfg(feature = "ndarray")]
    pub(super) fn ranges(&self) -> &[Range<isize>] {
        &self.ranges
    }

    /// Number of rows.
    pub(super) fn repetitions(&self) -> usize {
        self.outer.iter().fold(self.rows[0], |product, [count, _]| product * count)
    }

    /// The first element of each group of rows that are moved together.
    fn groups(&self) -> impl Iterator<Item = usize> + use<'_> {
        let groups: usize = self.outer.iter().map(|[count, _]| count).product();
        (0..groups).map(|mut index| {
            self.outer.iter().rev().fold(self.first, |at, [count, stride]| {
                let step = index % count;
                index /= count;
                at + step * stride
            })
        })
    }

    fn strided<T>(&self) -> Strided {
        let [count, stride] = self.rows;
        Strided { block: self.row * size_of::<T>(), stride: stride * size_of::<T>(), count }
    }

    /// Copies the elements of `array` to `into`, which is as long.
    fn pack<T: Pod>(&self, array: &[T], into: &mut [T]) {
        let groups = into.chunks_exact_mut((self.row * self.rows[0]).max(1));
        for (group, start) in groups.zip(self.groups()) {
            let from = bytemuck::cast_slice(&array[start..]);
            pack(bytemuck::cast_slice_mut(group), from, self.strided::<T>()).expect(WITHIN);
        }
    }

    /// Copies `from`, which is as long, to the elements of `array`.
    fn unpack<T: Pod>(&self, array: &mut [T], from: &[T]) {
        let groups = from.chunks_exact((self.row * self.rows[0]).max(1));
        for (group, start) in groups.zip(self.groups()) {
            let to = bytemuck::cast_slice_mut(&mut array[start..]);
            unpack(to, bytemuck::cast_slice(group), self.strided::<T>()).expect(WITHIN);
        }
    }

    /// The rows, in order.
    fn pieces(&self) -> Vec<Range<usize>> {
        if self.row == 0 {
            return Vec::new();
        }
        let [count, stride] = self.rows;
        let rows = |start| (0..count).map(move |row| start + row * stride..start + row * stride + self.row);
        self.groups().flat_map(rows).collect()
    }
}

/// The lengths of all fields are checked before an exchange.
const WITHIN: &str = "a region is within its array";

/// The fields of an exchange: arrays of one shape.
pub(super) struct Fields<'a, 'f, T>(pub(super) &'a mut [&'f mut [T]]);

impl<T: Pod> Arrays<T, Region> for Fields<'_, '_, T> {
    fn count(&self, area: &Region) -> usize {
        self.0.len() * area.count()
    }

    fn rows(&self, area: &Region) -> [usize; 2] {
        [area.row, self.0.len() * area.repetitions()]
    }

    fn has_long_rows(&self, area: &Region) -> bool {
        area.row.saturating_mul(size_of::<T>()) >= LONG_ROW_BYTES
    }

    fn pack(&self, area: &Region, into: &mut [T]) {
        for (array, part) in self.0.iter().zip(into.chunks_exact_mut(area.count().max(1))) {
            area.pack(array, part);
        }
    }

    fn unpack(&mut self, area: &Region, from: &[T]) {
        for (array, part) in self.0.iter_mut().zip(from.chunks_exact(area.count().max(1))) {
            area.unpack(array, part);
        }
    }

    fn arrays(&self) -> usize {
        self.0.len()
    }

    fn pieces(&self, area: &Region) -> Vec<Range<usize>> {
        area.pieces()
    }

    fn memory(&mut self, array: usize) -> &mut [T] {
        self.0[array]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_that_are_covered_as_a_whole_become_one_loop() {
        // Planes of 5 rows of 7 elements, of which the first interior one is at (1, 1, 2).
        let region = |ranges: [Range<isize>; 3]| Region::new(&ranges, &[35, 7, 1], 35 + 7 + 2);
        let loops = |region: &Region| (region.first, region.row, region.rows, region.outer.clone());
        let planes = region([0..2, -1..4, -2..5]);
        assert_eq!(loops(&planes), (35, 70, [1, 70], vec![]), "two whole planes");
        let rows = region([-1..0, 0..3, -2..5]);
        assert_eq!(loops(&rows), (7, 21, [1, 21], vec![]), "whole rows of a plane");
        let columns = region([0..2, 0..3, -2..0]);
        assert_eq!(loops(&columns), (42, 2, [3, 7], vec![[2, 35]]));
        assert_eq!(columns.pieces(), [42..44, 49..51, 56..58, 77..79, 84..86, 91..93]);
        assert_eq!(region([0..0, 0..3, 0..3]).pieces(), []);
        assert_eq!(region([0..0, 0..3, 0..3]).count(), 0);
    }

    #[test]
    fn what_is_packed_and_unpacked_elsewhere_is_the_region() {
        let array: Vec<u16> = (0..4 * 5 * 6).collect();
        let ranges = [0..2, 1..4, 2..3];
        let region = Region::new(&ranges, &[30, 6, 1], 0);
        let mut packed = vec![0; region.count()];
        region.pack(&array, &mut packed);
        let expected: Vec<u16> = [0, 1].iter().flat_map(|z| [1, 2, 3].map(|y| z * 30 + y * 6 + 2)).collect();
        assert_eq!(packed, expected);
        let mut other = vec![0u16; 200];
        Region::new(&ranges, &[60, 9, 2], 3).unpack(&mut other, &packed);
        let places: Vec<usize> = (0..200).filter(|at| other[*at] != 0).collect();
        assert_eq!(places, [16, 25, 34, 76, 85, 94]);
    }
}
