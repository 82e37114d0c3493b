//! The section of one selection map: drawing, legend, and the same as a table.

use strata_model::Seconds;

use crate::html::{Escaped, Figure, Page};
use crate::judged::{self, Judged};
use crate::map::{self, Cell, Map, SURE};
use crate::plot::{NARROW, WIDE};
use strata_model::percent;

/// The section of a map.
pub(crate) fn map(page: &mut Page, index: usize, map: &Map, judged: &[Judged]) {
    page.add(format_args!(
        "<section class=\"map\" aria-labelledby=\"map-{index}\">\n<h3 id=\"map-{index}\">{}</h3>\n",
        Escaped(&map.library)
    ));
    if !map.fixed.is_empty() {
        page.add(format_args!("<p>At {}.</p>\n", Escaped(&map.fixed)));
    }
    let judged = judged::of(judged, &map.library);
    let drawn = |width| map::svg(map, &judged, width);
    match [WIDE, NARROW].into_iter().map(drawn).collect::<Option<Vec<_>>>() {
        Some(svg) => drawing(page, index, map, (&svg, &judged)),
        None => page.add(format_args!("<p>The map has no cells.</p>\n")),
    }
    page.add(format_args!("</section>\n"));
}

fn drawing(page: &mut Page, index: usize, map: &Map, (svg, judged): (&[String], &[&Judged])) {
    let cells = map.x.values.len() * map.y.values.len();
    let axes =
        if map.y.name.is_empty() { map.x.name.clone() } else { format!("{} and {}", map.x.name, map.y.name) };
    let with_parameters = if map.parameters.iter().any(|p| !p.is_empty()) {
        ", with its best parameters where there is room"
    } else {
        ""
    };
    page.figure(&Figure {
        svg,
        title: &format!("Who wins in {}", map.library),
        description: &format!("A field for each of {cells} values of {axes}; the table below says the same."),
        caption: &format!(
            "The candidate predicted to be the fastest for each {axes}{with_parameters}. {}{}",
            certainty(map),
            judged::caption(judged)
        ),
    });
    legend(page, map, cells);
    crossings(page, map);
    page.add(format_args!("<details>\n<summary>The map as a table</summary>\n"));
    table(page, index, map);
    page.add(format_args!("</details>\n"));
}

/// The certainty of the choices, and the expected cost of wrong ones.
fn certainty(map: &Map) -> String {
    let covered = map.covered().count();
    if covered == 0 {
        return "No model covers any of these points.".into();
    }
    if map.covered().all(|cell| cell.odds.is_none()) {
        return "How sure the choices are is not known: the models have no intervals.".into();
    }
    let unsure: Vec<&Cell> = map.all().filter(|cell| !cell.is_sure()).collect();
    if unsure.is_empty() {
        let place = if map.reasons().is_empty() { "Everywhere" } else { "Where a model covers the point" };
        return format!("{place} it is the fastest with a probability of at least {}.", percent(SURE));
    }
    let share = |cell: &&Cell| Some(cell.odds?.loss / cell.seconds.as_ref().ok()?.max(f64::MIN_POSITIVE));
    let loss = unsure.iter().filter_map(share).filter(|s| s.is_finite()).fold(0.0, f64::max);
    format!(
        "In {} of {covered} fields (hatched) it is the fastest with a probability below {}; choosing it there is expected to cost {} of \
         the time at most. `specc advise models.toml --spec SPEC` names the samples that would make it surer.",
        unsure.len(),
        percent(SURE),
        percent(loss)
    )
}

fn legend(page: &mut Page, map: &Map, cells: usize) {
    page.add(format_args!("<ul class=\"legend\">\n"));
    for (i, candidate) in map.candidates.iter().enumerate() {
        let wins = map.covered().filter(|cell| cell.winner == i).count();
        // Those that win nowhere are among the curves, if they were measured.
        if map.all().all(|cell| cell.winner != i) {
            continue;
        }
        let parameters = match map.parameters.get(i) {
            Some(names) if !names.is_empty() => format!(" (parameters: {})", names.join(", ")),
            _ => String::new(),
        };
        page.add(format_args!(
            "<li>{} {} <code>{}</code>{} wins {wins} of {cells} fields</li>\n",
            map::swatch(Some(i), false),
            map::letter(i),
            Escaped(candidate),
            Escaped(&parameters)
        ));
    }
    if map.all().any(|cell| !cell.is_sure()) {
        page.add(format_args!(
            "<li>{} hatched: the fastest with a probability below {}</li>\n",
            map::swatch(None, true),
            Escaped(&percent(SURE))
        ));
    }
    for reason in map.reasons() {
        page.add(format_args!("<li>{} white: {}</li>\n", map::swatch(None, false), Escaped(reason)));
    }
    page.add(format_args!("</ul>\n"));
}

/// The places that the map marks with white diamonds, as text: `radix < 190 < sample`.
fn crossings(page: &mut Page, map: &Map) {
    if map.crossings.is_empty() {
        return;
    }
    page.add(format_args!(
        "<p>Where the choice changes along {} (diamonds):</p>\n<ul>\n",
        Escaped(&map.x.name)
    ));
    for line in map.crossings.chunk_by(|a, b| a.across == b.across) {
        let at = line[0].across.map_or(String::new(), |y| format!("{} = {}: ", map.y.name, map.y.text(y)));
        let changes = line.iter().map(|crossing| format!(" < {} < {}", crossing.label, crossing.to));
        let ways = line[0].from.clone() + &changes.collect::<String>();
        page.add(format_args!("<li>{}<code>{}</code></li>\n", Escaped(&at), Escaped(&ways)));
    }
    page.add(format_args!("</ul>\n"));
}

/// The map as text: the winner, its time and its certainty; a row for each value of y, the greatest
/// first as in the drawing.
fn table(page: &mut Page, index: usize, map: &Map) {
    let corner =
        if map.y.name.is_empty() { map.x.name.clone() } else { format!("{} \\ {}", map.y.name, map.x.name) };
    let labels: Vec<String> = map.x.values.iter().map(|v| map.x.text(*v)).collect();
    let columns: Vec<&str> =
        std::iter::once(corner.as_str()).chain(labels.iter().map(String::as_str)).collect();
    page.begin_matrix(
        &format!("{}: who wins, its predicted time, and its probability of being the fastest", map.library),
        &columns,
    );
    for (y, value) in map.y.values.iter().enumerate().rev() {
        let label = if map.y.name.is_empty() { map.library.clone() } else { map.y.text(*value) };
        page.add(format_args!("<tr><th scope=\"row\" id=\"map-{index}-{y}\">{}</th>", Escaped(&label)));
        for cell in map.cells.get(y).into_iter().flatten() {
            let odds = cell.odds.map_or(String::new(), |odds| percent(odds.fastest));
            let parameters: String = cell.parameters.iter().map(|p| format!(":{p}")).collect();
            let name = map.candidates.get(cell.winner).map_or("", String::as_str);
            let seconds = cell.seconds.as_ref().ok().and_then(|seconds| Seconds::new(*seconds));
            let time = seconds.map_or("not measured".to_owned(), |seconds| seconds.to_string());
            let class = if cell.is_sure() { "" } else { " class=\"unsure\"" };
            page.add(format_args!("<td{class}>{}{parameters}<br>{time}<br>{odds}</td>", Escaped(name)));
        }
        page.add(format_args!("</tr>\n"));
    }
    page.end_matrix();
}
