//! The linker's output: everything that a cell needs at run time.

use super::report::Report;
use crate::barrier::{Algorithm, Costs, Schedule};
use crate::describe::{Kind, Name, TaskId};
use crate::shape::Path;
use crate::switch::Mode;
use crate::target::Target;
use serde::{Deserialize, Serialize};

/// A linked application: the tasks of each cell, the connections with their paths and rates, the
/// barriers with their schedules.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Image {
    pub(crate) name: String,
    pub(crate) target: Target,
    /// Instances, parents before children; the root is the first.
    pub(crate) instances: Vec<Instance>,
    pub(crate) connections: Vec<Linked>,
    pub(crate) barriers: Vec<Membership>,
    pub(crate) switch: Mode,
    /// True if ordinary messages are sent besides connections.
    pub(crate) messages: bool,
    /// The digest of the [description](crate::Description) that was linked; empty if it was not one.
    #[serde(skip)]
    pub(crate) description: String,
    /// Made anew where an image is read.
    #[serde(skip)]
    pub(crate) report: Report,
}

/// A task on its cells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Instance {
    pub(crate) task: TaskId,
    /// The names of the children on the path to the instance.
    pub(crate) path: String,
    pub(crate) parent: Option<usize>,
    /// The machine's cells, by the task's.
    pub(crate) cells: Vec<usize>,
    pub(crate) children: Vec<usize>,
    pub(crate) ports: Vec<usize>,
    /// Index of the task's first connection.
    pub(crate) first: usize,
    pub(crate) sets: Vec<SetImage>,
    /// The external connections between its children.
    pub(crate) wires: Vec<usize>,
    /// The barrier of its cells.
    pub(crate) own: usize,
    /// The barrier of its connected component, for start and end.
    pub(crate) component: usize,
    /// The first instance of its connected component.
    pub(crate) together: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SetImage {
    pub(crate) tag: Name,
    pub(crate) name: String,
    pub(crate) index: usize,
    /// The parts of the set: several if the linker has split it.
    pub(crate) parts: Vec<Part>,
}

/// Connections of a set that are active at once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Part {
    /// Indices of connections of the image, with their paths.
    pub(crate) connections: Vec<(usize, Path)>,
    pub(crate) guaranteed: Vec<Guarantee>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Guarantee {
    /// Rate in bytes a cycle; `None` if the rates of the machine's links are not known.
    pub(crate) rate: Option<f64>,
    /// Bytes a cycle of its links that are its own.
    pub(crate) share: Option<f64>,
    /// Cycles after which a message has come at the latest, with all that may be under way before it.
    pub(crate) bound: Option<f64>,
    /// Number of connections on its busiest link, itself included.
    pub(crate) congestion: usize,
    /// Likewise in the busiest cell that it passes through, where one of them turns.
    #[serde(default)]
    pub(crate) throttle: usize,
}

/// A connection between two cells of the machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Linked {
    /// Its name in messages: an internal connection's network, cells and task, or an external
    /// one's ports.
    pub(crate) name: String,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) kind: Kind,
    /// Reserved bytes a second.
    pub(crate) rate: Option<f64>,
    /// Bytes a second of a link that are set aside for it: what its messages take besides their bytes
    /// is in it.
    pub(crate) charged: Option<f64>,
    /// Bytes of its shortest message.
    pub(crate) shortest: usize,
    pub(crate) depth: usize,
    /// For an external connection, its path. For an internal one, the preferred path: its actual
    /// path depends on the set.
    pub(crate) path: Option<Path>,
    pub(crate) guarantee: Guarantee,
}

/// A barrier and the cells that take part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Membership {
    /// The machine's cells, in an order that puts neighbours next to each other.
    pub(crate) cells: Vec<usize>,
    pub(crate) algorithm: Algorithm,
    pub(crate) schedule: Schedule,
    /// The costs of its messages.
    pub(crate) costs: Costs,
    /// The signal that it uses; `None`: the machine's barrier messages.
    pub(crate) signal: Option<String>,
    /// Cycles that it takes besides its schedule.
    pub(crate) more: f64,
    /// Its time in cycles.
    pub(crate) clocks: f64,
    /// Its number; barriers of one signal that may be pending at one cell have different numbers.
    pub(crate) id: usize,
}

impl Image {
    /// The application's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The machine that it was linked for.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The linker's report: rates, latencies, predicted times.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The number of the machine's cells that take part: that of the root task's cells.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.instances.first().map_or(0, |root| root.cells.len())
    }
}
