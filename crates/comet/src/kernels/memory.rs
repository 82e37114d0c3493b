//! Checks that there is enough memory for long messages before any node allocates it.

use std::path::Path;

use strata_runtime::Node;

use super::trial::Trial;

/// The amount from which on available memory is checked before it is allocated.
const NOTABLE: usize = 64 << 20;

/// Ends the job if the nodes cannot allocate `copies` copies of messages of `bytes` each.
///
/// # Participation
/// Collective. No node continues before all have checked; a node without enough memory reports an
/// error with the way out.
pub(super) fn ensure(node: &mut Node, kernel: &str, bytes: usize, copies: usize) {
    let all = bytes.saturating_mul(copies);
    // The decision is equal on all nodes.
    if all < NOTABLE || node.is_simulated() {
        return;
    }
    // Nodes may share a machine.
    let wanted = all.saturating_mul(node.size()) as u64;
    let lacking = match available(node) {
        Some(free) if wanted > free / 10 * 9 => Some(format!("{} MiB are free", free >> 20)),
        _ => None,
    };
    // A memory limit of the process shows only in an allocation; the memory is not written.
    let mut reserved = Vec::new();
    let refused = (0..copies).any(|_| {
        let mut copy: Vec<u8> = Vec::new();
        let refused = copy.try_reserve_exact(bytes).is_err();
        reserved.push(copy);
        refused
    });
    // All nodes allocate before any frees: threads share one memory limit.
    node.barrier();
    let lacking = lacking.or_else(|| refused.then(|| "the system refuses so much".to_owned()));
    if let Some(lacking) = lacking {
        node.fail(format!(
            "{kernel}: messages of {bytes} bytes need {} MiB on all nodes, and {lacking}; leave out sizes above \
             {} with --sizes",
            wanted >> 20,
            bytes / 2
        ));
    }
    drop(reserved);
    node.barrier();
}

/// Bytes of memory that programs could still allocate; `None` if the system does not tell.
fn available(node: &mut Node) -> Option<u64> {
    if let Some(free) = node.local::<Trial>().free {
        return Some(free);
    }
    let of_machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib << 10)
    });
    [of_machine, of_group(Path::new("/sys/fs/cgroup"))].into_iter().flatten().min()
}

/// The free memory of the control group (version 2) that a container sees as its whole system.
fn of_group(folder: &Path) -> Option<u64> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    Some(read("memory.max")?.saturating_sub(read("memory.current")?))
}

#[cfg(test)]
mod tests {
    use super::of_group;

    #[test]
    fn the_limit_of_a_group_is_read() {
        let folder = std::env::temp_dir().join(format!("comet-group-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        assert_eq!(of_group(&folder), None);
        write("memory.current", "1000\n");
        write("memory.max", "max\n");
        assert_eq!(of_group(&folder), None, "no limit");
        write("memory.max", "4096\n");
        assert_eq!(of_group(&folder), Some(3096));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
