//! Draws the machine: cells, and links whose width shows their load.

use super::{ConnectionReport, Report};
use crate::shape::Shape;
use std::fmt::Write as _;

/// Distance between neighbouring cells.
const STEP: f64 = 84.0;
/// Side of a cell.
const SIDE: f64 = 36.0;
/// Distance between the two directions of a link.
const APART: f64 = 10.0;
/// Margin around the cells, for the ends of a torus's wrap-around links.
const MARGIN: f64 = 60.0;

pub(super) fn svg(report: &Report, set: Option<(&str, &str)>) -> Option<String> {
    let (shape, cells) = report.machine?;
    let mut loads = vec![0usize; shape.links(cells)];
    let mut drawn: Vec<&ConnectionReport> = Vec::new();
    let mut found = set.is_none();
    for task in &report.tasks {
        for part in &task.sets {
            if set.is_some_and(|(name, set)| name != task.task || set != part.set) {
                continue;
            }
            found = true;
            let mut load = vec![0; loads.len()];
            part.connections.iter().flat_map(|c| &c.links).for_each(|link| load[*link] += 1);
            task.external.iter().flat_map(|c| &c.links).for_each(|link| load[*link] += 1);
            loads.iter_mut().zip(load).for_each(|(most, load)| *most = load.max(*most));
            drawn.extend(part.connections.iter().chain(&task.external));
        }
    }
    if !found {
        return None;
    }
    let [columns, rows] = shape.extents(cells);
    let extent = |count: usize| 2.0 * MARGIN + STEP * count.saturating_sub(1) as f64 + SIDE;
    let (width, height) = (extent(columns), extent(rows) + 24.0);
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 6 6\" refX=\"5\" refY=\"3\" markerWidth=\"9\" \
         markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
         <path d=\"M0 0L6 3L0 6z\" fill=\"context-stroke\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"10\" y=\"18\" font-size=\"13\">{}</text>\n",
        escaped(&title(report, set))
    );
    let most = loads.iter().copied().max().unwrap_or(0);
    if shape == Shape::Crossbar {
        for connection in drawn {
            let (from, to) = (centre(columns, connection.from), centre(columns, connection.to));
            line(&mut out, from, to, connection.congestion, most, true);
        }
    } else {
        for (link, load) in loads.iter().enumerate() {
            if let [Some(from), Some(to)] = shape.ends(link, cells) {
                wire(&mut out, columns, (from, to), link % 4, *load, most);
            }
        }
    }
    for cell in 0..cells {
        let (x, y) = centre(columns, cell);
        let (left, top) = (x - SIDE / 2.0, y - SIDE / 2.0);
        let _ = writeln!(
            out,
            "<rect x=\"{left:.0}\" y=\"{top:.0}\" width=\"{SIDE}\" height=\"{SIDE}\" rx=\"5\" fill=\"#eef2f7\" \
             stroke=\"#41536b\"/><text x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{cell}</text>",
            y + 4.0
        );
    }
    out.push_str("</svg>\n");
    Some(out)
}

fn title(report: &Report, set: Option<(&str, &str)>) -> String {
    match set {
        Some((task, set)) => format!("{}: set {set} of {task}, on {}", report.application, report.target),
        None => format!("{} on {}: the greatest load of each link", report.application, report.target),
    }
}

fn centre(columns: usize, cell: usize) -> (f64, f64) {
    let (x, y) = ((cell % columns) as f64, (cell / columns) as f64);
    (MARGIN + SIDE / 2.0 + STEP * x, MARGIN + 12.0 + SIDE / 2.0 + STEP * y)
}

/// Draws a link out of a cell; a wrap-around link is drawn as its two ends.
fn wire(out: &mut String, columns: usize, (from, to): (usize, usize), way: usize, load: usize, most: usize) {
    let (dx, dy) = [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)][way];
    // The directions of a link are drawn side by side, each on its right.
    let (aside_x, aside_y) = (-dy * APART / 2.0, dx * APART / 2.0);
    let at = |(x, y): (f64, f64), far: f64| (x + aside_x + dx * far, y + aside_y + dy * far);
    let (start, end) = (centre(columns, from), centre(columns, to));
    let neighbours = (end.0 - start.0 - dx * STEP).abs() < 1.0 && (end.1 - start.1 - dy * STEP).abs() < 1.0;
    if neighbours {
        line(out, at(start, SIDE / 2.0), at(end, -SIDE / 2.0), load, most, true);
    } else {
        line(out, at(start, SIDE / 2.0), at(start, STEP / 2.0), load, most, false);
        line(out, at(end, -STEP / 2.0), at(end, -SIDE / 2.0), load, most, true);
    }
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64), load: usize, most: usize, tip: bool) {
    let (width, colour) = match load {
        0 => (1.0, "#d5dbe3"),
        1 => (2.0, "#2b7a4b"),
        _ if load < most.max(3) => (2.0 + load.min(4) as f64, "#c98a12"),
        _ => (2.0 + load.min(4) as f64, "#b3261e"),
    };
    let marker = if tip && load > 0 { " marker-end=\"url(#tip)\"" } else { "" };
    let _ = writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" \
         stroke-width=\"{width}\"{marker}/>",
        from.0, from.1, to.0, to.1
    );
    if load > 1 && tip {
        let (x, y) = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-weight=\"bold\" stroke=\"white\" \
             stroke-width=\"3\" paint-order=\"stroke\">{load}</text>",
            y + 4.0
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
