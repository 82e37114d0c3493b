//! What grids and volumes have in common: a layout is chosen, then all nodes iterate.

use std::ops::Range;

use strata_runtime::Node;
use strata_runtime::select::{Options, Selector};
use strata_select::{Note, Outcome};

use crate::exchange_models::{StencilExchange, StencilWave};
use crate::models::Stencil;
use crate::part::Part;
use crate::plain::Plain;
use crate::points::{Bad, Points};
use crate::requests_models::StencilRequests;
use crate::settings::Settings;
use crate::solver::Solver;
use crate::{Choice, Layout, Method, Solution, StencilError, Value, Way, requests};

/// A problem: a grid, or a volume as a grid of lines.
pub(crate) trait Problem<'a, T: Value> {
    fn settings(&self) -> &Settings<'a>;

    /// Points from west to east, north to south, top to bottom.
    fn size(&self) -> [usize; 3];

    /// Columns and rows of what is divided among nodes: points, or lines of points.
    fn cells(&self) -> [usize; 2];

    /// Whether columns, and rows, go around.
    fn periodic(&self) -> [bool; 2];

    fn check(&self) -> Result<(), StencilError>;

    /// A number that is equal on all nodes with equal problems.
    fn word(&self) -> u64;

    /// Width and height of a grid with five points whose iterations take about as long, and whether
    /// the models were measured with such.
    fn like(&self) -> ([f64; 2], bool);

    /// Whether the models were measured with such problems.
    fn measured(&self) -> bool {
        self.like().1 && self.settings().method == Method::RedBlack && size_of::<T>() == 8
    }

    /// Values that are stored for a cell.
    fn values_of_cell(&self) -> usize;

    /// A node's part, with zeros; without memory where `hollow`.
    ///
    /// # Errors
    /// The number of bytes for which there is no room.
    fn part(&self, block: &[Range<usize>; 2], halo: usize, hollow: bool) -> Result<Parts<'a, T>, u64>;

    /// Sets a part to its initial values.
    fn fill(&self, part: &mut Parts<'a, T>) -> Result<(), Bad>;

    /// What is said of a value that is not finite.
    fn bad(&self, bad: Bad) -> StencilError;
}

/// A node's part, as it is stored.
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

/// Solves with the layout that models predict to be fastest.
pub(crate) fn solve_with<'a, T: Value>(
    problem: &impl Problem<'a, T>,
    node: &mut Node,
    options: &Options,
) -> Result<Solution<T>, StencilError> {
    let inner = options.clone().inner();
    let ([selector, ways, waves, messages], alike) = loop {
        // Even if this node fails, the exchange must take place, or the others would wait forever.
        let selectors = [
            node.selector::<Stencil>(options),
            node.selector::<StencilExchange>(&inner),
            node.selector::<StencilWave>(&inner),
            node.selector::<StencilRequests>(&inner),
        ];
        let [a, b, c, d] =
            selectors.each_ref().map(|selector| selector.as_ref().map_or(0, |selector| selector.word()));
        let word = [a, b, c, d, problem.word()];
        let words = node.all_gather(&word);
        let alike = words.as_chunks::<5>().0.windows(2).all(|pair| pair[0] == pair[1]);
        if !node.must_compare_again(alike) {
            break (selectors, alike);
        }
    };
    let (selector, ways, waves, messages) = (selector?, ways?, waves?, messages?);
    if !alike {
        return Err(StencilError::Unlike);
    }
    problem.check()?;
    let (layout, choice) = choose(problem, node, &selector)?;
    let block = layout.block(problem.cells(), 0).map(|range| range.len() as f64);
    // Models of other sweeps or machines decide nothing: it is done as layouts were measured.
    let (mut layout, mut exchange) = (layout, None);
    if layout.nodes() > 1 && ways.decides(problem.measured()) {
        (layout, exchange) = exchanged(node, &ways, layout, &block)?;
    }
    if layout.nodes() > 1 && messages.decides(problem.measured()) && requests::exist(node) {
        (layout, exchange) = requested(node, &messages, layout, &block, exchange)?;
    }
    // With a narrow halo a wave ends after one sweep or two.
    if (layout.nodes() == 1 || layout.halo > 2) && waves.decides(problem.measured()) {
        layout = waved(node, &waves, layout, &block)?;
    }
    let mut solution = solve_on(problem, node, layout)?;
    (solution.choice, solution.exchange) = (Some(choice), exchange);
    Ok(solution)
}

/// Solves with this layout, whatever models say.
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
    selector: &Selector,
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
    let blocks = Layout::new(1, nodes, 1).suited(nodes, cells, periodic);
    let applies = |candidate| match candidate {
        Stencil::One => true,
        Stencil::Columns { .. } | Stencil::Rows { .. } => nodes > 1 && blocks.nodes() == nodes,
    };
    let chosen = node.choose_by::<Stencil>(selector, &inputs, &applies, note)?;
    let count = |number: i64| usize::try_from(number).unwrap_or(1).max(1);
    let layout = match chosen.candidate {
        Stencil::One => Layout::ONE,
        Stencil::Columns { columns, halo } => {
            let columns = count(columns);
            Layout::new(columns, nodes / columns, count(halo))
        }
        Stencil::Rows { rows, halo } => {
            let rows = count(rows);
            Layout::new(nodes / rows, rows, count(halo))
        }
    };
    let exact = layout == Layout::ONE || layout.nodes() == nodes && layout.fits(cells, periodic);
    if chosen.choice.pinned && !exact {
        return Err(StencilError::Layout(format!(
            "the pinned layout does not suit a grid of {} by {} points on {nodes} nodes: rows and columns \
             of blocks divide the nodes, and no block is smaller than its halo",
            cells[0], cells[1]
        )));
    }
    // Models of other sizes or numbers of nodes only rank layouts; the nearest that suits is taken.
    let layout = if exact { layout } else { layout.suited(nodes, cells, periodic) };
    let more = Layout { extra: settings.extra, ..layout };
    let layout = if layout != Layout::ONE && more.fits(cells, periodic) { more } else { layout };
    Ok((layout, chosen.choice))
}

/// `layout` with the way of exchanging halos that is predicted to be fastest. Outside what was
/// measured it stays as it is: the packets of a long transfer wait for a receiver that sweeps, so
/// that what is best nearby may cost many times as much.
fn exchanged(
    node: &mut Node,
    selector: &Selector,
    layout: Layout,
    block: &[f64; 2],
) -> Result<(Layout, Option<Choice>), StencilError> {
    let inputs = [block[0], block[1], layout.columns as f64, layout.halo as f64];
    let chosen = node.choose_by::<StencilExchange>(selector, &inputs, &|_| true, None)?;
    let (way, overlap) = match chosen.candidate {
        StencilExchange::Packed { overlap } => (Way::Packed, overlap),
        StencilExchange::Stored { overlap } => (Way::Stored, overlap),
        StencilExchange::Transferred { overlap } => (Way::Transferred, overlap),
    };
    let choice = chosen.choice;
    let known = choice.pinned || choice.predicted.is_some();
    let layout = if known { Layout { way, overlap: overlap == 1, ..layout } } else { layout };
    Ok((layout, known.then_some(choice)))
}

/// `layout` and `exchange`, or with prepared messages, if they are predicted to save more beside
/// packed puts than the way of the layout does: times of models that were measured one after the
/// other are not compared themselves.
fn requested(
    node: &mut Node,
    selector: &Selector,
    layout: Layout,
    block: &[f64; 2],
    exchange: Option<Choice>,
) -> Result<(Layout, Option<Choice>), StencilError> {
    let inputs = [block[0], block[1], layout.columns as f64, layout.halo as f64];
    let choice = node.choose_by::<StencilRequests>(selector, &inputs, &|_| true, None)?;
    let (way, overlap) = match choice.candidate {
        StencilRequests::Ports { .. } => return Ok((layout, exchange)),
        StencilRequests::Persistent { overlap } => (Way::Persistent, overlap),
        StencilRequests::Typed => (Way::Typed, 0),
    };
    let choice = choice.choice;
    let better = match &exchange {
        Some(exchange) => !exchange.pinned && beside_first(&choice) < beside_first(exchange),
        None => choice.predicted.is_some(),
    };
    match choice.pinned || better {
        true => Ok((Layout { way, overlap: overlap == 1, ..layout }, Some(choice))),
        false => Ok((layout, exchange)),
    }
}

/// The expected time of a choice over that of the library's first candidate; 1 where one of them
/// has none.
fn beside_first(choice: &Choice) -> f64 {
    match (choice.expected, choice.outcomes().next()) {
        (Some(expected), Some((_, Outcome::Slower(first, _)))) => expected.get() / first.get(),
        _ => 1.0,
    }
}

/// `layout` with the length of waves that is predicted to be fastest.
fn waved(
    node: &mut Node,
    selector: &Selector,
    layout: Layout,
    block: &[f64; 2],
) -> Result<Layout, StencilError> {
    let chosen = node.choose_by::<StencilWave>(selector, block, &|_| true, None)?;
    let StencilWave::Waves { sweeps } = chosen.candidate;
    Ok(Layout { wave: usize::try_from(sweeps).unwrap_or(0), ..layout })
}

const UNLIKE: &str = "the models were measured with red-black sweeps of f64: they only rank others";

/// Beyond it the time of an iteration hardly depends on how often updates are looked at.
const MOST_EVERY: u64 = 16;
