//! Choices on single grids against the fastest layout, and what comes out over many.

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use strata_benches::accuracy::{Cell as Judged, Summary};
use strata_model::Resolved;
use strata_stencil::layout::Layout;

use crate::control;
use crate::target::{Target, Timed};

/// The longest side of a grid for which our models were measured.
pub(crate) const LONGEST: usize = 2048;

/// The longest side of a grid of the thesis's table 4-3.
const LONGEST_OF_THESIS: usize = 5000;

/// Of all layouts those predicted to take longer than the best by this factor are not simulated.
const HOPELESS: f64 = 1.25;

/// Layouts are close if one is predicted to take longer by less than this share.
pub(crate) const CLOSE: f64 = 0.1;

/// Grids among which one with close layouts is looked for.
const DRAWN: usize = 10_000;

/// How grids are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drawn {
    /// As in the thesis's table 4-3: any side up to 5000.
    Anywhere,
    /// All magnitudes of sides alike, up to 2048: thin grids and small ones come up as often.
    Magnitudes,
    /// As in its table 4-1: near the boundary between two layouts, that is, where the two best of
    /// the thesis's layouts are predicted within 10 % of each other. Magnitudes alike.
    Boundary,
}

impl Drawn {
    pub(crate) const ALL: [Self; 3] = [Self::Anywhere, Self::Magnitudes, Self::Boundary];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Anywhere => "anywhere",
            Self::Magnitudes => "all magnitudes",
            Self::Boundary => "boundaries",
        }
    }

    pub(crate) fn draw(self, random: &mut ChaCha8Rng) -> [usize; 2] {
        [0; 2].map(|_| match self {
            Self::Anywhere => random.random_range(1..=LONGEST_OF_THESIS),
            Self::Magnitudes | Self::Boundary => {
                let power = random.random_range(0.0..1.0);
                (LONGEST as f64).powf(power).round().max(2.0) as usize
            }
        })
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Cell {
    /// Among the thesis's layouts, by its terms.
    pub(crate) short: Outcome,
    /// Among the thesis's layouts, by our terms.
    pub(crate) long: Option<Outcome>,
    /// Among all.
    pub(crate) all: Option<Outcome>,
    /// What choosing gains over squares by the thesis's printed models.
    pub(crate) printed: Option<f64>,
}

/// A choice on one grid.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    /// Time of the choice over that of the fastest.
    pub(crate) ratio: f64,
    /// Time of squares over that of the fastest, where they take the grid.
    square: Option<f64>,
}

/// Draws grids and simulates their layouts.
pub(crate) fn judge(
    target: &Target,
    short: &Resolved,
    long: Option<&Resolved>,
    drawn: Drawn,
    cells: usize,
    seed: u64,
) -> Result<Vec<Cell>, String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed + target.nodes as u64 + 1000 * drawn as u64);
    let library = long.and_then(|models| models.library("stencil"));
    let mut all = Vec::new();
    for _ in 0..cells {
        let close = |size: &[usize; 2]| {
            let predicted = target.predicted_by_short(short, *size);
            predicted.get(1).is_some_and(|second| second.1 / predicted[0].1 < 1.0 + CLOSE)
        };
        let size = match drawn {
            Drawn::Boundary => {
                let mut grids = (0..DRAWN).map(|_| drawn.draw(&mut random));
                grids.find(close).ok_or("no grid has two close layouts")?
            }
            _ => drawn.draw(&mut random),
        };
        let squares = target.squares();
        let of_thesis = target.of_thesis().into_iter().filter(|layout| target.takes(*layout, size));
        let times = of_thesis.map(|layout| Ok((layout, target.simulate(size, layout)?)));
        let times: Vec<Timed> = times.collect::<Result<_, String>>()?;
        let chosen = target.predicted_by_short(short, size).first().map(|(layout, _)| *layout);
        let outcome_of = |times: &[Timed], chosen: Option<Layout>| outcome(times, chosen?, squares);
        let short = outcome_of(&times, chosen).ok_or_else(|| format!("{size:?}: nothing is predicted"))?;
        let ours = library.filter(|_| size.into_iter().all(|side| side <= LONGEST));
        let predicted = ours.map_or(Vec::new(), |library| target.predicted(library, size));
        let among = predicted.iter().find(|(layout, _)| times.iter().any(|(other, _)| other == layout));
        let long = outcome_of(&times, among.map(|(layout, _)| *layout));
        let mut every = times;
        if let Some((_, least)) = predicted.first() {
            for (layout, seconds) in &predicted {
                if *seconds < HOPELESS * least && every.iter().all(|(other, _)| other != layout) {
                    every.push((*layout, target.simulate(size, *layout)?));
                }
            }
        }
        let family = outcome_of(&every, predicted.first().map(|(layout, _)| *layout));
        let printed = control::gain(&target.name, size).filter(|_| target.nodes == control::NODES);
        all.push(Cell { short, long, all: family, printed });
    }
    Ok(all)
}

fn outcome(times: &[Timed], chosen: Layout, squares: Layout) -> Option<Outcome> {
    let of = |layout: Layout| times.iter().find(|(other, _)| *other == layout).map(|(_, seconds)| *seconds);
    let valid = times.iter().filter(|(_, seconds)| !seconds.is_nan());
    let (_, least) = *valid.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let ratio = of(chosen)? / least;
    let square = of(squares).filter(|seconds| !seconds.is_nan()).map(|seconds| seconds / least);
    ratio.is_finite().then_some(Outcome { ratio, square })
}

/// The share of grids on which squares are the fastest, of those that they take.
pub(crate) fn squares_right(cells: &[Outcome]) -> Option<f64> {
    let squares: Vec<f64> = cells.iter().filter_map(|cell| cell.square).collect();
    let right = squares.iter().filter(|ratio| **ratio <= 1.0).count();
    (!squares.is_empty()).then(|| right as f64 / squares.len() as f64)
}

/// What comes out over some grids; the fixed rival is squares.
pub(crate) fn summary(cells: &[Outcome]) -> Summary {
    let judged = |cell: &Outcome| Judged { ratio: cell.ratio, fixed: cell.square, weight: 1.0 };
    Summary::of(&cells.iter().map(judged).collect::<Vec<_>>())
}
