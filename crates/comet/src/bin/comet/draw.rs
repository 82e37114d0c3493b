//! Figures: medians with their intervals, and the pieces if some are fitted, over sizes; times over
//! numbers of nodes; times between all pairs of nodes.

use std::fmt::Write as _;

use strata_comet::over_nodes::OverNodes;
use strata_comet::{KernelResult, PointResult};
use strata_model::{Seconds, number_text};
use strata_report::{Crossing, Curve, Curves, Measured};

fn told(seconds: f64) -> String {
    Seconds::new(seconds).map_or("-".to_owned(), |seconds| seconds.to_string())
}

/// A kernel's curve; `None` for fewer than two sizes.
pub(crate) fn curve(kernel: &KernelResult) -> Option<Curves> {
    let points: Vec<_> = kernel.line().filter(|p| p.size() > 0.0 && p.belief.median > 0.0).collect();
    let unit = &kernel.unit;
    let measured = |point: &&PointResult| {
        let [median, low, high] = [point.belief.median, point.belief.low, point.belief.high];
        let range = format!("{} ({} to {})", told(median), told(low), told(high));
        let told = format!("{} {unit}: {range}", number_text(point.size()));
        Measured { value: point.size(), seconds: median, verify: false, told }
    };
    let medians = Curve {
        candidate: "medians".to_owned(),
        predicted: points
            .iter()
            .map(|p| (p.size(), p.belief.median, (p.belief.high - p.belief.low) / 2.0))
            .collect(),
        measured: points.iter().map(measured).collect(),
    };
    let pieces = kernel.curve.as_ref().map(|curve| {
        let line = points.iter().map(|p| (p.size(), curve.seconds(p.size()), 0.0));
        let predicted = line.filter(|(_, seconds, _)| *seconds > 0.0).collect();
        Curve { candidate: "pieces".to_owned(), predicted, measured: Vec::new() }
    });
    let crossings = kernel.breaks.iter().map(|one| Crossing {
        at: one.before,
        label: number_text(one.before),
        across: None,
        seconds: points.iter().find(|point| point.size() == one.before).map(|point| point.belief.median),
        from: format!("the piece up to {}", number_text(one.after)),
        to: "the next piece".to_owned(),
    });
    (points.len() > 1).then(|| Curves {
        library: kernel.model.clone(),
        input: unit.clone(),
        held: String::new(),
        curves: std::iter::once(medians).chain(pieces).collect(),
        crossings: crossings.collect(),
        caption: Some(format!(
            "{}: medians with their 95 % intervals, and the straight pieces; above are the sizes at which these \
             change.",
            kernel.title
        )),
    })
}

/// Lines of one figure.
const LINES: usize = 7;

/// One model's times over numbers of nodes, a line for each of its points; of many points some,
/// evenly. `None` where there are fewer than two numbers of nodes.
pub(crate) fn over_nodes(of_model: &[&OverNodes]) -> Option<Curves> {
    let last = of_model.len().checked_sub(1)?;
    let lines = LINES.min(last + 1);
    let chosen = (0..lines).map(|k| of_model[k * last / (lines - 1).max(1)]);
    let curve = |one: &OverNodes| Curve {
        candidate: one.at.iter().map(i64::to_string).collect::<Vec<_>>().join(" "),
        predicted: one.times.iter().map(|(nodes, seconds)| (*nodes as f64, *seconds, 0.0)).collect(),
        measured: Vec::new(),
    };
    (of_model[0].times.len() > 1).then(|| Curves {
        library: of_model[0].model.clone(),
        input: "nodes".to_owned(),
        held: String::new(),
        curves: chosen.map(curve).collect(),
        crossings: Vec::new(),
        caption: Some("Medians, a line for each size.".to_owned()),
    })
}

/// The side of a cell, in pixels.
const CELL: i64 = 12;

/// The times between all pairs of nodes with messages of so many bytes as SVG: the darker, the
/// longer. `None` where there are fewer than two pairs.
pub(crate) fn pairs(kernel: &KernelResult, bytes: i64) -> Option<String> {
    let of_pair = |point: &PointResult| match point.at[..] {
        [size, from, to] if size == bytes => Some((from, to, 1e6 * point.belief.median)),
        _ => None,
    };
    let all: Vec<(i64, i64, f64)> = kernel.points.iter().filter_map(of_pair).collect();
    let side = CELL * all.iter().map(|(_, to, _)| to + 1).max().filter(|_| all.len() > 1)?;
    let least = all.iter().map(|(_, _, time)| *time).fold(f64::INFINITY, f64::min);
    let most = all.iter().map(|(_, _, time)| *time).fold(0.0, f64::max);
    let (width, height) = (side.max(420), side + 24);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"14\">\n<text y=\"16\">{bytes} bytes between pairs of nodes: \
         {least:.2} to {most:.2} µs</text>\n"
    );
    for (row, column, time) in all.iter().flat_map(|(from, to, time)| [(from, to, time), (to, from, time)]) {
        let share = if most > least { (time - least) / (most - least) } else { 0.0 };
        let [red, green, blue] = [(222.0, 8.0), (235.0, 48.0), (247.0, 107.0)]
            .map(|(light, dark): (f64, f64)| (light + share * (dark - light)) as u8);
        let (x, y) = (CELL * column, 24 + CELL * row);
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{CELL}\" fill=\"#{red:02X}{green:02X}{blue:02X}\">\
             <title>{row} to {column}: {time:.2} µs</title></rect>"
        );
    }
    Some(svg + "</svg>\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_comet::curve::Break;
    use strata_comet::series::Belief;

    fn kernel(points: &[(&[i64], f64)]) -> KernelResult {
        let point = |(at, median): &(&[i64], f64)| PointResult {
            at: at.to_vec(),
            belief: Belief { median: *median, low: 0.9 * median, high: 1.1 * median, ..Belief::default() },
        };
        KernelResult {
            model: "Echo".into(),
            unit: "bytes".into(),
            points: points.iter().map(point).collect(),
            ..KernelResult::default()
        }
    }

    #[test]
    fn a_kernel_of_several_sizes_is_a_figure_of_the_page() {
        let breaks = vec![Break { after: 8.0, before: 64.0, jump: 1.5 }];
        let echo = KernelResult { breaks, ..kernel(&[(&[8], 1e-6), (&[64], 2e-6), (&[512], 3e-6)]) };
        let page = strata_report::figures("comet", "a machine", &[curve(&echo).unwrap()]);
        for part in ["8 bytes: 1.00 µs (", "from bytes = 64 on", ">64</th>", "time against bytes"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(curve(&kernel(&[(&[8], 1e-6)])).is_none() && curve(&kernel(&[])).is_none());
    }

    #[test]
    fn times_over_nodes_are_lines_and_those_of_pairs_are_cells() {
        let one = |bytes: i64| OverNodes {
            model: "Broadcast".to_owned(),
            at: vec![bytes],
            times: [2, 4, 8].map(|nodes| (nodes, 1e-6 * nodes as f64)).to_vec(),
        };
        let all: Vec<OverNodes> = (0..20).map(one).collect();
        let curves = over_nodes(&all.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!((curves.curves.len(), &*curves.curves[6].candidate), (7, "19"));
        assert_eq!(over_nodes(&[&one(1)]).unwrap().curves.len(), 1);
        let short = OverNodes { times: vec![(2, 1e-6)], ..one(1) };
        assert!(over_nodes(&[&short]).is_none() && over_nodes(&[]).is_none());
        let three = kernel(&[(&[8, 0, 1], 1e-6), (&[8, 0, 2], 2e-6), (&[8, 1, 2], 2e-6)]);
        assert_eq!(pairs(&three, 8).unwrap().matches("#DEEBF7").count(), 2, "the fastest, both ways");
        assert!(pairs(&three, 9).is_none());
    }
}
