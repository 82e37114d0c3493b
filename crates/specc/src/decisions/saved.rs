//! What the choices of new models save over those of earlier ones, at the same inputs.

use std::fmt;

use strata_model::{count, percent};
use strata_report::Judged;

use strata_fit::bootstrap::{interval_of_mean, mean};

/// The saving of a library's new choices.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved {
    library: String,
    /// The number of inputs, and of those at which both choose differently.
    inputs: usize,
    changed: usize,
    /// The mean over the inputs of what the earlier choice loses more, and its 95 % interval.
    mean: f64,
    interval: (f64, f64),
}

/// The saving of each library, from the losses of both at the inputs that both have.
pub fn saved(earlier: &[Judged], new: &[Judged]) -> Vec<Saved> {
    let mut all: Vec<Saved> = Vec::new();
    for library in new.iter().map(|one| &one.library) {
        if all.iter().any(|one| one.library == *library) {
            continue;
        }
        let of = |one: &&Judged| one.library == *library;
        let pairs: Vec<(&Judged, &Judged)> = (new.iter().filter(of))
            .filter_map(|one| Some((earlier.iter().filter(of).find(|old| old.inputs == one.inputs)?, one)))
            .collect();
        let differences: Vec<f64> = pairs.iter().map(|(old, new)| old.loss - new.loss).collect();
        all.push(Saved {
            library: library.clone(),
            inputs: pairs.len(),
            changed: pairs.iter().filter(|(old, new)| old.chosen != new.chosen).count(),
            mean: mean(&differences),
            interval: interval_of_mean(&differences),
        });
    }
    all
}

impl Saved {
    /// Whether the new choices are better beyond noise.
    pub fn is_gain(&self) -> bool {
        self.inputs > 0 && self.interval.0 > 0.0
    }
}

/// `sort: new choices at 5 of 32 inputs save 3 % (1 % to 5 %)`
impl fmt::Display for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { library, inputs, changed, mean, interval: (low, high) } = self;
        let inputs = count(*inputs, "input", "inputs");
        let [mean, low, high] = [*mean, *low, *high].map(|share| percent(share.max(0.0)));
        match self.is_gain() {
            true => {
                write!(f, "{library}: new choices at {changed} of {inputs} save {mean} ({low} to {high})")
            }
            false => write!(
                f,
                "{library}: the earlier choices are kept; new ones at {changed} of {inputs} would save \
                 {mean} ({low} to {high})"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(library: &str, losses: &[f64], chosen: &str) -> Vec<Judged> {
        let one = |(n, loss): (usize, &f64)| Judged {
            library: library.into(),
            inputs: vec![("n".into(), n as f64)],
            at: format!("n = {n}"),
            chosen: chosen.into(),
            loss: *loss,
        };
        losses.iter().enumerate().map(one).collect()
    }

    #[test]
    fn what_noise_may_have_made_is_no_gain() {
        let best = judged("sort", &[0.0; 12], "quick");
        let poor = judged("sort", &[0.1; 12], "merge");
        let noisy: Vec<f64> = (0..12).map(|n| if n % 2 == 0 { 0.2 } else { -0.19 }).collect();
        let gain = &saved(&poor, &best)[0];
        assert!(gain.is_gain());
        assert_eq!(gain.to_string(), "sort: new choices at 12 of 12 inputs save 10 % (10 % to 10 %)");
        for earlier in [&judged("sort", &noisy, "merge"), &best] {
            let kept = &saved(earlier, &best)[0];
            assert!(!kept.is_gain());
            assert!(kept.to_string().starts_with("sort: the earlier choices are kept"), "{kept}");
        }
        assert!(!saved(&best, &poor)[0].is_gain(), "a loss is no gain");
        assert!(!saved(&[], &poor)[0].is_gain());
        assert_eq!(saved(&poor, &[]), []);
    }
}
