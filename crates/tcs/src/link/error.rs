//! The errors of linking: every request that a machine cannot meet, each with a way out.

use std::fmt;
use thiserror::Error;

/// Why an application cannot be linked.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant's text says what its fields are")]
pub enum LinkError {
    /// A task has no cells.
    #[error("task `{task}` has no cells: a task needs at least one")]
    NoCells { task: String },
    /// The machine is described wrongly.
    #[error("machine `{target}`: {what}")]
    Target { target: String, what: String },
    /// A thing is placed on a cell that its task does not have.
    #[error("task `{task}`: {what} is at cell {cell}, and the task has cells 0 to {}", cells - 1)]
    NoCell { task: String, what: String, cell: usize, cells: usize },
    /// A connection joins a cell to itself.
    #[error("task `{task}`: connection {connection} leads from cell {cell} to itself; leave it out")]
    ToItself { task: String, connection: usize, cell: usize },
    /// The reservation of a connection is not a bandwidth, or its buffer is too small for a
    /// message.
    #[error("task `{task}`: connection {connection}: {what}")]
    Connection { task: String, connection: usize, what: String },
    /// An external connection is no better, or nothing of a link is left for it.
    #[error("task `{task}`: external connection {wire}: {what}")]
    External { task: String, wire: usize, what: String },
    /// A network is in no set.
    #[error("task `{task}`: no set contains the network `{network}`, so its connections could never be used")]
    NeverActive { task: String, network: String },
    /// Two ports or children of a task have the same name.
    #[error("task `{task}` has two {what}s named `{name}`: names tell them apart")]
    Twice { task: String, what: &'static str, name: String },
    /// A handle of another task was used.
    #[error("task `{task}`: {what} is of another task")]
    Foreign { task: String, what: String },
    /// A task contains itself.
    #[error("recursion: {}; a task's depth must be known before it runs", path.join(" -> "))]
    Recursion { path: Vec<String> },
    /// There are too many task instances.
    #[error("more than {most} task instances: children of children multiply")]
    TooMany { most: usize },
    /// A child is given a number of cells that differs from its task's.
    #[error("task `{parent}`: child `{child}` is given {given} cells, and its task has {cells}")]
    Cells { parent: String, child: String, given: usize, cells: usize },
    /// A child is given a cell that its parent does not have.
    #[error("task `{parent}`: child `{child}` is on cell {cell}, outside its parent's cells 0 to {}", cells - 1)]
    OutsideParent { parent: String, child: String, cell: usize, cells: usize },
    /// A child is given a cell twice.
    #[error("task `{parent}`: child `{child}` is given cell {cell} twice")]
    CellTwice { parent: String, child: String, cell: usize },
    /// Two children that external connections join, so that they run at once, share a cell.
    #[error(
        "task `{parent}`: children `{first}` and `{second}` are joined by external connections and share \
         cell {cell}; a cell executes one of them at a time"
    )]
    Overlap { parent: String, first: String, second: String, cell: usize },
    /// A named port does not exist.
    #[error("task `{parent}`: {of} has no port `{port}`{}", suggestion(ports))]
    NoPort { parent: String, of: String, port: String, ports: Vec<String> },
    /// A connection leaves from an input, arrives at an output, or inheritance joins an input with
    /// an output.
    #[error("task `{parent}`: port `{port}` of {of} is an {is}, and an {wanted} is needed here")]
    Direction { parent: String, of: String, port: String, is: &'static str, wanted: &'static str },
    /// Two joined ports have different types.
    #[error("task `{parent}`: {first} carries `{first_type}`, and {second} carries `{second_type}`")]
    PortType {
        parent: String,
        first: String,
        first_type: &'static str,
        second: String,
        second_type: &'static str,
    },
    /// An inherited port is on a different cell than the parent's port.
    #[error(
        "task `{parent}`: port `{port}` of child `{child}` is at the parent's cell {at}, and the inherited \
         port `{inherited}` at cell {wanted}"
    )]
    PortCell { parent: String, child: String, port: String, at: usize, inherited: String, wanted: usize },
    /// A port is not bound.
    #[error("port `{port}` of {of} is bound to nothing: wire it to a sibling, or let it inherit a port")]
    Unbound { of: String, port: String },
    /// A port is bound twice.
    #[error("task `{parent}`: port `{port}` of child `{child}` is bound twice")]
    BoundTwice { parent: String, child: String, port: String },
    /// The machine has fewer cells than the application.
    #[error("the application needs {need} cells, and {target} has {have}")]
    Machine { target: String, need: usize, have: usize },
    /// The placement is invalid.
    #[error("the placement is no list of {cells} different cells of the machine: {what}")]
    Placement { cells: usize, what: String },
    /// A cell needs more connections at once than it supports.
    #[error(
        "cell {cell} of the machine would need {need} connections at once and has {have}: set `{set}` of \
         `{task}`; take fewer connections in the set, or let the linker split it"
    )]
    Slots { cell: usize, task: String, set: String, need: usize, have: usize },
    /// More bandwidth is reserved than a link carries.
    #[error(
        "link {link}: set `{set}` of `{task}` reserves {need:.0} bytes a second, with all that may run beside \
         it, and the link carries {have:.0}"
    )]
    Bandwidth { link: String, task: String, set: String, need: f64, have: f64 },
    /// A reservation on a machine of whose links no rate is known.
    #[error(
        "task `{task}`: {what} reserves {rate} bytes a second, and what the links of {target} carry is not \
         known ({why}): leave `reserve` out, or link for a machine with measured rates \
         (`Target::with_rates`, of `specc calibrate specs/tcs/bandwidth --upper 99%`)"
    )]
    NoRates { task: String, what: String, rate: f64, target: String, why: String },
    /// The messages of a reservation are too short for it.
    #[error(
        "connection {connection} reserves {rate:.0} bytes a second in messages of {bytes} bytes or more, and a \
         cell sends less than {most:.0} of them: say how long they are at least (`shortest`), or reserve less"
    )]
    Short { connection: String, rate: f64, bytes: usize, most: f64 },
    /// A buffer does not let as much pass as is reserved.
    #[error(
        "connection {connection} reserves {rate:.0} bytes a second, and its buffer of {depth} bytes lets less \
         pass until the receiver's reports are back: `depth` of {need:.0} bytes suffices"
    )]
    Window { connection: String, rate: f64, depth: usize, need: f64 },
    /// Reservations take the whole bandwidth of a link that an unreserved connection uses.
    #[error(
        "link {link} is reserved wholly, and connection {connection} of set `{set}` of `{task}` passes it \
         without a reservation; reserve some for it, or less for the others"
    )]
    Starved { link: String, task: String, set: String, connection: usize },
    /// More barriers may be pending at a cell than it supports.
    #[error(
        "{need} barriers may be pending at cell {cell} of the machine, which has {have} and no other signal for \
         the rest (`Target::signals`): nest fewer tasks"
    )]
    Barriers { cell: usize, need: usize, have: usize },
    /// The requested barrier algorithm does not apply.
    #[error("a {algorithm} barrier of {members} cells: {what}")]
    Algorithm { algorithm: String, members: usize, what: String },
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
