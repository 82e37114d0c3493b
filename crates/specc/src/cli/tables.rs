//! Results for people: the table of a fit and the map of who wins where.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use strata_model::Seconds;
use strata_model::set::{Kind, Model, ModelSet};
use strata_report::{Axis, Map, SURE};

use crate::advise::{Advice, Target, TargetLoss};

/// A row a model: the terms that were kept, how well they fit, how well they predict, the verdict.
pub(super) fn fit_table(set: &ModelSet) -> String {
    let mut table = new();
    table.set_header(["model", "terms kept", "R²", "MRE fit", "MRE verify", "samples", "verdict"]);
    for model in &set.models {
        let terms = match &model.kind {
            Kind::Factored { expression } => format!("= {expression}"),
            Kind::Fitted => kept(model),
            Kind::Unmeasured => continue,
        };
        let fitted = model.kind == Kind::Fitted;
        let or_dash = |text: String| if fitted { text } else { "-".into() };
        table.add_row([
            model.name.clone(),
            terms,
            or_dash(format!("{:.4}", model.r2)),
            or_dash(percent(model.mre_fit)),
            model.mre_verify.map_or("-".into(), percent),
            or_dash(format!("{} + {}", model.samples, model.verify_samples)),
            or_dash(model.verdict.to_string()),
        ]);
    }
    for numeric in 2..=5 {
        if let Some(column) = table.column_mut(numeric) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}

/// What the choices of the libraries lose, two lines each.
pub(super) fn regrets(set: &ModelSet) -> String {
    let mut text = String::new();
    for library in &set.libraries {
        if let Some(regret) = &library.regret {
            // The second line begins with where it was measured.
            let told = regret.to_string().replace(", measured at ", "\n  measured at ");
            text.push_str(&format!("`{}`: {told}\n", library.name));
            if let Some(kept) = &library.incumbent {
                text.push_str(&format!("  {kept}\n"));
            }
        }
    }
    text
}

/// The model as a sum, a line a term.
fn kept(model: &Model) -> String {
    let mut text = String::new();
    for (n, term) in model.terms.iter().filter(|t| t.relevant).enumerate() {
        let sign = match (n, term.coefficient < 0.0) {
            (0, false) => "",
            (0, true) => "-",
            (_, false) => "\n+ ",
            (_, true) => "\n- ",
        };
        let factor = if term.term == "1" { String::new() } else { format!("·{}", term.term) };
        text.push_str(&format!("{sign}{:.3e}{factor}", term.coefficient.abs()));
    }
    if let Some(correction) = &model.correction {
        text.push_str(&format!("\n× correction by {} samples", correction.samples));
    }
    if text.is_empty() { "none".into() } else { text }
}

fn percent(fraction: f64) -> String {
    format!("{:.2} %", 100.0 * fraction)
}

/// A row a sample, the most useful first; then what all of them do for each target.
pub(super) fn advice_table(advice: &Advice) -> String {
    let mut table = new();
    table.set_header(["model", "point", "expected loss before", "after", "cost"]);
    for sample in &advice.samples {
        let at: Vec<String> = sample.at.iter().map(|(name, value)| format!("{name}={value}")).collect();
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
        text.push_str(&format!(
            "\n{what} {} of the time, with these samples {}",
            share(*before),
            share(*after)
        ));
    }
    text
}

/// A small share, with as many digits as tell something.
fn share(fraction: f64) -> String {
    let percent = 100.0 * fraction;
    if percent >= 1.0 { format!("{percent:.2} %") } else { format!("{percent:.4} %") }
}

/// The map as a table: a row a value of y, a column a value of x, in each cell the winner with its
/// parameters.
pub(super) fn map_table(map: &Map) -> String {
    let mut table = new();
    // A map over one input has a single row without a name.
    let one = map.y.name.is_empty();
    let corner = if one { map.x.name.clone() } else { format!("{} \\ {}", map.y.name, map.x.name) };
    table.set_header(std::iter::once(corner).chain(map.x.values.iter().map(|v| Axis::label(*v))));
    for (y, value) in map.y.values.iter().enumerate() {
        let cells = map.cells.get(y).into_iter().flatten().map(|cell| {
            let parameters: String = cell.values().iter().map(|value| format!(":{value}")).collect();
            let text = format!("{}{parameters}", map.candidates[cell.winner]);
            let text = if cell.seconds.is_ok() { text } else { format!("({text})") };
            if cell.is_sure() { text } else { text + "?" }
        });
        let label = if one { String::new() } else { Axis::label(*value) };
        table.add_row(std::iter::once(label).chain(cells));
    }
    let fixed = if map.fixed.is_empty() { String::new() } else { format!(", {}", map.fixed) };
    let mut legend = String::new();
    if map.all().any(|cell| !cell.is_sure()) {
        legend += &format!("\n?  is the fastest with a probability below {:.0} %", 100.0 * SURE);
    }
    if map.all().any(|cell| cell.tied.iter().any(|(from, to)| from != to)) {
        legend += "\n.. values of a parameter that tie with the one taken";
    }
    for reason in map.reasons() {
        legend += &format!("\n() {reason}");
    }
    format!("who wins in `{}`{fixed}\n{table}{legend}", map.library)
}

pub(super) fn new() -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled);
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_report::Cell;
    use strata_select::Odds;

    #[test]
    fn choices_that_are_not_sure_are_marked_and_explained() {
        let mut map = Map {
            library: "job".into(),
            fixed: "4 nodes".into(),
            x: Axis { name: "n".into(), values: vec![1024.0, 2048.0, 4096.0] },
            y: Axis { name: String::new(), values: vec![0.0] },
            candidates: vec!["steps".into()],
            parameters: vec![vec!["width".into()]],
            cells: vec![Vec::new()],
        };
        let far = || "far from what was measured".to_owned();
        for (fastest, seconds) in [(0.96, Ok(1e-6)), (0.94, Ok(1e-6)), (1.0, Err(far()))] {
            let odds = Some(Odds { fastest, loss: 1e-9 });
            map.cells[0].push(Cell { winner: 0, parameters: vec![7], tied: Vec::new(), seconds, odds });
        }
        let text = map_table(&map);
        assert!(text.contains("┆ steps:7 ┆ steps:7? ┆ (steps:7) │"), "{text}");
        assert!(text.contains("│ n ┆ 1Ki") && text.contains("\n?  is the fastest with a"), "{text}");
        assert!(text.ends_with("\n() far from what was measured"), "{text}");
        map.x.values.truncate(1);
        map.cells[0].truncate(1);
        assert!(map_table(&map).ends_with('┘'), "no legend: {}", map_table(&map));
    }
}
