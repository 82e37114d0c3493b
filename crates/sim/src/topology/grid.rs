//! Meshes and tori of two or three dimensions.
//!
//! A packet travels along the first dimension to its target's position, then along the next. In a
//! torus it takes the shorter way round; where both are equal, even positions go up and odd ones
//! down, so that both are used. Around a ring, packets that have yet to pass the end of the row
//! queue in lane 0 and all others in lane 1 (Dally and Seitz 1987), so that there is no circular
//! wait.

use super::error::{refuse, within};
use super::{End, Hop, MOST_LINKS, Shape, TopologyError, Wire};
use crate::platform::{Link, squarest};

/// The least length of a row that forms a ring: in shorter rows, the ends are neighbours anyway.
const RING: u32 = 3;

/// Marks the absence of a link, at the edge of a mesh.
const EDGE: u32 = u32::MAX;

const MOST: usize = 3;

/// A mesh or torus. Switch `x + extent₀ · (y + extent₁ · z)` is at (x, y, z), node `i` at switch
/// `i`.
#[derive(Debug)]
pub(super) struct Grid {
    extents: Vec<u32>,
    wrap: bool,
    link: Link,
    places: Vec<[u32; MOST]>,
    /// For each switch and dimension the links down and up.
    links: Vec<u32>,
}

impl Grid {
    pub(super) fn new(
        nodes: usize,
        extents: Option<&[usize]>,
        dimensions: usize,
        wrap: bool,
        link: &Link,
    ) -> Result<Self, TopologyError> {
        let kind = if wrap { "torus" } else { "mesh" };
        let extents = match extents {
            Some(extents) => extents.to_vec(),
            None if dimensions == 2 => squarest(nodes).to_vec(),
            None if dimensions == 3 => cubest(nodes).to_vec(),
            None => return refuse("topology.dimensions", dimensions, "2 or 3"),
        };
        if !(2..=MOST).contains(&extents.len()) || extents.contains(&0) {
            return refuse("topology.extents", format!("{extents:?}"), "2 or 3 numbers of at least 1");
        }
        let product = extents.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent));
        let switches = within(kind, nodes, "switches", MOST_LINKS / (2 * MOST), product)?;
        if nodes > switches {
            let extents: Vec<_> = extents.iter().map(ToString::to_string).collect();
            let topology = format!("{kind} of {}", extents.join(" x "));
            return Err(TopologyError::TooMany { topology, nodes, most: switches });
        }
        let extents: Vec<_> = extents.iter().map(|&extent| extent as u32).collect();
        let places = (0..switches as u32).map(|switch| {
            let mut rest = switch;
            let mut place = [0; MOST];
            for (coordinate, extent) in place.iter_mut().zip(&extents) {
                (*coordinate, rest) = (rest % extent, rest / extent);
            }
            place
        });
        let mut grid = Self { places: places.collect(), extents, wrap, link: *link, links: Vec::new() };
        let mut number = 0;
        for switch in 0..switches {
            for dimension in 0..grid.extents.len() {
                for up in [false, true] {
                    let there = grid.neighbour(switch, dimension, up).is_some();
                    grid.links.push(if there { number } else { EDGE });
                    number += u32::from(there);
                }
            }
        }
        Ok(grid)
    }

    /// True if the ends of a row are connected.
    fn ring(&self, dimension: usize) -> bool {
        self.wrap && self.extents[dimension] >= RING
    }

    /// The switch next to a given one.
    fn neighbour(&self, switch: usize, dimension: usize, up: bool) -> Option<u32> {
        let extent = self.extents[dimension];
        let at = self.places[switch][dimension];
        let stride: u32 = self.extents[..dimension].iter().product();
        let there = match up {
            true if at + 1 < extent => at + 1,
            false if at > 0 => at - 1,
            _ if !self.ring(dimension) => return None,
            true => 0,
            false => extent - 1,
        };
        Some(switch as u32 - at * stride + there * stride)
    }

    /// Steps up and steps down from one position in a row to another.
    fn ways(&self, dimension: usize, at: u32, to: u32) -> (u32, u32) {
        let extent = self.extents[dimension];
        if to > at { (to - at, extent - (to - at)) } else { (extent - (at - to), at - to) }
    }
}

impl Shape for Grid {
    fn direct(&self) -> bool {
        true
    }

    fn home(&self, node: u32) -> u32 {
        node
    }

    fn wires(&self) -> Vec<Wire> {
        let mut wires = Vec::new();
        for switch in 0..self.places.len() {
            for dimension in 0..self.extents.len() {
                let lanes = if self.ring(dimension) { 2 } else { 1 };
                for to in [false, true].into_iter().filter_map(|up| self.neighbour(switch, dimension, up)) {
                    wires.push(Wire {
                        from: End::Switch(switch as u32),
                        to: End::Switch(to),
                        bandwidth: self.link.bandwidth,
                        latency: self.link.latency,
                        lanes,
                    });
                }
            }
        }
        wires
    }

    fn next(&self, at: u32, to: u32) -> Option<Hop> {
        let (here, target) = (self.places[at as usize], self.places[to as usize]);
        let dimension = (0..self.extents.len()).find(|&dimension| here[dimension] != target[dimension])?;
        let (here, target) = (here[dimension], target[dimension]);
        let ring = self.ring(dimension);
        let up = if ring {
            let (up, down) = self.ways(dimension, here, target);
            up < down || up == down && here % 2 == 0
        } else {
            target > here
        };
        // In a ring: 1 if the packet no longer has to pass the end of the row.
        let lane = u32::from(ring && (target > here) == up);
        let link = self.links[(at as usize * self.extents.len() + dimension) * 2 + usize::from(up)];
        Some(Hop { link, lane, ways: 1 })
    }

    fn hops(&self, from: u32, to: u32) -> usize {
        let (from, to) = (self.places[from as usize], self.places[to as usize]);
        let steps = (0..self.extents.len()).map(|dimension| {
            let (from, to) = (from[dimension], to[dimension]);
            if self.ring(dimension) && from != to {
                let (up, down) = self.ways(dimension, from, to);
                up.min(down) as usize
            } else {
                from.abs_diff(to) as usize
            }
        });
        steps.sum()
    }

    fn bisection(&self) -> f64 {
        let longest = (0..self.extents.len()).max_by_key(|&dimension| self.extents[dimension]).unwrap_or(0);
        let rows = self.places.len() as f64 / f64::from(self.extents[longest]);
        rows * if self.ring(longest) { 2.0 } else { 1.0 } * self.link.bandwidth
    }

    fn name(&self, switch: u32) -> String {
        let place: Vec<_> = match self.places.get(switch as usize) {
            Some(place) => place[..self.extents.len()].iter().map(ToString::to_string).collect(),
            None => Vec::new(),
        };
        format!("({})", place.join(","))
    }
}

/// The three factors of a number with the least sum, the largest first: at equal volume, that box
/// has the least diameter.
fn cubest(nodes: usize) -> [usize; 3] {
    let factors = (1..=nodes).take_while(|factor| factor * factor * factor <= nodes);
    let boxes = factors.filter(|&least| nodes.is_multiple_of(least)).map(|least| {
        let [long, middle] = squarest(nodes / least);
        let mut sides = [long, middle, least];
        sides.sort_unstable_by_key(|&side| std::cmp::Reverse(side));
        sides
    });
    boxes.min_by_key(|sides| sides.iter().sum::<usize>()).unwrap_or([nodes, 1, 1])
}

#[cfg(test)]
mod tests {
    use super::{cubest, squarest};

    #[test]
    fn factors_as_near_to_each_other_as_can_be() {
        for (nodes, two, three) in [
            (1, [1, 1], [1, 1, 1]),
            (2, [2, 1], [2, 1, 1]),
            (5, [5, 1], [5, 1, 1]),
            (8, [4, 2], [2, 2, 2]),
            (27, [9, 3], [3, 3, 3]),
            (36, [6, 6], [4, 3, 3]),
            (64, [8, 8], [4, 4, 4]),
            (1000, [40, 25], [10, 10, 10]),
            (4096, [64, 64], [16, 16, 16]),
        ] {
            assert_eq!(squarest(nodes), two);
            assert_eq!(cubest(nodes), three);
        }
    }
}
