//! Elements and nodes at fault: the job ends with the message of the node that failed. None hangs.

use crate::common::{Algorithm, Random, algorithms};
use bytemuck::{Pod, Zeroable};
use std::cell::Cell;
use strata_runtime::prelude::*;
use strata_runtime::simulation::SimulatedMachine;
use strata_sort::Item;

const NODES: [usize; 5] = [1, 2, 3, 5, 8];

thread_local! {
    /// How often this node may still ask a [`Fragile`] element for its key.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// An element whose key can be asked for only so often.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
struct Fragile(u64);

impl Item for Fragile {
    fn bits(&self) -> u64 {
        let left = LEFT.get();
        assert!(left > 0, "the key broke");
        LEFT.set(left - 1);
        self.0
    }
}

/// An element whose key is another each time.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
struct Fickle(u64);

impl Item for Fickle {
    fn bits(&self) -> u64 {
        LEFT.set(LEFT.get().wrapping_sub(1));
        Random(self.0 ^ LEFT.get()).next()
    }
}

fn keys<T>(node: &Node, of: fn(u64) -> T) -> Vec<T> {
    let mut random = Random(node.rank() as u64);
    (0..400).map(|_| of(random.next())).collect()
}

/// Sorts on threads; node `weak` can ask for keys only `limit` times. Returns how often it asked.
fn sort_fragile(nodes: usize, algorithm: Algorithm, weak: usize, limit: u64) -> Result<u64, Error> {
    let asked = Machine::threads(nodes)?.run(|node| {
        let mut items = keys(node, Fragile);
        LEFT.set(if node.rank() == weak { limit } else { u64::MAX });
        let before = LEFT.get();
        algorithm.sort(node, &mut items)?;
        Ok(before - LEFT.get())
    })?;
    Ok(asked[weak])
}

#[test]
fn a_node_that_fails_in_the_middle_of_a_sort_ends_it_on_all() {
    for nodes in NODES {
        for algorithm in algorithms() {
            let weak = nodes / 2;
            let asked = sort_fragile(nodes, algorithm, weak, u64::MAX).unwrap();
            for part in [0, 4, 9] {
                match sort_fragile(nodes, algorithm, weak, asked * part / 10) {
                    Err(Error::Node { rank, message }) => {
                        assert_eq!(rank, weak, "{algorithm:?} on {nodes}: {message}");
                        assert!(message.contains("the key broke"), "{algorithm:?}: {message}");
                    }
                    other => panic!("{algorithm:?} on {nodes}: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn a_node_that_fails_instead_of_sorting_ends_the_sort_of_the_others() {
    let cm5 = SimulatedMachine::find("cm5").unwrap();
    for nodes in [2, 3, 5, 8] {
        for algorithm in algorithms() {
            let program = |node: &mut Node| {
                if node.rank() == 1 {
                    return Err(Error::program("no keys here"));
                }
                algorithm.sort(node, &mut vec![3u32, 1, 2])
            };
            let on_threads = Machine::threads(nodes).unwrap().run(program).unwrap_err().to_string();
            let simulated = Machine::sim(&cm5, nodes).unwrap().run(program).unwrap_err().to_string();
            for error in [on_threads, simulated] {
                assert!(error.contains("node 1") && error.contains("no keys here"), "{algorithm:?}: {error}");
            }
        }
    }
}

/// There is no sorted order; but as many elements as were given, or the job ends with an error.
#[test]
fn keys_that_lie_hang_nobody() {
    for nodes in NODES {
        for algorithm in algorithms() {
            let run = Machine::threads(nodes).unwrap().run(|node| {
                let mut items = keys(node, Fickle);
                algorithm.sort(node, &mut items)?;
                Ok(items.len())
            });
            match run {
                Ok(lens) => assert_eq!(lens.iter().sum::<usize>(), 400 * nodes, "{algorithm:?} on {nodes}"),
                Err(Error::Node { message, .. }) => assert!(!message.is_empty(), "{algorithm:?}"),
                Err(other) => panic!("{algorithm:?} on {nodes}: {other}"),
            }
        }
    }
}
