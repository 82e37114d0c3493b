//! What the linker found, for people and programs.

mod drawing;
mod text;

use crate::describe::App;
use crate::link::{Image, Instance, Linked, Part};
use crate::run::switch::Mode;
use crate::shape::{Path, Shape};
use serde::Serialize;

/// What the linker found: for each set its connections with guaranteed rates and latencies, for
/// each task the predicted times of start, switch and end, and the barriers.
///
/// `Display` is a table; [`json`](Self::json) is for programs, [`svg`](Self::svg) for eyes. Times
/// are in clocks of the machine, rates in bytes a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The application.
    pub application: String,
    /// The machine.
    pub target: String,
    /// Clocks in a microsecond.
    pub mhz: f64,
    /// Bytes a second of a link.
    pub link_rate: f64,
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
    /// The names of the children that lead to it, from the root on.
    pub task: String,
    /// The machine's cells, by the task's.
    pub cells: Vec<usize>,
    /// Clocks of its start; the root has none.
    pub start: Option<f64>,
    /// Clocks of a switch to any of its sets.
    pub switch: f64,
    /// Clocks of its end; the root has none.
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
    /// Which part, from 0.
    pub part: usize,
    /// How many parts the set has.
    pub parts: usize,
    /// The most connections on one link, whatever runs beside the task.
    pub congestion: usize,
    /// Its connections.
    pub connections: Vec<ConnectionReport>,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ConnectionReport {
    /// The machine's cell that it leaves.
    pub from: usize,
    /// The machine's cell that it leads to.
    pub to: usize,
    /// The type of its messages.
    pub carries: &'static str,
    /// Steps from cell to cell.
    pub hops: usize,
    /// The cells on its way, both ends included.
    pub cells: Vec<usize>,
    /// Connections on its busiest link, itself included.
    pub congestion: usize,
    /// Bytes a second that it is guaranteed: what is to be taken as throttle, too.
    pub rate: f64,
    /// Whether that is a reservation.
    pub reserved: bool,
    /// Clocks of an empty message.
    pub latency: f64,
    /// Bytes that may be under way before the sender waits.
    pub depth: usize,
    #[serde(skip)]
    pub(crate) links: Vec<usize>,
}

/// A barrier.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BarrierReport {
    /// Its number: different from that of others that may be pending at one of its cells.
    pub id: usize,
    /// The machine's cells, neighbours one after the other.
    pub cells: Vec<usize>,
    /// How it is done.
    pub algorithm: String,
    /// Its messages.
    pub messages: usize,
    /// Its time in clocks.
    pub clocks: f64,
}

impl Report {
    pub(crate) fn new(app: &App, image: &Image) -> Self {
        let target = &image.target;
        let barriers = image.barriers.iter().map(|barrier| BarrierReport {
            id: barrier.id,
            cells: barrier.cells.clone(),
            algorithm: barrier.algorithm.to_string(),
            messages: barrier.schedule.messages(),
            clocks: barrier.clocks,
        });
        Self {
            application: app.name().to_owned(),
            target: target.name.clone(),
            mhz: target.mhz,
            link_rate: target.link_bandwidth(),
            tasks: image.instances.iter().map(|instance| task(image, instance)).collect(),
            barriers: barriers.collect(),
            machine: Some((target.shape, target.cells)),
        }
    }

    /// All connections: of each set of each task, and external ones.
    pub fn connections(&self) -> impl Iterator<Item = &ConnectionReport> {
        self.tasks
            .iter()
            .flat_map(|task| task.sets.iter().flat_map(|set| &set.connections).chain(&task.external))
    }

    /// The task of this name: as in [`TaskReport::task`].
    #[must_use]
    pub fn task(&self, name: &str) -> Option<&TaskReport> {
        self.tasks.iter().find(|task| task.task == name)
    }

    /// The report for programs.
    #[must_use]
    pub fn json(&self) -> String {
        // Numbers, text and lists only: there is nothing that could fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// A picture of the machine with the load of every link: of one set of a task, in all its
    /// parts, or of the greatest of all sets if none is named. `None` if there is no such set.
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
            connections: of_part(image, part),
        })
    });
    let external = instance.wires.iter().filter_map(|wire| {
        let linked = &image.connections[*wire];
        let path = linked.path.as_ref()?;
        Some(connection(image, linked, path, linked.guarantee.rate, linked.guarantee.congestion))
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
        .map(|((index, path), guarantee)| {
            connection(image, &image.connections[*index], path, guarantee.rate, guarantee.congestion)
        })
        .collect()
}

fn connection(image: &Image, linked: &Linked, path: &Path, rate: f64, congestion: usize) -> ConnectionReport {
    let target = &image.target;
    ConnectionReport {
        from: linked.from,
        to: linked.to,
        carries: linked.kind.name,
        hops: path.hops(),
        cells: path.cells.clone(),
        congestion,
        rate: rate * target.mhz * 1e6,
        reserved: linked.rate.is_some(),
        latency: target.transfer(0, path.hops(), target.link_rate),
        depth: linked.depth,
        links: path.links.clone(),
    }
}

impl Image {
    /// Clocks of a switch of the cells of a barrier: the barriers around what is changed (Warfel
    /// 1996, §5.2), or one message between neighbours.
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

    /// Clocks of a task's start: it switches its whole component (§5.3).
    pub(crate) fn start_clocks(&self, instance: &Instance) -> f64 {
        let mode = if self.switch == Mode::Neighbour { Mode::Single } else { self.switch };
        self.target.task_change + self.switch_by(mode, instance.component)
    }

    /// Clocks of a task's end (§5.4).
    pub(crate) fn end_clocks(&self, instance: &Instance) -> f64 {
        self.target.restore + self.barriers[instance.component].clocks
    }
}
