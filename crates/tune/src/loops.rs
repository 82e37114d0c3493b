//! Loops of a flow graph, reducible or not.
//!
//! V. C. Sreedhar, G. R. Gao and Y.-F. Lee, "Identifying Loops Using DJ Graphs" (1996), with the
//! correction of Ø. L. Borg (2006, §4.3.4): every edge back to a dominator defines its own loop,
//! whose nodes are found before inner loops are collapsed. Otherwise two loops with the same first
//! nodes would be merged.

use crate::dominators::Dominators;
use std::collections::BTreeSet;

/// A loop: all nodes that reach `branch` without passing `target`, which dominates them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The first node of every iteration.
    pub target: usize,
    /// The last node of every iteration but the final one.
    pub branch: usize,
    /// Its nodes, ascending.
    pub nodes: Vec<usize>,
}

/// A strongly connected part with several entries, none of which dominates the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Irreducible {
    /// The nodes reached from outside, ascending.
    pub entries: Vec<usize>,
    /// Its nodes, ascending.
    pub nodes: Vec<usize>,
}

/// The result of [`find`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loops {
    /// The loops, inner ones before those that contain them.
    pub loops: Vec<Loop>,
    /// Parts that run repeatedly but are not loops.
    pub irreducible: Vec<Irreducible>,
}

/// Finds the loops of the graph whose node `i` has edges to `successors[i]`, from `start` on. Nodes
/// that are not reachable from `start` are in no loop.
///
/// # Panics
/// If `start` or a successor is not below `successors.len()`.
#[must_use]
pub fn find(successors: &[Vec<usize>], start: usize) -> Loops {
    let tree = Dominators::new(successors, start);
    let predecessors = predecessors(successors, &tree);
    let mut by_level: Vec<Vec<usize>> = Vec::new();
    for node in (0..successors.len()).filter(|node| tree.reached(*node)) {
        let level = tree.level(node);
        if by_level.len() <= level {
            by_level.resize(level + 1, Vec::new());
        }
        by_level[level].push(node);
    }
    let mut merged = Merged((0..successors.len()).collect());
    let mut found = Loops::default();
    for level in (0..by_level.len()).rev() {
        let mut irreducible = false;
        for &node in &by_level[level] {
            for &from in &predecessors[node] {
                if tree.dominates(node, from) {
                    let nodes = body(&predecessors, node, from);
                    nodes.iter().for_each(|inner| merged.join(*inner, node));
                    found.loops.push(Loop { target: node, branch: from, nodes });
                } else {
                    // An edge of the dominator tree never goes back: its source dominates its
                    // target.
                    irreducible |= tree.goes_back(from, node);
                }
            }
        }
        if irreducible {
            let deep: Vec<usize> = by_level[level..].iter().flatten().copied().collect();
            for nodes in components(successors, &deep, &mut merged) {
                let entries = nodes
                    .iter()
                    .copied()
                    .filter(|node| predecessors[*node].iter().any(|from| nodes.binary_search(from).is_err()));
                found.irreducible.push(Irreducible { entries: entries.collect(), nodes });
            }
        }
    }
    found
}

pub(crate) fn predecessors(successors: &[Vec<usize>], tree: &Dominators) -> Vec<Vec<usize>> {
    let mut predecessors = vec![Vec::new(); successors.len()];
    for (from, to) in successors.iter().enumerate().filter(|(from, _)| tree.reached(*from)) {
        to.iter().for_each(|to| predecessors[*to].push(from));
    }
    predecessors
}

/// All nodes that reach `branch` without passing `target`, and `target`; ascending.
fn body(predecessors: &[Vec<usize>], target: usize, branch: usize) -> Vec<usize> {
    let mut inside = BTreeSet::from([target]);
    let mut open = vec![branch];
    while let Some(node) = open.pop() {
        if inside.insert(node) {
            open.extend(&predecessors[node]);
        }
    }
    inside.into_iter().collect()
}

/// The collapsed node of each node.
struct Merged(Vec<usize>);

impl Merged {
    fn root(&mut self, mut node: usize) -> usize {
        while self.0[node] != node {
            self.0[node] = self.0[self.0[node]];
            node = self.0[node];
        }
        node
    }

    /// Collapses `node` into `into`.
    fn join(&mut self, node: usize, into: usize) {
        let (node, into) = (self.root(node), self.root(into));
        self.0[node] = into;
    }
}

/// Finds and collapses the strongly connected components of more than one collapsed node among
/// `deep`. Tarjan's algorithm, without recursion.
fn components(successors: &[Vec<usize>], deep: &[usize], merged: &mut Merged) -> Vec<Vec<usize>> {
    let count = successors.len();
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); count];
    for &node in deep {
        members[merged.root(node)].push(node);
    }
    let mut edges: Vec<Vec<usize>> = vec![Vec::new(); count];
    for &from in deep {
        let root = merged.root(from);
        for &to in &successors[from] {
            let to = merged.root(to);
            if to != root && !members[to].is_empty() {
                edges[root].push(to);
            }
        }
    }
    let (mut number, mut low) = (vec![usize::MAX; count], vec![0; count]);
    let (mut stack, mut on_stack, mut next) = (Vec::new(), vec![false; count], 0);
    let mut found = Vec::new();
    let roots: Vec<usize> = (0..count).filter(|node| !members[*node].is_empty()).collect();
    for &root in &roots {
        if number[root] != usize::MAX {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((node, edge)) = path.last_mut() {
            let node = *node;
            if *edge == 0 {
                (number[node], low[node]) = (next, next);
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(&to) = edges[node].get(*edge) {
                *edge += 1;
                if number[to] == usize::MAX {
                    path.push((to, 0));
                } else if on_stack[to] {
                    low[node] = low[node].min(number[to]);
                }
                continue;
            }
            path.pop();
            if let Some((before, _)) = path.last() {
                low[*before] = low[*before].min(low[node]);
            }
            if low[node] == number[node] {
                let mut component = Vec::new();
                while let Some(top) = stack.pop() {
                    on_stack[top] = false;
                    component.push(top);
                    if top == node {
                        break;
                    }
                }
                if component.len() > 1 {
                    found.push(component);
                }
            }
        }
    }
    let collapsed = found.into_iter().map(|component| {
        let mut nodes: Vec<usize> = component.iter().flat_map(|root| members[*root].clone()).collect();
        component.iter().for_each(|root| merged.join(*root, component[0]));
        nodes.sort_unstable();
        nodes
    });
    collapsed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph of letters; `^` is the start.
    pub(crate) fn graph(edges: &str) -> Vec<Vec<usize>> {
        let number = |c: u8| if c == b'^' { 0 } else { usize::from(c - b'A') + 1 };
        let mut successors = vec![Vec::new(); 27];
        for edge in edges.split_whitespace().map(str::as_bytes) {
            successors[number(edge[0])].push(number(edge[1]));
        }
        successors
    }

    fn letters(nodes: &[usize]) -> String {
        nodes.iter().map(|node| if *node == 0 { '^' } else { char::from(b'A' + *node as u8 - 1) }).collect()
    }

    fn texts(edges: &str) -> (Vec<String>, Vec<String>) {
        let found = find(&graph(edges), 0);
        let irreducible = found.irreducible.iter();
        (
            found.loops.iter().map(|found| letters(&found.nodes)).collect(),
            irreducible.map(|part| format!("{}:{}", letters(&part.entries), letters(&part.nodes))).collect(),
        )
    }

    /// U2: Borg's figure 3.1 a.
    #[test]
    fn a_loop_within_a_loop() {
        assert_eq!(texts("^A AB BC CA BD DE EB").0, ["BDE", "ABCDE"]);
    }

    /// U2: Borg's figure 3.1 b.
    #[test]
    fn loops_within_what_is_irreducible() {
        let (mut loops, irreducible) = texts("^A AB AC BC CB BD DB CE EC");
        loops.sort();
        assert_eq!(loops, ["BD", "CE"]);
        assert_eq!(irreducible, ["BC:BCDE"]);
    }

    /// U3: loops that share their first nodes are two.
    #[test]
    fn loops_that_share_their_first_nodes() {
        assert_eq!(texts("^A AB BC CA BD DA").0, ["ABC", "ABD"]);
        // Two loops with the same target, one within the other.
        assert_eq!(texts("^A AB BA BC CA").0, ["AB", "ABC"]);
    }

    /// U4.
    #[test]
    fn an_irreducible_graph_has_no_loop() {
        assert_eq!(texts("^A AB AC BC CB"), (vec![], vec!["BC:BC".into()]));
        // A loop around it, and an inner irreducible part of a deeper level.
        let (loops, irreducible) = texts("^A AB AC BC CB CD DA");
        assert_eq!((loops, irreducible), (vec!["ABCD".into()], vec!["BC:BC".into()]));
    }

    #[test]
    fn edge_cases() {
        assert_eq!(texts("^A").0, [""; 0]);
        assert_eq!(texts("^A AA").0, ["A"]);
        assert_eq!(texts("^A A^").0, ["^A"]);
        assert_eq!(texts("^A BC CB").0, [""; 0], "not reached");
        assert_eq!(find(&[vec![]], 0), Loops::default());
    }
}
