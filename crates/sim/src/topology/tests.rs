//! Tests of routes and properties of topologies against known facts.

use super::*;
use crate::platform::{Host, Link};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

const GB: f64 = 1e9;

fn graph(topology: Topology, nodes: usize) -> Result<Graph, TopologyError> {
    let link = Link { bandwidth: GB, latency: Time(100), buffer: 2, cut_through: true, networks: 1 };
    Graph::new(&SimulatedMachine { topology, link, ..SimulatedMachine::named("cm5").unwrap() }, nodes)
}

/// The same between hosts of so many nodes.
fn between_hosts(topology: Topology, nodes: usize, each: usize) -> Result<Graph, TopologyError> {
    let link = Link { bandwidth: GB, latency: Time(100), buffer: 2, cut_through: true, networks: 1 };
    let host = Some(Host { nodes: each, bandwidth: 8.0 * GB, latency: Time(10) });
    Graph::new(&SimulatedMachine { topology, host, link, ..SimulatedMachine::named("cm5").unwrap() }, nodes)
}

fn mesh(dimensions: usize, wrap: bool) -> Topology {
    Topology::Mesh { extents: None, dimensions, wrap }
}

fn box_of(extents: &[usize], wrap: bool) -> Topology {
    Topology::Mesh { extents: Some(extents.to_vec()), dimensions: extents.len(), wrap }
}

fn fat_tree(arity: usize, parents: &[usize]) -> Topology {
    Topology::FatTree { arity, parents: parents.to_vec(), bandwidths: vec![GB] }
}

fn dragonfly(nodes: usize, switches: usize, global: usize) -> Topology {
    let (global_bandwidth, global_latency) = (2.0 * GB, Time(500));
    Topology::Dragonfly { nodes, switches, global, global_bandwidth, global_latency }
}

fn all() -> Vec<Topology> {
    vec![
        Topology::Crossbar,
        Topology::Switch { backplane: 3.0 * GB },
        Topology::Bus,
        fat_tree(2, &[1]),
        fat_tree(2, &[2]),
        fat_tree(4, &[2, 2, 4]),
        fat_tree(3, &[3, 1, 2]),
        mesh(2, false),
        mesh(3, false),
        mesh(2, true),
        mesh(3, true),
        box_of(&[9, 8], false),
        box_of(&[5, 5, 3], true),
        Topology::Hypercube,
        dragonfly(1, 2, 9),
        dragonfly(2, 4, 2),
        dragonfly(4, 3, 2),
        dragonfly(100, 1, 0),
    ]
}

/// Follows a packet; returns the links that it took, with the queues at their far ends.
fn route(graph: &Graph, from: u32, to: u32, random: &mut ChaCha8Rng) -> Vec<Hop> {
    let mut route = vec![graph.first(from, to)];
    assert!(
        matches!(graph.wires[route[0].link as usize].from, End::Node(node) if node == from)
            || graph.shape.is_none()
    );
    while let Some(End::Switch(at)) = route.last().map(|hop| graph.wires[hop.link as usize].to) {
        let hop = graph.next(at, to);
        let hop = Hop { link: hop.link + random.next_u32() % hop.ways, ..hop };
        assert_eq!(graph.wires[hop.link as usize].from, End::Switch(at), "{graph:?}");
        assert!(hop.lane < graph.wires[hop.link as usize].lanes);
        route.push(hop);
        assert!(route.len() <= 64, "{from} to {to} in circles: {route:?}");
    }
    let end = route.last().map(|hop| graph.wires[hop.link as usize].to);
    assert!(end == Some(End::Node(to)) || graph.shape.is_none());
    route
}

#[test]
fn every_route_ends_at_its_target_by_least_links() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for topology in all() {
        for nodes in [1, 2, 3, 5, 8, 27, 30, 64] {
            let Ok(graph) = graph(topology.clone(), nodes) else { continue };
            for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
                if from == to {
                    assert_eq!(graph.hops(from, to), 0);
                    continue;
                }
                let route = route(&graph, from as u32, to as u32, &mut random);
                let taken = route.iter().filter(|hop| graph.wires[hop.link as usize].latency > Time::ZERO);
                assert_eq!(taken.count(), graph.hops(from, to), "{topology:?} {nodes}: {from} to {to}");
            }
        }
    }
}

#[test]
fn hosts_share_their_links_and_reach_their_own_nodes_inside() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for topology in all() {
        for (nodes, each) in [(1, 1), (2, 2), (3, 2), (5, 4), (8, 2), (8, 8), (30, 4), (64, 1)] {
            let graph = match between_hosts(topology.clone(), nodes, each) {
                Ok(graph) => graph,
                Err(error) => {
                    let known = error.to_string();
                    assert!(topology != Topology::Bus || known.contains("no bus"), "{known}");
                    continue;
                }
            };
            for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
                if from == to {
                    continue;
                }
                let route = route(&graph, from as u32, to as u32, &mut random);
                let taken = route.iter().filter(|hop| graph.wires[hop.link as usize].latency > Time::ZERO);
                assert_eq!(taken.count(), graph.hops(from, to), "{topology:?} {nodes}: {from} to {to}");
                let inside = route.iter().all(|hop| graph.wires[hop.link as usize].latency == Time(10));
                assert_eq!(inside, from / each == to / each, "{topology:?} {nodes}: {from} to {to}");
            }
        }
    }
    let names = between_hosts(Topology::Crossbar, 4, 2).unwrap();
    let names: Vec<String> = (0..names.wires().len()).map(|link| names.name(link)).collect();
    assert!(names.contains(&"host 1 -> crossbar".to_owned()), "{names:?}");
}

/// Breadth-first distances over the links, as if any route were allowed.
fn least_links(graph: &Graph, from: usize) -> Vec<usize> {
    let mut far = vec![usize::MAX; graph.nodes()];
    let mut reached = vec![(End::Node(from as u32), 0)];
    let mut next = 0;
    while let Some(&(at, hops)) = reached.get(next) {
        next += 1;
        if let End::Node(node) = at {
            far[node as usize] = hops;
        }
        for wire in graph.wires.iter().filter(|wire| wire.from == at) {
            if !reached.iter().any(|(place, _)| *place == wire.to) {
                reached.push((wire.to, hops + usize::from(wire.latency > Time::ZERO)));
            }
        }
    }
    far
}

#[test]
fn no_way_is_shorter_than_the_hops() {
    for topology in all() {
        // In a dragonfly, a packet takes one global link, though two without local links may be
        // shorter.
        if matches!(topology, Topology::Bus | Topology::Dragonfly { .. }) {
            continue;
        }
        for nodes in [1, 2, 5, 8, 27, 64] {
            let Ok(graph) = graph(topology.clone(), nodes) else { continue };
            for from in 0..nodes {
                let hops: Vec<_> = (0..nodes).map(|to| graph.hops(from, to)).collect();
                assert_eq!(hops, least_links(&graph, from), "{topology:?} {nodes} from {from}");
            }
        }
    }
}

/// No deadlock: the wait-for graph of the queues has no cycle (Dally and Seitz 1987, theorem 1).
#[test]
fn queues_wait_for_each_other_in_no_circle() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for topology in all() {
        for nodes in [2, 3, 5, 8, 27, 64, 72, 75] {
            let Ok(graph) = graph(topology.clone(), nodes) else { continue };
            let mut count = 0;
            let first = |wire: &Wire| (count, count += wire.lanes as usize).0;
            let lanes: Vec<_> = graph.wires.iter().map(first).collect();
            let queue = |hop: &Hop| lanes[hop.link as usize] + hop.lane as usize;
            let mut waits_for = vec![Vec::new(); count];
            for (from, to) in (0..nodes as u32).flat_map(|from| (0..nodes as u32).map(move |to| (from, to))) {
                // Repeated so that every path up is chosen.
                for _ in 0..if matches!(topology, Topology::FatTree { .. }) { 8 } else { 1 } {
                    let route = route(&graph, from, to, &mut random);
                    for two in route.windows(2) {
                        waits_for[queue(&two[0])].push(queue(&two[1]));
                    }
                }
            }
            // Removes queues that no queue waits for, until none is left.
            let mut waited_for = vec![0; count];
            waits_for.iter().flatten().for_each(|&queue| waited_for[queue] += 1);
            let mut free: Vec<_> = (0..count).filter(|&queue| waited_for[queue] == 0).collect();
            let mut gone = 0;
            while let Some(queue) = free.pop() {
                gone += 1;
                for &next in &waits_for[queue] {
                    waited_for[next] -= 1;
                    if waited_for[next] == 0 {
                        free.push(next);
                    }
                }
            }
            assert_eq!(gone, count, "{topology:?} {nodes}");
        }
    }
}

#[test]
fn facts_of_known_machines() {
    let facts = |topology, nodes| {
        let graph = graph(topology, nodes).unwrap();
        (graph.wires().len(), graph.diameter(), graph.bisection() / GB)
    };
    assert_eq!(facts(Topology::Crossbar, 8), (16, 2, 4.0));
    assert_eq!(facts(Topology::Switch { backplane: 3.0 * GB }, 8), (17, 2, 3.0));
    assert_eq!(facts(Topology::Bus, 8), (1, 1, 1.0));
    assert_eq!(facts(Topology::Hypercube, 64), (128 + 64 * 6, 6, 32.0));
    assert_eq!(facts(mesh(2, false), 64), (128 + 4 * 56, 14, 8.0));
    assert_eq!(facts(mesh(2, true), 64), (128 + 4 * 64, 8, 16.0));
    assert_eq!(facts(mesh(3, false), 64), (128 + 6 * 48, 9, 16.0));
    assert_eq!(facts(mesh(3, true), 27), (54 + 6 * 27, 3, 13.0));
    // A row's two ends are neighbours: one link each way, not two.
    assert_eq!(facts(box_of(&[2, 2], true), 4), (8 + 8, 2, 2.0));
    // The CM-5: 4 nodes share two links up, 16 nodes four, 64 nodes sixteen.
    assert_eq!(facts(fat_tree(4, &[2, 2, 4]), 64), (128 + 2 * (16 * 2 + 4 * 4), 6, 8.0));
    assert_eq!(facts(fat_tree(2, &[2]), 8), (16 + 2 * (8 + 8), 6, 4.0));
    // 9 groups of 4 switches of 2 nodes.
    assert_eq!(facts(dragonfly(2, 4, 2), 72), (144 + 9 * 12 + 72, 5, 36.0));
    assert_eq!(facts(Topology::Crossbar, 1), (2, 0, 0.0));
}

#[test]
fn machines_that_cannot_be() {
    let error = |topology, nodes| graph(topology, nodes).unwrap_err().to_string();
    assert_eq!(error(Topology::Crossbar, 0), "a machine has at least 1 node, not 0");
    assert_eq!(error(Topology::Hypercube, 27), "27 nodes do not fit a hypercube: take 16 or 32");
    assert_eq!(
        error(box_of(&[4, 4], false), 17),
        "17 nodes do not fit a mesh of 4 x 4: it has room for 1 to 16"
    );
    assert_eq!(
        error(dragonfly(2, 4, 2), 73),
        "73 nodes do not fit a dragonfly of 9 groups, each with 4 switches of 2 nodes: it has room for 1 to 72"
    );
    assert_eq!(error(fat_tree(1, &[1]), 8), "`topology.arity` is 1: it has to be at least 2");
    assert_eq!(
        error(fat_tree(2, &[]), 8),
        "`topology.parents` is empty: it has to be a list of at least one value, from the nodes up"
    );
    assert_eq!(
        error(fat_tree(2, &[1, 0]), 8),
        "`topology.parents` is 0: it has to be at least 1 at each level"
    );
    assert_eq!(
        error(fat_tree(2, &[64]), 4096),
        "4096 nodes make a fat tree with more than 4194304 links: take fewer nodes, or fewer parents of a switch"
    );
    assert_eq!(error(mesh(4, false), 16), "`topology.dimensions` is 4: it has to be 2 or 3");
    assert_eq!(
        error(box_of(&[4, 0], false), 1),
        "`topology.extents` is [4, 0]: it has to be 2 or 3 numbers of at least 1"
    );
    assert!(error(box_of(&[usize::MAX, 2], false), 1).contains("switches"));
    assert_eq!(
        error(Topology::Switch { backplane: 0.0 }, 4),
        "`topology.backplane` is 0: it has to be at least 1 byte a second"
    );
    assert!(error(Topology::Switch { backplane: f64::NAN }, 4).contains("NaN"));
    assert_eq!(
        error(dragonfly(2, 4, 0), 9),
        "9 nodes do not fit a dragonfly of 1 groups, each with 4 switches of 2 nodes: it has room for 1 to 8"
    );
    assert!(error(Topology::Crossbar, usize::MAX).contains("1 to 1048576"));
}

#[test]
fn links_of_equivalent_ones_are_not_certain() {
    let cube = graph(Topology::Hypercube, 8).unwrap();
    let names = |graph: &Graph, from, to| -> Vec<String> {
        graph.certain_links(from, to).into_iter().map(|link| graph.name(link)).collect()
    };
    // The lowest differing bit is corrected first.
    let way = names(&cube, 1, 6);
    assert_eq!(way.len(), 2 + cube.hops(1, 6), "{way:?}");
    assert!(names(&cube, 0, 2).iter().any(|link| way.contains(link)), "{way:?}");
    let bus = graph(Topology::Bus, 4).unwrap();
    assert_eq!(bus.certain_links(0, 3), bus.certain_links(1, 2));
    let tree = graph(fat_tree(2, &[2]), 8).unwrap();
    let all = tree.hops(0, 7);
    assert!(tree.certain_links(0, 7).len() < all, "links up can be chosen: {:?}", names(&tree, 0, 7));
}
