//! The division of a grid among nodes: blocks in `columns` by `rows`, of which strips and a single
//! node are special cases.

use std::fmt;
use std::ops::Range;

use crate::exchange::Way;
pub use crate::exchange::models::{StencilExchange, StencilWave};

/// The choice of an exchange, and the reasons for it.
pub type ExchangeChoice = strata_select::Choice<[strata_select::Row; 5]>;

/// The division of a grid among nodes.
///
/// Node r has the block in column r mod `columns` and row r / `columns` of blocks. With n points in
/// one direction among k blocks, each block has ⌊n/k⌋, and the first n mod k blocks one more;
/// `extra` moves points to the blocks at the edges. Nodes beyond `columns`·`rows` have no points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Blocks from west to east.
    pub columns: usize,
    /// Blocks from north to south.
    pub rows: usize,
    /// Width of the halo: the number of layers of a neighbour's points that are exchanged at a
    /// time. With two or more, both neighbours compute the points near their common edge between
    /// exchanges.
    pub halo: usize,
    /// The columns and rows that a block at an edge of the grid has more than an inner block, if
    /// there are inner blocks: it has one neighbour less to exchange with (Brewer 1994, §5.2). An
    /// experiment: no model chooses it.
    pub extra: [usize; 2],
    /// The variant of the halo exchange.
    pub way: Way,
    /// True if inner points are swept while halos are under way. It affects only red-black sweeps
    /// with a halo of one layer.
    pub overlap: bool,
    /// The most sweeps of a wave, if halos allow as many; 0: as many as fit a cache of 256 KiB.
    pub wave: usize,
}

impl Layout {
    /// Everything on node 0.
    pub const ONE: Self = Self::new(1, 1, 1);

    /// Blocks of equal size, as far as the numbers of points divide.
    #[must_use]
    pub const fn new(columns: usize, rows: usize, halo: usize) -> Self {
        Self { columns, rows, halo, extra: [0; 2], way: Way::Packed, overlap: false, wave: 0 }
    }

    /// Blocks in as many columns as rows, or twice as many, with halos of one.
    #[must_use]
    pub const fn squares(nodes: usize) -> Self {
        if nodes == 0 {
            return Self::ONE;
        }
        let columns = 1 << nodes.ilog2().div_ceil(2);
        Self::new(columns, nodes / columns, 1)
    }

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
        let [x, y] = self.extra;
        [
            span(size[0], self.columns, x, rank % self.columns),
            span(size[1], self.rows, y, rank / self.columns),
        ]
    }

    /// True if each block has at least as many points across as its halo is wide, in the directions
    /// in which it has neighbours.
    pub(crate) fn fits(&self, size: [usize; 2], periodic: [bool; 2]) -> bool {
        [0, 1].into_iter().all(|way| {
            let blocks = [self.columns, self.rows][way];
            let given = if blocks > 2 { 2 * self.extra[way] } else { 0 };
            size[way].saturating_sub(given) / blocks
                >= if blocks > 1 || periodic[way] { self.halo } else { 1 }
        })
    }

    /// This layout, or the most similar one that suits `nodes` nodes and the grid. The smaller of
    /// the numbers of columns and rows of blocks is reduced; for each shape the widest fitting halo
    /// is taken; the last resort is one node.
    pub(crate) fn suited(self, nodes: usize, size: [usize; 2], periodic: [bool; 2]) -> Self {
        let wide = self.columns > self.rows;
        let most = self.columns.min(self.rows);
        let shapes = (1..=most).rev().filter(|few| nodes.is_multiple_of(*few)).flat_map(|few| {
            let this = if wide { [nodes / few, few] } else { [few, nodes / few] };
            [this, [this[1], this[0]]]
        });
        shapes
            .flat_map(|[columns, rows]| (1..=self.halo).rev().map(move |halo| Self::new(columns, rows, halo)))
            .find(|layout| layout.fits(size, periodic))
            .unwrap_or(Self::ONE)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nodes() {
            1 => f.write_str("one node")?,
            _ => {
                write!(f, "{} by {} blocks, halo {}", self.columns, self.rows, self.halo)?;
                match self.extra {
                    [0, 0] => {}
                    [columns, rows] => write!(f, ", at edges {columns} columns and {rows} rows more")?,
                }
                match self.way {
                    Way::Packed => {}
                    way => write!(f, ", {way}")?,
                }
                f.write_str(if self.overlap { ", overlapped" } else { "" })?;
            }
        }
        match self.wave {
            0 => Ok(()),
            sweeps => write!(f, ", waves of {sweeps}"),
        }
    }
}

/// The points of part `index` of `parts`; the outer two parts have `extra` more than the others.
fn span(points: usize, parts: usize, extra: usize, index: usize) -> Range<usize> {
    // With one or two parts all have the same number of neighbours.
    let extra = if parts > 2 { extra.min(points / 2) } else { 0 };
    let (least, more) = ((points - 2 * extra) / parts, (points - 2 * extra) % parts);
    // The points before part `index`: whole parts, the first part's extra points, and the
    // remainder, which goes to the first parts, or with extra points to the inner parts first.
    let before = |index: usize| {
        let rest = match extra {
            0 => index.min(more),
            _ => {
                let inner = (parts - 2).min(more);
                let outer = more - inner;
                let last = usize::from(index == parts && outer > 1);
                inner.min(index.saturating_sub(1)) + outer.min(usize::from(index > 0)) + last
            }
        };
        least * index + rest + extra * (usize::from(index > 0) + usize::from(index == parts))
    };
    before(index)..before(index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_every_point_once() {
        for (columns, rows) in [(1, 1), (2, 3), (5, 1), (4, 4)] {
            let layout = Layout::new(columns, rows, 1);
            let mut seen = vec![0; 7 * 9];
            for rank in 0..layout.nodes() + 2 {
                let [x, y] = layout.block([7, 9], rank);
                y.for_each(|y| x.clone().for_each(|x| seen[y * 7 + x] += 1));
            }
            assert!(seen.iter().all(|times| *times == 1), "{layout:?}");
        }
    }

    #[test]
    fn blocks_at_edges_have_more_points_and_no_point_is_lost() {
        let sizes = |points, parts, extra| -> Vec<usize> {
            let parts_of = |index| span(points, parts, extra, index);
            assert!((1..parts).all(|index| parts_of(index - 1).end == parts_of(index).start));
            assert_eq!((parts_of(0).start, parts_of(parts - 1).end), (0, points));
            (0..parts).map(|index| parts_of(index).len()).collect()
        };
        assert_eq!(sizes(20, 4, 0), [5, 5, 5, 5]);
        assert_eq!(sizes(20, 4, 1), [5, 5, 5, 5], "18 by four are 4.5: the inner blocks come first");
        assert_eq!(sizes(20, 4, 2), [6, 4, 4, 6]);
        assert_eq!(sizes(23, 4, 2), [7, 5, 5, 6]);
        assert_eq!(sizes(22, 4, 0), [6, 6, 5, 5]);
        assert_eq!(sizes(9, 2, 3), [5, 4], "both parts have one neighbour");
        assert_eq!(sizes(9, 1, 3), [9]);
        for (points, parts, extra) in [(7, 3, 9), (1, 3, 1), (0, 4, 2), (100, 7, 13)] {
            sizes(points, parts, extra);
        }
        let layout = Layout { extra: [0, 4], ..Layout::new(1, 3, 2) };
        assert!(layout.fits([5, 14], [false; 2]) && !layout.fits([5, 13], [false; 2]));
        assert!(layout.to_string().ends_with("at edges 0 columns and 4 rows more"));
        let run = Layout { way: Way::Stored, overlap: true, wave: 4, ..layout };
        assert!(run.to_string().ends_with("rows more, stored, overlapped, waves of 4"));
    }

    #[test]
    fn a_layout_is_bent_to_the_nodes_and_the_grid() {
        let suited = |columns, rows, halo, nodes, size| {
            let layout = Layout::new(columns, rows, halo).suited(nodes, size, [false; 2]);
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
