//! Expands definitions into instances: every task on its cells, with its external connections and
//! barriers.

use super::image::{Guarantee, Instance, Linked, SetImage};
use super::{LinkError, networks_of, numbered};
use crate::describe::{App, Described, Kind, Task, TaskId};
use crate::shape::Path;
use crate::target::Target;

/// The most instances that can be linked.
pub(super) const MOST: usize = 10_000;

/// Expands the root task into instances and connections. Definitions must be valid.
pub(super) fn expand(
    app: &App,
    root: TaskId,
    target: &Target,
    placement: &[usize],
) -> Result<(Vec<Instance>, Vec<Linked>), LinkError> {
    let (mut instances, mut connections) = (Vec::new(), Vec::new());
    instances.push(instance(&app[root], root, app[root].name().to_owned(), None, placement.to_vec()));
    let mut at = 0;
    while at < instances.len() {
        let parent: Instance = instances[at].clone();
        let task = &app[parent.task];
        instances[at].first = connections.len();
        let name = |described: &Described| {
            let network = &task.networks[described.network];
            let (network, Described { from, to, .. }) =
                (numbered(network.tag.name(), network.index), described);
            format!("`{network}` {from} -> {to} of `{}`", parent.path)
        };
        connections.extend(task.connections.iter().map(|described| {
            let Described { from, to, kind, rate, depth, shortest, .. } = *described;
            let (ends, path) = ((parent.cells[from], parent.cells[to]), described.path.clone());
            linked(target, name(described), ends, kind, (rate, depth, shortest), path)
        }));
        if instances.len() + task.children.len() > MOST {
            return Err(LinkError::TooMany { most: MOST });
        }
        let first_child = instances.len();
        for child in &task.children {
            let path = format!("{}/{}", parent.path, child.name);
            let cells: Vec<usize> = child.at.iter().map(|cell| parent.cells[*cell]).collect();
            let mut new = instance(&app[child.task], child.task, path, Some(at), cells);
            for (port, inherited) in &child.inherited {
                let own = app[child.task].ports.iter().position(|own| own.name == *port);
                let from = task.ports.iter().position(|from| from.name == *inherited);
                if let (Some(own), Some(from)) = (own, from) {
                    new.ports[own] = parent.ports[from];
                }
            }
            let number = instances.len();
            instances[at].children.push(number);
            instances.push(new);
        }
        for wire in &task.wires {
            let index = connections.len();
            let mut end = |(child, port): &(usize, String)| {
                let instance = &mut instances[first_child + child];
                let ports = &app[instance.task].ports;
                let name = format!("`{}`.{port}", instance.path);
                let port = ports.iter().position(|found| found.name == *port)?;
                instance.ports[port] = index;
                Some((instance.cells[ports[port].cell], ports[port].kind, name))
            };
            if let (Some((from, kind, output)), Some((to, _, input))) = (end(&wire.from), end(&wire.to)) {
                let (name, of) = (format!("{output} -> {input}"), (wire.rate, wire.depth, wire.shortest));
                connections.push(linked(target, name, (from, to), kind, of, None));
                instances[at].wires.push(index);
            }
        }
        at += 1;
    }
    Ok((instances, connections))
}

fn linked(
    target: &Target,
    name: String,
    (from, to): (usize, usize),
    kind: Kind,
    (rate, depth, shortest): (Option<f64>, usize, Option<usize>),
    path: Option<Path>,
) -> Linked {
    let shortest = shortest.unwrap_or(kind.size);
    let charged = rate.map(|rate| target.charged(rate, shortest));
    Linked { name, from, to, kind, rate, charged, shortest, depth, path, guarantee: Guarantee::default() }
}

fn instance(task: &Task, id: TaskId, path: String, parent: Option<usize>, cells: Vec<usize>) -> Instance {
    let sets = task.sets.iter().map(|set| SetImage {
        tag: set.tag,
        name: numbered(set.name.text(), set.index),
        index: set.index,
        parts: Vec::new(),
    });
    Instance {
        task: id,
        path,
        parent,
        cells,
        children: Vec::new(),
        ports: vec![usize::MAX; task.ports.len()],
        first: 0,
        sets: sets.collect(),
        wires: Vec::new(),
        own: 0,
        component: 0,
        together: 0,
    }
}

/// A set's connections, by their numbers in the task.
pub(super) fn connections_of(task: &Task, set: usize) -> Vec<usize> {
    let networks: Vec<usize> = networks_of(task, set).collect();
    let member = |index: &usize| networks.contains(&task.connections[*index].network);
    (0..task.connections.len()).filter(member).collect()
}
