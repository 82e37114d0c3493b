//! Fourteen libraries as users write them: half choose a parameter of one function, half choose
//! among functions, five of these from public crates.
//!
//! `specs/` holds how they are measured; `cargo bench -p strata-benches --bench own` calibrates and
//! judges them.

pub mod libraries;
pub mod random;

pub use random::Random;
