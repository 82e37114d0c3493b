//! Figures of short runs beside those of `README.md`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{columns, row, rows};

/// Bench, how the goal of a row begins, and figures of the summary: `today.txt`.
fn figures() -> impl Iterator<Item = [&'static str; 3]> {
    rows(include_str!("today.txt"))
}

/// What the table says of the row whose goal begins so: the goal, and what was reached.
fn known(goal: &str) -> Option<[&'static str; 2]> {
    let mut lines = include_str!("../README.md").lines().filter_map(|line| line.strip_prefix("| "));
    let mut cells = lines.find(|line| line.starts_with(goal))?.split(" | ");
    Some([cells.next()?, cells.next()?])
}

/// A figure of a summary by its place and its unit, as text.
fn figure(summary: &Value, figure: &str) -> Option<String> {
    let (place, unit) = figure.rsplit_once(' ')?;
    let value = summary.pointer(place)?.as_f64()?;
    let seconds = |seconds: f64| match seconds {
        s if s < 1e-6 => format!("{:.3} ns", 1e9 * s),
        s if s < 1e-3 => format!("{:.3} µs", 1e6 * s),
        s => format!("{:.3} ms", 1e3 * s),
    };
    Some(match unit {
        "%" => format!("{:.2} %", 100.0 * value),
        "s" => seconds(value),
        "ns" => seconds(1e-9 * value),
        _ => format!("{value:.3}"),
    })
}

/// Prints the rows that these benches' summaries have figures for.
pub fn report(summaries: &BTreeMap<&str, Value>) {
    columns("goal | kept in README.md | today, a short run");
    for [bench, goal, all] in figures() {
        let Some((summary, [goal, reached])) = summaries.get(bench).zip(known(goal)) else { continue };
        let found = all.split("; ").map(|one| figure(summary, one).unwrap_or_else(|| "-".to_owned()));
        row(&[goal.to_owned(), reached.to_owned(), found.collect::<Vec<_>>().join("; ")]);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::list::find;

    #[test]
    fn every_figure_is_of_a_row_and_of_a_short_run() {
        for [bench, goal, _] in figures() {
            assert!(find(bench).is_some_and(|bench| bench.brief.is_some()), "{bench} is not run in short");
            assert!(known(goal).is_some(), "no row begins with `{goal}`");
        }
        assert_eq!(known("a goal that nobody has"), None);
        let summary = json!({ "a": { "share": 0.5, "ns": 2500.0 } });
        let shown = ["/a/share %", "/a/ns ns", "/a/share 1", "/a/none %"].map(|one| figure(&summary, one));
        assert_eq!(shown, [Some("50.00 %".into()), Some("2.500 µs".into()), Some("0.500".into()), None]);
    }
}
