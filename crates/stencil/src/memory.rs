//! Whether there is memory for the parts of all nodes, before any of it is touched.
//!
//! An allocation that succeeds says little: Linux grants more than there is, and ends a program
//! that touches it.

use std::fs;

use strata_runtime::Node;

use crate::StencilError;

/// Below so many bytes over all nodes nobody asks.
const SMALL: u64 = 256 << 20;

/// Whether the nodes of each machine can have `bytes` each; true where the system does not say.
///
/// # Participation
/// Collective.
///
/// # Errors
/// [`StencilError::Memory`] of the first node whose machine has less; equal on all nodes.
pub(crate) fn check(node: &mut Node, bytes: u64) -> Result<(), StencilError> {
    let all = node.all_gather(&[bytes]);
    let sum = |parts: &mut dyn Iterator<Item = u64>| parts.fold(0, u64::saturating_add);
    if sum(&mut all.iter().copied()) < SMALL {
        return Ok(());
    }
    let machines = node.all_gather(&[machine()]);
    let here = machine();
    let mine =
        sum(&mut all.iter().zip(&machines).filter(|(_, other)| **other == here).map(|(bytes, _)| *bytes));
    // A skeleton has no memory, but takes the time of what has.
    let short = !node.is_skeleton() && available().is_some_and(|available| mine > available);
    let short = node.all_gather(&[u64::from(short)]);
    match short.iter().position(|short| *short == 1) {
        Some(node) => Err(StencilError::Memory { node, bytes: all[node] }),
        None => Ok(()),
    }
}

/// A number that is equal for all processes of a machine.
fn machine() -> u64 {
    let name = fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    name.iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3))
}

/// Bytes that programs can still have, where the system says so.
fn available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}
