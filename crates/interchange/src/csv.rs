//! CSV: a header row with the names, then one row a measurement.
//!
//! The column `time` or `seconds` holds the measured times, otherwise the last column; all others
//! are inputs. Cells are separated by commas, or by semicolons or tabs where the header has no
//! comma.

use std::path::Path;

use ::csv::{ReaderBuilder, StringRecord};

use crate::experiment::{Experiment, Measurement};
use crate::place::{Lines, Problems};

pub(crate) fn read(text: &str, file_name: &str, problems: &mut Problems<'_>) -> Option<Experiment> {
    let head = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let delimiter = [b',', b';', b'\t'].into_iter().find(|d| head.as_bytes().contains(d)).unwrap_or(b',');
    // The csv crate splits the records; the cells are cut from the text again to know their
    // positions.
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .has_headers(false)
        .from_reader(text.as_bytes());
    let lines = Lines::new(text);
    let mut names: Option<Vec<&str>> = None;
    let mut experiment = Experiment::default();
    let stem = Path::new(file_name).file_stem().and_then(|stem| stem.to_str());
    let path = experiment.paths.number(stem.unwrap_or("csv"));
    let metric = experiment.metrics.number("time");
    let mut measured = 0;
    let mut record = StringRecord::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                let at = error.position().map_or(0, |p| p.byte() as usize);
                problems.push(at, format!("this is not CSV: {error}"));
                break;
            }
        }
        let start = record.position().map_or(0, |p| p.byte() as usize);
        let cells = cells(text, start, delimiter, record.len());
        let Some(names) = &names else {
            measured = header(&cells, problems)?;
            let inputs = cells.iter().enumerate().filter(|(column, _)| *column != measured);
            experiment.parameters = inputs.map(|(_, (_, name))| (*name).to_owned()).collect();
            names = Some(cells.iter().map(|(_, cell)| *cell).collect());
            continue;
        };
        if cells.iter().all(|(_, cell)| cell.is_empty()) && cells.len() <= 1 {
            continue;
        }
        if let Some((point, value)) = row(&cells, names, measured, problems) {
            let at = cells.first().map_or(start, |cell| cell.0);
            let line = lines.line(at);
            experiment.measurements.push(Measurement { path, metric, point, value, verify: false, line, at });
        }
    }
    problems.is_empty().then_some(experiment)
}

/// The index of the column of times.
fn header(cells: &[(usize, &str)], problems: &mut Problems<'_>) -> Option<usize> {
    let is_time = |name: &str| name.eq_ignore_ascii_case("time") || name.eq_ignore_ascii_case("seconds");
    for (column, (at, name)) in cells.iter().enumerate() {
        if name.is_empty() {
            problems.push(
                *at,
                format!("column {} has no name: the first line must name every column", column + 1),
            );
        } else if name.parse::<f64>().is_ok() {
            let message =
                format!("`{name}` stands where a column's name should: put a line with the names first");
            problems.push(*at, message);
        } else if cells[..column].iter().any(|(_, other)| other == name) {
            problems.push(*at, format!("two columns are named `{name}`"));
        }
    }
    let times: Vec<usize> = (0..cells.len()).filter(|&c| is_time(cells[c].1)).collect();
    if let [first, second, ..] = times[..] {
        let message = format!(
            "both `{}` and `{}` could be what was measured; rename or remove one",
            cells[first].1, cells[second].1
        );
        problems.push(cells[second].0, message);
    }
    if cells.len() < 2 {
        let message =
            "there is one column only; there must be an input and a time, separated by commas".into();
        problems.push(cells.first().map_or(0, |c| c.0), message);
    }
    problems.is_empty().then(|| times.first().copied().unwrap_or(cells.len() - 1))
}

/// The point and the time of a row.
fn row(
    cells: &[(usize, &str)],
    names: &[&str],
    measured: usize,
    problems: &mut Problems<'_>,
) -> Option<(Vec<f64>, f64)> {
    let counts = format!("this row has {} cells, the header {}", cells.len(), names.len());
    if let Some((at, _)) = cells.get(names.len()) {
        problems.push(*at, format!("{counts}; take the surplus out"));
        return None;
    }
    if let Some(missing) = names.get(cells.len()) {
        let end = cells.last().map_or(0, |(at, cell)| at + cell.len());
        let message = format!("the cell of `{missing}` is missing: {counts}; fill it in or take the row out");
        problems.push(end, message);
        return None;
    }
    let mut point = Vec::with_capacity(names.len() - 1);
    let mut value = None;
    for (column, ((at, cell), name)) in cells.iter().zip(names).enumerate() {
        if cell.is_empty() {
            problems.push(*at, format!("the cell of `{name}` is empty; fill it in or take the row out"));
        } else if column == measured {
            value = problems.time(cell, &format!("`{name}`"));
        } else {
            point.extend(problems.number(cell, &format!("`{name}`")));
        }
    }
    value.filter(|_| point.len() + 1 == names.len()).map(|value| (point, value))
}

/// The cells of a record that begins at a byte of the text, each with its position and without
/// quotes.
fn cells(text: &str, start: usize, delimiter: u8, count: usize) -> Vec<(usize, &str)> {
    let bytes = text.as_bytes();
    // After empty lines, a record's position is that of the preceding line end.
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
