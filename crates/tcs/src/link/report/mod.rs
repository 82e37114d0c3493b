//! The linker's report, for people and programs.

mod drawing;
mod text;

use super::{Guarantee, Image, Instance, Linked, Part};
use crate::describe::App;
use crate::shape::{Path, Shape};
use crate::switch::Mode;
use crate::target::Sure;
use serde::Serialize;

/// The linker's report: each set's connections with guaranteed rates and latencies, each task's
/// predicted times of start, switch and end, and the barriers.
///
/// `Display` prints a table; [`json`](Self::json) is for programs, [`svg`](Self::svg) is a picture.
/// Times are in cycles of the machine, rates in bytes a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The application.
    pub application: String,
    /// The machine.
    pub target: String,
    /// Cycles per microsecond.
    pub mhz: f64,
    /// Bandwidth of a link in bytes a second; `None` if it is not known.
    pub link_rate: Option<f64>,
    /// How sure that is.
    pub sure: Sure,
    /// The tasks, parents before children.
    pub tasks: Vec<TaskReport>,
    /// The barriers.
    pub barriers: Vec<BarrierReport>,
    #[serde(skip)]
    pub(crate) machine: Option<(Shape, usize)>,
}

/// A task on its cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TaskReport {
    /// The names of the children on the path from the root to the task.
    pub task: String,
    /// The machine's cells, by the task's.
    pub cells: Vec<usize>,
    /// Cycles of its start; `None` for the root.
    pub start: Option<f64>,
    /// Cycles of a switch to any of its sets.
    pub switch: f64,
    /// Cycles of its end; `None` for the root.
    pub end: Option<f64>,
    /// Its sets; a set that the linker has split has several entries.
    pub sets: Vec<SetReport>,
    /// External connections between its children.
    pub external: Vec<ConnectionReport>,
}

/// A set, or a part of one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SetReport {
    /// Its name.
    pub set: String,
    /// The part's number, from 0.
    pub part: usize,
    /// Number of parts of the set.
    pub parts: usize,
    /// The most connections on one link, including all that may run beside the task.
    pub congestion: usize,
    /// The most connections that share the [turns](crate::Target::shared_turns) in one cell: where this
    /// is above 1, a connection is to be fed at this part of a link's bandwidth at most.
    pub throttle: usize,
    /// Its connections.
    pub connections: Vec<ConnectionReport>,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ConnectionReport {
    /// The machine's cell of its sender.
    pub from: usize,
    /// The machine's cell of its receiver.
    pub to: usize,
    /// The type of its messages, by name.
    pub carries: &'static str,
    /// Number of links between cells.
    pub hops: usize,
    /// The cells on its path, both ends included.
    pub cells: Vec<usize>,
    /// Connections on its busiest link, itself included.
    pub congestion: usize,
    /// Guaranteed rate in bytes a second; `None` if the machine guarantees nothing. A reservation holds
    /// for messages of at least `shortest` bytes.
    pub rate: Option<f64>,
    /// Bytes of the shortest message: one element, if the description says nothing else.
    pub shortest: usize,
    /// True if the rate is a reservation.
    pub reserved: bool,
    /// Cycles of an empty message.
    pub latency: f64,
    /// Cycles after which a message has come at the latest, with all that may be under way before it
    /// (`depth`), if its sender keeps to the reservation; `None` if the machine guarantees nothing.
    pub bound: Option<f64>,
    /// Buffer capacity: bytes under way before the sender waits.
    pub depth: usize,
    #[serde(skip)]
    pub(crate) links: Vec<usize>,
}

/// A barrier.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BarrierReport {
    /// Its number; barriers that may be pending at one cell have different numbers.
    pub id: usize,
    /// The machine's cells, in an order that puts neighbours next to each other.
    pub cells: Vec<usize>,
    /// Its algorithm.
    pub algorithm: String,
    /// The signal that it uses; `None`: the machine's barrier messages.
    pub signal: Option<String>,
    /// Number of its messages; what a channel tells all cells at once is one.
    pub messages: usize,
    /// Its time in cycles.
    pub clocks: f64,
}

impl Report {
    pub(crate) fn new(app: &App, image: &Image) -> Self {
        let target = &image.target;
        let barriers = image.barriers.iter().map(|barrier| BarrierReport {
            id: barrier.id,
            cells: barrier.cells.clone(),
            algorithm: barrier.algorithm.to_string(),
            signal: barrier.signal.clone(),
            messages: barrier.algorithm.transmissions(&barrier.schedule),
            clocks: barrier.clocks,
        });
        Self {
            application: app.name().to_owned(),
            target: target.name.clone(),
            mhz: target.mhz,
            link_rate: target.link_bandwidth(),
            sure: target.sure,
            tasks: image.instances.iter().map(|instance| task(image, instance)).collect(),
            barriers: barriers.collect(),
            machine: Some((target.shape, target.cells)),
        }
    }

    /// All connections: those of each set of each task, and the external ones.
    pub fn connections(&self) -> impl Iterator<Item = &ConnectionReport> {
        self.tasks
            .iter()
            .flat_map(|task| task.sets.iter().flat_map(|set| &set.connections).chain(&task.external))
    }

    /// The task of this name, as in [`TaskReport::task`].
    #[must_use]
    pub fn task(&self, name: &str) -> Option<&TaskReport> {
        self.tasks.iter().find(|task| task.task == name)
    }

    /// The report as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        // Numbers, text and lists only, so that serialization cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// A picture of the machine with the load of every link: of one set of a task with all its
    /// parts, or the maximum over all sets if none is named. `None` if there is no such set.
    #[must_use]
    pub fn svg(&self, set: Option<(&str, &str)>) -> Option<String> {
        drawing::svg(self, set)
    }
}

impl TaskReport {
    /// The parts of the set of this name.
    pub fn set<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a SetReport> {
        self.sets.iter().filter(move |set| set.set == name)
    }
}

fn task(image: &Image, instance: &Instance) -> TaskReport {
    let child = instance.parent.is_some();
    let sets = instance.sets.iter().flat_map(|set| {
        let parts = set.parts.len();
        set.parts.iter().enumerate().map(move |(at, part)| SetReport {
            set: set.name.clone(),
            part: at,
            parts,
            congestion: part.guaranteed.iter().map(|guarantee| guarantee.congestion).max().unwrap_or(0),
            throttle: part.guaranteed.iter().map(|guarantee| guarantee.throttle).max().unwrap_or(1),
            connections: of_part(image, part),
        })
    });
    let external = instance.wires.iter().filter_map(|wire| {
        let linked = &image.connections[*wire];
        let path = linked.path.as_ref()?;
        Some(connection(image, linked, path, &linked.guarantee))
    });
    TaskReport {
        task: instance.path.clone(),
        cells: instance.cells.clone(),
        start: child.then(|| image.start_clocks(instance)),
        switch: image.switch_clocks(instance.own),
        end: child.then(|| image.end_clocks(instance)),
        sets: sets.collect(),
        external: external.collect(),
    }
}

fn of_part(image: &Image, part: &Part) -> Vec<ConnectionReport> {
    let connections = part.connections.iter().zip(&part.guaranteed);
    connections
        .map(|((index, path), guarantee)| connection(image, &image.connections[*index], path, guarantee))
        .collect()
}

fn connection(image: &Image, linked: &Linked, path: &Path, guarantee: &Guarantee) -> ConnectionReport {
    let target = &image.target;
    ConnectionReport {
        from: linked.from,
        to: linked.to,
        carries: linked.kind.name.text(),
        hops: path.hops(),
        cells: path.cells.clone(),
        congestion: guarantee.congestion,
        rate: guarantee.rate.filter(|_| target.guarantees()).map(|rate| rate * target.mhz * 1e6),
        shortest: linked.shortest,
        reserved: linked.rate.is_some(),
        latency: target.transfer(0, path.hops(), 1.0),
        bound: guarantee.bound,
        depth: linked.depth,
        links: path.links.iter().copied().filter(|link| *link < target.shape.links(target.cells)).collect(),
    }
}

impl Image {
    /// Cycles of a switch by the cells of a barrier: the barriers around the change (Warfel 1996,
    /// §5.2), or one message between neighbours.
    pub(crate) fn switch_clocks(&self, barrier: usize) -> f64 {
        self.switch_by(self.switch, barrier)
    }

    fn switch_by(&self, mode: Mode, barrier: usize) -> f64 {
        if self.barriers[barrier].cells.len() < 2 {
            return 0.0;
        }
        let costs = &self.target.barrier;
        let told =
            if self.switch == Mode::Neighbour { costs.send + costs.latency + costs.receive } else { 0.0 };
        self.target.reconfigure + mode.barriers() as f64 * self.barriers[barrier].clocks + told
    }

    /// Cycles of a task's start, which switches its whole component (§5.3).
    pub(crate) fn start_clocks(&self, instance: &Instance) -> f64 {
        let mode = if self.switch == Mode::Neighbour { Mode::Single } else { self.switch };
        self.target.task_change + self.switch_by(mode, instance.component)
    }

    /// Cycles of a task's end (§5.4).
    pub(crate) fn end_clocks(&self, instance: &Instance) -> f64 {
        self.target.restore + self.barriers[instance.component].clocks
    }
}
