//! The edges of a grid, and what holds there.

use std::fmt;
use std::rc::Rc;

use crate::{StencilError, Value};

/// A side of a grid. Columns count from the west, rows from the north.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Before column 0.
    West,
    /// After the last column.
    East,
    /// Before row 0.
    North,
    /// After the last row.
    South,
}

impl Side {
    /// All four, in the order of their indices.
    pub const ALL: [Self; 4] = [Self::West, Self::East, Self::North, Self::South];

    /// The side across the grid.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::West => Self::East,
            Self::East => Self::West,
            Self::North => Self::South,
            Self::South => Self::North,
        }
    }

    /// Whether columns are counted across it: west and east.
    pub(crate) const fn is_horizontal(self) -> bool {
        matches!(self, Self::West | Self::East)
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::West => "west",
            Self::East => "east",
            Self::North => "north",
            Self::South => "south",
        })
    }
}

/// A function of a position along an edge.
type Along<'a, T> = Rc<dyn Fn(usize) -> T + 'a>;

/// What holds at a side of a grid.
#[derive(Clone)]
pub enum Edge<'a, T> {
    /// Dirichlet: the values just outside the grid, by position along the edge.
    Values(Along<'a, T>),
    /// Neumann: the edge's points lie on the boundary, and the value one step outside is that one
    /// step inside plus this difference, 2·h·∂u/∂n for a spacing h and the outward normal n.
    Slope(Along<'a, T>),
    /// The neighbours are the points of the opposite side.
    Periodic,
}

impl<'a, T: Value> Edge<'a, T> {
    /// Dirichlet, with one value everywhere.
    #[must_use]
    pub fn value(value: T) -> Self {
        Self::values(move |_| value)
    }

    /// Dirichlet: `value` of the position along the edge, from the west or the north.
    #[must_use]
    pub fn values(value: impl Fn(usize) -> T + 'a) -> Self {
        Self::Values(Rc::new(value))
    }

    /// Neumann without a slope: nothing flows through the edge.
    #[must_use]
    pub fn insulated() -> Self {
        Self::slope(|_| T::default())
    }

    /// Neumann: see [`Edge::Slope`].
    #[must_use]
    pub fn slope(difference: impl Fn(usize) -> T + 'a) -> Self {
        Self::Slope(Rc::new(difference))
    }
}

impl<T> fmt::Debug for Edge<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Values(_) => "Values",
            Self::Slope(_) => "Slope",
            Self::Periodic => "Periodic",
        })
    }
}

/// Whether the edges suit a grid of `size` (width, height).
pub(crate) fn check<T>(
    edges: &[Edge<'_, T>; 4],
    size: [usize; 2],
    coloured: bool,
) -> Result<(), StencilError> {
    for side in Side::ALL {
        let direction = usize::from(!side.is_horizontal());
        let points = size[direction];
        match &edges[side as usize] {
            Edge::Periodic if !matches!(edges[side.opposite() as usize], Edge::Periodic) => {
                return Err(StencilError::HalfPeriodic(side));
            }
            Edge::Periodic if coloured && points % 2 == 1 => {
                return Err(StencilError::Odd { points, direction: ["width", "height"][direction] });
            }
            Edge::Slope(_) if points < 2 => return Err(StencilError::Thin(side)),
            _ => {}
        }
    }
    Ok(())
}
