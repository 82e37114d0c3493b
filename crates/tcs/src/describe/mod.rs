//! Descriptions of applications: pure data, checked by [`link`](crate::link()).
//!
//! Describing never fails: the linker reports all errors at once. Types exclude errors where they
//! can: a connection belongs to one network (Warfel 1996, §2.1) and has one message type, and it
//! can be named only in sets that contain its network.

mod handles;
mod name;
mod tags;

pub use handles::{Child, Connection, Input, Output, Reservable, TaskId, Wire};
pub(crate) use name::Name;
pub use tags::{Contains, Network, Set, Tag};

use crate::shape::Path;
use bytemuck::Pod;
use handles::sealed::Place;
use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut};

/// An application: tasks, one of which contains all others as its children.
///
/// ```
/// use strata_tcs::{App, Target, link};
/// strata_tcs::communication! {
///     networks { Line }
///     sets { Shift: Line; }
/// }
/// let mut app = App::new("line");
/// let root = app.task("line", 4);
/// let next: Vec<_> = (0..3).map(|cell| app[root].connect::<f64, Line>(cell, cell + 1)).collect();
/// app[root].set::<Shift>();
/// let image = link(&app, root, &Target::crossbar(4)).map_err(|errors| errors.to_string())?;
/// assert_eq!(image.report().connections().count(), next.len());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct App {
    name: String,
    tasks: Vec<Task>,
}

/// A task's definition: cells, connections in networks, connection sets, external ports, children,
/// and the external connections between the children.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    id: TaskId,
    pub(crate) name: String,
    pub(crate) cells: usize,
    pub(crate) networks: Vec<NetworkOf>,
    pub(crate) connections: Vec<Described>,
    pub(crate) sets: Vec<SetOf>,
    pub(crate) ports: Vec<Port>,
    pub(crate) children: Vec<ChildOf>,
    pub(crate) wires: Vec<WireOf>,
    /// Uses of handles of other tasks; each becomes an error.
    pub(crate) foreign: Vec<String>,
    /// True if the task's patterns also send ordinary messages.
    pub(crate) messages: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NetworkOf {
    pub(crate) tag: Tag,
    pub(crate) index: usize,
}

/// The type of the messages of a connection or port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kind {
    pub(crate) name: Name,
    pub(crate) size: usize,
}

impl Kind {
    fn of<T>() -> Self {
        Self { name: Name::of::<T>(), size: size_of::<T>() }
    }
}

/// An internal connection of a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Described {
    pub(crate) network: usize,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) kind: Kind,
    /// Reserved bandwidth in bytes a second.
    pub(crate) rate: Option<f64>,
    /// Buffer capacity: the most bytes under way.
    pub(crate) depth: usize,
    /// Bytes of its shortest message; `None`: of one element.
    #[serde(default)]
    pub(crate) shortest: Option<usize>,
    /// The preferred path, used if the machine has it.
    pub(crate) path: Option<Path>,
}

/// A connection set of a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SetOf {
    pub(crate) tag: Name,
    pub(crate) name: Name,
    pub(crate) index: usize,
    pub(crate) networks: Vec<Tag>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) cell: usize,
    pub(crate) kind: Kind,
    pub(crate) inward: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ChildOf {
    pub(crate) name: String,
    pub(crate) task: TaskId,
    pub(crate) at: Vec<usize>,
    /// Inherited ports: the child's name of a port and the parent's.
    pub(crate) inherited: Vec<(String, String)>,
}

/// An external connection between two children.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WireOf {
    pub(crate) from: (usize, String),
    pub(crate) to: (usize, String),
    /// Reserved bandwidth in bytes a second.
    pub(crate) rate: Option<f64>,
    pub(crate) depth: usize,
    /// Bytes of its shortest message; `None`: of one element.
    #[serde(default)]
    pub(crate) shortest: Option<usize>,
}

/// Default buffer capacity of a connection, in bytes.
pub const USUAL_DEPTH: usize = 4096;

impl App {
    /// An application without tasks.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), tasks: Vec::new() }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A new task of `cells` cells, numbered from 0. It is completed through `app[task]`.
    pub fn task(&mut self, name: impl Into<String>, cells: usize) -> TaskId {
        let id = TaskId(self.tasks.len());
        self.tasks.push(Task {
            id,
            name: name.into(),
            cells,
            networks: Vec::new(),
            connections: Vec::new(),
            sets: Vec::new(),
            ports: Vec::new(),
            children: Vec::new(),
            wires: Vec::new(),
            foreign: Vec::new(),
            messages: false,
        });
        id
    }

    /// True if any task sends ordinary messages besides its connections.
    pub(crate) fn has_messages(&self) -> bool {
        self.tasks.iter().any(|task| task.messages)
    }

    /// Reserved rates that are not finite, in words. In a file such a number would be none.
    pub(crate) fn endless_rates(&self) -> Vec<String> {
        let rates = self.tasks.iter().flat_map(|task| {
            let connections = task.connections.iter().map(|connection| connection.rate);
            connections.chain(task.wires.iter().map(|wire| wire.rate)).map(|rate| (&task.name, rate))
        });
        let endless = rates.filter_map(|(name, rate)| Some((name, rate.filter(|rate| !rate.is_finite())?)));
        endless
            .map(|(name, rate)| format!("task `{name}`: a connection reserves {rate} bytes a second"))
            .collect()
    }

    /// What cannot be in a description, in words: numbers of things that are not there. Programs
    /// cannot write such ones; files can have them.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (number, task) in self.tasks.iter().enumerate() {
            let mut none = |what: &str, at: usize, kind: &str, of: usize, have: usize| {
                if of >= have {
                    let name = &task.name;
                    faults
                        .push(format!("task `{name}`: {what} {at} names {kind} {of}, and there are {have}"));
                }
            };
            none("the entry", number, "task", task.id.0, self.tasks.len());
            for (at, connection) in task.connections.iter().enumerate() {
                none("connection", at, "network", connection.network, task.networks.len());
            }
            for (at, child) in task.children.iter().enumerate() {
                none("child", at, "task", child.task.0, self.tasks.len());
            }
            for (at, wire) in task.wires.iter().enumerate() {
                for end in [wire.from.0, wire.to.0] {
                    none("external connection", at, "child", end, task.children.len());
                }
            }
            if task.id.0 != number && task.id.0 < self.tasks.len() {
                faults.push(format!("task `{}` is number {number} and has number {}", task.name, task.id.0));
            }
            let paths = task.connections.iter().filter_map(|connection| connection.path.as_ref());
            if paths.into_iter().any(|path| path.cells.is_empty()) {
                faults.push(format!("task `{}`: a path without cells", task.name));
            }
        }
        faults
    }

    pub(crate) fn tasks(&self) -> &[Task] {
        &self.tasks
    }
}

impl Index<TaskId> for App {
    type Output = Task;
    /// # Panics
    /// Panics if the task belongs to another application that has more tasks.
    fn index(&self, task: TaskId) -> &Task {
        &self.tasks[task.0]
    }
}

impl IndexMut<TaskId> for App {
    fn index_mut(&mut self, task: TaskId) -> &mut Task {
        &mut self.tasks[task.0]
    }
}

impl Task {
    /// The task's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of its cells.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// A connection of network `N` from one cell of the task to another. Messages arrive in the
    /// order sent.
    pub fn connect<T: Pod, N: Network>(&mut self, from: usize, to: usize) -> Connection<T, N> {
        self.connect_in(0, from, to)
    }

    /// As [`connect`](Self::connect), in network number `index` of the family `N`: for patterns of
    /// many phases, whose networks differ only by a number.
    pub fn connect_in<T: Pod, N: Network>(
        &mut self,
        index: usize,
        from: usize,
        to: usize,
    ) -> Connection<T, N> {
        let network = NetworkOf { tag: Tag::of::<N>(), index };
        let network = self.networks.iter().position(|other| *other == network).unwrap_or_else(|| {
            self.networks.push(network);
            self.networks.len() - 1
        });
        let kind = Kind::of::<T>();
        self.connections.push(Described {
            network,
            from,
            to,
            kind,
            rate: None,
            depth: USUAL_DEPTH,
            shortest: None,
            path: None,
        });
        Connection::new(self.id, self.connections.len() - 1)
    }

    /// Reserves bandwidth for an internal or external connection, in bytes a second of messages
    /// that are not shorter than the [shortest](Self::shortest). Linking fails if the reservations
    /// do not fit, or if what the machine's links carry is not known.
    ///
    /// A reservation is a floor: the connection also uses what others leave. Its
    /// [greatest delay](crate::report::ConnectionReport::bound) holds for a sender that sends no more
    /// than the reservation, and its buffer's capacity at once. With `STRATA_CHECK=1` a sender that
    /// exceeds it ends the job with an error.
    ///
    /// ```
    /// use strata_tcs::{App, Target, link};
    /// let mut app = App::new("film");
    /// let root = app.task("film", 2);
    /// let (camera, screen) = (app.task("camera", 1), app.task("screen", 1));
    /// app[camera].output::<u64>("signal", 0);
    /// app[screen].input::<u64>("signal", 0);
    /// let camera = app[root].child("camera", camera, &[0]);
    /// let screen = app[root].child("screen", screen, &[1]);
    /// let signal = app[root].wire(camera, "signal", screen, "signal");
    /// app[root].reserve(signal, 5e6);
    /// let image = link(&app, root, &Target::iwarp(2, 1))?;
    /// assert!(image.report().connections().all(|signal| signal.reserved && signal.rate == Some(5e6)));
    /// # Ok::<(), strata_tcs::LinkErrors>(())
    /// ```
    pub fn reserve(&mut self, connection: impl Reservable, rate: f64) {
        if let Some((reserved, ..)) = self.own(connection) {
            *reserved = Some(rate);
        }
    }

    /// Sets the buffer capacity of an internal or external connection: the bytes under way before
    /// its sender waits. Initially [`USUAL_DEPTH`].
    pub fn depth(&mut self, connection: impl Reservable, bytes: usize) {
        if let Some((_, depth, _)) = self.own(connection) {
            *depth = bytes;
        }
    }

    /// Says how long the messages of a connection are at least, in bytes; initially one element. Every
    /// message takes time of its own, so a reservation of short ones takes more of the machine.
    pub fn shortest(&mut self, connection: impl Reservable, bytes: usize) {
        if let Some((.., shortest)) = self.own(connection) {
            *shortest = Some(bytes);
        }
    }

    /// Sets a connection's preferred path, used if it is one of the paths that the linker
    /// considers. For patterns whose schedule includes the paths.
    pub fn prefer<T, N: Network>(&mut self, connection: Connection<T, N>, path: Path) {
        if connection.task != self.id {
            self.foreign.push(format!("{connection:?}"));
        } else if let Some(described) = self.connections.get_mut(connection.index) {
            described.path = Some(path);
        }
    }

    /// The reservation, the buffer capacity and the shortest message of a connection.
    fn own(
        &mut self,
        connection: impl Reservable,
    ) -> Option<(&mut Option<f64>, &mut usize, &mut Option<usize>)> {
        match connection.place() {
            (task, _) if task != self.id => {
                self.foreign.push(format!("{connection:?}"));
                None
            }
            (_, Place::Internal(index)) => {
                self.connections.get_mut(index).map(|of| (&mut of.rate, &mut of.depth, &mut of.shortest))
            }
            (_, Place::External(index)) => {
                self.wires.get_mut(index).map(|of| (&mut of.rate, &mut of.depth, &mut of.shortest))
            }
        }
    }

    /// Declares the set `S` with the networks of its type.
    pub fn set<S: Set>(&mut self) {
        self.set_in::<S>(0);
    }

    /// Declares set number `index` of the family `S`. The set contains network number `index` of
    /// each of its tags, or number 0 if there is no such network.
    pub fn set_in<S: Set>(&mut self, index: usize) {
        let tag = Name::declared::<S>();
        if !self.sets.iter().any(|set| set.tag == tag && set.index == index) {
            self.sets.push(SetOf { tag, name: Name::new(S::NAME), index, networks: S::networks() });
        }
    }

    /// The first number after all declared sets of the family `S`.
    pub(crate) fn unused<S: Set>(&self) -> usize {
        let tag = Name::declared::<S>();
        let used = self.sets.iter().filter(|set| set.tag == tag).map(|set| set.index + 1);
        used.max().unwrap_or(0)
    }

    /// Records that the task's patterns also send ordinary messages.
    pub(crate) fn use_messages(&mut self) {
        self.messages = true;
    }

    /// An external port of a cell that receives `T`, while the task runs and whichever set is
    /// active.
    pub fn input<T: Pod>(&mut self, name: impl Into<String>, cell: usize) -> Input<T> {
        Input::new(self.id, self.port(name.into(), cell, Kind::of::<T>(), true))
    }

    /// An external port of a cell that sends `T`.
    pub fn output<T: Pod>(&mut self, name: impl Into<String>, cell: usize) -> Output<T> {
        Output::new(self.id, self.port(name.into(), cell, Kind::of::<T>(), false))
    }

    fn port(&mut self, name: String, cell: usize, kind: Kind, inward: bool) -> usize {
        self.ports.push(Port { name, cell, kind, inward });
        self.ports.len() - 1
    }

    /// Adds a child: `task` on the cells `at` of this task, in this order.
    ///
    /// Children that share cells run one after the other; others may run at once.
    pub fn child(&mut self, name: impl Into<String>, task: TaskId, at: &[usize]) -> Child {
        self.children.push(ChildOf { name: name.into(), task, at: at.to_vec(), inherited: Vec::new() });
        Child { parent: self.id, index: self.children.len() - 1 }
    }

    /// Lets a child use this task's external port `parents` as its own port `port`.
    pub fn inherit(&mut self, child: Child, port: impl Into<String>, parents: impl Into<String>) {
        if child.parent != self.id {
            self.foreign.push(format!("child {} of task {}", child.index, child.parent.0));
        } else if let Some(child) = self.children.get_mut(child.index) {
            child.inherited.push((port.into(), parents.into()));
        }
    }

    /// An external connection from a port of one child to a port of another one.
    pub fn wire(
        &mut self,
        from: Child,
        output: impl Into<String>,
        to: Child,
        input: impl Into<String>,
    ) -> Wire {
        for child in [from, to].into_iter().filter(|child| child.parent != self.id) {
            self.foreign.push(format!("child {} of task {}", child.index, child.parent.0));
        }
        let (from, to) = ((from.index, output.into()), (to.index, input.into()));
        self.wires.push(WireOf { from, to, rate: None, depth: USUAL_DEPTH, shortest: None });
        Wire { parent: self.id, index: self.wires.len() - 1 }
    }
}
