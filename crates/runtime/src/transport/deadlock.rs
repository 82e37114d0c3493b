//! The report of a deadlock: all nodes wait or have ended, and no message is in flight.

use super::{Awaited, Failure};
use std::collections::BTreeMap;
use std::fmt::Display;

/// The most groups that are listed.
const MOST: usize = 12;

/// What a program that waits for something else than a message has to know.
const HINT: &str = " (only a handler ends wait_until: a clock, another thread or a file does not)";

/// The state of a node when no message is in flight.
pub(super) enum Standing {
    /// The node is gone.
    Ended,
    /// Its program has ended, and it receives as long as others may send.
    Leaves,
    /// It waits as the text describes.
    Waits(String),
}

impl Standing {
    /// The state of a node that waits in `call` for `awaited`.
    pub(super) fn waits(call: impl Display, awaited: Awaited) -> Self {
        match awaited {
            Awaited::AllLeft => Self::Leaves,
            Awaited::Room(_, to) | Awaited::PutRoom(to) => {
                Self::Waits(format!("in {call} for room on the way to node {to}"))
            }
            Awaited::Packet | Awaited::Operation | Awaited::Memory { .. } => {
                Self::Waits(format!("in {call}"))
            }
        }
    }
}

/// The report of the nodes that wait and their calls; `when` is empty or the time of detection.
/// `None` if no node waits.
pub(super) fn explain(nodes: impl IntoIterator<Item = (usize, Standing)>, when: &str) -> Option<Failure> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let (mut ended, mut leaves) = (0, Vec::new());
    for (node, standing) in nodes {
        match standing {
            Standing::Ended => ended += 1,
            Standing::Leaves => leaves.push(node),
            Standing::Waits(what) => groups.entry(what).or_default().push(node),
        }
    }
    let waits = |(what, nodes): (&String, &Vec<usize>)| {
        let verb = if nodes.len() == 1 { "waits" } else { "wait" };
        format!("{} {verb} {what}", names(nodes))
    };
    // The node to blame: one that waits for an event other than the end of all programs.
    let rank = *groups.values().flatten().min().or_else(|| leaves.iter().min())?;
    if !leaves.is_empty() {
        groups.insert("for the others to end".to_owned(), leaves);
    }
    let mut told: Vec<String> = groups.iter().take(MOST).map(waits).collect();
    if groups.len() > MOST {
        told.push(format!("and {} more kinds of wait", groups.len() - MOST));
    }
    match ended {
        0 => {}
        1 => told.push("1 node has ended".to_owned()),
        _ => told.push(format!("{ended} nodes have ended")),
    }
    let told = told.join("; ");
    let hint = if told.contains("wait_until") { HINT } else { "" };
    Some(Failure { rank, message: format!("deadlock{when}, nothing is under way: {told}{hint}") })
}

/// `node 3`, `nodes 0-2, 5`.
fn names(nodes: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &node in nodes {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == node => *last = node,
            _ => ranges.push((node, node)),
        }
    }
    let shown: Vec<String> = ranges
        .iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    let noun = if nodes.len() == 1 { "node" } else { "nodes" };
    if shown.len() > MOST {
        format!("{noun} {}, ... ({} in all)", shown[..MOST].join(", "), nodes.len())
    } else {
        format!("{noun} {}", shown.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_named_in_ranges() {
        assert_eq!(names(&[3]), "node 3");
        assert_eq!(names(&[0, 1, 2, 5, 7, 8]), "nodes 0-2, 5, 7-8");
        let even: Vec<usize> = (0..100).step_by(2).collect();
        assert_eq!(names(&even), "nodes 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, ... (50 in all)");
    }
}
