//! A selection map: which candidate wins where, over two inputs.

use std::collections::BTreeSet;

use plotters::prelude::*;
use strata_select::Odds;

use crate::curves::Crossing;
use crate::judged::Judged;
use crate::marks::{Marks, Place};
use crate::plot::{Chart, FONT, Frame, Named, chart, draw, value_text};
use crate::scale::{Scale, text_width};

/// The least probability of being the fastest at which a choice counts as certain.
pub const SURE: f64 = 0.95;

/// Colours that colour-blind people can distinguish (Okabe and Ito, 2008), light enough for black
/// text.
const COLOURS: [(u8, u8, u8); 8] = [
    (86, 180, 233),
    (230, 159, 0),
    (0, 190, 140),
    (240, 228, 66),
    (204, 150, 180),
    (213, 120, 60),
    (150, 160, 220),
    (190, 190, 190),
];
const ROW: u32 = 24;

/// One axis of a map: an input and its values, ascending.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The input.
    pub name: String,
    /// Its values, one a column (or row) of cells.
    pub values: Vec<f64>,
    /// The names for which its values stand, if the input is a kind.
    pub names: Vec<String>,
}

impl Axis {
    /// A value as its name or in few characters.
    #[must_use]
    pub fn text(&self, value: f64) -> String {
        self.names.get(value as usize).cloned().unwrap_or_else(|| Self::label(value))
    }

    /// A value in few characters: 65536 as `64Ki`.
    #[must_use]
    pub fn label(value: f64) -> String {
        for (unit, suffix) in [(1_073_741_824.0, "Gi"), (1_048_576.0, "Mi"), (1024.0, "Ki")] {
            let scaled = value / unit;
            if scaled >= 1.0 && scaled.fract() == 0.0 && scaled < 1024.0 {
                return format!("{scaled}{suffix}");
            }
        }
        value_text(value)
    }

    /// The position of a value among the cells, on a line between those of its neighbours.
    fn place(&self, value: f64) -> f64 {
        let next = self.values.partition_point(|other| *other <= value);
        let (Some(before), Some(after)) =
            (next.checked_sub(1).and_then(|at| self.values.get(at)), self.values.get(next))
        else {
            return next.saturating_sub(1) as f64;
        };
        next as f64 - 1.0 + (value - before) / (after - before)
    }
}

/// The choice at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Index into [`Map::candidates`].
    pub winner: usize,
    /// The winner's best parameters.
    pub parameters: Vec<i64>,
    /// For each of them the least and the greatest value that tie with it; empty if that is not
    /// known.
    pub tied: Vec<(i64, i64)>,
    /// The time predicted for it, s; or, if no model covers the point, the reason for the choice,
    /// in words.
    pub seconds: Result<f64, String>,
    /// The odds that it is the fastest, if known.
    pub odds: Option<Odds>,
}

impl Cell {
    /// The values of the parameters as text, `12..24` where these tie with the one taken.
    #[must_use]
    pub fn values(&self) -> Vec<String> {
        let one = |(place, value): (usize, &i64)| match self.tied.get(place) {
            Some((from, to)) if from != to => format!("{from}..{to}"),
            _ => value.to_string(),
        };
        self.parameters.iter().enumerate().map(one).collect()
    }

    /// True if the winner is the fastest with a probability of at least [`SURE`], and also if that
    /// is unknown: without odds, or if no model covers the point.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        self.seconds.is_err() || self.odds.is_none_or(|odds| odds.fastest >= SURE)
    }
}

/// The winners over two inputs of a library, the others held fixed.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The library.
    pub library: String,
    /// The inputs held fixed, as text such as `P = 4`; may be empty.
    pub fixed: String,
    /// The input drawn to the right.
    pub x: Axis,
    /// The input drawn upwards; its name is empty if there is a single row.
    pub y: Axis,
    /// Names of the candidates.
    pub candidates: Vec<String>,
    /// Names of the parameters of each candidate.
    pub parameters: Vec<Vec<String>>,
    /// One row a value of `y`, one cell a value of `x`.
    pub cells: Vec<Vec<Cell>>,
    /// Where the choice changes along `x`, at some values of `y`, both rising.
    pub crossings: Vec<Crossing>,
}

impl Map {
    /// All cells.
    pub fn all(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().flatten()
    }

    /// The cells that a model covers.
    pub fn covered(&self) -> impl Iterator<Item = &Cell> {
        self.all().filter(|cell| cell.seconds.is_ok())
    }

    /// The reasons for choices at points that no model covers, each once.
    #[must_use]
    pub fn reasons(&self) -> BTreeSet<&str> {
        self.all().filter_map(|cell| cell.seconds.as_ref().err()).map(String::as_str).collect()
    }
}

/// The colour of a candidate.
pub(crate) fn colour(index: usize) -> RGBColor {
    let (r, g, b) = COLOURS[index % COLOURS.len()];
    RGBColor(r, g, b)
}

/// The letter of a candidate: A to Z, then AA.
pub(crate) fn letter(index: usize) -> String {
    let last = char::from(b'A' + (index % 26) as u8);
    if index < 26 { last.to_string() } else { format!("{}{last}", letter(index / 26 - 1)) }
}

/// The map as SVG with the choices that were judged; `None` if it has no cells.
pub(crate) fn svg(map: &Map, judged: &[&Judged], width: u32) -> Option<String> {
    let (columns, rows) = (map.x.values.len(), map.y.values.len());
    if columns == 0 || rows == 0 {
        return None;
    }
    let size = (width, (90 + ROW * rows.min(100) as u32).clamp(150, 720));
    draw(size, |root| {
        let x = Scale::cells(&map.x.values, Axis::label).named(&map.x.names);
        let blank: fn(f64) -> String = |_| String::new();
        let y = if map.y.name.is_empty() { blank } else { Axis::label };
        let y = Scale::cells(&map.y.values, y).named(&map.y.names);
        let named = |scale, name| Named { scale, name };
        let (x_named, y_named) = (named(&x, map.x.name.as_str()), named(&y, map.y.name.as_str()));
        let mut chart = chart(root, x_named, y_named, Frame::new(false))?;
        let place = |chart: &Chart<'_, '_>, x, y| -> Place { chart.backend_coord(&(x, y)) };
        let (corner, opposite) = (place(&chart, 0.0, 0.0), place(&chart, 1.0, 1.0));
        let cell_width = f64::from(opposite.0 - corner.0);
        // All cells show as much as the cell with the longest text has space for: letter and
        // parameters, or the letter; else cells that are alike share a letter.
        let text = |cell: &Cell, full: bool| {
            letter(cell.winner) + &if full { cell.values().join(",") } else { String::new() }
        };
        let width = |cell: &Cell, full: bool| text_width(&text(cell, full), FONT) + 0.3 * FONT;
        let written = [true, false].into_iter().find(|full| map.all().all(|c| width(c, *full) < cell_width));
        let mut marks = Marks::default();
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let Some(cell) = map.cells.get(row).and_then(|cells| cells.get(column)) else { continue };
            let (left, low) = (column as f64 - 0.5, row as f64 - 0.5);
            let corners = [(left, low), (left + 1.0, low + 1.0)];
            let fill = if cell.seconds.is_ok() { colour(cell.winner) } else { WHITE };
            chart.draw_series([Rectangle::new(corners, fill.filled())])?;
            if !cell.is_sure() {
                chart.draw_series([hatch(left, low)])?;
            }
            chart.draw_series([Rectangle::new(corners, WHITE.stroke_width(1))])?;
        }
        let alike = |a: &Cell, b: &Cell| written.is_none() && a.winner == b.winner;
        let rows = map.cells.iter().enumerate().filter(|_| f64::from(corner.1 - opposite.1) > FONT);
        for (row, cells) in rows {
            let mut column = 0;
            for run in cells.chunk_by(alike) {
                let (length, full) = (run.len() as f64, written.unwrap_or(false));
                let middle = column as f64 + (length - 1.0) / 2.0;
                if width(&run[0], full) < length * cell_width {
                    marks.text(place(&chart, middle, row as f64), "middle", "cell", &text(&run[0], full));
                }
                column += run.len();
            }
        }
        for one in judged {
            let y = if map.y.name.is_empty() {
                Some(0.0)
            } else {
                one.value(&map.y.name).map(|y| map.y.place(y))
            };
            if let (Some(x), Some(y)) = (one.value(&map.x.name), y) {
                one.mark(&mut marks, place(&chart, map.x.place(x), y));
            }
        }
        for crossing in &map.crossings {
            let y = crossing.across.map_or(0.0, |across| map.y.place(across));
            // Below the text of the cells.
            let at = place(&chart, map.x.place(crossing.at), y - 0.33);
            marks.diamond(at, "crossing", &crossing.told(&map.x.name));
        }
        Ok(marks)
    })
}

/// Strokes across two corners of a cell as one path; the connections between them run along its
/// edges.
fn hatch(left: f64, low: f64) -> PathElement<(f64, f64)> {
    let upper = [(0.0, 0.5), (0.5, 1.0), (0.25, 1.0), (0.0, 0.75)];
    let lower = [(0.0, 0.0), (0.5, 0.0), (1.0, 0.5), (1.0, 0.25), (0.75, 0.0)];
    let path = upper.into_iter().chain(lower).map(|(x, y)| (left + x, low + y));
    PathElement::new(path.collect::<Vec<_>>(), BLACK)
}

/// A candidate's field of the legend as SVG, hatched or not.
pub(crate) fn swatch(index: Option<usize>, hatched: bool) -> String {
    let fill = index.map_or("none".to_owned(), |index| {
        let colour = colour(index);
        format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2)
    });
    let strokes = if hatched {
        "<path d=\"M0 8L8 0M0 4L4 0M8 16L16 8M12 16L16 12\" fill=\"none\" stroke=\"#1A1A1A\"/>"
    } else {
        ""
    };
    format!(
        "<svg class=\"key\" width=\"16\" height=\"16\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><rect width=\"16\" height=\"16\" fill=\"{fill}\" stroke=\"#1A1A1A\"/>{strokes}</svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_do_not_end() {
        assert_eq!([0, 25, 26, 27, 26 * 27].map(letter), ["A", "Z", "AA", "AB", "AAA"]);
    }

    #[test]
    fn values_have_places_among_cells() {
        let axis = Axis { name: "n".into(), values: vec![4.0, 8.0, 16.0], names: Vec::new() };
        assert_eq!(
            [1.0, 4.0, 6.0, 8.0, 12.0, 16.0, 99.0].map(|v| axis.place(v)),
            [0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.0]
        );
    }

    #[test]
    fn labels_are_short() {
        for (value, text) in [
            (64.0, "64"),
            (65_536.0, "64Ki"),
            (1_048_576.0, "1Mi"),
            (1500.0, "1500"),
            (0.5, "0.5"),
            (1e300, "1e300"),
        ] {
            assert_eq!(Axis::label(value), text);
        }
    }
}
