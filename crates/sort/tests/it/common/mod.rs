//! Cases that every algorithm must sort, and the check against the sequential sort of the standard
//! library.

use strata_runtime::prelude::*;
use strata_sort::{Item, Pair, Sort, profile};

/// One way to sort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Algorithm {
    Fixed(Sort),
    Chosen,
}

/// Every candidate with several parameters, sample sort also with as few samples as make bad
/// splitters, and the choice; the extreme digits take long and have a test of their own.
pub(crate) fn algorithms() -> Vec<Algorithm> {
    let candidates = profile::candidates(&[8, 11, 32]).map(|(_, candidate)| candidate);
    let all = candidates.chain([Sort::Sample { oversample: 1 }]).map(Algorithm::Fixed);
    all.chain([Algorithm::Chosen]).collect()
}

impl Algorithm {
    pub(crate) fn sort<T: Item>(self, node: &mut Node, items: &mut Vec<T>) -> Result<(), Error> {
        match self {
            Self::Fixed(candidate) => candidate.run(node, items),
            Self::Chosen => strata_sort::sort(node, items)?,
        }
        Ok(())
    }
}

/// Elements of every node, and the same sorted by a sequential stable sort.
pub(crate) struct Case<T> {
    name: &'static str,
    parts: Vec<Vec<T>>,
    expected: Vec<T>,
}

impl<T: Item> Case<T> {
    pub(crate) fn new(name: &'static str, parts: &[Vec<T>]) -> Self {
        let mut expected = parts.concat();
        expected.sort_by_key(Item::bits);
        Self { name, parts: parts.to_vec(), expected }
    }
}

/// Sorts by `algorithm` and compares with what is expected in the balanced layout.
pub(crate) fn check_case<T: Item + PartialEq>(
    node: &mut Node,
    algorithm: Algorithm,
    case: &Case<T>,
) -> Result<(), Error> {
    let Case { name, parts, expected } = case;
    let mut items = parts[node.rank()].clone();
    algorithm.sort(node, &mut items)?;
    let share = expected.len().div_ceil(node.size());
    let start = (node.rank() * share).min(expected.len());
    let end = (start + share).min(expected.len());
    if items != expected[start..end] {
        return Err(Error::program(format!(
            "{algorithm:?} sorted `{name}` wrongly on {} nodes",
            node.size()
        )));
    }
    Ok(())
}

/// As [`check_case`], where few algorithms sort the same.
#[allow(dead_code, reason = "not every test sorts so little")]
pub(crate) fn check<T: Item + PartialEq>(
    node: &mut Node,
    algorithm: Algorithm,
    name: &'static str,
    parts: &[Vec<T>],
) -> Result<(), Error> {
    check_case(node, algorithm, &Case::new(name, parts))
}

/// A small generator, equal on all nodes.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        // SplitMix64 (Steele, Lea and Flood 2014).
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// Inputs that are easy to get wrong: for each its name and the keys of every node.
pub(crate) fn shapes(nodes: usize) -> Vec<(&'static str, Vec<Vec<u64>>)> {
    let mut random = Random(nodes as u64);
    let mut fill = |lens: &[usize], key: &mut dyn FnMut(u64, u64) -> u64| -> Vec<Vec<u64>> {
        let mut position = 0;
        lens.iter()
            .map(|&len| {
                (0..len)
                    .map(|_| {
                        position += 1;
                        key(position - 1, random.next())
                    })
                    .collect()
            })
            .collect()
    };
    let even = vec![300; nodes];
    let uneven: Vec<usize> = (0..nodes).map(|r| r * 97 % 5 * 113).collect();
    let only = |r: usize, len: usize| -> Vec<usize> {
        let mut lens = vec![0; nodes];
        lens[r] = len;
        lens
    };
    // Only so many nodes have many: more would make nothing harder.
    let large: Vec<usize> = (0..nodes).map(|r| if r < 8 { 4000 + 200 * r } else { 200 + r }).collect();
    vec![
        ("nothing", fill(&vec![0; nodes], &mut |_, _| 0)),
        ("one key", fill(&only(nodes - 1, 1), &mut |_, x| x)),
        ("fewer keys than nodes", fill(&only(nodes / 2, nodes - 1), &mut |_, x| x % 2)),
        ("random", fill(&even, &mut |_, x| x)),
        ("random 8 bits", fill(&even, &mut |_, x| x >> 56)),
        ("random, uneven", fill(&uneven, &mut |_, x| x)),
        ("all equal", fill(&even, &mut |_, _| 42)),
        ("all equal, uneven", fill(&uneven, &mut |_, _| u64::MAX)),
        ("all equal, on the last node", fill(&only(nodes - 1, 500), &mut |_, _| 0)),
        ("everything on the first node", fill(&only(0, 3000), &mut |_, x| x)),
        ("everything on the last node", fill(&only(nodes - 1, 3000), &mut |_, x| x >> 40)),
        ("sorted", fill(&even, &mut |i, _| i)),
        ("reversed", fill(&even, &mut |i, _| u64::MAX - i)),
        ("organ pipe", fill(&even, &mut |i, _| i.min(300 * nodes as u64 - i))),
        (
            "each node the lot of another",
            fill(&even, &mut |i, x| ((i / 300 * 7 + 3) % nodes as u64) << 32 | x >> 40),
        ),
        ("many small, few large (Zipf)", fill(&even, &mut |_, x| 1000 / (1 + x % 1000))),
        ("two values, the extremes", fill(&even, &mut |_, x| if x % 2 == 0 { 0 } else { u64::MAX })),
        ("few large values", fill(&uneven, &mut |_, x| if x % 50 == 0 { u64::MAX } else { x % 3 })),
        ("powers of two", fill(&large, &mut |_, x| 1 << (x % 64))),
        ("large, random", fill(&large, &mut |_, x| x)),
        ("large, 20 bits, far from zero", fill(&large, &mut |_, x| (x >> 44) + (1 << 60))),
        (
            "large, one numeral in the middle",
            fill(&large, &mut |i, x| (x >> 60 << 40) | 0xAB_0000 | (i & 0xFF)),
        ),
    ]
}

/// The same keys as pairs that remember where they stood, so that only a stable sort passes.
pub(crate) fn numbered(parts: &[Vec<u64>]) -> Vec<Vec<Pair<u64, u32>>> {
    let mut number = 0;
    let mut pair = |&key: &u64| {
        number += 1;
        Pair::new(key, number)
    };
    parts.iter().map(|part| part.iter().map(&mut pair).collect()).collect()
}
