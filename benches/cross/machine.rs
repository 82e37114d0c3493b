//! Calls that are measured on simulated machines.

use strata_benches::sorts;
use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::trees::{Flow, Trees};
use strata_runtime::{Machine, Op};
use strata_sort::profile;

/// What can be called: a candidate with its parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) name: &'static str,
    parameters: &'static [i64],
}

const fn way(name: &'static str, parameters: &'static [i64]) -> Way {
    Way { name, parameters }
}

/// A library of one size, and the terms of its models.
pub(super) struct Library {
    pub(super) name: &'static str,
    pub(super) nodes: usize,
    /// Sizes are powers of two, from this one ...
    least: f64,
    /// ... to this one.
    most: f64,
    pub(super) ways: &'static [Way],
    pub(super) terms: &'static [&'static str],
    call: fn(&SimulatedMachine, usize, &Way, usize, u64) -> Result<f64, String>,
}

impl Library {
    /// `count + 1` sizes, equally spaced in the logarithm, or the `count` half-way `between` them.
    pub(super) fn sizes(&self, count: usize, between: bool) -> impl Iterator<Item = usize> + use<'_> {
        let step = (self.most / self.least).powf(1.0 / count as f64);
        let shift = if between { 0.5 } else { 0.0 };
        let last = if between { count } else { count + 1 };
        (0..last).map(move |at| (self.least * step.powf(at as f64 + shift)).round() as usize)
    }

    /// The simulated time of a call, s.
    pub(super) fn time(
        &self,
        on: &SimulatedMachine,
        way: &Way,
        size: usize,
        seed: u64,
    ) -> Result<f64, String> {
        (self.call)(on, self.nodes, way, size, seed)
    }
}

pub(super) const LIBRARIES: [Library; 2] = [
    Library {
        name: "sort",
        nodes: 4,
        least: 4.0,
        most: 8192.0,
        ways: &[
            way("gather", &[]),
            way("radix", &[4]),
            way("radix", &[8]),
            way("radix", &[11]),
            way("sample", &[8]),
            way("sample", &[64]),
        ],
        terms: &["n", "sqrt(n)", "max(0,n-64)", "max(0,n-512)", "max(0,n-2048)"],
        call: sort,
    },
    Library {
        name: "reductions",
        nodes: 8,
        least: 1.0,
        most: 512.0,
        ways: &[way("transport", &[]), way("trees", &[1]), way("trees", &[4]), way("trees", &[16])],
        terms: &["n", "max(0,n-8)", "max(0,n-32)", "max(0,n-128)"],
        call: reduce,
    },
];

/// Keys of 32 bits on each node, random.
fn sort(on: &SimulatedMachine, nodes: usize, way: &Way, keys: usize, seed: u64) -> Result<f64, String> {
    let sort = sorts::named(way.name, way.parameters).ok_or_else(|| format!("no sort `{}`", way.name))?;
    let machine = Machine::sim(on, nodes).map_err(|error| error.to_string())?;
    let run = machine.run(|node| {
        Ok(profile::seconds(node, keys, 32, seed..seed + 1, |node, items| {
            sort.run(node, items);
        }))
    });
    Ok(run.map_err(|error| error.to_string())?.results[0])
}

/// A reduction of so many words in a stream of 16, as in `specs/collectives`.
fn reduce(on: &SimulatedMachine, nodes: usize, way: &Way, words: usize, _: u64) -> Result<f64, String> {
    let machine = Machine::sim(on, nodes).map_err(|error| error.to_string())?;
    let run = machine.run(|node| {
        let mut values = vec![1u64; words];
        let trees = way.parameters.first().map(|depth| Trees::install(node, *depth as usize, Flow::Dataflow));
        node.barrier();
        let start = node.now().get();
        for _ in 0..16 {
            match &trees {
                Some(trees) => trees.reduce_to_first(node, Op::Max, &mut values),
                None => node.reduce_max(&mut values),
            }
        }
        node.barrier();
        let seconds = (node.now().get() - start) / 16.0;
        if trees.is_some() {
            node.uninstall();
        }
        Ok(seconds)
    });
    Ok(run.map_err(|error| error.to_string())?.results[0])
}
