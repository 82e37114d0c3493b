//! The flow graph as a picture: sites from top to bottom in the order in which they were found,
//! intervals in colours.
//!
//! Edges to the next site are straight. Edges further down are arcs on the left; back edges, such
//! as those of loops, are arcs on the right. Each edge is labelled with the number of times that it
//! was taken.

use crate::experiment::Phase;
use crate::tuner::Tuner;
use std::fmt::Write as _;

/// Distance between neighbouring sites, and size of a site's box.
const STEP: f64 = 58.0;
const HEIGHT: f64 = 34.0;
/// The width of a character, and of the space for an arc.
const LETTER: f64 = 6.4;
const ARC: f64 = 26.0;
const MARGIN: f64 = 24.0;
/// Further sites are left out.
const MOST: usize = 200;
/// Colours of intervals, light enough for text.
const COLOURS: [&str; 6] = ["#dbe9f6", "#fde3c8", "#dcefd8", "#eadff2", "#f9dcdc", "#e8e8d0"];

impl Tuner {
    /// The flow graph as an SVG document: the first 200 sites, with the state of each interval's
    /// search.
    #[must_use]
    pub fn graph_svg(&self) -> String {
        let nodes = &self.graph.nodes[..self.graph.nodes.len().min(MOST + 1)];
        let position = |node: usize| MARGIN + 28.0 + STEP * node as f64;
        let mut lines: Vec<[String; 2]> = vec![["begin".to_owned(), String::new()]];
        let mut colours = vec!["#ffffff"; nodes.len()];
        for node in 1..nodes.len() {
            lines.push([self.site_name(node), String::new()]);
        }
        for (number, (interval, experiment)) in self.intervals.iter().zip(&self.experiments).enumerate() {
            for node in interval.nodes.iter().filter(|node| **node < nodes.len()) {
                colours[*node] = COLOURS[number % COLOURS.len()];
                lines[*node][1] = format!("interval {}", number + 1);
            }
            let knobs = self.knobs(interval).zip(experiment.chosen());
            for (node, option) in knobs.filter(|(node, _)| *node < nodes.len()) {
                let label = self.graph.nodes[node].labels.get(usize::from(*option));
                let label = label.cloned().unwrap_or_else(|| format!("option {option}"));
                let state = match experiment.phase {
                    Phase::Adopted => format!(": adopted {label}"),
                    Phase::Default => ": keeps the default".to_owned(),
                    Phase::Baseline | Phase::Search | Phase::Gate => ": searching".to_owned(),
                };
                lines[node][1].push_str(&state);
            }
        }
        let longest = lines.iter().flatten().map(|line| line.chars().count()).max().unwrap_or(0);
        let box_width = longest as f64 * LETTER + 20.0;
        let edges = || {
            nodes.iter().enumerate().flat_map(|(from, node)| node.out.iter().map(move |edge| (from, edge)))
        };
        let span = |(from, to): (usize, usize)| from.abs_diff(to).clamp(1, 6) as f64 * ARC;
        let forward = |(from, to): (usize, usize)| to > from + 1;
        let room = |wanted: bool| {
            let spans = edges().map(|(from, edge)| (from, edge.to)).filter(|(from, to)| *to != from + 1);
            spans.filter(|pair| forward(*pair) == wanted).map(span).fold(0.0, f64::max) + 40.0
        };
        let left = MARGIN + room(true);
        let (width, height) = (left + box_width + room(false) + MARGIN, position(nodes.len()) + MARGIN);
        let (mut out, mut counts) = (String::new(), String::new());
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n\
             <defs><marker id=\"tip\" viewBox=\"0 0 6 6\" refX=\"5\" refY=\"3\" markerWidth=\"9\" \
             markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
             <path d=\"M0 0L6 3L0 6z\" fill=\"#41536b\"/></marker></defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"10\" y=\"18\" font-size=\"13\">call sites of {}</text>\n",
            escaped(&self.program)
        );
        for (from, edge) in edges().filter(|(_, edge)| edge.to < nodes.len()) {
            let pair = (from, edge.to);
            let (path, x, y) = if edge.to == from + 1 {
                let x = left + box_width / 2.0;
                let (top, bottom) = (position(from) + HEIGHT, position(edge.to));
                (format!("M{x:.0} {top:.0}V{bottom:.0}"), x + 4.0, (top + bottom) / 2.0 + 4.0)
            } else {
                let (side, out) =
                    if forward(pair) { (left, -span(pair)) } else { (left + box_width, span(pair)) };
                let apart = if from == edge.to { 9.0 } else { 0.0 };
                let start = position(from) + HEIGHT / 2.0 + 5.0 + apart / 2.0;
                let end = position(edge.to) + HEIGHT / 2.0 - 5.0 - apart / 2.0;
                let far = side + out * 1.3;
                let text = if forward(pair) { side + out - 14.0 } else { side + out + 2.0 };
                (
                    format!("M{side:.0} {start:.0}C{far:.0} {start:.0} {far:.0} {end:.0} {side:.0} {end:.0}"),
                    text,
                    (start + end) / 2.0 + 4.0,
                )
            };
            let _ = writeln!(
                out,
                "<path d=\"{path}\" fill=\"none\" stroke=\"#41536b\" marker-end=\"url(#tip)\"/>"
            );
            // Drawn after all arcs, on white.
            let _ = writeln!(
                counts,
                "<text x=\"{x:.0}\" y=\"{y:.0}\" fill=\"#41536b\" stroke=\"white\" stroke-width=\"3\" \
                 paint-order=\"stroke\">{}</text>",
                edge.count
            );
        }
        out.push_str(&counts);
        for (node, [first, second]) in lines.iter().enumerate() {
            let (top, x) = (position(node), left + 10.0);
            let _ = writeln!(
                out,
                "<rect x=\"{left:.0}\" y=\"{top:.0}\" width=\"{box_width:.0}\" height=\"{HEIGHT}\" rx=\"5\" \
                 fill=\"{}\" stroke=\"#41536b\"/><text x=\"{x:.0}\" y=\"{:.0}\">{}</text>\
                 <text x=\"{x:.0}\" y=\"{:.0}\" font-weight=\"bold\">{}</text>",
                colours[node],
                top + 14.0,
                escaped(first),
                top + 28.0,
                escaped(second)
            );
        }
        out.push_str("</svg>\n");
        out
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
