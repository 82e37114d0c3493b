//! The library half of specc.

pub mod drive;
pub mod emit;
pub mod lang;
