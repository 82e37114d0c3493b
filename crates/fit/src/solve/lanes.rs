//! Loops over columns in twice the working precision, with the widest instructions that the
//! processor has.
//!
//! A fused multiply-add gives the rounding error of a product in one instruction instead of
//! sixteen. Its availability is known only at run time, so each loop exists with and without it.
//! Both have the same sums in the same order, and the same rounding errors of products: results do
//! not depend on the processor.
//!
//! Source: Ogita, Rump and Oishi, *Accurate sum and dot product* (2005), algorithms Dot2 and Dot2
//! with FMA.

#![allow(unsafe_code, reason = "calls a function for instructions that the processor has")]

use super::wide::{Wide, two_product, two_sum};

/// Independent sums in a dot product: enough for two vectors of the widest kind.
const LANES: usize = 16;

/// Exists where the processor has fused multiply-adds.
struct Fused(());

impl Fused {
    fn new() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        let is_there = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        // Arm's 64-bit processors always have them.
        #[cfg(not(target_arch = "x86_64"))]
        let is_there = cfg!(any(target_feature = "fma", target_arch = "aarch64"));
        is_there.then_some(Self(()))
    }

    /// Runs a loop whose functions are all `#[inline(always)]`, compiled for these instructions.
    fn run<T>(self, columns: impl FnOnce() -> T) -> T {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx2,fma")]
            fn compiled<T>(columns: impl FnOnce() -> T) -> T {
                columns()
            }
            // SAFETY: `new` has found both on this processor.
            unsafe { compiled(columns) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        columns()
    }
}

/// The rounded product and its rounding error.
#[inline(always)]
fn product<const FUSED: bool>(a: f64, b: f64) -> (f64, f64) {
    if FUSED {
        let product = a * b;
        (product, a.mul_add(b, -product))
    } else {
        two_product(a, b)
    }
}

/// The dot product of two columns, rounded about once.
pub(super) fn dot(a: &[f64], b: &[f64]) -> Wide {
    match Fused::new() {
        Some(fused) => fused.run(
            #[inline(always)]
            || dot_of::<true>(a, b),
        ),
        None => dot_of::<false>(a, b),
    }
}

#[inline(always)]
fn dot_of<const FUSED: bool>(a: &[f64], b: &[f64]) -> Wide {
    let (mut sums, mut lost) = ([0.0; LANES], [0.0; LANES]);
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            let (product, error) = product::<FUSED>(a[lane], b[lane]);
            let (sum, rounding) = two_sum(sums[lane], product);
            sums[lane] = sum;
            lost[lane] += rounding + error;
        }
    }
    for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        let (product, error) = product::<FUSED>(*a, *b);
        let (sum, rounding) = two_sum(sums[lane], product);
        sums[lane] = sum;
        lost[lane] += rounding + error;
    }
    total(&sums, &lost)
}

fn total(sums: &[f64; LANES], lost: &[f64; LANES]) -> Wide {
    (0..LANES).fold(Wide::ZERO, |sum, lane| sum + Wide::of_sum(sums[lane], lost[lane]))
}

/// The sum of absolute values, rounded as plain sums are.
pub(super) fn absolute_sum(values: &[f64]) -> f64 {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for chunk in chunks {
        for lane in 0..LANES {
            sums[lane] += chunk[lane].abs();
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|v| v.abs()).sum::<f64>()
}

/// b − Ax, as rounded sums and their rounding errors; `a` column by column.
pub(super) fn residual(a: &[f64], b: &[f64], x: &[Wide]) -> (Vec<f64>, Vec<f64>) {
    let (mut sums, mut lost) = (b.to_vec(), vec![0.0; b.len()]);
    for (column, x) in a.chunks_exact(b.len().max(1)).zip(x) {
        match Fused::new() {
            Some(fused) => fused.run(
                #[inline(always)]
                || take_off::<true>(&mut sums, &mut lost, column, *x),
            ),
            None => take_off::<false>(&mut sums, &mut lost, column, *x),
        };
    }
    (sums, lost)
}

#[inline(always)]
fn take_off<const FUSED: bool>(sums: &mut [f64], lost: &mut [f64], column: &[f64], x: Wide) {
    for ((sum, lost), a) in sums.iter_mut().zip(lost).zip(column) {
        let (product, error) = product::<FUSED>(*a, -x.hi);
        let (next, rounding) = two_sum(*sum, product);
        *sum = next;
        *lost += rounding + (error - a * x.lo);
    }
}

/// A column of numbers of twice the working precision.
#[derive(Clone, Debug)]
pub(super) struct WideColumn {
    pub(super) hi: Vec<f64>,
    pub(super) lo: Vec<f64>,
}

impl WideColumn {
    pub(super) fn new(values: &[f64]) -> Self {
        Self { hi: values.to_vec(), lo: vec![0.0; values.len()] }
    }

    pub(super) fn get(&self, i: usize) -> Wide {
        Wide { hi: self.hi[i], lo: self.lo[i] }
    }

    pub(super) fn set(&mut self, i: usize, value: Wide) {
        (self.hi[i], self.lo[i]) = (value.hi, value.lo);
    }

    /// The dot product from row `from` on.
    pub(super) fn dot(&self, other: &Self, from: usize) -> Wide {
        let (a, b) = ((&self.hi[from..], &self.lo[from..]), (&other.hi[from..], &other.lo[from..]));
        match Fused::new() {
            Some(fused) => fused.run(
                #[inline(always)]
                || wide_dot::<true>(a, b),
            ),
            None => wide_dot::<false>(a, b),
        }
    }

    /// Subtracts `factor` times the other, from row `from` on.
    pub(super) fn take_off(&mut self, factor: Wide, other: &Self, from: usize) {
        let (hi, lo) = (&mut self.hi[from..], &mut self.lo[from..]);
        let other = (&other.hi[from..], &other.lo[from..]);
        match Fused::new() {
            Some(fused) => fused.run(
                #[inline(always)]
                || wide_take_off::<true>(hi, lo, factor, other),
            ),
            None => wide_take_off::<false>(hi, lo, factor, other),
        };
    }
}

#[inline(always)]
fn wide_dot<const FUSED: bool>((a, a_lo): (&[f64], &[f64]), (b, b_lo): (&[f64], &[f64])) -> Wide {
    let (mut sums, mut lost) = ([0.0; LANES], [0.0; LANES]);
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let (a_lo, a_lo_rest) = a_lo.as_chunks::<LANES>();
    let (b_lo, b_lo_rest) = b_lo.as_chunks::<LANES>();
    for ((a, b), (c, d)) in a.iter().zip(b).zip(a_lo.iter().zip(b_lo)) {
        for lane in 0..LANES {
            let (product, error) = product::<FUSED>(a[lane], b[lane]);
            let (sum, rounding) = two_sum(sums[lane], product);
            sums[lane] = sum;
            lost[lane] += rounding + (error + (a[lane] * d[lane] + c[lane] * b[lane]));
        }
    }
    let rest = a_rest.iter().zip(b_rest).zip(a_lo_rest.iter().zip(b_lo_rest));
    for (lane, ((a, b), (c, d))) in rest.enumerate() {
        let (product, error) = product::<FUSED>(*a, *b);
        let (sum, rounding) = two_sum(sums[lane], product);
        sums[lane] = sum;
        lost[lane] += rounding + (error + (a * d + c * b));
    }
    total(&sums, &lost)
}

#[inline(always)]
fn wide_take_off<const FUSED: bool>(
    hi: &mut [f64],
    lo: &mut [f64],
    factor: Wide,
    (v, v_lo): (&[f64], &[f64]),
) {
    for ((hi, lo), (v, v_lo)) in hi.iter_mut().zip(lo).zip(v.iter().zip(v_lo)) {
        let (product, error) = product::<FUSED>(-factor.hi, *v);
        let error = error - (factor.hi * v_lo + factor.lo * v);
        let (sum, rounding) = two_sum(*hi, product);
        let (small, lost) = two_sum(*lo, error);
        let (sum, rest) = two_sum(sum, rounding + small);
        let (sum, rest) = two_sum(sum, rest + lost);
        (*hi, *lo) = (sum, rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same(a: Wide, b: Wide) -> bool {
        (a.hi.to_bits(), a.lo.to_bits()) == (b.hi.to_bits(), b.lo.to_bits())
    }

    proptest! {
        /// Equal to the last bit, so that a fit does not depend on the processor.
        #[test]
        fn both_kinds_of_instructions_give_the_same(
            rows in prop::collection::vec((-2.0f64..2.0, -2.0f64..2.0, -1e-17f64..1e-17, -1e-17f64..1e-17), 0..70), x in -9.0f64..9.0,
        ) {
            let column = |of: fn(&(f64, f64, f64, f64)) -> f64| rows.iter().map(of).collect::<Vec<f64>>();
            let (a, b, c, d) = (column(|r| r.0), column(|r| r.1), column(|r| r.2), column(|r| r.3));
            prop_assert!(same(dot_of::<true>(&a, &b), dot_of::<false>(&a, &b)));
            prop_assert!(same(wide_dot::<true>((&a, &c), (&b, &d)), wide_dot::<false>((&a, &c), (&b, &d))));
            let x = Wide { hi: x, lo: x * 1e-17 };
            let (mut one, mut two) = ((b.clone(), d.clone()), (b.clone(), d.clone()));
            take_off::<true>(&mut one.0, &mut one.1, &a, x);
            take_off::<false>(&mut two.0, &mut two.1, &a, x);
            prop_assert_eq!(&one, &two);
            wide_take_off::<true>(&mut one.0, &mut one.1, x, (&a, &c));
            wide_take_off::<false>(&mut two.0, &mut two.1, x, (&a, &c));
            prop_assert_eq!(&one, &two);
        }
    }
}
