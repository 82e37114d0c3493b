//! The language, the profiling programs that are emitted, and what is computed from models.
#![allow(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

#[path = "../any_spec/mod.rs"]
mod any_spec;

mod compare;
mod depending;
mod emit;
mod families;
mod lang;
mod nodes;
mod platform;
mod robust;
mod simulated;
mod thresholds;
