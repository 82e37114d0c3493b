//! Combining of all nodes' contributions to a rendezvous, in rank order or in the order of a scan.

#![allow(unsafe_code, reason = "follows the addresses that nodes lend each other")]

use super::Threads;
use super::rendezvous::Slots;
use crate::number::{self, NumberType, Op};
use crate::transport::{Boundary, Scan};
use std::ops::Range;

/// Bytes of a vector that are combined at a time: the running result stays in the first-level
/// cache.
pub(super) const SLICE: usize = 4096;

impl Threads {
    /// Each node's contribution to the present rendezvous, in rank order; `bytes` is at most
    /// [`SHORT`](super::SHORT).
    pub(super) fn brought(&self, bytes: usize) -> impl Iterator<Item = &[u8]> {
        (0..self.job.size()).map(move |rank| self.brought_by(rank, bytes))
    }

    #[inline]
    fn brought_by(&self, rank: usize, bytes: usize) -> &[u8] {
        // SAFETY: the borrow of `self` ends before this node can arrive at the next rendezvous.
        unsafe { self.job.slots()[rank].short(self.epoch, bytes) }
    }

    /// The memory that node `rank` has lent for the present rendezvous.
    pub(super) fn lent(&self, rank: usize) -> *mut u8 {
        // SAFETY: this node has arrived at rendezvous `epoch` and not at the next.
        unsafe { Slots::lent(&self.job.slots()[rank], self.epoch) }
    }

    /// The position of node `rank` in a segmented scan.
    fn boundary(&self, rank: usize) -> Boundary {
        // SAFETY: this node has arrived at rendezvous `epoch` and not at the next.
        unsafe { self.job.slots()[rank].call(self.epoch) }.1.boundary
    }

    /// This node's share of `bytes`: a multiple of 8, except at the end.
    pub(super) fn share(&self, bytes: usize) -> Range<usize> {
        let each = bytes.div_ceil(8 * self.job.size()) * 8;
        (self.rank * each).min(bytes)..((self.rank + 1) * each).min(bytes)
    }

    /// Replaces `values` by the combined contributions of all nodes.
    pub(super) fn reduce_short(&self, kind: NumberType, op: Op, values: &mut [u8]) {
        let mut brought = self.brought(values.len());
        if let Some(first) = brought.next() {
            values.copy_from_slice(first);
        }
        brought.for_each(|other| number::fold(kind, op, values, other));
    }

    /// Replaces `values` by the combined contributions of the nodes before this one in the scan.
    pub(super) fn scan_short(&self, scan: Scan, values: &mut [u8]) {
        if scan.backward {
            self.scan_over((self.rank + 1..self.job.size()).rev(), scan, values);
        } else {
            self.scan_over(0..self.rank, scan, values);
        }
    }

    fn scan_over(&self, before: impl Iterator<Item = usize>, scan: Scan, values: &mut [u8]) {
        let Scan { kind, op, boundary, .. } = scan;
        let mut first = true;
        if boundary != Some(Boundary::Element) {
            for rank in before {
                let other = self.brought_by(rank, values.len());
                if first || boundary.is_some() && self.boundary(rank) != Boundary::None {
                    values.copy_from_slice(other);
                } else {
                    number::fold(kind, op, values, other);
                }
                first = false;
            }
        }
        if first {
            number::fill_identity(kind, op, values);
        }
    }

    /// Combines the part `of` this node's share of all lent memory, and writes the result to all of
    /// it.
    pub(super) fn reduce_share(&self, kind: NumberType, op: Op, of: Range<usize>) {
        let mut room = [0u64; SLICE / 8];
        for (at, length) in slices(of) {
            let so_far = &mut bytemuck::cast_slice_mut(&mut room)[..length];
            for rank in 0..self.job.size() {
                // SAFETY: the part is in this node's share.
                let part = unsafe { self.part_of(rank, at, length) };
                if rank == 0 {
                    so_far.copy_from_slice(part);
                } else {
                    number::fold(kind, op, so_far, part);
                }
            }
            for rank in 0..self.job.size() {
                // SAFETY: the part is in this node's share.
                unsafe { self.part_of(rank, at, length) }.copy_from_slice(so_far);
            }
        }
    }

    /// Combines all lent memory into `result`, while no node writes to what it has lent.
    pub(super) fn reduce_all(&self, kind: NumberType, op: Op, result: &mut [u8]) {
        for (at, length) in slices(0..result.len()) {
            let so_far = &mut result[at..at + length];
            for rank in 0..self.job.size() {
                // SAFETY: all have lent as many bytes until the next rendezvous (the calls agree),
                // and no node writes any of them.
                let part = unsafe { std::slice::from_raw_parts(self.lent(rank).add(at), length) };
                if rank == 0 {
                    so_far.copy_from_slice(part);
                } else {
                    number::fold(kind, op, so_far, part);
                }
            }
        }
    }

    /// Scans the part `of` this node's share of all lent memory, in place.
    pub(super) fn scan_share(&self, scan: Scan, of: Range<usize>) {
        if scan.backward {
            self.scan_share_over((0..self.job.size()).rev(), scan, of);
        } else {
            self.scan_share_over(0..self.job.size(), scan, of);
        }
    }

    fn scan_share_over(&self, order: impl Iterator<Item = usize> + Clone, scan: Scan, of: Range<usize>) {
        let Scan { kind, op, boundary, .. } = scan;
        let mut room = [0u64; SLICE / 8];
        for (at, length) in slices(of) {
            let so_far = &mut bytemuck::cast_slice_mut(&mut room)[..length];
            for (i, rank) in order.clone().enumerate() {
                // SAFETY: the part is in this node's share.
                let part = unsafe { self.part_of(rank, at, length) };
                let boundary = boundary.map_or(Boundary::None, |_| self.boundary(rank));
                if i > 0 && boundary == Boundary::None {
                    number::carry(kind, op, so_far, part);
                } else if i > 0 && boundary == Boundary::Array {
                    so_far.swap_with_slice(part);
                } else {
                    so_far.copy_from_slice(part);
                    number::fill_identity(kind, op, part);
                }
            }
        }
    }

    /// Part of the memory that node `rank` has lent.
    ///
    /// # Safety
    /// All have arrived at the present rendezvous and lent at least `at + length` bytes until the
    /// next, the part is in this node's share, and no other reference to it exists.
    #[allow(clippy::mut_from_ref, reason = "the memory is not this transport's")]
    unsafe fn part_of(&self, rank: usize, at: usize, length: usize) -> &mut [u8] {
        // SAFETY: the caller guarantees that the memory exists; no other node accesses this node's
        // share, and the owner accesses none of it.
        unsafe { std::slice::from_raw_parts_mut(self.lent(rank).add(at), length) }
    }
}

/// The slices of `of`, as offset and length.
fn slices(of: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
    let end = of.end;
    of.step_by(SLICE).map(move |at| (at, SLICE.min(end - at)))
}
