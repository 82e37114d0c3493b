//! A selection map: who wins where, over two inputs.

use plotters::prelude::*;

use super::plot::{LABEL, draw, value_text};

/// Colours that people with colour-blind eyes tell apart (Okabe and Ito, 2008), light enough for black text.
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
const UNCOVERED: RGBColor = RGBColor(245, 245, 245);

/// One axis of a map: an input and the values it takes, in rising order.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The input.
    pub name: String,
    /// Its values, one a column (or row) of cells.
    pub values: Vec<f64>,
}

/// The winner at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Index into [`Map::candidates`].
    pub winner: usize,
    /// The winner's best parameters.
    pub parameters: Vec<i64>,
    /// The time predicted for it.
    pub seconds: f64,
}

/// Who wins where, over two inputs of a library, the others held fixed.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The library.
    pub library: String,
    /// What is held fixed, for people: `P = 4`, say; may be empty.
    pub fixed: String,
    /// The input drawn to the right.
    pub x: Axis,
    /// The input drawn upwards.
    pub y: Axis,
    /// Names of the candidates.
    pub candidates: Vec<String>,
    /// Names of the parameters of each candidate.
    pub parameters: Vec<Vec<String>>,
    /// One row a value of `y`, one cell a value of `x`; `None` where no candidate has a prediction.
    pub cells: Vec<Vec<Option<Cell>>>,
}

impl Map {
    /// The winner's cell at a column and row, if both are inside and somebody wins.
    #[must_use]
    pub fn cell(&self, x: usize, y: usize) -> Option<&Cell> {
        self.cells.get(y)?.get(x)?.as_ref()
    }

    /// The colour of a candidate.
    pub(super) fn colour(index: usize) -> RGBColor {
        let (r, g, b) = COLOURS[index % COLOURS.len()];
        RGBColor(r, g, b)
    }

    /// How many cells each candidate wins.
    pub(super) fn wins(&self) -> Vec<usize> {
        let mut wins = vec![0; self.candidates.len()];
        for cell in self.cells.iter().flatten().flatten() {
            if let Some(count) = wins.get_mut(cell.winner) {
                *count += 1;
            }
        }
        wins
    }
}

/// The map as SVG; `None` if it has no cells.
pub(super) fn svg(map: &Map) -> Option<String> {
    let (columns, rows) = (map.x.values.len(), map.y.values.len());
    if columns == 0 || rows == 0 {
        return None;
    }
    let size = (720, (120 + 34 * rows as u32).clamp(200, 720));
    draw(size, |root| {
        let mut chart = ChartBuilder::on(root)
            .margin(8)
            .margin_right(16)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d(-0.5..columns as f64 - 0.5, -0.5..rows as f64 - 0.5)?;
        let label = |values: &[f64], at: f64| {
            let near = at.round();
            let index = (near >= 0.0 && (at - near).abs() < 1e-6).then_some(near as usize);
            index.and_then(|i| values.get(i)).map_or(String::new(), |v| value_text(*v))
        };
        chart
            .configure_mesh()
            .disable_mesh()
            .label_style(LABEL)
            .x_desc(map.x.name.as_str())
            .y_desc(map.y.name.as_str())
            .x_labels(columns.min(12))
            .y_labels(rows.min(20))
            .x_label_formatter(&|at| label(&map.x.values, *at))
            .y_label_formatter(&|at| label(&map.y.values, *at))
            .draw()?;
        for y in 0..rows {
            for x in 0..columns {
                let cell = map.cell(x, y);
                let colour = cell.map_or(UNCOVERED, |c| Map::colour(c.winner));
                let (left, low) = (x as f64 - 0.5, y as f64 - 0.5);
                let corners = [(left, low), (left + 1.0, low + 1.0)];
                chart.draw_series([Rectangle::new(corners, colour.filled())])?;
                chart.draw_series([Rectangle::new(corners, WHITE.stroke_width(1))])?;
                let text = cell.map_or(String::new(), |c| {
                    c.parameters.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
                });
                if columns <= 24 && !text.is_empty() {
                    use plotters::style::text_anchor::{HPos, Pos, VPos};
                    let style =
                        ("sans-serif", 12).into_text_style(root).pos(Pos::new(HPos::Center, VPos::Center));
                    chart.draw_series([Text::new(text, (x as f64, y as f64), style)])?;
                }
            }
        }
        Ok(())
    })
}
