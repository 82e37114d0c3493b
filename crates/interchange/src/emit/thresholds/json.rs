//! Thresholds as JSON, there and back.

use serde_json::{Value, json};
use strata_model::{Platform, SpecId};

use super::{
    Branch, LibraryThresholds, MARK, Rule, Split, Table, Threshold, ThresholdInput, ThresholdWay, Thresholds,
    text_hash,
};

/// The key of the document's version.
const KEY: &str = "strata-thresholds";
const VERSION: u64 = 1;

/// The thresholds as JSON.
#[must_use]
pub fn json(sets: &[Thresholds]) -> String {
    format!("{:#}\n", document(sets, None))
}

/// The document; `text`: the hash of the program text that it stands in.
pub(super) fn document(sets: &[Thresholds], text: Option<String>) -> Value {
    let sets: Vec<Value> = sets.iter().map(set).collect();
    let mut document = json!({ KEY: VERSION, "sets": sets });
    if let Some(text) = text {
        document["text_sha256"] = json!(text);
    }
    document
}

fn set(set: &Thresholds) -> Value {
    let mut value = json!({
        "models_sha256": set.models_sha256,
        "spec": set.spec.as_ref().map(|spec| json!({ "path": spec.path, "sha256": spec.sha256 })),
        "platform": set.platform.as_ref().map(ToString::to_string),
        "libraries": set.libraries.iter().map(library).collect::<Vec<_>>(),
    });
    if !set.kinds.is_empty() {
        value["kinds"] = json!(set.kinds);
    }
    value
}

fn library(one: &LibraryThresholds) -> Value {
    let input = |input: &ThresholdInput| json!({ "name": input.name, "whole": input.whole, "low": input.low, "high": input.high });
    let way = |way: &ThresholdWay| {
        // Their order counts, and an object has none.
        let parameters = way.parameters.iter().map(|(name, value)| json!({ "name": name, "value": value }));
        json!({ "candidate": way.candidate, "parameters": parameters.collect::<Vec<_>>() })
    };
    let held = one.held.iter().map(|(name, value)| json!({ "name": name, "value": value }));
    let mut value = json!({
        "library": one.library,
        "nodes": one.nodes,
        "inputs": one.inputs.iter().map(input).collect::<Vec<_>>(),
        "held": held.collect::<Vec<_>>(),
        "ways": one.ways.iter().map(way).collect::<Vec<_>>(),
    });
    for (key, names) in [("failed", &one.failed), ("beside_multiples_of_64", &one.beside)] {
        if !names.is_empty() {
            value[key] = json!(names);
        }
    }
    match &one.rule {
        Rule::Line { first, steps } => {
            value["first"] = json!(first);
            value["thresholds"] = steps.iter().map(threshold).collect();
        }
        Rule::Table(table) => value["table"] = table_json(table),
    }
    value
}

fn threshold(step: &Threshold) -> Value {
    json!({
        "at": step.at,
        "to": step.to,
        "interval": step.interval.map(|(low, high)| [low, high]),
        "flat": step.flat.map(|(low, high)| [low, high]),
        "loss_of_half": step.off_by_two[0],
        "loss_of_twice": step.off_by_two[1],
    })
}

fn table_json(table: &Table) -> Value {
    let branch = |branch: Branch| match branch {
        Branch::Split(split) => json!({ "split": split }),
        Branch::Way(way) => json!({ "way": way }),
    };
    let split = |split: &Split| {
        let [below, above] = split.then.map(branch);
        json!({ "input": split.input, "below": split.below, "then": below, "else": above })
    };
    json!({
        "only": table.only,
        "splits": table.splits.iter().map(split).collect::<Vec<_>>(),
        "loss": table.loss,
        "worst": table.worst,
        "points": table.points,
    })
}

/// The thresholds in a text: JSON, or the Rust or C that [`rust`](super::rust) and [`c`](super::c)
/// wrote.
///
/// # Errors
/// What is wrong with it, in words: it holds none, or was edited since it was written.
pub fn read(text: &str) -> Result<Vec<Thresholds>, String> {
    let comment = text.lines().find_map(|line| line.trim_start().strip_prefix(MARK));
    let document: Value = serde_json::from_str(comment.unwrap_or(text))
        .map_err(|error| format!("this is neither thresholds of `specc export` nor JSON: {error}"))?;
    match document.get(KEY).and_then(Value::as_u64) {
        Some(VERSION) => {}
        Some(other) => {
            return Err(format!("this program reads version {VERSION} of thresholds, not {other}"));
        }
        None => return Err(format!("`{KEY}` is missing: these are no thresholds of `specc export`")),
    }
    if comment.is_some()
        && document.get("text_sha256").and_then(Value::as_str) != Some(text_hash(text).as_str())
    {
        return Err("it was edited since `specc export` wrote it: export it again".to_owned());
    }
    let read = || document.get("sets")?.as_array()?.iter().map(read_set).collect::<Option<Vec<_>>>();
    read()
        .ok_or_else(|| "something in these thresholds is missing or of another kind: export again".to_owned())
}

fn text_of(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

fn count_of(value: &Value, key: &str) -> Option<usize> {
    usize::try_from(value.get(key)?.as_u64()?).ok()
}

fn read_set(value: &Value) -> Option<Thresholds> {
    let spec =
        |value: &Value| Some(SpecId { path: text_of(value, "path")?, sha256: text_of(value, "sha256")? });
    let platform = value.get("platform").and_then(Value::as_str);
    Some(Thresholds {
        models_sha256: text_of(value, "models_sha256")?,
        spec: value.get("spec").and_then(spec),
        platform: platform.and_then(|text| text.parse::<Platform>().ok()),
        kinds: value
            .get("kinds")
            .and_then(|kinds| serde_json::from_value(kinds.clone()).ok())
            .unwrap_or_default(),
        libraries: value.get("libraries")?.as_array()?.iter().map(read_library).collect::<Option<_>>()?,
    })
}

fn read_library(value: &Value) -> Option<LibraryThresholds> {
    let input = |value: &Value| {
        Some(ThresholdInput {
            name: text_of(value, "name")?,
            whole: value.get("whole")?.as_bool()?,
            low: value.get("low")?.as_f64()?,
            high: value.get("high")?.as_f64()?,
        })
    };
    let way = |value: &Value| {
        let parameters = value.get("parameters")?.as_array()?.iter();
        let parameters = parameters.map(|one| Some((text_of(one, "name")?, one.get("value")?.as_i64()?)));
        Some(ThresholdWay {
            candidate: text_of(value, "candidate")?,
            parameters: parameters.collect::<Option<_>>()?,
        })
    };
    let held = value.get("held")?.as_array()?.iter();
    let rule = match value.get("table") {
        Some(table) => Rule::Table(read_table(table)?),
        None => Rule::Line {
            first: count_of(value, "first")?,
            steps: value.get("thresholds")?.as_array()?.iter().map(read_threshold).collect::<Option<_>>()?,
        },
    };
    let ways: Vec<ThresholdWay> = value.get("ways")?.as_array()?.iter().map(way).collect::<Option<_>>()?;
    let inputs: Vec<ThresholdInput> =
        value.get("inputs")?.as_array()?.iter().map(input).collect::<Option<_>>()?;
    let named: Vec<usize> = match &rule {
        Rule::Line { first, steps } => steps.iter().map(|step| step.to).chain([*first]).collect(),
        Rule::Table(table) => {
            let branches = table.splits.iter().flat_map(|split| split.then);
            let ways = branches.filter_map(|branch| match branch {
                Branch::Way(way) => Some(way),
                Branch::Split(_) => None,
            });
            ways.chain([table.only]).collect()
        }
    };
    let names = |key: &str| -> Vec<String> {
        let names = value.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    named.iter().all(|way| *way < ways.len()).then_some(())?;
    Some(LibraryThresholds {
        library: text_of(value, "library")?,
        nodes: count_of(value, "nodes")?,
        inputs,
        held: held
            .map(|one| Some((text_of(one, "name")?, one.get("value")?.as_f64()?)))
            .collect::<Option<_>>()?,
        failed: names("failed"),
        beside: names("beside_multiples_of_64"),
        ways,
        rule,
    })
}

fn read_threshold(value: &Value) -> Option<Threshold> {
    let pair = |key: &str| {
        let pair = value.get(key)?.as_array()?;
        Some((pair.first()?.as_f64(), pair.get(1)?.as_f64()))
    };
    let loss = |key: &str| value.get(key).and_then(Value::as_f64);
    Some(Threshold {
        at: value.get("at")?.as_f64()?,
        to: count_of(value, "to")?,
        interval: pair("interval"),
        flat: pair("flat").and_then(|(low, high)| Some((low?, high?))),
        off_by_two: [loss("loss_of_half"), loss("loss_of_twice")],
    })
}

fn read_table(value: &Value) -> Option<Table> {
    let branch = |value: &Value| match count_of(value, "split") {
        Some(split) => Some(Branch::Split(split)),
        None => count_of(value, "way").map(Branch::Way),
    };
    let split = |value: &Value| {
        Some(Split {
            input: count_of(value, "input")?,
            below: value.get("below")?.as_f64()?,
            then: [branch(value.get("then")?)?, branch(value.get("else")?)?],
        })
    };
    Some(Table {
        only: count_of(value, "only")?,
        splits: value.get("splits")?.as_array()?.iter().map(split).collect::<Option<_>>()?,
        loss: value.get("loss")?.as_f64()?,
        worst: value.get("worst")?.as_f64()?,
        points: count_of(value, "points")?,
    })
}
