//! Chapter 6 anew: the crate's own patterns run on simulated iWarp, beside what the thesis measured
//! there (Figs 6.1, 6.2, 6.4 to 6.7). No figure of these tables comes from a formula. Inputs are the
//! machine's costs, and the local work that the thesis measured beside each pattern. Fig 6.3 is left
//! out: the thesis does not print the mapping with which its messages collided.

use serde_json::{Map, Value};
use strata_runtime::Error;
use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::{Computing, Machine};
use strata_tcs::barrier::Algorithm;
use strata_tcs::patterns::{Form, Pattern, ReduceBroadcast, ScatterGather, phases};
use strata_tcs::switch::Mode;
use strata_tcs::{App, Cell, Image, Options, Shape, Target, link_with, run, simulate};

use crate::messages;

strata_tcs::communication! {
    networks { Data }
    sets { Go: Data; Phase: Data; }
}

/// By how much a row may differ.
const WITHIN: f64 = 0.15;

/// A figure of the thesis: bytes, and the clocks measured on each number of cells.
struct Figure {
    name: &'static str,
    what: &'static str,
    widths: &'static [(usize, usize)],
    rows: &'static [(usize, &'static [f64])],
    ours: fn((usize, usize), usize) -> Result<f64, Error>,
}

const SQUARES: &[(usize, usize)] = &[(2, 2), (4, 4), (8, 8)];
const ALL: &[(usize, usize)] = &[(2, 2), (4, 2), (4, 4), (8, 4), (8, 8)];

const FIGURES: [Figure; 6] = [
    Figure {
        name: "6.1",
        what: "scatter and gather, messages",
        widths: ALL,
        rows: &[
            (16, &[2433.0, 4845.0, 9643.0, 19_299.0, 38_445.0]),
            (64, &[2551.0, 5136.0, 10_266.0, 20_594.0, 41_093.0]),
            (256, &[3082.0, 6379.0, 12_942.0, 26_061.0, 52_206.0]),
            (1024, &[5375.0, 11_735.0, 24_408.0, 49_791.0, 100_475.0]),
            (4096, &[14_602.0, 33_265.0, 70_542.0, 145_101.0, 294_126.0]),
        ],
        ours: |grid, bytes| scatter_by_messages(grid, bytes),
    },
    Figure {
        name: "6.2",
        what: "scatter and gather, sets",
        widths: SQUARES,
        rows: &[
            (16, &[1113.0, 4204.0, 35_150.0]),
            (64, &[1257.0, 5032.0, 38_184.0]),
            (256, &[1848.0, 7984.0, 51_519.0]),
            (1024, &[4144.0, 19_504.0, 99_636.0]),
            (4096, &[13_360.0, 65_584.0, 293_171.0]),
            (16_384, &[50_232.0, 249_904.0, 1_067_315.0]),
        ],
        ours: |grid, bytes| scatter_by_sets(grid, bytes),
    },
    Figure {
        name: "6.4",
        what: "reduce and broadcast, messages",
        widths: ALL,
        rows: &[
            (16, &[1958.0, 2803.0, 3682.0, 4507.0, 5383.0]),
            (64, &[2085.0, 2967.0, 3865.0, 4747.0, 5629.0]),
            (256, &[2465.0, 3553.0, 4649.0, 5703.0, 6789.0]),
            (1024, &[3999.0, 5839.0, 7701.0, 9512.0, 11_368.0]),
            (4096, &[10_145.0, 15_073.0, 20_003.0, 24_913.0, 29_830.0]),
        ],
        ours: |grid, bytes| reduce(grid, bytes, Form::Messages),
    },
    Figure {
        name: "6.5",
        what: "reduce and broadcast, sets",
        widths: SQUARES,
        rows: &[
            (16, &[908.0, 1687.0, 3801.0]),
            (64, &[1003.0, 1879.0, 4089.0]),
            (256, &[1388.0, 2647.0, 5241.0]),
            (1024, &[2924.0, 5719.0, 9848.0]),
            (4096, &[9067.0, 18_007.0, 28_281.0]),
            (16_384, &[33_643.0, 67_159.0, 102_009.0]),
        ],
        ours: |grid, bytes| reduce(grid, bytes, Form::Sets),
    },
    Figure {
        name: "6.6",
        what: "all-to-all, messages in random order",
        widths: SQUARES,
        rows: &[
            (16, &[2837.0, 13_365.0, 60_269.0]),
            (64, &[3088.0, 14_956.0, 75_197.0]),
            (256, &[4044.0, 20_403.0, 121_200.0]),
            (1024, &[7612.0, 41_221.0, 279_247.0]),
            (4096, &[22_112.0, 125_301.0, 922_385.0]),
            (16_384, &[80_240.0, 460_277.0, 3_491_392.0]),
            (32_768, &[157_033.0, 907_588.0, 6_932_091.0]),
        ],
        ours: |(width, height), bytes| {
            let seeds = if width * height > 16 { 1 } else { 5 };
            let each = (1..=seeds).map(|seed| messages::all_to_all(width * height, bytes, seed));
            Ok(each.sum::<Result<f64, _>>()? / seeds as f64)
        },
    },
    Figure {
        name: "6.7",
        what: "all-to-all, sets",
        widths: SQUARES,
        rows: &[
            (16, &[3384.0, 17_054.0, 68_951.0]),
            (64, &[3507.0, 17_603.0, 73_422.0]),
            (256, &[3938.0, 20_074.0, 91_860.0]),
            (1024, &[5666.0, 30_823.0, 165_587.0]),
            (4096, &[12_578.0, 73_851.0, 460_496.0]),
            (16_384, &[40_226.0, 245_810.0, 1_640_150.0]),
            (32_768, &[77_090.0, 475_204.0, 3_212_189.0]),
        ],
        ours: |(width, _), bytes| all_to_all_by_sets(width, bytes),
    },
];

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
    let pattern = ScatterGather::<u8>::new(&mut app, root, queues(grid)).local(latency);
    let image = link_with(&app, root, &Target::iwarp(grid.0, grid.1), &thesis())?;
    simulated(&image, |cell| {
        // Measured beside the pattern (§6.2.2).
        cell.work(398.0, || ());
        let blocks = if cell.id() == 0 { vec![vec![7; bytes]; cells] } else { Vec::new() };
        let mine = pattern.scatter(cell, blocks)?;
        pattern.gather(cell, mine)?;
        Ok(())
    })
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
    for figure in &FIGURES {
        println!("\nFig {}: {}, clocks simulated / measured\n", figure.name, figure.what);
        let cells = figure.widths.iter().map(|(width, height)| format!("{} cells", width * height));
        let head: Vec<String> = ["bytes".to_owned()].into_iter().chain(cells).collect();
        strata_benches::head(&head.iter().map(String::as_str).collect::<Vec<_>>());
        let mut of_figure = Vec::new();
        for (bytes, measured) in figure.rows {
            let (mut row, mut times) = (vec![bytes.to_string()], Vec::new());
            for (grid, measured) in figure.widths.iter().zip(*measured) {
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
        for (at, (bytes, measured)) in FIGURES[messages].rows.iter().enumerate() {
            let mut row = vec![FIGURES[sets].what.trim_end_matches(", sets").to_owned(), bytes.to_string()];
            for (column, of_messages) in columns.into_iter().enumerate() {
                let thesis = measured[of_messages] / FIGURES[sets].rows[at].1[column];
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
