//! Symmetric matrices of some hundred rows: what a normal posterior needs.

use std::vec::Vec;

/// A square matrix, row by row.
#[derive(Clone, Debug)]
pub(super) struct Square {
    pub(super) size: usize,
    values: Vec<f64>,
}

impl Square {
    pub(super) fn from_fn(size: usize, value: impl Fn(usize, usize) -> f64) -> Self {
        let values = (0..size * size).map(|at| value(at / size.max(1), at % size.max(1))).collect();
        Self { size, values }
    }

    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.size..][..self.size]
    }

    pub(super) fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.size..][..self.size]
    }

    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.size + column]
    }

    /// The lower Cholesky factor; `None` unless the matrix is positive definite.
    pub(super) fn cholesky(mut self) -> Option<Self> {
        let n = self.size;
        for row in 0..n {
            for column in 0..=row {
                let (a, b) = (&self.row(row)[..column], &self.row(column)[..column]);
                let rest = self.at(row, column) - dot(a, b);
                let value = if row == column {
                    if rest.is_nan() || rest <= 0.0 {
                        return None;
                    }
                    rest.sqrt()
                } else {
                    rest / self.at(column, column)
                };
                self.row_mut(row)[column] = value;
            }
        }
        Some(self)
    }

    /// Solves L y = b, of a lower factor L, in place.
    pub(super) fn forward(&self, b: &mut [f64]) {
        for row in 0..self.size {
            let known = dot(&self.row(row)[..row], &b[..row]);
            b[row] = (b[row] - known) / self.at(row, row);
        }
    }

    /// Solves L' x = y in place.
    pub(super) fn backward(&self, y: &mut [f64]) {
        for row in (0..self.size).rev() {
            let known: f64 = (row + 1..self.size).map(|below| self.at(below, row) * y[below]).sum();
            y[row] = (y[row] - known) / self.at(row, row);
        }
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_solved_and_what_is_not_definite_is_refused() {
        let a = Square::from_fn(3, |i, j| if i == j { 4.0 + i as f64 } else { 1.0 / (1.0 + (i + j) as f64) });
        let wanted = [1.0, -2.0, 0.5];
        let mut x: Vec<f64> = (0..3).map(|row| dot(a.row(row), &wanted)).collect();
        let factor = a.cholesky().unwrap();
        factor.forward(&mut x);
        factor.backward(&mut x);
        assert!(x.iter().zip(wanted).all(|(x, wanted)| (x - wanted).abs() < 1e-12), "{x:?}");
        assert!(Square::from_fn(2, |_, _| 1.0).cholesky().is_none());
        assert!(Square::from_fn(1, |_, _| f64::NAN).cholesky().is_none());
        assert!(Square::from_fn(0, |_, _| 1.0).cholesky().is_some());
    }
}
