//! The errors of linking: every request that a machine cannot meet, each with a way out.

use std::fmt;
use thiserror::Error;

/// Why an application cannot be linked.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum LinkError {
    /// A task has no cells.
    #[error("task `{task}` has no cells: a task needs at least one")]
    NoCells {
        /// The task.
        task: String,
    },
    /// The machine is described wrongly.
    #[error("machine `{target}`: {what}")]
    Target {
        /// The machine's name.
        target: String,
        /// What is wrong.
        what: String,
    },
    /// A thing is placed on a cell that its task does not have.
    #[error("task `{task}`: {what} is at cell {cell}, and the task has cells 0 to {}", cells - 1)]
    NoCell {
        /// The task.
        task: String,
        /// The misplaced thing.
        what: String,
        /// The cell.
        cell: usize,
        /// Number of the task's cells.
        cells: usize,
    },
    /// A connection joins a cell to itself.
    #[error("task `{task}`: connection {connection} leads from cell {cell} to itself; leave it out")]
    ToItself {
        /// The task.
        task: String,
        /// The connection.
        connection: usize,
        /// The cell.
        cell: usize,
    },
    /// The reservation of a connection is not a bandwidth, or its buffer is too small for a
    /// message.
    #[error("task `{task}`: connection {connection}: {what}")]
    Connection {
        /// The task.
        task: String,
        /// The connection.
        connection: usize,
        /// What is wrong.
        what: String,
    },
    /// An external connection is no better, or nothing of a link is left for it.
    #[error("task `{task}`: external connection {wire}: {what}")]
    External {
        /// The task of the children that it joins.
        task: String,
        /// The external connection, in the order of the calls of `wire`.
        wire: usize,
        /// What is wrong.
        what: String,
    },
    /// A network is in no set.
    #[error("task `{task}`: no set contains the network `{network}`, so its connections could never be used")]
    NeverActive {
        /// The task.
        task: String,
        /// The network.
        network: String,
    },
    /// Two ports or children of a task have the same name.
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
        /// The use of the handle.
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
        /// The limit on task instances.
        most: usize,
    },
    /// A child is given a number of cells that differs from its task's.
    #[error("task `{parent}`: child `{child}` is given {given} cells, and its task has {cells}")]
    Cells {
        /// The parent.
        parent: String,
        /// The child.
        child: String,
        /// Number of cells given.
        given: usize,
        /// Number of cells of its task.
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
    /// Two children that external connections join, so that they run at once, share a cell.
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
        /// The shared cell.
        cell: usize,
    },
    /// A named port does not exist.
    #[error("task `{parent}`: {of} has no port `{port}`{}", suggestion(ports))]
    NoPort {
        /// The parent.
        parent: String,
        /// The owner of the port.
        of: String,
        /// The port.
        port: String,
        /// The ports that exist.
        ports: Vec<String>,
    },
    /// A connection leaves from an input, arrives at an output, or inheritance joins an input with
    /// an output.
    #[error("task `{parent}`: port `{port}` of {of} is an {is}, and an {wanted} is needed here")]
    Direction {
        /// The parent.
        parent: String,
        /// The owner of the port.
        of: String,
        /// The port.
        port: String,
        /// `input` or `output`.
        is: &'static str,
        /// The direction needed.
        wanted: &'static str,
    },
    /// Two joined ports have different types.
    #[error("task `{parent}`: {first} carries `{first_type}`, and {second} carries `{second_type}`")]
    PortType {
        /// The parent.
        parent: String,
        /// A port.
        first: String,
        /// Its message type.
        first_type: &'static str,
        /// Another port.
        second: String,
        /// Its message type.
        second_type: &'static str,
    },
    /// An inherited port is on a different cell than the parent's port.
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
        /// The parent's cell of the child's port.
        at: usize,
        /// The parent's port.
        inherited: String,
        /// The cell of the parent's port.
        wanted: usize,
    },
    /// A port is not bound.
    #[error("port `{port}` of {of} is bound to nothing: wire it to a sibling, or let it inherit a port")]
    Unbound {
        /// The owner of the port.
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
    /// The machine has fewer cells than the application.
    #[error("the application needs {need} cells, and {target} has {have}")]
    Machine {
        /// The machine.
        target: String,
        /// Cells needed.
        need: usize,
        /// Cells available.
        have: usize,
    },
    /// The placement is invalid.
    #[error("the placement is no list of {cells} different cells of the machine: {what}")]
    Placement {
        /// The application's cells.
        cells: usize,
        /// What is wrong.
        what: String,
    },
    /// A cell needs more connections at once than it supports.
    #[error(
        "cell {cell} of the machine would need {need} connections at once and has {have}: set `{set}` of \
         `{task}`; take fewer connections in the set, or let the linker split it"
    )]
    Slots {
        /// The machine's cell.
        cell: usize,
        /// The task.
        task: String,
        /// The active set at that time.
        set: String,
        /// Connections needed.
        need: usize,
        /// Connections supported.
        have: usize,
    },
    /// More bandwidth is reserved than a link carries.
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
        /// Bandwidth of the link in bytes a second.
        have: f64,
    },
    /// A reservation on a machine of whose links no rate is known.
    #[error(
        "task `{task}`: {what} reserves {rate} bytes a second, and what the links of {target} carry is not \
         known ({why}): leave `reserve` out, or link for a machine with measured rates \
         (`Target::with_rates`, of `specc calibrate specs/tcs/bandwidth --upper 99%`)"
    )]
    NoRates {
        /// The task.
        task: String,
        /// The connection.
        what: String,
        /// Bytes a second reserved.
        rate: f64,
        /// The machine.
        target: String,
        /// What is known.
        why: String,
    },
    /// The messages of a reservation are too short for it.
    #[error(
        "connection {connection} reserves {rate:.0} bytes a second in messages of {bytes} bytes or more, and a \
         cell sends less than {most:.0} of them: say how long they are at least (`shortest`), or reserve less"
    )]
    Short {
        /// The connection.
        connection: String,
        /// Bytes a second reserved.
        rate: f64,
        /// Bytes of its shortest message.
        bytes: usize,
        /// Bytes a second that no cell sends in such messages.
        most: f64,
    },
    /// A buffer does not let as much pass as is reserved.
    #[error(
        "connection {connection} reserves {rate:.0} bytes a second, and its buffer of {depth} bytes lets less \
         pass until the receiver's reports are back: `depth` of {need:.0} bytes suffices"
    )]
    Window {
        /// The connection.
        connection: String,
        /// Bytes a second reserved.
        rate: f64,
        /// Bytes of its buffer.
        depth: usize,
        /// Bytes that suffice.
        need: f64,
    },
    /// Reservations take the whole bandwidth of a link that an unreserved connection uses.
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
        "{need} barriers may be pending at cell {cell} of the machine, which has {have} and no other signal for \
         the rest (`Target::signals`): nest fewer tasks"
    )]
    Barriers {
        /// The machine's cell.
        cell: usize,
        /// Barriers needed.
        need: usize,
        /// Barriers supported.
        have: usize,
    },
    /// The requested barrier algorithm does not apply.
    #[error("a {algorithm} barrier of {members} cells: {what}")]
    Algorithm {
        /// The algorithm.
        algorithm: String,
        /// Its members.
        members: usize,
        /// The reason.
        what: String,
    },
}

fn suggestion(ports: &[String]) -> String {
    match ports {
        [] => "; it has none".to_owned(),
        _ => format!("; it has `{}`", ports.join("`, `")),
    }
}

/// All errors of linking an application.
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
