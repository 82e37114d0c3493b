//! Fourteen libraries as users write them: half choose a parameter of one function, half choose
//! among functions, five of these from public crates.
//!
//! A module in [`libraries`] holds what is measured and its old rule, `specs/` how it is
//! measured, the other modules race it.

pub mod calibrate;
pub mod choose;
pub mod clock;
pub mod draw;
pub mod judge;
pub mod libraries;
pub mod library;
pub mod race;
pub mod random;
pub mod report;

pub use random::Random;
