//! Traces of a job, joined and drawn: who did what when, and what was on its way to whom.

mod draw;
mod flight;
mod perfetto;
mod states;
mod timeline;

pub use flight::Flight;
pub use perfetto::perfetto;
pub use timeline::{Span, Timeline};
