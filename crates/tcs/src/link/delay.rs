//! Worst-case delays by network calculus (Cruz 1991; Le Boudec and Thiran, *Network Calculus*, 2001).
//!
//! What a sender has given to a connection is bounded by a token bucket, its *arrival curve*
//! b + r t: the buffer's capacity b, and the reservation r. Without a reservation it is b alone,
//! since the sender waits where more is under way. A link serves a connection by at least a
//! *service curve* R (t - T), with a rate R and a latency T. All has come when the greatest distance
//! between both curves has passed, which is T + b / R. Two service curves hold, and the lesser delay
//! counts:
//!
//! - the guaranteed rate, on every link of the path;
//! - what others leave, if all others whose links are joined with the path, directly or by a chain of
//!   connections, have reservations: then they use no more than their own arrival curves, and the
//!   rest of a link's rate is for this connection, in whatever order the links serve. A chain counts,
//!   since a connection holds all links of its path while it has its turn.

use super::image::{Instance, Linked};
use crate::shape::Path;
use crate::target::{Sure, Target};
use std::collections::{BTreeMap, BTreeSet};

/// A connection that may send: its number, and the links of a path that it may take.
type Active<'a> = (usize, &'a [usize]);

/// The most pairs of an instance and a connection of which the lesser delay is sought.
const MOST: usize = 1 << 22;

/// Sets the bounds of all connections whose rates are known.
pub(super) fn delays(target: &Target, instances: &mut [Instance], connections: &mut [Linked]) {
    if !target.guarantees() {
        return;
    }
    let reserved = connections.iter().any(|linked| linked.charged.is_some());
    let few = instances.len().saturating_mul(connections.len()) <= MOST;
    let others = |instances: &[Instance], connections: &[Linked], at, own: &[Active<'_>]| {
        (reserved && few).then(|| Others::new(instances, connections, at, own))
    };
    let mut found: Vec<Vec<Vec<Option<f64>>>> = Vec::new();
    for at in 0..instances.len() {
        let sets = instances[at].sets.iter().flat_map(|set| &set.parts);
        let bounds = sets.map(|part| {
            let own: Vec<Active<'_>> =
                part.connections.iter().map(|(number, path)| (*number, path.links.as_slice())).collect();
            let others = others(instances, connections, Some(at), &own);
            let bound = |((number, path), guarantee): (&(usize, Path), &super::image::Guarantee)| {
                bound(target, connections, (*number, path), guarantee.rate, others.as_ref())
            };
            part.connections.iter().zip(&part.guaranteed).map(bound).collect()
        });
        found.push(bounds.collect());
    }
    for (instance, bounds) in instances.iter_mut().zip(found) {
        let parts = instance.sets.iter_mut().flat_map(|set| &mut set.parts);
        for (part, bounds) in parts.zip(bounds) {
            part.guaranteed.iter_mut().zip(bounds).for_each(|(guarantee, bound)| guarantee.bound = bound);
        }
    }
    let others = others(instances, connections, None, &[]);
    let wires = instances.iter().flat_map(|instance| &instance.wires);
    let bounds: Vec<(usize, Option<f64>)> = wires
        .filter_map(|wire| {
            let linked = &connections[*wire];
            let of = (*wire, linked.path.as_ref()?);
            Some((*wire, bound(target, connections, of, linked.guarantee.rate, others.as_ref())))
        })
        .collect();
    for (wire, bound) in bounds {
        connections[wire].guarantee.bound = bound;
    }
}

/// All that may send beside a connection, in groups joined by links.
struct Others {
    /// By link: the number of its group.
    groups: BTreeMap<usize, usize>,
    members: Vec<BTreeSet<usize>>,
}

impl Others {
    /// Of an instance's part, all connections of other instances count, whichever of their sets is
    /// active: more than can be, so the bound is safe.
    fn new(instances: &[Instance], connections: &[Linked], at: Option<usize>, own: &[Active<'_>]) -> Self {
        let elsewhere = instances.iter().enumerate().filter(|(other, _)| Some(*other) != at);
        let parts = elsewhere.flat_map(|(_, other)| other.sets.iter().flat_map(|set| &set.parts));
        let inside =
            parts.flat_map(|part| &part.connections).map(|(number, path)| (*number, &path.links[..]));
        let wires = instances.iter().flat_map(|instance| &instance.wires);
        let wires = wires.filter_map(|wire| Some((*wire, &connections[*wire].path.as_ref()?.links[..])));
        let all: Vec<Active<'_>> = own.iter().copied().chain(inside).chain(wires).collect();
        let mut groups: BTreeMap<usize, usize> = BTreeMap::new();
        for (number, (_, links)) in all.iter().enumerate() {
            let joined: BTreeSet<usize> = links.iter().filter_map(|link| groups.get(link).copied()).collect();
            groups.values_mut().filter(|group| joined.contains(group)).for_each(|group| *group = number);
            groups.extend(links.iter().map(|link| (*link, number)));
        }
        let mut members = vec![BTreeSet::new(); all.len()];
        for (number, links) in &all {
            if let Some(group) = links.first().and_then(|link| groups.get(link)) {
                members[*group].insert(*number);
            }
        }
        Self { groups, members }
    }

    /// The others of a connection's group.
    fn of(&self, number: usize, path: &Path) -> impl Iterator<Item = usize> + '_ {
        let group = path.links.first().and_then(|link| self.groups.get(link));
        group
            .into_iter()
            .flat_map(|group| &self.members[*group])
            .copied()
            .filter(move |other| *other != number)
    }
}

/// Cycles after which a message has come that was sent with all that may be under way.
fn bound(
    target: &Target,
    connections: &[Linked],
    (number, path): (usize, &Path),
    rate: Option<f64>,
    others: Option<&Others>,
) -> Option<f64> {
    let (rate, link) = (rate?, target.link_rate?);
    let linked = &connections[number];
    let second = target.mhz * 1e6;
    // The messages of a burst take their sender's time one after another, and the last its receiver's.
    let ends = linked.depth.div_ceil(linked.shortest.max(1)) as f64 * target.ends();
    let hops =
        if matches!(target.sure, Sure::Measured { .. }) { 0.0 } else { target.hop * path.hops() as f64 };
    let fixed = target.ends() + hops + target.wait;
    // A reservation has its sender's time in it.
    let before = if linked.rate.is_some() { 0.0 } else { ends };
    let guaranteed = fixed + before + linked.depth as f64 / rate;
    let Some(others) = others else { return Some(guaranteed) };
    let charge = |linked: &Linked| target.charge(linked.shortest);
    let mut left = link;
    let mut bytes = linked.depth as f64 * charge(linked);
    for other in others.of(number, path).map(|other| &connections[other]) {
        let Some(rate) = other.rate else { return Some(guaranteed) };
        left -= rate / second * charge(other);
        bytes += other.depth as f64 * charge(other);
    }
    // While a sender is busy with its message, the others send.
    let alone = fixed + (ends * link + bytes) / left;
    let keeps_up = linked.charged.is_none_or(|charged| charged / second <= left);
    Some(if left > 0.0 && keeps_up { guaranteed.min(alone) } else { guaranteed })
}
