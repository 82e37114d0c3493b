//! The benchmarks' random numbers: x ← 5¹³ x modulo 2⁴⁶ (RNR-94-007, §2.3).

const FACTOR: u64 = 1_220_703_125;
const MASK: u64 = (1 << 46) - 1;

/// A place in the sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// The sequence that both benchmarks take.
    pub(super) const fn new() -> Self {
        Self(314_159_265)
    }

    pub(super) fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(FACTOR) & MASK;
        self.0
    }

    /// The next number between 0 and 1.
    pub(super) fn next(&mut self) -> f64 {
        self.next_bits() as f64 / (1u64 << 46) as f64
    }

    /// The sequence after `count` further numbers.
    pub(super) fn after(self, mut count: u64) -> Self {
        let (mut value, mut factor) = (self.0, FACTOR);
        while count > 0 {
            if count % 2 == 1 {
                value = value.wrapping_mul(factor) & MASK;
            }
            factor = factor.wrapping_mul(factor) & MASK;
            count /= 2;
        }
        Self(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_skipped_are_those_drawn() {
        let mut drawn = Random::new();
        for count in 0..100 {
            assert_eq!(Random::new().after(count).0, drawn.0);
            drawn.next_bits();
        }
        assert!((0.0..1.0).contains(&drawn.next()));
    }
}
