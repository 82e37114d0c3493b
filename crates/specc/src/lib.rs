//! The spec compiler: from a spec to a profiling program, from its samples to models and choices.
//!
//! [`lang`] reads and checks specs, [`points`] computes what is to be measured, [`emit`] writes the
//! profiling program, [`drive`] builds and runs it, [`fitting`] turns samples into model sets,
//! [`competition`], [`crossings`], [`map`] and [`curves`] ask the models who wins, [`crossovers`] and
//! [`thresholds`] make numbers of it that programs hold, [`decisions`] what choices lose, [`compare`]
//! what has changed between two runs, [`advise`] which samples they lack, [`refine`] samples
//! adaptively, and [`cli`] is the command line over all of them.

#![forbid(unsafe_code)]

pub mod advise;
mod bootstrap;
pub mod cli;
pub mod compare;
pub mod competition;
mod coverage;
pub mod crossings;
pub mod crossovers;
pub mod curves;
pub mod decisions;
pub mod drive;
pub mod emit;
pub mod fitting;
pub mod lang;
pub mod map;
mod otherwise;
mod parameters;
pub mod points;
pub mod refine;
pub mod thresholds;
