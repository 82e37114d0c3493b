//! Dragonflies (Kim, Dally, Scott, Abts 2008).
//!
//! The switches of a group are all connected to each other, and so are the groups. The
//! `switches · global` global links of a group are divided equally among the other groups; the
//! remainder is unused. A packet takes a shortest path: to a switch of its group with a link to the
//! target's group, over that link, and to the target's switch. It queues in lane 0 in the first
//! group and in lane 1 in the second, so that there is no circular wait.

use super::error::{at_least, bandwidth, within};
use super::{End, Hop, MOST_LINKS, Shape, TopologyError, Wire};
use crate::Time;
use crate::platform::Link;

/// A dragonfly. Node `i` is at switch `i / nodes`, which is in group `i / nodes / switches`.
///
/// From group `g`, link `r` to group `g + d` (modulo the groups) starts at switch
/// `(r · (groups - 1) + d - 1) / global` and ends at the switch where link `r` back starts.
#[derive(Debug)]
pub(super) struct Dragonfly {
    nodes: u32,
    switches: u32,
    global: u32,
    groups: u32,
    /// Number of global links between two groups.
    between: u32,
    local: Wire,
    far: Wire,
}

/// The sizes of a group.
pub(super) struct Group {
    pub(super) nodes: usize,
    pub(super) switches: usize,
    pub(super) global: usize,
}

impl Dragonfly {
    pub(super) fn new(
        count: usize,
        group: Group,
        link: &Link,
        global_bandwidth: f64,
        global_latency: Time,
    ) -> Result<Self, TopologyError> {
        let Group { nodes, switches, global } = group;
        at_least(1, "topology.nodes", nodes, "at least 1 at each switch")?;
        at_least(1, "topology.switches", switches, "at least 1 in each group")?;
        bandwidth("topology.global_bandwidth", global_bandwidth)?;
        let links =
            within("dragonfly", count, "global links of a group", MOST_LINKS, switches.checked_mul(global))?;
        let room = nodes.saturating_mul(switches);
        let groups = count.div_ceil(room);
        if groups > links + 1 {
            let topology =
                format!("dragonfly of {} groups, each with {switches} switches of {nodes} nodes", links + 1);
            return Err(TopologyError::TooMany {
                topology,
                nodes: count,
                most: room.saturating_mul(links + 1),
            });
        }
        let between = if groups > 1 { links / (groups - 1) } else { 0 };
        let inside = switches.checked_mul(switches).and_then(|all| all.checked_mul(groups));
        within(
            "dragonfly",
            count,
            "links",
            MOST_LINKS,
            inside.and_then(|inside| inside.checked_add(groups * links)),
        )?;
        let wire =
            |bandwidth, latency, lanes| Wire { from: End::Nodes, to: End::Nodes, bandwidth, latency, lanes };
        Ok(Self {
            // More nodes than exist make no difference.
            nodes: nodes.min(count) as u32,
            switches: switches as u32,
            global: global as u32,
            groups: groups as u32,
            between: between as u32,
            local: wire(link.bandwidth, link.latency, 2),
            far: wire(global_bandwidth, global_latency, 1),
        })
    }

    /// A switch's group, and its index there.
    fn split(&self, switch: u32) -> (u32, u32) {
        (switch / self.switches, switch % self.switches)
    }

    fn distance(&self, from: u32, to: u32) -> u32 {
        (to + self.groups - from) % self.groups
    }

    /// The index in its group of the switch where link `link` to the group at `distance` starts.
    fn start(&self, distance: u32, link: u32) -> u32 {
        (link * (self.groups - 1) + distance - 1) / self.global
    }

    /// Local links of a packet that uses the global link `link`.
    fn local_hops(&self, distance: u32, link: u32, here: u32, there: u32) -> u32 {
        u32::from(self.start(distance, link) != here)
            + u32::from(self.start(self.groups - distance, link) != there)
    }

    /// The index of the local link from one switch of a group to another.
    fn local(&self, group: u32, from: u32, to: u32) -> u32 {
        (group * self.switches + from) * (self.switches - 1) + to - u32::from(to > from)
    }
}

impl Shape for Dragonfly {
    fn home(&self, node: u32) -> u32 {
        node / self.nodes
    }

    fn wires(&self) -> Vec<Wire> {
        let mut wires = Vec::new();
        let switch = |group, number| End::Switch(group * self.switches + number);
        for group in 0..self.groups {
            for from in 0..self.switches {
                for to in (0..self.switches).filter(|&to| to != from) {
                    wires.push(Wire { from: switch(group, from), to: switch(group, to), ..self.local });
                }
            }
        }
        for group in 0..self.groups {
            for link in 0..self.between {
                for distance in 1..self.groups {
                    let from = switch(group, self.start(distance, link));
                    let to =
                        switch((group + distance) % self.groups, self.start(self.groups - distance, link));
                    wires.push(Wire { from, to, ..self.far });
                }
            }
        }
        wires
    }

    fn next(&self, at: u32, to: u32) -> Option<Hop> {
        let target = self.home(to);
        if at == target {
            return None;
        }
        let ((group, here), (far, there)) = (self.split(at), self.split(target));
        if group == far {
            return Some(Hop { link: self.local(group, here, there), lane: 1, ways: 1 });
        }
        let distance = self.distance(group, far);
        let hops = |&link: &u32| self.local_hops(distance, link, here, there);
        let least = (0..self.between).map(|link| hops(&link)).min()?;
        let least = || (0..self.between).filter(|link| hops(link) == least);
        // Among equivalent links each target uses one, so that packets to it stay in order.
        let link = least().nth(to as usize % least().count())?;
        let start = self.start(distance, link);
        Some(if start == here {
            let locals = self.groups * self.switches * (self.switches - 1);
            let link = (group * self.between + link) * (self.groups - 1) + distance - 1;
            Hop { link: locals + link, lane: 0, ways: 1 }
        } else {
            Hop { link: self.local(group, here, start), lane: 0, ways: 1 }
        })
    }

    fn hops(&self, from: u32, to: u32) -> usize {
        let (from, to) = (self.home(from), self.home(to));
        let ((group, here), (far, there)) = (self.split(from), self.split(to));
        if group == far {
            return usize::from(here != there);
        }
        let distance = self.distance(group, far);
        let local = (0..self.between).map(|link| self.local_hops(distance, link, here, there)).min();
        local.unwrap_or(0) as usize + 1
    }

    fn bisection(&self) -> f64 {
        let halves = |count: u32| f64::from(count / 2) * f64::from(count.div_ceil(2));
        match (self.groups, self.switches) {
            (1, 1) => f64::INFINITY,
            (1, switches) => halves(switches) * self.local.bandwidth,
            (groups, _) => halves(groups) * f64::from(self.between) * self.far.bandwidth,
        }
    }

    fn name(&self, switch: u32) -> String {
        let (group, number) = self.split(switch);
        format!("group {group} switch {number}")
    }
}
