//! Outliers: samples taken while other programs ran, or at another speed of the machine.
//!
//! In least squares, a tenth of such samples can determine the model, and their residuals then hide
//! them. First, therefore, the model of the *majority* is found: the fit of least robust scale,
//! from many small subsets of samples, improved by iterated weights. Samples further from the fit
//! of the others than chance explains are then left out, and the rest is fitted as usual; without
//! such samples the fit is unchanged.
//!
//! Samples that the model misses are not outliers. Samples that follow an input, where chance would
//! have mixed them with others, are kept, and the misfit shows. So are samples whose
//! own timings, taken all over the run, agree: a disturbance would have come and gone.
//!
//! Source: Salibián-Barrera and Yohai, *A fast algorithm for S-regression estimates* (2006); Yohai
//! (1987) for the second stage; Hadi and Simonoff (1993) for testing each sample against the fit of
//! the others.

use nalgebra::{Cholesky, DMatrix, DVector};

use crate::order;
use crate::points;
use crate::stats::t_quantile;

/// The number of subsets, and how many of the best are refined completely.
const SUBSETS: usize = 60;
const FOLLOWED: usize = 4;
/// More samples do not change the majority.
const ENOUGH: usize = 800;
/// Tuning constants of the bisquare: half of the samples may be outliers; 95 % efficiency.
const BREAKDOWN: f64 = 1.547_645;
const EFFICIENT: f64 = 4.685_061;
const TURNS: usize = 40;
/// The chance that a set of samples without outliers loses any.
const CHANCE: f64 = 0.01;
/// If a sample is off by this many standard deviations of its own timings, they were not disturbed:
/// the model misses.
const MISFIT: f64 = 4.0;
/// The least factor by which a sample is off that is left out whatever the terms, and how many
/// standard deviations that are at least.
const GROSS: f64 = 10.0;
const FAR: f64 = 6.0;
/// If the runs along an order are fewer by this many deviations than chance gives, the model misses.
const STRUCTURED: f64 = 2.0;

/// The samples to fit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kept {
    /// Their indices, rising.
    pub(crate) rows: Vec<usize>,
    /// Whether samples are outside the majority because the model misses them, without a
    /// disturbance.
    pub(crate) misfits: bool,
}

/// The samples to fit; `None` if all of them are, and none is far off. `rows` (samples × terms) and
/// `times` are weighted; `variables` (variables × samples) are those whose orders disturbed samples
/// do not follow. `noise` is the standard deviation of each of these times if the sample's
/// timings are spread over the run, else infinite.
pub(crate) fn inliers(
    rows: &DMatrix<f64>,
    variables: &DMatrix<f64>,
    times: &DVector<f64>,
    noise: &[f64],
) -> Option<Kept> {
    let n = times.len();
    // Columns that are zero or dependent take no part.
    let mut rows = rows.clone();
    let unit = times.amax();
    let times = times / unit;
    for mut column in rows.column_iter_mut() {
        let length = column.amax();
        if length > 0.0 {
            column /= length;
        }
    }
    let terms = independent(&rows);
    let rows = rows.select_columns(&terms);
    let rank = rows.ncols();
    if rank == 0 || n < 2 * rank + 4 || !times.iter().chain(rows.iter()).all(|v| v.is_finite()) {
        return None;
    }
    let everything: Vec<usize> = (0..n).collect();
    let plain = least_squares(&rows, &times, &DVector::from_element(n, 1.0))?;
    let residual = &times - &rows * plain;
    // The fit is exact except for rounding.
    if residual.amax() <= 1e-9 * times.amax() {
        return None;
    }
    let majority = majority(&rows, &times)?;
    let residual = (&times - &rows * &majority.0).abs();
    let mut kept: Vec<usize> =
        everything.iter().copied().filter(|i| residual[*i] <= 3.0 * majority.1).collect();
    for _ in 0..10 {
        let next = tested(&rows, &times, &kept)?;
        if next == kept {
            break;
        }
        kept = next;
    }
    let lost = n - kept.len();
    let enough =
        kept.len() > rank + 2 && 2 * kept.len() > n && independent(&rows.select_rows(&kept)).len() == rank;
    if lost == 0 || !enough || structured(variables, &kept) {
        return None;
    }
    let ones = DVector::from_element(kept.len(), 1.0);
    let residual =
        &times - &rows * least_squares(&rows.select_rows(&kept), &times.select_rows(&kept), &ones)?;
    let misfit = |i: &usize| residual[*i].abs() * unit > MISFIT * noise[*i];
    let all: Vec<usize> =
        everything.into_iter().filter(|i| kept.binary_search(i).is_ok() || misfit(i)).collect();
    Some(Kept { misfits: all.len() > kept.len(), rows: all })
}

/// A smooth surface for the logarithms of times, to detect outliers before any terms are known: all
/// products of up to two logarithms of the variables (variables × samples) that vary.
pub(crate) fn smooth(variables: &DMatrix<f64>) -> DMatrix<f64> {
    let varying = (0..variables.nrows()).filter(|i| {
        let row = variables.row(*i);
        !row.is_empty() && row.iter().any(|v| *v != row[0])
    });
    let mut columns = vec![DVector::from_element(variables.ncols(), 1.0)];
    let scaled: Vec<DVector<f64>> = varying
        .map(|i| {
            let row = variables.row(i).transpose();
            if row.min() > 0.0 { row.map(f64::ln) } else { row }
        })
        .collect();
    for (place, column) in scaled.iter().enumerate() {
        columns.push(column.clone());
        columns.extend(scaled[place..].iter().map(|other| column.component_mul(other)));
    }
    DMatrix::from_columns(&columns)
}

/// The samples without those that are off by a factor of [`GROSS`] from a smooth surface and from all
/// times near it, whatever the terms; `None` if none is, or if they follow an input or are as their copies.
pub(crate) fn plausible(variables: &DMatrix<f64>, times: &DVector<f64>, noise: &[f64]) -> Option<Vec<usize>> {
    // Times within the factor of each other are, in most files, all of them.
    if times.min() <= 0.0 || times.max() <= GROSS * times.min() {
        return None;
    }
    let (rows, logs) = (smooth(variables), times.map(f64::ln));
    let rows = rows.select_columns(&independent(&rows));
    if times.len() < 2 * rows.ncols() + 4 {
        return None;
    }
    let (at, scale) = majority(&rows, &logs)?;
    let residual = (logs - rows * at).abs();
    let limit = GROSS.ln().max(FAR * scale);
    let near = (0..times.len()).filter(|i| residual[*i] <= limit).map(|i| times[i]);
    let (least, most) = near.fold((f64::INFINITY, 0.0_f64), |(a, b), t| (a.min(t), b.max(t)));
    // A surface that is bent less than the cost may miss samples at its edge.
    let in_range = |i: usize| (least / GROSS..=most * GROSS).contains(&times[i]);
    let is_kept = |i: &usize| residual[*i] <= limit || in_range(*i) || residual[*i] > MISFIT * noise[*i];
    let kept: Vec<usize> = (0..times.len()).filter(is_kept).collect();
    let few = 6 * (times.len() - kept.len()) <= times.len();
    (kept.len() < times.len() && few && !structured(variables, &kept)).then_some(kept)
}

/// The samples that lie no further from the fit of those kept than chance explains.
fn tested(rows: &DMatrix<f64>, times: &DVector<f64>, kept: &[usize]) -> Option<Vec<usize>> {
    let (n, rank) = (times.len(), rows.ncols());
    let freedom = kept.len().checked_sub(rank).filter(|f| *f > 0)?;
    let part = rows.select_rows(kept);
    let (coefficients, inverse) =
        normal(&part, &times.select_rows(kept), &DVector::from_element(kept.len(), 1.0))?;
    let residual = times - rows * coefficients;
    let scale = (kept.iter().map(|i| residual[*i].powi(2)).sum::<f64>() / freedom as f64).sqrt();
    let limit = t_quantile(1.0 - CHANCE / n as f64, freedom)? * scale.max(1e-12);
    let half = rows * &inverse;
    let inside = |i: &usize| {
        let leverage = half.row(*i).dot(&rows.row(*i)).max(0.0);
        // A fitted sample is nearer to the fit than a new one.
        let share = if kept.binary_search(i).is_ok() { (1.0 - leverage).max(1e-3) } else { 1.0 + leverage };
        residual[*i].abs() <= limit * share.sqrt()
    };
    Some((0..n).filter(inside).collect())
}

/// Whether the samples left out follow an order of the variables.
pub(super) fn structured(variables: &DMatrix<f64>, kept: &[usize]) -> bool {
    // Samples of one point are left out for one common reason.
    let points = points::groups(
        (0..variables.ncols()).map(|i| (0..variables.nrows()).map(move |row| variables[(row, i)])),
    );
    let count = points.iter().max().map_or(0, |most| most + 1);
    let (mut first, mut out) = (vec![0; count], vec![0_isize; count]);
    for (i, point) in points.iter().enumerate().rev() {
        first[*point] = i;
        out[*point] += if kept.binary_search(&i).is_err() { 1 } else { -1 };
    }
    let out: Vec<bool> = out.into_iter().map(|more| more > 0).collect();
    let columns = order::columns(&variables.select_columns(&first));
    columns.column_iter().any(|column| order::follows(&out, column.as_slice(), STRUCTURED))
}

/// Columns that are independent of those before them.
pub(super) fn independent(rows: &DMatrix<f64>) -> Vec<usize> {
    let mut basis: Vec<DVector<f64>> = Vec::new();
    let mut found = Vec::new();
    for (j, column) in rows.column_iter().enumerate() {
        let mut q = column.into_owned();
        let length = q.norm();
        for _ in 0..2 {
            for other in &basis {
                q.axpy(-other.dot(&q), other, 1.0);
            }
        }
        let left = q.norm();
        if length > 0.0 && left > 1e-6 * length {
            basis.push(q / left);
            found.push(j);
        }
    }
    found
}

/// Coefficients and scale of the fit of the majority.
pub(super) fn majority(rows: &DMatrix<f64>, times: &DVector<f64>) -> Option<(DVector<f64>, f64)> {
    let part: Vec<usize> = (0..times.len()).step_by(times.len().div_ceil(ENOUGH)).collect();
    let (rows, times) = (&rows.select_rows(&part), &times.select_rows(&part));
    let (n, rank) = (times.len(), rows.ncols());
    let mut starts: Vec<DVector<f64>> = Vec::new();
    starts.extend(least_squares(rows, times, &DVector::from_element(n, 1.0)));
    // A fixed generator: the same samples always give the same model. Marsaglia (2003).
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for _ in 0..SUBSETS {
        let mut chosen: Vec<usize> = Vec::new();
        while chosen.len() < rank + 1 {
            let next = draw(n);
            if !chosen.contains(&next) {
                chosen.push(next);
            }
        }
        let ones = DVector::from_element(chosen.len(), 1.0);
        starts.extend(least_squares(&rows.select_rows(&chosen), &times.select_rows(&chosen), &ones));
    }
    let improve = |start: DVector<f64>, turns: usize| {
        let mut at = start;
        for _ in 0..turns {
            let residual = times - rows * &at;
            let scale = scale_of(&residual, rank);
            let weights = residual.map(|r| bisquare(r / (BREAKDOWN * scale)));
            let Some(next) = least_squares(rows, times, &weights) else { break };
            let moved = (&next - &at).amax() / next.amax();
            at = next;
            if moved < 1e-8 {
                break;
            }
        }
        let scale = scale_of(&(times - rows * &at), rank);
        (at, scale)
    };
    let mut tried: Vec<(DVector<f64>, f64)> = starts.into_iter().map(|s| improve(s, 2)).collect();
    tried.sort_by(|a, b| a.1.total_cmp(&b.1));
    let followed = tried.into_iter().take(FOLLOWED).map(|(at, _)| improve(at, TURNS));
    let (mut at, scale) = followed.min_by(|a, b| a.1.total_cmp(&b.1))?;
    for _ in 0..TURNS {
        let weights = (times - rows * &at).map(|r| bisquare(r / (EFFICIENT * scale)));
        let Some(next) = least_squares(rows, times, &weights) else { break };
        let moved = (&next - &at).amax() / next.amax();
        at = next;
        if moved < 1e-8 {
            break;
        }
    }
    Some((at, scale))
}

/// The bisquare's weight at a residual, in units of the residual of zero weight.
fn bisquare(u: f64) -> f64 {
    if u.abs() < 1.0 { (1.0 - u * u).powi(2) } else { 0.0 }
}

/// The scale at which the mean of the bisquare's loss is a half, with n/(n − p).
fn scale_of(residual: &DVector<f64>, rank: usize) -> f64 {
    let mut sizes: Vec<f64> = residual.iter().map(|r| r.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let n = sizes.len();
    let mut scale = (sizes[n / 2] / 0.6745).max(1e-12);
    let freedom = (n - rank).max(1) as f64;
    for _ in 0..30 {
        let loss = |r: &f64| {
            let u = r / (BREAKDOWN * scale);
            if u < 1.0 { 1.0 - (1.0 - u * u).powi(3) } else { 1.0 }
        };
        let mean = sizes.iter().map(loss).sum::<f64>() / freedom;
        let next = (scale * (mean / 0.5).sqrt()).max(1e-12);
        let settled = (next / scale - 1.0).abs() < 1e-6;
        scale = next;
        if settled {
            break;
        }
    }
    scale
}

pub(super) fn least_squares(
    rows: &DMatrix<f64>,
    times: &DVector<f64>,
    weights: &DVector<f64>,
) -> Option<DVector<f64>> {
    Some(normal(rows, times, weights)?.0)
}

/// By normal equations: accurate enough to detect outliers, and many times faster than the fit
/// itself.
fn normal(
    rows: &DMatrix<f64>,
    times: &DVector<f64>,
    weights: &DVector<f64>,
) -> Option<(DVector<f64>, DMatrix<f64>)> {
    let mut weighted = rows.clone();
    for (mut row, weight) in weighted.row_iter_mut().zip(weights.iter()) {
        row *= *weight;
    }
    let mut square = weighted.tr_mul(rows);
    let largest = square.diagonal().max();
    for j in 0..square.ncols() {
        square[(j, j)] += 1e-13 * largest;
    }
    let inverse = Cholesky::new(square)?.inverse();
    let coefficients = &inverse * weighted.tr_mul(times);
    coefficients.iter().all(|c| c.is_finite()).then_some((coefficients, inverse))
}
