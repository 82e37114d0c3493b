//! The topology of the machine that is measured: distances between its nodes, and shared links.

use std::collections::BTreeSet;

use specc::drive::On;
use strata_comet::suite::{Crossing, Ground, Peer};
use strata_model::count;
use strata_sim::platform::{SimulatedMachine, Topology};
use strata_sim::topology::Graph;

/// Nodes among which a load is looked for.
const NEAR: usize = 64;

/// What kernels need to know of the machine. Threads share one memory, through which all messages
/// pass; of MPI's network nothing is known without `given`.
///
/// # Errors
/// There is no such topology, or it has no place for so many nodes.
pub(crate) fn ground(on: &On, nodes: usize, given: Option<&str>) -> Result<Ground, String> {
    let mpi = matches!(on, On::Mpi | On::Smpi { .. });
    let machine = match (on, given) {
        (_, Some(given)) => topology(given).map_err(|why| format!("--topology {given}: {why}"))?,
        (On::Sim { machine, .. }, None) => {
            SimulatedMachine::find(machine).map_err(|error| error.to_string())?
        }
        (On::Threads, None) => topology("bus")?,
        (On::Mpi | On::Smpi { .. }, None) => {
            return Ok(Ground { simulated: on.is_simulated(), ..Ground::unknown(nodes, mpi) });
        }
    };
    let simulated = on.is_simulated();
    if nodes < 2 {
        return Ok(Ground { simulated, ..Ground::unknown(nodes, mpi) });
    }
    let graph = Graph::new(&machine, nodes).map_err(|error| match given {
        Some(given) => format!("--topology {given}: {error}"),
        None => error.to_string(),
    })?;
    let peers = peers(&graph);
    let no_hops = match &peers[..] {
        [one] => format!("all nodes are {} from node 0", count(one.hops as usize, "link", "links")),
        _ => String::new(),
    };
    let crossing = crossing(&graph).ok_or_else(|| {
        format!(
            "on this topology of {} no message of two others shares a link with an echo of node 0",
            count(nodes, "node", "nodes")
        )
    });
    Ok(Ground { nodes, mpi, simulated, peers, no_hops, crossing })
}

/// The first node at each distance from node 0; the nearest one first.
fn peers(graph: &Graph) -> Vec<Peer> {
    let mut peers: Vec<Peer> = Vec::new();
    for node in 1..graph.nodes() {
        let hops = graph.hops(0, node) as i64;
        if peers.iter().all(|peer| peer.hops != hops) {
            peers.push(Peer { hops, node: node as i64 });
        }
    }
    peers.sort_by_key(|peer| peer.hops);
    peers
}

/// The nearest partner of node 0, whose echo passes a link that a message between two other nodes
/// passes, too.
fn crossing(graph: &Graph) -> Option<Crossing> {
    let near = 1..graph.nodes().min(NEAR);
    // The loops of the spec begin with these nodes.
    let mut partners: Vec<usize> = near.clone().filter(|peer| *peer >= 2).collect();
    partners.sort_by_key(|peer| graph.hops(0, *peer));
    for peer in partners {
        let of_echo: BTreeSet<usize> =
            graph.certain_links(0, peer).into_iter().chain(graph.certain_links(peer, 0)).collect();
        for source in near.clone().filter(|source| *source != peer) {
            for sink in near.clone().filter(|sink| *sink >= 3 && *sink != peer && *sink != source) {
                if graph.certain_links(source, sink).iter().any(|link| of_echo.contains(link)) {
                    return Some(Crossing { peer, source, sink });
                }
            }
        }
    }
    None
}

/// A machine with the topology of this name: that of a platform or its file, or one of the usual
/// ones, such as `hypercube` or `mesh:4x4`.
fn topology(name: &str) -> Result<SimulatedMachine, String> {
    let (kind, rest) = name.split_once(':').unwrap_or((name, ""));
    let extents = || -> Result<Vec<usize>, String> {
        let sides: Option<Vec<usize>> = rest.split('x').map(|side| side.parse().ok()).collect();
        sides
            .filter(|sides| matches!(sides.len(), 2 | 3))
            .ok_or_else(|| format!("a {kind} has two or three sides, as in {kind}:4x4"))
    };
    let topology = match (kind, rest) {
        ("bus", "") => Topology::Bus,
        ("crossbar", "") => Topology::Crossbar,
        ("hypercube", "") => Topology::Hypercube,
        ("mesh" | "torus", _) => {
            let extents = extents()?;
            Topology::Mesh { dimensions: extents.len(), extents: Some(extents), wrap: kind == "torus" }
        }
        _ => {
            return SimulatedMachine::find(name).map_err(|error| {
                format!("{error}; topologies are bus, crossbar, hypercube, mesh:4x4, torus:4x4x2 and those of platforms")
            });
        }
    };
    let any = SimulatedMachine::named("ipsc860").map_err(|error| error.to_string())?;
    Ok(SimulatedMachine { topology, ..any })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(given: &str, nodes: usize) -> Ground {
        ground(&On::Mpi, nodes, Some(given)).unwrap()
    }

    #[test]
    fn distances_are_those_of_the_topology() {
        let peers = |given, nodes| -> Vec<(i64, i64)> {
            on(given, nodes).peers.iter().map(|peer| (peer.hops, peer.node)).collect()
        };
        assert_eq!(peers("hypercube", 16), [(1, 1), (2, 3), (3, 7), (4, 15)]);
        assert_eq!(peers("mesh:4x4", 16), [(1, 1), (2, 2), (3, 3), (4, 7), (5, 11), (6, 15)]);
        assert_eq!(peers("paragon", 16), peers("mesh:4x4", 16));
        assert_eq!(peers("torus:4x4", 16), [(1, 1), (2, 2), (3, 6), (4, 10)]);
        assert_eq!(peers("crossbar", 16).len(), 1);
        assert!(on("crossbar", 16).no_hops.contains("all nodes are 2 links"));
        assert!(ground(&On::Mpi, 16, None).unwrap().no_hops.contains("--topology"));
    }

    /// A load that passes no link of the echo is none.
    #[test]
    fn echo_and_load_share_a_link_or_are_left_out() {
        assert_eq!(on("hypercube", 8).crossing, Ok(Crossing { peer: 2, source: 1, sink: 6 }));
        for nodes in [4, 8, 16] {
            let Ok(found) = on("mesh:2x8", nodes.min(16)).crossing else { continue };
            assert_ne!(found.peer, found.sink, "{nodes}");
        }
        for (given, nodes) in [("hypercube", 4), ("mesh:2x2", 4), ("crossbar", 16)] {
            let why = on(given, nodes).crossing.unwrap_err();
            assert!(why.contains("shares a link"), "{given} {nodes}: {why}");
        }
        assert_eq!(on("bus", 4).crossing, Ok(Crossing { peer: 2, source: 1, sink: 3 }));
        assert!(ground(&On::Threads, 4, None).unwrap().crossing.is_ok());
    }

    #[test]
    fn what_is_no_topology_is_refused() {
        for (given, nodes, why) in [
            ("ring", 4, "mesh:4x4"),
            ("mesh:4", 4, "two or three sides"),
            ("mesh:4xx", 4, "two or three sides"),
            ("hypercube", 6, "hypercube"),
        ] {
            let told = ground(&On::Mpi, nodes, Some(given)).unwrap_err();
            assert!(told.starts_with("--topology") && told.contains(why), "{told}");
        }
    }
}
