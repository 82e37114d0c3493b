//! The spec compiler: from a spec to a profiling program, from its samples to models and choices.
//!
//! [`lang`] reads and checks specs, [`points`] computes the points to measure, [`drive`] builds and
//! runs the [`profiling_program`], and [`fitting`] turns samples into model sets.
//! [`competition`], [`map`] and [`curves`] compute the fastest candidates from the models,
//! [`thresholds`] where the choice changes, as constants for programs. [`decisions`] measures what
//! the choices lose, [`compare`] compares two runs, [`race`] two programs in turns, [`guidelines`]
//! the calls of one, [`advise`] names the most useful further samples, and [`refine`] samples
//! adaptively. [`cli`] is the command line over all of them, a file for each command.

#![forbid(unsafe_code)]

// Named by the parser that `pest` derives without std.
extern crate alloc;

pub mod advise;
mod call_modes;
mod cargo;
pub mod cli;
pub mod compare;
pub mod competition;
mod coverage;
pub mod curves;
pub mod decisions;
pub mod drive;
pub mod fitting;
pub mod guidelines;
pub mod impact;
pub mod lang;
pub mod map;
mod parameters;
pub mod points;
pub mod primitives;
pub mod profiling_program;
pub mod race;
pub mod refine;
pub mod rules;
pub mod thresholds;
mod unknown_kind;
