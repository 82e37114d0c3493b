//! Tasks and connection sets: communication that is linked, guaranteed and predicted before it
//! runs.
//!
//! An application is a tree of *tasks* on *cells*. A task has several *connection sets*, and one of
//! them is active at a time. All sets are known before the program runs. [`link()`] routes their
//! connections and checks what the machine supports. If a request cannot be met, it returns all
//! such errors; otherwise it guarantees each connection a rate and predicts the costs of task
//! starts, switches and ends.
//!
//! ```
//! use strata_tcs::{App, Target, link};
//!
//! strata_tcs::communication! {
//!     networks { East, Sum }
//!     sets { Shift: East; Check: East, Sum; }
//! }
//! let mut app = App::new("rows");
//! let root = app.task("rows", 4);
//! for cell in 0..4 {
//!     app[root].connect::<f64, East>(cell, (cell + 1) % 4);
//! }
//! for cell in 1..4 {
//!     app[root].connect::<f64, Sum>(cell, 0);
//! }
//! app[root].set::<Shift>();
//! app[root].set::<Check>();
//! let image = link(&app, root, &Target::iwarp(2, 2))?;
//! let rows = image.report().task("rows").map(|task| (task.sets[0].congestion, task.switch));
//! assert!(matches!(rows, Some((1, switch)) if (switch - 444.0).abs() < 0.03 * 444.0), "{rows:?}");
//! # Ok::<(), strata_tcs::LinkErrors>(())
//! ```
//!
//! After T. E. Warfel, *Tasks and Connection Sets* (CMU-CS-96-155, 1996).

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod barrier;
mod cost;
mod describe;
mod file;
mod launch;
mod link;
pub mod patterns;
pub mod profile;
mod run;
mod shape;
pub mod switch;
mod target;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/connection-sets.md")]
mod guide {}

pub use cost::{Cost, Estimate};
pub use describe::{
    App, Child, Connection, Contains, Input, Network, Output, Reservable, Set, Tag, Task, TaskId,
    USUAL_DEPTH, Wire,
};
pub use file::{Description, FileError};
pub use launch::{Simulated, run, run_with, simulate};
pub use link::report;
pub use link::report::Report;
pub use link::{Image, LinkError, LinkErrors, Options, Placement, link, link_with};
pub use run::{Cell, Net, RunOptions, Spool};
pub use shape::{Path, Shape};
pub use target::{RatesError, Sure, Target};
