//! How Strata's programs print: lines that fit the screen, styles where a terminal has them, and
//! how a program ends that fails.

#![forbid(unsafe_code)]

mod failure;
mod text;

pub use failure::{Failure, print};
pub use text::{
    JOINED, USUAL, columns_of, has_colours, say_wrapped, shortened, styled, width, width_of_stderr, wrapped,
    wrapped_formula,
};
