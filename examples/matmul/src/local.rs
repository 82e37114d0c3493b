//! The product of blocks on one node.

#![allow(unsafe_code, reason = "the `gemm` crate takes addresses; this is the one call")]

use gemm::Parallelism;

/// Adds to the `rows` times `columns` elements of `sum` the product of `a`, of `inner` columns, and
/// `b`. All are stored row by row, `stride` elements apart.
///
/// # Panics
/// A block is shorter than that, or a row longer than the stride.
pub(crate) fn multiply_add(
    sum: &mut [f64],
    a: &[f64],
    b: &[f64],
    [rows, inner, columns]: [usize; 3],
    stride: usize,
) {
    assert!(inner <= stride && columns <= stride);
    let covers = |block: usize, rows: usize| block >= rows * stride;
    assert!(covers(sum.len(), rows) && covers(a.len(), rows) && covers(b.len(), inner));
    let apart = stride.cast_signed();
    // SAFETY: rows are `apart` elements apart and columns one, so the elements that are read and
    // written are below `rows * stride` of `sum` and `a` and `inner * stride` of `b`, which exist by
    // the assertions above. `sum` is borrowed mutably, so it overlaps neither.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            inner,
            sum.as_mut_ptr(),
            1,
            apart,
            true,
            a.as_ptr(),
            1,
            apart,
            b.as_ptr(),
            1,
            apart,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_blocks_are_multiplied_and_the_rest_stays() {
        for (stride, [rows, inner, columns]) in
            [(1, [1, 1, 1]), (7, [7, 7, 7]), (9, [5, 2, 8]), (40, [33, 40, 17])]
        {
            let value = |i: usize, salt: usize| ((i * 7 + salt) % 11) as f64 - 5.0;
            let fill = |salt| (0..stride * stride).map(|i| value(i, salt)).collect::<Vec<f64>>();
            let (a, b, before) = (fill(1), fill(2), fill(3));
            let mut sum = before.clone();
            multiply_add(&mut sum, &a, &b, [rows, inner, columns], stride);
            for i in 0..stride {
                for j in 0..stride {
                    let at = i * stride + j;
                    let more: f64 = (0..inner).map(|k| a[i * stride + k] * b[k * stride + j]).sum();
                    let expected = if i < rows && j < columns { before[at] + more } else { before[at] };
                    assert_eq!(sum[at], expected, "{i} {j} of {stride}");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "covers")]
    fn short_blocks_are_refused() {
        multiply_add(&mut [0.0; 4], &[0.0; 4], &[0.0; 3], [2, 2, 2], 2);
    }
}
