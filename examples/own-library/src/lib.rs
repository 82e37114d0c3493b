//! Three ways to multiply square matrices; models of a machine say which is fastest, and with which
//! blocks.

mod multiply;

pub use multiply::multiply;

/// A square matrix, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// The number of rows, and of columns.
    pub n: usize,
    /// n² numbers.
    pub values: Vec<f64>,
}

/// A matrix of n rows of small whole numbers, so that products are exact; others for each seed.
pub fn matrix(n: usize, seed: u64) -> Matrix {
    let number = |i: u64| (i ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 61;
    let values = (0..(n * n) as u64).map(|i| number(i) as f64).collect();
    Matrix { n, values }
}

/// Row by row times column by column.
pub fn naive(x: &Matrix, y: &Matrix) -> Matrix {
    let n = x.n;
    let element = |at: usize| (0..n).map(|k| x.values[at / n * n + k] * y.values[k * n + at % n]).sum();
    Matrix { n, values: (0..n * n).map(element).collect() }
}

/// With the second matrix transposed, so that both are read along their rows.
pub fn transposed(x: &Matrix, y: &Matrix) -> Matrix {
    let n = x.n;
    let turned: Vec<f64> = (0..n * n).map(|at| y.values[at % n * n + at / n]).collect();
    let mut values = Vec::with_capacity(n * n);
    for row in x.values.chunks_exact(n.max(1)) {
        let dot = |column: &[f64]| row.iter().zip(column).map(|(a, b)| a * b).sum::<f64>();
        values.extend(turned.chunks_exact(n.max(1)).map(dot));
    }
    Matrix { n, values }
}

/// By square blocks of at most `side` rows and columns; `side` is at least 1.
pub fn blocked(x: &Matrix, y: &Matrix, side: usize) -> Matrix {
    let n = x.n;
    let mut values = vec![0.0; n * n];
    for k0 in (0..n).step_by(side) {
        for j0 in (0..n).step_by(side) {
            let (k1, j1) = ((k0 + side).min(n), (j0 + side).min(n));
            for i in 0..n {
                for k in k0..k1 {
                    let a = x.values[i * n + k];
                    let out = &mut values[i * n + j0..i * n + j1];
                    out.iter_mut().zip(&y.values[k * n + j0..k * n + j1]).for_each(|(o, b)| *o += a * b);
                }
            }
        }
    }
    Matrix { n, values }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_give_one_product() {
        for n in [0, 1, 2, 7, 16, 65] {
            let (x, y) = (matrix(n, 1), matrix(n, 2));
            let product = naive(&x, &y);
            assert_eq!(transposed(&x, &y), product);
            for side in [1, 8, 100] {
                assert_eq!(blocked(&x, &y, side), product, "{n} {side}");
            }
            assert_eq!(multiply(&x, &y).0, product);
        }
    }
}
