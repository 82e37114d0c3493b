//! Models as Rust for `no_std`: only `core`, and the crate `libm` where logarithms, roots or
//! rounding are needed.

use strata_model::ModelSet;
use strata_model::codegen::markdown;
use strata_model::expr::{Row, rust_number};
use strata_model::set::SetError;

use super::plain::{Language, PlainModel, origin, resolve, used};

struct Rust;

impl Language for Rust {
    const RESERVED: &'static [&'static str] =
        &["libm", "core", "std", "f64", "holds", "square", "cube", "seconds_of"];
    const AND: &'static str = "&&";
    const OR: &'static str = "||";

    fn number(value: f64) -> String {
        rust_number(value)
    }

    fn truth(condition: &str) -> String {
        format!("f64::from({condition})")
    }

    fn function(row: &Row, arguments: &str) -> String {
        row.no_std.replace('@', arguments)
    }

    fn call(name: &str, arguments: &[String]) -> String {
        let list = arguments.join(", ");
        match (name, arguments) {
            ("fmod", [a, b]) => format!("(({a}) % ({b}))"),
            ("holds" | "square" | "cube", _) => format!("{name}({list})"),
            _ => format!("libm::{name}({list})"),
        }
    }
}

const HELPERS: [(&str, &str); 3] = [
    (
        "holds",
        "/// Whether a value counts as true.\nfn holds(value: f64) -> bool {\n    f64::abs(value) > 0.0\n}\n\n",
    ),
    ("square", "fn square(x: f64) -> f64 {\n    x * x\n}\n\n"),
    ("cube", "fn cube(x: f64) -> f64 {\n    x * x * x\n}\n\n"),
];

/// The set as one Rust module for `no_std`, without allocation: for each model its time in seconds,
/// as `name(nodes, inputs…) -> Option<f64>`.
///
/// `None` where [`Resolved::seconds`](strata_model::Resolved::seconds) is: outside the measured
/// ranges, on another number of nodes, where a requirement fails, and where the result is negative
/// or not finite. Functions beyond arithmetic come from the crate `libm`, so that they may differ
/// from the interpreter's in the last bits. Intervals are left out; `strata_fit::emit::rust` has
/// them.
///
/// # Errors
/// A set that does not [resolve](ModelSet::resolve).
pub fn no_std(set: &ModelSet) -> Result<String, SetError> {
    let models = resolve(set, Rust::RESERVED)?;
    let body: String = models.iter().map(function).collect();
    let mut text: String = origin(set).iter().map(|line| format!("//! {line}\n")).collect();
    text += "//!\n//! Each function is the time of a model in seconds, `None` where the model holds no longer. Neither the standard\n\
             //! library nor an allocator is needed";
    text += if body.contains("libm::") { "; the crate `libm` is.\n\n" } else { ".\n\n" };
    // A guard names both ends of a range, and numbers keep all their digits.
    text += "#![allow(clippy::all, unused_parens)]\n\n";
    text += &used(&HELPERS, &body);
    text += "/// A time, if it is one.\nfn seconds_of(seconds: f64) -> Option<f64> {\n    \
             if seconds >= 0.0 && seconds < f64::INFINITY { Some(seconds) } else { None }\n}\n";
    Ok(text + &body)
}

fn function(model: &PlainModel) -> String {
    let [quality, validity] = model.doc.each_ref().map(|line| markdown(line));
    let arguments: String = model.arguments.iter().map(|a| format!(", {a}: f64")).collect();
    let mut text = format!("\n/// {quality}.\n///\n/// Valid for {validity}.\n#[must_use]\n");
    text += &format!("pub fn {}(nodes: usize{arguments}) -> Option<f64> {{\n", model.name);
    let locals = [
        ("p", "nodes as f64"),
        ("log_p", "libm::log2(nodes as f64)"),
        ("sqrt_p", "libm::sqrt(nodes as f64)"),
    ];
    for ((name, value), _) in locals.iter().zip(model.reads_nodes()).filter(|(_, read)| *read) {
        text += &format!("    let {name} = {value};\n");
    }
    let conditions = model.conditions::<Rust>().join("\n        && ");
    text += &format!("    let valid = {conditions};\n    if !valid {{\n        return None;\n    }}\n");
    text += &format!("    seconds_of({})\n}}\n", model.addends::<Rust>().join("\n        + "));
    text
}
