//! Maps of who wins where, and of the errors (Brewer 1994, figures 4-7 and 4-8), as JSON and SVG.

use std::path::Path;

use plotters::prelude::*;
use serde_json::json;
use strata_model::Resolved;
use strata_stencil::layout::Layout;

use crate::cells::{Cell, LONGEST};
use crate::target::Target;

/// Squares of the map on a side.
const SQUARES: usize = 128;

/// Of one node, strips and squares; after Okabe and Ito (2008).
const COLOURS: [RGBColor; 3] = [RGBColor(230, 159, 0), RGBColor(86, 180, 233), RGBColor(225, 225, 225)];

const NAMES: [&str; 3] = ["one node", "strips", "squares"];

/// Writes `MACHINE-NODES.json` and `.svg` into a folder.
pub(crate) fn write(folder: &Path, target: &Target, models: &Resolved, cells: &[Cell]) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let side = |number: usize| 1 + number * (LONGEST - 1) / (SQUARES - 1);
    let winner = |x: usize, y: usize| {
        let all = target.predicted_by_short(models, [side(x), side(y)]);
        all.first().and_then(|(layout, _)| place(target, *layout))
    };
    let winners: Vec<Vec<Option<usize>>> =
        (0..SQUARES).map(|y| (0..SQUARES).map(|x| winner(x, y)).collect()).collect();
    let errors: Vec<_> = cells
        .iter()
        .filter(|cell| cell.short.ratio > 1.0)
        .map(|cell| {
            json!({
                "width": cell.size[0], "height": cell.size[1],
                "chosen": place(target, cell.short.chosen), "best": place(target, cell.short.best),
                "penalty": cell.short.ratio - 1.0,
            })
        })
        .collect();
    let sides: Vec<usize> = (0..SQUARES).map(side).collect();
    let map = json!({
        "machine": target.name, "nodes": target.nodes, "layouts": NAMES, "sides": sides,
        "grids": cells.len(), "winners": winners, "errors": errors,
    });
    let name = format!("{}-{}", target.name, target.nodes);
    let svg = draw(&name, &winners, cells).map_err(|e| e.to_string())?;
    for (extension, text) in [("json", format!("{map}\n")), ("svg", svg)] {
        let path = folder.join(format!("{name}.{extension}"));
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

/// The place of a layout among the thesis's.
fn place(target: &Target, layout: Layout) -> Option<usize> {
    target.of_thesis().iter().position(|known| *known == layout)
}

/// A failure of drawing into a string, which cannot be.
type Failure = DrawingAreaErrorKind<std::io::Error>;

/// Regions of the predicted winners, and a circle for each wrong choice, as large as its penalty.
fn draw(name: &str, winners: &[Vec<Option<usize>>], cells: &[Cell]) -> Result<String, Failure> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (640, 660)).into_drawing_area();
        root.fill(&WHITE)?;
        let longest = LONGEST as f64;
        let mut chart = ChartBuilder::on(&root)
            .caption(format!("{name}: predicted winners, and wrong choices"), ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(60)
            .build_cartesian_2d(0.0..longest, 0.0..longest)?;
        chart.configure_mesh().disable_mesh().x_desc("width").y_desc("height").draw()?;
        let step = longest / SQUARES as f64;
        for (kind, colour) in COLOURS.iter().enumerate() {
            // Neighbours in a row are one rectangle.
            let runs = winners.iter().enumerate().flat_map(|(y, row)| {
                let mut x = 0;
                row.chunk_by(|a, b| a == b)
                    .filter_map(|run| {
                        let start = x;
                        x += run.len();
                        (run[0] == Some(kind)).then_some((start, x, y))
                    })
                    .collect::<Vec<_>>()
            });
            let corner = |x: usize, y: usize| (x as f64 * step, y as f64 * step);
            let filled = colour.filled();
            let boxes = runs.map(|(a, b, y)| Rectangle::new([corner(a, y), corner(b, y + 1)], filled));
            chart
                .draw_series(boxes)?
                .label(NAMES[kind])
                .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], filled));
        }
        let wrong = cells.iter().filter(|cell| cell.short.ratio > 1.0);
        let circles = wrong.map(|cell| {
            let at = (cell.size[0] as f64, cell.size[1] as f64);
            let radius = 3.0 + 100.0 * (cell.short.ratio - 1.0);
            Circle::new(at, radius.min(20.0), BLACK.stroke_width(1))
        });
        chart
            .draw_series(circles)?
            .label("wrong, larger if slower")
            .legend(|(x, y)| Circle::new((x + 6, y), 4, BLACK.stroke_width(1)));
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK)
            .draw()?;
        root.present()?;
    }
    Ok(text)
}
