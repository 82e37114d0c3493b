//! Shapes of machines: their links, and the paths between cells.
//!
//! A connection is routed along a minimal path that turns at most once, like iWarp's connections:
//! first along its row or first along its column, in either direction around a torus (Warfel 1996,
//! §3.1).

use serde::{Deserialize, Serialize};

/// The interconnection of a machine's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Every cell has one link into and one link out of a network without bottlenecks.
    Crossbar,
    /// Rows and columns of cells; each has links to its neighbours.
    Mesh {
        /// Cells in a row.
        width: usize,
        /// Cells in a column.
        height: usize,
    },
    /// A mesh in which the ends of rows and columns are neighbours.
    Torus {
        /// Cells in a row.
        width: usize,
        /// Cells in a column.
        height: usize,
    },
}

/// Links out of a cell of a mesh or torus: east, west, south, north.
const WAYS: usize = 4;

/// A path from one cell to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// The links, in order; then the turns that it shares ([`Target::shared_turns`](crate::Target)).
    pub links: Vec<usize>,
    /// The cells, from the source to the target.
    pub cells: Vec<usize>,
}

impl Path {
    /// Number of links between cells.
    #[must_use]
    pub fn hops(&self) -> usize {
        self.cells.len() - 1
    }
}

/// The most equal factors of a number of cells, the larger first: columns and rows.
#[must_use]
pub(crate) fn square(cells: usize) -> [usize; 2] {
    let height = (1..=cells.isqrt()).rev().find(|height| cells.is_multiple_of(*height)).unwrap_or(1);
    [cells / height, height]
}

impl Shape {
    /// The number of links of a machine with `cells` cells.
    #[must_use]
    pub fn links(self, cells: usize) -> usize {
        match self {
            Self::Crossbar => 2 * cells,
            Self::Mesh { .. } | Self::Torus { .. } => WAYS * cells,
        }
    }

    /// Width and height, also for drawing; a crossbar is drawn nearly square.
    #[must_use]
    pub fn extents(self, cells: usize) -> [usize; 2] {
        match self {
            Self::Crossbar => {
                let width = (1..=cells.max(1)).find(|width| width * width >= cells).unwrap_or(1);
                [width, cells.div_ceil(width)]
            }
            Self::Mesh { width, height } | Self::Torus { width, height } => [width, height],
        }
    }

    /// The cells at a link's ends; `None` for an end at a crossbar's network.
    #[must_use]
    pub fn ends(self, link: usize, cells: usize) -> [Option<usize>; 2] {
        match self {
            Self::Crossbar if link < cells => [Some(link), None],
            Self::Crossbar => [None, Some(link - cells)],
            Self::Mesh { .. } | Self::Torus { .. } => {
                let cell = link / WAYS;
                [Some(cell), self.neighbour(cell, link % WAYS)]
            }
        }
    }

    /// A link's readable name.
    #[must_use]
    pub fn link_name(self, link: usize, cells: usize) -> String {
        match self.ends(link, cells) {
            [Some(from), Some(to)] => format!("cell {from} -> cell {to}"),
            [Some(from), None] => format!("out of cell {from}"),
            [None, Some(to)] => format!("into cell {to}"),
            [None, None] => String::new(),
        }
    }

    /// Number of links on a shortest path between two cells.
    #[must_use]
    pub fn distance(self, from: usize, to: usize) -> usize {
        match self {
            _ if from == to => 0,
            Self::Crossbar => 1,
            Self::Mesh { width, .. } => {
                (from % width).abs_diff(to % width) + (from / width).abs_diff(to / width)
            }
            Self::Torus { width, height } => {
                let around = |a: usize, b: usize, n: usize| a.abs_diff(b).min(n - a.abs_diff(b));
                around(from % width, to % width, width) + around(from / width, to / width, height)
            }
        }
    }

    /// The minimal paths with at most one turn, in a fixed order.
    #[must_use]
    pub fn paths(self, from: usize, to: usize, cells: usize) -> Vec<Path> {
        let Some([width, height]) = self.grid() else {
            return vec![Path { links: vec![from, cells + to], cells: vec![from, to] }];
        };
        let wraps = matches!(self, Self::Torus { .. });
        let across = steps(from % width, to % width, width, wraps);
        let down = steps(from / width, to / width, height, wraps);
        let mut paths = Vec::new();
        for (east, columns) in &across {
            for (south, rows) in &down {
                let row_first = [(if *east { 0 } else { 1 }, *columns), (if *south { 2 } else { 3 }, *rows)];
                paths.push(self.walk(from, row_first));
                if *columns > 0 && *rows > 0 {
                    paths.push(self.walk(from, [row_first[1], row_first[0]]));
                }
            }
        }
        paths
    }

    /// The path along the row and then the column, each in this direction.
    pub(crate) fn row_first(self, from: usize, to: usize, east: bool, south: bool) -> Path {
        let Some([width, height]) = self.grid() else { return Path { links: vec![], cells: vec![from] } };
        let steps = |from: usize, to: usize, n: usize, up: bool| {
            if up { (to + n - from) % n } else { (from + n - to) % n }
        };
        let (across, down) =
            (steps(from % width, to % width, width, east), steps(from / width, to / width, height, south));
        self.walk(from, [(if east { 0 } else { 1 }, across), (if south { 2 } else { 3 }, down)])
    }

    /// The cells in which a path leaves its direction.
    pub(crate) fn turns(self, path: &Path) -> impl Iterator<Item = usize> {
        let way = move |link: usize| self.grid().map(|_| link % WAYS);
        let pairs = path.links.windows(2).zip(&path.cells[1..]);
        pairs.filter(move |(links, _)| way(links[0]) != way(links[1])).map(|(_, cell)| *cell)
    }

    pub(crate) fn grid(self) -> Option<[usize; 2]> {
        match self {
            Self::Crossbar => None,
            Self::Mesh { width, height } | Self::Torus { width, height } => Some([width, height]),
        }
    }

    fn walk(self, from: usize, legs: [(usize, usize); 2]) -> Path {
        let mut path = Path { links: Vec::new(), cells: vec![from] };
        let mut at = from;
        for (way, count) in legs {
            for _ in 0..count {
                let Some(next) = self.neighbour(at, way) else { return path };
                path.links.push(at * WAYS + way);
                path.cells.push(next);
                at = next;
            }
        }
        path
    }

    /// The next cell in that direction; `None` at the edge of a mesh.
    fn neighbour(self, cell: usize, way: usize) -> Option<usize> {
        let [width, height] = self.grid()?;
        let wraps = matches!(self, Self::Torus { .. });
        let (x, y) = (cell % width, cell / width);
        let step = |at: usize, n: usize, up: bool| match (up, wraps) {
            (true, _) if at + 1 < n => Some(at + 1),
            (false, _) if at > 0 => Some(at - 1),
            (true, true) => Some(0),
            (false, true) => Some(n - 1),
            _ => None,
        };
        match way {
            0 | 1 => step(x, width, way == 0).map(|x| y * width + x),
            _ => step(y, height, way == 2).map(|y| y * width + x),
        }
    }
}

/// The shortest directions along one dimension: true for upwards, and the number of steps. Both
/// directions if they are equally long.
fn steps(from: usize, to: usize, n: usize, wraps: bool) -> Vec<(bool, usize)> {
    let straight = from.abs_diff(to);
    let around = n - straight;
    match () {
        () if straight == 0 => vec![(true, 0)],
        () if !wraps || straight < around => vec![(to > from, straight)],
        () if straight > around => vec![(to < from, around)],
        () => vec![(true, straight), (false, straight)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_minimal_and_leads_there() {
        let shapes = [
            (Shape::Crossbar, 12),
            (Shape::Mesh { width: 4, height: 3 }, 12),
            (Shape::Torus { width: 4, height: 3 }, 12),
            (Shape::Torus { width: 2, height: 1 }, 2),
            (Shape::Torus { width: 8, height: 8 }, 64),
        ];
        for (shape, cells) in shapes {
            for (from, to) in (0..cells).flat_map(|from| (0..cells).map(move |to| (from, to))) {
                if from == to {
                    continue;
                }
                let paths = shape.paths(from, to, cells);
                assert!(!paths.is_empty());
                for path in paths {
                    assert_eq!((path.cells[0], path.cells.last()), (from, Some(&to)));
                    assert_eq!(path.hops(), shape.distance(from, to), "{shape:?} {from} {to}");
                    assert!(path.links.iter().all(|link| *link < shape.links(cells)));
                    if shape != Shape::Crossbar {
                        for (link, pair) in path.links.iter().zip(path.cells.windows(2)) {
                            assert_eq!(shape.ends(*link, cells), [Some(pair[0]), Some(pair[1])]);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_torus_offers_both_ways_around_and_both_orders() {
        let torus = Shape::Torus { width: 4, height: 4 };
        assert_eq!(torus.paths(0, 10, 16).len(), 8);
        assert_eq!(torus.paths(0, 5, 16).len(), 2);
        assert_eq!(torus.paths(0, 1, 16).len(), 1);
    }
}
