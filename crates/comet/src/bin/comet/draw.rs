//! Pictures as SVG: medians with their intervals, and the pieces if some are fitted, over sizes;
//! times over numbers of nodes; times between all pairs of nodes.

use plotters::prelude::*;
use strata_comet::KernelResult;
use strata_comet::over_nodes::OverNodes;

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

/// Colours of the lines of one picture, of Okabe and Ito (2008).
const LINES: [RGBColor; 7] = [
    POINTS,
    PIECES,
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// A drawing of one model's times over numbers of nodes, a line for each of its points; of many
/// points some, evenly. `None` where there are fewer than two numbers of nodes.
pub(crate) fn over_nodes(of_model: &[&OverNodes]) -> Option<String> {
    let chosen: Vec<&OverNodes> = match of_model.len().saturating_sub(1) {
        0 => of_model.to_vec(),
        last => {
            let lines = LINES.len().min(last + 1);
            (0..lines).map(|k| of_model[k * last / (lines - 1)]).collect()
        }
    };
    let times = || chosen.iter().flat_map(|one| one.times.iter().copied());
    let first = times().map(|(nodes, _)| nodes).min()? as f64;
    let last = times().map(|(nodes, _)| nodes).max()? as f64;
    let least = times().map(|(_, seconds)| seconds).filter(|s| *s > 0.0).fold(f64::INFINITY, f64::min);
    let most = times().map(|(_, seconds)| seconds).fold(0.0, f64::max);
    if !(first < last && least <= most && most.is_finite()) {
        return None;
    }
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE).ok()?;
        let mut chart = ChartBuilder::on(&root)
            .caption(format!("{} over numbers of nodes", chosen.first()?.model), ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(72)
            .build_cartesian_2d(
                (first * 0.95..last * 1.05).log_scale().base(2.0),
                (least * 0.8e6..most * 1.25e6).log_scale(),
            )
            .ok()?;
        chart
            .configure_mesh()
            .x_desc("nodes")
            .y_desc("µs")
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| format!("{y}"))
            .draw()
            .ok()?;
        for (one, colour) in chosen.iter().zip(LINES) {
            let line = || one.times.iter().map(|(nodes, seconds)| (*nodes as f64, 1e6 * seconds));
            let name = one.at.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
            let drawn = chart.draw_series(LineSeries::new(line(), colour.stroke_width(2))).ok()?;
            if !name.is_empty() {
                drawn.label(name).legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour));
            }
            chart.draw_series(line().map(|at| Circle::new(at, 3, colour.filled()))).ok()?;
        }
        chart.configure_series_labels().background_style(WHITE).draw().ok()?;
        root.present().ok()?;
    }
    Some(svg)
}

/// A drawing of the times between all pairs of nodes with messages of so many bytes: the darker, the
/// longer. `None` where there are fewer than two pairs.
pub(crate) fn pairs(kernel: &KernelResult, bytes: i64) -> Option<String> {
    let all: Vec<(i32, i32, f64)> = kernel
        .points
        .iter()
        .filter_map(|point| match point.at[..] {
            [size, from, to] if size == bytes => {
                Some((i32::try_from(from).ok()?, i32::try_from(to).ok()?, 1e6 * point.belief.median))
            }
            _ => None,
        })
        .collect();
    let nodes = all.iter().map(|(_, to, _)| to + 1).max().filter(|_| all.len() > 1)?;
    let least = all.iter().map(|(_, _, time)| *time).fold(f64::INFINITY, f64::min);
    let most = all.iter().map(|(_, _, time)| *time).fold(0.0, f64::max);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (SIZE.1 + 60, SIZE.1 + 60)).into_drawing_area();
        root.fill(&WHITE).ok()?;
        let title = format!("{bytes} bytes between pairs of nodes: {least:.2} to {most:.2} µs");
        let mut chart = ChartBuilder::on(&root)
            .caption(title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(52)
            .build_cartesian_2d(0..nodes, nodes..0)
            .ok()?;
        chart.configure_mesh().disable_mesh().x_desc("node").y_desc("node").draw().ok()?;
        let both = all.iter().flat_map(|(from, to, time)| [(*from, *to, *time), (*to, *from, *time)]);
        let cell = |(row, column, time): (i32, i32, f64)| {
            let share = if most > least { (time - least) / (most - least) } else { 0.0 };
            let shade = |light: f64, dark: f64| (light + share * (dark - light)) as u8;
            let colour = RGBColor(shade(222.0, 8.0), shade(235.0, 48.0), shade(247.0, 107.0));
            Rectangle::new([(column, row), (column + 1, row + 1)], colour.filled())
        };
        chart.draw_series(both.map(cell)).ok()?;
        root.present().ok()?;
    }
    Some(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_comet::PointResult;
    use strata_comet::series::Belief;

    #[test]
    fn times_over_nodes_are_lines_and_those_of_pairs_are_cells() {
        let one = |bytes: i64| OverNodes {
            model: "Broadcast".to_owned(),
            at: vec![bytes],
            times: [2, 4, 8].map(|nodes| (nodes, 1e-6 * nodes as f64)).to_vec(),
        };
        let all: Vec<OverNodes> = (0..20).map(one).collect();
        let svg = over_nodes(&all.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(svg.matches("stroke-width=\"2\"").count(), 7, "axes and legends are thinner");
        let short = OverNodes { times: vec![(2, 1e-6)], ..one(1) };
        assert!(over_nodes(&[&short]).is_none() && over_nodes(&[]).is_none());
        let point = |from: i64, to: i64| PointResult {
            at: vec![8, from, to],
            belief: Belief { median: 1e-6 * to as f64, ..Belief::default() },
        };
        let points = vec![point(0, 1), point(0, 2), point(1, 2)];
        let kernel = KernelResult { model: "Pair".into(), points, ..KernelResult::default() };
        assert_eq!(pairs(&kernel, 8).unwrap().matches("#DEEBF7").count(), 2, "the fastest, both ways");
        assert!(pairs(&kernel, 9).is_none());
    }
}
