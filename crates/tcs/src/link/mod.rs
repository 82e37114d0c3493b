//! The linker: turns a description and a machine into an image, or into a list of all errors.
//!
//! Its steps (Warfel 1996, §2.5): check the definitions; place tasks on cells; find the barriers
//! and choose their algorithms; route every set's connections, in parts where they do not fit at
//! once; bound what may run beside each instance; guarantee each connection its rate; report.

mod barriers;
mod delay;
mod error;
mod expand;
mod guarantee;
mod image;
mod load;
mod place;
pub mod report;
mod route;
pub(crate) mod schedule;
mod validate;

pub use error::{LinkError, LinkErrors};
pub use image::Image;
pub(crate) use image::{Guarantee, Instance, Linked, Part};

use crate::barrier::Algorithm;
use crate::describe::{App, Task, TaskId};
use crate::switch::Mode;
use crate::target::Target;
use report::Report;
use serde::{Deserialize, Serialize};

/// Options of the linker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Placement of the root task's cells.
    pub placement: Placement,
    /// True to split a set that does not fit into parts that are used one after the other; false to
    /// report an error.
    pub split: bool,
    /// Splits sets until at most this many connections share a link.
    pub congestion: Option<usize>,
    /// True to improve routes after all have been found.
    pub reroute: bool,
    /// The algorithm of all barriers; `None` selects the cheapest possible one for each.
    pub barrier: Option<Algorithm>,
    /// How tasks switch sets; initially the thesis's protocol with three barriers. Double and
    /// single guarantee the same here, and cost less.
    pub switch: Mode,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            placement: Placement::InOrder,
            split: false,
            congestion: None,
            reroute: true,
            barrier: None,
            switch: Mode::Triple,
        }
    }
}

/// Placement of the root task's cells on the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Cell i is on the machine's cell i.
    #[default]
    InOrder,
    /// Cell i is on the machine's cell `at[i]`.
    At(Vec<usize>),
    /// Cells that exchange most are placed close together: pairs are swapped while that lowers the
    /// sum over all connections of hops times reserved rate (1 without a reservation).
    Close,
}

/// Links `root` and all that it contains for `target`, with the default options.
///
/// # Errors
/// All errors at once.
pub fn link(app: &App, root: TaskId, target: &Target) -> Result<Image, LinkErrors> {
    link_with(app, root, target, &Options::default())
}

/// As [`link`](link()), with options.
///
/// # Errors
/// As [`link`](link()).
pub fn link_with(app: &App, root: TaskId, target: &Target, options: &Options) -> Result<Image, LinkErrors> {
    let mut errors = validate::validate(app, target);
    let Some(task) = app.tasks().get(root.0) else {
        errors.push(LinkError::Foreign { task: app.name().to_owned(), what: "the root task".to_owned() });
        return Err(LinkErrors(errors));
    };
    for port in &task.ports {
        let of = format!("the root task `{}`", task.name());
        errors.push(LinkError::Unbound { of, port: port.name.clone() });
    }
    if task.cells > target.cells {
        let (need, have) = (task.cells, target.cells);
        errors.push(LinkError::Machine { target: target.name.clone(), need, have });
    }
    let placement = place::place(app, task, target, &options.placement, errors.is_empty());
    let placement = placement.map_err(|error| errors.push(error)).unwrap_or_default();
    if !errors.is_empty() {
        return Err(LinkErrors(errors));
    }
    let (mut instances, mut connections) =
        expand::expand(app, root, target, &placement).map_err(|error| LinkErrors(vec![error]))?;
    let barriers = barriers::barriers(app, target, options, &mut instances, &mut errors);
    route::route(app, target, options, &mut instances, &mut connections);
    guarantee::guarantee(target, &mut instances, &mut connections, &mut errors);
    delay::delays(target, &mut instances, &mut connections);
    if !errors.is_empty() {
        return Err(LinkErrors(errors));
    }
    let (name, target) = (app.name().to_owned(), target.clone());
    let (switch, report) = (options.switch, Report::default());
    let messages = app.has_messages();
    let description = String::new();
    let mut image =
        Image { name, target, instances, connections, barriers, switch, messages, description, report };
    image.report = Report::new(app, &image);
    Ok(image)
}

/// The task's networks in a set: of each tag the network with the set's number, or number 0.
pub(crate) fn networks_of(task: &Task, set: usize) -> impl Iterator<Item = usize> + '_ {
    let set = &task.sets[set];
    set.networks.iter().filter_map(|tag| {
        let numbered =
            |index| task.networks.iter().position(|network| network.tag == *tag && network.index == index);
        numbered(set.index).or_else(|| numbered(0))
    })
}

/// The name of a member of a family.
pub(crate) fn numbered(name: &str, index: usize) -> String {
    if index == 0 { name.to_owned() } else { format!("{name}[{index}]") }
}
