//! Inputs that follow another input at all samples, so that nothing is known of their own effect.

use strata_model::set::Named;
use strata_model::{number_text, rounded};

use crate::solve::sum;

/// An input follows another if a formula gives all its values within this share.
const WITHIN: f64 = 0.01;
/// Of fewer values every input follows every other.
const LEAST_VALUES: usize = 4;
/// Digits of a factor.
const DIGITS: i32 = 4;

/// The inputs that are a multiple, a power, or a linear function of an earlier one at all points,
/// with that function. Inputs of few values, and those that hardly change, follow nothing. `column`:
/// the values of an input at the points.
pub(crate) fn relations(names: &[String], column: impl Fn(usize) -> Vec<f64>) -> Vec<Named> {
    let changes = |column: &[f64]| {
        let mut distinct: Vec<f64> = column.to_vec();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        distinct.len() >= LEAST_VALUES
            && distinct[0] > 0.0
            && distinct[distinct.len() - 1] > 2.0 * distinct[0]
    };
    let mut found: Vec<Named> = Vec::new();
    for (after, name) in names.iter().enumerate().skip(1) {
        let y = column(after);
        if !changes(&y) {
            continue;
        }
        let leads = |before: &usize| !found.iter().any(|known| known.name == names[*before]);
        let of = |before: usize| {
            let x = column(before);
            if changes(&x) { function(&names[before], &x, &y) } else { None }
        };
        if let Some(value) = (0..after).filter(leads).find_map(of) {
            found.push(Named { name: name.clone(), value });
        }
    }
    found
}

/// The expression in `name` that gives `y` from `x` within [`WITHIN`].
fn function(name: &str, x: &[f64], y: &[f64]) -> Option<String> {
    let fits = |f: &dyn Fn(f64) -> f64| x.iter().zip(y).all(|(x, y)| (f(*x) / y - 1.0).abs() <= WITHIN);
    let text = |number: f64| number_text(rounded(number, DIGITS));
    let logs = |values: &[f64]| values.iter().map(|v| v.ln()).collect::<Vec<f64>>();
    let (slope, offset) = line(&logs(x), &logs(y))?;
    let (power, factor) = (rounded(slope, 2), offset.exp());
    if fits(&|x| rounded(factor, DIGITS) * x.powf(power)) {
        let base = if power == 1.0 { name.to_owned() } else { format!("pow({name}, {})", text(power)) };
        return Some(if text(factor) == "1" { base } else { format!("{}*{base}", text(factor)) });
    }
    let (slope, offset) = line(x, y)?;
    let (slope, offset) = (rounded(slope, DIGITS), rounded(offset, DIGITS));
    let sign = if slope < 0.0 { '-' } else { '+' };
    fits(&|x| slope * x + offset).then(|| format!("{} {sign} {}*{name}", text(offset), text(slope.abs())))
}

/// The slope and the offset of the line of least squares.
fn line(x: &[f64], y: &[f64]) -> Option<(f64, f64)> {
    let n = x.len() as f64;
    let (mean_x, mean_y) = (sum(x.iter().copied()) / n, sum(y.iter().copied()) / n);
    let square = sum(x.iter().map(|x| (x - mean_x).powi(2)));
    let slope = sum(x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y))) / square;
    slope.is_finite().then_some((slope, mean_y - slope * mean_x))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(points: &[[f64; 3]]) -> Vec<String> {
        let names = ["n", "m", "k"].map(str::to_owned);
        let relations = relations(&names, |input| points.iter().map(|point| point[input]).collect());
        assert!(relations.iter().all(|one| strata_model::expr::parse(&one.value).is_ok()), "{relations:?}");
        relations.into_iter().map(|one| format!("{} = {}", one.name, one.value)).collect()
    }

    #[test]
    fn inputs_that_follow_another_are_found_and_no_others() {
        let points = |m: fn(f64) -> f64, k: fn(f64) -> f64| -> Vec<[f64; 3]> {
            (1..40).map(|i| f64::from(i * i)).map(|n| [n, m(n), k(n)]).collect()
        };
        let own = |n: f64| 1.0 + (n * 7.31) % 50.0;
        assert_eq!(found(&points(|n| 8.0 * n, own)), ["m = 8*n"]);
        assert_eq!(found(&points(own, |n| 3.0 * n * n)), ["k = 3*pow(n, 2)"]);
        assert_eq!(found(&points(|n| 100.0 + 2.0 * n, |n| n)), ["m = 100 + 2*n", "k = n"]);
        assert_eq!(found(&points(|n| 1.005 * n, own)), ["m = 1.005*n"]);
        assert_eq!(found(&points(|n| 5e3 - 3.0 * n, own)), ["m = 5000 - 3*n"]);
        assert_eq!(found(&points(|n| 3e-9 / n, own)), ["m = 3e-9*pow(n, -1)"]);
        // Nearly is not always: one point is off.
        let mut one_off = points(|n| 8.0 * n, own);
        one_off[20][1] *= 1.1;
        assert!(found(&one_off).is_empty());
        // Constants, and few values.
        assert!(found(&points(|_| 8.0, |n| 100.0 + 0.001 * n)).is_empty());
        assert!(found(&[[1.0, 2.0, 5.0], [2.0, 4.0, 5.0], [3.0, 6.0, 5.0]]).is_empty());
    }
}
