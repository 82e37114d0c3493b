//! Predicted time against one input, for all candidates of a library.

use plotters::prelude::*;
use strata_model::Seconds;

use crate::html::{Escaped, Figure, Page};
use crate::map::{self, Axis};
use crate::plot::{Named, chart, draw, time_text};
use crate::scale::Scale;

const SIZE: (u32, u32) = (460, 340);
/// The most measured points of a candidate that are drawn.
const MOST: usize = 120;

/// A sample beside the curve of its candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The value of the input.
    pub value: f64,
    /// The predicted time of the curve at this value, multiplied by the ratio of the sample's
    /// measured to its predicted time (a partial residual), s.
    pub seconds: f64,
    /// True if the sample was held out.
    pub verify: bool,
}

/// One candidate with its best parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name.
    pub candidate: String,
    /// The value of the input, the predicted time and the half-width of its interval, s; values
    /// rising.
    pub predicted: Vec<(f64, f64, f64)>,
    /// The samples of its model.
    pub measured: Vec<Measured>,
}

/// All candidates of a library along one input.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// The library.
    pub library: String,
    /// The input that varies.
    pub input: String,
    /// The values of the other inputs, as text such as `width = 32`; may be empty.
    pub held: String,
    /// The curves, in the order of the library's candidates.
    pub curves: Vec<Curve>,
}

/// The figure with its legend and table; empty if no candidate predicts anything.
pub(crate) fn figure(page: &mut Page, curves: &Curves) {
    let Some(svg) = svg(curves) else { return };
    let Curves { library, input, held, .. } = curves;
    let at = if held.is_empty() { String::new() } else { format!(" at {held}") };
    page.figure(&Figure {
        svg: &svg,
        title: &format!("{library}: predicted time against {input}"),
        description: "A line for each candidate; the table below has their times.",
        caption: &format!(
            "Predicted time against {input}{at}, each candidate with its best parameters there. Bands hold 95 % of \
             new measurements. Each point is a sample, as far from the line as the time measured was from the time \
             predicted for it: circles were fitted, triangles held out."
        ),
    });
    page.add(format_args!("<ul class=\"legend\">\n"));
    for (index, curve) in curves.curves.iter().enumerate() {
        let swatch = map::swatch(Some(index), false);
        page.add(format_args!("<li>{swatch} <code>{}</code></li>\n", Escaped(&curve.candidate)));
    }
    page.add(format_args!("</ul>\n<details>\n<summary>The lines as a table</summary>\n"));
    let names = curves.curves.iter().map(|curve| format!("#{}", curve.candidate));
    let columns: Vec<String> = std::iter::once(input.clone()).chain(names).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    page.begin_table(&format!("{library}: predicted time for each {input}{at}"), &columns);
    for value in values(curves) {
        page.add(format_args!("<tr><th scope=\"row\">{}</th>", Escaped(&Axis::label(value))));
        for curve in &curves.curves {
            let there = curve.predicted.iter().find(|(at, ..)| *at == value);
            let time = there.and_then(|(_, seconds, _)| Seconds::new(*seconds));
            let time = time.map_or("–".to_owned(), |seconds| seconds.to_string());
            page.add(format_args!("<td class=\"n\">{time}</td>"));
        }
        page.add(format_args!("</tr>\n"));
    }
    page.end_table();
    page.add(format_args!("</details>\n"));
}

/// Every value at which a candidate predicts, rising.
fn values(curves: &Curves) -> Vec<f64> {
    let all = curves.curves.iter().flat_map(|curve| curve.predicted.iter().map(|(value, ..)| *value));
    let mut all: Vec<f64> = all.collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

fn svg(curves: &Curves) -> Option<String> {
    let values = values(curves);
    let x = Scale::of_input(values.iter().copied(), Axis::label)?;
    let measured = |curve: &Curve| curve.measured.iter().map(|m| m.seconds).collect::<Vec<_>>();
    let times = curves
        .curves
        .iter()
        .flat_map(|curve| curve.predicted.iter().map(|(_, seconds, _)| *seconds).chain(measured(curve)));
    let y = Scale::log(times.filter(|time| (1e-12..=1e6).contains(time)), time_text)?;
    draw(SIZE, |root| {
        let named = |scale, name| Named { scale, name };
        let mut chart = chart(root, named(&x, &curves.input), named(&y, "time"), true)?;
        let (low, high) = y.range();
        let place = |value: f64, seconds: f64| {
            let seconds = y.place(seconds.max(f64::MIN_POSITIVE));
            (x.place(value), seconds.clamp(low, high))
        };
        for (index, curve) in curves.curves.iter().enumerate() {
            let colour = map::colour(index);
            let upper = curve.predicted.iter().map(|(value, time, half)| place(*value, time + half));
            let lower = curve.predicted.iter().rev().map(|(value, time, half)| place(*value, time - half));
            let band: Vec<(f64, f64)> = upper.chain(lower).collect();
            chart.draw_series([Polygon::new(band, colour.mix(0.25))])?;
        }
        for (index, curve) in curves.curves.iter().enumerate() {
            let colour = map::colour(index);
            let stride = curve.measured.len().div_ceil(MOST).max(1);
            let shown = curve.measured.iter().step_by(stride);
            let shown = shown.filter(|m| x.shows(m.value) && y.shows(m.seconds));
            let (held_out, fitted): (Vec<&Measured>, Vec<&Measured>) = shown.partition(|m| m.verify);
            let circle = |m: &&Measured| Circle::new(place(m.value, m.seconds), 2, colour.filled());
            chart.draw_series(fitted.iter().map(circle))?;
            let triangle = |m: &&Measured| TriangleMarker::new(place(m.value, m.seconds), 4, colour.filled());
            chart.draw_series(held_out.iter().map(triangle))?;
            let line = curve.predicted.iter().map(|(value, time, _)| place(*value, *time));
            chart.draw_series([PathElement::new(line.collect::<Vec<_>>(), colour.stroke_width(2))])?;
        }
        Ok(())
    })
}
