//! A model set in other languages: Rust for `no_std`, C, Python, LaTeX.
//!
//! Each text has the time of every model, without its interval, in one file that needs nothing of
//! Strata. The functions return what [`Resolved::seconds`](strata_model::Resolved::seconds)
//! returns. The text is a function of the set alone: no date, no absolute path, everything in the
//! order of the set, numbers in the shortest form that reads back equal.

mod c;
mod latex;
mod plain;
mod python;
mod standalone;

pub use c::c;
pub use latex::latex;
pub use python::python;
pub use standalone::no_std;
