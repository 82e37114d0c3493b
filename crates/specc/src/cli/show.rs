//! `specc show`: models, and the fastest candidates as crossings or as a grid.

use std::path::Path;

use serde_json::{Value, json};
use strata_report::{Axis, Cell, Map};
use strata_screen::{Failure, print, width};

use super::args::{Binding, ShowOf};
use super::choose::{competition, known, no_such_name, numbers, placed, read, warn_of_failed, warn_of_round};
use super::tables::map_table;
use super::values::{Layout, json_value, json_values};
use super::{model_text, summary};
use crate::map;
use crate::thresholds::places::{self, Crossing, Crossings, Segment};

/// `specc show`.
pub(super) fn show(path: &Path, asked: &ShowOf) -> Result<(), Failure> {
    let ShowOf { name, inputs, nodes, by, grid, json } = asked;
    let set = read(path)?;
    // If the name is omitted, its argument holds an input.
    let mut inputs = inputs.clone();
    let name = name.as_deref().filter(|text| match text.parse::<Binding>() {
        Ok(binding) => {
            inputs.insert(0, binding);
            false
        }
        Err(_) => true,
    });
    let of_library = *grid || *json || by.is_some() || nodes.is_some() || !inputs.is_empty();
    match name {
        None if !of_library => return model_text::all(&set, path),
        Some(name) if set.library(name).is_none() => {
            return match set.model(name) {
                Some(model) if !of_library => model_text::one(&set, path, model),
                Some(_) => {
                    Err(Failure::Usage(format!("`{name}` is a model: its name is all that `show` takes")))
                }
                None => Err(no_such_name(path, &set, name)),
            };
        }
        _ => {}
    }
    let competition = competition(&set, path, name)?.on(nodes.map(Layout::nodes));
    let inputs = placed(&set, path, competition.inputs(), &inputs, *nodes)?;
    warn_of_failed(&competition, path);
    warn_of_round(&competition);
    let what = format!("library `{}`", competition.name());
    known(&what, competition.inputs(), &inputs)?;
    let fixed = numbers(&set, &inputs)?;
    let usage = Failure::Usage;
    if let Some(by) = by
        && !competition.inputs().contains(by)
    {
        let meant = strata_model::did_you_mean(by, competition.inputs().iter().map(String::as_str));
        let all = competition.inputs().join(", ");
        return Err(usage(format!("--by: {what} has no input `{by}`{meant}; it has {all}")));
    }
    let along = || places::compute(&competition, &fixed, by.as_deref()).map_err(usage);
    if *json {
        let grid = map::compute(&competition, &fixed).map_err(usage)?;
        print(json_of(&grid, &along()?))
    } else if *grid {
        print(map_table(&map::compute(&competition, &fixed).map_err(usage)?, width()))
    } else {
        let Some(library) = set.library(competition.name()) else { return Ok(()) };
        print(summary::block(&set, library, Some(&along()?), width()))
    }
}

fn json_of(map: &Map, crossings: &Crossings) -> Value {
    let cell = |cell: &Cell| {
        json!({
            "candidate": map.candidates[cell.winner],
            "parameters": cell.parameters,
            "tied": cell.tied,
            "seconds": cell.seconds.as_ref().ok(),
            "note": cell.seconds.as_ref().err(),
            "probability_fastest": cell.odds.map(|odds| odds.fastest),
        })
    };
    let cells: Vec<Vec<Value>> = map.cells.iter().map(|row| row.iter().map(cell).collect()).collect();
    let value =
        |axis: &Axis, value: f64| axis.names.get(value as usize).map_or(json!(value), |name| json!(name));
    let values = |axis: &Axis| axis.values.iter().map(|one| value(axis, *one)).collect::<Vec<_>>();
    let axis = |axis: &Axis| json!({ "name": axis.name, "values": values(axis) });
    json!({
        "library": map.library,
        "x": axis(&map.x),
        "y": axis(&map.y),
        "cells": cells,
        "crossings": crossings_json(crossings),
    })
}

fn crossings_json(crossings: &Crossings) -> Value {
    let segment = |segment: &Segment| {
        json!({
            "from": segment.from,
            "to": segment.to,
            "candidate": crossings.candidates.get(segment.way.candidate),
            "parameters": segment.way.taken,
            "tied": segment.way.values,
            "note": segment.way.beyond,
            "probability_fastest": segment.fastest,
        })
    };
    let crossing = |crossing: Crossing<'_>| {
        json!({
            "at": crossing.at,
            "from": crossings.name(crossing.from),
            "to": crossings.name(crossing.to),
        })
    };
    let line = |line: &places::Line| {
        json!({
            "at": crossings.across.as_deref().zip(line.at).map(|(input, at)| json_value(&crossings.kinds, input, at)),
            "segments": line.segments.iter().map(segment).collect::<Vec<_>>(),
            "crossings": line.crossings().map(crossing).collect::<Vec<_>>(),
        })
    };
    let held = json_values(&crossings.kinds, crossings.held.iter().map(|(input, value)| (&**input, *value)));
    json!({
        "by": crossings.by,
        "across": crossings.across,
        "held": held,
        "lines": crossings.lines.iter().map(line).collect::<Vec<_>>(),
    })
}
