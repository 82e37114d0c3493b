//! Small symmetric matrices: what a normal posterior needs.

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

    /// Zero but for the diagonal.
    pub(super) fn diagonal(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.collect();
        Self::from_fn(values.len(), |row, column| if row == column { values[row] } else { 0.0 })
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
            y[row] /= self.at(row, row);
            let solved = y[row];
            y[..row].iter_mut().zip(self.row(row)).for_each(|(y, factor)| *y -= solved * factor);
        }
    }

    /// (L L')⁻¹ of a lower factor L.
    pub(super) fn inverse(&self) -> Self {
        let size = self.size;
        // Row i is column i of L⁻¹, from its diagonal on.
        let mut columns = Self::from_fn(size, |_, _| 0.0);
        for i in 0..size {
            columns.row_mut(i)[i] = 1.0;
            for row in i..size {
                let known = dot(&self.row(row)[i..row], &columns.row(i)[i..row]);
                let value = (columns.at(i, row) - known) / self.at(row, row);
                columns.row_mut(i)[row] = value;
            }
        }
        let mut inverse = Self::from_fn(size, |_, _| 0.0);
        for i in 0..size {
            for j in 0..=i {
                let value = dot(&columns.row(i)[i..], &columns.row(j)[i..]);
                inverse.row_mut(i)[j] = value;
                inverse.row_mut(j)[i] = value;
            }
        }
        inverse
    }

    /// The logarithm of the determinant of L L'.
    pub(super) fn log_determinant(&self) -> f64 {
        (0..self.size).map(|row| 2.0 * self.at(row, row).ln()).sum()
    }
}

/// The sum of products, as many as both have, in an order that the compiler can compute in vectors.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let count = a.len().min(b.len());
    let (a, b) = (&a[..count], &b[..count]);
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    let mut sums = [0.0; LANES];
    for (a, b) in a.zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_summed_to_the_end_of_the_shorter_one() {
        let numbers: Vec<f64> = (0..40).map(f64::from).collect();
        for (a, b) in (0..40).flat_map(|a| [0, 1, 7, 8, 9, 40].map(|b| (a, b))) {
            let sum: f64 = numbers[..a.min(b)].iter().map(|number| number * number).sum();
            assert_eq!(dot(&numbers[..a], &numbers[..b]), sum, "{a} {b}");
        }
    }

    #[test]
    fn a_system_is_solved_and_what_is_not_definite_is_refused() {
        let a = Square::from_fn(3, |i, j| if i == j { 4.0 + i as f64 } else { 1.0 / (1.0 + (i + j) as f64) });
        let wanted = [1.0, -2.0, 0.5];
        let mut x: Vec<f64> = (0..3).map(|row| dot(a.row(row), &wanted)).collect();
        let factor = a.cholesky().unwrap();
        let inverse = factor.inverse();
        let by_inverse: Vec<f64> = (0..3).map(|row| dot(inverse.row(row), &x)).collect();
        factor.forward(&mut x);
        factor.backward(&mut x);
        assert!(by_inverse.iter().zip(wanted).all(|(x, wanted)| (x - wanted).abs() < 1e-12));
        assert!(x.iter().zip(wanted).all(|(x, wanted)| (x - wanted).abs() < 1e-12), "{x:?}");
        assert!(Square::from_fn(2, |_, _| 1.0).cholesky().is_none());
        assert!(Square::from_fn(1, |_, _| f64::NAN).cholesky().is_none());
        assert!(Square::from_fn(0, |_, _| 1.0).cholesky().is_some());
    }
}
