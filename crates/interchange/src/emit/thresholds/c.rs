//! Thresholds as a C99 header.

use std::fmt::Write as _;

use strata_model::codegen::{Scope, one_line, snake};

use super::super::c::{KEYWORDS, RESERVED};
use super::super::kinds::Enums;
use super::body::Words;
use super::{LibraryThresholds, Rule, Thresholds, origin, with_json};

/// Thresholds as a C99 header: for each library an enumeration of the ways, a macro for each place
/// where the choice changes, a function `PREFIX_library_way_at`, and one for each parameter that
/// gives its value in a way. No name is one of the header of the models.
///
/// Whole inputs are `unsigned long long` (`long long` where they may be negative), others `double`.
/// The header includes nothing.
#[must_use]
pub fn c(set: &Thresholds, prefix: &str) -> String {
    let sets = std::slice::from_ref(set);
    let guard = format!("{prefix}_THRESHOLDS_{}_H", set.models_sha256.get(..16).unwrap_or("UNKNOWN"));
    let guard = guard.to_ascii_uppercase();
    let comment = |line: &String| format!("// {}\n", line.trim_end_matches('\\'));
    let mut text: String = origin(sets).iter().map(comment).collect();
    let _ = write!(text, "\n#ifndef {guard}\n#define {guard}\n");
    let enums = Enums::new(&set.kinds);
    text += &enums.c(prefix);
    let mut scope = Scope::default();
    for library in &set.libraries {
        let name = scope.claim(&snake(&library.library), &[""]);
        text += &of_library(library, &format!("{prefix}_{name}"), &|input| enums.c_type(input, prefix));
    }
    let _ = write!(text, "\n#endif // {guard}\n");
    with_json(&text, sets)
}

fn of_library(one: &LibraryThresholds, prefix: &str, named: &dyn Fn(&str) -> Option<String>) -> String {
    let mut scope = Scope::with(&["at"]);
    let way = |way: &super::ThresholdWay| snake(&way.to_string().replace([':', '-'], "_"));
    let ways: Vec<String> = one
        .ways
        .iter()
        .map(|one| format!("{prefix}_way_{}", scope.claim(&way(one), &["", "_below"])))
        .collect();
    let mut text = format!(
        "\n// {}.\nenum {prefix}_way {{ {} }};\n",
        one_line(&one.title()).trim_end_matches('\\'),
        ways.join(", ")
    );
    let mut parameters: Vec<&str> = Vec::new();
    for (name, _) in one.ways.iter().flat_map(|way| &way.parameters) {
        if !parameters.contains(&&**name) {
            parameters.push(name);
        }
    }
    for parameter in parameters {
        let name = scope.claim(&snake(parameter), &[""]);
        let _ = write!(
            text,
            "\n// The value of parameter `{}` in a way, 0 in those without it.\n\
             static inline long long {prefix}_way_{name}(enum {prefix}_way way) {{\n    switch (way) {{\n",
            one_line(parameter).trim_end_matches('\\')
        );
        for (way, named) in one.ways.iter().zip(&ways) {
            if let Some((_, value)) = way.parameters.iter().find(|(name, _)| name == parameter) {
                let _ = writeln!(text, "    case {named}: return {value};");
            }
        }
        text += "    default: return 0;\n    }\n}\n";
    }
    let kind = kind(one);
    let mut locals = Scope::with(&[&RESERVED[..KEYWORDS], &LOCALS].concat());
    let arguments: Vec<String> =
        one.inputs.iter().map(|input| locals.claim(&snake(&input.name), &[""])).collect();
    let types: Vec<Option<String>> = one.inputs.iter().map(|input| named(&input.name)).collect();
    let declared = arguments.iter().zip(&types);
    let declared: Vec<String> =
        declared.map(|(name, own)| format!("{} {name}", own.as_deref().unwrap_or(kind))).collect();
    let numbers = |(name, own): (String, &Option<String>)| match own {
        Some(_) => format!("({kind}){name}"),
        None => name,
    };
    let arguments: Vec<String> = arguments.into_iter().zip(&types).map(numbers).collect();
    let declared = if declared.is_empty() { "void".to_owned() } else { declared.join(", ") };
    let ranges = one_line(&one.ranges());
    let head = format!(
        "\n// The way to take. Measured with {}.\nstatic inline enum {prefix}_way {prefix}_way_at({declared}) {{\n",
        ranges.trim_end_matches('\\')
    );
    let mut names = Vec::new();
    let mut macros = Scope::default();
    for (from, step) in one.chain() {
        let name = macros.claim(&format!("{}_below", ways[from]), &[""]).to_ascii_uppercase();
        let _ = writeln!(text, "\n// `{}` below, `{}` from here on.", one.ways[from], one.ways[step.to]);
        for line in step.interval_text().iter().chain([&step.loss_text()]).filter(|line| !line.is_empty()) {
            let _ = writeln!(text, "// {}.", line.replace("; ", ";\n// "));
        }
        let _ = writeln!(text, "#define {name} {}", number(step.at, kind));
        names.push(name);
    }
    if let Rule::Table(table) = &one.rule {
        text += &format!("\n// {}.", table.told().replace("; ", ";\n// "));
    }
    let words = Words {
        unused: "(void)@;",
        truth: "(@)",
        cells: "    int at = 0;\n    static const unsigned char cells[@] = {\n",
        looked_up: &format!("    }};\n@    return (enum {prefix}_way)cells[at];\n"),
        way: &|way| ways[way].clone(),
        cell: &|way| way.to_string(),
        number: &|value| number(value, kind),
        unsigned: kind.starts_with("unsigned"),
    };
    text + &head + &words.body(&one.rule, &arguments, &names) + "}\n"
}

/// What the function calls its own.
const LOCALS: [&str; 2] = ["at", "cells"];

/// The type of all inputs.
fn kind(one: &LibraryThresholds) -> &'static str {
    match one.is_whole() {
        false => "double",
        true if one.inputs.iter().any(|input| input.low < 0.0) => "long long",
        true => "unsigned long long",
    }
}

fn number(value: f64, kind: &str) -> String {
    if kind == "double" { format!("{value:?}") } else { format!("{value:.0}") }
}
