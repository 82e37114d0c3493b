//! The library half of specc.

pub mod lang;
