//! Copies, and declarations of the sorts' local work; only a simulated machine charges for it (see
//! [`strata_runtime::Work`]).
//!
//! Kernels were measured with keys of 8 bytes. When elements are moved, one larger than 8 bytes
//! counts as several.

use bytemuck::{Pod, cast_slice, cast_slice_mut};
use strata_runtime::copy::{Hint, copy_hinted};
use strata_runtime::{Node, Work};

/// Counts `keys` keys into `bins` counters.
#[inline]
pub(crate) fn histogram<R>(node: &mut Node, keys: usize, bins: usize, f: impl FnOnce() -> R) -> R {
    node.compute_always(Work::Kernel("Histogram", &[keys as f64, bins as f64]), f)
}

/// Copies `len` elements of `T` into `bins` runs.
#[inline]
pub(crate) fn scatter<T, R>(node: &mut Node, len: usize, bins: usize, f: impl FnOnce() -> R) -> R {
    node.compute_always(Work::Kernel("Scatter", &[words::<T>(len), bins as f64]), f)
}

/// Sorts `len` elements of `T` whose keys differ in `width` bits.
#[inline]
pub(crate) fn sort<T, R>(node: &mut Node, len: usize, width: u32, f: impl FnOnce() -> R) -> R {
    node.compute_always(Work::Kernel("LocalSort", &[words::<T>(len), f64::from(width)]), f)
}

/// Searches for `keys` keys among `splitters` splitters.
#[inline]
pub(crate) fn search<R>(node: &mut Node, keys: usize, splitters: usize, f: impl FnOnce() -> R) -> R {
    node.compute_always(Work::Kernel("BinarySearch", &[keys as f64, splitters as f64]), f)
}

/// Merges two sorted runs up to `len` elements of `T`. No kernel was measured for merging. Ten
/// cycles an element are assumed: two loads, a comparison, a branch that is hard to predict, and a
/// store.
#[inline]
pub(crate) fn merge<T, R>(node: &mut Node, len: usize, f: impl FnOnce() -> R) -> R {
    node.compute_always(10.0 * words::<T>(len), f)
}

/// Looks up `probes` keys among `len` sorted elements; about ten cycles a halving are assumed,
/// because no kernel was measured.
#[inline]
pub(crate) fn probe<R>(node: &mut Node, probes: usize, len: usize, f: impl FnOnce() -> R) -> R {
    node.compute_always(10.0 * probes as f64 * (len.max(1) as f64 + 1.0).log2(), f)
}

/// Reads or copies `len` elements of `T`.
#[inline]
pub(crate) fn copy<T, R>(node: &mut Node, len: usize, f: impl FnOnce() -> R) -> R {
    node.compute_always(Work::Kernel("Copy", &[8.0 * words::<T>(len)]), f)
}

/// Copies elements that stay on this node or are sent to another node in a block.
#[inline]
pub(crate) fn keep<T: Pod>(to: &mut [T], from: &[T]) {
    copy_hinted(Hint::default().left(), cast_slice_mut(to), cast_slice(from));
}

/// Copies elements that another node has sent.
#[inline]
pub(crate) fn receive<T: Pod>(to: &mut [T], from: &[T]) {
    copy_hinted(Hint::RECEIVE, cast_slice_mut(to), cast_slice(from));
}

fn words<T>(len: usize) -> f64 {
    len as f64 * size_of::<T>() as f64 / 8.0
}
