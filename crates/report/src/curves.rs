//! Predicted time against one input, for all candidates of a library.

use strata_model::Seconds;

use crate::html::{Escaped, Figure, Page};
use crate::judged::{self, Judged};
use crate::map::Axis;
use crate::marks::{Marks, Place, apart, series};
use crate::plot::{FONT, Frame, NARROW, Named, WIDE, chart, draw, time_text};
use crate::scale::{Scale, cut, text_width};

const HEIGHT: u32 = 340;
/// The most measured points of a candidate that are drawn.
const MOST: usize = 120;
/// The greatest share of a plot's width that names at the ends of lines take.
const NAMES: f64 = 0.28;
/// Between the end of a line and its name.
const GAP: f64 = 10.0;
/// The height of the row of crossings.
const ROW: f64 = 1.5 * FONT;

/// A sample beside the curve of its candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The value of the input.
    pub value: f64,
    /// The predicted time of the curve at this value, multiplied by the ratio of the sample's
    /// measured to its predicted time (a partial residual), s.
    pub seconds: f64,
    /// True if the sample was held out.
    pub verify: bool,
    /// All its inputs and its times, in words: [`told`](crate::told).
    pub told: String,
}

/// One candidate with its best parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name.
    pub candidate: String,
    /// The value of the input, the predicted time and the half-width of its interval, s; values
    /// rising. A candidate that was not measured has none, and is not shown.
    pub predicted: Vec<(f64, f64, f64)>,
    /// The samples of its model.
    pub measured: Vec<Measured>,
}

/// A place where one way gives place to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// The least value of the input at which the second is chosen.
    pub at: f64,
    /// This value in few digits.
    pub label: String,
    /// The value of a second input, where there is one.
    pub across: Option<f64>,
    /// The time predicted for the choice there, s; `None` where no model covers it.
    pub seconds: Option<f64>,
    /// What is chosen below, as it is pinned.
    pub from: String,
    /// What is chosen from there on.
    pub to: String,
}

impl Crossing {
    /// What it is, in words.
    pub(crate) fn told(&self, input: &str) -> String {
        format!("from {input} = {} on {} instead of {}", self.label, self.to, self.from)
    }
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
    /// Where another candidate is chosen, rising.
    pub crossings: Vec<Crossing>,
    /// The caption of lines that were measured; `None` where they are predictions.
    pub caption: Option<String>,
}

impl Curves {
    /// The candidates that were measured, with their places among all.
    fn shown(&self) -> impl Iterator<Item = (usize, &Curve)> {
        self.curves.iter().enumerate().filter(|(_, curve)| !curve.predicted.is_empty())
    }
}

/// The figure with its table; empty if no candidate predicts anything.
pub(crate) fn figure(page: &mut Page, curves: &Curves, judged: &[Judged]) {
    let judged = judged::of(judged, &curves.library);
    let drawn = |width| svg(curves, &judged, width);
    let Some(svg) = [WIDE, NARROW].into_iter().map(drawn).collect::<Option<Vec<_>>>() else { return };
    let Curves { library, input, held, caption, .. } = curves;
    let what = if caption.is_some() { "time" } else { "predicted time" };
    let at = if held.is_empty() { String::new() } else { format!(" at {held}") };
    let crossings = match &curves.crossings[..] {
        [] => "",
        _ => " Above are the values from which on another candidate is chosen.",
    };
    let predicted = || {
        format!(
            "Predicted time against {input}{at}, each candidate with its best parameters there. Bands hold 95 % of \
             new measurements. Each point is a sample, as far from the line as the time measured was from the time \
             predicted for it: circles were fitted, triangles held out.{crossings}{}",
            judged::caption(&judged)
        )
    };
    page.figure(&Figure {
        svg: &svg,
        title: &format!("{library}: {what} against {input}"),
        description: "A line for each candidate; the table below has their times.",
        caption: &caption.clone().unwrap_or_else(predicted),
    });
    page.add(format_args!("<details>\n<summary>The lines as a table</summary>\n"));
    let names = curves.shown().map(|(_, curve)| format!("#{}", curve.candidate));
    let columns: Vec<String> = std::iter::once(input.clone()).chain(names).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    page.begin_matrix(&format!("{library}: {what} for each {input}{at}"), &columns);
    for value in values(curves) {
        page.add(format_args!("<tr><th scope=\"row\">{}</th>", Escaped(&Axis::label(value))));
        for (_, curve) in curves.shown() {
            let there = curve.predicted.iter().find(|(at, ..)| *at == value);
            let time = there.and_then(|(_, seconds, _)| Seconds::new(*seconds));
            let time = time.map_or("–".to_owned(), |seconds| seconds.to_string());
            page.add(format_args!("<td class=\"n\">{time}</td>"));
        }
        page.add(format_args!("</tr>\n"));
    }
    page.end_matrix();
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

fn svg(curves: &Curves, judged: &[&Judged], width: u32) -> Option<String> {
    let values = values(curves);
    let x = Scale::of_input(values.iter().copied(), Axis::label)?;
    let measured = |curve: &Curve| curve.measured.iter().map(|m| m.seconds).collect::<Vec<_>>();
    let times = curves
        .curves
        .iter()
        .flat_map(|curve| curve.predicted.iter().map(|(_, seconds, _)| *seconds).chain(measured(curve)));
    let y = Scale::log(times.filter(|time| (1e-12..=1e6).contains(time)), time_text)?;
    let name = |curve: &Curve| cut(&curve.candidate, FONT, NAMES * f64::from(width));
    let names = curves.shown().map(|(_, curve)| text_width(&name(curve), FONT)).fold(0.0, f64::max);
    let mut frame = Frame { right: names + 2.0 * GAP, ..Frame::new(true) };
    if !curves.crossings.is_empty() {
        frame.top += ROW;
    }
    draw((width, HEIGHT), |root| {
        let named = |scale, name| Named { scale, name };
        let chart = chart(root, named(&x, &curves.input), named(&y, "time"), frame)?;
        let (low, high) = y.range();
        let place = |value: f64, seconds: f64| -> Place {
            let seconds = y.place(seconds.max(f64::MIN_POSITIVE));
            chart.backend_coord(&(x.place(value), seconds.clamp(low, high)))
        };
        let ((left, right), (top, bottom)) = {
            let ((left, right), (low, high)) = (x.range(), y.range());
            let (a, b) = (chart.backend_coord(&(left, low)), chart.backend_coord(&(right, high)));
            ((a.0, b.0), (b.1, a.1))
        };
        let mut marks = Marks::default();
        for (index, curve) in curves.shown() {
            let upper = curve.predicted.iter().map(|(value, time, half)| place(*value, time + half));
            let lower = curve.predicted.iter().rev().map(|(value, time, half)| place(*value, time - half));
            marks.path(&format!("band {}", series(index)), &upper.chain(lower).collect::<Vec<_>>());
        }
        for (index, curve) in curves.shown() {
            let line = curve.predicted.iter().map(|(value, time, _)| place(*value, *time));
            marks.path(&format!("line {}", series(index)), &line.collect::<Vec<_>>());
            let stride = curve.measured.len().div_ceil(MOST).max(1);
            let shown = curve.measured.iter().step_by(stride);
            let class = format!("sample {}", series(index));
            for m in shown.filter(|m| x.shows(m.value) && y.shows(m.seconds)) {
                let told = format!("{}: {}", curve.candidate, m.told);
                marks.sample(place(m.value, m.seconds), &class, m.verify, &told);
            }
        }
        for one in judged {
            if let Some(value) = one.value(&curves.input).filter(|value| x.shows(*value)) {
                one.mark(&mut marks, (place(value, 0.0).0, bottom - 6));
            }
        }
        let end = |curve: &Curve| curve.predicted.last().map_or((left, bottom), |(v, t, _)| place(*v, *t));
        let ends: Vec<f64> = curves.shown().map(|(_, curve)| f64::from(end(curve).1)).collect();
        let heights = vec![1.2 * FONT; ends.len()];
        let beside = apart(&ends, &heights, (f64::from(top), f64::from(bottom)));
        for ((index, curve), middle) in curves.shown().zip(beside) {
            let Some(middle) = middle else { continue };
            let at = (right + GAP as i32, middle.round() as i32);
            marks.path(&format!("leader {}", series(index)), &[end(curve), (at.0 - 2, at.1)]);
            marks.text(at, "start", &format!("name {}", series(index)), &name(curve));
        }
        let crossings = || curves.crossings.iter().filter(|crossing| x.shows(crossing.at));
        let across = |crossing: &Crossing| place(crossing.at, 0.0).0;
        let wanted: Vec<f64> = crossings().map(|crossing| f64::from(across(crossing))).collect();
        let widths: Vec<f64> = crossings().map(|c| text_width(&c.label, FONT) + 0.6 * FONT).collect();
        let above = apart(&wanted, &widths, (f64::from(left), f64::from(width)));
        for (crossing, middle) in crossings().zip(above) {
            let (at, told) = (across(crossing), crossing.told(&curves.input));
            if let Some(middle) = middle {
                let label = (middle.round() as i32, top - (ROW / 2.0) as i32);
                marks.path(
                    "change",
                    &[(label.0, label.1 + (ROW / 2.0) as i32 - 2), (at, top + 4), (at, bottom)],
                );
                marks.text(label, "middle", "at", &crossing.label);
            }
            if let Some(seconds) = crossing.seconds.filter(|seconds| y.shows(*seconds)) {
                marks.diamond(place(crossing.at, seconds), "crossing", &told);
            }
        }
        Ok(marks)
    })
}
