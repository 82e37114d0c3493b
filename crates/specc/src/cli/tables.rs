//! Tables that fit the screen: advised samples, and the grid of the fastest candidates.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use strata_model::{Kinds, Seconds, kind_text};
use strata_report::{Map, SURE};
use strata_screen::{columns_of, shortened, wrapped};

use crate::advise::{Advice, Target, TargetLoss};

/// One row for each sample, the most useful first, then the effect of all samples on each target.
pub(super) fn advice_table(advice: &Advice, kinds: &Kinds, width: usize) -> String {
    let mut table = new(width);
    table.set_header(["model", "point", "expected loss before", "after", "cost"]);
    for sample in &advice.samples {
        let text =
            |(name, value): &(String, i64)| format!("{name}={}", kind_text(kinds, name, *value as f64));
        let at: Vec<String> = sample.at.iter().map(text).collect();
        table.add_row([
            sample.model.clone(),
            at.join(" "),
            share(sample.before),
            share(sample.after),
            Seconds::new(sample.cost).unwrap_or_default().to_string(),
        ]);
    }
    for numeric in 2..=4 {
        if let Some(column) = table.column_mut(numeric) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text =
        if advice.samples.is_empty() { "no sample would help".to_owned() } else { table.to_string() };
    for TargetLoss { target, before, after } in &advice.targets {
        let what = match target {
            Target::Library(name) => format!("choosing in `{name}` is expected to lose"),
            Target::Model(name) => format!("the half width of `{name}` is"),
        };
        let line = format!("{what} {} of the time, with these samples {}", share(*before), share(*after));
        text.push_str(&format!("\n{}", wrapped(&line, width, "  ")));
    }
    text
}

/// A small share with its significant digits.
fn share(fraction: f64) -> String {
    let percent = 100.0 * fraction;
    if percent >= 1.0 { format!("{percent:.2} %") } else { format!("{percent:.4} %") }
}

/// The map as a table: a row for each value of y, a column for each value of x, and in each cell
/// the fastest candidate with its parameters. If not all columns fit the screen, evenly spaced ones
/// are shown.
pub(super) fn map_table(map: &Map, width: usize) -> String {
    let columns = map.x.values.len();
    // The last attempt has only the ends of the range, and is used even if it is too wide.
    let tables = (1..=columns.max(1)).map(|step| grid(map, &every(columns, step), width));
    let fits = |table: &String| table.lines().all(|line| columns_of(line) <= width);
    let mut table = String::new();
    for next in tables {
        table = next;
        if fits(&table) {
            break;
        }
    }
    let fixed = if map.fixed.is_empty() { String::new() } else { format!(", {}", map.fixed) };
    let mut legend = Vec::new();
    if map.all().any(|cell| !cell.is_sure()) {
        legend.push(format!("?  is the fastest with a probability below {:.0} %", 100.0 * SURE));
    }
    if map.all().any(|cell| cell.tied.iter().any(|(from, to)| from != to)) {
        legend.push(".. values of a parameter that tie with the one taken".to_owned());
    }
    legend.extend(map.reasons().into_iter().map(|reason| format!("() {reason}")));
    let legend: String = legend.iter().map(|line| format!("\n{}", wrapped(line, width, "   "))).collect();
    let head = wrapped(&format!("who wins in `{}`{fixed}", map.library), width, "  ");
    format!("{head}\n{table}{legend}")
}

/// The columns at multiples of `step`, and the last one.
fn every(columns: usize, step: usize) -> Vec<usize> {
    let mut some: Vec<usize> = (0..columns).step_by(step).collect();
    if let Some(last) = columns.checked_sub(1).filter(|last| some.last() != Some(last)) {
        // The last column replaces its neighbour if that is nearer than half a step.
        if some.len() > 1 && last - some[some.len() - 1] < step.div_ceil(2) {
            some.pop();
        }
        some.push(last);
    }
    some
}

/// The table of these columns. Names are shortened if a table of three columns could not hold them.
fn grid(map: &Map, columns: &[usize], width: usize) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled);
    let longest = (width / 3).saturating_sub(4);
    // A map over one input has a single row, without a label.
    let one = map.y.name.is_empty();
    let corner = if one { map.x.name.clone() } else { format!("{} \\ {}", map.y.name, map.x.name) };
    let labels = columns.iter().map(|x| map.x.text(map.x.values[*x]));
    table.set_header(std::iter::once(shortened(&corner, longest)).chain(labels));
    for (y, value) in map.y.values.iter().enumerate() {
        let row = columns.iter().filter_map(|x| map.cells.get(y)?.get(*x));
        let cells = row.map(|cell| {
            let parameters: String = cell.values().iter().map(|value| format!(":{value}")).collect();
            let text = shortened(&format!("{}{parameters}", map.candidates[cell.winner]), longest);
            let text = if cell.seconds.is_ok() { text } else { format!("({text})") };
            if cell.is_sure() { text } else { text + "?" }
        });
        let label = if one { String::new() } else { map.y.text(*value) };
        table.add_row(std::iter::once(label).chain(cells));
    }
    table.to_string()
}

/// An empty table that wraps its cells to this width.
pub(super) fn new(width: usize) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_report::{Axis, Cell};
    use strata_select::Odds;

    #[test]
    fn choices_that_are_not_sure_are_marked_and_explained() {
        let mut map = Map {
            library: "job".into(),
            fixed: "4 nodes".into(),
            x: Axis { name: "n".into(), values: vec![1024.0, 2048.0, 4096.0], names: Vec::new() },
            y: Axis { name: String::new(), values: vec![0.0], names: vec!["random".into()] },
            candidates: vec!["steps".into()],
            parameters: vec![vec!["width".into()]],
            crossings: Vec::new(),
            cells: vec![Vec::new()],
        };
        let far = || "far from what was measured".to_owned();
        for (fastest, seconds) in [(0.96, Ok(1e-6)), (0.94, Ok(1e-6)), (1.0, Err(far()))] {
            let odds = Some(Odds { fastest, loss: 1e-9 });
            map.cells[0].push(Cell { winner: 0, parameters: vec![7], tied: Vec::new(), seconds, odds });
        }
        let text = map_table(&map, 80);
        assert!(text.contains("┆ steps:7 ┆ steps:7? ┆ (steps:7) │"), "{text}");
        assert!(text.contains("│ n ┆ 1Ki") && text.contains("\n?  is the fastest with a"), "{text}");
        assert!(text.ends_with("\n() far from what was measured"), "{text}");
        map.x.values.truncate(1);
        map.cells[0].truncate(1);
        assert!(map_table(&map, 80).ends_with('┘'), "no legend: {}", map_table(&map, 80));
    }
}
