//! The Cholesky factor of a covariance, which may be singular.

/// A pivot below this share of its diagonal element is rounding.
const ROUNDING: f64 = 1e-12;

/// Elements below this share of their row vanish when the factor is rounded to `f32`.
const NOTHING: f64 = 1e-8;

/// The factor L of a covariance LL' of `count` coefficients, row by row; the lower triangle of L
/// column by column. Empty for an empty covariance.
///
/// The covariance of dependent coefficients is singular, and its factor has zeros; so has a factor
/// with an element that is negligible beside the standard error of its coefficient.
pub(super) fn cholesky(covariance: &[f64], count: usize) -> Vec<f64> {
    if covariance.len() != count * count {
        return Vec::new();
    }
    let mut rest = covariance.to_vec();
    let mut factor = Vec::with_capacity(count * (count + 1) / 2);
    for place in 0..count {
        let pivot = rest[place * count + place];
        let keeps = pivot > ROUNDING * covariance[place * count + place].abs();
        let root = if keeps { pivot.sqrt() } else { f64::INFINITY };
        let column: Vec<f64> = (place..count).map(|row| rest[row * count + place] / root).collect();
        for row in place..count {
            for other in place..=row {
                rest[row * count + other] -= column[row - place] * column[other - place];
            }
        }
        let error = |row: usize| covariance[row * count + row].abs().sqrt();
        let counts = |(l, row): (f64, usize)| if l.abs() > NOTHING * error(row) { l } else { 0.0 };
        factor.extend(column.into_iter().zip(place..).map(counts));
    }
    factor
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The covariance AA' of a random A with `count` rows and `rank` columns.
        #[test]
        fn the_factor_times_itself_is_the_covariance(
            count in 1_usize..7,
            rank in 1_usize..7,
            numbers in prop::collection::vec(-2.0_f64..2.0, 42),
        ) {
            let a = |row: usize, column: usize| numbers[row * 6 + column];
            let product = |i: usize, j: usize| (0..rank).map(|k| a(i, k) * a(j, k)).sum::<f64>();
            let covariance: Vec<f64> =
                (0..count).flat_map(|i| (0..count).map(move |j| (i, j))).map(|(i, j)| product(i, j)).collect();
            let factor = cholesky(&covariance, count);
            prop_assert_eq!(factor.len(), count * (count + 1) / 2);
            let mut l = vec![vec![0.0; count]; count];
            let mut numbers = factor.iter();
            for column in 0..count {
                for row in l.iter_mut().skip(column) {
                    row[column] = *numbers.next().unwrap();
                }
            }
            for i in 0..count {
                for j in 0..count {
                    let sum: f64 = (0..count).map(|k| l[i][k] * l[j][k]).sum();
                    prop_assert!((sum - product(i, j)).abs() < 1e-4, "{i} {j}: {sum}, not {}", product(i, j));
                }
            }
        }
    }

    #[test]
    fn coefficients_that_are_known_have_a_factor_of_zeros() {
        assert_eq!(cholesky(&[0.0; 4], 2), [0.0; 3]);
        assert_eq!(cholesky(&[], 2), [0.0; 0]);
        assert_eq!(cholesky(&[4.0, 2.0, 2.0, 1.0], 2), [2.0, 1.0, 0.0]);
    }
}
