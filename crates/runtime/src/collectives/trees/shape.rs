//! The tree: in pre-order, so that values combine in rank order.

/// The place of a node in the tree of `size` nodes with root node 0: the parent's rank is lower,
/// and the ranks of a node and its descendants are consecutive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) parent: Option<usize>,
    /// The children in rank order; a second one only if there is a first.
    pub(super) children: [Option<usize>; 2],
}

impl Place {
    pub(super) fn of(rank: usize, size: usize) -> Self {
        let (mut first, mut end, mut parent) = (0, size, None);
        while first != rank {
            let second = second(first, end);
            parent = Some(first);
            (first, end) = if rank < second { (first + 1, second) } else { (second, end) };
        }
        let second = second(first, end);
        let child = |rank: usize| (rank < end).then_some(rank);
        Self { parent, children: [child(first + 1), child(second)] }
    }

    /// The same tree with node `root` at its root: every rank is higher by `root`, modulo `size`.
    /// Ranks are no longer consecutive, so it is used for broadcasts only.
    pub(super) fn rooted(root: usize, rank: usize, size: usize) -> Self {
        let place = Self::of((rank + size - root) % size, size);
        let turned = |rank: usize| (rank + root) % size;
        Self { parent: place.parent.map(turned), children: place.children.map(|child| child.map(turned)) }
    }

    pub(super) fn each_child(&self) -> impl Iterator<Item = usize> + use<> {
        self.children.into_iter().flatten()
    }
}

/// The second child of the node `first` of a tree of ranks `first` to `end - 1`, or `end`.
fn second(first: usize, end: usize) -> usize {
    first + 1 + (end - first - 1).div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_is_below_the_root_once_and_subtrees_are_ranges() {
        for size in 1..=70 {
            let mut ends = vec![0; size];
            for rank in (0..size).rev() {
                let place = Place::of(rank, size);
                let mut end = rank + 1;
                for child in place.each_child() {
                    assert_eq!(child, end, "the child of {rank} of {size}");
                    assert_eq!(Place::of(child, size).parent, Some(rank));
                    end = ends[child];
                }
                ends[rank] = end;
            }
            assert_eq!(ends[0], size);
            let depth = |mut rank| {
                let mut depth = 0;
                while let Some(parent) = Place::of(rank, size).parent {
                    (rank, depth) = (parent, depth + 1);
                }
                depth
            };
            assert_eq!((0..size).map(depth).max(), Some(size.ilog2()), "{size}");
        }
    }

    #[test]
    fn another_root_has_the_same_tree_turned() {
        for (size, root) in [(1, 0), (5, 3), (8, 7)] {
            for rank in 0..size {
                let place = Place::rooted(root, rank, size);
                assert_eq!(place.parent.is_none(), rank == root);
                for child in place.each_child() {
                    assert_eq!(Place::rooted(root, child, size).parent, Some(rank));
                }
            }
        }
    }
}
