//! Upper triangles of twice the working precision, and their linear systems.

use nalgebra::DMatrix;

use super::wide::Wide;

/// An upper triangular matrix, row by row.
pub(super) struct Triangle {
    size: usize,
    entries: Vec<Wide>,
}

impl Triangle {
    pub(super) fn zero(size: usize) -> Self {
        Self { size, entries: vec![Wide::ZERO; size * size] }
    }

    pub(super) fn get(&self, i: usize, j: usize) -> Wide {
        self.entries[i * self.size + j]
    }

    pub(super) fn set(&mut self, i: usize, j: usize, value: Wide) {
        self.entries[i * self.size + j] = value;
    }

    /// Rounded to doubles, with columns divided by their lengths.
    pub(super) fn scaled(&self) -> DMatrix<f64> {
        let n = self.size;
        let mut r = DMatrix::from_fn(n, n, |i, j| if i <= j { self.get(i, j).get() } else { 0.0 });
        for mut column in r.column_iter_mut() {
            let length = column.norm();
            if length > 0.0 {
                column /= length;
            }
        }
        r
    }

    /// Solves R x = y.
    pub(super) fn solve(&self, y: &mut [Wide]) {
        for i in (0..self.size).rev() {
            let mut rest = y[i];
            for (j, x) in y.iter().enumerate().skip(i + 1) {
                rest = rest - self.get(i, j) * *x;
            }
            y[i] = rest / self.get(i, i);
        }
    }

    /// Solves Rᵀ y = g.
    pub(super) fn solve_transposed(&self, g: &mut [Wide]) {
        for i in 0..self.size {
            let mut rest = g[i];
            for (j, y) in g.iter().enumerate().take(i) {
                rest = rest - self.get(j, i) * *y;
            }
            g[i] = rest / self.get(i, i);
        }
    }

    /// (RᵀR)⁻¹, rounded to doubles.
    pub(super) fn inverse_square(&self) -> DMatrix<f64> {
        let n = self.size;
        let mut inverse = Self::zero(n);
        for j in 0..n {
            let mut column = vec![Wide::ZERO; j + 1];
            column[j] = Wide::from(1.0) / self.get(j, j);
            for i in (0..j).rev() {
                let mut rest = Wide::ZERO;
                for (k, x) in column.iter().enumerate().skip(i + 1) {
                    rest = rest - self.get(i, k) * *x;
                }
                column[i] = rest / self.get(i, i);
            }
            for (i, x) in column.into_iter().enumerate() {
                inverse.set(i, j, x);
            }
        }
        let mut square = DMatrix::zeros(n, n);
        for i in 0..n {
            for j in i..n {
                let sum = (j..n).fold(Wide::ZERO, |sum, k| sum + inverse.get(i, k) * inverse.get(j, k));
                square[(i, j)] = sum.get();
                square[(j, i)] = sum.get();
            }
        }
        square
    }
}
