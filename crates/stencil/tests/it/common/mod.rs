//! A sequential solver, straight from the equations, and grids that try everything.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic, its helpers too")]

pub(crate) mod halos;

use strata_runtime::{Error, Node};
use strata_stencil::{Edge, Grid, Method, Side, StencilError, Value, Way, layout::Layout, profile};

/// What holds at a side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum At {
    Values,
    Slope,
    Periodic,
}

/// A problem of the tests.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) size: [usize; 2],
    pub(crate) at: [At; 4],
    pub(crate) method: Method,
    pub(crate) omega: f64,
    pub(crate) weights: [f64; 4],
    pub(crate) iterations: u64,
}

/// Of the neighbours, for Laplace's equation.
const QUARTERS: [f64; 4] = [0.25; 4];

fn initial<T: Value>(x: usize, y: usize) -> T {
    T::nearest(((x * 37 + y * 101) % 23) as f64 / 7.0 - 1.0)
}

fn along<T: Value>(side: Side, at: usize) -> T {
    T::nearest(((at * 13 + side as usize * 5) % 17) as f64 / 3.0 - 2.0)
}

impl Case {
    pub(crate) fn grid<T: Value>(&self) -> Grid<'static, T> {
        let [width, height] = self.size;
        let [west, east, north, south] = self.weights;
        let grid = Grid::new(width, height)
            .initial(initial)
            .method(self.method)
            .omega(self.omega)
            .weights(west, east, north, south)
            .threshold(0.0)
            .iterations(self.iterations);
        Side::ALL.into_iter().fold(grid, |grid, side| {
            let edge = match self.at[side as usize] {
                At::Values => Edge::values(move |at| along(side, at)),
                At::Slope => Edge::slope(move |at| along(side, at)),
                At::Periodic => Edge::Periodic,
            };
            grid.boundary(side, edge)
        })
    }

    /// The points after all iterations, and the largest update of the last.
    pub(crate) fn expected<T: Value>(&self) -> (Vec<T>, f64) {
        let [width, height] = self.size.map(|n| n as isize);
        let mut points: Vec<T> =
            (0..height).flat_map(|y| (0..width).map(move |x| initial(x as usize, y as usize))).collect();
        let neighbour = |points: &[T], side: Side, x: isize, y: isize| {
            let (dx, dy) = match side {
                Side::West => (-1, 0),
                Side::East => (1, 0),
                Side::North => (0, -1),
                Side::South => (0, 1),
            };
            let inside = |x: isize, y: isize| (0..width).contains(&x) && (0..height).contains(&y);
            let value = |x: isize, y: isize| points[(y * width + x) as usize];
            if inside(x + dx, y + dy) {
                return value(x + dx, y + dy);
            }
            let at = if dx == 0 { x } else { y } as usize;
            match self.at[side as usize] {
                At::Values => along(side, at),
                At::Slope => value(x - dx, y - dy) + along(side, at),
                At::Periodic => value((x + dx).rem_euclid(width), (y + dy).rem_euclid(height)),
            }
        };
        let omega = T::nearest(self.omega);
        let mut most = 0.0;
        for _ in 0..self.iterations {
            most = 0.0;
            for colour in 0..2 {
                let before = points.clone();
                for y in 0..height {
                    for x in 0..width {
                        let jacobi = self.method == Method::Jacobi;
                        if if jacobi { colour > 0 } else { (x + y) % 2 != colour } {
                            continue;
                        }
                        let [west, east, north, south] = Side::ALL.map(|side| neighbour(&before, side, x, y));
                        let point = before[(y * width + x) as usize];
                        let [w, e, n, s] = self.weights.map(T::nearest);
                        let mean = match self.weights {
                            QUARTERS => w * ((north + south) + (west + east)),
                            _ => (n * north + s * south) + (w * west + e * east),
                        };
                        let change = omega * (mean - point);
                        points[(y * width + x) as usize] = point + change;
                        most = f64::max(most, change.magnitude().wide());
                    }
                }
            }
        }
        (points, most)
    }
}

/// Every layout of `nodes` nodes, with several widths of halo.
pub(crate) fn layouts(nodes: usize) -> Vec<Layout> {
    let ways = [Way::Packed, Way::Stored, Way::Transferred, Way::Persistent, Way::Typed];
    let blocks = (1..=nodes).filter(|columns| nodes.is_multiple_of(*columns)).flat_map(|columns| {
        let layout = move |halo| Layout::new(columns, nodes / columns, halo);
        let narrow = ways.map(|way| Layout { way, overlap: way == Way::Stored || columns == 2, ..layout(1) });
        let wide = [2, 3, 4, 6].map(|halo| Layout {
            way: ways[(halo + columns) % ways.len()],
            wave: halo / 2,
            ..layout(halo)
        });
        narrow.into_iter().chain(wide)
    });
    let few = |layout: &Layout| layout.halo == 1 + layout.columns % 2 && layout.columns.max(layout.rows) > 2;
    let balanced = blocks.clone().filter(few);
    let balanced = balanced.map(|layout| Layout { extra: [1, 2], ..layout });
    std::iter::once(Layout::ONE).chain(blocks).chain(balanced).collect()
}

/// Kinds of edges and methods on a grid of this size.
pub(crate) fn cases(size: [usize; 2]) -> Vec<Case> {
    use At::{Periodic, Slope, Values};
    let edges = [
        [Values; 4],
        [Slope, Slope, Slope, Slope],
        [Values, Slope, Slope, Values],
        [Periodic, Periodic, Values, Slope],
        [Slope, Values, Periodic, Periodic],
        [Periodic; 4],
    ];
    let methods = [(Method::RedBlack, 1.5), (Method::Jacobi, 0.9)];
    let all = edges.into_iter().enumerate().flat_map(|(number, at)| {
        let weights = if number == 2 { [0.1, 0.3, 0.45, 0.125] } else { QUARTERS };
        methods.map(|(method, omega)| Case { size, at, method, omega, weights, iterations: 5 })
    });
    all.filter(|case| {
        let odd = |direction: usize| size[direction] % 2 == 1 && case.at[2 * direction] == Periodic;
        let thin = |direction: usize| size[direction] < 2 && case.at[2 * direction..][..2].contains(&Slope);
        !(thin(0) || thin(1) || case.method == Method::RedBlack && (odd(0) || odd(1)))
    })
    .collect()
}

/// Solves with every layout that suits, and compares. Returns the number of layouts that did.
pub(crate) fn compare<T: Value + PartialEq>(node: &mut Node, case: &Case) -> Result<usize, Error> {
    let (expected, residual) = case.expected::<T>();
    let mut suited = 0;
    for layout in layouts(node.size()) {
        // Without a threshold, waves go on from one iteration to the next.
        let grid = if layout.columns % 2 == 0 { case.grid() } else { case.grid::<T>().no_threshold() };
        let solution = match profile::solve(&grid, node, layout) {
            Err(StencilError::Layout(_)) => continue,
            other => other?,
        };
        suited += 1;
        assert_eq!((solution.iterations, solution.converged), (case.iterations, false));
        assert_eq!(solution.residual, residual, "{layout} {case:?}");
        if let Some(points) = solution.gather(node) {
            assert!(points == expected, "{layout} {case:?}");
        }
    }
    Ok(suited)
}
