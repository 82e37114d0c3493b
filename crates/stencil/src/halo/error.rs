//! The errors of halos.

use strata_runtime::select::SelectError;
use thiserror::Error;

/// Why a halo was not prepared or exchanged. Axes count from 0, the outermost.
///
/// If a halo cannot be prepared, every node gets an error. One that refuses the fields of an
/// exchange is only its node's: return it from the program, which ends the job.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum HaloError {
    /// Too many axes, or none.
    #[error("arrays of {0} axes: halos have 1 to 4")]
    Axes(usize),
    /// An array without elements, or with too many.
    #[error("an array of {0:?} elements: at least one along each axis, and all within memory")]
    Extents(Vec<usize>),
    /// No fields.
    #[error("a halo of no fields")]
    NoFields,
    /// More bytes of fields than memory can have.
    #[error("{fields} fields of {elements} elements each are more than memory can hold")]
    Memory {
        /// Number of fields.
        fields: usize,
        /// Elements of each.
        elements: usize,
    },
    /// The process grid has another number of nodes.
    #[error("a process grid of {grid:?} nodes: their product must be {nodes}, the number of nodes")]
    Grid {
        /// Nodes along each axis.
        grid: Vec<usize>,
        /// The nodes that there are.
        nodes: usize,
    },
    /// A neighbour that is no node.
    #[error("node {neighbour} is named as a neighbour along axis {axis}: there are {nodes} nodes")]
    NoNode {
        /// The axis.
        axis: usize,
        /// The neighbour.
        neighbour: usize,
        /// The nodes that there are.
        nodes: usize,
    },
    /// The allocated array lacks room for the halo.
    #[error(
        "axis {axis} of the allocated array has {allocated} elements, and the first interior one is {first}: \
         a halo of {} before and {} after {extent} elements does not fit", widths[0], widths[1]
    )]
    Room {
        /// The axis.
        axis: usize,
        /// Elements along it.
        allocated: usize,
        /// The position of the first interior element.
        first: usize,
        /// Interior elements.
        extent: usize,
        /// The halo's widths.
        widths: [usize; 2],
    },
    /// Elements of an array with these strides would share memory, or lie before its beginning.
    #[error(
        "strides {strides:?} with the first interior element at {first}: each element needs a place of its \
         own, the halo's included"
    )]
    Strides {
        /// Elements from one to the next along each axis.
        strides: Vec<usize>,
        /// Index of the first interior element.
        first: usize,
    },
    /// Too many halos at a time.
    #[error("{0} halos are in use: drop those that are not needed")]
    TooMany(usize),
    /// Another node was refused.
    #[error("the halo of node {0} was refused there")]
    OnNode(usize),
    /// A node has fewer elements than its neighbour's halo is wide.
    #[error(
        "node {node} has {extent} elements along axis {axis}, fewer than the halo of {width} of its \
         neighbour: use fewer nodes along this axis, or a narrower halo"
    )]
    Width {
        /// The node.
        node: usize,
        /// The axis.
        axis: usize,
        /// The halo's width.
        width: usize,
        /// The node's elements along the axis.
        extent: usize,
    },
    /// Neighbours that do not name each other.
    #[error(
        "node {} names node {} as its neighbour {} along axis {axis}, and is not named in return",
        nodes[0], nodes[1], if *after { "after it" } else { "before it" }
    )]
    OneWay {
        /// The node and its neighbour.
        nodes: [usize; 2],
        /// The axis.
        axis: usize,
        /// The side of the first one.
        after: bool,
    },
    /// Neighbours whose arrays do not match.
    #[error(
        "nodes {} and {} are neighbours along axis {axis} and disagree: {what} is {} on the first, {} on \
         the second", nodes[0], nodes[1], values[0], values[1]
    )]
    Disagree {
        /// Both nodes.
        nodes: [usize; 2],
        /// The axis along which they are neighbours.
        axis: usize,
        /// What differs.
        what: String,
        /// On each of them.
        values: [usize; 2],
    },
    /// Nodes with different kinds of halos.
    #[error(
        "nodes {} and {} disagree: {what} is {} on the first, {} on the second",
        nodes[0], nodes[1], values[0], values[1]
    )]
    Unlike {
        /// Both nodes.
        nodes: [usize; 2],
        /// What differs.
        what: &'static str,
        /// On each of them.
        values: [u64; 2],
    },
    /// Another number of fields than the halo was prepared for.
    #[error("{given} fields to exchange: the halo was prepared for {expected}")]
    Fields {
        /// The fields given.
        given: usize,
        /// The fields expected.
        expected: usize,
    },
    /// A field of another length than the halo was prepared for.
    #[error("field {field} has {given} elements: the halo was prepared for {expected}")]
    Length {
        /// The field.
        field: usize,
        /// Its elements.
        given: usize,
        /// The elements expected; of strided arrays the least.
        expected: usize,
    },
    /// A view of another shape than the halo was prepared for.
    #[cfg(feature = "ndarray")]
    #[error("field {field} is a view of {given:?} elements: the halo was prepared for {expected:?}")]
    View {
        /// The field.
        field: usize,
        /// Its shape.
        given: Vec<usize>,
        /// The shape expected.
        expected: Vec<usize>,
    },
    /// Views of a halo that was not prepared for them.
    #[cfg(feature = "ndarray")]
    #[error("views are exchanged by a halo that was prepared with `views`, row by row, not `strided`")]
    NoViews,
    /// An exchange was started and never finished.
    #[error("an exchange of this halo was started and never finished")]
    Unfinished,
    /// A program that keeps several nodes has mixed up their halos.
    #[error("this halo was prepared on another node")]
    OtherNode,
    /// The selection of an exchange failed.
    #[error(transparent)]
    Select(#[from] SelectError),
}

impl From<HaloError> for strata_runtime::Error {
    fn from(error: HaloError) -> Self {
        Self::program(error)
    }
}
