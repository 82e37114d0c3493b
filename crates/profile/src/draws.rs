//! Whether the time of a task depends on the data that its setup draws.
//!
//! A disturbance makes a timing longer, so a low quantile of a point's timings tells the time of the
//! undisturbed task. Of timings that differ because their data do, as those of a search that ends at
//! what it looks for, it would tell the time of lucky draws, and programs pay the mean. Some timings
//! are therefore repeated on the same data, at another moment of the run: what differs between those
//! is noise, and what differs more between fresh draws is due to the data (analysis of variance;
//! Draper and Smith, *Applied Regression Analysis*, §2.1, pure error).

/// Timings of each model that are repeated on the same data; as many on fresh data are compared.
pub(crate) const REPEATED: usize = 24;

const LEAST_REPEATED: usize = 6;

/// What draws add to the mean distance of two timings (logarithm), at least, also as a share of what
/// noise makes, and in standard errors: where noise prevails a low quantile is nearer.
const LEAST_EFFECT: f64 = 0.05;
const OF_NOISE: f64 = 0.5;
const STANDARD_ERRORS: f64 = 2.5;

/// A timing over the one before it of the same point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside {
    pub(crate) ratio: f64,
    /// Whether both have the same data.
    pub(crate) same: bool,
}

/// The distances of timings of the same point (absolute logarithm of their ratio), of one model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draws {
    same: Vec<f64>,
    fresh: Vec<f64>,
}

impl Draws {
    pub(crate) fn note(&mut self, Beside { ratio, same }: Beside) {
        let distance = ratio.ln().abs();
        let all = if same { &mut self.same } else { &mut self.fresh };
        if distance.is_finite() && all.len() < REPEATED {
            all.push(distance);
        }
    }

    /// By how much timings differ on the same data and on fresh data, if that depends on the data.
    pub(crate) fn matter(&self) -> Option<[f64; 2]> {
        let [(same, error), (fresh, other_error)] = [&self.same, &self.fresh].map(|all| {
            let count = all.len() as f64;
            let mean = all.iter().sum::<f64>() / count;
            let squares: f64 = all.iter().map(|distance| (distance - mean).powi(2)).sum();
            (mean, squares / (count - 1.0) / count)
        });
        let least = (STANDARD_ERRORS * (error + other_error).sqrt()).max(LEAST_EFFECT).max(OF_NOISE * same);
        let enough = self.same.len().min(self.fresh.len()) >= LEAST_REPEATED;
        (enough && fresh - same > least).then(|| [same, fresh].map(f64::exp_m1))
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;

    /// Whether draws are found to matter, of timings on data of this cost with a noise that makes
    /// one in ten of them much longer.
    fn found(cost: impl Fn(f64) -> f64, seed: u64) -> bool {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut draws = Draws::default();
        let mut before = 1.0;
        for _ in 0..REPEATED {
            let data = cost(random.random());
            for same in [false, true] {
                let long = if random.random::<f64>() < 0.1 { 2.0 } else { 1.0 };
                let time = data * (1.0 + 0.05 * random.random::<f64>()) * long;
                draws.note(Beside { ratio: time / before, same });
                before = time;
            }
        }
        draws.matter().is_some()
    }

    #[test]
    fn draws_are_told_from_noise() {
        let often = |cost: fn(f64) -> f64| (0..200).filter(|seed| found(cost, *seed)).count();
        assert!(often(|_| 1.0) == 0 && often(|size| 1.0 + 0.05 * size) == 0, "noise prevails");
        assert!(often(|place| place + 0.01) >= 195, "a search ends at its place");
        assert!(often(|luck| if luck < 0.3 { 30.0 } else { 1.0 }) >= 190, "a way out that some data have");
    }

    #[test]
    fn few_timings_tell_nothing() {
        let mut draws = Draws::default();
        for ratio in [0.0, f64::NAN, f64::INFINITY, 1.0, 1.0, 1.0, 1.0, 1.0] {
            draws.note(Beside { ratio, same: true });
            draws.note(Beside { ratio: 9.0, same: false });
        }
        assert_eq!(draws.matter(), None);
        draws.note(Beside { ratio: 1.0, same: true });
        let [same, fresh] = draws.matter().unwrap();
        assert!(same == 0.0 && (fresh - 8.0).abs() < 1e-9);
    }
}
