//! Messages for people on standard error, the only way in which crates of Strata write there.
//!
//! `eprintln!` panics if standard error cannot be written: its disk is full, or its reader has
//! gone, as in `program 2>&1 | head -1`. A message must neither end a program nor leave other nodes
//! waiting for ever. A lost message cannot be reported, so [`say`](crate::say()) ignores the error.

use std::fmt::{Arguments, Write as _};
use std::io::Write as _;
use std::string::String;

/// Writes a line to standard error, in one piece, and ignores every error.
///
/// A line feed is added. The whole message is one write: `eprintln!` writes several pieces, and
/// messages of other processes come between them. [`say!`](crate::say!) takes the arguments of
/// `format!`.
///
/// A standard error that is not read blocks, as with any other write: do not write a message while
/// other threads or nodes wait.
///
/// # Panics
/// Only where a value's own formatting does.
pub fn say(message: Arguments<'_>) {
    let mut line = String::new();
    // A value whose formatting fails leaves the message incomplete, which is better than none.
    let _incomplete = line.write_fmt(message);
    line.push('\n');
    // A failed write cannot be reported.
    let _unwritten = std::io::stderr().write_all(line.as_bytes());
}

/// Writes a line to standard error, in one piece, and ignores every error: `eprintln!` without its
/// panic. It takes the arguments of `format!`; see [`say`](crate::say()).
///
/// ```
/// use strata_select::say;
///
/// let name = "radx";
/// say!("strata: there is no candidate `{name}`");
/// ```
#[macro_export]
macro_rules! say {
    ($($message:tt)+) => {
        $crate::say(::core::format_args!($($message)+))
    };
}
