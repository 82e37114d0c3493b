//! A model set in other languages: C, Python; its choices as [`thresholds`], its models as
//! [`prices`].
//!
//! Each text has the time of every model, half of the interval of a new measurement, and for each
//! library a function that chooses, in one file that does not depend on Strata. The values are those
//! of [`Resolved::seconds`](strata_model::Resolved::seconds) and
//! [`Resolved::predict`](strata_model::Resolved::predict). The text is a function of the set alone:
//! no date, no absolute path, in the order of the set, numbers in the shortest form that reads back
//! equal.

mod c;
mod interval;
mod kinds;
mod library;
mod plain;
pub mod prices;
mod python;
pub mod thresholds;

pub use c::c;
pub use python::python;
