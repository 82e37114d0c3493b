//! The two-dimensional mesh of CoMet (Ganapati 1993, Figs 4.1 and 4.2).

/// Nodes in rows and columns with wrap-around.
///
/// For 2ᵏ nodes the arrangement is a snake of Gray codes, in which all neighbours, also across the
/// wrap-around, are one link of a hypercube apart. Other numbers are arranged row by row, as square
/// as possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mesh {
    /// Nodes in a row.
    pub columns: usize,
    /// Nodes in a column.
    pub rows: usize,
    /// The node at each place, row by row.
    nodes: Vec<usize>,
}

/// A node's place, and its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// From 0, at the top.
    pub row: usize,
    /// From 0, at the left.
    pub column: usize,
    /// The node above.
    pub top: usize,
    /// The node below.
    pub bottom: usize,
    /// The node to the left.
    pub pred: usize,
    /// The node to the right.
    pub succ: usize,
}

impl Mesh {
    /// The mesh of `nodes` nodes (at least one).
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        let nodes = nodes.max(1);
        if !nodes.is_power_of_two() {
            let rows = (1..=nodes.isqrt()).rev().find(|rows| nodes.is_multiple_of(*rows)).unwrap_or(1);
            return Self { columns: nodes / rows, rows, nodes: (0..nodes).collect() };
        }
        // A square, or twice as many columns as rows.
        let rows = 1usize << (nodes.ilog2() / 2);
        let columns = nodes / rows;
        let gray = |index: usize| index ^ (index >> 1);
        let at = |row: usize, column: usize| {
            let along = if row.is_multiple_of(2) { column } else { columns - 1 - column };
            gray(row * columns + along)
        };
        let nodes = (0..rows).flat_map(|row| (0..columns).map(move |column| at(row, column))).collect();
        Self { columns, rows, nodes }
    }

    /// The node at a row and column, which wrap around.
    #[must_use]
    pub fn at(&self, row: usize, column: usize) -> usize {
        self.nodes[row % self.rows * self.columns + column % self.columns]
    }

    /// The place of a node; node 0's if there is no such node.
    #[must_use]
    pub fn place(&self, node: usize) -> Place {
        let index = self.nodes.iter().position(|other| *other == node).unwrap_or(0);
        let (row, column) = (index / self.columns, index % self.columns);
        let (up, left) = (row + self.rows - 1, column + self.columns - 1);
        Place {
            row,
            column,
            top: self.at(up, column),
            bottom: self.at(row + 1, column),
            pred: self.at(row, left),
            succ: self.at(row, column + 1),
        }
    }

    /// True if there are as many rows as columns.
    #[must_use]
    pub fn is_square(&self) -> bool {
        self.rows == self.columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_snakes_of_the_thesis() {
        assert_eq!(Mesh::new(8).nodes, [0, 1, 3, 2, 4, 5, 7, 6]);
        assert_eq!(Mesh::new(16).nodes, [0, 1, 3, 2, 4, 5, 7, 6, 12, 13, 15, 14, 8, 9, 11, 10]);
    }

    #[test]
    fn neighbours_are_one_link_of_a_hypercube_apart_and_agree_with_each_other() {
        for nodes in (0..=7).map(|bits| 1 << bits) {
            let mesh = Mesh::new(nodes);
            for node in 0..nodes {
                let Place { top, bottom, pred, succ, .. } = mesh.place(node);
                for other in [top, bottom, pred, succ] {
                    assert!((node ^ other).count_ones() <= 1, "{nodes}: {node} and {other}");
                }
                assert_eq!(mesh.place(top).bottom, node);
                assert_eq!(mesh.place(succ).pred, node);
            }
        }
        for nodes in [3, 5, 6, 12] {
            let mesh = Mesh::new(nodes);
            assert_eq!(mesh.rows * mesh.columns, nodes);
            assert!((0..nodes).all(|node| mesh.place(mesh.place(node).bottom).top == node));
        }
    }
}
