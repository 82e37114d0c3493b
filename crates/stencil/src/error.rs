//! The errors of solving.

use strata_runtime::select::SelectError;
use thiserror::Error;

use crate::{Side, edge::Face};

/// Why a problem was not solved. Every node gets the same error.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum StencilError {
    /// A grid without points, or with too many.
    #[error("a grid of {width} by {height} points: each side needs at least one, the product at most 2^48")]
    Size {
        /// Points from west to east.
        width: usize,
        /// Points from north to south.
        height: usize,
    },
    /// A volume without points, or with too many.
    #[error(
        "a volume of {} by {} by {} points: each side needs at least one, the product at most 2^48",
        size[0], size[1], size[2]
    )]
    Volume {
        /// Points from west to east, north to south, top to bottom.
        size: [usize; 3],
    },
    /// The factor of over-relaxation is outside its range.
    #[error("omega is {0}: over-relaxation converges for values above 0 and below 2, Jacobi up to 1")]
    Omega(f64),
    /// Weights of neighbours that are not numbers, or with which iterations would diverge.
    #[error("the weights of the neighbours are {0:?}: their magnitudes add up to at most 1, and not to 0")]
    Weights(Vec<f64>),
    /// The threshold is negative or not a number.
    #[error("the threshold is {0}: it is a largest update, such as 1e-6; 0 is never reached")]
    Threshold(f64),
    /// A side is periodic and the opposite one is not.
    #[error("the {0} edge is periodic, and the opposite one is not: make both periodic")]
    HalfPeriodic(Face),
    /// A periodic grid whose colours do not alternate across the edge.
    #[error(
        "{points} points around a periodic {direction}: red-black needs an even number, so that colours \
         alternate across the edge; add a point, or use Method::Jacobi"
    )]
    Odd {
        /// The number of points in that direction.
        points: usize,
        /// `width`, `height` or `depth`.
        direction: &'static str,
    },
    /// A slope is given at an edge, but the grid has only one point in that direction.
    #[error("the slope at the {0} edge needs two points in its direction, and there is one")]
    Thin(Face),
    /// An initial value is not finite.
    #[error("the initial value at ({x}, {y}) is {value}")]
    Initial {
        /// Column, from 0 in the west.
        x: usize,
        /// Row, from 0 in the north.
        y: usize,
        /// The value.
        value: f64,
    },
    /// An initial value of a volume is not finite.
    #[error("the initial value at ({}, {}, {}) is {value}", place[0], place[1], place[2])]
    InitialVolume {
        /// Column, row and plane.
        place: [usize; 3],
        /// The value.
        value: f64,
    },
    /// A value of a face is not finite.
    #[error("the value of the {face} face at ({}, {}) is {value}", at[0], at[1])]
    Face {
        /// The face.
        face: Face,
        /// The position along it.
        at: [usize; 2],
        /// The value.
        value: f64,
    },
    /// A value of an edge is not finite.
    #[error("the value of the {side} edge at {at} is {value}")]
    Edge {
        /// The side.
        side: Side,
        /// The position along it, from the west or the north.
        at: usize,
        /// The value.
        value: f64,
    },
    /// An update exceeded the range of the number type, or returned NaN.
    #[error(
        "values overflow at or before iteration {0}: scale the initial values and the edges down; an update \
         of your own must return finite numbers"
    )]
    Overflow(u64),
    /// A node lacks memory for its part.
    #[error(
        "node {node} cannot allocate {bytes} bytes for its part of the grid; use more machines or fewer points"
    )]
    Memory {
        /// The first node without memory.
        node: usize,
        /// The bytes needed.
        bytes: u64,
    },
    /// The pinned layout does not suit the grid or the number of nodes.
    #[error("{0}")]
    Layout(String),
    /// The nodes were given different problems.
    #[error("the nodes were given grids of different sizes, methods or limits")]
    Unlike,
    /// The selection of a layout failed.
    #[error(transparent)]
    Select(#[from] SelectError),
}

impl From<StencilError> for strata_runtime::Error {
    fn from(error: StencilError) -> Self {
        Self::program(error)
    }
}
