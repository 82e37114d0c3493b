//! Prices as JSON, for programs and template engines that write files of their own.
//!
//! `rows` has all that is known of each model, and `models` of those that are no further measure of
//! another, which these have under `others`; `benchmarks` has the models that are a base with
//! slopes, under the names that the templates of Substrate's `benchmark pallet` use, in ps.

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

/// The name of a sum among the shapes of Cardano's cost models, with its arguments.
fn shape(price: &Price) -> Option<(&'static str, Vec<(&'static str, f64)>)> {
    let inputs: Vec<&str> = price.inputs.iter().map(|input| &*input.name).collect();
    let place = |name: &str| inputs.iter().position(|input| *input == name);
    let of = |text: &str| {
        let text = text.replace(' ', "");
        let parts: Vec<&str> = text.split('*').collect();
        let squared = text.strip_suffix("^2").or(match parts[..] {
            [a, b] if a == b => Some(a),
            _ => None,
        });
        match (&parts[..], squared) {
            (_, Some(base)) => place(base).map(|place| (2, place, place)),
            ([one], None) => place(one).map(|place| (1, place, place)),
            ([a, b], None) => Some((3, place(a)?, place(b)?)),
            _ => None,
        }
    };
    let base = price.base;
    let functions = [("min", "min_size"), ("max", "max_size")];
    if let ([term], 2) = (&price.terms[..], inputs.len()) {
        let text = term.text.replace(' ', "");
        for (function, name) in functions {
            if [(0, 1), (1, 0)]
                .iter()
                .any(|(a, b)| text == format!("{function}({},{})", inputs[*a], inputs[*b]))
            {
                return Some((name, vec![("intercept", base), ("slope", term.coefficient)]));
            }
        }
    }
    let terms: Vec<((u8, usize, usize), f64)> =
        (price.terms.iter()).map(|term| Some((of(&term.text)?, term.coefficient))).collect::<Option<_>>()?;
    let coefficient = |wanted: (u8, usize, usize)| {
        let swapped = (wanted.0, wanted.2, wanted.1);
        terms.iter().find(|(term, _)| *term == wanted || *term == swapped).map_or(0.0, |(_, c)| *c)
    };
    let linear = |slope| vec![("intercept", base), ("slope", slope)];
    let within = |most: usize, degree: &[u8]| {
        terms.iter().all(|((kind, a, b), _)| *a < most && *b < most && degree.contains(kind))
    };
    const LINEAR: [&str; 3] = ["linear_in_x", "linear_in_y", "linear_in_z"];
    Some(match &terms[..] {
        [] => ("constant_cost", vec![("cost", base)]),
        [((1, at, _), slope)] if *at < 3 => (LINEAR[*at], linear(*slope)),
        [((3, 0 | 1, 0 | 1), slope)] => ("multiplied_sizes", linear(*slope)),
        [((1, 0, _), a), ((1, 1, _), b)] if a == b => ("added_sizes", linear(*a)),
        [((1, 1, _), a), ((1, 2, _), b)] => {
            ("linear_in_y_and_z", vec![("intercept", base), ("slope1", *a), ("slope2", *b)])
        }
        _ if terms.iter().all(|((kind, at, _), _)| *kind < 3 && *at == 0) => (
            "quadratic_in_x",
            vec![("c0", base), ("c1", coefficient((1, 0, 0))), ("c2", coefficient((2, 0, 0)))],
        ),
        _ if terms.iter().all(|((kind, at, _), _)| *kind < 3 && *at == 1) => (
            "quadratic_in_y",
            vec![("c0", base), ("c1", coefficient((1, 1, 1))), ("c2", coefficient((2, 1, 1)))],
        ),
        _ if within(2, &[1, 3]) => (
            "with_interaction_in_x_and_y",
            vec![
                ("c00", base),
                ("c10", coefficient((1, 0, 0))),
                ("c01", coefficient((1, 1, 1))),
                ("c11", coefficient((3, 0, 1))),
            ],
        ),
        _ if within(2, &[1, 2, 3]) => (
            "quadratic_in_x_and_y",
            vec![
                ("minimum", base),
                ("c00", base),
                ("c10", coefficient((1, 0, 0))),
                ("c01", coefficient((1, 1, 1))),
                ("c20", coefficient((2, 0, 0))),
                ("c11", coefficient((3, 0, 1))),
                ("c02", coefficient((2, 1, 1))),
            ],
        ),
        _ => return None,
    })
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
