//! The state graph: what each node was doing when (Brewer, manual, §10, Fig 2).

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use strata_model::count;

use super::draw::{Area, COLUMNS, Failure, Panel, WIDTH, svg, words};
use super::timeline::{Span, Timeline};

/// A colour a state. Waiting is light and work is dark or bright; the program's own states are
/// those that colour-blind eyes tell apart best (Okabe and Ito, 2008, and darker ones of them).
const COLOURS: [RGBColor; 24] = [
    RGBColor(232, 232, 232), // idle
    RGBColor(0, 114, 178),   // busy
    RGBColor(70, 70, 70),    // logging
    RGBColor(110, 90, 60),   // printing
    RGBColor(170, 170, 170), // messages
    RGBColor(240, 228, 66),  // moving data
    RGBColor(204, 121, 167), // combining
    RGBColor(213, 94, 0),    // barrier
    RGBColor(0, 158, 115),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(110, 50, 130),
    RGBColor(0, 80, 60),
    RGBColor(0, 50, 100),
    RGBColor(140, 30, 40),
    RGBColor(150, 190, 80),
    RGBColor(120, 200, 180),
    RGBColor(30, 60, 160),
    RGBColor(190, 110, 60),
    RGBColor(90, 0, 60),
    RGBColor(60, 120, 40),
    RGBColor(180, 150, 220),
    RGBColor(100, 60, 20),
    RGBColor(210, 60, 100),
];

impl Timeline {
    /// The state graph as SVG: a row a node, a colour a state.
    ///
    /// Where more happens than there are pixels, each shows the state that lasted longest in it.
    ///
    /// # Errors
    /// What the plotting crate says.
    pub fn state_graph(&self) -> Result<String, String> {
        let totals = self.totals();
        let all: u64 = totals.values().fold(0, |sum: u64, time| sum.saturating_add(*time));
        let legend: Vec<(usize, String)> = totals
            .iter()
            .map(|(state, time)| {
                let name = self.states.get(*state).map_or("?", String::as_str);
                (*state, format!("{name}  {:.1} %", 100.0 * *time as f64 / all.max(1) as f64))
            })
            .collect();
        let rows = legend.len().div_ceil(PER_LINE) as i32;
        let panel = Panel::new(40 + 22 * rows + 6, self.spans.len(), self.length);
        svg((panel.top + panel.height()) as u32, |area| {
            let nodes = count(self.spans.len(), "node", "nodes");
            let title = match self.bound {
                Some(0) => format!("{nodes}, one clock"),
                Some(bound) => format!("{nodes}, clocks in line to {:.1} µs", bound as f64 / 1e3),
                None => format!("{nodes}, in line only by the system's clocks"),
            };
            words(area, &title, (WIDTH as i32 / 2, 18), 16, HPos::Center)?;
            draw_legend(area, &legend)?;
            for (node, spans) in self.spans.iter().enumerate() {
                for (from, to, state) in columns(spans, &panel) {
                    panel.fill(area, node, from, to, COLOURS[state % COLOURS.len()])?;
                }
            }
            panel.axes(area)
        })
        .map_err(|error| error.to_string())
    }
}

/// States in a line of the legend.
const PER_LINE: usize = 6;

fn draw_legend(area: &Area<'_>, legend: &[(usize, String)]) -> Result<(), Failure> {
    for (place, (state, name)) in legend.iter().enumerate() {
        let x = 90 + (place % PER_LINE) as i32 * 162;
        let y = 40 + (place / PER_LINE) as i32 * 22;
        let colour = COLOURS[state % COLOURS.len()];
        area.draw(&Rectangle::new([(x, y), (x + 14, y + 14)], colour.filled()))?;
        words(area, name, (x + 20, y + 7), 13, HPos::Left)?;
    }
    Ok(())
}

/// Runs of columns of one state each, as first column, column after the last, state.
fn columns(spans: &[Span], panel: &Panel) -> Vec<(u32, u32, usize)> {
    let mut runs: Vec<(u32, u32, usize)> = Vec::new();
    let mut next = 0;
    for column in 0..COLUMNS {
        let (low, high) = (f64::from(column), f64::from(column + 1));
        let mut shares = [0.0; COLOURS.len()];
        // A span may reach into several columns, so the last one is looked at again.
        while let Some(span) = spans.get(next) {
            let (from, to) = (panel.column(span.from), panel.column(span.to));
            if from >= high {
                break;
            }
            shares[span.state % COLOURS.len()] += to.min(high) - from.max(low);
            if to > high {
                break;
            }
            next += 1;
        }
        let longest = shares.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let Some((state, _)) = longest.filter(|(_, share)| **share > 0.0) else { continue };
        match runs.last_mut() {
            Some(last) if last.1 == column && last.2 == state => last.1 = column + 1,
            _ => runs.push((column, column + 1, state)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_shows_what_lasted_longest_in_it() {
        let length = 10 * u64::from(COLUMNS);
        let panel = Panel::new(0, 1, length);
        let span = |from, to, state| Span { from, to, state };
        let spans = [span(0, 4, 1), span(4, 30, 2), span(50, 56, 3), span(56, 58, 4), span(58, length, 3)];
        assert_eq!(columns(&spans, &panel), [(0, 3, 2), (5, COLUMNS, 3)]);
        assert_eq!(columns(&[], &panel), []);
        let many: Vec<Span> = (0..100_000u64).map(|i| span(i, i + 1, (i % 2) as usize)).collect();
        assert!(columns(&many, &Panel::new(0, 1, 100_000)).len() <= COLUMNS as usize);
    }
}
