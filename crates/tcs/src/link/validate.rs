//! Checks the definitions of tasks, one by one and as a graph.

use super::LinkError;
use crate::describe::{App, ChildOf, Port, Task};
use crate::target::Target;
use std::collections::BTreeSet;

/// The most bytes under way on a connection: they are set aside when it is made.
const DEEPEST: usize = 1 << 30;

/// All errors of the machine and of the tasks themselves.
pub(super) fn validate(app: &App, target: &Target) -> Vec<LinkError> {
    let fault = |what| LinkError::Target { target: target.name.clone(), what };
    let mut errors: Vec<LinkError> = target.faults().into_iter().map(fault).collect();
    for task in app.tasks() {
        cells_and_networks(task, &mut errors);
        if !target.guarantees() {
            reservations(task, target, &mut errors);
        }
        for child in &task.children {
            placed(app, task, child, &mut errors);
        }
        joined(app, task, &mut errors);
    }
    recursion(app, &mut errors);
    errors
}

/// Reports every reservation on a machine that guarantees nothing.
fn reservations(task: &Task, target: &Target, errors: &mut Vec<LinkError>) {
    let inside = task.connections.iter().map(|connection| connection.rate).enumerate();
    let inside = inside.map(|(at, rate)| (format!("connection {at}"), rate));
    let wires = task.wires.iter().map(|wire| wire.rate).enumerate();
    let wires = wires.map(|(at, rate)| (format!("external connection {at}"), rate));
    for (what, rate) in inside.chain(wires) {
        let Some(rate) = rate else { continue };
        let why = match target.link_rate {
            None => "nothing was measured".to_owned(),
            Some(_) => target.sure.to_string(),
        };
        let (task, target) = (task.name.clone(), target.name.clone());
        errors.push(LinkError::NoRates { task, what, rate, target, why });
    }
}

fn cells_and_networks(task: &Task, errors: &mut Vec<LinkError>) {
    let name = || task.name.clone();
    if task.cells == 0 {
        errors.push(LinkError::NoCells { task: name() });
    }
    let mut inside = |what: String, cell: usize| {
        if cell >= task.cells && task.cells > 0 {
            errors.push(LinkError::NoCell { task: name(), what, cell, cells: task.cells });
        }
    };
    for (index, connection) in task.connections.iter().enumerate() {
        inside(format!("the source of connection {index}"), connection.from);
        inside(format!("the target of connection {index}"), connection.to);
    }
    for port in &task.ports {
        inside(format!("port `{}`", port.name), port.cell);
    }
    for (index, connection) in task.connections.iter().enumerate() {
        if connection.from == connection.to {
            let cell = connection.from;
            errors.push(LinkError::ToItself { task: name(), connection: index, cell });
        }
        let mut wrong =
            |what: String| errors.push(LinkError::Connection { task: name(), connection: index, what });
        if connection.kind.size == 0 {
            wrong(format!("`{}` has no bytes: send a number", connection.kind.name));
        }
        requested(connection.rate, connection.depth, connection.shortest).into_iter().for_each(wrong);
    }
    for (wire, external) in task.wires.iter().enumerate() {
        let wrong = |what: String| errors.push(LinkError::External { task: name(), wire, what });
        requested(external.rate, external.depth, external.shortest).into_iter().for_each(wrong);
    }
    for (index, network) in task.networks.iter().enumerate() {
        let active = |set: usize| super::networks_of(task, set).any(|member| member == index);
        if !(0..task.sets.len()).any(active) {
            let network = super::numbered(network.tag.name(), network.index);
            errors.push(LinkError::NeverActive { task: name(), network });
        }
    }
    twice(task, "port", task.ports.iter().map(|port| &port.name), errors);
    twice(task, "child", task.children.iter().map(|child| &child.name), errors);
    errors.extend(task.foreign.iter().map(|what| LinkError::Foreign { task: name(), what: what.clone() }));
}

/// What is wrong with a reservation and a buffer capacity.
fn requested(rate: Option<f64>, depth: usize, shortest: Option<usize>) -> Vec<String> {
    let mut wrong = Vec::new();
    if let Some(rate) = rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
        wrong.push(format!("{rate} bytes a second reserved: it is a finite number above 0"));
    }
    if depth > DEEPEST {
        wrong.push(format!("a depth of {depth} bytes: at most {DEEPEST} are set aside"));
    }
    if let Some(shortest) = shortest.filter(|bytes| *bytes == 0 || *bytes > depth) {
        wrong.push(format!("messages of at least {shortest} bytes: they are of 1 to `depth`, {depth}"));
    }
    if depth == 0 {
        wrong.push("a depth of 0 bytes: nothing could ever be under way".to_owned());
    }
    wrong
}

fn twice<'a>(
    task: &Task,
    what: &'static str,
    names: impl Iterator<Item = &'a String>,
    errors: &mut Vec<LinkError>,
) {
    let mut seen = BTreeSet::new();
    for name in names.filter(|name| !seen.insert((*name).clone())) {
        errors.push(LinkError::Twice { task: task.name.clone(), what, name: name.clone() });
    }
}

/// I1: a child is within its parent.
fn placed(app: &App, parent: &Task, child: &ChildOf, errors: &mut Vec<LinkError>) {
    let names = || (parent.name.clone(), child.name.clone());
    let Some(task) = app.tasks().get(child.task.0) else {
        let what = format!("the task of child `{}`", child.name);
        errors.push(LinkError::Foreign { task: parent.name.clone(), what });
        return;
    };
    if child.at.len() != task.cells {
        let (parent, child_name) = names();
        let (given, cells) = (child.at.len(), task.cells);
        errors.push(LinkError::Cells { parent, child: child_name, given, cells });
    }
    let mut seen = BTreeSet::new();
    for cell in child.at.iter().copied() {
        let (name, child_name) = names();
        if cell >= parent.cells && parent.cells > 0 {
            let cells = parent.cells;
            errors.push(LinkError::OutsideParent { parent: name, child: child_name, cell, cells });
        } else if !seen.insert(cell) {
            errors.push(LinkError::CellTwice { parent: name, child: child_name, cell });
        }
    }
}

/// Checks the ports that external connections and inheritance join.
fn joined(app: &App, parent: &Task, errors: &mut Vec<LinkError>) {
    let mut bound = BTreeSet::new();
    for wire in &parent.wires {
        let from = end(app, parent, wire.from.0, &wire.from.1, Some(false), errors);
        let to = end(app, parent, wire.to.0, &wire.to.1, Some(true), errors);
        for (child, port) in [&wire.from, &wire.to] {
            bind(parent, *child, port, &mut bound, errors);
        }
        if let (Some(from), Some(to)) = (from, to) {
            let named = |(child, port): &(usize, String)| port_of(parent, *child, port);
            same_type(parent, (named(&wire.from), from), (named(&wire.to), to), errors);
        }
        let (first, second) = (parent.children.get(wire.from.0), parent.children.get(wire.to.0));
        if let (Some(first), Some(second)) = (first, second) {
            overlap(parent, first, second, errors);
        }
    }
    for (index, child) in parent.children.iter().enumerate() {
        for (port, inherited) in &child.inherited {
            let own = end(app, parent, index, port, None, errors);
            bind(parent, index, port, &mut bound, errors);
            let Some(from) = parent.ports.iter().find(|from| from.name == *inherited) else {
                errors.push(no_port(parent, "the task itself".to_owned(), inherited, &parent.ports));
                continue;
            };
            let Some(own) = own else { continue };
            if own.inward != from.inward {
                errors.push(direction(parent, format!("child `{}`", child.name), own));
            }
            let named = port_of(parent, index, port);
            same_type(parent, (named, own), (format!("port `{inherited}` of the task itself"), from), errors);
            let at = child.at.get(own.cell).copied();
            if let Some(at) = at.filter(|at| *at != from.cell) {
                errors.push(LinkError::PortCell {
                    parent: parent.name.clone(),
                    child: child.name.clone(),
                    port: port.clone(),
                    at,
                    inherited: inherited.clone(),
                    wanted: from.cell,
                });
            }
        }
        for port in app.tasks().get(child.task.0).into_iter().flat_map(|task| &task.ports) {
            if !bound.contains(&(index, port.name.clone())) {
                let of = format!("child `{}` of task `{}`", child.name, parent.name);
                errors.push(LinkError::Unbound { of, port: port.name.clone() });
            }
        }
    }
}

fn port_of(parent: &Task, child: usize, port: &str) -> String {
    let child = parent.children.get(child).map_or("?", |child| &child.name);
    format!("port `{port}` of child `{child}`")
}

fn bind(
    parent: &Task,
    child: usize,
    port: &str,
    bound: &mut BTreeSet<(usize, String)>,
    errors: &mut Vec<LinkError>,
) {
    if !bound.insert((child, port.to_owned())) {
        let child = parent.children.get(child).map_or("?", |child| &child.name).to_owned();
        errors.push(LinkError::BoundTwice { parent: parent.name.clone(), child, port: port.to_owned() });
    }
}

/// Looks up the port of a child, and checks its direction if one is required.
fn end<'a>(
    app: &'a App,
    parent: &Task,
    child: usize,
    port: &str,
    inward: Option<bool>,
    errors: &mut Vec<LinkError>,
) -> Option<&'a Port> {
    let child = parent.children.get(child)?;
    let task = app.tasks().get(child.task.0)?;
    let of = format!("child `{}`", child.name);
    let Some(found) = task.ports.iter().find(|found| found.name == port) else {
        errors.push(no_port(parent, of, port, &task.ports));
        return None;
    };
    if inward.is_some_and(|inward| inward != found.inward) {
        errors.push(direction(parent, of, found));
    }
    Some(found)
}

fn no_port(parent: &Task, of: String, port: &str, ports: &[Port]) -> LinkError {
    let ports = ports.iter().map(|port| port.name.clone()).collect();
    LinkError::NoPort { parent: parent.name.clone(), of, port: port.to_owned(), ports }
}

fn direction(parent: &Task, of: String, port: &Port) -> LinkError {
    let (is, wanted) = if port.inward { ("input", "output") } else { ("output", "input") };
    LinkError::Direction { parent: parent.name.clone(), of, port: port.name.clone(), is, wanted }
}

fn same_type(
    parent: &Task,
    (first, a): (String, &Port),
    (second, b): (String, &Port),
    errors: &mut Vec<LinkError>,
) {
    if a.kind != b.kind {
        let (first_type, second_type) = (a.kind.name.text(), b.kind.name.text());
        let parent = parent.name.clone();
        errors.push(LinkError::PortType { parent, first, first_type, second, second_type });
    }
}

/// I2: tasks that run at once are disjoint.
fn overlap(parent: &Task, first: &ChildOf, second: &ChildOf, errors: &mut Vec<LinkError>) {
    if let Some(cell) = first.at.iter().find(|cell| second.at.contains(cell)) {
        errors.push(LinkError::Overlap {
            parent: parent.name.clone(),
            first: first.name.clone(),
            second: second.name.clone(),
            cell: *cell,
        });
    }
}

/// I3: no task contains itself.
fn recursion(app: &App, errors: &mut Vec<LinkError>) {
    let tasks = app.tasks();
    let mut done = vec![false; tasks.len()];
    for start in 0..tasks.len() {
        // The tasks from `start` to the current one, each with the index of its next child.
        let mut path = vec![(start, 0)];
        while let Some((at, next)) = path.last_mut() {
            let at = *at;
            let child = if done[at] { None } else { tasks[at].children.get(*next) };
            *next += 1;
            let Some(child) = child.map(|child| child.task.0) else {
                done[at] = true;
                path.pop();
                continue;
            };
            match path.iter().position(|(task, _)| *task == child) {
                Some(from) => {
                    let names = path[from..].iter().map(|(task, _)| *task).chain([child]);
                    let path = names.map(|task| tasks[task].name.clone()).collect();
                    errors.push(LinkError::Recursion { path });
                }
                None if child < tasks.len() && !done[child] => path.push((child, 0)),
                None => {}
            }
        }
    }
}
