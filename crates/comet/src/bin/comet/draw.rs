//! Curves as SVG: medians with their intervals, and the pieces if some are fitted, over sizes.

use plotters::prelude::*;
use strata_comet::KernelResult;

/// Colours of Okabe and Ito (2008).
const POINTS: RGBColor = RGBColor(0, 114, 178);
const PIECES: RGBColor = RGBColor(213, 94, 0);
const SIZE: (u32, u32) = (720, 480);

/// A drawing of a kernel's curve on logarithmic axes; `None` where there is none.
pub(crate) fn curve(kernel: &KernelResult) -> Option<String> {
    let points: Vec<_> = kernel.line().filter(|p| p.size() > 0.0 && p.belief.median > 0.0).collect();
    let (first, last) = (points.first()?.size(), points.last()?.size());
    let least = points.iter().map(|p| p.belief.low.max(p.belief.median / 2.0)).fold(f64::INFINITY, f64::min);
    let most = points.iter().map(|p| p.belief.high).fold(0.0, f64::max);
    if !(first < last && least > 0.0 && most.is_finite()) {
        return None;
    }
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE).ok()?;
        let mut chart = ChartBuilder::on(&root)
            .caption(format!("{}: {}", kernel.model, kernel.title), ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(72)
            .build_cartesian_2d((first..last * 1.1).log_scale(), (least * 0.8e6..most * 1.25e6).log_scale())
            .ok()?;
        chart
            .configure_mesh()
            .x_desc(kernel.unit.as_str())
            .y_desc("µs")
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| format!("{y}"))
            .draw()
            .ok()?;
        for piece in kernel.curve.iter().flat_map(|curve| &curve.pieces) {
            let steps = 32;
            let at = |k: usize| piece.from * (piece.to / piece.from).powf(k as f64 / f64::from(steps));
            let seconds = |x: f64| piece.start.value + x * piece.per_byte.value;
            let line = (0..=steps as usize).map(at).map(|x| (x, 1e6 * seconds(x))).filter(|(_, y)| *y > 0.0);
            chart.draw_series(LineSeries::new(line, PIECES.stroke_width(2))).ok()?;
        }
        let bars = points.iter().map(|p| {
            let (low, high) = (p.belief.low.max(least), p.belief.high);
            PathElement::new(vec![(p.size(), 1e6 * low), (p.size(), 1e6 * high)], POINTS)
        });
        chart.draw_series(bars).ok()?;
        let dots = points.iter().map(|p| Circle::new((p.size(), 1e6 * p.belief.median), 3, POINTS.filled()));
        chart.draw_series(dots).ok()?;
        root.present().ok()?;
    }
    Some(svg)
}
