//! Checks that there is memory for the parts of all nodes, before any of it is written.
//!
//! A successful allocation is no proof: Linux grants more memory than there is, and kills a program
//! that writes it.

use std::fs;

use strata_runtime::Node;

use crate::StencilError;

/// Problems with fewer bytes over all nodes are not checked.
const SMALL: u64 = 256 << 20;

/// Checks that the nodes of each machine can have `bytes` each; passes if the system does not tell.
///
/// # Participation
/// Collective.
///
/// # Errors
/// [`StencilError::Memory`] with the first node whose machine has less memory; equal on all nodes.
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
    // A skeleton has no memory, but its simulated time is that of a program with memory.
    let short = !node.is_skeleton() && available().is_some_and(|available| mine > available);
    let short = node.all_gather(&[u64::from(short)]);
    match short.iter().position(|short| *short == 1) {
        Some(node) => Err(StencilError::Memory { node, bytes: all[node] }),
        None => Ok(()),
    }
}

/// A number that is equal for all processes of a machine, and only for these.
fn machine() -> u64 {
    let name = fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    strata_select::transfer::fnv(name)
}

/// Bytes that programs can still allocate, if the system tells.
fn available() -> Option<u64> {
    told("MemAvailable:")
}

/// Bytes of memory and swap space of this machine, if the system tells.
pub(crate) fn whole() -> Option<u64> {
    Some(told("MemTotal:")?.saturating_add(told("SwapTotal:").unwrap_or(0)))
}

fn told(what: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(what))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}
