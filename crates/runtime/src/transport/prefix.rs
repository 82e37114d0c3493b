//! Exclusive scans over all nodes' values: forward and backward, in one segment or several.
//!
//! The scan visits the nodes in its direction and carries the values combined so far in the
//! segment. Both functions combine in this order and with the same functions, so their results are
//! equal to the last bit.

#[cfg(feature = "mpi")]
use crate::number::fold;
use crate::number::{carry, fill_identity};
use crate::transport::{Boundary, Scan};

/// The node that a scan visits in step `step`.
fn at(scan: Scan, size: usize, step: usize) -> usize {
    if scan.backward { size - 1 - step } else { step }
}

/// Writes the result of node `rank` into `result`; `value` returns a node's values.
#[cfg(feature = "mpi")]
pub(super) fn of_one<'a>(
    scan: Scan,
    rank: usize,
    size: usize,
    boundary: impl Fn(usize) -> Boundary,
    value: impl Fn(usize) -> &'a [u8],
    result: &mut [u8],
) {
    let own = at(scan, size, rank);
    let begins = |step: &usize| *step == 0 || boundary(at(scan, size, *step)) != Boundary::None;
    // `at` is its own inverse. The node's result begins with the last node before it that passed on
    // only its own values.
    if own == 0 || boundary(rank) == Boundary::Element {
        return fill_identity(scan.kind, scan.op, result);
    }
    let first = (0..own).rev().find(begins).unwrap_or(0);
    result.copy_from_slice(value(at(scan, size, first)));
    (first + 1..own).for_each(|step| fold(scan.kind, scan.op, result, value(at(scan, size, step))));
}

/// Computes the results of all nodes, each in place of its values: parts of `length` bytes, at
/// intervals of `stride`, followed by one more part as scratch space. The values of the scan's last
/// node are not used.
pub(super) fn of_all(
    scan: Scan,
    size: usize,
    boundary: impl Fn(usize) -> Boundary,
    parts: &mut [u8],
    stride: usize,
    length: usize,
) {
    let (parts, room) = parts.split_at_mut(size * stride);
    let so_far = &mut room[..length];
    for step in 0..size {
        let node = at(scan, size, step);
        let mine = &mut parts[node * stride..][..length];
        match boundary(node) {
            _ if step == 0 => {
                so_far.copy_from_slice(mine);
                fill_identity(scan.kind, scan.op, mine);
            }
            Boundary::Element => {
                so_far.copy_from_slice(mine);
                fill_identity(scan.kind, scan.op, mine);
            }
            _ if step == size - 1 => mine.copy_from_slice(so_far),
            Boundary::None => carry(scan.kind, scan.op, so_far, mine),
            Boundary::Array => so_far.swap_with_slice(mine),
        }
    }
}
