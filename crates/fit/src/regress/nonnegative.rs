//! Least squares with coefficients that must not be negative.
//!
//! Source: Lawson and Hanson, *Solving Least Squares Problems* (1974), chapter 23.

use nalgebra::{DMatrix, DVector};

use crate::solve::{SolveError, solve};

/// The columns with positive coefficients in the best solution without negative ones, in rising
/// order.
pub(super) fn passive(a: &DMatrix<f64>, b: &DVector<f64>) -> Result<Vec<usize>, SolveError> {
    let n = a.ncols();
    let lengths: Vec<f64> = a.column_iter().map(|c| c.norm()).collect();
    let mut passive: Vec<usize> = Vec::new();
    let mut x = DVector::zeros(n);
    let mut residual = b.clone();
    // A column whose coefficient became negative right after it entered must not enter again at
    // once.
    let mut barred: Vec<usize> = Vec::new();
    for _ in 0..3 * n + 10 {
        let tolerance = 1e-11 * residual.norm().max(1e-16 * b.norm());
        let gain = |j: &usize| a.column(*j).dot(&residual) / lengths[*j];
        let open = (0..n).filter(|j| !passive.contains(j) && !barred.contains(j) && lengths[*j] > 0.0);
        let Some(enter) = open.filter(|j| gain(j) > tolerance).max_by(|i, j| gain(i).total_cmp(&gain(j)))
        else {
            break;
        };
        passive.push(enter);
        passive.sort_unstable();
        loop {
            let found = solve(&a.select_columns(&passive), b)?;
            let z = &found.coefficients;
            if z.iter().all(|z| *z > 0.0) {
                x.fill(0.0);
                for (k, j) in passive.iter().enumerate() {
                    x[*j] = z[k];
                }
                residual = found.residual;
                barred.clear();
                break;
            }
            // Towards z until a coefficient reaches zero.
            let blocked: Vec<(usize, f64)> = (passive.iter().enumerate())
                .filter(|(k, _)| z[*k] <= 0.0)
                .map(|(k, j)| (*j, x[*j] / (x[*j] - z[k])))
                .map(|(j, reach)| (j, if reach.is_finite() { reach.max(0.0) } else { 0.0 }))
                .collect();
            let step = blocked.iter().map(|(_, reach)| *reach).fold(1.0, f64::min);
            for (k, j) in passive.iter().enumerate() {
                x[*j] += step * (z[k] - x[*j]);
            }
            let leaving: Vec<usize> =
                blocked.iter().filter(|(_, reach)| *reach <= step).map(|(j, _)| *j).collect();
            for j in &leaving {
                x[*j] = 0.0;
            }
            if leaving.contains(&enter) {
                barred.push(enter);
            }
            passive.retain(|j| !leaving.contains(j));
            if passive.is_empty() {
                residual = b.clone();
                break;
            }
        }
    }
    Ok(passive)
}
