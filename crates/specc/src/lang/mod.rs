//! The spec language.

pub mod ast;
mod diagnostic;
mod lex;
pub mod plan;
mod parse;
mod scan;

pub use diagnostic::{CheckError, CheckErrors, ErrorCode};
pub use parse::{Parsed, parse};
