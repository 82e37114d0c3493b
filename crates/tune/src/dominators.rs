//! Dominators of a flow graph, used to tell loops from irreducible parts.
//!
//! K. D. Cooper, T. J. Harvey and K. Kennedy, "A Simple, Fast Dominance Algorithm" (2001).

/// Marks the absence of a node.
const NONE: usize = usize::MAX;

/// The dominator tree of the nodes reachable from `start`, and a depth-first tree.
#[derive(Clone, Debug)]
pub(crate) struct Dominators {
    level: Vec<usize>,
    /// Entry and exit times of each node in a depth-first search of the graph.
    search: Vec<(usize, usize)>,
    /// The same for the dominator tree.
    tree: Vec<(usize, usize)>,
}

impl Dominators {
    pub(crate) fn new(successors: &[Vec<usize>], start: usize) -> Self {
        let (search, order) = depth_first(successors, start);
        let mut position = vec![NONE; successors.len()];
        order.iter().enumerate().for_each(|(at, node)| position[*node] = at);
        let mut predecessors = vec![Vec::new(); successors.len()];
        for &from in &order {
            successors[from].iter().for_each(|to| predecessors[*to].push(from));
        }
        let mut above = vec![NONE; successors.len()];
        above[start] = start;
        let mut changed = true;
        while changed {
            changed = false;
            for &node in &order[1..] {
                let mut found = NONE;
                for &from in predecessors[node].iter().filter(|from| above[**from] != NONE) {
                    found = if found == NONE { from } else { meet(&above, &position, found, from) };
                }
                changed |= above[node] != found;
                above[node] = found;
            }
        }
        let mut children = vec![Vec::new(); successors.len()];
        let mut level = vec![NONE; successors.len()];
        level[start] = 0;
        for &node in &order[1..] {
            children[above[node]].push(node);
            level[node] = level[above[node]] + 1;
        }
        let (tree, _) = depth_first(&children, start);
        Self { level, search, tree }
    }

    /// True if the node is reachable from `start`.
    pub(crate) fn reached(&self, node: usize) -> bool {
        self.level[node] != NONE
    }

    pub(crate) fn level(&self, node: usize) -> usize {
        self.level[node]
    }

    /// True if every path from `start` to `node` passes `above`.
    pub(crate) fn dominates(&self, above: usize, node: usize) -> bool {
        within(&self.tree, above, node)
    }

    /// True if an edge goes back in the depth-first tree.
    pub(crate) fn goes_back(&self, from: usize, to: usize) -> bool {
        within(&self.search, to, from)
    }
}

fn within(times: &[(usize, usize)], outer: usize, inner: usize) -> bool {
    times[outer].0 <= times[inner].0 && times[inner].1 <= times[outer].1
}

/// The nearest common dominator; `position` holds positions in reverse postorder.
fn meet(above: &[usize], position: &[usize], mut one: usize, mut other: usize) -> usize {
    while one != other {
        while position[one] > position[other] {
            one = above[one];
        }
        while position[other] > position[one] {
            other = above[other];
        }
    }
    one
}

/// Entry and exit times of each node in a depth-first search, and the nodes in reverse postorder.
fn depth_first(successors: &[Vec<usize>], start: usize) -> (Vec<(usize, usize)>, Vec<usize>) {
    let mut times = vec![(NONE, NONE); successors.len()];
    let (mut order, mut time) = (Vec::new(), 1);
    times[start].0 = 0;
    let mut path = vec![(start, 0)];
    while let Some((node, edge)) = path.last_mut() {
        let node = *node;
        if let Some(&to) = successors[node].get(*edge) {
            *edge += 1;
            if times[to].0 == NONE {
                times[to].0 = time;
                time += 1;
                path.push((to, 0));
            }
        } else {
            times[node].1 = time;
            time += 1;
            order.push(node);
            path.pop();
        }
    }
    order.reverse();
    (times, order)
}
