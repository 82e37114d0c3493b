//! Guaranteed rates of all connections, whatever else runs, and errors where the machine is
//! exceeded.

use super::LinkError;
use super::image::{Guarantee, Instance, Linked};
use super::load::{Load, Loads};
use crate::describe::USUAL_DEPTH;
use crate::shape::Path;
use crate::target::{Sure, Target};

/// Sets the guarantees of all connections. I8: the connections that may be active at once fit at
/// every cell and on every link.
pub(super) fn guarantee(
    target: &Target,
    instances: &mut [Instance],
    connections: &mut [Linked],
    errors: &mut Vec<LinkError>,
) {
    let empty = Load::none(target.links(), target.cells);
    let loads = Loads::new(instances, connections, &empty);
    for (at, instance) in instances.iter_mut().enumerate() {
        let mut beside = loads.around[at].clone();
        beside.add(&loads.wires[at]);
        beside.add(&loads.below[at]);
        // External connections are active in every set.
        let mut greatest = beside.clone();
        greatest.add(&loads.sets[at]);
        for (at, wire) in instance.wires.clone().into_iter().enumerate() {
            let Some(path) = &connections[wire].path else { continue };
            let guarantee = of(target, &greatest, path, &connections[wire]);
            if guarantee.rate.is_some_and(|rate| rate <= 0.0) {
                let what =
                    "reservations take all of a link on its way: reserve less, or for it, too".to_owned();
                errors.push(LinkError::External { task: instance.path.clone(), wire: at, what });
            }
            slow(target, &connections[wire], path, errors);
            connections[wire].guarantee = guarantee;
        }
        let (path, first) = (instance.path.clone(), instance.first);
        if instance.sets.is_empty() {
            exceeded(target, &greatest, &path, "(none)", errors);
        }
        for set in &mut instance.sets {
            let name = set.name.clone();
            let before = errors.len();
            for part in &mut set.parts {
                let mut load = beside.clone();
                load.part(part, connections);
                if errors.len() == before {
                    exceeded(target, &load, &path, &name, errors);
                }
                part.guaranteed = part
                    .connections
                    .iter()
                    .map(|(connection, path)| of(target, &load, path, &connections[*connection]))
                    .collect();
                for (connection, path) in &part.connections {
                    slow(target, &connections[*connection], path, errors);
                }
                if errors.len() > before {
                    continue;
                }
                let nothing = |guarantee: &Guarantee| guarantee.rate.is_some_and(|rate| rate <= 0.0);
                let starved = part.guaranteed.iter().position(nothing);
                if let Some((connection, starving)) = starved.map(|at| &part.connections[at]) {
                    let worst = starving
                        .links
                        .iter()
                        .max_by(|a, b| load.reserved[**a].total_cmp(&load.reserved[**b]));
                    let link = worst.map(|link| target.link_name(*link));
                    errors.push(LinkError::Starved {
                        link: link.unwrap_or_default(),
                        task: path.clone(),
                        set: name.clone(),
                        connection: connection - first,
                    });
                }
            }
        }
    }
}

/// A connection's least rate on its links: its reservation, or an equal share of the unreserved
/// bandwidth, as far as its buffer lets it be used.
fn of(target: &Target, load: &Load, path: &Path, linked: &Linked) -> Guarantee {
    let links = &path.links;
    let second = target.mhz * 1e6;
    let share = target.link_bandwidth().map(|bandwidth| {
        let left = |link: &usize| (bandwidth - load.reserved[*link]) / load.shared[*link].max(1) as f64;
        let least = links.iter().map(left).fold(bandwidth, f64::min).max(0.0);
        linked.charged.unwrap_or(least) / target.charge(linked.shortest) / second
    });
    let rate = share.map(|share| match linked.rate {
        Some(rate) => rate / second,
        None => share.min(window(target, linked.depth, path.hops())),
    });
    let turns = |link: &&usize| **link >= target.shape.links(target.cells);
    let most = |links: &mut dyn Iterator<Item = &usize>| links.map(|link| load.on(*link)).max().unwrap_or(1);
    let congestion = most(&mut links.iter().filter(|link| !turns(link)));
    Guarantee { rate, share, bound: None, congestion, throttle: most(&mut links.iter().filter(turns)) }
}

/// Bytes a cycle that a buffer of `depth` bytes lets pass: at most three quarters of it are under way
/// until the receiver's report of the first has come back.
fn window(target: &Target, depth: usize, hops: usize) -> f64 {
    // Measured rates are those of connections with the usual buffer.
    if matches!(target.sure, Sure::Measured { .. }) && depth >= USUAL_DEPTH {
        return f64::INFINITY;
    }
    let round_trip = target.overhead + 2.0 * (target.hop * hops as f64 + target.wait);
    0.75 * depth as f64 / round_trip
}

/// Reports a reservation that the cells at its ends, or the connection's own buffer, do not let pass.
fn slow(target: &Target, linked: &Linked, path: &Path, errors: &mut Vec<LinkError>) {
    let Some(rate) = linked.rate else { return };
    let most = linked.shortest as f64 / target.ends() * target.mhz * 1e6;
    if rate >= most {
        let (connection, bytes) = (linked.name.clone(), linked.shortest);
        errors.push(LinkError::Short { connection, rate, bytes, most });
        return;
    }
    let most = window(target, linked.depth, path.hops()) * target.mhz * 1e6;
    if rate > most {
        let need = (linked.depth as f64 * rate / most).ceil();
        let (connection, depth) = (linked.name.clone(), linked.depth);
        errors.push(LinkError::Window { connection, rate, depth, need });
    }
}

/// Reports the cell and the link that are exceeded most, if any.
fn exceeded(target: &Target, load: &Load, task: &str, set: &str, errors: &mut Vec<LinkError>) {
    let (task, set) = (task.to_owned(), set.to_owned());
    // The first of equal maxima.
    let cell = (0..load.slots.len()).rev().max_by_key(|cell| load.slots[*cell]);
    if let (Some(have), Some(cell)) = (target.slots, cell)
        && load.slots[cell] > have
    {
        let need = load.slots[cell];
        errors.push(LinkError::Slots { cell, task: task.clone(), set: set.clone(), need, have });
    }
    let Some(have) = target.link_bandwidth() else { return };
    let link = (0..load.reserved.len()).rev().max_by(|a, b| load.reserved[*a].total_cmp(&load.reserved[*b]));
    if let Some(link) = link.filter(|link| load.reserved[*link] > have * (1.0 + 1e-9)) {
        let need = load.reserved[link];
        let link = target.link_name(link);
        errors.push(LinkError::Bandwidth { link, task, set, need, have });
    }
}
