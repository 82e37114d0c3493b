//! Models followed by their evaluator: Rust that needs no crate of Strata.

use std::fmt::Write as _;

use strata_model::ModelSet;
use strata_model::set::SetError;
use strata_select::sources::SOURCES;

/// The text of [`rust`](super::rust), followed by its evaluator: the parts of `strata-select` that
/// need neither `std` nor a file, as the module `strata_select`.
///
/// With `std` it needs no crate. Otherwise it is for `no_std` and needs the crate `libm`, whose
/// functions may differ from the interpreter's in the last bits. Choices read no environment
/// variables.
///
/// # Errors
/// Those of [`rust`](super::rust).
pub fn standalone(sets: &[ModelSet], std: bool) -> Result<String, SetError> {
    let models = super::rust(sets)?;
    let mut text = String::with_capacity(models.len());
    let mut outer = "super";
    for line in models.lines() {
        if line.starts_with("pub mod ") {
            outer = "super::super";
        }
        let _ = match line.strip_prefix("use strata_select::") {
            Some(names) => writeln!(text, "use {outer}::strata_select::{names}"),
            None => writeln!(text, "{line}"),
        };
    }
    Ok(text + &evaluator(std))
}

/// `strata-select` as a module.
fn evaluator(std: bool) -> String {
    // Without `macro_export`, a macro is found by its path where it is re-exported.
    let mut text = String::from(
        "\n/// What evaluates the models: `strata-select` without its documentation.\n#[rustfmt::skip]\n\
         #[allow(\n    clippy::all,\n    clippy::pedantic,\n    dead_code,\n    missing_docs,\n    unexpected_cfgs,\n    \
         unreachable_pub,\n    unused_imports,\n    unused_macros,\n    \
         reason = \"generated: a program need not use all of it\"\n)]\npub mod strata_select {\n",
    );
    for line in code("lib", "self", std).lines() {
        let module = line.trim_start_matches("pub ").strip_prefix("mod ");
        let _ = match module.and_then(|rest| rest.strip_suffix(';')) {
            Some(name) => {
                let opening = line.trim_end_matches(';');
                let code = code(name, "super", std);
                match code.contains("macro_rules! library") {
                    true => writeln!(
                        text,
                        "{opening} {{\n{code}pub(crate) use library;\n}}\npub(crate) use self::{name}::library;\n"
                    ),
                    false => writeln!(text, "{opening} {{\n{code}}}\n"),
                }
            }
            // A user's crate may have the name of a module.
            None => writeln!(text, "{}", line.replace("pub use ", "pub use self::")),
        };
    }
    text + "}\n"
}

/// The code of a module without documentation, inner attributes, tests and items that need missing
/// features; `root` stands for the crate.
fn code(module: &str, root: &str, std: bool) -> String {
    let text = SOURCES.iter().find(|(name, _)| *name == module).map_or("", |(_, text)| *text);
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    // With `std`, the methods of `f64` itself are called.
    let libm = if std && module == "math" { "any()" } else { "all()" };
    let text = text.replace("crate::", &format!("{root}::"));
    let text = text.replace("feature = \"std\"", "any()").replace("feature = \"libm\"", libm);
    let mut code = String::with_capacity(text.len());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        let second_empty = line.is_empty() && (code.is_empty() || code.ends_with("\n\n"));
        if line == "#[macro_export]" {
            continue;
        }
        if line == "#[cfg(any())]" {
            // Skip the whole item.
            let _ = lines.find(|line| *line == "}" || line.ends_with(';') && !line.starts_with(' '));
        } else if !second_empty && !["//!", "///", "#!["].iter().any(|sign| trimmed.starts_with(sign)) {
            code += line;
            code += "\n";
        }
    }
    format!("{}\n", code.trim_end())
}
