//! Limits that a share of a distribution does not exceed, whatever the distribution is.
//!
//! Source: Wilks, *Determination of sample sizes for setting tolerance limits* (1941). As a bound
//! of predictions: Vovk, Gammerman and Shafer, *Algorithmic Learning in a Random World* (2005);
//! Romano, Patterson and Candès, *Conformalized quantile regression* (2019).

use statrs::distribution::{Binomial, DiscreteCDF};

/// The least number of samples whose greatest is, with this confidence, above the share.
pub(super) fn least_samples(share: f64, confidence: f64) -> usize {
    ((1.0 - confidence).ln() / share.ln()).ceil() as usize
}

/// The rank, from one, of the least of `samples` values in rising order that is above the share of
/// their distribution with this confidence; `None` if there are too few.
pub(super) fn rank(samples: usize, share: f64, confidence: f64) -> Option<usize> {
    let below = Binomial::new(share, samples as u64).ok()?;
    let least = ((share * samples as f64).ceil() as usize).max(1);
    (least..=samples).find(|rank| below.cdf(*rank as u64 - 1) >= confidence)
}

/// The chance that at most `covered` of so many samples lie below what a share of all lies below.
pub(super) fn chance(covered: usize, samples: usize, share: f64) -> f64 {
    Binomial::new(share, samples as u64).map_or(1.0, |below| below.cdf(covered as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_agree_with_tables() {
        // 59 samples for 95 % with 95 %, 299 for 99 %: the usual tables of Wilks's formula.
        for (share, confidence, least) in
            [(0.95, 0.95, 59), (0.99, 0.95, 299), (0.9, 0.95, 29), (0.95, 0.99, 90)]
        {
            assert_eq!(least_samples(share, confidence), least);
            assert_eq!(rank(least, share, confidence), Some(least));
            assert_eq!(rank(least - 1, share, confidence), None);
        }
        // The second greatest of 93, the third of 124.
        assert_eq!((rank(93, 0.95, 0.95), rank(124, 0.95, 0.95)), (Some(92), Some(122)));
    }
}
