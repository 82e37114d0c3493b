//! Disjoint intervals of loops; each timed experiment spans one interval.
//!
//! Loops share nodes, so the running loop is ambiguous at a node of two loops. Borg (2006, §4.3,
//! algorithm 4) therefore divides loops into disjoint intervals. Here an interval is a maximal run
//! of nodes in the same loops, each joined to the next by an edge. It is cut before every loop's
//! first node and where edges meet, so the first node of an interval dominates the others.

use crate::dominators::Dominators;
use crate::loops::{Loops, predecessors};

/// A run of nodes that is timed as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Its nodes in execution order; the timer starts at the first.
    pub nodes: Vec<usize>,
    /// Nodes at which it ends: the targets of all edges that leave it, also from its middle.
    pub stops: Vec<usize>,
}

/// The intervals of all loops and all irreducible parts, by their first nodes.
///
/// # Panics
/// If `start` or a successor is not below `successors.len()`.
#[must_use]
pub fn intervals(successors: &[Vec<usize>], start: usize, loops: &Loops) -> Vec<Interval> {
    let count = successors.len();
    let predecessors = predecessors(successors, &Dominators::new(successors, start));
    // The loops of each node, ascending; irreducible parts are numbered after the loops.
    let mut within: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut first = vec![false; count];
    let parts = loops.irreducible.iter().map(|part| (&part.nodes, &part.entries[..]));
    let all = loops.loops.iter().map(|each| (&each.nodes, std::slice::from_ref(&each.target)));
    for (number, (nodes, targets)) in all.chain(parts).enumerate() {
        nodes.iter().for_each(|node| within[*node].push(number));
        targets.iter().for_each(|node| first[*node] = true);
    }
    // Of several nodes that could continue a run, the first found is used.
    let mut next: Vec<Option<usize>> = vec![None; count];
    let mut joined = vec![false; count];
    for from in (0..count).filter(|from| !within[*from].is_empty()) {
        let follows = |to: &usize| {
            *to != from && !first[*to] && predecessors[*to] == [from] && within[*to] == within[from]
        };
        next[from] = successors[from].iter().copied().find(follows);
        next[from].into_iter().for_each(|to| joined[to] = true);
    }
    let heads = (0..count).filter(|node| !within[*node].is_empty() && !joined[*node]);
    let interval = |head: usize| {
        let nodes: Vec<usize> = std::iter::successors(Some(head), |node| next[*node]).collect();
        let mut stops = Vec::new();
        for &node in &nodes {
            for &to in successors[node].iter().filter(|to| next[node] != Some(**to)) {
                if !stops.contains(&to) {
                    stops.push(to);
                }
            }
        }
        Interval { nodes, stops }
    };
    heads.map(interval).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::find;

    /// The intervals of a walk through a program; each letter is a call.
    fn of(walk: &str) -> Vec<(String, String)> {
        let mut names: Vec<char> = vec!['^'];
        let mut successors: Vec<Vec<usize>> = vec![Vec::new()];
        let mut at = 0;
        for name in walk.chars() {
            let to = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                successors.push(Vec::new());
                names.len() - 1
            });
            if !successors[at].contains(&to) {
                successors[at].push(to);
            }
            at = to;
        }
        let text = |nodes: &[usize]| nodes.iter().map(|node| names[*node]).collect();
        let found = intervals(&successors, 0, &find(&successors, 0));
        found.iter().map(|found| (text(&found.nodes), text(&found.stops))).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(nodes, stops)| ((*nodes).to_owned(), (*stops).to_owned())).collect()
    }

    /// U1: the program of Borg's algorithm 5.
    #[test]
    fn of_two_nested_loops() {
        let walk = format!("{}A", "SR".repeat(4)).repeat(10);
        assert_eq!(of(&walk), pairs(&[("SR", "SA"), ("A", "S")]));
    }

    /// U3: as in NAS CG, a loop within one that shares its first node with the outermost.
    #[test]
    fn of_loops_that_share_their_first_nodes() {
        let inner = format!("y{}z", "gh".repeat(5)).repeat(3);
        let walk = format!("{inner}bc").repeat(4);
        assert_eq!(of(&walk), pairs(&[("y", "g"), ("gh", "gz"), ("z", "yb"), ("bc", "y")]));
    }

    #[test]
    fn of_a_body_that_branches() {
        // A, then B or C, then D: edges meet at D; of B and C the first found continues the run.
        assert_eq!(of("ABDACDABD"), pairs(&[("AB", "CD"), ("D", "A"), ("C", "D")]));
    }

    #[test]
    fn of_what_is_irreducible() {
        // B and C form an irreducible part, because each is entered from A.
        assert_eq!(of("ABCBACBCD"), pairs(&[("A", "BC"), ("B", "CA"), ("C", "BD")]));
        assert!(of("ABCDEF").is_empty(), "no loop");
        assert_eq!(of("AAAA"), pairs(&[("A", "A")]), "recursion");
    }
}
