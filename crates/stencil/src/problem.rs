//! The common part of grids and volumes: a layout is chosen, then all nodes iterate.

use std::ops::Range;

use strata_runtime::Node;
use strata_runtime::select::{ALL, Options, Selector, which};
use strata_select::{Library as _, Question, Source, choice::Note, models::Models, table::Prediction};

use crate::exchange::models::{StencilExchange, StencilWave};
use crate::models::Stencil;
use crate::part::Part;
use crate::plain::Plain;
use crate::points::{Bad, Points};
use crate::settings::Settings;
use crate::solver::Solver;
use crate::{
    Choice, Method, Solution, StencilError, Value, Way,
    layout::{ExchangeChoice, Layout},
};

/// A problem: a grid, or a volume as a grid of lines.
pub(crate) trait Problem<'a, T: Value> {
    fn settings(&self) -> &Settings<'a>;

    /// Points from west to east, north to south, top to bottom.
    fn size(&self) -> [usize; 3];

    /// Columns and rows of the cells that are divided among nodes: points, or lines of points.
    fn cells(&self) -> [usize; 2];

    /// True for columns, and rows, that wrap around.
    fn periodic(&self) -> [bool; 2];

    fn check(&self) -> Result<(), StencilError>;

    /// A fingerprint that is equal on all nodes with equal problems.
    fn word(&self) -> u64;

    /// Width and height of a five-point grid whose iterations take about as long; and true if the
    /// models were measured with such problems.
    fn like(&self) -> ([f64; 2], bool);

    /// True if the models were measured with such problems.
    fn measured(&self) -> bool {
        self.like().1 && self.settings().method == Method::RedBlack && size_of::<T>() == 8
    }

    /// Number of values stored for a cell.
    fn values_of_cell(&self) -> usize;

    /// A node's part, filled with zeros; without memory if `hollow`.
    ///
    /// # Errors
    /// The number of bytes that could not be allocated.
    fn part(&self, block: &[Range<usize>; 2], halo: usize, hollow: bool) -> Result<Parts<'a, T>, u64>;

    /// Sets a part to its initial values.
    fn fill(&self, part: &mut Parts<'a, T>) -> Result<(), Bad>;

    /// The error for a value that is not finite.
    fn bad(&self, bad: Bad) -> StencilError;
}

/// A node's part, in one of its representations.
pub(crate) enum Parts<'a, T> {
    Coloured(Part<T>),
    Plain(Plain<'a, T>),
}

impl<'a, T: Value> Parts<'a, T> {
    pub(crate) fn points(&self) -> &(dyn Points<T> + 'a) {
        match self {
            Self::Coloured(part) => part,
            Self::Plain(part) => part,
        }
    }

    pub(crate) fn points_mut(&mut self) -> &mut (dyn Points<T> + 'a) {
        match self {
            Self::Coloured(part) => part,
            Self::Plain(part) => part,
        }
    }
}

/// Solves with the layout of the least predicted time.
pub(crate) fn solve_with<'a, T: Value>(
    problem: &impl Problem<'a, T>,
    node: &mut Node,
    options: &Options,
) -> Result<Solution<T>, StencilError> {
    let inner = options.clone().inner();
    fit_exchanges(node);
    let (selector, ways, waves, alike) = loop {
        // Even if this node fails, the exchange must take place, or the others would wait forever.
        let selector = node.selector::<Stencil>(options);
        let ways = node.selector::<StencilExchange>(&inner);
        let waves = node.selector::<StencilWave>(&inner);
        let word = [
            selector.as_ref().map_or(0, |selector| selector.word()),
            ways.as_ref().map_or(0, |selector| selector.word()),
            waves.as_ref().map_or(0, |selector| selector.word()),
            problem.word(),
        ];
        let words = node.all_gather(&word);
        let alike = words.as_chunks::<4>().0.windows(2).all(|pair| pair[0] == pair[1]);
        if !node.must_compare_again(alike) {
            break (selector, ways, waves, alike);
        }
    };
    let (selector, ways, waves) = (selector?, ways?, waves?);
    if !alike {
        return Err(StencilError::Unlike);
    }
    problem.check()?;
    // Models of other sweeps or machines are not used: halos are exchanged as when layouts were
    // measured.
    let ways = ways.decides(problem.measured()).then_some(&*ways);
    let (mut layout, choice) = choose(problem, node, &selector, ways)?;
    let block = layout.block(problem.cells(), 0).map(|range| range.len() as f64);
    let mut exchange = None;
    if let Some(ways) = ways.filter(|_| layout.nodes() > 1) {
        (layout, exchange) = exchanged(node, ways, layout, &block)?;
    }
    // With a narrow halo a wave ends after one or two sweeps.
    if (layout.nodes() == 1 || layout.halo > 2) && waves.decides(problem.measured()) {
        layout = waved(node, &waves, layout, &block)?;
    }
    let mut solution = solve_on(problem, node, layout)?;
    (solution.choice, solution.exchange) = (Some(choice), exchange);
    Ok(solution)
}

/// Solves with this layout, regardless of models.
pub(crate) fn solve_in<'a, T: Value>(
    problem: &impl Problem<'a, T>,
    node: &mut Node,
    layout: Layout,
) -> Result<Solution<T>, StencilError> {
    problem.check()?;
    if layout.nodes() != 1 && layout.nodes() != node.size()
        || !layout.fits(problem.cells(), problem.periodic())
    {
        return Err(StencilError::Layout(format!(
            "{layout} does not suit the grid or {} nodes",
            node.size()
        )));
    }
    solve_on(problem, node, layout)
}

/// Solves with a layout that suits the nodes and the problem.
fn solve_on<'a, T: Value>(
    problem: &impl Problem<'a, T>,
    node: &mut Node,
    layout: Layout,
) -> Result<Solution<T>, StencilError> {
    let mut solver = Solver::new(node, problem, layout)?;
    let settings = problem.settings();
    let outcome = solver.run(node, settings.limits(), &mut |state| {
        if let Some(progress) = &settings.progress {
            (progress.borrow_mut())(state);
        }
    })?;
    let block = layout.block(problem.cells(), node.rank());
    let values = solver.parts.points().values();
    Ok(Solution::new(problem.size(), problem.cells(), layout, block, values, outcome))
}

fn choose<'a, T: Value>(
    problem: &impl Problem<'a, T>,
    node: &mut Node,
    selector: &Selector<Stencil>,
    ways: Option<&Selector<StencilExchange>>,
) -> Result<(Layout, Choice), StencilError> {
    let (nodes, cells, periodic) = (node.size(), problem.cells(), problem.periodic());
    let settings = problem.settings();
    let every = if settings.threshold.is_some() {
        settings.every.min(settings.iterations)
    } else {
        settings.iterations
    };
    let (like, _) = problem.like();
    let inputs = [like[0], like[1], every.clamp(1, MOST_EVERY) as f64];
    let note = (!problem.measured()).then_some(Note::Other(UNLIKE));
    // A grid too small for strips may have room for squares, from which all other shapes are tried.
    let side = (1..=nodes.isqrt()).rev().find(|side| nodes.is_multiple_of(*side)).unwrap_or(1);
    let blocks = Layout::new(side, nodes / side, 1).suited(nodes, cells, periodic);
    let applies = which(|candidate| match candidate {
        Stencil::One => true,
        Stencil::Columns { .. } | Stencil::Rows { .. } => nodes > 1 && blocks.nodes() == nodes,
    });
    let layouts = selector.models().source;
    let chosen = match ways {
        Some(ways) => {
            let source = (&Exchanged::new(layouts, ways) as _, ways.word());
            node.choose_with::<Stencil>(nodes, selector, source, &inputs, applies, note)
        }
        None => node.choose_by::<Stencil>(selector, &inputs, applies, note),
    }?;
    let layout = layout_of(chosen.candidate, nodes);
    let exact = layout == Layout::ONE || layout.nodes() == nodes && layout.fits(cells, periodic);
    if chosen.choice.pinned && !exact {
        return Err(StencilError::Layout(format!(
            "the pinned layout does not suit a grid of {} by {} points on {nodes} nodes: rows and columns \
             of blocks divide the nodes, and no block is smaller than its halo",
            cells[0], cells[1]
        )));
    }
    // Models of other sizes or numbers of nodes only rank layouts; the nearest suitable layout is
    // taken.
    let layout = if exact { layout } else { layout.suited(nodes, cells, periodic) };
    let more = Layout { extra: settings.extra, ..layout };
    let layout = if layout != Layout::ONE && more.fits(cells, periodic) { more } else { layout };
    Ok((layout, *chosen.choice))
}

fn layout_of(candidate: Stencil, nodes: usize) -> Layout {
    match candidate {
        Stencil::One => Layout::ONE,
        Stencil::Columns { columns, halo } => {
            Layout::new(columns.max(1), nodes / columns.max(1), halo.max(1))
        }
        Stencil::Rows { rows, halo } => Layout::new(nodes / rows.max(1), rows.max(1), halo.max(1)),
    }
}

/// Models of layouts, each combined with the exchange chosen for it. Layouts were measured with
/// packed halos, so their times are multiplied by the ratio of the chosen exchange's time to that
/// of packed halos.
struct Exchanged<'a> {
    layouts: &'a (dyn Source + Send + Sync),
    ways: Models<'a>,
    /// A question about these, of any problem.
    question: Question<'a, 'a>,
}

impl<'a> Exchanged<'a> {
    fn new(layouts: &'a (dyn Source + Send + Sync), ways: &'a Selector<StencilExchange>) -> Self {
        Self { layouts, ways: ways.models(), question: ways.question(1, &[]) }
    }

    /// The ratio for one layout; 1 if models do not cover packed halos, and for one node.
    fn ratio(&self, candidate: usize, nodes: usize, inputs: &[f64], parameters: &[i64]) -> f64 {
        let ratio = || {
            let layout = layout_of(Stencil::candidate(candidate, parameters)?, nodes);
            let [width, height, _] = *inputs else { return None };
            if layout == Layout::ONE || layout.nodes() != nodes {
                return None;
            }
            let block = layout.block([width as usize, height as usize], 0).map(|range| range.len() as f64);
            let inputs = inputs_of(layout, &block);
            let models = self.ways;
            // The first candidate, without overlap.
            let packed =
                models.source.seconds(0, nodes, &inputs, &[0])? * models.source.about(0).expected_ratio;
            let question = Question { nodes, inputs: &inputs, ..self.question };
            let (_, choice) = models.choose::<StencilExchange>(question, &|_| true).ok()?;
            Some(choice.expected?.get() / packed)
        };
        ratio().unwrap_or(1.0)
    }
}

impl Source for Exchanged<'_> {
    fn base(&self) -> Option<&dyn Source> {
        Some(self.layouts)
    }

    fn seconds(&self, candidate: usize, nodes: usize, inputs: &[f64], parameters: &[i64]) -> Option<f64> {
        let seconds = self.layouts.seconds(candidate, nodes, inputs, parameters)?;
        Some(seconds * self.ratio(candidate, nodes, inputs, parameters))
    }

    fn predict(
        &self,
        candidate: usize,
        nodes: usize,
        inputs: &[f64],
        parameters: &[i64],
    ) -> Option<Prediction> {
        let predicted = self.layouts.predict(candidate, nodes, inputs, parameters)?;
        predicted.times(self.ratio(candidate, nodes, inputs, parameters))
    }
}

/// The inputs to the choice of an exchange.
fn inputs_of(layout: Layout, block: &[f64; 2]) -> [f64; 4] {
    [block[0], block[1], layout.columns as f64, layout.halo as f64]
}

/// Fits the models of halo exchanges to this machine, if `STRATA_CALIBRATE` asks for it. Collective.
pub(crate) fn fit_exchanges(node: &mut Node) {
    if node.size() > 1 {
        node.calibrate_as_set::<StencilExchange>();
    }
}

/// `layout` with the variant of the halo exchange that has the least predicted time. Outside the
/// measured range the default is kept. Extrapolating is unsafe: a long transfer to a node that is
/// sweeping stalls, which can cost many times more.
fn exchanged(
    node: &mut Node,
    selector: &Selector<StencilExchange>,
    layout: Layout,
    block: &[f64; 2],
) -> Result<(Layout, Option<ExchangeChoice>), StencilError> {
    let inputs = inputs_of(layout, block);
    let chosen = node.choose_by::<StencilExchange>(selector, &inputs, ALL, None)?;
    let (way, overlap) = Way::of(chosen.candidate);
    let choice = *chosen.choice;
    let known = choice.pinned || choice.predicted.is_some();
    let layout = if known { Layout { way, overlap, ..layout } } else { layout };
    Ok((layout, known.then_some(choice)))
}

/// `layout` with the length of waves that has the least predicted time.
fn waved(
    node: &mut Node,
    selector: &Selector<StencilWave>,
    layout: Layout,
    block: &[f64; 2],
) -> Result<Layout, StencilError> {
    let chosen = node.choose_by::<StencilWave>(selector, block, ALL, None)?;
    let StencilWave::Waves { sweeps } = chosen.candidate;
    Ok(Layout { wave: sweeps, ..layout })
}

const UNLIKE: &str = "the models were measured with red-black sweeps of f64: they only rank others";

/// Beyond this interval between checks of the largest update, the time of an iteration hardly
/// depends on it.
const MOST_EVERY: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use strata_runtime::prelude::*;
    use strata_select::Pin;

    #[test]
    fn a_layout_takes_its_time_with_the_exchange_that_is_chosen_for_it() {
        for pin in [None, Some("stencil_exchange=stored:1")] {
            let run = Machine::threads(2).unwrap().run(|node| {
                let mut options = Options::default();
                if let Some(pin) = pin {
                    options = options.pin(Pin::parse(pin)?);
                }
                let ways = node.selector::<StencilExchange>(&options)?;
                let layouts = node.selector::<Stencil>(&options.inner())?.models().source;
                let with = Exchanged::new(layouts, &ways);
                let seconds = |source: &dyn Source, at: usize, all: &[i64]| {
                    source.seconds(at, 2, &[200.0, 100.0, 1.0], all)
                };
                let ratio = |at, all: &[i64]| Some(seconds(&with, at, all)? / seconds(layouts, at, all)?);
                assert_eq!(ratio(0, &[]), Some(1.0), "one node exchanges nothing");
                assert_eq!(ratio(1, &[1, 8]), Some(1.0), "exchanges are measured up to halos of 4");
                let time =
                    |way, overlap| ways.models().source.seconds(way, 2, &[200.0, 50.0, 1.0, 1.0], &[overlap]);
                let all = [0, 1, 2].map(|way| [time(way, 0), time(way, 1)]);
                let chosen = match pin {
                    None => all.iter().flatten().flatten().copied().fold(f64::INFINITY, f64::min),
                    Some(_) => all[1][1].ok_or("a time")?,
                };
                assert_eq!(ratio(1, &[1, 1]), all[0][0].map(|packed| chosen / packed), "{pin:?}");
                Ok(())
            });
            run.unwrap();
        }
    }
}
