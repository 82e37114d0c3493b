//! Samples of a machine of two speeds, separated by their times alone.
//!
//! A virtual processor that shares its core computes at a fraction of its speed for a while.
//! Samples with the moment of each timing show such periods (`strata-profile` takes them out). In
//! samples from elsewhere, the slow part has times that are the same multiple of the model's, with
//! a gap between both parts. The model of the fast speed and the multiple are found together, so
//! that slow samples contribute to the shape of the cost: hard expectation maximisation of a
//! mixture of two normal distributions of log(measured/predicted), Celeux and Govaert, *A
//! classification EM algorithm for clustering* (1992).
//!
//! Two speeds are a statement about time, not about inputs. A cost that the model misses may look
//! similar, so the slow samples must lie among the others along every input: no order of them may
//! explain which are slow, nor may all samples of some values be. Where a machine is slow for
//! longer than the samples of a point take, this cannot be told apart, and nothing is assumed.
//!
//! The ratio is one that a shared machine has. Two threads of a core get 0.6 to 0.7 of its speed
//! each (Tullsen, Eggers and Levy 1995), two programs on one core a half, a clock that is throttled
//! to its base a half to a third; a quarter is left where three others share the core. Less than a
//! tenth is what caches and clocks vary by anyway.

use std::collections::BTreeSet;

use nalgebra::{DMatrix, DVector};

use super::outliers::{independent, least_squares, majority, structured};

/// The least and the greatest ratio of two speeds.
const RATIOS: std::ops::RangeInclusive<f64> = 1.1..=4.0;

/// The distance of the parts in standard deviations of each. Halves of one normal or uniform
/// distribution are 2.7 or 3.5 apart.
const APART: f64 = 5.0;
/// The least number of points of each part.
const LEAST: usize = 3;
const TURNS: usize = 20;

/// A machine of two speeds.
pub(crate) struct Speeds {
    /// The samples taken at the slow speed, rising.
    pub(crate) slow: Vec<usize>,
    /// The factor of their times; above 1.
    pub(crate) ratio: f64,
}

/// Both speeds of the machine on which `times` were taken, if there are two. `rows` (samples ×
/// terms) and `times` are weighted by one over the times; `variables`: the inputs,
/// variables × samples; `points` numbers the point of each sample.
pub(crate) fn two(
    rows: &DMatrix<f64>,
    variables: &DMatrix<f64>,
    times: &DVector<f64>,
    points: &[usize],
) -> Option<Speeds> {
    let rows = rows.select_columns(&independent(rows));
    let (n, rank) = (times.len(), rows.ncols());
    let different = |places: &mut dyn Iterator<Item = usize>| {
        places.map(|place| points[place]).collect::<BTreeSet<usize>>().len()
    };
    // Samples of one point count as one: they share the model's error.
    let all = different(&mut (0..n));
    if rank == 0 || all < rank + 1 + 2 * LEAST || times.iter().any(|time| *time <= 0.0) {
        return None;
    }
    let plain = least_squares(&rows, times, &DVector::from_element(n, 1.0))?;
    let near = majority(&rows, times).map(|(coefficients, _)| coefficients);
    let found = [Some(plain), near].into_iter().flatten().filter_map(|start| parts(&rows, times, start));
    let (speeds, square) = found.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let spread = (square * all as f64 / (all - rank - 1) as f64).sqrt();
    let fast: Vec<usize> = (0..n).filter(|i| speeds.slow.binary_search(i).is_err()).collect();
    let least = different(&mut fast.iter().copied()).min(different(&mut speeds.slow.iter().copied()));
    let apart = speeds.ratio.ln() > APART * spread && RATIOS.contains(&speeds.ratio);
    (least >= LEAST && apart && !structured(variables, &fast)).then_some(speeds)
}

/// Both parts of a fit from this start, and the mean square of the distances within them.
fn parts(rows: &DMatrix<f64>, times: &DVector<f64>, start: DVector<f64>) -> Option<(Speeds, f64)> {
    let n = times.len();
    let (mut at, mut before) = (start, Vec::new());
    for _ in 0..TURNS {
        let predicted = rows * &at;
        let ratios: Vec<f64> = (0..n).map(|i| (times[i] / predicted[i]).ln()).collect();
        if !ratios.iter().all(|ratio| ratio.is_finite()) {
            return None;
        }
        let (slow, apart, squares) = divided(&ratios);
        let ratio = apart.exp();
        if slow == before {
            return Some((Speeds { slow, ratio }, squares / n as f64));
        }
        // Divided by their times at the fast speed.
        let mut at_one_speed = rows.clone();
        for &i in &slow {
            at_one_speed.row_mut(i).scale_mut(ratio);
        }
        at = least_squares(&at_one_speed, times, &DVector::from_element(n, 1.0))?;
        before = slow;
    }
    None
}

/// Divides values in two parts of the least scatter: the indices of the greater ones, the distance
/// of the means, and the sum of squares within the parts.
fn divided(values: &[f64]) -> (Vec<usize>, f64, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let total: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|v| v * v).sum();
    let (mut low, mut best) = (0.0, (1, f64::INFINITY, 0.0));
    for (k, &i) in order.iter().enumerate().take(values.len() - 1) {
        low += values[i];
        let (below, above) = ((k + 1) as f64, (values.len() - k - 1) as f64);
        let within = squares - low * low / below - (total - low).powi(2) / above;
        if within < best.1 {
            best = (k + 1, within, (total - low) / above - low / below);
        }
    }
    let mut greater = order.split_off(best.0);
    greater.sort_unstable();
    (greater, best.2, best.1.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of 2 + 3x at the points 1, 2, …, 24, two samples each, with a little noise; those of
    /// slow points take 1.4 times as long.
    fn machine(slow: impl Fn(usize) -> bool) -> Option<Speeds> {
        let n = 48;
        let points: Vec<usize> = (0..n).map(|i| i / 2).collect();
        let x = |i: usize| (i / 2 + 1) as f64;
        let noise = |i: usize| 1.0 + 0.01 * ((i * 37 % 11) as f64 / 5.0 - 1.0);
        let time = |i: usize| (2.0 + 3.0 * x(i)) * noise(i) * if slow(i / 2) { 1.4 } else { 1.0 };
        let terms = DMatrix::from_fn(n, 2, |i, j| if j == 0 { 1.0 } else { x(i) });
        let rows = DMatrix::from_fn(n, 2, |i, j| terms[(i, j)] / time(i));
        let variables = DMatrix::from_fn(1, n, |_, i| x(i));
        two(&rows, &variables, &DVector::from_element(n, 1.0), &points)
    }

    #[test]
    fn both_speeds_are_found_whichever_most_samples_have() {
        for share in [3, 5, 8] {
            let slow = |point: usize| point * 7 % 11 < share;
            let speeds = machine(slow).unwrap();
            let expected: Vec<usize> = (0..48).filter(|i| slow(i / 2)).collect();
            assert_eq!(speeds.slow, expected);
            assert!((speeds.ratio - 1.4).abs() < 0.01, "{}", speeds.ratio);
        }
    }

    #[test]
    fn one_speed_and_what_the_model_misses_are_no_two() {
        assert!(machine(|_| false).is_none());
        // A step of the cost is not a speed.
        assert!(machine(|point| point > 12).is_none());
        // Two points do not show a speed.
        assert!(machine(|point| point == 3 || point == 16).is_none());
    }
}
