//! Messages for people on standard error, the only way in which crates of Strata write there.
//!
//! `eprintln!` panics where standard error cannot be written: its disk is full, or its reader has
//! gone, as in `program 2>&1 | head -1`. A remark must neither end a program nor, where it stands
//! between two steps that nodes take together, let the other nodes wait for ever. There is nobody
//! to tell that a message was lost, so [`say`](crate::say()) ignores it.

use std::fmt::{Arguments, Write as _};
use std::io::Write as _;
use std::string::String;

/// Writes a line to standard error, in one piece, and ignores every error.
///
/// The message gets a line feed. All of it is one write: `eprintln!` writes several, and where
/// nodes are processes the pieces of others come between them. [`say!`](crate::say!) takes the
/// arguments of `format!`.
///
/// A standard error that can be written, but is not read, blocks as with any other write: a message
/// does not belong where other threads or nodes wait.
///
/// # Panics
/// Only where a value's own formatting does.
pub fn say(message: Arguments<'_>) {
    let mut line = String::new();
    // A value whose formatting fails leaves the message incomplete, which is better than none.
    let _incomplete = line.write_fmt(message);
    line.push('\n');
    // Without standard error there is nobody to tell.
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
