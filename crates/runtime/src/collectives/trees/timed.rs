//! Streams that time themselves, for `specs/collectives` and for programs that fit their models.

use super::models::{Broadcasts, Reductions, Scans};
use super::{Flow, Trees};
use crate::node::Node;
use crate::number::Op;
use crate::select::TimedOnNodes;

/// Collectives in a row, and so many rows in one timing.
const ROW: usize = 16;
const ROWS: usize = 4;

/// How a stream goes.
enum By {
    Transport,
    Trees(usize),
    Mpi,
}

macro_rules! timed {
    ($($library:ident, $node:expr, $trees:expr;)*) => {$(
        impl TimedOnNodes for $library {
            fn seconds(self, node: &mut Node, inputs: &[f64], _: u64) -> Option<f64> {
                let by = match self {
                    Self::Transport => By::Transport,
                    Self::Trees { depth } => By::Trees(depth),
                    Self::Mpi => By::Mpi,
                };
                seconds(node, by, inputs, $node, $trees)
            }
        }
    )*};
}
timed! {
    Broadcasts, |node, values| node.broadcast(0, values),
        |trees, node, values| trees.broadcast(node, 0, values);
    Reductions, |node, values| node.reduce_max(values),
        |trees, node, values| trees.reduce_to_first(node, Op::Max, values);
    Scans, |node, values| node.inclusive_scan(Op::Max, values),
        |trees, node, values| trees.inclusive_scan(node, Op::Max, values);
}

/// The seconds of one collective of a stream. `None` where a library's is asked for and there is
/// none, and in a program that has installed handlers: its own would have to go for the trees'.
fn seconds(
    node: &mut Node,
    by: By,
    inputs: &[f64],
    own: impl Fn(&mut Node, &mut [u64]),
    through: impl Fn(&Trees, &mut Node, &mut [u64]),
) -> Option<f64> {
    let &[words] = inputs else { return None };
    if node.is_receiving() {
        return None;
    }
    let mut values = vec![1; words as usize];
    let values = values.as_mut_slice();
    match by {
        By::Transport => Some(node.with_library(false, |node| stream(node, |node| own(node, values)))),
        By::Mpi if node.library_above.is_some() => {
            Some(node.with_library(true, |node| stream(node, |node| own(node, values))))
        }
        By::Mpi => None,
        By::Trees(depth) => {
            let trees = Trees::install(node, depth, Flow::Dataflow);
            let seconds = stream(node, |node| through(&trees, node, values));
            node.uninstall();
            Some(seconds)
        }
    }
}

fn stream(node: &mut Node, mut once: impl FnMut(&mut Node)) -> f64 {
    node.barrier();
    let start = node.now().get();
    for _ in 0..ROWS {
        (0..ROW).for_each(|_| once(node));
        node.barrier();
    }
    (node.now().get() - start) / (ROWS * ROW) as f64
}

impl Node {
    /// Lets streams of collectives fit themselves if `STRATA_CALIBRATE` says so, once. Collective.
    pub(crate) fn calibrate_streams_as_set(&mut self) {
        if self.calibrates() && self.size() > 1 {
            self.calibrate_as_set::<Broadcasts>();
            self.calibrate_as_set::<Reductions>();
            self.calibrate_as_set::<Scans>();
        }
    }
}
