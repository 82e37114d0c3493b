//! Chapter 6 anew: the crate's own patterns run on simulated iWarp, beside what the thesis measured
//! there (Figs 6.1, 6.2, 6.4 to 6.7). No figure of these tables comes from a formula. Inputs are the
//! machine's costs, and the local work that the thesis measured beside each pattern. Fig 6.3 is left
//! out: the thesis does not print the mapping with which its messages collided.

use serde_json::{Map, Value};
use strata_runtime::Error;
use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::{Computing, Machine};
use strata_tcs::barrier::Algorithm;
use strata_tcs::patterns::{Form, Pattern, ReduceBroadcast, phases};
use strata_tcs::switch::Mode;
use strata_tcs::{
    App, Cell, Connection, Contains, Image, Net, Network, Options, Set, Shape, Target, link_with, run,
    simulate,
};

use crate::messages;

strata_tcs::communication! {
    networks { Data, Out, In }
    sets { Go: Data; Phase: Data; Scatter: Out; Gather: In; Star: Out, In; }
}

/// By how much a row may differ.
const WITHIN: f64 = 0.15;

/// A figure of the thesis: bytes, and the clocks measured on each number of cells.
pub(crate) struct Figure {
    name: &'static str,
    what: &'static str,
    pub(crate) rows: Vec<(usize, Vec<f64>)>,
    ours: Ours,
}

const SQUARES: &[(usize, usize)] = &[(2, 2), (4, 4), (8, 8)];
const ALL: &[(usize, usize)] = &[(2, 2), (4, 2), (4, 4), (8, 4), (8, 8)];

/// How we time a pattern on a grid of cells, with blocks of so many bytes.
type Ours = fn((usize, usize), usize) -> Result<f64, Error>;

const OURS: [Ours; 6] = [
    |grid, bytes| scatter_by_messages(grid, bytes),
    |grid, bytes| scatter_by_sets(grid, bytes),
    |grid, bytes| reduce(grid, bytes, Form::Messages),
    |grid, bytes| reduce(grid, bytes, Form::Sets),
    |(width, height), bytes| {
        let seeds = if width * height > 16 { 1 } else { 5 };
        let each = (1..=seeds).map(|seed| messages::all_to_all(width * height, bytes, seed));
        Ok(each.sum::<Result<f64, _>>()? / seeds as f64)
    },
    |(width, _), bytes| all_to_all_by_sets(width, bytes),
];

pub(crate) fn figures() -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    for [first, second] in strata_benches::rows(include_str!("chapter6.txt")) {
        if first.contains('.') {
            let ours = OURS[figures.len()];
            figures.push(Figure { name: first, what: second, rows: Vec::new(), ours });
        } else if let Some(figure) = figures.last_mut() {
            let clocks = second.split(' ').map(|clocks| clocks.parse().expect(second));
            figure.rows.push((first.parse().expect(first), clocks.collect()));
        }
    }
    figures
}

impl Figure {
    fn grids(&self) -> &'static [(usize, usize)] {
        if self.rows.iter().any(|(_, clocks)| clocks.len() > SQUARES.len()) { ALL } else { SQUARES }
    }
}

/// Pairs of figures of one pattern: by messages, by sets, and the columns of the former.
const PAIRS: [(usize, usize, [usize; 3]); 3] = [(0, 1, [0, 2, 4]), (2, 3, [0, 2, 4]), (4, 5, [0, 1, 2])];

/// Bytes under way on a connection: a queue of 8 words in each cell of the longest way (§3.1.2).
fn queues((width, height): (usize, usize)) -> usize {
    32 * (1 + width / 2 + height / 2)
}

/// The thesis's switch: three barriers by rings.
fn thesis() -> Options {
    Options { split: true, barrier: Some(Algorithm::Ring), ..Options::default() }
}

fn simulated(
    image: &Image,
    program: impl Fn(&mut Cell<'_>) -> Result<(), Error> + Sync,
) -> Result<f64, Error> {
    Ok(simulate(image, program)?.time())
}

/// On the machine itself, whose nodes send ordinary messages: clocks from a barrier on.
fn by_messages(
    image: &Image,
    (width, height): (usize, usize),
    program: impl Fn(&mut Cell<'_>) -> Result<(), Error> + Sync,
) -> Result<f64, Error> {
    let machine = SimulatedMachine::find("iwarp")?;
    let simulation = Machine::sim(&machine, width * height)?.computing(Computing::Skeleton);
    let ended = simulation.run(|node| {
        run(node, image, |cell| {
            cell.sync();
            let start = cell.clocks();
            program(cell)?;
            Ok(cell.clocks() - start)
        })
    })?;
    Ok(ended.results.into_iter().flatten().fold(0.0, f64::max))
}

fn scatter_by_messages(grid: (usize, usize), bytes: usize) -> Result<f64, Error> {
    let (cells, mut app) = (grid.0 * grid.1, App::new("scatter"));
    let root = app.task("root", cells);
    let scatter = Pattern::<u8>::scatter(&mut app, root, 4096);
    let gather = Pattern::<u8>::gather(&mut app, root, 4096);
    let image = link_with(&app, root, &Target::iwarp(grid.0, grid.1), &thesis())?;
    by_messages(&image, grid, |cell| {
        // Measured beside the pattern (§6.2.1).
        cell.work(100.0, || ());
        let blocks = vec![7; scatter.blocks(cell.id())[0] * bytes];
        let mine = scatter.run_by(cell, Form::Messages, &blocks, bytes)?;
        gather.run_by(cell, Form::Messages, &mine[..bytes], bytes)?;
        Ok(())
    })
}

fn scatter_by_sets(grid: (usize, usize), bytes: usize) -> Result<f64, Error> {
    let (cells, mut app) = (grid.0 * grid.1, App::new("scatter"));
    let root = app.task("root", cells);
    // The latency that his root waits for at each transfer (§6.2.2), less the half of its overhead that
    // is charged.
    let latency = [38.0, 59.0, 66.0][grid.0.ilog2() as usize - 1] - 18.0;
    let out: Vec<_> = (1..cells).map(|cell| app[root].connect(0, cell)).collect();
    let into: Vec<_> = (1..cells).map(|cell| app[root].connect(cell, 0)).collect();
    out.iter().for_each(|lane| app[root].depth(*lane, queues(grid)));
    into.iter().for_each(|lane| app[root].depth(*lane, queues(grid)));
    app[root].set::<Scatter>();
    app[root].set::<Gather>();
    app[root].set::<Star>();
    let image = link_with(&app, root, &Target::iwarp(grid.0, grid.1), &thesis())?;
    let root = image.report().task("root");
    let fits = root.is_some_and(|task| task.set("Star").count() == 1);
    let (out, into, block) = ((&out[..], true), (&into[..], false), vec![7; bytes]);
    simulated(&image, |cell| {
        // Measured beside the pattern (§6.2.2).
        cell.work(398.0, || ());
        if fits {
            cell.phase::<Star, _>(|net| pass(net, out, &block, latency))?;
            return cell.phase::<Star, _>(|net| pass(net, into, &block, latency));
        }
        cell.phases::<Scatter>(|net| pass(net, out, &block, latency))?;
        cell.phases::<Gather>(|net| pass(net, into, &block, latency))
    })
}

/// A block on each of the `lanes` of the root and the other cells: to the cells, or from them. The
/// root waits for the `latency` at each.
fn pass<S: Set + Contains<N>, N: Network>(
    net: &mut Net<'_, '_, S>,
    (lanes, to_cells): (&[Connection<u8, N>], bool),
    block: &[u8],
    latency: f64,
) -> Result<(), Error> {
    let me = net.id();
    for (_, lane) in (1..).zip(lanes).filter(|(cell, _)| [0, *cell].contains(&me)) {
        if net.has(*lane) {
            if (me == 0) == to_cells {
                net.send(*lane, block)
            } else {
                drop(net.receive_vec(*lane))
            }
            if me == 0 {
                net.work(latency, || ());
            }
        }
    }
    Ok(())
}

fn reduce(grid: (usize, usize), bytes: usize, form: Form) -> Result<f64, Error> {
    let (cells, mut app) = (grid.0 * grid.1, App::new("reduce"));
    let root = app.task("root", cells);
    let tree = ReduceBroadcast::<u8>::new(&mut app, root, queues(grid));
    let image = link_with(&app, root, &Target::iwarp(grid.0, grid.1), &thesis())?;
    // Measured beside the pattern (§6.3.1, §6.3.2).
    let beside = if form == Form::Sets { 302.0 } else { 100.0 };
    let program = |cell: &mut Cell<'_>| {
        cell.work(beside, || ());
        tree.reduce_by(cell, form, &mut vec![1; bytes], u8::wrapping_add)
    };
    match form {
        Form::Sets => simulated(&image, program),
        Form::Messages => by_messages(&image, grid, program),
    }
}

/// §6.4.2: a barrier a phase, that of 64 cells on any number of them, 459 clocks for spools and the
/// rest, and blocks that are received by spools.
pub(crate) fn all_to_all_by_sets(width: usize, bytes: usize) -> Result<f64, Error> {
    let cells = width * width;
    let mut app = App::new("all-to-all");
    let root = app.task("exchange", cells);
    let schedule = phases::best(Shape::Torus { width, height: width }, cells);
    // The connection on which each cell sends in each phase, and that on which it receives.
    let mut lanes = vec![vec![(None, None); cells]; schedule.len()];
    for (phase, messages) in schedule.iter().enumerate() {
        app[root].set_in::<Phase>(phase);
        for (from, to, path) in messages {
            let lane = app[root].connect_in::<u8, Data>(phase, *from, *to);
            app[root].depth(lane, bytes);
            path.iter().for_each(|path| app[root].prefer(lane, path.clone()));
            lanes[phase][*from].0 = Some(lane);
            lanes[phase][*to].1 = Some((*from, lane));
        }
    }
    let options = Options { switch: Mode::Single, ..Options::default() };
    let image = link_with(&app, root, &Target::iwarp(width, width), &options)?;
    let barrier = image.report().barriers.first().map_or(0.0, |barrier| barrier.clocks);
    let beside = 432.0 - barrier + 459.0 - image.target().spool;
    simulated(&image, |cell| {
        let me = cell.id();
        for (phase, lanes) in lanes.iter().enumerate() {
            let (out, into) = lanes[me];
            cell.phase_in::<Phase, _>(phase, |net| {
                net.work(beside, || ());
                let spool = into.map(|(from, lane)| (from, net.spool_receive(lane, vec![0; bytes])));
                if let Some(lane) = out {
                    net.send(lane, &vec![me as u8; bytes]);
                }
                let right = spool
                    .is_none_or(|(from, spool)| net.finish(spool).iter().all(|byte| *byte == from as u8));
                if right { Ok(()) } else { Err(Error::program("other blocks came")) }
            })?;
        }
        Ok(())
    })
}

/// Two dimensions of 64 cells (Fig 5.2): a switch with three barriers, and one with one.
fn in_two_dimensions() -> Result<(), Error> {
    strata_benches::columns("64 cells, 2-D barrier | predicted | measured | simulated");
    let [predicted, measured] = [692.0, 680.0];
    for (what, mode) in
        [("switch with three barriers", Mode::Triple), ("switch with one barrier", Mode::Single)]
    {
        let mut app = App::new("two dimensions");
        let root = app.task("root", 64);
        app[root].connect::<u8, Data>(0, 1);
        app[root].set::<Go>();
        let options = Options { switch: mode, ..Options::default() };
        let image = link_with(&app, root, &Target::iwarp(8, 8), &options)?;
        let ours = simulated(&image, |cell| cell.phase::<Go, _>(|_| Ok(())))?;
        let error = ours / measured - 1.0;
        let mark = if error.abs() <= WITHIN { "" } else { " **outside**" };
        println!("| {what} | {predicted} | {measured} | {ours:.0}: {:+.0} %{mark} |", 100.0 * error);
    }
    Ok(())
}

/// Prints every row, and counts those inside and the right winners.
pub(crate) fn measure(quick: bool, summary: &mut Map<String, Value>) -> Result<(), Error> {
    in_two_dimensions()?;
    let mut found: Vec<Vec<Vec<Option<f64>>>> = Vec::new();
    let (mut inside, mut all) = (0, 0);
    let figures = figures();
    for figure in &figures {
        println!("\nFig {}: {}, clocks simulated / measured\n", figure.name, figure.what);
        let cells = figure.grids().iter().map(|(width, height)| format!("{} cells", width * height));
        let head: Vec<String> = ["bytes".to_owned()].into_iter().chain(cells).collect();
        strata_benches::head(&head.iter().map(String::as_str).collect::<Vec<_>>());
        let mut of_figure = Vec::new();
        for (bytes, measured) in &figure.rows {
            let (mut row, mut times) = (vec![bytes.to_string()], Vec::new());
            for (grid, measured) in figure.grids().iter().zip(measured) {
                if quick && (grid.0 * grid.1 > 16 || *bytes > 4096) {
                    (row.push("not tried".to_owned()), times.push(None)).1
                } else {
                    let ours = (figure.ours)(*grid, *bytes)?;
                    let error = ours / measured - 1.0;
                    let is_inside = error.abs() <= WITHIN;
                    (inside, all) = (inside + usize::from(is_inside), all + 1);
                    let mark = if is_inside { "" } else { " **outside**" };
                    row.push(format!("{ours:.0} / {measured:.0}: {:+.0} %{mark}", 100.0 * error));
                    times.push(Some(ours));
                }
            }
            strata_benches::row(&row);
            of_figure.push(times);
        }
        found.push(of_figure);
    }
    let (mut right, mut pairs) = (0, 0);
    println!("\nMessages / sets, simulated (measured)\n");
    strata_benches::columns("pattern | bytes | 4 cells | 16 cells | 64 cells");
    for (messages, sets, columns) in PAIRS {
        for (at, (bytes, measured)) in figures[messages].rows.iter().enumerate() {
            let mut row = vec![figures[sets].what.trim_end_matches(", sets").to_owned(), bytes.to_string()];
            for (column, of_messages) in columns.into_iter().enumerate() {
                let thesis = measured[of_messages] / figures[sets].rows[at].1[column];
                let (Some(ours), Some(by_sets)) = (found[messages][at][of_messages], found[sets][at][column])
                else {
                    row.push("not tried".to_owned());
                    continue;
                };
                let ours = ours / by_sets;
                let is_right = (ours > 1.0) == (thesis > 1.0);
                (right, pairs) = (right + usize::from(is_right), pairs + 1);
                row.push(format!(
                    "{ours:.2} ({thesis:.2}){}",
                    if is_right { "" } else { " **the other wins**" }
                ));
            }
            strata_benches::row(&row);
        }
    }
    println!("\n{inside} of {all} within 15 %; the winner is right in {right} of {pairs}\n");
    for (name, count) in [("inside", inside), ("rows", all), ("winners_right", right), ("winners", pairs)] {
        summary.insert(format!("chapter6_{name}"), count.into());
    }
    Ok(())
}
