//! One page for people: what was fitted, how well, and who wins where.
//!
//! A single HTML file with its plots inside: it can be mailed, printed and read on a phone, and asks no network and no
//! script. Everything that comes from a spec or a samples file is escaped.

mod map;
mod page;
mod plot;

pub use map::{Axis, Cell, Map};
pub use page::html;
