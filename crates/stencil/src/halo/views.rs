//! The halos of `ndarray`'s views, whatever their strides.

use std::ops::Range;

use bytemuck::Pod;
use ndarray::{ArrayViewMut, Dimension, Slice};
use strata_runtime::Node;

use super::region::Region;
use super::{Halo, HaloError};
use crate::exchange::Arrays;

impl<T: Pod> Halo<T> {
    /// As [`exchange`](Self::exchange), for views with any strides: parts of larger arrays, every
    /// second element, reversed axes. They have the allocated shape. Neighbours may exchange
    /// slices.
    ///
    /// ```
    /// use ndarray::{Array2, s};
    /// use strata_runtime::prelude::*;
    /// use strata_stencil::Halo;
    ///
    /// let corners = Machine::threads(4)?.run(|node| {
    ///     let mut both = Array2::<f64>::zeros((6, 20));          // two fields side by side
    ///     both.slice_mut(s![1..5, ..]).fill(node.rank() as f64);
    ///     let mut halo = Halo::around([4, 8])
    ///         .width(1)
    ///         .nodes([2, 2])
    ///         .periodic([true; 2])
    ///         .corners(true)
    ///         .fields(2)
    ///         .views()
    ///         .prepare(node)?;
    ///     let (left, right) = both.multi_slice_mut((s![.., ..10], s![.., 10..]));
    ///     halo.exchange_views(node, [left, right])?;
    ///     Ok(both[[0, 10]])
    /// })?;
    /// assert_eq!(corners, [3.0, 2.0, 1.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Participation
    /// As [`exchange`](Self::exchange).
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange), with [`HaloError::View`] in place of [`HaloError::Length`].
    pub fn exchange_views<D: Dimension, const N: usize>(
        &mut self,
        node: &mut Node,
        mut fields: [ArrayViewMut<'_, T, D>; N],
    ) -> Result<(), HaloError> {
        self.check_start(node, N)?;
        let Some([shape, first]) = &self.views else { return Err(HaloError::NoViews) };
        if let Some(field) = fields.iter().position(|field| field.shape() != shape) {
            let given = fields[field].shape().to_vec();
            return Err(HaloError::View { field, given, expected: shape.clone() });
        }
        self.exchange.run(node, &mut Views { views: &mut fields, first });
        Ok(())
    }
}

/// The fields of an exchange.
struct Views<'a, 'v, T, D> {
    views: &'a mut [ArrayViewMut<'v, T, D>],
    /// The position of the first interior element.
    first: &'a [usize],
}

impl<T, D> Views<'_, '_, T, D> {
    /// An area along an axis of the views.
    fn along(&self, area: &Region, axis: usize) -> Slice {
        let Range { start, end } = area.ranges()[axis];
        let first = self.first[axis].cast_signed();
        Slice::from(first + start..first + end)
    }
}

/// Elements are moved one by one, in the order of the rows of a slice.
impl<T: Pod, D: Dimension> Arrays<T, Region> for Views<'_, '_, T, D> {
    fn count(&self, area: &Region) -> usize {
        self.views.len() * area.count()
    }

    fn rows(&self, area: &Region) -> [usize; 2] {
        [1, self.count(area)]
    }

    /// Views may have no contiguous rows, so they are always packed.
    fn has_long_rows(&self, _: &Region) -> bool {
        false
    }

    fn pack(&self, area: &Region, into: &mut [T]) {
        for (view, part) in self.views.iter().zip(into.chunks_exact_mut(area.count().max(1))) {
            let elements = view.slice_each_axis(|axis| self.along(area, axis.axis.index()));
            part.iter_mut().zip(elements).for_each(|(to, from)| *to = *from);
        }
    }

    fn unpack(&mut self, area: &Region, from: &[T]) {
        for (index, part) in from.chunks_exact(area.count().max(1)).enumerate() {
            let along: Vec<Slice> = (0..area.ranges().len()).map(|axis| self.along(area, axis)).collect();
            let elements = self.views[index].slice_each_axis_mut(|axis| along[axis.axis.index()]);
            elements.into_iter().zip(part).for_each(|(to, from)| *to = *from);
        }
    }

    fn arrays(&self) -> usize {
        self.views.len()
    }

    fn pieces(&self, _: &Region) -> Vec<Range<usize>> {
        Vec::new()
    }

    fn memory(&mut self, _: usize) -> &mut [T] {
        &mut []
    }
}
