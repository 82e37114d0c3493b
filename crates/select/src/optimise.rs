//! Roots and minima of functions of one integer (Brewer 1994, section 5.1).
//!
//! The functions are predictions and may be infinite or NaN: NaN counts as "not negative" where a
//! sign is needed, and as infinite where a minimum is sought.
//!
//! ```
//! use strata_select::optimise::{global_minimum, integer_minimum, integer_root};
//!
//! let cost = |bits: i64| 32.0 / bits as f64 + f64::powi(2.0, bits as i32) / 100.0;
//! assert_eq!(integer_minimum(1, 16, cost), 7);
//! assert_eq!(global_minimum(1, 16, cost), 7);
//! assert_eq!(integer_root(0, 1000, |x| (x * x) as f64 - 99.0), 9);
//! ```

/// Points evaluated to find a change of sign, or the valleys of a function, in ranges that are too
/// long for exhaustive search.
const GRID: i64 = 64;

/// Ranges up to this length are tried exhaustively.
pub const EXHAUSTIVE: u64 = 256;

/// A root of `f` in `[bottom, top]`, rounded down.
///
/// The result `x` is the last integer before `f` changes its sign, or one at which `f` is zero.
/// `bottom - 1` if `f` is negative throughout, `top + 1` if it is positive throughout. With several
/// roots, one of them. An empty range counts as negative throughout.
///
/// # Source
///
/// `IntegerRoot` of section 5.1. There the signs at the ends decide. Here up to 64 points are
/// evaluated before a function with equal signs at its ends counts as without a root.
#[must_use]
pub fn integer_root(bottom: i64, top: i64, mut f: impl FnMut(i64) -> f64) -> i64 {
    if bottom > top {
        return bottom.saturating_sub(1);
    }
    let negative = f(bottom) < 0.0;
    let Some((mut low, mut high)) = sign_change(bottom, top, negative, &mut f) else {
        return if negative { bottom.saturating_sub(1) } else { top.saturating_add(1) };
    };
    // The sign at `low` is that of `bottom`; at `high` it is zero or the other.
    while high.abs_diff(low) > 1 {
        let middle = i64::midpoint(low, high);
        if is_beyond(f(middle), negative) { high = middle } else { low = middle }
    }
    if f(high) == 0.0 { high } else { low }
}

/// Whether a value is zero or has the other sign.
fn is_beyond(value: f64, negative: bool) -> bool {
    if negative { value >= 0.0 || value.is_nan() } else { value <= 0.0 }
}

fn sign_change(bottom: i64, top: i64, negative: bool, f: &mut impl FnMut(i64) -> f64) -> Option<(i64, i64)> {
    if is_beyond(f(bottom), negative) {
        return Some((bottom, bottom));
    }
    if is_beyond(f(top), negative) {
        return Some((bottom, top));
    }
    let mut before = bottom;
    for point in grid(bottom, top) {
        if is_beyond(f(point), negative) {
            return Some((before, point));
        }
        before = point;
    }
    None
}

/// The minimum of `f` in `[bottom, top]`, if `f` falls and then rises (or only falls or rises).
///
/// With several valleys the result lies in one of them. About 2 log₂(top - bottom) evaluations. An
/// empty range yields `bottom`.
///
/// # Source
/// `IntegerMinimum` of section 5.1: binary search on the numerical derivative.
#[must_use]
pub fn integer_minimum(bottom: i64, top: i64, mut f: impl FnMut(i64) -> f64) -> i64 {
    let mut f = |x| cost(f(x));
    let (mut low, mut high) = (bottom, top.max(bottom));
    while low < high {
        let middle = i64::midpoint(low, high - 1);
        if f(middle) <= f(middle + 1) { high = middle } else { low = middle + 1 }
    }
    low
}

/// The minimum of `f` in `[bottom, top]`, which may have several valleys, as over the digit width
/// of a radix sort.
///
/// Exact for ranges of up to [`EXHAUSTIVE`] values and for functions with one valley; otherwise the
/// best of the valleys found by 64 points. Of equal minima, an exhaustive search returns the first.
/// An empty range yields `bottom`.
#[must_use]
pub fn global_minimum(bottom: i64, top: i64, mut f: impl FnMut(i64) -> f64) -> i64 {
    let mut best = Best { at: bottom, cost: f64::INFINITY };
    if bottom > top {
        return bottom;
    }
    if top.abs_diff(bottom) < EXHAUSTIVE {
        (bottom..=top).for_each(|x| best.offer(x, cost(f(x))));
        return best.at;
    }
    // A valley is a grid point not above its neighbours; the minimum lies between those.
    let mut last = [(bottom, f64::INFINITY), (bottom, cost(f(bottom)))];
    best.offer(bottom, last[1].1);
    for point in grid(bottom, top).chain([top]) {
        let next = (point, cost(f(point)));
        best.offer(next.0, next.1);
        if last[1].1 <= last[0].1 && last[1].1 <= next.1 {
            best.search(last[0].0, next.0, &mut f);
        }
        last = [last[1], next];
    }
    if last[1].1 <= last[0].1 {
        best.search(last[0].0, top, &mut f);
    }
    best.at
}

struct Best {
    at: i64,
    cost: f64,
}

impl Best {
    fn offer(&mut self, at: i64, cost: f64) {
        if cost < self.cost {
            *self = Self { at, cost };
        }
    }

    fn search(&mut self, low: i64, high: i64, f: &mut impl FnMut(i64) -> f64) {
        let at = integer_minimum(low, high, &mut *f);
        self.offer(at, cost(f(at)));
    }
}

fn cost(value: f64) -> f64 {
    if value.is_nan() { f64::INFINITY } else { value }
}

/// Up to [`GRID`] distinct points between `bottom` and `top`, ends excluded, rising.
fn grid(bottom: i64, top: i64) -> impl Iterator<Item = i64> {
    let length = i128::from(top) - i128::from(bottom);
    let steps = length.min(i128::from(GRID) + 1);
    (1..steps).map(move |step| (i128::from(bottom) + length * step / steps) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn roots_as_the_thesis_has_them() {
        assert_eq!(integer_root(0, 10, |_| -1.0), -1);
        assert_eq!(integer_root(0, 10, |_| 1.0), 11);
        assert_eq!(integer_root(0, 10, |x| x as f64 - 3.7), 3);
        assert_eq!(integer_root(0, 10, |x| 3.7 - x as f64), 3);
        assert_eq!(integer_root(0, 10, |x| x as f64 - 3.0), 3);
        assert_eq!(integer_root(0, 10, |x| 10.0 - x as f64), 10);
        assert_eq!(integer_root(0, 10, |x| x as f64), 0);
        // Both ends negative, positive between: one of the two roots is found.
        let root = integer_root(0, 100, |x| 100.0 - ((x - 50) as f64).powi(2));
        assert!(root == 40 || root == 60, "{root}");
    }

    #[test]
    fn no_range_is_too_strange() {
        for (bottom, top) in
            [(i64::MIN, i64::MAX), (5, 5), (5, 4), (i64::MAX, i64::MIN), (i64::MAX - 1, i64::MAX)]
        {
            for f in [|_| f64::NAN, |_| -1.0, |_| 1.0, |_| f64::INFINITY, |x| x as f64, |x| -(x as f64)]
                as [fn(i64) -> f64; 6]
            {
                let root = integer_root(bottom, top, f);
                let inside = |x: i64| (bottom..=top.max(bottom)).contains(&x);
                assert!(inside(root) || root == bottom.saturating_sub(1) || root == top.saturating_add(1));
                assert!(inside(integer_minimum(bottom, top, f)));
                assert!(inside(global_minimum(bottom, top, f)));
            }
        }
        assert_eq!(integer_minimum(i64::MIN, i64::MAX, |x| (x as f64).abs()), 0);
    }

    proptest! {
        #[test]
        fn a_line_has_its_root_where_it_is(bottom in -1000_i64..1000, length in 0_i64..5000, root in -3000.0..8000.0_f64, up: bool) {
            let top = bottom + length;
            let f = |x: i64| if up { x as f64 - root } else { root - x as f64 };
            let negative_throughout = (bottom..=top).all(|x| f(x) < 0.0);
            let positive_throughout = (bottom..=top).all(|x| f(x) > 0.0);
            let expected = match () {
                () if negative_throughout => bottom - 1,
                () if positive_throughout => top + 1,
                () => root.floor() as i64,
            };
            prop_assert_eq!(integer_root(bottom, top, f), expected);
        }

        #[test]
        fn a_valley_is_found(bottom in -1000_i64..1000, length in 0_i64..100_000, lowest in -2000_i64..100_000, steep in 0.1..10.0_f64) {
            let top = bottom + length;
            let f = |x: i64| if x < lowest { (lowest - x) as f64 * steep } else { ((x - lowest) as f64).powi(2) };
            let expected = lowest.clamp(bottom, top);
            prop_assert_eq!(integer_minimum(bottom, top, f), expected);
            prop_assert_eq!(global_minimum(bottom, top, f), expected);
        }

        #[test]
        fn a_short_range_is_tried_out(values in prop::collection::vec(prop_oneof![Just(f64::NAN), -5.0..5.0_f64], 1..=256)) {
            let f = |x: i64| values[x as usize];
            let found = global_minimum(0, values.len() as i64 - 1, f);
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert!(values[found as usize] == least || least == f64::INFINITY);
        }

        #[test]
        fn no_point_of_the_grid_is_better(length in 300_i64..1_000_000, waves in 1.0..40.0_f64) {
            let f = |x: i64| (x as f64 / length as f64 * waves * std::f64::consts::TAU).sin() + x as f64 / length as f64;
            let found = global_minimum(0, length, f);
            prop_assert!(grid(0, length).chain([0, length]).all(|x| f(found) <= f(x)));
        }
    }
}
