//! Models as Rust that needs nothing but `std`, or for `no_std` only `core`, and the crate `libm`
//! where logarithms, roots or rounding are needed.

use strata_model::ModelSet;
use strata_model::codegen::{Scope, markdown};
use strata_model::expr::{Row, rust_number};
use strata_model::set::SetError;

use super::interval::call;
use super::library::{Loop, PlainLibrary};
use super::plain::{Language, Returns, origin, resolve, used};

/// Rust with the functions of `std`, or with those of the crate `libm`.
struct Rust<const STD: bool>;

impl<const STD: bool> Language for Rust<STD> {
    const RESERVED: &'static [&'static str] =
        &["libm", "core", "std", "f64", "holds", "square", "cube", "spread", "seconds_of"];
    const AND: &'static str = "&&";
    const OR: &'static str = "||";

    fn number(value: f64) -> String {
        rust_number(value)
    }

    fn truth(condition: &str) -> String {
        format!("f64::from({condition})")
    }

    fn function(row: &Row, arguments: &str) -> String {
        if STD { format!("f64::{}({arguments})", row.method) } else { row.no_std.replace('@', arguments) }
    }

    fn call(name: &str, arguments: &[String]) -> String {
        let list = arguments.join(", ");
        match (name, arguments) {
            ("fmod", [a, b]) => format!("(({a}) % ({b}))"),
            ("holds" | "square" | "cube" | "spread", _) => format!("{name}({list})"),
            _ if STD => format!("f64::{name}({list})"),
            _ => format!("libm::{name}({list})"),
        }
    }

    const NODES: [&'static str; 3] = if STD {
        ["nodes as f64", "f64::log2(nodes as f64)", "f64::sqrt(nodes as f64)"]
    } else {
        ["nodes as f64", "libm::log2(nodes as f64)", "libm::sqrt(nodes as f64)"]
    };

    fn define(
        name: &str,
        doc: Option<[&str; 2]>,
        arguments: &[String],
        returns: Returns,
        body: &str,
    ) -> String {
        let doc = doc.map_or("\n".to_owned(), |doc| {
            let [first, validity] = doc.map(markdown);
            format!("\n/// {first}.\n///\n/// Valid for {validity}.\n#[must_use]\npub ")
        });
        let result = if returns == Returns::Time { "Option<f64>" } else { "f64" };
        let arguments: String = arguments.iter().map(|a| format!(", {a}: f64")).collect();
        format!("{doc}fn {name}(nodes: usize{arguments}) -> {result} {{\n{body}}}\n")
    }

    fn bind(name: &str, value: &str) -> String {
        format!("    let {name} = {value};\n")
    }

    fn bind_time(name: &str, call: &str) -> String {
        format!("    let {name} = {call}?;\n")
    }

    fn or_nan(call: &str) -> String {
        format!("{call}.unwrap_or(f64::NAN)")
    }

    fn guard(conditions: &[String]) -> String {
        let conditions = conditions.join("\n        && ");
        format!("    let valid = {conditions};\n    if !valid {{\n        return None;\n    }}\n")
    }

    fn give(value: &str) -> String {
        format!("    {value}\n")
    }

    fn give_time(addends: &[String]) -> String {
        format!("    seconds_of({})\n", addends.join("\n        + "))
    }
}

const HELPERS: [(&str, &str); 4] = [
    (
        "holds",
        "/// Whether a value counts as true.\nfn holds(value: f64) -> bool {\n    f64::abs(value) > 0.0\n}\n\n",
    ),
    ("square", "fn square(x: f64) -> f64 {\n    x * x\n}\n\n"),
    ("cube", "fn cube(x: f64) -> f64 {\n    x * x * x\n}\n\n"),
    (
        "spread",
        "/// The square of what the interval of one call adds to that of the whole.\n\
         fn spread(above: f64, below: f64) -> f64 {\n    let difference = (above - below) / 2.0;\n    \
         if difference.is_finite() { difference * difference } else { 0.0 }\n}\n\n",
    ),
];

/// The set as one Rust module without dependencies: for each model its time in seconds, as
/// `name(nodes, inputs…) -> Option<f64>`, half of its interval as `name_half_width`, and for each
/// library `library_choose`. Nothing is allocated.
///
/// `None` where [`Resolved::seconds`](strata_model::Resolved::seconds) is: outside the measured
/// ranges, on another number of nodes, where a requirement fails, and where the result is negative
/// or not finite.
///
/// # Errors
/// A set that does not [resolve](ModelSet::resolve).
pub fn rust(set: &ModelSet) -> Result<String, SetError> {
    module::<true>(set)
}

/// As [`rust`], for `no_std`: functions beyond arithmetic come from the crate `libm`, so that they
/// may differ from the interpreter's in the last bits.
///
/// # Errors
/// A set that does not [resolve](ModelSet::resolve).
pub fn no_std(set: &ModelSet) -> Result<String, SetError> {
    module::<false>(set)
}

fn module<const STD: bool>(set: &ModelSet) -> Result<String, SetError> {
    let plain = resolve(set, Rust::<STD>::RESERVED)?;
    let mut body = plain.functions::<Rust<STD>>();
    body.extend(plain.libraries.iter().map(choice));
    let mut text: String = origin(set).iter().map(|line| format!("//! {line}\n")).collect();
    text += "//!\n//! Each function is the time of a model in seconds, `None` where the model holds no\n\
             //! longer; `_half_width` is half of the 95 % interval of a new measurement.";
    text += match (STD, body.contains("libm::")) {
        (true, _) => "\n\n",
        (false, true) => " For `no_std`; the crate `libm` is needed.\n\n",
        (false, false) => " For `no_std`.\n\n",
    };
    // A guard names both ends of a range, numbers keep all their digits, and not every model reads
    // all that its functions are given.
    text += "#![allow(clippy::all, unused_assignments, unused_parens, unused_variables)]\n\n";
    text += &used(&HELPERS, &body);
    text += "/// A time, if it is one.\nfn seconds_of(seconds: f64) -> Option<f64> {\n    \
             if seconds >= 0.0 && seconds < f64::INFINITY { Some(seconds) } else { None }\n}\n";
    Ok(text + &body)
}

/// `own_sort` as `OwnSort`.
fn pascal(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    };
    name.split('_').map(word).collect()
}

/// The types and the function of a choice.
fn choice(library: &PlainLibrary) -> String {
    let PlainLibrary { called, name, inputs, candidates, .. } = library;
    let called = markdown(called);
    if let Some(why) = library.refused() {
        return format!("\n// {why}\n");
    }
    let (kind, size) = (pascal(name), library.parameters());
    let mut scope = Scope::default();
    let variants: Vec<String> = candidates.iter().map(|c| scope.claim(&pascal(&c.name), &[""])).collect();
    let mut text = format!(
        "\n/// The candidates of library `{called}`.\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]\npub enum {kind}Candidate {{\n"
    );
    for (candidate, variant) in candidates.iter().zip(&variants) {
        text += &format!("    /// `{}`.\n    {variant},\n", markdown(&candidate.called));
    }
    text += &format!(
        "}}\n\n/// The fastest candidate of library `{called}`.\n#[derive(Clone, Copy, Debug, PartialEq)]\npub struct {kind}Choice {{\n    \
         /// Which it is.\n    pub candidate: {kind}Candidate,\n    \
         /// Its parameters in the order of the spec; zero beyond them.\n    pub parameters: [i64; {size}],\n    \
         /// Its time in seconds.\n    pub seconds: f64,\n    \
         /// Half of the 95 % interval of a new measurement, in seconds; NaN where it has none.\n    pub half_width: f64,\n    \
         /// Whether this was measured; else all is that of the nearest point that was.\n    pub covered: bool,\n}}\n\n\
         /// Chooses among the candidates of library `{called}`; `None` where none predicts.\n///\n\
         /// Outside what was measured they are ranked at the nearest point that was.\n///\n\
         /// Tries {} combinations of candidates and parameters.\n#[must_use]\n",
        library.combinations()
    );
    let arguments: String = inputs.iter().map(|input| format!(", {input}: f64")).collect();
    let bound = |name: &str, least: Option<String>, greatest: Option<String>| {
        let least = least.map_or(String::new(), |least| format!(".max({least})"));
        let greatest = greatest.map_or(String::new(), |greatest| format!(".min({greatest})"));
        format!("{name}{least}{greatest}")
    };
    let (names, moved): (Vec<_>, Vec<_>) = library.nearest(&bound).into_iter().unzip();
    let nearest = format!(
        "let asked = ({0},);\n    let ({0},) = ({1},);\n    let covered = asked == ({0},);\n    ",
        names.join(", "),
        moved.join(", ")
    );
    text += &format!(
        "pub fn {name}_choose(nodes: usize{arguments}) -> Option<{kind}Choice> {{\n    \
         {nearest}let mut least = f64::INFINITY;\n    let mut choice: Option<{kind}Choice> = None;\n"
    );
    for (candidate, variant) in candidates.iter().zip(&variants) {
        let mut indent = String::from("    ");
        let mut ends = Vec::new();
        let mut parameters = vec!["0".to_owned(); size];
        for (k, (variable, range)) in candidate.parameters.iter().enumerate() {
            let Loop { first, last, step: (operator, by) } = Loop::new(range);
            text += &format!(
                "{indent}let mut {variable}: i64 = {first};\n{indent}while {variable} <= {last} {{\n"
            );
            ends.push(format!("{indent}    {variable} {operator}= {by};\n{indent}}}\n"));
            indent += "    ";
            parameters[k].clone_from(variable);
        }
        let arguments = candidate.arguments(inputs, &|_, variable| format!("{variable} as f64"));
        let (time, ratio) = (call(&candidate.model.name, &arguments), candidate.ratio);
        text += &format!(
            "{indent}match {time} {{\n{indent}    Some(seconds) if seconds * {ratio:?} < least => {{\n"
        );
        text += &format!("{indent}        least = seconds * {ratio:?};\n");
        text += &format!(
            "{indent}        choice = Some({kind}Choice {{ candidate: {kind}Candidate::{variant}, parameters: [{}], seconds, \
             half_width: f64::NAN, covered }});\n{indent}    }}\n{indent}    _ => {{}}\n{indent}}}\n",
            parameters.join(", ")
        );
        text.extend(ends.iter().rev().map(String::as_str));
    }
    text += "    let best = choice.as_mut()?;\n    let half_width = match best.candidate {\n";
    for (candidate, variant) in candidates.iter().zip(&variants) {
        let arguments = candidate.arguments(inputs, &|k, _| format!("best.parameters[{k}] as f64"));
        let half = call(&format!("{}_half_width", candidate.model.name), &arguments);
        text += &format!("        {kind}Candidate::{variant} => {half},\n");
    }
    text + "    };\n    best.half_width = half_width.unwrap_or(f64::NAN);\n    choice\n}\n"
}
