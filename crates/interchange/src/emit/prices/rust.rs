//! Prices as Rust functions of whole numbers.

use strata_model::codegen::{Scope, snake};

use super::whole::{Operation, Whole, grouped, sum};
use super::{Prices, origin};

/// A module without dependencies, of a function a model; it stays at `u64::MAX` where a sum is
/// greater.
///
/// # Errors
/// A message: an input or a term that is not computed in whole numbers.
pub fn rust(prices: &Prices) -> Result<String, String> {
    let mut text: String = origin(prices).iter().map(|line| format!("// {line}\n")).collect();
    text += "// Whole numbers, rounded up; sums that are too great stay at u64::MAX.\n";
    let mut scope = Scope::with(&["log2_up"]);
    let mut logarithms = false;
    for price in &prices.rows {
        let mut locals = Scope::with(&[]);
        let names: Vec<(&str, String)> = price
            .inputs
            .iter()
            .map(|input| (&*input.name, locals.claim(&snake(&input.name), &[""])))
            .collect();
        let name = |wanted: &str| {
            names
                .iter()
                .find(|(input, _)| *input == wanted)
                .map_or(wanted.to_owned(), |(_, name)| name.clone())
        };
        let sum = sum(price, &name)?;
        let body = spelt(&sum, &mut logarithms);
        let used = |variable: &str| reads(&sum, variable);
        let arguments: Vec<String> = (names.iter())
            .map(|(_, name)| format!("{}{name}: u64", if used(name) { "" } else { "_" }))
            .collect();
        text.push('\n');
        price.docs().iter().for_each(|line| text += &format!("/// {line}\n"));
        let function = scope.claim(&snake(&price.name), &[""]);
        text += &format!(
            "#[must_use]\npub const fn {function}({}) -> u64 {{\n    {body}\n}}\n",
            arguments.join(", ")
        );
    }
    if logarithms {
        text += "\n/// The logarithm to base 2, rounded up; 0 of 0.\nconst fn log2_up(value: u64) -> u64 {\n    \
                 if value <= 1 { 0 } else { (u64::BITS - (value - 1).leading_zeros()) as u64 }\n}\n";
    }
    if text.contains("greatest(") {
        text += "\nconst fn greatest(a: u64, b: u64) -> u64 {\n    if a > b { a } else { b }\n}\n";
    }
    if text.contains("least(") {
        text += "\nconst fn least(a: u64, b: u64) -> u64 {\n    if a < b { a } else { b }\n}\n";
    }
    Ok(text)
}

pub(super) fn reads(expr: &Whole, variable: &str) -> bool {
    match expr {
        Whole::Number(_) => false,
        Whole::Name(name) => name == variable,
        Whole::Of(_, a, b) => reads(a, variable) || reads(b, variable),
        Whole::LogUp(a) => reads(a, variable),
    }
}

fn spelt(expr: &Whole, logarithms: &mut bool) -> String {
    match expr {
        Whole::Number(value) => format!("{}u64", grouped(*value) + "_"),
        Whole::Name(name) => name.clone(),
        Whole::LogUp(value) => {
            *logarithms = true;
            format!("log2_up({})", spelt(value, logarithms))
        }
        Whole::Of(operation, a, b) => {
            let (a, b) = (spelt(a, logarithms), spelt(b, logarithms));
            match operation {
                Operation::Add => format!("{a}.saturating_add({b})"),
                Operation::Subtract => format!("{a}.saturating_sub({b})"),
                Operation::Multiply => format!("{a}.saturating_mul({b})"),
                Operation::DivideUp => format!("{a}.div_ceil({b})"),
                Operation::Greatest => format!("greatest({a}, {b})"),
                Operation::Least => format!("least({a}, {b})"),
            }
        }
    }
}
