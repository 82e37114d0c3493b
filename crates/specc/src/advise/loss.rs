//! The expected loss of choosing between two times that are not known exactly.

/// The expected excess of a time over that of a rival predicted to take `gap` ≥ 0 longer, if the
/// difference of both has this variance: s·(φ(z) − z·Φ(−z)) with z = gap/s (Raiffa and Schlaifer
/// 1961, §5.3).
pub(super) fn expected(gap: f64, variance: f64) -> f64 {
    let s = variance.max(0.0).sqrt();
    let z = gap / s;
    // This includes the case of no variance, where z is infinite or not a number.
    if !(0.0..8.0).contains(&z) {
        return 0.0;
    }
    let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    let beyond = 0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2);
    s * (density - z * beyond).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::Prediction;
    use strata_select::odds;

    #[test]
    fn two_candidates_lose_what_the_odds_say() {
        // Normal and log-normal differences agree if the deviations are small against the times.
        for (a, b, da, db) in [
            (1.0, 1.0, 0.01, 0.01),
            (1.0, 1.02, 0.01, 0.005),
            (3.0, 3.01, 0.02, 1e-6),
            (1.0, 2.0, 0.03, 0.03),
        ] {
            let at = |mean: f64, deviation: f64| {
                Prediction::new(mean, 0.0).and_then(|p| p.with_deviation(deviation)).unwrap()
            };
            let theirs = odds(&[at(a, da), at(b, db)], 0).unwrap().loss;
            let ours = expected(b - a, da * da + db * db);
            assert!((ours - theirs).abs() < 1e-5, "{a} {b} {da} {db}: {ours} {theirs}");
        }
        assert_eq!(expected(1.0, 0.0), 0.0);
        assert_eq!(expected(0.0, 0.0), 0.0);
        assert_eq!(expected(1.0, f64::NAN), 0.0);
    }
}
