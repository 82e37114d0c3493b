//! Plots as inline SVG.

use plotters::coord::Shift;
use plotters::prelude::*;
use strata_model::number_text;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// What drawing may fail with; on a string it cannot, but the types do not know.
pub(super) type Failure = DrawingAreaErrorKind<std::io::Error>;

const FIT: RGBColor = RGBColor(0, 114, 178);
const VERIFY: RGBColor = RGBColor(213, 94, 0);
/// More points than this are thinned out.
const MAX_POINTS: usize = 1000;
/// Font and size of axis labels.
pub(super) const LABEL: (&str, i32) = ("sans-serif", 14);
const LINE: RGBColor = RGBColor(110, 110, 110);

/// A point of a plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) verify: bool,
    pub(super) x: f64,
    pub(super) y: f64,
}

/// Draws into a string of SVG; `None` if the plotting crate refuses (an empty range, say).
pub(super) fn draw(
    size: (u32, u32),
    paint: impl for<'a> FnOnce(&Area<'a>) -> Result<(), Failure>,
) -> Option<String> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        root.fill(&WHITE).ok()?;
        paint(&root).ok()?;
        root.present().ok()?;
    }
    Some(text)
}

/// Observed against predicted seconds, both logarithmic, with the line on which they agree.
pub(super) fn observed_against_predicted(points: &[Point]) -> Option<String> {
    let points = shown(points, |p| loggable(p.x) && loggable(p.y));
    let (low, high) = log_range(points.iter().flat_map(|p| [p.x, p.y]))?;
    draw((480, 400), |root| {
        let mut chart = ChartBuilder::on(root)
            .margin(8)
            .margin_right(20)
            .x_label_area_size(40)
            .y_label_area_size(64)
            .build_cartesian_2d((low..high).log_scale(), (low..high).log_scale())?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .label_style(LABEL)
            .x_desc("predicted, s")
            .y_desc("observed, s")
            .x_label_formatter(&|v| power_text(*v))
            .y_label_formatter(&|v| power_text(*v))
            .draw()?;
        chart.draw_series([PathElement::new(vec![(low, low), (high, high)], LINE)])?;
        chart.draw_series(circles(&points))?;
        chart.draw_series(triangles(&points))?;
        Ok(())
    })
}

/// Relative errors in per cent against predicted seconds (logarithmic).
pub(super) fn relative_errors(points: &[Point]) -> Option<String> {
    let points = shown(points, |p| loggable(p.x) && p.y.is_finite());
    let (low, high) = log_range(points.iter().map(|p| p.x))?;
    let most = points.iter().map(|p| p.y.abs()).fold(1.0, f64::max) * 1.1;
    draw((480, 400), |root| {
        let mut chart = ChartBuilder::on(root)
            .margin(8)
            .margin_right(20)
            .x_label_area_size(40)
            .y_label_area_size(64)
            .build_cartesian_2d((low..high).log_scale(), -most..most)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .label_style(LABEL)
            .x_desc("predicted, s")
            .y_desc("(observed - predicted) / observed, %")
            .x_label_formatter(&|v| power_text(*v))
            .y_label_formatter(&|v| value_text((*v * 1e6).round() / 1e6 + 0.0))
            .draw()?;
        chart.draw_series([PathElement::new(vec![(low, 0.0), (high, 0.0)], LINE)])?;
        chart.draw_series(circles(&points))?;
        chart.draw_series(triangles(&points))?;
        Ok(())
    })
}

fn circles(points: &[Point]) -> impl Iterator<Item = Circle<(f64, f64), i32>> {
    points.iter().filter(|p| !p.verify).map(|p| Circle::new((p.x, p.y), 3, FIT))
}

fn triangles(points: &[Point]) -> impl Iterator<Item = TriangleMarker<(f64, f64), i32>> {
    points.iter().filter(|p| p.verify).map(|p| TriangleMarker::new((p.x, p.y), 5, VERIFY))
}

/// The points that a logarithmic axis can show, and of very many only every so manieth: a page must stay readable.
fn shown(points: &[Point], visible: impl Fn(&Point) -> bool) -> Vec<Point> {
    let visible: Vec<Point> = points.iter().copied().filter(visible).collect();
    visible.iter().copied().step_by(visible.len() / MAX_POINTS + 1).collect()
}

/// A value in few characters: `65536`, `1.05e6`.
pub(super) fn value_text(value: f64) -> String {
    let text = number_text(value);
    if text.len() <= 7 { text } else { format!("{value:.2e}") }
}

fn power_text(value: f64) -> String {
    format!("{value:.0e}")
}

/// Logarithmic axes reach from 1e-12 s to 1e6 s: what no clock tells and nobody waits for is left out.
fn loggable(x: f64) -> bool {
    (1e-12..=1e6).contains(&x)
}

/// The range of the values with some air; `None` without values.
fn log_range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let (low, high) = values.fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
    (low <= high).then_some((low / 1.5, high * 1.5))
}
