//! What the linker makes of an application: everything that a cell needs, found before it runs.

use crate::barrier::{Algorithm, Schedule};
use crate::describe::{Kind, TaskId};
use crate::report::Report;
use crate::run::switch::Mode;
use crate::shape::Path;
use crate::target::Target;
use std::any::TypeId;

/// A linked application: which cell executes which tasks, the connections with their paths and
/// rates, the barriers with their schedules.
#[derive(Clone, Debug)]
pub struct Image {
    pub(crate) name: String,
    pub(crate) target: Target,
    /// Parents before children; the root is the first.
    pub(crate) instances: Vec<Instance>,
    /// The connections of all instances.
    pub(crate) connections: Vec<Linked>,
    pub(crate) barriers: Vec<Membership>,
    pub(crate) switch: Mode,
    /// Whether ordinary messages are sent beside connections.
    pub(crate) messages: bool,
    pub(crate) report: Report,
}

/// A task on its cells.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) task: TaskId,
    /// The names of the children that lead to it.
    pub(crate) path: String,
    pub(crate) parent: Option<usize>,
    /// The machine's cells, by the task's.
    pub(crate) cells: Vec<usize>,
    /// Instances, by the task's children.
    pub(crate) children: Vec<usize>,
    /// Connections, by the task's ports.
    pub(crate) ports: Vec<usize>,
    /// The connection that is the task's first.
    pub(crate) first: usize,
    pub(crate) sets: Vec<SetImage>,
    /// Its external connections between children.
    pub(crate) wires: Vec<usize>,
    /// The barrier of its cells.
    pub(crate) own: usize,
    /// The barrier of its connected component, for start and end.
    pub(crate) component: usize,
}

/// A set of an instance.
#[derive(Clone, Debug)]
pub(crate) struct SetImage {
    pub(crate) tag: TypeId,
    pub(crate) name: String,
    pub(crate) index: usize,
    /// One, or several where the linker has split the set.
    pub(crate) parts: Vec<Part>,
}

/// Connections of a set that are active at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// The image's connections, with their paths.
    pub(crate) connections: Vec<(usize, Path)>,
    /// Bytes a clock that each is guaranteed, and how many share its busiest link.
    pub(crate) guaranteed: Vec<Guarantee>,
}

/// What a connection is guaranteed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Guarantee {
    /// Bytes a clock.
    pub(crate) rate: f64,
    /// Connections on its busiest link, itself included.
    pub(crate) congestion: usize,
}

/// A connection between two cells of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Linked {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) kind: Kind,
    /// Reserved bytes a second.
    pub(crate) rate: Option<f64>,
    pub(crate) depth: usize,
    /// The path of an external connection. Those of others depend on the set; this is then the
    /// preferred one.
    pub(crate) path: Option<Path>,
    pub(crate) guarantee: Guarantee,
}

/// Cells that meet in a barrier.
#[derive(Clone, Debug)]
pub(crate) struct Membership {
    /// The machine's cells, neighbours one after the other.
    pub(crate) cells: Vec<usize>,
    pub(crate) algorithm: Algorithm,
    pub(crate) schedule: Schedule,
    /// Its time in clocks.
    pub(crate) clocks: f64,
    /// Its number: different from that of others that may be pending at a cell.
    pub(crate) id: usize,
}

impl Image {
    /// The application's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The machine that it is linked for.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// What the linker found: rates, latencies, predicted times.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The cells of the machine that take part: as many as the root task has.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.instances.first().map_or(0, |root| root.cells.len())
    }
}
