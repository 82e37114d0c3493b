//! Quantile regression with coefficients that must not be negative, solved exactly.
//!
//! The sum of the pinball losses is piecewise linear, so its least value is at a vertex: as many
//! rows as there are coefficients are met exactly. A sign that must hold is a row too, `β = 0`,
//! which costs infinitely much on one side and nothing on the other; all of these together are the
//! vertex to start from. Each step leaves one row of the vertex along the steepest edge and goes on
//! to the row at which the loss begins to rise.
//!
//! Source: Koenker and Bassett, *Regression quantiles* (1978); Barrodale and Roberts, *An improved
//! algorithm for discrete l1 linear approximation* (1973), for the long steps.

use nalgebra::{DMatrix, DVector};

/// Slopes below this share of those added are rounding.
const FLAT: f64 = 1e-12;
/// Residuals below this share of the greatest value are met.
const MET: f64 = 1e-13;

/// The coefficients, none negative, for which the share of `values` above `rows` times them is at
/// most 1 − `share`, at the least sum of losses. Each row should have a value of about one.
pub(super) fn nonnegative(rows: &DMatrix<f64>, values: &DVector<f64>, share: f64) -> DVector<f64> {
    let terms = rows.ncols();
    let scales: Vec<f64> = rows.column_iter().map(|column| column.amax()).collect();
    let used: Vec<usize> = (0..terms).filter(|j| scales[*j] > 0.0 && scales[*j].is_finite()).collect();
    let scaled = DMatrix::from_fn(rows.nrows(), used.len(), |i, j| rows[(i, used[j])] / scales[used[j]]);
    let found = Vertex::new(scaled, values, share).descend();
    let mut coefficients = DVector::zeros(terms);
    for (found, j) in found.iter().zip(&used) {
        coefficients[*j] = found.max(0.0) / scales[*j];
    }
    coefficients
}

/// A vertex of the loss.
struct Vertex {
    /// The samples, then one row for the sign of each coefficient.
    rows: DMatrix<f64>,
    values: DVector<f64>,
    /// The number of samples.
    samples: usize,
    share: f64,
    /// The rows that are met.
    basis: Vec<usize>,
    /// Residuals up to this size are zero.
    met: f64,
}

/// The way from a vertex along one edge.
struct Edge {
    leaving: usize,
    direction: DVector<f64>,
    /// What each row gains along it.
    along: DVector<f64>,
    slope: f64,
}

impl Vertex {
    fn new(samples: DMatrix<f64>, values: &DVector<f64>, share: f64) -> Self {
        let (count, terms) = samples.shape();
        let rows = samples.resize_vertically(count + terms, 0.0);
        let mut vertex = Self {
            rows,
            values: values.clone().resize_vertically(count + terms, 0.0),
            samples: count,
            share,
            basis: (count..count + terms).collect(),
            met: MET * values.amax(),
        };
        for j in 0..terms {
            vertex.rows[(count + j, j)] = 1.0;
        }
        vertex
    }

    /// The loss of a row for each unit by which its value exceeds, or falls short of, what is
    /// predicted.
    fn loss(&self, row: usize, exceeds: bool) -> f64 {
        match (row < self.samples, exceeds) {
            (true, true) => self.share,
            (true, false) => 1.0 - self.share,
            (false, true) => f64::INFINITY,
            (false, false) => 0.0,
        }
    }

    fn descend(mut self) -> DVector<f64> {
        let terms = self.rows.ncols();
        let mut coefficients = DVector::zeros(terms);
        // Each step lessens the loss, so that no vertex comes twice; long steps need few of them.
        for _ in 0..200 + 50 * terms {
            let residuals = &self.values - &self.rows * &coefficients;
            let Some(edge) = self.steepest(&residuals) else { break };
            let Some((entering, step)) = self.turn(&edge, &residuals) else { break };
            coefficients += &edge.direction * step;
            self.basis[edge.leaving] = entering;
        }
        coefficients
    }

    /// The edge along which the loss falls most for its length; `None` at the least loss.
    fn steepest(&self, residuals: &DVector<f64>) -> Option<Edge> {
        let inverse = self.rows.select_rows(&self.basis).try_inverse()?;
        let mut best: Option<(f64, Edge)> = None;
        for leaving in 0..self.basis.len() {
            for sign in [1.0, -1.0] {
                let direction = inverse.column(leaving) * sign;
                let along = &self.rows * &direction;
                let (mut slope, mut size) = (0.0, 0.0);
                for (row, along) in along.iter().enumerate() {
                    // A row of the vertex that is not left stays met, but for rounding.
                    if *along == 0.0 || self.basis.iter().enumerate().any(|(k, b)| k != leaving && *b == row)
                    {
                        continue;
                    }
                    let above = if residuals[row].abs() <= self.met { -along } else { residuals[row] } > 0.0;
                    let loss = self.loss(row, above);
                    if loss > 0.0 {
                        let change = if above { -along } else { *along } * loss;
                        slope += change;
                        size += change.abs();
                    }
                }
                let steepness = slope / direction.norm();
                if slope < -FLAT * size && best.as_ref().is_none_or(|(least, _)| steepness < *least) {
                    best = Some((steepness, Edge { leaving, direction, along, slope }));
                }
            }
        }
        best.map(|(_, edge)| edge)
    }

    /// The row at which the loss begins to rise, and how far it is.
    fn turn(&self, edge: &Edge, residuals: &DVector<f64>) -> Option<(usize, f64)> {
        let mut met: Vec<(f64, usize)> = (edge.along.iter().enumerate())
            .filter(|(row, along)| {
                **along != 0.0 && residuals[*row].abs() > self.met && !self.basis.contains(row)
            })
            .map(|(row, along)| (residuals[row] / along, row))
            .filter(|(step, _)| *step > 0.0)
            .collect();
        met.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut slope = edge.slope;
        for (step, row) in met {
            slope += edge.along[row].abs() * (self.loss(row, true) + self.loss(row, false));
            if slope >= 0.0 {
                return Some((row, step));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The sum of the losses of all samples.
    fn loss(rows: &DMatrix<f64>, values: &DVector<f64>, share: f64, at: &DVector<f64>) -> f64 {
        let residuals = values - rows * at;
        residuals.iter().map(|r| if *r > 0.0 { share * r } else { (share - 1.0) * r }).sum()
    }

    #[test]
    fn a_constant_is_the_quantile() {
        let values = DVector::from_fn(1000, |i, _| f64::from((i as u32 * 379) % 1000) + 1.0);
        let rows = DMatrix::from_element(1000, 1, 1.0);
        for (share, quantile) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0)] {
            let found = nonnegative(&rows, &values, share)[0];
            assert!((found - quantile).abs() <= 1.0, "{share}: {found}");
        }
    }

    #[test]
    fn exact_values_give_their_coefficients() {
        let rows = DMatrix::from_fn(50, 3, |i, j| (i as f64 + 1.0).powi(j as i32));
        let values = &rows * DVector::from_vec(vec![3.0, 0.0, 0.5]);
        let found = nonnegative(&rows, &values, 0.99);
        assert!((found - DVector::from_vec(vec![3.0, 0.0, 0.5])).amax() < 1e-9);
    }

    proptest! {
        #[test]
        fn no_other_coefficients_lose_less(
            values in prop::collection::vec(0.1f64..3.0, 30),
            inputs in prop::collection::vec(0.0f64..5.0, 60),
            share in 0.5f64..0.99,
            others in prop::collection::vec(0.0f64..1.0, 3),
        ) {
            let rows = DMatrix::from_fn(30, 3, |i, j| if j == 0 { 1.0 } else { inputs[2 * i + j - 1] });
            let values = DVector::from_vec(values);
            let found = nonnegative(&rows, &values, share);
            prop_assert!(found.iter().all(|c| *c >= 0.0));
            let least = loss(&rows, &values, share, &found);
            let other = DVector::from_vec(others);
            for towards in [1.0, 0.1, 1e-3] {
                let near = &found + (&other - &found) * towards;
                prop_assert!(least <= loss(&rows, &values, share, &near) * (1.0 + 1e-9) + 1e-12);
            }
        }
    }
}
