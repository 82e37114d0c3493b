//! Products of matrices by `gemm` on one core or on all. The crate takes one up to m·n·k =
//! 48·48·256.

use gemm::{DEFAULT_THREADING_THRESHOLD, Parallelism};

use crate::library::{Candidate, Input, Library, Way};
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

/// The library.
pub struct Product;

impl Library for Product {
    const NAME: &'static str = "product";
    const OLD: &'static str = "gemm: serial up to 48*48*256";
    const INPUTS: &'static [Input] =
        &[Input::new("m", 4, 256), Input::new("n", 4, 256), Input::new("k", 4, 256)];
    const CANDIDATES: &'static [Candidate] = &[Candidate::new("serial"), Candidate::new("parallel")];
    type Problem = (Vec<f64>, Vec<f64>, (usize, usize, usize));
    type Answer = Vec<f64>;

    fn problem(x: &[usize], seed: u64) -> Self::Problem {
        let (m, n, k) = (x[0], x[1], x[2]);
        (matrix(m, k, seed), matrix(k, n, seed ^ 1), (m, n, k))
    }

    fn solve((x, y, size): &mut Self::Problem, way: Way) -> Vec<f64> {
        if way.candidate == 0 { serial(x, y, *size) } else { parallel(x, y, *size) }
    }

    fn numbers(_: &Self::Problem, z: &Vec<f64>) -> Vec<f64> {
        z.clone()
    }

    fn old(x: &[usize]) -> Way {
        Way::of(usize::from(x[0] * x[1] * x[2] > DEFAULT_THREADING_THRESHOLD))
    }
}
