//! How a grid is divided among nodes: blocks in `columns` by `rows`, of which strips are the
//! extremes; on one node, one by one.

use std::fmt;
use std::ops::Range;

/// How a grid is divided among nodes.
///
/// Node r has the block in column r mod `columns` and row r / `columns` of blocks. Of n points in
/// one direction among k blocks each has ⌊n/k⌋, and the first n mod k one more. Nodes beyond
/// `columns`·`rows` have no points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Blocks from west to east.
    pub columns: usize,
    /// Blocks from north to south.
    pub rows: usize,
    /// Width of the halo: how many layers of a neighbour's points are exchanged at a time. With
    /// two or more, points near the edge of a block are computed by both neighbours in between.
    pub halo: usize,
}

impl Layout {
    /// Everything on node 0.
    pub const ONE: Self = Self { columns: 1, rows: 1, halo: 1 };

    /// The number of nodes with points.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.columns * self.rows
    }

    /// The columns and rows of the points of node `rank` in a grid of `size` (width, height); empty
    /// for a node without points.
    #[must_use]
    pub fn block(&self, size: [usize; 2], rank: usize) -> [Range<usize>; 2] {
        if rank >= self.nodes() {
            return [0..0, 0..0];
        }
        [span(size[0], self.columns, rank % self.columns), span(size[1], self.rows, rank / self.columns)]
    }

    /// Whether each block has at least as many points across as its halo is wide, where it has
    /// neighbours.
    pub(crate) fn fits(&self, size: [usize; 2], periodic: [bool; 2]) -> bool {
        [self.columns, self.rows].iter().zip(size).zip(periodic).all(|((&blocks, points), periodic)| {
            points / blocks >= if blocks > 1 || periodic { self.halo } else { 1 }
        })
    }

    /// This layout, or the one most like it that suits `nodes` nodes and the grid: fewer columns
    /// or rows of blocks, whichever are fewer already, then a narrower halo; at last one node.
    pub(crate) fn suited(self, nodes: usize, size: [usize; 2], periodic: [bool; 2]) -> Self {
        let wide = self.columns > self.rows;
        let most = self.columns.min(self.rows);
        let shapes = (1..=most).rev().filter(|few| nodes.is_multiple_of(*few)).flat_map(|few| {
            let this = if wide { [nodes / few, few] } else { [few, nodes / few] };
            [this, [this[1], this[0]]]
        });
        shapes
            .flat_map(|[columns, rows]| (1..=self.halo).rev().map(move |halo| Self { columns, rows, halo }))
            .find(|layout| layout.fits(size, periodic))
            .unwrap_or(Self::ONE)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nodes() {
            1 => f.write_str("one node"),
            _ => write!(f, "{} by {} blocks, halo {}", self.columns, self.rows, self.halo),
        }
    }
}

/// The points of part `index` of `parts`.
fn span(points: usize, parts: usize, index: usize) -> Range<usize> {
    let (least, more) = (points / parts, points % parts);
    let start = least * index + index.min(more);
    start..start + least + usize::from(index < more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_every_point_once() {
        for (columns, rows) in [(1, 1), (2, 3), (5, 1), (4, 4)] {
            let layout = Layout { columns, rows, halo: 1 };
            let mut seen = vec![0; 7 * 9];
            for rank in 0..layout.nodes() + 2 {
                let [x, y] = layout.block([7, 9], rank);
                y.for_each(|y| x.clone().for_each(|x| seen[y * 7 + x] += 1));
            }
            assert!(seen.iter().all(|times| *times == 1), "{layout:?}");
        }
    }

    #[test]
    fn a_layout_is_bent_to_the_nodes_and_the_grid() {
        let suited = |columns, rows, halo, nodes, size| {
            let layout = Layout { columns, rows, halo }.suited(nodes, size, [false; 2]);
            [layout.columns, layout.rows, layout.halo]
        };
        assert_eq!(suited(2, 2, 4, 4, [100, 100]), [2, 2, 4]);
        assert_eq!(suited(2, 2, 4, 6, [100, 100]), [2, 3, 4]);
        assert_eq!(suited(4, 2, 4, 9, [100, 100]), [9, 1, 4], "no two rows of nine nodes");
        assert_eq!(suited(2, 2, 4, 4, [6, 100]), [2, 2, 3]);
        assert_eq!(suited(1, 4, 1, 4, [100, 2]), [4, 1, 1], "strips the other way");
        assert_eq!(suited(2, 8, 2, 16, [3, 3]), [1, 1, 1]);
    }
}
