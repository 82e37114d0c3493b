//! Iterative solvers on regular grids, with a data layout chosen by calibrated models.
//!
//! A [`Grid`] is Laplace's equation on a rectangle, or another equation with four or eight
//! neighbours, with values, slopes or periodic neighbours at its edges; a [`Volume`] is such an
//! equation in a box. They are solved by successive over-relaxation in colours or by Jacobi's
//! method. The nodes of a program share the points. Models measured on the machine choose the
//! layout: one node with all points, strips or blocks, and the number of layers of neighbours'
//! points that are exchanged at a time (Brewer 1994, §4.4).
//!
//! ```
//! use strata_runtime::prelude::*;
//! use strata_stencil::{Edge, Grid, Side};
//!
//! let solutions = Machine::threads(4)?.run(|node| {
//!     let plate = Grid::new(100, 80)
//!         .boundary(Side::West, Edge::insulated())
//!         .boundary(Side::North, Edge::values(|column| column as f64))
//!         .solve(node)?;
//!     Ok(plate.to_string())
//! })?;
//! assert!(solutions[0].contains("converged after"), "{}", solutions[0]);
//! # Ok::<(), Error>(())
//! ```
//!
//! | candidate | parameters | layout |
//! |---|---|---|
//! | `one` | | all points on node 0: for small grids, and whatever does not suit the others |
//! | `columns` | `columns`, `halo` | blocks in so many columns, at most as many as rows; 1: horizontal strips |
//! | `rows` | `rows`, `halo` | blocks in so many rows, fewer than columns; 1: vertical strips |
//!
//! The variant of the halo exchange ([`Way`]), including its overlap with the sweep of inner
//! points, is a separate choice, `stencil_exchange`: each layout is rated with the exchange that it
//! would use. The number of sweeps in one pass through the rows is a third choice, `stencil_wave`,
//! and how many columns and rows more the nodes at the edges of the grid take a fourth,
//! `stencil_edges`.
//!
//! A [`Halo`] is that exchange for arrays of a program's own.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

pub mod edge;
mod error;
mod exchange;
mod grid;
pub mod halo;
pub mod layout;
mod links;
mod memory;
mod models;
pub mod near;
mod part;
mod plain;
mod points;
mod problem;
pub mod profile;
mod settings;
pub mod snapshot;
mod solution;
mod solver;
mod sweep;
mod value;
mod volume;

pub use edge::{Edge, Side};
pub use error::StencilError;
pub use exchange::Way;
pub use grid::Grid;
pub use halo::Halo;
pub use models::Stencil;
pub use settings::{Method, Progress};
pub use solution::Solution;
pub use strata_runtime::select::Options;
pub use strata_select::Pin;
pub use value::Value;
pub use volume::Volume;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/halos.md")]
mod guide {}

/// The choice of a layout, and the reasons for it.
pub type Choice = strata_select::Choice<[strata_select::Row; 3]>;
