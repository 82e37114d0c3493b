//! Plots as inline SVG.
//!
//! Plots are not scaled, so that their text has the size of the page's: they are as wide as a phone
//! has room ([`NARROW`]), and those that gain by it are drawn a second time for wider screens
//! ([`WIDE`]). Elements in [`INK`] and [`RULE`] take the page's colours from `figures.css`; there is
//! no background.

use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::*;
use strata_model::number_text;

use crate::marks::Marks;
use crate::scale::{Room, Scale, cut, text_width};

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(crate) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Ticked, Ticked>>;
/// The error of drawing; drawing into a string cannot fail, but the types require one.
pub(crate) type Failure = DrawingAreaErrorKind<std::io::Error>;

/// Text, axes and outlines.
pub(crate) const INK: RGBColor = RGBColor(0x1a, 0x1a, 0x1a);
/// Grid lines.
pub(crate) const RULE: RGBColor = RGBColor(0xd0, 0xd0, 0xd0);
/// Held-out samples in a histogram, from Okabe and Ito (2008).
pub(crate) const VERIFY: RGBColor = RGBColor(213, 94, 0);
const LINE: RGBColor = RGBColor(110, 110, 110);

/// The plotting crate's text size divided by the height that its SVG states.
const SIZE_OVER_PIXELS: f64 = 1.24;
/// The width in pixels that a phone has room for.
pub(crate) const NARROW: u32 = 328;
/// The width of plots on wider screens, and on paper.
pub(crate) const WIDE: u32 = 680;
/// The size of most plots.
pub(crate) const SIZE: (u32, u32) = (NARROW, 280);
/// The height of labels in pixels; `figures.css` has the same.
pub(crate) const FONT: f64 = 14.0;
const MARGIN: f64 = 9.0;
const X_LABELS: f64 = 46.0;

/// A point of a plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) verify: bool,
    pub(crate) sample: usize,
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// The ends of the interval that contains y nineteen times in twenty if there is only noise.
    pub(crate) noise: (f64, f64),
    /// The model's error here; points with the greatest errors are drawn even if others are left
    /// out.
    pub(crate) error: f64,
}

/// Points with what a plot tells of a sample, and how many points it may draw.
pub(crate) struct Cloud<'a> {
    pub(crate) points: Vec<Point>,
    pub(crate) most: usize,
    pub(crate) told: &'a dyn Fn(usize) -> String,
}

/// What a chart has beside its axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) grid: bool,
    /// The space above.
    pub(crate) top: f64,
    /// The space on the right.
    pub(crate) right: f64,
}

impl Frame {
    /// No more space than labels need; on the right that is half of the last one.
    pub(crate) const fn new(grid: bool) -> Self {
        Self { grid, top: MARGIN, right: 26.0 }
    }
}

/// A drawing, and the number of its points that it shows.
#[derive(Debug)]
pub(crate) struct Plot {
    pub(crate) svg: String,
    pub(crate) drawn: usize,
    /// Points that could be drawn.
    pub(crate) visible: usize,
    /// All points.
    pub(crate) all: usize,
}

/// An axis with its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) scale: &'a Scale,
    pub(crate) name: &'a str,
}

/// The size that the plotting crate needs for a text height of this many pixels.
pub(crate) fn font_size(pixels: f64) -> f64 {
    SIZE_OVER_PIXELS * pixels
}

/// A linear axis with ticks at given places.
pub(crate) struct Ticked {
    range: (f64, f64),
    ticks: Vec<f64>,
}

impl Ranged for Ticked {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let (low, high) = self.range;
        first + ((value - low) / (high - low) * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.range.0..self.range.1
    }
}

/// Draws into an SVG string, with the marks that come of it on top; `None` if the plotting crate
/// refuses (an empty range, for example).
pub(crate) fn draw(
    size: (u32, u32),
    paint: impl for<'a> FnOnce(&Area<'a>) -> Result<Marks, Failure>,
) -> Option<String> {
    let mut text = String::new();
    let marks = {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let marks = paint(&root).ok()?;
        root.present().ok()?;
        marks
    };
    // Attributes with default values, or set in `figures.css`, make up more than half of a plot.
    // Quotes in texts are escaped, so that only attributes match.
    let label = format!(" font-size=\"{}\" fill=\"#1A1A1A\"", font_size(FONT).round() / SIZE_OVER_PIXELS);
    for (attributes, instead) in [
        (" opacity=\"1\"", ""),
        (" stroke-width=\"1\"", ""),
        (" stroke=\"none\"", ""),
        ("<polyline fill=\"none\"", "<polyline"),
        (" font-family=\"sans-serif\"", ""),
        (&label, ""),
    ] {
        text = text.replace(attributes, instead);
    }
    let end = text.rfind("</svg>")?;
    text.insert_str(end, &marks.svg);
    Some(text)
}

/// A chart with both axes drawn, on the whole of `root`.
pub(crate) fn chart<'a, 'b>(
    root: &'a Area<'b>,
    x: Named<'_>,
    y: Named<'_>,
    Frame { grid, top, right }: Frame,
) -> Result<Chart<'a, 'b>, Failure> {
    let (width, height) = root.dim_in_pixel();
    let length = f64::from(height) - top - MARGIN - X_LABELS;
    let y_ticks = y.scale.ticks(Room { length, font: FONT, across: false });
    let widest = y_ticks.iter().map(|t| text_width(&y.scale.text(*t), FONT)).fold(0.0, f64::max);
    let y_labels = widest + if y.name.is_empty() { 12.0 } else { 30.0 };
    let x_length = f64::from(width) - MARGIN - right - y_labels;
    let x_ticks = x.scale.ticks(Room { length: x_length, font: FONT, across: true });
    let axis = |named: Named<'_>, ticks| Ticked { range: named.scale.range(), ticks };
    let mut chart = ChartBuilder::on(root)
        .margin(MARGIN)
        .margin_top(top)
        .margin_right(right)
        .x_label_area_size(X_LABELS)
        .y_label_area_size(y_labels)
        .build_cartesian_2d(axis(x, x_ticks), axis(y, y_ticks))?;
    let style = ("sans-serif", font_size(FONT), &INK);
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(TRANSPARENT).axis_style(INK).label_style(style).axis_desc_style(style);
    if grid {
        mesh.bold_line_style(RULE);
    } else {
        mesh.bold_line_style(TRANSPARENT);
    }
    mesh.x_desc(cut(x.name, FONT, x_length))
        .y_desc(cut(y.name, FONT, length))
        .x_label_formatter(&|place| x.scale.text(*place))
        .y_label_formatter(&|place| y.scale.text(*place))
        .draw()?;
    Ok(chart)
}

/// Observed against predicted seconds, both logarithmic, with the line on which they agree.
pub(crate) fn observed_against_predicted(cloud: &Cloud<'_>) -> Option<Plot> {
    let visible = || cloud.points.iter().filter(|p| loggable(p.x) && loggable(p.y));
    let scale = Scale::log(visible().flat_map(|p| [p.x, p.y]), time_text)?;
    let (low, high) = scale.range();
    let axis = |name| Named { scale: &scale, name };
    scatter(cloud, axis("predicted time"), axis("observed time"), [(low, low), (high, high)])
}

/// Relative errors in per cent against predicted seconds (logarithmic).
pub(crate) fn errors_against_prediction(cloud: &Cloud<'_>) -> Option<Plot> {
    let x = Scale::log(cloud.points.iter().map(|p| p.x).filter(|x| loggable(*x)), time_text)?;
    errors(cloud, Named { scale: &x, name: "predicted time" })
}

/// Relative errors in per cent against an input.
pub(crate) fn errors_against_input(cloud: &Cloud<'_>, input: &str, names: &[String]) -> Option<Plot> {
    let places: Vec<f64> = (0..names.len()).map(|place| place as f64).collect();
    let x = match names {
        [] => Scale::of_input(cloud.points.iter().map(|p| p.x), value_text)?,
        _ => Scale::cells(&places, value_text).named(names),
    };
    errors(cloud, Named { scale: &x, name: input })
}

fn errors(cloud: &Cloud<'_>, x: Named<'_>) -> Option<Plot> {
    let greatest = cloud.points.iter().map(|p| p.y.abs()).filter(|y| y.is_finite()).fold(1.0, f64::max);
    let y = Scale::linear(-1.1 * greatest, 1.1 * greatest, value_text);
    let (left, right) = x.scale.range();
    scatter(cloud, x, Named { scale: &y, name: "relative error, %" }, [(left, 0.0), (right, 0.0)])
}

/// Points and the line on which they should lie.
fn scatter(cloud: &Cloud<'_>, x: Named<'_>, y: Named<'_>, line: [(f64, f64); 2]) -> Option<Plot> {
    let points = &cloud.points;
    let visible: Vec<Point> =
        points.iter().copied().filter(|p| x.scale.shows(p.x) && y.scale.shows(p.y)).collect();
    let shown = thin(&visible, cloud.most);
    let svg = draw(SIZE, |root| {
        let mut chart = chart(root, x, y, Frame::new(true))?;
        chart.draw_series([PathElement::new(line.to_vec(), LINE)])?;
        let (low, high) = y.scale.range();
        let bar = |p: &Point| {
            let x = x.scale.place(p.x);
            let end = |y_value: f64| y.scale.place(y_value).clamp(low, high);
            PathElement::new(vec![(x, end(p.noise.0)), (x, end(p.noise.1))], LINE)
        };
        chart.draw_series(shown.iter().filter(|p| p.noise.0 < p.noise.1).map(bar))?;
        let mut marks = Marks::default();
        // Those held out are fewer, and on top.
        for p in [false, true].iter().flat_map(|verify| shown.iter().filter(|p| p.verify == *verify)) {
            let place = chart.backend_coord(&(x.scale.place(p.x), y.scale.place(p.y)));
            marks.sample(place, if p.verify { "held" } else { "fitted" }, p.verify, &(cloud.told)(p.sample));
        }
        Ok(marks)
    })?;
    Some(Plot { svg, drawn: shown.len(), visible: visible.len(), all: points.len() })
}

/// Selects at most this many points: a quarter of them with the greatest errors, the others evenly
/// from all.
fn thin(points: &[Point], most: usize) -> Vec<Point> {
    if points.len() <= most {
        return points.to_vec();
    }
    let mut worst: Vec<usize> = (0..points.len()).collect();
    let mut keep = vec![false; points.len()];
    let (greatest, ..) = worst.select_nth_unstable_by(most / 4, |a, b| {
        points[*b].error.abs().total_cmp(&points[*a].error.abs()).then(a.cmp(b))
    });
    greatest.iter().for_each(|i| keep[*i] = true);
    let rest = most - most / 4;
    // A point may be in both, so there may be fewer.
    (0..rest).for_each(|k| keep[k * points.len() / rest] = true);
    points.iter().zip(keep).filter(|(_, keep)| *keep).map(|(p, _)| *p).collect()
}

/// A value in few characters: `65536`, `1.048e6`.
pub(crate) fn value_text(value: f64) -> String {
    let text = number_text(value);
    if text.len() <= 7 { text } else { format!("{value:.3e}") }
}

/// A time in few characters: `50 µs`.
pub(crate) fn time_text(seconds: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1.0, "s"), (1e3, "ms"), (1e6, "µs"), (1e9, "ns")];
    let (factor, unit) = UNITS.into_iter().find(|(f, _)| seconds * f >= 0.9995).unwrap_or(UNITS[3]);
    format!("{} {unit}", value_text(crate::scale::round_to(seconds * factor, 4)))
}

/// Logarithmic axes reach from 1e-12 s to 1e6 s, beyond any time that is measured.
fn loggable(x: f64) -> bool {
    (1e-12..=1e6).contains(&x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(count: usize) -> Vec<Point> {
        let error = |i: usize| if i % 97 == 13 { 5.0 } else { 0.1 };
        (0..count)
            .map(|i| Point {
                verify: false,
                sample: i,
                x: i as f64,
                y: 1.0,
                noise: (0.9, 1.1),
                error: error(i),
            })
            .collect()
    }

    #[test]
    fn thinning_keeps_the_worst_and_the_whole_range() {
        assert_eq!(thin(&points(100), 100), points(100));
        let shown = thin(&points(10_000), 500);
        assert!((400..=500).contains(&shown.len()), "{}", shown.len());
        assert_eq!(
            shown.iter().filter(|p| p.error == 5.0).count(),
            points(10_000).iter().filter(|p| p.error == 5.0).count()
        );
        assert!(shown[0].x == 0.0 && shown.last().unwrap().x > 9900.0);
        assert!(shown.windows(2).all(|w| w[0].x < w[1].x), "each once and in order");
    }

    #[test]
    fn times_have_units() {
        for (seconds, text) in
            [(1e-7, "100 ns"), (5e-5, "50 µs"), (1.0, "1 s"), (2e5, "200000 s"), (3e-11, "0.03 ns")]
        {
            assert_eq!(time_text(seconds), text);
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_counted() {
        let mut points = points(10);
        points[3].y = f64::INFINITY;
        let cloud = Cloud { points, most: 5, told: &|sample| format!("<{sample}>") };
        let plot = errors_against_prediction(&cloud).unwrap();
        // The prediction of the first is zero.
        assert_eq!((plot.all, plot.visible), (10, 8));
        assert!(plot.drawn <= 5);
        assert!(plot.svg.contains("<title>&lt;4&gt;</title>"), "{}", plot.svg);
        assert!(errors_against_input(&Cloud { points: Vec::new(), ..cloud }, "n", &[]).is_none());
    }
}
