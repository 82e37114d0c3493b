//! Routes connections so that few links are busy, and splits sets where cells or links cannot
//! support all of their connections at once.
//!
//! Connections are routed one by one, long and fast ones first, each on the path that adds least to
//! the sum of the cubes of all loads. Each is then removed and routed again until no change lowers
//! the sum. The sum falls with every change, so the loop ends.

use super::Options;
use super::expand::connections_of;
use super::image::{Instance, Linked, Part};
use super::load::Load;
use crate::describe::App;
use crate::shape::Path;
use crate::target::Target;
use std::collections::BTreeSet;

/// The most rounds of rerouting; far more than were ever needed.
const ROUNDS: usize = 64;

/// Routes the connections of all instances. Of the connections beside an instance, those of its
/// ancestors count: they are routed before.
pub(super) fn route(
    app: &App,
    target: &Target,
    options: &Options,
    instances: &mut [Instance],
    connections: &mut [Linked],
) {
    let empty = Load::none(target.links(), target.cells);
    let mut bases: Vec<Load> = Vec::with_capacity(instances.len());
    for at in 0..instances.len() {
        // The base load for an instance's children: the base of the instance, its external
        // connections and the greatest of its sets.
        let mut base = instances[at].parent.map_or_else(|| empty.clone(), |parent| bases[parent].clone());
        let wires = instances[at].wires.clone();
        for (wire, path) in paths(target, &base, connections, &wires, options.reroute) {
            base.connection(&path, connections[wire].charged);
            connections[wire].path = Some(path);
        }
        let task = &app[instances[at].task];
        let first = instances[at].first;
        let mut most = empty.clone();
        for set in 0..instances[at].sets.len() {
            let members: Vec<usize> =
                connections_of(task, set).into_iter().map(|connection| first + connection).collect();
            let whole = Part {
                connections: paths(target, &base, connections, &members, options.reroute),
                ..Part::default()
            };
            let fits = fits(target, options, &base, &whole, connections);
            let mut parts = if fits || !options.split {
                vec![whole]
            } else {
                split(target, options, &base, connections, &members)
            };
            if target.shared_turns {
                parts.iter_mut().for_each(|part| share_turns(target, part));
            }
            for part in &parts {
                let mut load = empty.clone();
                load.part(part, connections);
                most.at_least(&load);
            }
            instances[at].sets[set].parts = parts;
        }
        base.add(&most);
        bases.push(base);
    }
}

/// Adds to each path the cells that it passes through in which one of the part's connections turns.
fn share_turns(target: &Target, part: &mut Part) {
    let paths = || part.connections.iter().map(|(_, path)| path);
    let turns: BTreeSet<usize> = paths().flat_map(|path| target.shape.turns(path)).collect();
    for (_, path) in &mut part.connections {
        let hops = path.hops();
        let through = path.cells[..hops].iter().skip(1).filter(|cell| turns.contains(cell));
        path.links.extend(through.map(|cell| target.shape.links(target.cells) + cell));
    }
}

/// Chooses a path for each connection, given the load that is already there.
fn paths(
    target: &Target,
    base: &Load,
    connections: &[Linked],
    members: &[usize],
    reroute: bool,
) -> Vec<(usize, Path)> {
    let all: Vec<Vec<Path>> = members
        .iter()
        .map(|member| {
            let linked = &connections[*member];
            candidates(target, linked)
        })
        .collect();
    let mut load = base.clone();
    let mut taken: Vec<usize> = vec![0; members.len()];
    let weight = |member: usize| connections[members[member]].charged;
    let mut order: Vec<usize> = (0..members.len()).collect();
    let heavy = |member: usize| {
        let hops = all[member].first().map_or(0, Path::hops) as f64;
        // Within equal weights, connections with a single path come first: the others can avoid
        // them.
        (weight(member).unwrap_or(0.0) * hops, hops, all[member].len() == 1)
    };
    order.sort_by(|a, b| {
        let (a, b) = (heavy(*a), heavy(*b));
        b.2.cmp(&a.2).then(b.0.total_cmp(&a.0)).then(b.1.total_cmp(&a.1))
    });
    for member in &order {
        taken[*member] = best(target, &load, &all[*member], weight(*member));
        load.connection(&all[*member][taken[*member]], weight(*member));
    }
    for _ in 0..if reroute { ROUNDS } else { 0 } {
        let mut changed = false;
        for member in &order {
            let now = &all[*member][taken[*member]];
            load.remove(now, weight(*member));
            let other = best(target, &load, &all[*member], weight(*member));
            let cost = |path: &Path| added(target, &load, path, weight(*member));
            if cost(&all[*member][other]) < cost(now) * (1.0 - 1e-9) {
                taken[*member] = other;
                changed = true;
            }
            load.connection(&all[*member][taken[*member]], weight(*member));
        }
        if !changed {
            break;
        }
    }
    let path = |(member, paths): (usize, &Vec<Path>)| (members[member], paths[taken[member]].clone());
    all.iter().enumerate().map(path).collect()
}

/// The paths that a connection may take: only the preferred path if it is one of them.
fn candidates(target: &Target, linked: &Linked) -> Vec<Path> {
    let all = target.shape.paths(linked.from, linked.to, target.cells);
    match &linked.path {
        Some(path) if all.contains(path) => vec![path.clone()],
        _ => all,
    }
}

/// The path that adds least; the first of equal ones.
fn best(target: &Target, load: &Load, paths: &[Path], rate: Option<f64>) -> usize {
    let costs = paths.iter().map(|path| added(target, load, path, rate)).enumerate();
    costs.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(path, _)| path)
}

/// The increase of the sum of the cubes of all links' loads by a connection. A reservation counts
/// as its share of the link, with a small minimum; any other connection counts as 1.
fn added(target: &Target, load: &Load, path: &Path, rate: Option<f64>) -> f64 {
    // Without a known rate nothing is reserved.
    let bandwidth = target.link_bandwidth().unwrap_or(f64::INFINITY);
    let share = rate.map_or(1.0, |rate| (rate / bandwidth).max(0.01));
    let cube = |x: f64| x * x * x;
    let on = |link: usize| load.shared[link] as f64 + load.reserved[link] / bandwidth;
    path.links.iter().map(|link| cube(on(*link) + share) - cube(on(*link))).sum()
}

/// True if a part's connections fit, given the load that is already there.
fn fits(target: &Target, options: &Options, base: &Load, part: &Part, connections: &[Linked]) -> bool {
    let mut load = base.clone();
    load.part(part, connections);
    let slots = target.slots.is_none_or(|slots| load.slots.iter().all(|need| *need <= slots));
    slots && within(target, options, &load, 0..load.shared.len())
}

fn within(target: &Target, options: &Options, load: &Load, links: impl IntoIterator<Item = usize>) -> bool {
    let bandwidth = target.link_bandwidth().unwrap_or(f64::INFINITY) * (1.0 + 1e-9);
    let most = options.congestion.unwrap_or(usize::MAX);
    links.into_iter().all(|link| load.reserved[link] <= bandwidth && load.on(link) <= most)
}

/// Splits connections into parts that fit: each goes to the first part with room (greedy edge
/// colouring with the capacities of cells and links). A connection that fits in no part gets a part
/// of its own.
fn split(
    target: &Target,
    options: &Options,
    base: &Load,
    connections: &[Linked],
    members: &[usize],
) -> Vec<Part> {
    let mut parts: Vec<(Part, Load)> = Vec::new();
    for member in members.iter().copied() {
        let linked = &connections[member];
        let paths = candidates(target, linked);
        let room = |load: &Load, path: &Path| {
            let mut load = load.clone();
            load.connection(path, linked.charged);
            let slots =
                target.slots.is_none_or(|slots| path.cells.iter().all(|cell| load.slots[*cell] <= slots));
            slots && within(target, options, &load, path.links.iter().copied())
        };
        let choose = |load: &Load| {
            let open: Vec<Path> = paths.iter().filter(|path| room(load, path)).cloned().collect();
            (!open.is_empty()).then(|| open[best(target, load, &open, linked.charged)].clone())
        };
        let found = parts.iter().enumerate().find_map(|(part, (_, load))| Some((part, choose(load)?)));
        let (part, path) = found.unwrap_or_else(|| {
            parts.push((Part::default(), base.clone()));
            (parts.len() - 1, paths[best(target, base, &paths, linked.charged)].clone())
        });
        parts[part].1.connection(&path, linked.charged);
        parts[part].0.connections.push((member, path));
    }
    parts.into_iter().map(|(part, _)| part).collect()
}
