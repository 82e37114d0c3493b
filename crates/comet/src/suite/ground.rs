//! Where kernels are defined: numbers of nodes, the sides of their mesh, and the machine's topology.

use super::Kernel;
use crate::mesh::Mesh;

/// The most nodes of which all pairs are measured one by one.
const MOST_PAIRED: usize = 64;

/// The machine that is to be measured, as far as kernels depend on it.
#[derive(Clone, Debug)]
pub struct Ground {
    /// The number of nodes.
    pub nodes: usize,
    /// True if nodes are MPI processes.
    pub mpi: bool,
    /// True if time is simulated.
    pub simulated: bool,
    /// The nodes to which an echo of node 0 goes, by their distance; the nearest one first. With
    /// one of them only, the reason is [`no_hops`](Self::no_hops).
    pub peers: Vec<Peer>,
    /// Why the cost of a hop cannot be measured; empty if it can.
    pub no_hops: String,
    /// An echo and a load that share a link, or the reason why there are none.
    pub crossing: Result<Crossing, String>,
}

/// A node, and its distance from node 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The number of links between them.
    pub hops: i64,
    /// The node.
    pub node: i64,
}

/// Four nodes: messages of one pair pass a link that the echo of the other pair passes, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The partner of node 0 in the echo.
    pub peer: usize,
    /// The node that sends the load.
    pub source: usize,
    /// The node that receives it.
    pub sink: usize,
}

impl Ground {
    /// A machine of which only the number of nodes is known.
    #[must_use]
    pub fn unknown(nodes: usize, mpi: bool) -> Self {
        let why = "the topology is not known; --topology tells it";
        Self {
            nodes,
            mpi,
            simulated: false,
            peers: vec![Peer { hops: 1, node: 1 }],
            no_hops: why.to_owned(),
            crossing: Err(why.to_owned()),
        }
    }

    /// The reason why a model cannot be measured here; `None` if it can.
    #[must_use]
    pub fn excludes(&self, kernel: &Kernel, model: &str) -> Option<String> {
        let Self { nodes, mpi, .. } = *self;
        if let Some(why) = kernel.refuses(nodes, mpi) {
            return Some(why);
        }
        let Mesh { rows, columns, .. } = Mesh::new(nodes);
        let mesh = |what: &str| Some(format!("{nodes} nodes are a mesh of {rows} by {columns}: {what}"));
        match model {
            "Guard" if rows < 2 => mesh("above and below each node is that node itself"),
            "Shift" if rows < 2 => mesh("the node above each one is that node itself"),
            "RowBroadcast" if rows < 2 => mesh("no node is below another"),
            "ShiftEast" | "ColumnBroadcast" if columns < 2 => mesh("no node is beside another"),
            "Pair" if nodes > MOST_PAIRED => Some(format!(
                "{nodes} nodes are {} pairs; it takes up to {MOST_PAIRED} nodes",
                nodes * (nodes - 1) / 2
            )),
            "FixedWork" | "FixedTime" if self.simulated => {
                Some("nothing disturbs a simulated machine".to_owned())
            }
            "Contention" => self.crossing.as_ref().err().cloned(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::model_named;

    #[test]
    fn what_does_not_exist_on_a_mesh_is_said() {
        let excludes = |model: &str, nodes| {
            let (kernel, _) = model_named(model).unwrap();
            Ground::unknown(nodes, false).excludes(kernel, model)
        };
        for model in ["Guard", "Shift", "RowBroadcast"] {
            for nodes in [2, 3, 7] {
                let why = excludes(model, nodes).unwrap();
                assert!(why.contains(&format!("a mesh of 1 by {nodes}")), "{why}");
            }
            assert_eq!(excludes(model, 4), None, "{model}");
            assert_eq!(excludes(model, 6), None, "{model}");
        }
        assert_eq!(excludes("ColumnBroadcast", 2), None);
        assert_eq!(excludes("Echo", 2), None);
        assert!(excludes("Contention", 8).unwrap().contains("--topology"));
        assert!(excludes("Transpose", 8).unwrap().contains("square"));
        assert!(excludes("Pair", 65).unwrap().contains("2080 pairs") && excludes("Pair", 64).is_none());
        let simulated = Ground { simulated: true, ..Ground::unknown(2, false) };
        let (noise, _) = model_named("FixedWork").unwrap();
        assert!(simulated.excludes(noise, "FixedWork").is_some() && excludes("FixedTime", 1).is_none());
    }
}
