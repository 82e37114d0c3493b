//! Interruptions of programs by a machine's operating system.
//!
//! They are simulated only if a simulation requests them: without them a program's times are those
//! of undisturbed measurements, to which models are fitted (Brewer 1994, section 3.4, takes medians
//! of three for that reason).

use crate::Time;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// Timer interrupts of each node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interrupts {
    /// Period of a node's interrupts.
    pub every: Time,
    /// Processor time of one interrupt.
    pub time: Time,
    /// True if all nodes are interrupted at the same moments, by a common clock; otherwise each
    /// node has its own phase.
    pub together: bool,
}

impl Interrupts {
    /// The time of each node's first interrupt: random within the first period.
    #[must_use]
    pub fn first(&self, nodes: usize, seed: u64) -> Vec<Time> {
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0x0069_6e74_6572_7275);
        let draw = |random: &mut ChaCha8Rng| {
            Time(((u128::from(random.next_u64()) * u128::from(self.every.0)) >> 64) as u64)
        };
        let first = draw(&mut random);
        (0..nodes).map(|_| if self.together { first } else { draw(&mut random) }).collect()
    }
}

/// Time slices at whose ends the operating system takes all packets out of the network and puts
/// them back later, and charges that time to the program (Brewer 1994, section 3.4.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slices {
    /// The share by which times grow while the network is full.
    pub dilation: f64,
    /// The standard deviation of that share, from one load of the machine to another.
    pub deviation: f64,
    /// Number of packets a node in a full network.
    pub full: f64,
}

impl Slices {
    /// The factor by which the time of a program grows that has on average `packets` packets a node
    /// in the network. The growth is proportional to them, because a packet is taken out and put
    /// back whenever it is there at the end of a slice. The load of the machine depends on the
    /// seed.
    #[must_use]
    pub fn factor(&self, packets: f64, seed: u64) -> f64 {
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0x0073_6c69_6365_7321);
        // Twelve uniform numbers have variance 1: normal enough, and the same on every host.
        let uniform = |random: &mut ChaCha8Rng| (random.next_u64() >> 11) as f64 * 2f64.powi(-53);
        let normal = (0..12).map(|_| uniform(&mut random)).sum::<f64>() - 6.0;
        let part = (self.dilation + self.deviation * normal).max(0.0);
        1.0 + part * (packets / self.full).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_begin_anywhere_within_a_period() {
        let interrupts = Interrupts { every: Time(1_000_000), time: Time(1000), together: false };
        let first = interrupts.first(1000, 7);
        assert!(first.iter().all(|first| first.0 < 1_000_000));
        let mean = first.iter().map(|first| first.0 as f64).sum::<f64>() / 1000.0;
        assert!((mean - 500_000.0).abs() < 50_000.0, "{mean}");
        assert_eq!(first, interrupts.first(1000, 7));
        assert_ne!(first, interrupts.first(1000, 8));
        let together = Interrupts { together: true, ..interrupts }.first(3, 7);
        assert!(together[0] == together[1] && together[1] == together[2]);
    }

    /// Table 3-5: 18 samples of 4.56 s each, with 95 % intervals.
    #[test]
    fn a_full_network_dilates_and_scatters() {
        let slices = Slices { dilation: 0.21, deviation: 0.106, full: 10.0 };
        let sample = |packets| (0..2000).map(|seed| 4.56 * slices.factor(packets, seed)).collect::<Vec<_>>();
        let full = sample(10.0);
        let mean = full.iter().sum::<f64>() / 2000.0;
        let deviation = (full.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / 2000.0).sqrt();
        assert!((mean - 5.52).abs() < 0.05, "{mean}");
        assert!((deviation - 0.48).abs() < 0.03, "{deviation}");
        assert!(sample(0.0).iter().all(|time| *time == 4.56));
        assert!(sample(100.0) == full);
    }
}
