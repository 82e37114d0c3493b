//! CSV: a header row with the names, then one row a measurement.
//!
//! One column holds the measured times: the one named with its unit, or `time` or `seconds`, in s.
//! A column of text, or several that are named, have the model of each row. All others are inputs.
//! Cells are separated by commas, or by semicolons or tabs if the header has no comma.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ::csv::{ReaderBuilder, StringRecord};
use strata_model::{Kinds, count, did_you_mean};

use crate::experiment::{Experiment, Measurement};
use crate::place::{Lines, Problems};
use crate::{HoldOut, Selection};

/// A cell, or the name of a column, and its position in the text.
type Cell<'a> = (usize, &'a str);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Input,
    Time,
    Model,
    HoldOut,
    /// Text that is no model's name.
    Text,
    Unused,
}

pub(crate) fn read(
    text: &str,
    file_name: &str,
    selection: &Selection,
    problems: &mut Problems<'_>,
) -> Option<Experiment> {
    let (names, rows) = table(text, problems)?;
    check_header(&names, problems);
    let mut experiment = Experiment::default();
    let roles = roles(&names, &rows, selection, problems, &mut experiment.notes)?;
    let inputs = names.iter().zip(&roles).filter(|(_, role)| **role == Role::Input);
    experiment.parameters = inputs.map(|((_, name), _)| (*name).to_owned()).collect();
    if experiment.parameters.is_empty() && !roles.contains(&Role::Model) {
        let at = names.first().map_or(0, |(at, _)| *at);
        problems.push(at, "there must be a column of an input besides the time".into());
    }
    let time = roles.iter().position(|role| *role == Role::Time).map_or("time", |column| names[column].1);
    let metric = experiment.metrics.number(time);
    let stem = Path::new(file_name).file_stem().and_then(|stem| stem.to_str()).unwrap_or("csv");
    let lines = Lines::new(text);
    let mut used = Vec::new();
    for cells in &rows {
        let Some(row) = row(cells, &names, &roles, &selection.kinds, problems) else { continue };
        let at = cells.first().map_or(0, |cell| cell.0);
        used.push(cells);
        experiment.measurements.push(Measurement {
            path: experiment.paths.number(row.model.as_deref().unwrap_or(stem)),
            metric,
            point: row.point,
            value: row.value,
            verify: row.verify,
            line: lines.line(at),
            at,
        });
    }
    let mut of_paths: Vec<Vec<usize>> = vec![Vec::new(); experiment.paths.count()];
    experiment.measurements.iter().enumerate().for_each(|(row, m)| of_paths[m.path].push(row));
    for column in (0..roles.len()).filter(|column| roles[*column] == Role::Text) {
        for (path, of_path) in of_paths.iter().enumerate() {
            let of_path = of_path.iter().map(|row| (&experiment.measurements[*row], used[*row][column].1));
            let Some(ratio) = apart(of_path) else { continue };
            let models: Vec<&str> = names
                .iter()
                .zip(&roles)
                .filter(|(_, role)| **role == Role::Model)
                .map(|((_, name), _)| *name)
                .collect();
            experiment.doubts.push((
                path,
                format!(
                    "rows of one point take {ratio:.2} times as long on average by `{name}`, which is no input: a model for each \
                     with `--model-column {}`",
                    [&models[..], &[names[column].1]].concat().join(","),
                    name = names[column].1
                ),
            ));
        }
    }
    problems.is_empty().then_some(experiment)
}

/// How many times as long rows of one model take by their texts, the longest against the shortest,
/// if rows of equal inputs differ by their text beyond the scatter within it: the F test of one
/// factor, on logarithms about the mean of each point.
fn apart<'a>(rows: impl Iterator<Item = (&'a Measurement, &'a str)>) -> Option<f64> {
    /// The quantile of one chance in a thousand for two texts and many rows; with more texts it is
    /// lower. With few rows it is higher, at most as below.
    const F: f64 = 10.83;
    const LEAST_FREEDOM: usize = 4;
    /// A smaller difference is of no consequence.
    const LEAST_RATIO: f64 = 1.05;
    /// A column with more different texts is a remark, not a category.
    const MOST_TEXTS: usize = 32;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let mut points: BTreeMap<Vec<u64>, Vec<(f64, &str)>> = BTreeMap::new();
    for (m, text) in rows.filter(|(m, _)| m.value > 0.0) {
        let point = m.point.iter().map(|value| value.to_bits()).collect();
        points.entry(point).or_default().push((m.value.ln(), text));
    }
    let mut kinds: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let point_count = points.len();
    for rows in points.into_values() {
        let about = mean(&rows.iter().map(|row| row.0).collect::<Vec<f64>>());
        rows.into_iter().for_each(|(value, text)| kinds.entry(text).or_default().push(value - about));
    }
    let count: usize = kinds.values().map(Vec::len).sum();
    let freedom = count.checked_sub(point_count + kinds.len().saturating_sub(1))?;
    if !(2..=MOST_TEXTS).contains(&kinds.len()) || freedom < LEAST_FREEDOM {
        return None;
    }
    let means: Vec<f64> = kinds.values().map(|of| mean(of)).collect();
    let between: f64 = kinds.values().zip(&means).map(|(of, mean)| of.len() as f64 * mean * mean).sum();
    let within: f64 = kinds
        .values()
        .zip(&means)
        .flat_map(|(of, mean)| of.iter().map(move |value| (value - mean).powi(2)))
        .sum();
    let ratio =
        (means.iter().fold(f64::MIN, |a, b| a.max(*b)) - means.iter().fold(f64::MAX, |a, b| a.min(*b))).exp();
    let f = between / (kinds.len() - 1) as f64 / (within / freedom as f64);
    let few = 1.0 / freedom as f64;
    (f > F * (1.0 + 9.0 * few + 60.0 * few * few) && ratio > LEAST_RATIO).then_some(ratio)
}

/// Whether a text begins with a row of names, and a row below it has as many cells, one of them a
/// number.
pub(crate) fn is_table(text: &str) -> bool {
    let is_number = |cell: &str| cell.trim().parse::<f64>().is_ok();
    [b',', b';', b'\t'].into_iter().any(|delimiter| {
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .from_reader(text.as_bytes());
        let mut rows = reader.records();
        let (Some(Ok(head)), Some(Ok(row))) = (rows.next(), rows.next()) else { return false };
        head.len() > 1 && head.len() == row.len() && !head.iter().any(is_number) && row.iter().any(is_number)
    })
}

/// The names of the columns, and the cells of every row that is not empty.
fn table<'a>(text: &'a str, problems: &mut Problems<'_>) -> Option<(Vec<Cell<'a>>, Vec<Vec<Cell<'a>>>)> {
    let head = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let delimiter = [b',', b';', b'\t'].into_iter().find(|d| head.as_bytes().contains(d)).unwrap_or(b',');
    // The csv crate splits the records; the cells are then found again in the text, for their
    // positions.
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .has_headers(false)
        .from_reader(text.as_bytes());
    let mut rows = Vec::new();
    let mut record = StringRecord::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                let at = error.position().map_or(0, |p| p.byte() as usize);
                problems.push(at, format!("this is not CSV: {error}"));
                return None;
            }
        }
        let start = record.position().map_or(0, |p| p.byte() as usize);
        let cells = cells(text, start, delimiter, record.len());
        if cells.len() > 1 || cells.iter().any(|(_, cell)| !cell.is_empty()) {
            rows.push(cells);
        }
    }
    if rows.is_empty() {
        problems.push(0, "all cells are empty: the first line must name the columns".into());
        return None;
    }
    Some((rows.remove(0), rows))
}

/// Refuses headers that do not name every column once.
fn check_header(names: &[Cell<'_>], problems: &mut Problems<'_>) {
    let mut known = BTreeSet::new();
    for (column, (at, name)) in names.iter().enumerate() {
        if name.is_empty() {
            problems.push(
                *at,
                format!("column {} has no name: the first line must name every column", column + 1),
            );
        } else if name.parse::<f64>().is_ok() {
            let message =
                format!("`{name}` stands where a column's name should: put a line with the names first");
            problems.push(*at, message);
        } else if !known.insert(name) {
            problems.push(*at, format!("two columns are named `{name}`"));
        }
    }
    if names.len() < 2 {
        let message =
            "there is one column only; there must be an input and a time, separated by commas".into();
        problems.push(names.first().map_or(0, |c| c.0), message);
    }
}

/// The role of each column, from the user or from its contents; `None` if it is unclear.
fn roles(
    names: &[Cell<'_>],
    rows: &[Vec<Cell<'_>>],
    selection: &Selection,
    problems: &mut Problems<'_>,
    notes: &mut Vec<String>,
) -> Option<Vec<Role>> {
    if !problems.is_empty() {
        return None;
    }
    let mut roles = vec![Role::Input; names.len()];
    let mut find = |name: &str, role: Role, option: &str, problems: &mut Problems<'_>| match names
        .iter()
        .position(|(_, other)| *other == name)
    {
        None => {
            let meant = did_you_mean(name, names.iter().map(|(_, name)| *name));
            let there = list(names.iter().map(|(_, name)| *name));
            problems
                .push(names[0].0, format!("{option}: there is no column `{name}`{meant}; there are {there}"));
        }
        Some(column) if roles[column] != Role::Input => {
            problems.push(
                names[column].0,
                format!("{option}: the column `{name}` is the time, or named by another option"),
            );
        }
        Some(column) => roles[column] = role,
    };
    match &selection.time {
        Some(time) => find(&time.name, Role::Time, "--time", problems),
        None => find(default_time(names, problems)?, Role::Time, "--time", problems),
    }
    for other in &selection.also {
        find(&other.name, Role::Unused, "--time", problems);
    }
    if let Some(HoldOut::Column(name)) = &selection.hold_out {
        find(name, Role::HoldOut, "--hold-out", problems);
    }
    for name in &selection.model_columns {
        find(name, Role::Model, "--model-column", problems);
    }
    if let Some(inputs) = &selection.inputs {
        let known = |name: &String| names.iter().any(|(_, other)| other == name);
        if let Some(missing) = inputs.iter().find(|name| !known(name)) {
            let meant = did_you_mean(missing, names.iter().map(|(_, name)| *name));
            let there = list(names.iter().map(|(_, name)| *name));
            problems.push(
                names[0].0,
                format!("--inputs: there is no column `{missing}`{meant}; there are {there}"),
            );
        }
    } else {
        let statistics: Vec<Cell<'_>> = names
            .iter()
            .zip(&roles)
            .filter(|((_, name), role)| **role == Role::Input && is_statistic(name))
            .map(|(cell, _)| *cell)
            .collect();
        if let Some((at, _)) = statistics.first() {
            let message = format!(
                "{} read like statistics of the same measurement, which are no inputs: name the inputs with \
                 `--inputs NAME,…`; there are {}",
                list(statistics.iter().map(|(_, name)| *name)),
                list(names.iter().map(|(_, name)| *name))
            );
            problems.push(*at, message);
        }
    }
    let of_text = |column: usize| {
        if selection.kinds.contains_key(names[column].1) {
            return false;
        }
        let mut cells = rows.iter().filter_map(|row| row.get(column)).filter(|(_, cell)| !cell.is_empty());
        let first = cells.next();
        first.into_iter().chain(cells).all(|(_, cell)| cell.parse::<f64>().is_err()) && first.is_some()
    };
    let texts: Vec<usize> =
        (0..names.len()).filter(|&column| roles[column] == Role::Input && of_text(column)).collect();
    let known = |column: &usize| names[*column].1;
    match (selection.model_columns.is_empty(), &texts[..]) {
        (false, _) => {
            for &column in &texts {
                roles[column] = Role::Text;
                notes.push(format!("the column `{}` holds text and is not used", known(&column)));
            }
        }
        (true, []) => {}
        (true, [only]) => {
            let values: BTreeSet<&str> =
                rows.iter().filter_map(|row| row.get(*only)).map(|(_, cell)| *cell).collect();
            // Beside a name and a time alone there is nothing else that could tell them apart.
            let others = (0..names.len()).any(|column| column != *only && roles[column] == Role::Input);
            if values.len() == rows.len() && rows.len() > 1 && others {
                let message = format!(
                    "`{name}` holds text, another one in each row, so that it tells no models apart; remove the column, or \
                     name the one that does with `--model-column NAME`",
                    name = known(only)
                );
                problems.push(names[*only].0, message);
            }
            roles[*only] = Role::Model;
        }
        // With `--inputs` all other columns are left out.
        (true, several) if selection.inputs.is_some() => {
            several.iter().for_each(|column| roles[*column] = Role::Text);
        }
        (true, [_, second, ..]) => {
            let message = format!(
                "the columns {} hold text; name the one that says of which model a row is with `--model-column NAME`, \
                 or several, `NAME,NAME`: the others are then not used",
                list(texts.iter().map(known))
            );
            problems.push(names[*second].0, message);
        }
    }
    if let Some(inputs) = &selection.inputs {
        let others = names
            .iter()
            .zip(&mut roles)
            .filter(|((_, name), role)| **role == Role::Input && !inputs.iter().any(|input| input == name));
        let mut unused = Vec::new();
        for ((_, name), role) in others {
            *role = Role::Unused;
            unused.push(*name);
        }
        match &unused[..] {
            [] => {}
            [name] => notes.push(format!("the column `{name}` is not used")),
            _ => notes.push(format!("the columns {} are not used", list(unused.into_iter()))),
        }
    }
    problems.is_empty().then_some(roles)
}

/// Whether a column of this name holds a statistic of the same runs as the time.
fn is_statistic(name: &str) -> bool {
    const STATISTICS: [&str; 26] = [
        "mean", "average", "avg", "median", "min", "minimum", "max", "maximum", "std", "stddev", "std_dev",
        "stdev", "sd", "variance", "var", "cv", "error", "stderr", "user", "system", "sys", "cpu_time",
        "iterations", "repetitions", "rounds", "samples",
    ];
    let name = name.to_ascii_lowercase();
    STATISTICS.contains(&name.as_str())
}

fn default_time<'a>(names: &[Cell<'a>], problems: &mut Problems<'_>) -> Option<&'a str> {
    let is_time = |name: &str| name.eq_ignore_ascii_case("time") || name.eq_ignore_ascii_case("seconds");
    let times: Vec<Cell<'_>> = names.iter().copied().filter(|(_, name)| is_time(name)).collect();
    match times[..] {
        [(_, only)] => return Some(only),
        [(_, first), (at, second), ..] => problems.push(
            at,
            format!(
                "both `{first}` and `{second}` could be what was measured; say which with `--time {first}:s`"
            ),
        ),
        [] => {
            // The guess is only the example in a message.
            let unit = |name: &str| {
                let end = name.rsplit(|c: char| !c.is_alphanumeric()).find(|piece| !piece.is_empty())?;
                ["ns", "us", "µs", "ms", "s"].contains(&end).then(|| end.to_owned())
            };
            let hint = names.iter().find_map(|(_, name)| Some((*name, unit(name)?)));
            let last = names.last().map_or("", |(_, name)| name);
            let (name, unit) = hint.unwrap_or((last, "s".into()));
            let quoted =
                if name.contains(' ') { format!("'{name}:{unit}'") } else { format!("{name}:{unit}") };
            let message = format!(
                "no column is named `time` or `seconds`; there are {}: say which is the time and in which unit with \
                 `--time COLUMN:UNIT`, for example `--time {quoted}`",
                list(names.iter().map(|(_, name)| *name))
            );
            problems.push(names[0].0, message);
        }
    }
    None
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 40;
    let mut names = names.map(|name| format!("`{name}`"));
    let shown = names.by_ref().take(SHOWN).collect::<Vec<_>>().join(", ");
    match names.count() {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

struct Row<'a> {
    point: Vec<f64>,
    value: f64,
    model: Option<Cow<'a, str>>,
    verify: bool,
}

/// The value of a cell: a number, or the place of a name of an input that is one of a few, which the
/// logs of programs have as a number.
fn kind_or_number(
    (at, cell): Cell<'_>,
    name: &str,
    kinds: &Kinds,
    problems: &mut Problems<'_>,
) -> Option<f64> {
    let Some(names) = kinds.get(name) else { return problems.number(cell, format_args!("`{name}`")) };
    let number = || cell.parse().ok().filter(|place: &usize| *place < names.len());
    let place = names.iter().position(|one| one == cell).or_else(number);
    if place.is_none() {
        problems.push(at, format!("`{name}` is one of {}, not `{cell}`", names.join(", ")));
    }
    place.map(|place| place as f64)
}

fn row<'a>(
    cells: &[Cell<'a>],
    names: &[Cell<'_>],
    roles: &[Role],
    kinds: &Kinds,
    problems: &mut Problems<'_>,
) -> Option<Row<'a>> {
    let counts =
        || format!("this row has {}, the header {}", count(cells.len(), "cell", "cells"), names.len());
    if let Some((at, _)) = cells.get(names.len()) {
        problems.push(*at, format!("{}; take the surplus out", counts()));
        return None;
    }
    if let Some((_, missing)) = names.get(cells.len()) {
        let end = cells.last().map_or(0, |(at, cell)| at + cell.len());
        let message =
            format!("the cell of `{missing}` is missing: {}; fill it in or take the row out", counts());
        problems.push(end, message);
        return None;
    }
    let (mut row, mut value, mut good) =
        (Row { point: Vec::new(), value: 0.0, model: None, verify: false }, None, true);
    for (((at, cell), (_, name)), role) in cells.iter().zip(names).zip(roles) {
        if matches!(role, Role::Unused | Role::Text) {
            continue;
        }
        if cell.is_empty() {
            problems.push(*at, format!("the cell of `{name}` is empty; fill it in or take the row out"));
            good = false;
            continue;
        }
        match role {
            Role::Time => value = problems.time(cell, format_args!("`{name}`")),
            Role::Input => match kind_or_number((*at, cell), name, kinds, problems) {
                Some(number) => row.point.push(number),
                None => good = false,
            },
            Role::Model => {
                row.model = Some(match row.model.take() {
                    Some(first) => {
                        // `a_b`, `c` and `a`, `b_c` are two models.
                        let is_clear = !first.contains('_') && !cell.contains('_');
                        format!("{first}{}{cell}", if is_clear { '_' } else { '/' }).into()
                    }
                    None => (*cell).into(),
                });
            }
            Role::HoldOut => match cell.to_ascii_lowercase().as_str() {
                "1" | "true" | "yes" => row.verify = true,
                "0" | "false" | "no" => {}
                _ => {
                    let message =
                        format!("`{name}` says which rows are held out, 1 or 0, but it is `{cell}`");
                    problems.push(*at, message);
                    good = false;
                }
            },
            Role::Text | Role::Unused => {}
        }
    }
    row.value = value?;
    good.then_some(row)
}

/// The cells of a record that begins at a byte of the text, each with its position and without
/// quotes.
fn cells(text: &str, start: usize, delimiter: u8, count: usize) -> Vec<Cell<'_>> {
    let bytes = text.as_bytes();
    // After empty lines, the position of a record is that of the preceding line end.
    let mut at = start.min(bytes.len());
    while bytes.get(at).is_some_and(|b| matches!(b, b'\n' | b'\r')) {
        at += 1;
    }
    let mut cells = Vec::with_capacity(count);
    for _ in 0..count {
        let begin = at;
        let mut quoted = false;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => quoted = !quoted,
                b'\n' | b'\r' if !quoted => break,
                b if b == delimiter && !quoted => break,
                _ => {}
            }
            at += 1;
        }
        let cell = text.get(begin..at).unwrap_or_default().trim();
        let cell = cell.strip_prefix('"').and_then(|c| c.strip_suffix('"')).unwrap_or(cell).trim();
        let place = if cell.is_empty() { begin } else { crate::place::offset(text, cell) };
        cells.push((place, cell));
        at += usize::from(bytes.get(at) == Some(&delimiter));
    }
    cells
}
