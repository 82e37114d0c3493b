//! Every algorithm on simulated machines: sorted as anywhere, in a time that their local work has
//! its part in.

use crate::common::{Algorithm, Case, algorithms, check_case, numbered, shapes};
use strata_runtime::simulation::{SimulatedMachine, Time};
use strata_runtime::{Block, Computing, prelude::*, simulation::Simulation};
use strata_sort::profile;

fn sim(platform: &str, nodes: usize) -> Result<Simulation, Error> {
    Machine::sim(&SimulatedMachine::find(platform)?, nodes)
}

/// Awkward shapes on these machines, each by `most` of the algorithms in turn.
fn awkward_shapes(machines: [&str; 7], most: usize) {
    let algorithms = algorithms();
    for (platform, nodes) in machines.into_iter().zip([1, 2, 3, 5, 8, 16, 33]) {
        let cases: Vec<_> =
            shapes(nodes).into_iter().map(|(name, parts)| Case::new(name, &numbered(&parts))).collect();
        let run = sim(platform, nodes).unwrap().run(|node| {
            for (at, case) in cases.iter().enumerate() {
                for algorithm in algorithms.iter().cycle().skip(at + nodes).take(most.min(algorithms.len())) {
                    check_case(node, *algorithm, case)?;
                }
            }
            Ok(())
        });
        run.unwrap();
    }
}

/// Minutes: the simulated CM-5 sends packets of five words.
#[test]
#[ignore = "takes minutes without optimisation"]
fn awkward_shapes_stably() {
    let fat = "infiniband-fat-tree";
    awkward_shapes(["cm5", "ethernet-25g", "cm5", "paragon", fat, "alewife", "cm5"], usize::MAX);
}

/// Each shape by one of the algorithms, on each machine by another: simulating them takes long.
#[test]
fn awkward_shapes_by_turns() {
    let fat = "infiniband-fat-tree";
    awkward_shapes(["cm5", "ethernet-25g", "cm5", "paragon", fat, fat, "ethernet-25g"], 1);
}

fn time(simulation: &Simulation, algorithm: Algorithm, keys: usize) -> Result<(Time, u64), Error> {
    let run = simulation.run(|node| {
        let mut keys = profile::keys(node, keys, 32, 1);
        algorithm.sort(node, &mut keys)?;
        Ok(())
    })?;
    Ok((run.time(), run.hash))
}

#[test]
fn local_work_is_charged_and_never_left_out() {
    for algorithm in algorithms() {
        for (nodes, keys) in [(1, 10_000), (4, 10_000), (20, 1000)] {
            let cm5 = sim("cm5", nodes).unwrap();
            let (small, large) =
                (time(&cm5, algorithm, keys / 100).unwrap(), time(&cm5, algorithm, keys).unwrap());
            assert_eq!(
                large,
                time(&cm5, algorithm, keys).unwrap(),
                "{algorithm:?} on {nodes}: the same again"
            );
            // The least that reading each key once takes on a processor of 33 MHz.
            assert!(
                large.0.seconds() > keys as f64 / 33e6 && large.0 > small.0,
                "{algorithm:?} on {nodes}: {large:?}"
            );
            let skeleton = time(&cm5.clone().computing(Computing::Skeleton), algorithm, keys).unwrap();
            assert_eq!(large, skeleton, "{algorithm:?} on {nodes}: where keys go depends on the work");
        }
    }
}

/// A node that has finished may start an exchange of blocks while others still sort.
#[test]
fn an_exchange_of_blocks_may_follow_at_once() {
    for (platform, nodes) in [("cm5", 5), ("cm5", 16), ("paragon", 8), ("alewife", 16)] {
        let machine = sim(platform, nodes).unwrap();
        for algorithm in algorithms() {
            for keys in [1, 20, 300] {
                let run = machine.run(|node| {
                    let mut keys = profile::keys(node, keys, 32, keys as u64);
                    algorithm.sort(node, &mut keys)?;
                    let me = node.rank();
                    let blocks = (0..node.size()).map(|to| Block::from(&*vec![(me * 100 + to) as u64; 64]));
                    let arrived = node.all_to_all_v(blocks.collect());
                    let right = |from: usize| *arrived[from] == vec![(from * 100 + me) as u64; 64];
                    Ok((0..node.size()).all(right))
                });
                let right =
                    run.unwrap_or_else(|e| panic!("{algorithm:?}, {keys} on {platform}-{nodes}: {e}"));
                assert!(
                    right.results.iter().all(|right| *right),
                    "{algorithm:?}, {keys} on {platform}-{nodes}"
                );
            }
        }
    }
}

/// The sorts of the thesis's experiments: all keys in order over the nodes, also where the last digit is
/// short and a node has fewer keys than samples.
#[test]
fn sorts_of_the_thesis_sort() {
    for (platform, nodes, len, width) in
        [("alewife", 5, 1, 9), ("cm5", 4, 33, 11), ("atm", 17, 100, 32), ("paragon", 1, 10, 8)]
    {
        for bits in [Some(4), Some(10), None] {
            let run = sim(platform, nodes).unwrap().run(|node| {
                let before = profile::keys(node, len, width, 7);
                let mut keys = before.clone();
                match bits {
                    Some(bits) => profile::thesis::radix(node, &mut keys, bits, width),
                    None => profile::thesis::sample(node, &mut keys),
                }
                Ok((before, keys))
            });
            let (before, after): (Vec<_>, Vec<_>) = run.unwrap().results.into_iter().unzip();
            let mut expected = before.concat();
            expected.sort_unstable();
            assert_eq!(after.concat(), expected, "{platform}, {bits:?}");
            assert!(bits.is_none() || after.iter().all(|keys| keys.len() == len), "{platform}, {bits:?}");
        }
    }
}

/// Table 4-4, ATM with keys of 32 bits: radix sort by 4 bits up to 127 keys a node, then sample sort. No
/// fixed sort passes.
#[test]
fn the_fastest_sort_of_the_thesis_depends_on_the_number_of_keys() {
    let seconds = |keys: usize, bits: Option<u32>| {
        let run =
            sim("atm", 64).unwrap().run(|node| Ok(profile::thesis::seconds(node, keys, 32, bits, 0..1)));
        run.unwrap().results[0]
    };
    assert!(seconds(64, Some(4)) < seconds(64, None));
    assert!(seconds(256, None) < seconds(256, Some(4)));
}
