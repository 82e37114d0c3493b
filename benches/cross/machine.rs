//! Calls that are measured on simulated machines.

use std::cell::Cell;
use std::rc::Rc;

use strata_benches::{jobs::simulated, sorts};
use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::trees::{Flow, Trees};
use strata_runtime::{Block, Node, Op, Work};
use strata_sort::profile;

/// What can be called: a candidate with its parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) name: &'static str,
    parameters: &'static [i64],
    /// Its time by the primitives: what it calls, counted.
    pub(super) factored: &'static str,
}

const fn way(name: &'static str, parameters: &'static [i64], factored: &'static str) -> Way {
    Way { name, parameters, factored }
}

/// A primitive: its name, the least and the greatest size at which it is measured, and its time.
pub(super) type Part = (&'static str, f64, f64, fn(&mut Node, usize) -> f64);

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
    /// The terms of models of the primitives.
    pub(super) part_terms: &'static [&'static str],
    /// Of the run-time, and kernels.
    pub(super) parts: &'static [Part],
    /// Models composed of them.
    pub(super) sums: &'static [(&'static str, &'static str)],
    call: fn(&SimulatedMachine, usize, &Way, usize, u64) -> Result<f64, String>,
}

impl Library {
    /// Sizes that are measured, or the `count` half-way `between` them.
    pub(super) fn sizes(&self, count: usize, between: bool) -> Box<dyn Iterator<Item = usize>> {
        if !between {
            return Box::new(sizes(count, self.least, self.most));
        }
        let half = (self.most / self.least).powf(0.5 / count as f64);
        Box::new(sizes(count - 1, self.least * half, self.most / half))
    }

    pub(super) fn part(
        &self,
        on: &SimulatedMachine,
        part: fn(&mut Node, usize) -> f64,
        size: usize,
    ) -> Result<f64, String> {
        Ok(simulated(on, self.nodes, |node| Ok(part(node, size)))?.into_iter().fold(0.0, f64::max))
    }

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

/// `count + 1` sizes, equally spaced in the logarithm.
pub(super) fn sizes(count: usize, least: f64, most: f64) -> impl Iterator<Item = usize> {
    let step = (most / least).powf(1.0 / count as f64);
    (0..=count).map(move |at| (least * step.powf(at as f64)).round() as usize)
}

pub(super) const LIBRARIES: [Library; 2] = [
    Library {
        name: "sort",
        nodes: 4,
        least: 4.0,
        most: 8192.0,
        ways: &[
            // Few keys are sorted by all nodes; of more each node merges its share.
            way(
                "gather",
                &[],
                "Agree(n) + AllGather(n) + (n <= 32)*Sort(4*n) \
                 + (n > 32)*(Sort(n) + Cycle()*10*(n + 8*log2(4*n+1)))",
            ),
            way("radix", &[4], "Agree(n) + 8*(Histogram16(n) + Share(8) + Scatter16(n) + Move(n))"),
            way("radix", &[8], "Agree(n) + 4*(Histogram256(n) + Share(128) + Scatter256(n) + Move(n))"),
            way("radix", &[11], "Agree(n) + 3*(Histogram2048(n) + Share(1024) + Scatter2048(n) + Move(n))"),
            way("sample", &[8], "Agree(n) + Split(n, 8)"),
            way("sample", &[64], "Agree(n) + Split(n, 64)"),
        ],
        terms: &["n", "sqrt(n)", "max(0,n-64)", "max(0,n-512)", "max(0,n-2048)"],
        part_terms: &["n", "sqrt(n)", "max(0,n-64)", "max(0,n-512)", "max(0,n-2048)", "n > 10"],
        parts: &[
            ("AllGather", 2.0, 8192.0, |node, words| {
                timed(node, |node| drop(node.all_gather(&vec![1u64; words])))
            }),
            ("AllToAll", 1.0, 8192.0, |node, keys| {
                let each = keys.div_ceil(node.size());
                let blocks = (0..node.size()).map(|_| Block::<u64>::zeroed(each)).collect();
                timed(node, |node| drop(node.all_to_all_v(blocks)))
            }),
            ("Reduce", 4.0, 4.0, |node, _| timed(node, |node| node.reduce_add(&mut [1u64; 4]))),
            ("Sort", 4.0, 32768.0, |node, n| kernel(node, "LocalSort", n, &[32.0])),
            ("Copy", 32.0, 131_072.0, |node, bytes| kernel(node, "Copy", bytes, &[])),
            ("Search", 4.0, 8192.0, |node, n| kernel(node, "BinarySearch", n, &[3.0])),
            ("Histogram16", 4.0, 8192.0, |node, n| kernel(node, "Histogram", n, &[16.0])),
            ("Histogram256", 4.0, 8192.0, |node, n| kernel(node, "Histogram", n, &[256.0])),
            ("Histogram2048", 4.0, 8192.0, |node, n| kernel(node, "Histogram", n, &[2048.0])),
            ("Scatter4", 4.0, 8192.0, |node, n| kernel(node, "Scatter", n, &[4.0])),
            ("Scatter16", 4.0, 8192.0, |node, n| kernel(node, "Scatter", n, &[16.0])),
            ("Scatter256", 4.0, 8192.0, |node, n| kernel(node, "Scatter", n, &[256.0])),
            ("Scatter2048", 4.0, 8192.0, |node, n| kernel(node, "Scatter", n, &[2048.0])),
            ("Cycle", 1.0, 1.0, |node, _| timed(node, |node| node.compute(1e6, || ())) * 1e-6),
        ],
        sums: &[
            ("Agree(n)", "Copy(8*n) + AllGather(4)"),
            // Counts of four bytes of all nodes, added up.
            ("Share(n)", "AllGather(n) + Copy(64*n)"),
            ("Move(n)", "AllToAll(n) + Copy(8*n)"),
            // A bucket is between samples of which each stands for n/s keys: the largest of four
            // exceeds the mean by about 0.9 of it over the root of s.
            (
                "Split(n, s)",
                "AllGather(2*min(n,s)) + Sort(12*min(n,s)) + Search(n) + Reduce() + Scatter4(n) + AllToAll(n) \
                 + Sort(n*(1+0.9/sqrt(s))) + AllToAll(max(1,n/sqrt(s))) + Copy(8*n)",
            ),
        ],
        call: sort,
    },
    Library {
        name: "reductions",
        nodes: 8,
        least: 1.0,
        most: 512.0,
        ways: &[
            way("transport", &[], "Reduce(n)"),
            way("trees", &[1], "Trees(n, 1, 1, 1)"),
            way("trees", &[4], "Trees(n, 4, 2, 3)"),
            way("trees", &[16], "Trees(n, 16, 8, 9)"),
        ],
        terms: &["n", "max(0,n-8)", "max(0,n-32)", "max(0,n-128)"],
        part_terms: &["n", "n > 1", "max(0,n-8)", "max(0,n-32)", "max(0,n-128)"],
        parts: &[
            ("Reduce", 1.0, 512.0, |node, words| {
                let mut values = vec![1u64; words];
                timed(node, |node| {
                    for _ in 0..STREAM {
                        node.reduce_max(&mut values);
                    }
                    node.barrier();
                }) / STREAM as f64
            }),
            ("Barrier", 1.0, 1.0, |node, _| timed(node, Node::barrier)),
            ("Send2", 1.0, 1.0, |node, _| messages_2(node).0),
            ("Send8", 1.0, 1.0, |node, _| messages_8(node).0),
            ("Take2", 1.0, 1.0, |node, _| messages_2(node).1),
            ("Take8", 1.0, 1.0, |node, _| messages_8(node).1),
            ("There2", 1.0, 1.0, |node, _| messages_2(node).2),
            ("There8", 1.0, 1.0, |node, _| messages_8(node).2),
            ("Fold", 1.0, 7.0, fold),
        ],
        sums: &[
            ("Send(n)", "(n <= 1)*Send2() + (n > 1)*Send8()"),
            ("Take(n)", "(n <= 1)*Take2() + (n > 1)*Take8()"),
            ("There(n)", "(n <= 1)*There2() + (n > 1)*There8()"),
            // A node with two children: their values, its own, and credits, of which a message has f.
            // `Fold` was measured with a credit for each eight.
            ("Busy(n, f)", "2*Fold(n) + Send(n) + (2*Send2() + Take2())*(1/f - 1/8)"),
            // From a value to the credit for its slot, which is sent before the value is added.
            ("Loop(n)", "There(n) + There2()"),
            (
                "Chunks(n, c, d, f, w)",
                "c*Busy(n, f) + max(0, 16*c-d)/16*max(0, Loop(n)/w - Busy(n, f)) + (3*There(n) + Barrier())/16",
            ),
            ("Trees(n, d, f, w)", "Chunks(min(n,7), ceil(n/7), d, f, w)"),
        ],
        call: reduce,
    },
];

/// Reductions in a row.
const STREAM: usize = 16;

/// The time of a collective, on the slowest node.
fn timed<T>(node: &mut Node, call: impl FnOnce(&mut Node) -> T) -> f64 {
    node.barrier();
    let start = node.now().get();
    call(node);
    node.now().get() - start
}

/// The time of a kernel of so many keys or bytes.
fn kernel(node: &mut Node, name: &str, size: usize, more: &[f64]) -> f64 {
    let inputs = [&[size as f64], more].concat();
    timed(node, |node| node.compute(Work::Kernel(name, &inputs), || ()))
}

/// Messages that find room, of so many words from node 1 to node 0: the time in which one leaves, that
/// in which one that is there is taken, and that from its sending to its handler.
macro_rules! messages {
    ($($name:ident $words:literal)*) => {$(
        fn $name(node: &mut Node) -> (f64, f64, f64) {
            const FEW: usize = 4;
            let come = Rc::new(Cell::new(0));
            let counted = Rc::clone(&come);
            let mut handlers = node.handlers();
            let take = handlers.request(move |_, _: [u64; $words]| counted.set(counted.get() + 1));
            node.install(handlers);
            let round = |node: &mut Node, late: f64| {
                come.set(0);
                node.barrier();
                let start = node.now().get();
                match node.rank() {
                    0 => {
                        node.compute(late, || ());
                        let start = node.now().get();
                        node.wait_until(|| come.get() == FEW);
                        node.now().get() - start
                    }
                    1 => {
                        (0..FEW).for_each(|_| node.send(0, take, [1; $words]));
                        node.now().get() - start
                    }
                    _ => 0.0,
                }
            };
            // Late enough that all have arrived.
            let times = round(node, 1e7);
            let [taken, sent] = [0, 1].map(|from| node.broadcast_value(from, times) / FEW as f64);
            let there = |node: &mut Node| {
                come.set(0);
                node.barrier();
                let start = node.now().get();
                match node.rank() {
                    0 => {
                        node.wait_until(|| come.get() == 1);
                        node.send(1, take, [1; $words]);
                    }
                    1 => {
                        node.send(0, take, [1; $words]);
                        node.wait_until(|| come.get() == 1);
                    }
                    _ => {}
                }
                node.now().get() - start
            };
            let both = there(node);
            let there = node.broadcast_value(1, both) / 2.0;
            node.uninstall();
            (sent, taken, there)
        }
    )*};
}
messages! { messages_2 2 messages_8 8 }

/// The time to take a child's value of so many words that is there, and to add it to one's own.
fn fold(node: &mut Node, words: usize) -> f64 {
    const FEW: usize = 4;
    let trees = Trees::install(node, STREAM, Flow::Dataflow);
    let mut values = vec![1u64; words];
    node.barrier();
    if node.rank() == 0 {
        node.compute(1e7, || ());
    }
    let start = node.now().get();
    for _ in 0..FEW {
        trees.reduce_to_first(node, Op::Max, &mut values);
    }
    // Node 0 has two children.
    let time = (node.now().get() - start) / (2 * FEW) as f64;
    node.uninstall();
    if node.rank() == 0 { time } else { 0.0 }
}

/// Keys of 32 bits on each node, random.
fn sort(on: &SimulatedMachine, nodes: usize, way: &Way, keys: usize, seed: u64) -> Result<f64, String> {
    let sort = sorts::named(way.name, way.parameters).ok_or_else(|| format!("no sort `{}`", way.name))?;
    let run = simulated(on, nodes, |node| {
        Ok(profile::seconds(node, keys, 32, seed..seed + 1, |node, items| {
            sort.run(node, items);
        }))
    });
    Ok(run?[0])
}

/// A reduction of so many words in a stream of 16, as in `specs/collectives`.
fn reduce(on: &SimulatedMachine, nodes: usize, way: &Way, words: usize, _: u64) -> Result<f64, String> {
    let run = simulated(on, nodes, |node| {
        let mut values = vec![1u64; words];
        let trees = way.parameters.first().map(|depth| Trees::install(node, *depth as usize, Flow::Dataflow));
        node.barrier();
        let start = node.now().get();
        for _ in 0..STREAM {
            match &trees {
                Some(trees) => trees.reduce_to_first(node, Op::Max, &mut values),
                None => node.reduce_max(&mut values),
            }
        }
        node.barrier();
        let seconds = (node.now().get() - start) / STREAM as f64;
        if trees.is_some() {
            node.uninstall();
        }
        Ok(seconds)
    });
    Ok(run?[0])
}
