//! Products of matrices by `gemm` on one core or on all. The crate takes one up to m·n·k =
//! 48·48·256.

use gemm::Parallelism;

use crate::random::fractions;

/// A matrix of so many rows and columns, by columns.
pub fn matrix(rows: usize, columns: usize, seed: u64) -> Vec<f64> {
    fractions(rows * columns, seed)
}

/// The product of a matrix of m × k and one of k × n, on one core.
pub fn serial(x: &[f64], y: &[f64], (m, n, k): (usize, usize, usize)) -> Vec<f64> {
    product(x, y, (m, n, k), Parallelism::None)
}

/// On all cores.
pub fn parallel(x: &[f64], y: &[f64], (m, n, k): (usize, usize, usize)) -> Vec<f64> {
    gemm::set_threading_threshold(0);
    product(x, y, (m, n, k), Parallelism::Rayon(0))
}

fn product(x: &[f64], y: &[f64], (m, n, k): (usize, usize, usize), on: Parallelism) -> Vec<f64> {
    assert!(x.len() == m * k && y.len() == k * n, "matrices of other sizes");
    let mut z = vec![0.0; m * n];
    let (from, across, to) = (x.as_ptr(), y.as_ptr(), z.as_mut_ptr());
    let [m_stride, k_stride] = [m as isize, k as isize];
    #[expect(unsafe_code, reason = "gemm takes pointers")]
    // SAFETY: by columns, the strides reach just the elements of the three matrices, which the
    // assertion and the allocation above provide; `z` overlaps neither `x` nor `y`.
    unsafe {
        gemm::gemm(
            m, n, k, to, m_stride, 1, false, from, m_stride, 1, across, k_stride, 1, 0.0, 1.0, false, false,
            false, on,
        );
    }
    z
}
