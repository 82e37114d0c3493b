//! The expression language of terms, values and factored models.
//!
//! The language is small: numbers, names, operators, ten functions and calls of other models, all
//! over `f64`. One text can be evaluated quickly ([`Program`]), printed as Rust ([`Expr::to_rust`])
//! and compared by people. Operators from the loosest: `||`, `&&`, comparisons (1 or 0; they do not
//! chain), `<< >>` (a·2^b, ⌊a/2^b⌋), `+ -`, `* / %`, `-` and `!` before an operand, and `^` (from
//! the right, tighter than a minus before it, as in mathematics).
//!
//! [`Display`](std::fmt::Display) writes the canonical text, without spaces and with the fewest
//! parentheses; samples and model sets use it as the name of a term.
//!
//! ```
//! let term = strata_model::expr::parse("length * max(0, logP - 1)")?;
//! assert_eq!(term.to_string(), "length*max(0,logP-1)");
//! let program = strata_model::Program::compile(&term, &["length", "logP"])?;
//! assert_eq!(program.eval(&[10.0, 3.0]), 20.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ast;
mod derive;
mod eval;
mod fold;
mod function;
mod op;
mod parse;
mod print;
mod rust;

mod compile;
mod program;

pub use ast::{BinaryOp, Expr, ExprKind, KNEE, MAX_HEIGHT, RESERVED, Span, UnaryOp, is_name, node_values};
pub use compile::CompileError;
pub use function::{Function, Row, Whole};
pub use parse::{ExprError, MAX_NESTING, parse, parse_at};
pub use program::Program;
pub use rust::rust_number;
pub use strata_select::table::holds;
