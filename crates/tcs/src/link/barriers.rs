//! Finds the barriers of an application, and the algorithm of each.

use super::image::{Instance, Membership};
use super::{LinkError, Options};
use crate::barrier::{Algorithm, Schedule};
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
    let ids = colour(target, instances, &cells, errors);
    let mut memberships = Vec::new();
    for (cells, id) in cells.into_iter().zip(ids) {
        match member(target, options, cells, id) {
            Ok(membership) => memberships.push(membership),
            Err(error) => errors.push(error),
        }
    }
    memberships
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

/// Numbers the barriers so that two that may be pending at a cell at once differ: one task then
/// contains the other.
fn colour(
    target: &Target,
    instances: &[Instance],
    cells: &[Vec<usize>],
    errors: &mut Vec<LinkError>,
) -> Vec<usize> {
    let mut chains: Vec<BTreeSet<usize>> = Vec::with_capacity(instances.len());
    let mut together = vec![BTreeSet::new(); cells.len()];
    let mut pending: BTreeMap<usize, usize> = BTreeMap::new();
    for instance in instances {
        let mut chain = instance.parent.map_or_else(BTreeSet::new, |parent| chains[parent].clone());
        chain.extend([instance.own, instance.component]);
        for barrier in [instance.own, instance.component] {
            for other in chain.iter().copied().filter(|other| *other != barrier) {
                together[barrier].insert(other);
                together[other].insert(barrier);
            }
        }
        for cell in &instance.cells {
            let most = pending.entry(*cell).or_default();
            *most = chain.len().max(*most);
        }
        chains.push(chain);
    }
    let worst = pending.iter().max_by_key(|(cell, need)| (**need, std::cmp::Reverse(**cell)));
    if let (Some(have), Some((cell, need))) = (target.barriers, worst)
        && *need > have
    {
        errors.push(LinkError::Barriers { cell: *cell, need: *need, have });
    }
    let mut ids = vec![usize::MAX; cells.len()];
    for barrier in 0..cells.len() {
        let taken: BTreeSet<usize> = together[barrier].iter().map(|other| ids[*other]).collect();
        ids[barrier] = (0..).find(|id| !taken.contains(id)).unwrap_or(0);
    }
    ids
}

/// Chooses the cheapest barrier algorithm that the cells and the machine allow.
fn member(target: &Target, options: &Options, cells: Vec<usize>, id: usize) -> Result<Membership, LinkError> {
    let members = cells.len();
    let extents = block(target.shape, &cells);
    let whole = members == target.cells;
    let mut candidates = Algorithm::all(extents.as_deref());
    if target.native_barrier.is_some() && whole {
        candidates.push(Algorithm::Native);
    }
    if let Some(pinned) = &options.barrier {
        candidates = vec![pinned.clone()];
    }
    let mut best: Option<Membership> = None;
    let mut reason = "no algorithm suits".to_owned();
    for algorithm in candidates {
        let (ordered, schedule, clocks) = if algorithm == Algorithm::Native {
            match target.native_barrier.filter(|_| whole) {
                Some(clocks) => (cells.clone(), Schedule::default(), clocks),
                None => {
                    reason = "the machine has none of its own for these cells".to_owned();
                    continue;
                }
            }
        } else {
            let Some(schedule) = algorithm.schedule(members) else {
                reason = "its extents do not match the cells".to_owned();
                continue;
            };
            let ordered = if matches!(algorithm, Algorithm::Rings(_)) {
                cells.clone()
            } else {
                snake(target.shape, &cells)
            };
            let dimensions = if let Algorithm::Rings(extents) = &algorithm { extents.len() } else { 1 };
            let peers = target.barrier_peers.map(|peers| if whole { peers * dimensions } else { peers });
            if peers.is_some_and(|peers| schedule.peers() > peers) {
                reason = format!(
                    "a cell would receive from {} others, and may from {}",
                    schedule.peers(),
                    peers.unwrap_or(0)
                );
                continue;
            }
            let hops = |a: usize, b: usize| target.shape.distance(ordered[a], ordered[b]);
            let Some(outcome) = schedule.price(&target.barrier, &[], hops) else { continue };
            let more = target.barrier_dimension * dimensions.saturating_sub(1) as f64;
            let clocks = if members > 1 { outcome.time() + more } else { 0.0 };
            (ordered, schedule, clocks)
        };
        if best.as_ref().is_none_or(|best| clocks < best.clocks) {
            best = Some(Membership { cells: ordered, algorithm, schedule, clocks, id });
        }
    }
    best.ok_or_else(|| LinkError::Algorithm {
        algorithm: options.barrier.as_ref().map_or_else(|| "any".to_owned(), ToString::to_string),
        members,
        what: reason,
    })
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
