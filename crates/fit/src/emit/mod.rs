//! Model sets as Rust that a library compiles in: models as static data with the functions that
//! compute their terms, tables to choose from, and an enum of each library's candidates.
//!
//! For each model there is a static [`Model`](strata_select::table::Model), for each library a
//! [`Table`](strata_select::Table). They return the values of [`Resolved`](strata_model::Resolved),
//! times to the last bit: `None` outside the measured ranges, on another number of nodes, if a
//! requirement fails, and if the result is negative or not finite. Half widths agree to some five
//! digits.
//!
//! Sets of several platforms have a module each, and share the enums. [`rust`] writes a module for
//! programs with the crate `strata-select`, [`add`] puts a further set into its text;
//! [`standalone()`] appends the evaluator, for programs without Strata.
//!
//! The text is a function of the sets alone: no date, no absolute path, in the order of the sets,
//! numbers in the shortest form that reads back equal. rustfmt skips it, so its version does not
//! matter.

mod add;
mod factor;
mod function;
mod header;
mod library;
mod standalone;
mod typed;

use strata_model::codegen::{Scope, snake};
use strata_model::set::{Model, SetError};
use strata_model::{ModelSet, Platform};

use function::Functions;

pub use add::{AddError, Added, add, is_generated, is_old};
pub use standalone::standalone;
pub use typed::renamed;

/// Model sets of one spec, measured on several platforms, as the text of one Rust module, which can
/// also be included (`include!`) in another.
///
/// # Errors
/// A set that does not [resolve](ModelSet::resolve), or that has other candidates, parameters or
/// inputs in a library than a set before it.
pub fn rust(sets: &[ModelSet]) -> Result<String, SetError> {
    let mut scope = Scope::default();
    let names: Vec<String> = sets.iter().map(|set| scope.claim(&module_name(set), &[""])).collect();
    let enums = typed::libraries(sets, &names)?;
    let mut text = header::header(&enums);
    text += &enums;
    for (set, name) in sets.iter().zip(&names) {
        text += &module(set, name)?;
    }
    text.truncate(text.trim_end().len());
    Ok(text + header::FOOTER)
}

/// What the module of a set is called, unless another has the name.
fn module_name(set: &ModelSet) -> String {
    let platform = |platform: &Platform| snake(&format!("{} {}", platform.transport, platform.nodes));
    set.platform.as_ref().map_or("measured".to_owned(), platform)
}

/// The models and tables of a set.
fn module(set: &ModelSet, name: &str) -> Result<String, SetError> {
    let resolved = set.resolve()?;
    let digest = set.digest();
    let mut functions = Functions::name(set, &resolved);
    let text = |functions: &Functions<'_>| {
        let of_model = |model: &Model| Some(functions.of_model(model, resolved.formula(&model.name)?));
        let models: String = set.models.iter().filter_map(of_model).collect();
        let libraries = set.libraries.iter().zip(resolved.libraries());
        models + &libraries.map(|one| library::table(set, one, functions, &digest)).collect::<String>()
    };
    // The first text shows what several models share.
    text(&functions);
    let shared = functions.share();
    let body = shared + &text(&functions);
    Ok(format!("{}{}\n}}\n\n", header::module(set, &resolved, &digest, &body, name), body.trim_end()))
}
