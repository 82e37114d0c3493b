//! Every request that a machine cannot meet, each with a way out.

use std::fmt;
use thiserror::Error;

/// Why an application cannot be linked.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum LinkError {
    /// A task without cells.
    #[error("task `{task}` has no cells: a task needs at least one")]
    NoCells {
        /// The task.
        task: String,
    },
    /// Something lies on a cell that its task does not have.
    #[error("task `{task}`: {what} is at cell {cell}, and the task has cells 0 to {}", cells - 1)]
    NoCell {
        /// The task.
        task: String,
        /// What lies there.
        what: String,
        /// The cell.
        cell: usize,
        /// The task's cells.
        cells: usize,
    },
    /// A connection from a cell to itself.
    #[error("task `{task}`: connection {connection} leads from cell {cell} to itself; leave it out")]
    ToItself {
        /// The task.
        task: String,
        /// The connection.
        connection: usize,
        /// The cell.
        cell: usize,
    },
    /// A reservation that is no bandwidth, or room for no message.
    #[error("task `{task}`: connection {connection}: {what}")]
    Connection {
        /// The task.
        task: String,
        /// The connection.
        connection: usize,
        /// What is wrong.
        what: String,
    },
    /// No set contains a network.
    #[error("task `{task}`: no set contains the network `{network}`, so its connections could never be used")]
    NeverActive {
        /// The task.
        task: String,
        /// The network.
        network: String,
    },
    /// Two ports or children of a task have one name.
    #[error("task `{task}` has two {what}s named `{name}`: names tell them apart")]
    Twice {
        /// The task.
        task: String,
        /// `port` or `child`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A handle of another task was used.
    #[error("task `{task}`: {what} is of another task")]
    Foreign {
        /// The task.
        task: String,
        /// What it is.
        what: String,
    },
    /// A task contains itself.
    #[error("recursion: {}; a task's depth must be known before it runs", path.join(" -> "))]
    Recursion {
        /// The tasks' names, from one to itself.
        path: Vec<String>,
    },
    /// There are too many task instances.
    #[error("more than {most} task instances: children of children multiply")]
    TooMany {
        /// The most that are linked.
        most: usize,
    },
    /// A child is given another number of cells than its task has.
    #[error("task `{parent}`: child `{child}` is given {given} cells, and its task has {cells}")]
    Cells {
        /// The parent.
        parent: String,
        /// The child.
        child: String,
        /// How many it is given.
        given: usize,
        /// How many its task has.
        cells: usize,
    },
    /// A child is given a cell that its parent does not have.
    #[error("task `{parent}`: child `{child}` is on cell {cell}, outside its parent's cells 0 to {}", cells - 1)]
    OutsideParent {
        /// The parent.
        parent: String,
        /// The child.
        child: String,
        /// The cell.
        cell: usize,
        /// The parent's cells.
        cells: usize,
    },
    /// A child is given a cell twice.
    #[error("task `{parent}`: child `{child}` is given cell {cell} twice")]
    CellTwice {
        /// The parent.
        parent: String,
        /// The child.
        child: String,
        /// The cell.
        cell: usize,
    },
    /// Two children that run at once, as connections join them, share a cell.
    #[error(
        "task `{parent}`: children `{first}` and `{second}` are joined by external connections and share \
         cell {cell}; a cell executes one of them at a time"
    )]
    Overlap {
        /// The parent.
        parent: String,
        /// A child.
        first: String,
        /// Another one.
        second: String,
        /// A cell that they share.
        cell: usize,
    },
    /// A port that does not exist.
    #[error("task `{parent}`: {of} has no port `{port}`{}", suggestion(ports))]
    NoPort {
        /// The parent.
        parent: String,
        /// Whose port.
        of: String,
        /// The port.
        port: String,
        /// Those that it has.
        ports: Vec<String>,
    },
    /// A connection leaves from an input, arrives at an output, or joins an input with an output by
    /// inheritance.
    #[error("task `{parent}`: port `{port}` of {of} is an {is}, and an {wanted} is needed here")]
    Direction {
        /// The parent.
        parent: String,
        /// Whose port.
        of: String,
        /// The port.
        port: String,
        /// `input` or `output`.
        is: &'static str,
        /// The other one.
        wanted: &'static str,
    },
    /// Ports of different types are joined.
    #[error("task `{parent}`: {first} carries `{first_type}`, and {second} carries `{second_type}`")]
    PortType {
        /// The parent.
        parent: String,
        /// A port.
        first: String,
        /// What it carries.
        first_type: &'static str,
        /// Another port.
        second: String,
        /// What it carries.
        second_type: &'static str,
    },
    /// An inherited port lies on another cell than the parent's.
    #[error(
        "task `{parent}`: port `{port}` of child `{child}` is at the parent's cell {at}, and the inherited \
         port `{inherited}` at cell {wanted}"
    )]
    PortCell {
        /// The parent.
        parent: String,
        /// The child.
        child: String,
        /// The child's port.
        port: String,
        /// The parent's cell that it lies on.
        at: usize,
        /// The parent's port.
        inherited: String,
        /// The cell of that.
        wanted: usize,
    },
    /// A port is bound to nothing.
    #[error("port `{port}` of {of} is bound to nothing: wire it to a sibling, or let it inherit a port")]
    Unbound {
        /// Whose port.
        of: String,
        /// The port.
        port: String,
    },
    /// A port is bound twice.
    #[error("task `{parent}`: port `{port}` of child `{child}` is bound twice")]
    BoundTwice {
        /// The parent.
        parent: String,
        /// The child.
        child: String,
        /// The port.
        port: String,
    },
    /// The machine has too few cells.
    #[error("the application needs {need} cells, and {target} has {have}")]
    Machine {
        /// The machine.
        target: String,
        /// Cells needed.
        need: usize,
        /// Cells there are.
        have: usize,
    },
    /// A placement that is none.
    #[error("the placement is no list of {cells} different cells of the machine: {what}")]
    Placement {
        /// The application's cells.
        cells: usize,
        /// What is wrong.
        what: String,
    },
    /// More connections at a cell than it supports.
    #[error(
        "cell {cell} of the machine would need {need} connections at once and has {have}: set `{set}` of \
         `{task}`; take fewer connections in the set, or let the linker split it"
    )]
    Slots {
        /// The machine's cell.
        cell: usize,
        /// The task.
        task: String,
        /// The set during which that is so.
        set: String,
        /// Connections needed.
        need: usize,
        /// Connections there are.
        have: usize,
    },
    /// More bandwidth is reserved than a link has.
    #[error(
        "link {link}: set `{set}` of `{task}` reserves {need:.0} bytes a second, with all that may run beside \
         it, and the link carries {have:.0}"
    )]
    Bandwidth {
        /// The link.
        link: String,
        /// The task.
        task: String,
        /// The set.
        set: String,
        /// Bytes a second reserved.
        need: f64,
        /// Bytes a second that it carries.
        have: f64,
    },
    /// Reservations leave nothing of a link to a connection without one.
    #[error(
        "link {link} is reserved wholly, and connection {connection} of set `{set}` of `{task}` passes it \
         without a reservation; reserve some for it, or less for the others"
    )]
    Starved {
        /// The link.
        link: String,
        /// The task.
        task: String,
        /// The set.
        set: String,
        /// The connection.
        connection: usize,
    },
    /// More barriers may be pending at a cell than it supports.
    #[error(
        "{need} barriers may be pending at cell {cell} of the machine, which has {have}: nest fewer tasks"
    )]
    Barriers {
        /// The machine's cell.
        cell: usize,
        /// Barriers needed.
        need: usize,
        /// Barriers there are.
        have: usize,
    },
    /// The barrier asked for cannot be had.
    #[error("a {algorithm} barrier of {members} cells: {what}")]
    Algorithm {
        /// The algorithm.
        algorithm: String,
        /// Its members.
        members: usize,
        /// Why not.
        what: String,
    },
}

fn suggestion(ports: &[String]) -> String {
    match ports {
        [] => "; it has none".to_owned(),
        _ => format!("; it has `{}`", ports.join("`, `")),
    }
}

/// All that is impossible about an application, at once.
#[derive(Clone, Debug, PartialEq, Error)]
pub struct LinkErrors(pub(crate) Vec<LinkError>);

impl LinkErrors {
    /// The errors; at least one.
    #[must_use]
    pub fn all(&self) -> &[LinkError] {
        &self.0
    }
}

impl fmt::Display for LinkErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl From<LinkErrors> for strata_runtime::Error {
    fn from(errors: LinkErrors) -> Self {
        Self::program(errors)
    }
}
