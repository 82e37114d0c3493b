//! A model set as Rust that a library compiles in: models as static data with the functions that
//! compute their terms, and tables to choose from.
//!
//! For each model there is a static [`Model`](strata_select::Model), for each library a
//! [`Table`](strata_select::Table). They answer as [`Resolved`](strata_model::Resolved) does, times
//! to the last bit: `None` outside the measured ranges, on another number of nodes, where a
//! requirement fails, and where the result is negative or not finite. Half widths agree to some
//! five digits.
//!
//! The text is a function of the set alone: no date, no absolute path, everything in the order of
//! the set, numbers in the shortest form that reads back equal. rustfmt leaves it alone, so that
//! its version does not matter.

mod factor;
mod function;
mod header;
mod library;
mod typed;

use strata_model::ModelSet;
use strata_model::set::SetError;

use function::Functions;

/// The set as the text of one Rust module, which may also be included, `include!`, in another.
///
/// # Errors
/// A set that does not [resolve](ModelSet::resolve).
pub fn rust(set: &ModelSet) -> Result<String, SetError> {
    let resolved = set.resolve()?;
    let digest = set.digest();
    let functions = Functions::name(set, &resolved);
    let mut body = String::new();
    for model in &set.models {
        if let Some(formula) = resolved.formula(&model.name) {
            body += &functions.of_model(model, formula);
        }
    }
    for library in set.libraries.iter().zip(resolved.libraries()) {
        body += &library::table(set, library, &functions, &digest)?;
    }
    let mut text = header::header(set, &resolved, &digest, &body);
    text += &body;
    text += header::FOOTER;
    Ok(text)
}
