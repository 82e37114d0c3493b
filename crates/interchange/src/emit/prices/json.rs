//! Prices as JSON, for programs and template engines that write files of their own.
//!
//! `rows` has all that is known of each model, and `models` of those that are no further measure of
//! another, which these have under `others`; `benchmarks` has the models that are a base with
//! slopes, under the names that the templates of Substrate's `benchmark pallet` use, in ps.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use strata_model::number_text;

use super::{Price, PriceTerm, Prices};

/// The prices as JSON, indented.
#[must_use]
pub fn json(prices: &Prices) -> String {
    serde_json::to_string_pretty(&context(prices)).unwrap_or_default() + "\n"
}

fn context(prices: &Prices) -> Value {
    let stem = prices.spec.rsplit('/').next().unwrap_or_default();
    let pallet = stem.split('.').next().filter(|name| !name.is_empty()).unwrap_or("models");
    let with_others: Vec<Value> = (prices.rows.iter())
        .map(|price| {
            let mut value = row(price, prices.whole);
            let others = prices
                .rows
                .iter()
                .filter_map(|other| Some((measure(price, other)?, row(other, prices.whole))));
            value["others"] = Value::Object(others.map(|(name, row)| (name.to_owned(), row)).collect());
            value
        })
        .collect();
    let is_measure = |price: &Price| prices.rows.iter().any(|of| measure(of, price).is_some());
    let models: Vec<&Value> = prices
        .rows
        .iter()
        .zip(&with_others)
        .filter(|(price, _)| !is_measure(price))
        .map(|(_, row)| row)
        .collect();
    json!({
        "models": models,
        "rows": with_others,
        "models_sha256": prices.models_sha256,
        "spec": prices.spec,
        "pallet": pallet,
        "cpuname": prices.platform.as_ref().map_or("", |platform| platform.cpu.as_str()),
        "benchmarks": prices.rows.iter().filter_map(|price| benchmark(price, prices)).collect::<Vec<_>>(),
    })
}

/// The measure of a further model of the same runs: `bytes` for `copy_bytes` beside `copy`.
fn measure<'a>(price: &Price, other: &'a Price) -> Option<&'a str> {
    other
        .name
        .strip_prefix(&*price.name)?
        .strip_prefix('_')
        .filter(|_| other.inputs.len() == price.inputs.len())
}

fn row(price: &Price, whole: bool) -> Value {
    let number = |value: f64| if whole { json!(value as u64) } else { json!(value) };
    let terms: Vec<Value> = (price.terms.iter())
        .map(|term| json!({ "term": term.text, "coefficient": number(term.coefficient) }))
        .collect();
    let inputs: Vec<Value> = (price.inputs.iter())
        .map(|input| json!({ "name": input.name, "min": number_text(input.min), "max": number_text(input.max) }))
        .collect();
    let upper = price.bound.map_or(json!(false), |bound| {
        json!({
            "share": bound.share, "confidence": bound.confidence, "held_out": bound.samples,
            "covered": bound.covered, "fresh": bound.fresh, "above": bound.above,
        })
    });
    let shape = shape(price).map_or(json!(false), |(name, arguments)| {
        let arguments: Map<String, Value> =
            arguments.into_iter().map(|(name, value)| (name.to_owned(), number(value))).collect();
        // The one number of a constant cost stands alone in Cardano's files.
        let json = match name {
            "constant_cost" => arguments["cost"].to_string(),
            _ => Value::Object(arguments.clone()).to_string(),
        };
        json!({ "type": name, "arguments": arguments, "json": json })
    });
    json!({
        "name": price.name, "unit": price.unit.name(), "verdict": price.verdict, "inputs": inputs,
        "base": number(price.base), "terms": terms, "upper": upper, "shape": shape,
    })
}

/// The coefficient of a slope in one input; `None` if the term is another.
fn slope<'a>(price: &'a Price, term: &PriceTerm) -> Option<&'a str> {
    let name = term.expr.as_name()?;
    price.inputs.iter().map(|input| &*input.name).find(|input| *input == name)
}

/// An argument of a shape, and the term whose coefficient it is; `1` is the base.
type Argument = (&'static str, &'static str);

/// The shapes of Cardano's cost models: the first that has all terms of a sum is taken. Inputs are `x`,
/// `y` and `z`, in order; `xy` is a product.
const SHAPES: [(&str, &[Argument]); 13] = [
    ("constant_cost", &[("cost", "1")]),
    ("linear_in_x", &[("intercept", "1"), ("slope", "x")]),
    ("linear_in_y", &[("intercept", "1"), ("slope", "y")]),
    ("linear_in_z", &[("intercept", "1"), ("slope", "z")]),
    ("min_size", &[("intercept", "1"), ("slope", "min")]),
    ("max_size", &[("intercept", "1"), ("slope", "max")]),
    ("multiplied_sizes", &[("intercept", "1"), ("slope", "xy")]),
    ("added_sizes", &[("intercept", "1"), ("slope", "x+y")]),
    ("linear_in_y_and_z", &[("intercept", "1"), ("slope1", "y"), ("slope2", "z")]),
    ("quadratic_in_x", &[("c0", "1"), ("c1", "x"), ("c2", "xx")]),
    ("quadratic_in_y", &[("c0", "1"), ("c1", "y"), ("c2", "yy")]),
    ("with_interaction_in_x_and_y", &[("c00", "1"), ("c10", "x"), ("c01", "y"), ("c11", "xy")]),
    (
        "quadratic_in_x_and_y",
        &[
            ("minimum", "1"),
            ("c00", "1"),
            ("c10", "x"),
            ("c01", "y"),
            ("c20", "xx"),
            ("c11", "xy"),
            ("c02", "yy"),
        ],
    ),
];

/// The name of a sum among the shapes of Cardano's cost models, with its arguments.
fn shape(price: &Price) -> Option<(&'static str, Vec<(&'static str, f64)>)> {
    let of = |term: &PriceTerm| Some((shape_term(price, &term.text)?, term.coefficient));
    let mut terms: BTreeMap<String, f64> = price.terms.iter().map(of).collect::<Option<_>>()?;
    if let (2, Some(x), Some(y)) = (terms.len(), terms.get("x"), terms.get("y"))
        && x == y
    {
        terms = BTreeMap::from([("x+y".to_owned(), *x)]);
    }
    terms.insert("1".to_owned(), price.base);
    let has = |arguments: &[Argument], term: &String| arguments.iter().any(|(_, own)| own == term);
    let (name, arguments) =
        SHAPES.iter().find(|(_, arguments)| terms.keys().all(|term| has(arguments, term)))?;
    let value = |(argument, term): &Argument| (*argument, terms.get(*term).copied().unwrap_or_default());
    Some((name, arguments.iter().map(value).collect()))
}

/// A term as [`SHAPES`] spell it.
fn shape_term(price: &Price, text: &str) -> Option<String> {
    let place = |name: &str| price.inputs.iter().position(|input| input.name == name);
    let text = text.replace(' ', "");
    if let Some((function @ ("min" | "max"), rest)) = text.split_once('(') {
        let (a, b) = rest.strip_suffix(')')?.split_once(',')?;
        let both = [place(a)?, place(b)?];
        return (price.inputs.len() == 2 && both[0] != both[1]).then(|| function.to_owned());
    }
    let names = match text.strip_suffix("^2") {
        Some(base) => vec![base, base],
        None => text.split('*').collect(),
    };
    let letter = |name: &&str| ["x", "y", "z"].get(place(name)?).copied();
    let mut letters: Vec<&str> = names.iter().map(letter).collect::<Option<_>>()?;
    letters.sort_unstable();
    Some(letters.concat())
}

/// A whole number as text, as Substrate's data have them.
fn text(value: f64) -> String {
    format!("{:.0}", value.ceil())
}

/// A model of time as Substrate's template knows it, with its further measures `reads`, `writes`
/// and `proof_size`; `None` if it is not a base with slopes.
fn benchmark(price: &Price, prices: &Prices) -> Option<Value> {
    let second = price.second?;
    if prices.rows.iter().any(|of| measure(of, price).is_some()) {
        return None;
    }
    let slopes = |price: &Price, factor: f64| -> Option<Vec<Value>> {
        let one = |term: &PriceTerm| {
            let name = slope(price, term)?;
            Some(json!({ "name": name, "slope": text(term.coefficient * factor), "error": "0" }))
        };
        price.terms.iter().map(one).collect()
    };
    let factor = if (second - 1e12).abs() < 1.0 { 1.0 } else { 1e12 / second };
    let weights = slopes(price, factor)?;
    let of = |measured: &str| -> (String, Vec<Value>) {
        let found = prices.rows.iter().find(|other| measure(price, other) == Some(measured));
        let parts = found.and_then(|other| Some((text(other.base), slopes(other, 1.0)?)));
        parts.unwrap_or(("0".into(), Vec::new()))
    };
    let (reads, reads_slopes) = of("reads");
    let (writes, writes_slopes) = of("writes");
    let (proof, proof_slopes) = of("proof_size");
    let used = |name: &str| price.terms.iter().any(|term| slope(price, term) == Some(name));
    let components: Vec<Value> = (price.inputs.iter())
        .map(|input| json!({ "name": input.name, "is_used": used(&input.name) }))
        .collect();
    let ranges: Vec<Value> = (price.inputs.iter())
        .map(|input| json!({ "name": input.name, "min": input.min as u64, "max": input.max as u64 }))
        .collect();
    let least: f64 = price.base
        + (price.terms.iter())
            .filter_map(|term| {
                let name = slope(price, term)?;
                let input = price.inputs.iter().find(|input| input.name == name)?;
                Some(term.coefficient * input.min)
            })
            .sum::<f64>();
    let comments: Vec<String> =
        price.bound.iter().map(|bound| format!("Upper bound: {}.", bound.promise())).collect();
    Some(json!({
        "name": price.name,
        "components": components,
        "base_weight": text(price.base * factor),
        "base_reads": reads,
        "base_writes": writes,
        "base_calculated_proof_size": proof,
        "base_recorded_proof_size": proof,
        "component_weight": weights,
        "component_reads": reads_slopes,
        "component_writes": writes_slopes,
        "component_calculated_proof_size": proof_slopes,
        "component_recorded_proof_size": proof_slopes,
        "component_ranges": ranges,
        "comments": comments,
        "min_execution_time": text(least * factor / 1e3),
    }))
}
