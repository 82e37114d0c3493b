//! What both graphs share: the axis of time, the rows of nodes, columns of pixels.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// What drawing may fail with; on a string it cannot, but the types do not know.
pub(super) type Failure = DrawingAreaErrorKind<std::io::Error>;

pub(super) const WIDTH: u32 = 1100;
/// The columns in which time is drawn.
pub(super) const COLUMNS: u32 = 960;
const LEFT: i32 = 90;
const TEXT: RGBColor = RGBColor(40, 40, 40);
const LINE: RGBColor = RGBColor(120, 120, 120);
const FONT: &str = "sans-serif";

pub(super) fn svg(
    height: u32,
    paint: impl for<'a> FnOnce(&Area<'a>) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE)?;
        paint(&root)?;
        root.present()?;
    }
    Ok(text)
}

/// Words at a place, which is their left, middle or right end, and half their height.
pub(super) fn words(
    area: &Area<'_>,
    text: &str,
    at: (i32, i32),
    size: i32,
    end: HPos,
) -> Result<(), Failure> {
    let style = (FONT, size).into_font().color(&TEXT).pos(Pos::new(end, VPos::Center));
    area.draw(&Text::new(text.to_owned(), at, style))
}

/// A panel of rows, one a node, over an axis of time.
#[derive(Clone, Copy)]
pub(super) struct Panel {
    /// The upper edge of the first row.
    pub(super) top: i32,
    /// The height of a row, with the gap below it.
    row: i32,
    nodes: usize,
    length: u64,
}

impl Panel {
    /// `nodes` rows below `top`, `length` ns long.
    pub(super) fn new(top: i32, nodes: usize, length: u64) -> Self {
        // As high as 24 pixels, and so low that a thousand nodes still fit on a picture.
        let row = (760 / i32::try_from(nodes.max(1)).unwrap_or(i32::MAX)).clamp(3, 24);
        Self { top, row, nodes, length: length.max(1) }
    }

    /// The lower edge of the last row.
    pub(super) fn bottom(&self) -> i32 {
        self.top + self.row * self.nodes as i32
    }

    /// Everything, with its axis.
    pub(super) fn height(&self) -> i32 {
        self.bottom() - self.top + 46
    }

    /// A node's row from column `from` to column `to`.
    pub(super) fn fill(
        &self,
        area: &Area<'_>,
        node: usize,
        from: u32,
        to: u32,
        colour: RGBColor,
    ) -> Result<(), Failure> {
        let top = self.top + self.row * node as i32;
        let gap = i32::from(self.row > 8);
        let corners = [(LEFT + from as i32, top), (LEFT + to as i32, top + self.row - gap)];
        area.draw(&Rectangle::new(corners, colour.filled()))
    }

    /// The column of a time, and how far into it.
    pub(super) fn column(&self, at: u64) -> f64 {
        (at as f64 / self.length as f64 * f64::from(COLUMNS)).min(f64::from(COLUMNS))
    }

    /// Numbers of nodes on the left, time below.
    pub(super) fn axes(&self, area: &Area<'_>) -> Result<(), Failure> {
        let (left, right, bottom) = (LEFT - 1, LEFT + COLUMNS as i32, self.bottom());
        area.draw(&PathElement::new(vec![(left, self.top), (left, bottom), (right, bottom)], LINE))?;
        // As many numbers as do not touch.
        let step =
            [1, 2, 4, 8, 16, 32, 64, 128, 256].into_iter().find(|step| step * self.row >= 14).unwrap_or(512);
        for node in (0..self.nodes).step_by(step as usize) {
            let middle = self.top + self.row * node as i32 + self.row / 2;
            words(area, &node.to_string(), (left - 6, middle), 13, HPos::Right)?;
        }
        words(area, "node", (left - 40, (self.top + bottom) / 2), 14, HPos::Right)?;
        let (step, unit, scale) = ticks(self.length);
        let mut at = 0.0;
        while at <= self.length as f64 {
            let x = LEFT + (at / self.length as f64 * f64::from(COLUMNS)) as i32;
            area.draw(&PathElement::new(vec![(x, bottom), (x, bottom + 5)], LINE))?;
            words(area, &number(at / scale), (x, bottom + 15), 13, HPos::Center)?;
            at += step;
        }
        words(area, &format!("time, {unit}"), ((left + right) / 2, bottom + 33), 14, HPos::Center)
    }
}

/// The distance of ticks in ns, the unit of their numbers, and that unit in ns.
fn ticks(length: u64) -> (f64, &'static str, f64) {
    let rough = length as f64 / 8.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough).unwrap_or(rough);
    let (unit, scale) = match length as f64 {
        l if l < 2e3 => ("ns", 1.0),
        l if l < 2e6 => ("µs", 1e3),
        l if l < 2e9 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    (step.max(1.0), unit, scale)
}

/// Up to three decimals, none that is zero.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_few_and_round() {
        for length in [1u64, 7, 100, 1999, 2000, 123_456, 5_000_000, 17_000_000_000, u64::MAX] {
            let (step, _, scale) = ticks(length);
            let count = length as f64 / step;
            assert!(count <= 8.0 + 1e-9, "{length}: {count}");
            assert!(length < 8 || count >= 3.0, "{length}: {count}");
            assert!(number(step / scale).len() < 12);
        }
        assert_eq!((number(2.5), number(20.0), number(0.0)), ("2.5".into(), "20".into(), "0".into()));
    }
}
