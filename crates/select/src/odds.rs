//! How sure a choice is: what the intervals of the candidates' predictions say of it.

#[cfg(not(feature = "std"))]
use crate::Math as _;
use crate::Prediction;

/// The half width of a 95 % interval in standard deviations.
const DEVIATIONS: f64 = 1.959_963_984_540_054;

/// √(2π).
const ROOT_TAU: f64 = 2.506_628_274_631_000_5;

/// Steps of the integrals over time; their error is far below that of the intervals.
const STEPS: usize = 2000;

/// How sure a choice is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odds {
    /// The probability that the chosen candidate is the fastest, from 0 to 1.
    pub fastest: f64,
    /// By how much its time is expected to exceed that of the fastest, in seconds: what always knowing the fastest would save.
    pub loss: f64,
}

/// The odds of choosing candidate `chosen` of those predicted; times are taken as independent and normal, with their
/// intervals of 95 %. `None` if there is no such prediction. Without intervals a candidate is the fastest or it is not.
#[must_use]
pub fn odds(predicted: &[Prediction], chosen: usize) -> Option<Odds> {
    let times = || predicted.iter().map(Normal::of);
    let own = Normal::of(predicted.get(chosen)?);
    let others = || times().enumerate().filter(|(i, _)| *i != chosen).map(|(_, time)| time);
    let later = |t: f64| others().map(|time| time.chance_after(t)).product::<f64>();
    let fastest = if own.deviation > 0.0 {
        // Equal steps of probability rather than of time would need quantiles; six deviations leave 2e-9 out.
        let (low, high) = (own.mean - 6.0 * own.deviation, own.mean + 6.0 * own.deviation);
        integral(low, high, |t| own.density(t) * later(t))
    } else {
        later(own.mean)
    };
    // The expected least time is its least value and what is still to come after each moment.
    let edge = |sign: f64| times().map(move |time| time.mean + sign * 6.0 * time.deviation);
    let low = edge(-1.0).fold(f64::INFINITY, f64::min);
    let high = edge(1.0).fold(f64::INFINITY, f64::min).max(low);
    let least = low + integral(low, high, |t| times().map(|time| time.chance_after(t)).product());
    Some(Odds { fastest: fastest.clamp(0.0, 1.0), loss: (own.mean - least).max(0.0) })
}

/// A time that is not known exactly.
struct Normal {
    mean: f64,
    deviation: f64,
}

impl Normal {
    fn of(prediction: &Prediction) -> Self {
        Self { mean: prediction.seconds.get(), deviation: prediction.half_width.get() / DEVIATIONS }
    }

    fn density(&self, t: f64) -> f64 {
        let z = (t - self.mean) / self.deviation;
        (-0.5 * z * z).exp() / (self.deviation * ROOT_TAU)
    }

    /// The probability of a time above `t`; of one that is known exactly, a half at it.
    fn chance_after(&self, t: f64) -> f64 {
        if self.deviation > 0.0 {
            0.5 * erfc((t - self.mean) / (self.deviation * core::f64::consts::SQRT_2))
        } else if t == self.mean {
            0.5
        } else {
            f64::from(u8::from(t < self.mean))
        }
    }
}

/// The complementary error function, with a relative error below 1.2e-7.
///
/// # Source
/// Press et al., *Numerical Recipes in C*, 2nd ed., section 6.2 (`erfcc`).
fn erfc(x: f64) -> f64 {
    const C: [f64; 10] = [
        0.170_872_77,
        -0.822_152_23,
        1.488_515_87,
        -1.135_203_98,
        0.278_868_07,
        -0.186_288_06,
        0.096_784_18,
        0.374_091_96,
        1.000_023_68,
        -1.265_512_23,
    ];
    let t = 1.0 / (1.0 + 0.5 * x.abs());
    let tail = t * (C.iter().fold(0.0, |sum, c| sum * t + c) - x * x).exp();
    if x < 0.0 { 2.0 - tail } else { tail }
}

/// By the midpoint rule.
fn integral(low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let step = (high - low) / STEPS as f64;
    (0..STEPS).map(|i| f(low + (i as f64 + 0.5) * step)).sum::<f64>() * step
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn predictions(times: &[(f64, f64)]) -> Vec<Prediction> {
        times.iter().map(|(mean, half)| Prediction::new(*mean, *half).unwrap()).collect()
    }

    #[test]
    fn two_alike_are_a_toss_and_cost_what_theory_says() {
        // E[min] of two equal normals is the mean less a deviation over the root of pi.
        let odds = odds(&predictions(&[(10.0, DEVIATIONS), (10.0, DEVIATIONS)]), 0).unwrap();
        assert!((odds.fastest - 0.5).abs() < 1e-6, "{odds:?}");
        assert!((odds.loss - 1.0 / core::f64::consts::PI.sqrt()).abs() < 1e-4, "{odds:?}");
    }

    #[test]
    fn what_is_known_exactly_is_certain() {
        let all = predictions(&[(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)]);
        assert_eq!(odds(&all, 0).unwrap().fastest, 1.0);
        assert!(odds(&all, 0).unwrap().loss < 1e-3);
        let second = odds(&all, 1).unwrap();
        assert_eq!(second.fastest, 0.0);
        assert!((second.loss - 1.0).abs() < 1e-3, "{second:?}");
        assert_eq!(odds(&all, 3), None);
        assert_eq!(odds(&[], 0), None);
    }

    #[test]
    fn erfc_as_tables_have_it() {
        // Abramowitz and Stegun, table 7.1.
        for (x, value) in
            [(0.0, 1.0), (0.5, 0.479_500_122_2), (1.0, 0.157_299_207_1), (2.0, 0.004_677_734_98)]
        {
            assert!(
                (erfc(x) / value - 1.0).abs() < 1.2e-7 && (erfc(-x) - (2.0 - value)).abs() < 1.2e-7,
                "{x}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_chances_of_all_add_up_and_the_surest_loses_least(
            times in prop::collection::vec((1e-6f64..1e-3, 1e-7f64..1e-4), 1..5),
        ) {
            let all = predictions(&times);
            let each: Vec<Odds> = (0..all.len()).map(|i| odds(&all, i).unwrap()).collect();
            let total: f64 = each.iter().map(|odds| odds.fastest).sum();
            prop_assert!((total - 1.0).abs() < 0.01, "{total}");
            let shortest = (0..all.len()).min_by(|a, b| times[*a].0.total_cmp(&times[*b].0)).unwrap();
            prop_assert!(each.iter().all(|odds| odds.loss >= each[shortest].loss - 1e-12));
        }
    }
}
