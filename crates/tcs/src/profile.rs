//! Single patterns in one form, for calibration, benchmarks and tests.
//!
//! The profiling programs generated from `specs/tcs` call [`seconds`].

use crate::describe::App;
use crate::link::{Image, Options, link_with};
use crate::patterns::{Form, Kind, Pattern, ReduceBroadcast, phases};
use crate::run::{Cell, run, switch::Mode};
use crate::shape::square;
use crate::target::Target;
use strata_runtime::{Error, Node};

crate::communication! {
    networks { Nothing }
    sets { Idle: Nothing; }
}

/// Bytes that may be under way on the connections of these patterns.
const DEPTH: usize = 1 << 14;

/// A pattern that is linked for a machine, alone.
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
    /// `kind` on all cells of `target`, which is a grid as square as possible; its sets are split
    /// where they do not fit, and cells switch by one barrier.
    ///
    /// # Errors
    /// Of the linker.
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

    /// Clocks of the target, on the slowest cell, that the pattern takes with blocks of `bytes`, over
    /// `times` times: from a common start in another set, so that sets pay for the switch.
    ///
    /// # Participation
    /// Collective.
    ///
    /// # Errors
    /// Of the program.
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
                // The first time fills caches.
                sum += if time > 0 { cell.clocks() - start } else { 0.0 };
            }
            Ok(sum / times.max(1) as f64)
        })?;
        Ok(node.reduce_max(took.unwrap_or(0.0)))
    }

    /// The form that models choose for blocks of `bytes`.
    ///
    /// # Participation
    /// Collective.
    ///
    /// # Errors
    /// A setting is at fault.
    pub fn choice(&self, node: &mut Node, bytes: usize) -> Result<Form, Error> {
        let chosen = run(node, &self.image, |cell| self.kind.choose(cell, bytes))?;
        Ok(chosen.unwrap_or(Form::Sets))
    }
}

/// The seconds that pattern `kind` takes in a form, with blocks of `bytes`, on this machine: see
/// [`Linked::clocks`]. NaN if it does not link.
///
/// # Participation
/// Collective, with equal arguments.
pub fn seconds(node: &mut Node, kind: Kind, form: Form, bytes: usize) -> f64 {
    let target = Target::here(node);
    // Simulated times are the same each time.
    let times = if node.is_simulated() { 1 } else { 20 };
    let clocks = Linked::new(kind, &target).and_then(|linked| linked.clocks(node, form, bytes, times));
    match clocks {
        Ok(clocks) => target.seconds(clocks),
        Err(error) => node.fail(error),
    }
}
