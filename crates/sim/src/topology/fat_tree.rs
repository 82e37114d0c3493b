//! Fat trees of switches.
//!
//! A group of level 1 is `arity` nodes at one switch; a group of a higher level is `arity` groups
//! of the level below. If a group's top switches have `p` parents each, the group above has `p`
//! times as many top switches. Switch `i` of every group is connected to the switches
//! `i·p .. i·p + p` above, so that each of those has one child in every group, and the path down is
//! unique (Leiserson et al., *The Network Architecture of the Connection Machine CM-5*, 1992). The
//! last group of a level may have fewer children. A packet goes up to the least group that contains
//! its target, by any parents, and down.

use super::error::{at_least, bandwidth, refuse, within};
use super::{End, Hop, MOST_LINKS, Shape, TopologyError, Wire};
use crate::Time;
use crate::platform::Link;

const NAME: &str = "fat tree";

#[derive(Debug)]
pub(super) struct FatTree {
    nodes: usize,
    arity: u32,
    latency: Time,
    /// The levels, from the nodes' switches to the root.
    levels: Vec<Level>,
    places: Vec<Spot>,
}

/// One level of groups.
#[derive(Debug)]
struct Level {
    /// Nodes of a group.
    span: u32,
    groups: u32,
    /// Switches at the top of a group.
    tops: u32,
    /// Parents of each; 0 at the root.
    parents: u32,
    /// Bandwidth of one link to a parent.
    bandwidth: f64,
    first_switch: u32,
    /// Index of the first link to a parent; the links in the other direction are numbered alike.
    first_up: u32,
    first_down: u32,
}

impl Level {
    /// Number of links to parents.
    fn ups(&self) -> u32 {
        self.groups * self.tops * self.parents
    }
}

/// A switch: `index` among those at the top of a group.
#[derive(Clone, Copy, Debug)]
struct Spot {
    level: u32,
    group: u32,
    index: u32,
}

impl FatTree {
    pub(super) fn new(
        nodes: usize,
        arity: usize,
        parents: &[usize],
        bandwidths: &[f64],
        link: &Link,
    ) -> Result<Self, TopologyError> {
        at_least(2, "topology.arity", arity, "at least 2")?;
        for &parents in parents {
            at_least(1, "topology.parents", parents, "at least 1 at each level")?;
        }
        for &each in bandwidths {
            bandwidth("topology.bandwidths", each)?;
        }
        let (Some(&last_parents), Some(&last_bandwidth)) = (parents.last(), bandwidths.last()) else {
            let name = if parents.is_empty() { "topology.parents" } else { "topology.bandwidths" };
            return refuse(name, "empty", "a list of at least one value, from the nodes up");
        };
        let mut tree = Self {
            nodes,
            arity: u32::try_from(arity).unwrap_or(u32::MAX),
            latency: link.latency,
            levels: Vec::new(),
            places: Vec::new(),
        };
        let (mut span, mut tops, mut ups) = (arity, 1usize, 0usize);
        loop {
            let number = tree.levels.len();
            let groups = nodes.div_ceil(span);
            let parents = if groups == 1 { 0 } else { parents.get(number).copied().unwrap_or(last_parents) };
            within(NAME, nodes, "switches", MOST_LINKS, groups.checked_mul(tops))?;
            let above = tops.checked_mul(parents);
            let here =
                within(NAME, nodes, "links", MOST_LINKS, above.and_then(|above| above.checked_mul(groups)))?;
            let first_switch = tree.places.len() as u32;
            let (groups, level) = (groups as u32, number as u32);
            let switches = (0..groups).flat_map(|group| (0..tops as u32).map(move |index| (group, index)));
            tree.places.extend(switches.map(|(group, index)| Spot { level, group, index }));
            tree.levels.push(Level {
                span: u32::try_from(span).unwrap_or(u32::MAX),
                groups,
                tops: tops as u32,
                parents: parents as u32,
                bandwidth: bandwidths.get(number).copied().unwrap_or(last_bandwidth),
                first_switch,
                first_up: ups as u32,
                first_down: 0,
            });
            ups = within(NAME, nodes, "links", MOST_LINKS, ups.checked_add(here))?;
            if groups == 1 {
                break;
            }
            (span, tops) = (span.saturating_mul(arity), tops * parents);
        }
        for level in &mut tree.levels {
            level.first_down = level.first_up + ups as u32;
        }
        Ok(tree)
    }
}

impl Shape for FatTree {
    fn home(&self, node: u32) -> u32 {
        node / self.arity
    }

    fn wires(&self) -> Vec<Wire> {
        let mut wires = Vec::new();
        for (level, above) in self.levels.iter().zip(&self.levels[1..]) {
            for up in 0..level.ups() {
                let (switch, parent) = (up / level.parents, up % level.parents);
                let (group, index) = (switch / level.tops, switch % level.tops);
                let top = group / self.arity * above.tops + index * level.parents + parent;
                wires.push(Wire {
                    from: End::Switch(level.first_switch + switch),
                    to: End::Switch(above.first_switch + top),
                    bandwidth: level.bandwidth,
                    latency: self.latency,
                    lanes: 1,
                });
            }
        }
        let downs: Vec<_> = wires.iter().map(|up| Wire { from: up.to, to: up.from, ..*up }).collect();
        wires.extend(downs);
        wires
    }

    fn next(&self, at: u32, to: u32) -> Option<Hop> {
        let Spot { level, group, index } = self.places[at as usize];
        let here = &self.levels[level as usize];
        if to / here.span == group {
            let below = &self.levels[level.checked_sub(1)? as usize];
            let child = to / below.span * below.tops + index / below.parents;
            let link = below.first_down + child * below.parents + index % below.parents;
            return Some(Hop { link, lane: 0, ways: 1 });
        }
        let link = here.first_up + (group * here.tops + index) * here.parents;
        Some(Hop { link, lane: 0, ways: here.parents })
    }

    fn hops(&self, from: u32, to: u32) -> usize {
        2 * self.levels.iter().take_while(|level| from / level.span != to / level.span).count()
    }

    fn bisection(&self) -> f64 {
        let below_root = &self.levels[..self.levels.len() - 1];
        let halves = below_root.iter().map(|level| {
            f64::from(level.groups / 2) * f64::from(level.tops * level.parents) * level.bandwidth
        });
        halves.fold(f64::INFINITY, f64::min)
    }

    fn name(&self, switch: u32) -> String {
        let Some(Spot { level, group, index }) = self.places.get(switch as usize) else {
            return format!("switch {switch}");
        };
        let end =
            (u64::from(group + 1) * u64::from(self.levels[*level as usize].span)).min(self.nodes as u64);
        format!(
            "level {} nodes {}-{} switch {index}",
            level + 1,
            group * self.levels[*level as usize].span,
            end - 1
        )
    }
}
