//! The edges of a grid, and their boundary conditions.

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

    /// True for west and east: columns are counted across the side.
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

/// A face of a volume. Columns count from the west, rows from the north, planes from the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Face {
    /// Before column 0.
    West,
    /// After the last column.
    East,
    /// Before row 0.
    North,
    /// After the last row.
    South,
    /// Before plane 0.
    Top,
    /// After the last plane.
    Bottom,
}

impl Face {
    /// All six, in the order of their indices.
    pub const ALL: [Self; 6] = [Self::West, Self::East, Self::North, Self::South, Self::Top, Self::Bottom];
}

impl fmt::Display for Face {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["west", "east", "north", "south", "top", "bottom"][*self as usize])
    }
}

/// A function of a position along an edge.
type Along<'a, T, P> = Rc<dyn Fn(P) -> T + 'a>;

/// The boundary condition at a side of a grid, or at a face of a volume. `P` is a position along
/// the side: a number. On a face it is two of column, row and plane, without the one that counts
/// across the face.
#[derive(Clone)]
pub enum Edge<'a, T, P = usize> {
    /// Dirichlet: the values just outside the grid, by position along the edge.
    Values(Along<'a, T, P>),
    /// Neumann: the edge's points are on the boundary, and the value one step outside is the value
    /// one step inside plus this difference, 2·h·∂u/∂n for a spacing h and the outward normal n.
    Slope(Along<'a, T, P>),
    /// The neighbours are the points of the opposite side.
    Periodic,
}

impl<'a, T: Value, P: 'a> Edge<'a, T, P> {
    /// Dirichlet, with one value everywhere.
    #[must_use]
    pub fn value(value: T) -> Self {
        Self::values(move |_| value)
    }

    /// Dirichlet: `value` by position along the edge, from the west or the north.
    #[must_use]
    pub fn values(value: impl Fn(P) -> T + 'a) -> Self {
        Self::Values(Rc::new(value))
    }

    /// Neumann with slope zero: no flux through the edge.
    #[must_use]
    pub fn insulated() -> Self {
        Self::slope(|_| T::default())
    }

    /// Neumann: see [`Edge::Slope`].
    #[must_use]
    pub fn slope(difference: impl Fn(P) -> T + 'a) -> Self {
        Self::Slope(Rc::new(difference))
    }
}

impl<T, P> fmt::Debug for Edge<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Values(_) => "Values",
            Self::Slope(_) => "Slope",
            Self::Periodic => "Periodic",
        })
    }
}

impl<'a, T: 'a, P: 'a> Edge<'a, T, P> {
    /// The same condition by place in the whole problem; `along` converts a place to the position
    /// along the edge.
    pub(crate) fn at_places(&self, along: impl Fn([usize; 3]) -> P + 'a) -> Edge<'a, T, [usize; 3]> {
        match self {
            Self::Values(value) => {
                let value = Rc::clone(value);
                Edge::Values(Rc::new(move |place| value(along(place))))
            }
            Self::Slope(slope) => {
                let slope = Rc::clone(slope);
                Edge::Slope(Rc::new(move |place| slope(along(place))))
            }
            Self::Periodic => Edge::Periodic,
        }
    }

    /// A number that identifies its kind.
    pub(crate) fn kind(&self) -> u64 {
        match self {
            Self::Values(_) => 0,
            Self::Slope(_) => 1,
            Self::Periodic => 2,
        }
    }
}

/// Checks that the edges suit these numbers of points; each direction has two edges. If `coloured`,
/// colours alternate, and must do so across a periodic edge too.
pub(crate) fn check<T, P>(
    edges: &[Edge<'_, T, P>],
    points: &[usize],
    coloured: bool,
) -> Result<(), StencilError> {
    for (index, edge) in edges.iter().enumerate() {
        let face = Face::ALL[index];
        let points = points[index / 2];
        match edge {
            Edge::Periodic if !matches!(edges[index ^ 1], Edge::Periodic) => {
                return Err(StencilError::HalfPeriodic(face));
            }
            Edge::Periodic if coloured && points % 2 == 1 => {
                let direction = ["width", "height", "depth"][index / 2];
                return Err(StencilError::Odd { points, direction });
            }
            Edge::Slope(_) if points < 2 => return Err(StencilError::Thin(face)),
            _ => {}
        }
    }
    Ok(())
}
