//! Distributions of keys over values and nodes, for benches and tests.

use crate::sample;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use strata_runtime::Node;

/// The number of values of the Zipf distributions.
const VALUES: f64 = 1e6;

/// The number of different keys where they are few.
const FEW: u64 = 16;

/// A distribution of keys over values and nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Distribution {
    /// Random 64 bits.
    Uniform,
    /// Ranks from 1 to 10^6, rank k with a probability proportional to 1/k.
    Zipf1,
    /// Ranks from 1 to 10^6, rank k with a probability proportional to k^-1.5.
    Zipf15,
    /// 10^6 / u, rounded down, u from 1 to 10^6: key k about as often as 1/k².
    Inverse,
    /// 0, 1, 2 and so on, over the nodes in the order of their ranks.
    Sorted,
    /// The same keys in descending order.
    Reversed,
    /// Sorted, but in each node one key of a hundred is a random one.
    AlmostSorted,
    /// 16 random values of 64 bits.
    FewDifferent,
    /// Each node has random keys of an interval of its own, in no order of the nodes.
    Staggered,
    /// Node 0 has one key only; the others have random keys.
    OneValueOnNode0,
    /// On half of the nodes all keys are equal, on a quarter of them too, and so on: a few values
    /// with frequencies of a geometric series.
    Duplicates,
    /// The keys that sample sort samples first are less than all others.
    WorstForSamples,
}

impl Distribution {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Uniform,
        Self::Zipf1,
        Self::Zipf15,
        Self::Inverse,
        Self::Sorted,
        Self::Reversed,
        Self::AlmostSorted,
        Self::FewDifferent,
        Self::Staggered,
        Self::OneValueOnNode0,
        Self::Duplicates,
        Self::WorstForSamples,
    ];

    /// Its name, of lower-case letters, digits, dots and hyphens.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Zipf1 => "zipf-1.0",
            Self::Zipf15 => "zipf-1.5",
            Self::Inverse => "inverse",
            Self::Sorted => "sorted",
            Self::Reversed => "reversed",
            Self::AlmostSorted => "almost-sorted",
            Self::FewDifferent => "few-different",
            Self::Staggered => "staggered",
            Self::OneValueOnNode0 => "one-value-on-node-0",
            Self::Duplicates => "duplicates",
            Self::WorstForSamples => "worst-for-samples",
        }
    }

    /// This node's `len` keys. The same `seed`, node and length give the same keys.
    ///
    /// # Participation
    /// Local.
    #[must_use]
    pub fn keys(self, node: &Node, len: usize, seed: u64) -> Vec<u64> {
        self.keys_of(node.rank(), node.size(), len, seed)
    }

    fn keys_of(self, rank: usize, nodes: usize, len: usize, seed: u64) -> Vec<u64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(rank as u64);
        let first = (rank * len) as u64;
        let positions = first..first + len as u64;
        let total = (nodes * len) as u64;
        match self {
            Self::Uniform => positions.map(|_| rng.next_u64()).collect(),
            Self::Zipf1 => positions.map(|_| zipf(1.0, &mut rng)).collect(),
            Self::Zipf15 => positions.map(|_| zipf(1.5, &mut rng)).collect(),
            Self::Inverse => positions.map(|_| 1_000_000 / (1 + rng.next_u64() % 1_000_000)).collect(),
            Self::Sorted => positions.collect(),
            Self::Reversed => positions.map(|at| total - at).collect(),
            Self::AlmostSorted => {
                let mut keys: Vec<u64> = positions.collect();
                for _ in 0..len.div_ceil(100) {
                    keys[below(&mut rng, len as u64) as usize] = below(&mut rng, total);
                }
                keys
            }
            Self::FewDifferent => {
                let mut values = ChaCha8Rng::seed_from_u64(seed ^ 1);
                let values: Vec<u64> = (0..FEW).map(|_| values.next_u64()).collect();
                positions.map(|_| values[below(&mut rng, FEW) as usize]).collect()
            }
            Self::Staggered => {
                let interval = (rank * 7 + 3) % nodes;
                positions.map(|_| (interval as u64) << 32 | rng.next_u64() >> 32).collect()
            }
            Self::OneValueOnNode0 => {
                let one = rng.next_u64();
                positions.map(|_| if rank == 0 { one } else { rng.next_u64() }).collect()
            }
            // The value is the number of trailing zeros of a number that is not 0.
            Self::Duplicates => positions.map(|at| (at + 1).trailing_zeros().into()).collect(),
            Self::WorstForSamples => {
                let mut keys: Vec<u64> = positions.map(|_| rng.next_u64() | 1 << 63).collect();
                for oversample in [8, 16, 32, 64] {
                    for index in sample::sampled(rank, len, oversample.min(len), 0) {
                        keys[index] &= !(1 << 63);
                    }
                }
                keys
            }
        }
    }
}

/// A random number below `limit`.
fn below(rng: &mut ChaCha8Rng, limit: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(limit)) >> 64) as u64
}

/// A rank from 1 to [`VALUES`] with a probability proportional to its power by -`exponent`, by
/// rejection (W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone
/// discrete distributions", 1996).
fn zipf(exponent: f64, rng: &mut ChaCha8Rng) -> u64 {
    // An integral of x^-exponent, and its inverse.
    let area = |x: f64| match exponent {
        1.0 => x.ln(),
        _ => (x.powf(1.0 - exponent) - 1.0) / (1.0 - exponent),
    };
    let inverse = |y: f64| match exponent {
        1.0 => y.exp(),
        _ => (1.0 + y * (1.0 - exponent)).powf(1.0 / (1.0 - exponent)),
    };
    let (low, high) = (area(1.5) - 1.0, area(VALUES + 0.5));
    loop {
        let uniform = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let at = high + uniform * (low - high);
        let rank = inverse(at).round().clamp(1.0, VALUES);
        if at >= area(rank + 0.5) - rank.powf(-exponent) {
            return rank as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn frequencies_of_zipf_follow_the_power() {
        for (exponent, distribution) in [(1.0, Distribution::Zipf1), (1.5, Distribution::Zipf15)] {
            let mut counts = BTreeMap::new();
            let keys = distribution.keys_of(0, 1, 200_000, 5);
            assert!(keys.iter().all(|key| (1..=1_000_000).contains(key)));
            for key in keys {
                *counts.entry(key).or_insert(0.0) += 1.0;
            }
            for key in 2..=8 {
                let ratio: f64 = counts[&1] / counts[&key] / (key as f64).powf(exponent);
                assert!((ratio - 1.0).abs() < 0.15, "{exponent}: key {key}: {ratio}");
            }
        }
    }

    #[test]
    fn keys_are_as_their_names_say() {
        let all = |distribution: Distribution| -> Vec<u64> {
            (0..4).flat_map(|rank| distribution.keys_of(rank, 4, 1000, 3)).collect()
        };
        let different = |keys: &[u64]| {
            let mut keys = keys.to_vec();
            keys.sort_unstable();
            keys.dedup();
            keys.len()
        };
        assert!(all(Distribution::Sorted).is_sorted());
        assert!(all(Distribution::Reversed).iter().rev().is_sorted());
        let almost = all(Distribution::AlmostSorted);
        let falls = almost.windows(2).filter(|pair| pair[0] > pair[1]).count();
        assert!((20..=60).contains(&falls), "{falls}");
        assert_eq!(different(&all(Distribution::FewDifferent)), 16);
        assert_eq!(different(&all(Distribution::OneValueOnNode0)), 3001);
        assert_eq!(different(&all(Distribution::Duplicates)), 12);
        let names: Vec<&str> = Distribution::ALL.iter().map(|one| one.name()).collect();
        assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), names.len());
        for distribution in Distribution::ALL {
            assert_eq!(all(distribution), all(distribution));
            for len in [0, 1, 2, 7] {
                assert_eq!(distribution.keys_of(1, 3, len, 1).len(), len);
            }
        }
    }
}
