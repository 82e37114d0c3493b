//! Finds the barriers of an application, and the algorithm of each.

use super::image::{Instance, Membership};
use super::{LinkError, Options};
use crate::barrier::{Algorithm, Costs, Schedule};
use crate::describe::App;
use crate::shape::Shape;
use crate::target::Target;
use std::collections::{BTreeMap, BTreeSet};

/// Finds the barriers of all instances: one of each instance's cells, and one of its connected
/// component, whose tasks begin and end together (Warfel 1996, §5.3). Equal lists of cells share
/// one barrier.
pub(super) fn barriers(
    app: &App,
    target: &Target,
    options: &Options,
    instances: &mut [Instance],
    errors: &mut Vec<LinkError>,
) -> Vec<Membership> {
    let mut found: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    let mut number = |mut cells: Vec<usize>| {
        cells.sort_unstable();
        let next = found.len();
        *found.entry(cells).or_insert(next)
    };
    for at in 0..instances.len() {
        let own = number(instances[at].cells.clone());
        instances[at].own = own;
        if at == 0 {
            instances[at].component = own;
        }
        for component in components(app, &instances[at]) {
            let cells = component.iter().flat_map(|child| instances[*child].cells.clone()).collect();
            let barrier = number(cells);
            for child in &component {
                instances[*child].component = barrier;
                instances[*child].together = component[0];
            }
        }
    }
    let mut cells: Vec<Vec<usize>> = vec![Vec::new(); found.len()];
    found.into_iter().for_each(|(members, number)| cells[number] = members);
    let chains = chains(instances);
    let mut chosen: Vec<Option<(Kind, Membership)>> = vec![None; cells.len()];
    for barrier in by_use(instances, options, &cells) {
        let full = |kind: Kind| {
            let Some(most) = kind.pending(target) else { return false };
            let of_kind = |other: &&usize| chosen[**other].as_ref().is_some_and(|(other, _)| *other == kind);
            let mut around = chains.iter().filter(|chain| chain.contains(&barrier));
            around.any(|chain| chain.iter().filter(of_kind).count() >= most)
        };
        let found = member(target, options, &cells[barrier], full);
        match found {
            Ok(found) => chosen[barrier] = Some(found),
            Err(None) => {
                // The innermost tasks have the most barriers around them.
                let most = instances.iter().zip(&chains).max_by_key(|(_, chain)| chain.len());
                let (cell, need) = most.map_or((0, 0), |(of, chain)| (of.cells[0], chain.len()));
                errors.push(LinkError::Barriers { cell, need, have: target.barriers.unwrap_or(0) });
                return Vec::new();
            }
            Err(Some(error)) => errors.push(error),
        }
    }
    let kinds: Vec<Option<Kind>> =
        chosen.iter().map(|chosen| chosen.as_ref().map(|(kind, _)| *kind)).collect();
    let ids = colour(&chains, &kinds);
    let members = chosen.into_iter().zip(ids);
    members.filter_map(|(chosen, id)| chosen.map(|(_, member)| Membership { id, ..member })).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The machine's hardware barrier.
    Native,
    /// Its barrier messages.
    Usual,
    /// One of its other signals.
    Other(usize),
}

impl Kind {
    fn all(target: &Target) -> impl Iterator<Item = Self> {
        [Self::Native, Self::Usual].into_iter().chain((0..target.signals.len()).map(Self::Other))
    }

    /// Barriers that may be pending at a cell.
    fn pending(self, target: &Target) -> Option<usize> {
        match self {
            Self::Native => None,
            Self::Usual => target.barriers,
            Self::Other(signal) => target.signals[signal].pending,
        }
    }
}

/// The barriers that may be pending at the cells of each instance.
fn chains(instances: &[Instance]) -> Vec<BTreeSet<usize>> {
    let mut chains: Vec<BTreeSet<usize>> = Vec::with_capacity(instances.len());
    for instance in instances {
        let mut chain = instance.parent.map_or_else(BTreeSet::new, |parent| chains[parent].clone());
        chain.extend([instance.own, instance.component]);
        chains.push(chain);
    }
    chains
}

/// The barriers, those that are used most first (Warfel 1996, §9.2.1). How often is not known; as
/// compilers do for registers, each level of nesting counts ten times: what is in a loop is a child, and
/// a task with several sets switches between them.
fn by_use(instances: &[Instance], options: &Options, cells: &[Vec<usize>]) -> Vec<usize> {
    let mut uses = vec![0.0; cells.len()];
    let mut weights: Vec<f64> = Vec::with_capacity(instances.len());
    for instance in instances {
        let weight = instance.parent.map_or(1.0, |parent| 10.0 * weights[parent]);
        weights.push(weight);
        let barriers = options.switch.barriers() as f64;
        if instance.parent.is_some() {
            uses[instance.component] += weight * (barriers + 1.0);
        }
        if instance.sets.len() > 1 || instance.sets.iter().any(|set| set.parts.len() > 1) {
            uses[instance.own] += 10.0 * weight * barriers;
        }
    }
    let mut order: Vec<usize> = (0..cells.len()).collect();
    // Of equals the greater one, which is the dearer one.
    order.sort_by(|a, b| uses[*b].total_cmp(&uses[*a]).then(cells[*b].len().cmp(&cells[*a].len())));
    order
}

/// The children of an instance, by connected component: the children joined by external
/// connections.
fn components(app: &App, parent: &Instance) -> Vec<Vec<usize>> {
    let count = parent.children.len();
    let mut of: Vec<usize> = (0..count).collect();
    let root = |of: &[usize], mut child: usize| {
        while of[child] != child {
            child = of[child];
        }
        child
    };
    for wire in &app[parent.task].wires {
        let (a, b) = (root(&of, wire.from.0), root(&of, wire.to.0));
        of[a.max(b)] = a.min(b);
    }
    let mut components: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for child in 0..count {
        components.entry(root(&of, child)).or_default().push(parent.children[child]);
    }
    components.into_values().collect()
}

/// Numbers the barriers so that two of one kind that may be pending at a cell at once differ: one task
/// then contains the other.
fn colour(chains: &[BTreeSet<usize>], kinds: &[Option<Kind>]) -> Vec<usize> {
    let mut together = vec![BTreeSet::new(); kinds.len()];
    for chain in chains {
        for barrier in chain {
            let others = chain.iter().filter(|other| *other != barrier && kinds[**other] == kinds[*barrier]);
            together[*barrier].extend(others.copied());
        }
    }
    let mut ids = vec![usize::MAX; kinds.len()];
    for barrier in 0..kinds.len() {
        let taken: BTreeSet<usize> = together[barrier].iter().map(|other| ids[*other]).collect();
        ids[barrier] = (0..).find(|id| !taken.contains(id)).unwrap_or(0);
    }
    ids
}

/// Chooses the cheapest signal and barrier algorithm that the cells and the machine allow, of those that
/// are not full. `Err(None)` if all are that suit.
fn member(
    target: &Target,
    options: &Options,
    cells: &[usize],
    full: impl Fn(Kind) -> bool,
) -> Result<(Kind, Membership), Option<LinkError>> {
    let members = cells.len();
    let extents = block(target.shape, cells);
    let whole = members == target.cells;
    let mut best: Option<(Kind, Membership)> = None;
    let mut reason = "no algorithm suits".to_owned();
    let mut any_full = false;
    let fits = |kind: &Kind| match kind {
        Kind::Native => whole && target.native_barrier.is_some(),
        Kind::Usual => true,
        Kind::Other(signal) => whole || !target.signals[*signal].whole,
    };
    for kind in Kind::all(target).filter(fits) {
        let (costs, signal, mut candidates) = match kind {
            Kind::Native => (target.barrier, None, vec![Algorithm::Native]),
            Kind::Usual => (target.barrier, None, Algorithm::all(extents.as_deref())),
            Kind::Other(at) => {
                let signal = &target.signals[at];
                (signal.costs(target.cells), Some(&signal.name), signal.algorithms(extents.as_deref()))
            }
        };
        if let Some(pinned) = &options.barrier {
            // Rings may be pinned with other extents than those of the block.
            let suits = candidates.contains(pinned) || kind == Kind::Usual && is_rings(pinned);
            candidates = if suits { vec![pinned.clone()] } else { Vec::new() };
        }
        if candidates.is_empty() {
            continue;
        }
        if full(kind) {
            any_full = true;
            continue;
        }
        for algorithm in candidates {
            let priced = priced(target, kind, &algorithm, cells, &costs);
            match priced {
                Ok((ordered, schedule, more, clocks)) => {
                    if best.as_ref().is_none_or(|(_, best)| clocks < best.clocks) {
                        let (cells, signal) = (ordered, signal.cloned());
                        let member =
                            Membership { cells, algorithm, schedule, costs, signal, more, clocks, id: 0 };
                        best = Some((kind, member));
                    }
                }
                Err(why) => reason = why,
            }
        }
    }
    if best.is_none() && !any_full && options.barrier == Some(Algorithm::Native) {
        reason = "the machine has none of its own for these cells".to_owned();
    }
    best.ok_or_else(|| {
        (!any_full).then(|| LinkError::Algorithm {
            algorithm: options.barrier.as_ref().map_or_else(|| "any".to_owned(), ToString::to_string),
            members,
            what: reason,
        })
    })
}

fn is_rings(algorithm: &Algorithm) -> bool {
    matches!(algorithm, Algorithm::Rings(_))
}

/// The order of the members, the schedule, the cycles besides it, and all cycles; or why not.
fn priced(
    target: &Target,
    kind: Kind,
    algorithm: &Algorithm,
    cells: &[usize],
    costs: &Costs,
) -> Result<(Vec<usize>, Schedule, f64, f64), String> {
    let (members, whole) = (cells.len(), cells.len() == target.cells);
    if kind == Kind::Native {
        let clocks = target.native_barrier.unwrap_or(0.0);
        return Ok((cells.to_vec(), Schedule::default(), 0.0, clocks));
    }
    let schedule = algorithm.schedule(members).ok_or("its extents do not match the cells")?;
    let ordered = if is_rings(algorithm) { cells.to_vec() } else { snake(target.shape, cells) };
    let dimensions = if let Algorithm::Rings(extents) = algorithm { extents.len() } else { 1 };
    let peers = target.barrier_peers.filter(|_| kind == Kind::Usual);
    let peers = peers.map(|peers| if whole { peers * dimensions } else { peers });
    if let Some(peers) = peers.filter(|peers| schedule.peers() > *peers) {
        return Err(format!("a cell would receive from {} others, and may from {peers}", schedule.peers()));
    }
    let hops = |a: usize, b: usize| target.shape.distance(ordered[a], ordered[b]);
    let outcome = schedule.price(costs, &[], hops).ok_or("its schedule never ends")?;
    let usual = if kind == Kind::Usual { target.barrier_dimension } else { 0.0 };
    let more = usual * dimensions.saturating_sub(1) as f64;
    let clocks = if members > 1 { outcome.time() + more } else { 0.0 };
    Ok((ordered, schedule, more, clocks))
}

/// The extents of cells that form a block of a grid, at least two in each direction; the cells are
/// then in the order of the rings' members.
fn block(shape: Shape, cells: &[usize]) -> Option<Vec<usize>> {
    let (Shape::Mesh { width, .. } | Shape::Torus { width, .. }) = shape else { return None };
    let first = *cells.first()?;
    let last = *cells.last()?;
    let columns = (last % width).checked_sub(first % width)? + 1;
    let rows = (last / width).checked_sub(first / width)? + 1;
    let is_block = columns * rows == cells.len()
        && cells.iter().enumerate().all(|(at, cell)| {
            cell % width == first % width + at % columns && cell / width == first / width + at / columns
        });
    (is_block && columns > 1 && rows > 1).then(|| vec![columns, rows])
}

/// Orders the cells along a snake through the rows, so that rings join neighbours.
fn snake(shape: Shape, cells: &[usize]) -> Vec<usize> {
    let (Shape::Mesh { width, .. } | Shape::Torus { width, .. }) = shape else { return cells.to_vec() };
    let first = cells.first().map_or(0, |cell| cell / width);
    let mut ordered = cells.to_vec();
    ordered.sort_by_key(|cell| {
        let (x, y) = (cell % width, cell / width);
        (y, if (y - first).is_multiple_of(2) { x } else { width - 1 - x })
    });
    ordered
}
