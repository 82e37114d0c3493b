//! The flow graph of a program's call sites, recorded while it runs.

use crate::site::{Sig, Site};
use std::collections::BTreeMap;

/// The start node of every program; not a site.
pub(crate) const START: usize = 0;
/// Sites and edges beyond these numbers are not recorded: their calls get the default.
pub(crate) const MOST_SITES: usize = 4096;
pub(crate) const MOST_EDGES: usize = 16384;
/// Number of a node's edges that are compared one by one before the table is used.
const FEW: usize = 8;

/// The graph, and the program's position in it.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<GraphNode>,
    /// Nodes of sites, by the sites' contents.
    by_site: BTreeMap<Site, usize>,
    /// Nodes by the addresses of known call sites, so that a visit needs no text.
    by_call_site: BTreeMap<(usize, usize, crate::SizeClass, u16), usize>,
    at: usize,
    edges: usize,
    /// True if sites or edges had to be left out.
    pub(crate) full: bool,
}

#[derive(Debug)]
pub(crate) struct GraphNode {
    pub(crate) site: Option<Site>,
    pub(crate) out: Vec<Edge>,
    /// Names of its knob's options, and their predicted costs.
    pub(crate) labels: Vec<String>,
    pub(crate) prior: Vec<f64>,
}

/// A call that followed another.
#[derive(Debug)]
pub(crate) struct Edge {
    /// `None` if the edge was read from a file and has not been seen in this run.
    sig: Option<Sig>,
    pub(crate) to: usize,
    pub(crate) count: u64,
}

/// The kind of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visit {
    /// By an existing edge.
    Known(usize),
    /// By a new edge.
    New(usize),
    /// The graph is full.
    Untracked,
}

impl Graph {
    pub(crate) fn new() -> Self {
        let start = GraphNode { site: None, out: Vec::new(), labels: Vec::new(), prior: Vec::new() };
        Self {
            nodes: vec![start],
            by_site: BTreeMap::new(),
            by_call_site: BTreeMap::new(),
            at: START,
            edges: 0,
            full: false,
        }
    }

    pub(crate) fn edges(&self) -> usize {
        self.edges
    }

    /// Moves to a site; `describe` names the options of a new site.
    #[inline]
    pub(crate) fn visit(&mut self, sig: Sig, describe: impl FnOnce() -> (Vec<String>, Vec<f64>)) -> Visit {
        for edge in self.nodes[self.at].out.iter_mut().take(FEW) {
            if edge.sig.is_some_and(|known| known.is(&sig)) {
                edge.count += 1;
                self.at = edge.to;
                return Visit::Known(edge.to);
            }
        }
        self.visit_by_name(sig, describe)
    }

    /// Moves to a site from an unknown position: no edge is recorded.
    pub(crate) fn land(&mut self, sig: Sig, describe: impl FnOnce() -> (Vec<String>, Vec<f64>)) -> Visit {
        let before = self.nodes.len();
        let Some(node) = self.node(sig, describe) else {
            self.full = true;
            return Visit::Untracked;
        };
        self.at = node;
        if node < before { Visit::Known(node) } else { Visit::New(node) }
    }

    #[cold]
    fn visit_by_name(&mut self, sig: Sig, describe: impl FnOnce() -> (Vec<String>, Vec<f64>)) -> Visit {
        let Some(node) = self.node(sig, describe) else {
            self.full = true;
            return Visit::Untracked;
        };
        let from = std::mem::replace(&mut self.at, node);
        if let Some(edge) = self.nodes[from].out.iter_mut().find(|edge| edge.to == node) {
            edge.sig = Some(sig);
            edge.count += 1;
            return Visit::Known(node);
        }
        if self.edges >= MOST_EDGES {
            self.full = true;
            return Visit::Untracked;
        }
        self.edges += 1;
        self.nodes[from].out.push(Edge { sig: Some(sig), to: node, count: 1 });
        Visit::New(node)
    }

    fn node(&mut self, sig: Sig, describe: impl FnOnce() -> (Vec<String>, Vec<f64>)) -> Option<usize> {
        let address = sig.address();
        if let Some(node) = self.by_call_site.get(&address) {
            return Some(*node);
        }
        let site = sig.site();
        let node = match self.by_site.get(&site) {
            Some(node) => *node,
            None => self.add(site)?,
        };
        // Also for a node that was read from a file: the options' names may have changed.
        (self.nodes[node].labels, self.nodes[node].prior) = describe();
        self.by_call_site.insert(address, node);
        Some(node)
    }

    /// Adds a site; `None` if there are too many.
    pub(crate) fn add(&mut self, site: Site) -> Option<usize> {
        if self.nodes.len() > MOST_SITES {
            return None;
        }
        self.by_site.insert(site.clone(), self.nodes.len());
        let node = GraphNode { site: Some(site), out: Vec::new(), labels: Vec::new(), prior: Vec::new() };
        self.nodes.push(node);
        Some(self.nodes.len() - 1)
    }

    /// Adds an edge that was read from a file; `false` if its ends do not exist.
    pub(crate) fn add_edge(&mut self, from: usize, to: usize, count: u64) -> bool {
        let fits = from.max(to) < self.nodes.len() && to != START && self.edges < MOST_EDGES;
        if fits && self.nodes[from].out.iter().all(|edge| edge.to != to) {
            self.nodes[from].out.push(Edge { sig: None, to, count });
            self.edges += 1;
        }
        fits
    }

    pub(crate) fn find(&self, site: &Site) -> Option<usize> {
        self.by_site.get(site).copied()
    }

    /// All edges, as lists of successors.
    pub(crate) fn successors(&self) -> Vec<Vec<usize>> {
        self.nodes.iter().map(|node| node.out.iter().map(|edge| edge.to).collect()).collect()
    }

    /// A hash that is equal for equal sites and edges, in whatever order they were found.
    pub(crate) fn hash(&self, nodes: &[usize]) -> u64 {
        use std::hash::BuildHasher as _;
        let hasher = rustc_hash::FxBuildHasher;
        let mut sites: Vec<_> = nodes.iter().map(|node| self.nodes[*node].site.as_ref()).collect();
        sites.sort();
        hasher.hash_one(sites)
    }
}
