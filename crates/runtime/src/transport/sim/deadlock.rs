//! The report of a deadlock.

use super::world::{NodeState, State};
use crate::transport::{Awaited, Failure};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use strata_sim::Time;

/// The most groups that are listed.
const MOST: usize = 12;

/// Which nodes wait for what, when no event is left and some have not ended. `None` if all have
/// ended.
pub(super) fn explain(state: &State, now: Time) -> Option<Failure> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut ended = Vec::new();
    for (node, shown) in state.nodes.iter().enumerate() {
        match &shown.state {
            NodeState::Ended => ended.push(node),
            NodeState::Runs | NodeState::Due(_) => {}
            NodeState::Waits(wait) => {
                let mut what = format!("in {}", wait.call);
                match wait.awaited {
                    Awaited::Room(_, to) | Awaited::PutRoom(to) => {
                        let _ = write!(what, " for room on the way to node {to}");
                    }
                    Awaited::AllLeft => what = "for the others to end".to_owned(),
                    Awaited::Packet | Awaited::Operation | Awaited::Memory { .. } => {}
                }
                groups.entry(what).or_default().push(node);
            }
        }
    }
    let waits = |(what, nodes): (&String, &Vec<usize>)| {
        let verb = if nodes.len() == 1 { "waits" } else { "wait" };
        format!("{} {verb} {what}", names(nodes))
    };
    // The node to blame: one that waits for something other than the end of all programs.
    let rank = *groups.values().flatten().min()?;
    let mut told: Vec<String> = groups.iter().take(MOST).map(waits).collect();
    if groups.len() > MOST {
        told.push(format!("and {} more kinds of wait", groups.len() - MOST));
    }
    if !ended.is_empty() {
        told.push(format!(
            "{} ended",
            if ended.len() == 1 { "1 node has".to_owned() } else { format!("{} nodes have", ended.len()) }
        ));
    }
    let message = format!("deadlock at {now}, nothing is under way: {}", told.join("; "));
    Some(Failure { rank, message })
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
