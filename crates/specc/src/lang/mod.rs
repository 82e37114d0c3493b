//! The spec language: what to measure, which terms its cost may have, and which implementations
//! compete.
//!
//! One grammar, two spellings of one tree: blocks for people, and the one-line form of Brewer
//! (1994), Fig 3-3. The stages, one module each: `scan` takes comments and Rust code out, `parse`
//! builds the tree ([`ast`]), `expand` writes out what its names and families stand for, `check`
//! makes it a plan ([`checked`]) or says everything that is wrong
//! ([`CheckErrors`]), `print` writes it canonically.
//!
//! ```
//! let spec = specc::lang::load("clear.spec", "{{ x 1 10000 <<=1 @ @ clear_memory(data, x) @ @ length:x @ }}")?;
//! assert_eq!(spec.models[0].name, "clear_memory");
//! assert_eq!(spec.models[0].columns()[0].text, "length");
//! # Ok::<(), specc::lang::CheckErrors>(())
//! ```
//!
//! **Invariant:** what [`load_all`] accepts can always be generated; no text makes it panic.

pub mod ast;
mod canonical_text;
mod check;
pub mod checked;
mod code;
mod diagnostic;
mod expand;
mod lex;
mod load;
mod loop_points;
pub(crate) mod machine;
pub(crate) mod parameter_range;
mod parse;
mod print;
mod scan;
mod words;
mod wrap;

pub use checked::CheckedSpec;
pub use diagnostic::{CheckError, CheckErrors, ErrorCode};
pub use load::{find_specs, load, load_all, load_paths, read_spec};
pub use loop_points::{MAX_POINTS, Nest, TooManyPoints};
pub use parse::{Parsed, parse};
pub use print::format;
pub(crate) use wrap::wrapped_to;
