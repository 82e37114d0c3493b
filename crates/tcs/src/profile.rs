//! Single patterns in one form, and the primitives of linked programs, for calibration, benchmarks
//! and tests.
//!
//! The profiling programs generated from `specs/tcs` call [`measured`], those from
//! `specs/tcs/primitives` [`primitive`], and those from `specs/tcs/bandwidth` [`stream`].

use crate::barrier::Algorithm;
use crate::describe::{App, Connection};
use crate::launch::run;
use crate::link::{Image, Options, link_with};
use crate::patterns::{Form, Kind, Pattern, ReduceBroadcast, Schedule, phases};
use crate::run::Cell;
use crate::shape::square;
use crate::switch::Mode;
use crate::target::Target;
use strata_runtime::{Error, Node};

crate::communication! {
    networks { Nothing }
    sets { Idle: Nothing; }
}

/// Buffer capacity of these patterns' connections, in bytes.
const DEPTH: usize = 1 << 14;

/// A single pattern linked for a machine.
pub struct Linked {
    image: Image,
    of: Of,
    kind: Kind,
}

enum Of {
    Moves(Pattern<u8>),
    Reduce(ReduceBroadcast<u8>),
}

impl Linked {
    /// Links `kind` on all cells of `target`, as a grid as square as possible. Its sets are split
    /// if they do not fit, and cells switch with one barrier.
    ///
    /// # Errors
    /// Those of the linker.
    pub fn new(kind: Kind, target: &Target) -> Result<Self, Error> {
        let mut app = App::new(kind.name());
        let cells = target.cells;
        let root = app.task("root", cells);
        let width = target.shape.grid().unwrap_or_else(|| square(cells))[0];
        let app_ref = &mut app;
        let of = match kind {
            Kind::Scatter => Of::Moves(Pattern::scatter(app_ref, root, DEPTH)),
            Kind::Gather => Of::Moves(Pattern::gather(app_ref, root, DEPTH)),
            Kind::Reduce => Of::Reduce(ReduceBroadcast::new(app_ref, root, DEPTH)),
            Kind::Exchange => {
                let phases = phases::best(target.shape, cells);
                Of::Moves(Pattern::exchange(app_ref, root, &phases, DEPTH))
            }
            Kind::Halo => Of::Moves(Pattern::halo(app_ref, root, width, true, DEPTH)),
            Kind::Transpose => Of::Moves(Pattern::transpose(app_ref, root, width, DEPTH)),
            Kind::Row => Of::Moves(Pattern::row_broadcast(app_ref, root, width, 0, DEPTH)),
            Kind::Column => Of::Moves(Pattern::column_broadcast(app_ref, root, width, 0, DEPTH)),
        };
        app[root].set::<Idle>();
        let options = Options { split: true, switch: Mode::Single, ..Options::default() };
        let image = link_with(&app, root, target, &options).map_err(Error::program)?;
        Ok(Self { image, of, kind })
    }

    /// Runs the pattern once, with blocks of `bytes`.
    fn once(&self, cell: &mut Cell<'_>, form: Form, data: &mut [u8], bytes: usize) -> Result<(), Error> {
        match &self.of {
            Of::Moves(pattern) => pattern.run_by(cell, form, data, bytes).map(drop),
            Of::Reduce(tree) => tree.reduce_by(cell, form, data, u8::wrapping_add),
        }
    }

    /// Mean cycles of the target that the pattern takes on the slowest cell with blocks of `bytes`,
    /// over `times` runs. Each run starts in another set, so that the form by sets includes a
    /// switch.
    ///
    /// # Participation
    /// Collective.
    ///
    /// # Errors
    /// Those of the program.
    pub fn clocks(&self, node: &mut Node, form: Form, bytes: usize, times: usize) -> Result<f64, Error> {
        let took = run(node, &self.image, |cell| {
            let blocks = match &self.of {
                Of::Moves(pattern) => pattern.blocks(cell.id())[0],
                Of::Reduce(_) => 1,
            };
            let mut data = vec![1; blocks * bytes];
            let mut sum = 0.0;
            for time in 0..=times {
                cell.phase::<Idle, _>(|_| Ok(()))?;
                cell.sync();
                let start = cell.clocks();
                self.once(cell, form, &mut data, bytes)?;
                // The first run fills caches and is not counted.
                sum += if time > 0 { cell.clocks() - start } else { 0.0 };
            }
            Ok(sum / times.max(1) as f64)
        })?;
        Ok(node.reduce_max(took.unwrap_or(0.0)))
    }

    /// Its schedule, as the linker made it.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        // The last set is `Idle`.
        let sets = self.image.instances.first().map_or(0, |root| root.sets.len());
        Schedule::of(&self.image, 0, 0..sets.saturating_sub(1))
    }

    /// The form that models choose for blocks of `bytes`.
    ///
    /// # Participation
    /// Collective.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub fn choice(&self, node: &mut Node, bytes: usize) -> Result<Form, Error> {
        let chosen = run(node, &self.image, |cell| {
            if self.schedule().rounds == 0.0 {
                return Ok(Form::Sets);
            }
            let schedule = match &self.of {
                Of::Moves(pattern) => pattern.schedule(cell),
                Of::Reduce(tree) => tree.schedule(cell),
            };
            self.kind.choose(cell, &schedule, bytes)
        })?;
        Ok(chosen.unwrap_or(Form::Sets))
    }
}

/// The seconds that pattern `kind` takes in a form with blocks of `bytes` on this machine (see
/// [`Linked::clocks`]), and the numbers of its [`Schedule`]. The seconds are NaN if all blocks stay
/// on their cells. The job ends if the pattern does not link.
///
/// # Participation
/// Collective, with equal arguments.
pub fn measured(node: &mut Node, kind: Kind, form: Form, bytes: usize) -> (f64, [f64; Schedule::LEN]) {
    let target = Target::here(node);
    // Simulated times do not vary, so one run suffices.
    let times = if node.is_simulated() { 1 } else { 20 };
    let linked = Linked::new(kind, &target);
    let found = linked.and_then(|linked| Ok((linked.clocks(node, form, bytes, times)?, linked.schedule())));
    match found {
        Ok((_, schedule)) if schedule.rounds == 0.0 => (f64::NAN, schedule.numbers()),
        Ok((clocks, schedule)) => (target.seconds(clocks), schedule.numbers()),
        Err(error) => node.fail(error),
    }
}

/// Primitives of linked programs (Warfel 1996, chapter 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// A message of this many bytes from cell 0 to cell 1: half of a round trip.
    Message(usize),
    /// A barrier of all cells, by messages around a ring.
    Ring,
    /// A switch with one such barrier.
    Switch,
    /// A task's start, with such a switch.
    Start,
    /// A task's end, with such a barrier.
    End,
}

crate::communication! {
    networks { Forth, Back }
    sets { There: Forth; Again: Forth, Back; }
}

/// Mean seconds of a primitive on all cells of this machine. NaN for a message if there is only one
/// cell.
///
/// # Participation
/// Collective, with equal arguments.
pub fn primitive(node: &mut Node, which: Primitive) -> f64 {
    let times = if node.is_simulated() { 10 } else { 200 };
    seconds(node, |node, target| primitive_clocks(node, target, which, times))
}

/// The seconds of a program on all cells of this machine, of which `clocks` gives the cycles.
fn seconds(node: &mut Node, clocks: impl FnOnce(&mut Node, &Target) -> Result<f64, Error>) -> f64 {
    let target = Target::here(node);
    match clocks(node, &target) {
        Ok(clocks) => target.seconds(clocks),
        Err(error) => node.fail(error),
    }
}

crate::communication! {
    networks { Lane }
    sets { Flow: Lane; }
}

/// Blocks before the one that is timed: they fill caches.
const WARM: usize = 2;

/// Seconds until every cell of this machine has sent a block to the next cell and has received one,
/// all at once: `messages` messages of `bytes` over each of `lanes` connections. The slowest cell
/// counts. NaN if there is only one cell.
///
/// # Participation
/// Collective, with equal arguments.
pub fn stream(node: &mut Node, bytes: usize, messages: usize, lanes: usize) -> f64 {
    seconds(node, |node, target| stream_clocks(node, target, bytes, messages, lanes))
}

fn stream_clocks(
    node: &mut Node,
    target: &Target,
    bytes: usize,
    messages: usize,
    lanes: usize,
) -> Result<f64, Error> {
    let cells = target.cells;
    if cells < 2 {
        return Ok(f64::NAN);
    }
    let mut app = App::new("stream");
    let root = app.task("root", cells);
    let mut of = |from: usize| (0..lanes).map(|_| app[root].connect(from, (from + 1) % cells)).collect();
    let lanes: Vec<Vec<Connection<u8, Lane>>> = (0..cells).map(&mut of).collect();
    app[root].set::<Flow>();
    let image = link_with(&app, root, target, &Options::default()).map_err(Error::program)?;
    let took = run(node, &image, |cell| {
        let (me, mut data) = (cell.id(), vec![1; bytes]);
        let (out, into) = (&lanes[me], &lanes[(me + cells - 1) % cells]);
        cell.phase::<Flow, _>(|net| {
            let mut took = 0.0;
            for _ in 0..=WARM {
                net.sync();
                let start = net.clocks();
                // Cells with an odd number receive first, so that somebody always does.
                for sends in if me % 2 == 0 { [true, false] } else { [false, true] } {
                    for _ in 0..messages {
                        match sends {
                            true => out.iter().for_each(|lane| net.send(*lane, &data)),
                            false => into.iter().for_each(|lane| net.receive(*lane, &mut data)),
                        }
                    }
                }
                took = net.clocks() - start;
            }
            Ok(took)
        })
    })?;
    Ok(node.reduce_max(took.unwrap_or(0.0)))
}

fn primitive_clocks(node: &mut Node, target: &Target, which: Primitive, times: usize) -> Result<f64, Error> {
    let cells = target.cells;
    let mut app = App::new("primitives");
    let (root, task) = (app.task("root", cells), app.task("task", cells));
    let mut lanes = None;
    if cells > 1 {
        let (forth, back) = (app[root].connect::<u8, Forth>(0, 1), app[root].connect::<u8, Back>(1, 0));
        app[root].depth(forth, DEPTH);
        app[root].depth(back, DEPTH);
        lanes = Some((forth, back));
    }
    app[root].set::<There>();
    app[root].set::<Again>();
    let child = app[root].child("child", task, &(0..cells).collect::<Vec<_>>());
    let options = Options { switch: Mode::Single, barrier: Some(Algorithm::Ring), ..Options::default() };
    let image = link_with(&app, root, target, &options).map_err(Error::program)?;
    let took = run(node, &image, |cell| {
        let mut sum = 0.0;
        for time in 0..=times {
            cell.phase::<Again, _>(|_| Ok(()))?;
            cell.sync();
            let start = cell.clocks();
            let took = match which {
                Primitive::Message(bytes) => cell.phase::<Again, _>(|net| {
                    let mut data = vec![0; bytes];
                    match (net.id(), lanes) {
                        (0, Some((forth, back))) => {
                            net.send(forth, &data);
                            net.receive(back, &mut data);
                        }
                        (1, Some((forth, back))) => {
                            net.receive(forth, &mut data);
                            net.send(back, &data);
                        }
                        _ => return Ok(if lanes.is_none() { f64::NAN } else { 0.0 }),
                    }
                    // Cell 1 starts to wait when cell 0 starts.
                    Ok(if net.id() == 0 { (net.clocks() - start) / 2.0 } else { 0.0 })
                })?,
                Primitive::Ring => {
                    cell.sync();
                    cell.clocks() - start
                }
                Primitive::Switch => {
                    cell.phase::<There, _>(|_| Ok(()))?;
                    cell.clocks() - start
                }
                Primitive::Start => cell.start(child, |cell| Ok(cell.clocks()))? - start,
                Primitive::End => {
                    let inside = cell.start(child, |cell| Ok(cell.clocks()))?;
                    cell.clocks() - inside
                }
            };
            sum += if time > 0 { took } else { 0.0 };
        }
        Ok(sum / times as f64)
    })?;
    Ok(node.reduce_max(took.unwrap_or(0.0)))
}
