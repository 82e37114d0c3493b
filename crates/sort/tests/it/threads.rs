//! Every algorithm on nodes that are threads, against the sequential sort.

use crate::common::{Algorithm, Case, Random, algorithms, check, check_case, numbered, shapes};
use proptest::prelude::*;
use strata_runtime::prelude::*;
use strata_sort::profile::Distribution;
use strata_sort::{Pair, Sort};

const NODES: [usize; 5] = [1, 2, 3, 5, 8];

fn radix(bits: usize) -> Algorithm {
    Algorithm::Fixed(Sort::Radix { bits })
}

#[test]
fn awkward_shapes_stably() {
    for nodes in NODES {
        let cases: Vec<_> =
            shapes(nodes).into_iter().map(|(name, parts)| Case::new(name, &numbered(&parts))).collect();
        Machine::threads(nodes)
            .unwrap()
            .run(|node| {
                for case in &cases {
                    for algorithm in algorithms() {
                        check_case(node, algorithm, case)?;
                    }
                }
                Ok(())
            })
            .unwrap();
    }
}

/// Numbers, of which equal ones may be exchanged, and pairs, which stay in order.
#[test]
fn every_distribution() {
    for nodes in NODES {
        let machine = Machine::threads(nodes).unwrap();
        let run = machine.run(|node| {
            for distribution in Distribution::ALL {
                for len in [0, 40, 2500] {
                    let all = node.all_gather(&distribution.keys(node, len, 7));
                    let part = |rank: usize| all[rank * len..(rank + 1) * len].to_vec();
                    let parts: Vec<Vec<u64>> = (0..node.size()).map(part).collect();
                    let (of_keys, of_pairs) = (
                        Case::new(distribution.name(), &parts),
                        Case::<Pair<u64, u32>>::new(distribution.name(), &numbered(&parts)),
                    );
                    for algorithm in algorithms() {
                        check_case(node, algorithm, &of_keys)?;
                        check_case(node, algorithm, &of_pairs)?;
                    }
                }
            }
            Ok(())
        });
        run.unwrap();
    }
}

#[test]
fn digits_of_every_size() {
    for nodes in [1, 2, 3] {
        let shapes = shapes(nodes);
        Machine::threads(nodes)
            .unwrap()
            .run(|node| {
                for bits in 1..=16 {
                    let (name, parts) = &shapes[(3 * bits + nodes) % shapes.len()];
                    check(node, radix(bits), name, &numbered(parts))?;
                }
                Ok(())
            })
            .unwrap();
    }
}

/// So many nodes that radix sort scans its counts instead of exchanging them all.
#[test]
fn more_nodes_than_cores() {
    let algorithms = algorithms();
    for nodes in [16, 33] {
        let cases: Vec<_> =
            shapes(nodes).into_iter().map(|(name, parts)| Case::new(name, &numbered(&parts))).collect();
        Machine::threads(nodes)
            .unwrap()
            .run(|node| {
                for (at, case) in cases.iter().enumerate() {
                    check_case(node, algorithms[at % algorithms.len()], case)?;
                    check_case(node, radix(13), case)?;
                }
                Ok(())
            })
            .unwrap();
    }
}

#[test]
fn every_type_of_key() {
    fn all<T: strata_sort::Item + PartialEq + std::fmt::Debug>(
        node: &mut Node,
        of: fn(u64) -> T,
    ) -> Result<(), Error> {
        let mut random = Random(7);
        let parts: Vec<Vec<T>> =
            (0..node.size()).map(|r| (0..200 + 30 * r).map(|_| of(random.next())).collect()).collect();
        for algorithm in algorithms() {
            check(node, algorithm, std::any::type_name::<T>(), &parts)?;
        }
        Ok(())
    }
    for nodes in NODES {
        Machine::threads(nodes)
            .unwrap()
            .run(|node| {
                all(node, |x| x as u8)?;
                all(node, |x| x as u16)?;
                all(node, |x| x as u32)?;
                all(node, |x| x)?;
                all(node, |x| x as usize)?;
                all(node, |x| x as i8)?;
                all(node, |x| x as i16)?;
                all(node, |x| x as i32)?;
                all(node, |x| if x % 9 == 0 { i64::MIN } else { x as i64 })?;
                all(node, |x| x as isize)?;
                all(node, |x| f64::from(x as i32) / 7.0)?;
                all(node, |x| (x as i32) as f32)?;
                all(node, |x| [x as u8, (x >> 8) as u8, (x >> 16) as u8])?;
                all(node, |x| strata_sort::Pair::new(x as i8, [x as u8; 5]))
            })
            .unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_keys_on_any_nodes(
        nodes in 1usize..=8,
        width in 1u32..=64,
        base: u64,
        lens in proptest::collection::vec(0usize..1200, 8),
        seed: u64,
    ) {
        let mut random = Random(seed);
        let parts: Vec<Vec<u64>> = lens[..nodes]
            .iter()
            .map(|&len| (0..len).map(|_| base.saturating_add(random.next() >> (64 - width))).collect())
            .collect();
        let numbered = numbered(&parts);
        Machine::threads(nodes)
            .unwrap()
            .run(|node| {
                for algorithm in algorithms() {
                    check(node, algorithm, "random", &numbered)?;
                }
                Ok(())
            })
            .unwrap();
    }
}
