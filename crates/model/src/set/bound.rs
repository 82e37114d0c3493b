//! Models that promise to lie above a share of all samples.

use crate::percent;

/// What a model promises that is a bound from above, and what it was seen to cover.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The share of samples that lie below the model; 0.99 is 99 %.
    pub share: f64,
    /// The probability that at least this share of fresh samples does.
    pub confidence: f64,
    /// How many held-out samples set the factor by which that holds.
    pub samples: usize,
    /// At how many points they were taken; samples of one point may depend on each other.
    pub points: usize,
    /// The share of them that lies below.
    pub covered: f64,
    /// The share of them that lies below a bound that the other half of them sets.
    pub fresh: f64,
    /// The mean of the bound over the measured value.
    pub above: f64,
}

impl Bound {
    /// What it promises, in a sentence without its end.
    #[must_use]
    pub fn statement(&self) -> String {
        format!(
            "an upper bound: with {} confidence at least {} of fresh samples lie below it; of {} held-out samples at \
             {} points {} do, and {} where the other half of them sets the bound; it is {:.3} times the measured value \
             on average",
            percent(self.confidence),
            share(self.share),
            self.samples,
            self.points,
            share(self.covered),
            share(self.fresh),
            self.above
        )
    }

    /// What it promises, in few words: `at least 99 % of samples lie below (95 % confidence)`.
    #[must_use]
    pub fn promise(&self) -> String {
        format!(
            "at least {} of samples lie below ({} confidence)",
            share(self.share),
            percent(self.confidence)
        )
    }
}

/// A share near one as a percentage: `99 %`, `99.5 %`, `99.97 %`.
fn share(fraction: f64) -> String {
    let text = format!("{:.2}", 100.0 * fraction);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_near_one_keep_their_digits() {
        for (fraction, text) in [(0.99, "99 %"), (0.995, "99.5 %"), (0.9997, "99.97 %"), (1.0, "100 %")] {
            assert_eq!(share(fraction), text);
        }
    }
}
