//! Brewer's model fitting: weighted least squares, then one irrelevant term after another is dropped.
//!
//! A term is relevant if the confidence interval of its coefficient excludes zero. The designer may therefore name any
//! term that *might* matter. While the least relevant term has |β/h| ≤ 1 it is dropped and the rest fitted again.
//!
//! Two things the text leaves open are settled here. Terms that depend on each other share their weight and have equal
//! ratios but for rounding, so ratios within [`TIE`] of the least count as equal and the term named last goes: what is
//! dropped never hangs on rounding. And where the samples are met exactly, the noise variance is itself rounding; a
//! coefficient must then also rise above the rounding of the data to be relevant.
//!
//! Source: Brewer (1994), §2.3.2 and §3.6.2, eqs 12, 19, 26, 28-30, Fig 3-9.

use nalgebra::{DMatrix, DVector};

use crate::solve::{Solution, SolveError, solve, sum};
use crate::stats::t_quantile;

/// Ratios that differ by less than this share count as equal.
const TIE: f64 = 1e-6;

/// Which error a fit minimises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Weights y/ȳ instead of 1.
    pub(crate) relative: bool,
    /// No term is dropped.
    pub(crate) keep_all: bool,
}

/// A fitted linear model, before it has a name and a verdict.
#[derive(Clone, Debug)]
pub(crate) struct Regression {
    /// One a column; zero where dropped.
    pub(crate) coefficients: Vec<f64>,
    /// Standard errors; zero where dropped.
    pub(crate) std_errors: Vec<f64>,
    /// Whether the interval of each coefficient excludes zero.
    pub(crate) relevant: Vec<bool>,
    /// Covariance of the coefficients, V (AᵀA)⁺, with zero rows for dropped terms.
    pub(crate) covariance: Vec<Vec<f64>>,
    /// V, the weighted residual variance (eq 12, with r the rank).
    pub(crate) noise_variance: f64,
    /// t(confidence, n − r).
    pub(crate) t_quantile: f64,
    /// 1 − SSE/SST, see [`fit`].
    pub(crate) r2: f64,
    pub(crate) rank: usize,
    pub(crate) condition: f64,
    /// Groups of dependent columns among all candidates, before any was dropped.
    pub(crate) dependent: Vec<Vec<usize>>,
}

/// Why there is no regression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Failure {
    /// No more samples than independent terms: nothing would be left to estimate the noise from.
    TooFew {
        needed: usize,
    },
    Solve(SolveError),
}

/// Fits `y` to the columns of `f` (n × terms, n ≥ 1).
///
/// With weights w (y/ȳ in relative mode, else 1), χ² = Σ((y − ŷ)/w)² is minimised. R² is 1 − χ²/Σ((y − c)/w)² with the
/// constant c that is best under the same weights; without weights and with a constant term that is the usual R², and
/// without a constant term it is still comparable.
pub(crate) fn fit(
    f: &DMatrix<f64>,
    y: &DVector<f64>,
    rule: Rule,
    confidence: f64,
) -> Result<Regression, Failure> {
    let (n, terms) = f.shape();
    let mean = sum(y.iter().copied()) / n as f64;
    let inverse_weights = DVector::from_fn(n, |i, _| if rule.relative { mean / y[i] } else { 1.0 });
    let a = DMatrix::from_fn(n, terms, |i, j| f[(i, j)] * inverse_weights[i]);
    let b = if rule.relative { DVector::from_element(n, mean) } else { y.clone() };
    if !mean.is_finite() || a.iter().any(|v| !v.is_finite()) {
        return Err(Failure::Solve(SolveError::Overflow));
    }

    let mut kept: Vec<usize> = (0..terms).collect();
    let mut dependent = None;
    loop {
        let step = Step::new(&a, &b, &kept, confidence, terms)?;
        let dependent = dependent
            .get_or_insert_with(|| step.solution.as_ref().map_or(Vec::new(), |s| s.dependent.clone()));
        if !rule.keep_all
            && let Some(at) = step.least_relevant()
        {
            kept.remove(at);
            continue;
        }
        return Ok(step.finish(&kept, terms, std::mem::take(dependent), r_squared(&b, &inverse_weights, y)));
    }
}

/// One turn of the loop: a fit of the terms still kept.
struct Step {
    /// `None` if no term is left.
    solution: Option<Solution>,
    sse: f64,
    variance: f64,
    /// The variance that rounding of the data alone would cause.
    rounding: f64,
    t: f64,
}

impl Step {
    fn new(
        a: &DMatrix<f64>,
        b: &DVector<f64>,
        kept: &[usize],
        confidence: f64,
        terms: usize,
    ) -> Result<Self, Failure> {
        let n = b.len();
        let (solution, size) = if kept.is_empty() {
            (None, b.map(f64::abs))
        } else {
            let columns = a.select_columns(kept);
            let solution = solve(&columns, b).map_err(Failure::Solve)?;
            let size = columns.abs() * solution.coefficients.abs() + b.abs();
            (Some(solution), size)
        };
        let rank = solution.as_ref().map_or(0, |s| s.rank);
        // Fewer samples than terms leave a rank of n: all the terms then count as needed.
        let needed = 1 + if n < kept.len() { terms } else { rank };
        let freedom = n.checked_sub(rank).filter(|&f| f > 0).ok_or(Failure::TooFew { needed })?;
        let t = t_quantile(confidence, freedom).ok_or(Failure::Solve(SolveError::Overflow))?;
        let squares = |v: &DVector<f64>| sum(v.iter().map(|x| x * x));
        let sse = squares(solution.as_ref().map_or(b, |s| &s.residual));
        let rounding = squares(&(size * (4.0 * f64::EPSILON))) / n as f64;
        let variance = sse / freedom as f64;
        if !variance.is_finite() || !rounding.is_finite() {
            return Err(Failure::Solve(SolveError::Overflow));
        }
        Ok(Self { solution, sse, variance, rounding, t })
    }

    /// |β/h| of each kept term; a coefficient of zero has ratio zero whatever its interval.
    fn ratios(&self) -> Vec<f64> {
        let Some(s) = &self.solution else { return Vec::new() };
        let variance = self.variance.max(self.rounding);
        let ratio = |j: usize| {
            let beta = s.coefficients[j].abs();
            if beta == 0.0 { 0.0 } else { beta / (self.t * (variance * s.covariance[(j, j)]).sqrt()) }
        };
        (0..s.coefficients.len()).map(ratio).collect()
    }

    /// Position of the term to drop, if one is irrelevant.
    fn least_relevant(&self) -> Option<usize> {
        let ratios = self.ratios();
        let least = ratios.iter().copied().min_by(f64::total_cmp)?;
        if least > 1.0 { None } else { ratios.iter().rposition(|r| *r <= least * (1.0 + TIE)) }
    }

    fn finish(
        &self,
        kept: &[usize],
        terms: usize,
        dependent: Vec<Vec<usize>>,
        r2: impl Fn(f64) -> f64,
    ) -> Regression {
        let mut out = Regression {
            coefficients: vec![0.0; terms],
            std_errors: vec![0.0; terms],
            relevant: vec![false; terms],
            covariance: vec![vec![0.0; terms]; terms],
            noise_variance: self.variance,
            t_quantile: self.t,
            r2: r2(self.sse),
            rank: 0,
            condition: 1.0,
            dependent,
        };
        let Some(s) = &self.solution else { return out };
        (out.rank, out.condition) = (s.rank, s.condition);
        for (k, (&j, ratio)) in kept.iter().zip(self.ratios()).enumerate() {
            out.coefficients[j] = s.coefficients[k];
            out.std_errors[j] = (self.variance * s.covariance[(k, k)]).sqrt();
            out.relevant[j] = ratio > 1.0;
            for (l, &i) in kept.iter().enumerate() {
                out.covariance[j][i] = self.variance * s.covariance[(k, l)];
            }
        }
        out
    }
}

/// R² as a function of the weighted sum of squared errors.
fn r_squared(b: &DVector<f64>, inverse_weights: &DVector<f64>, y: &DVector<f64>) -> impl Fn(f64) -> f64 {
    let best = sum(b.iter().zip(inverse_weights.iter()).map(|(b, v)| b * v))
        / sum(inverse_weights.iter().map(|v| v * v));
    let sst = sum(y.iter().zip(inverse_weights.iter()).map(|(y, v)| ((y - best) * v).powi(2)));
    let rounding = sum(b.iter().map(|b| (4.0 * f64::EPSILON * b).powi(2)));
    move |sse| {
        if sst > rounding {
            1.0 - sse / sst
        } else if sse <= rounding {
            1.0
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOP: Rule = Rule { relative: false, keep_all: false };

    fn columns(rows: usize, columns: &[&dyn Fn(f64) -> f64]) -> DMatrix<f64> {
        DMatrix::from_fn(rows, columns.len(), |i, j| columns[j](i as f64 + 1.0))
    }

    #[test]
    fn terms_that_explain_nothing_of_an_exact_line_are_dropped() {
        let f = columns(12, &[&|_| 1.0, &|x| x, &|x| x * x, &f64::sqrt, &f64::ln]);
        for relative in [false, true] {
            for slope in [0.1, 1.0 / 3.0, 7e-9] {
                let y = DVector::from_fn(12, |i, _| 3.0 * slope + slope * (i as f64 + 1.0));
                let r = fit(&f, &y, Rule { relative, ..LOOP }, 0.95).unwrap();
                assert_eq!(r.relevant, [true, true, false, false, false], "{r:?}");
                assert!((r.coefficients[1] / slope - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn dependent_terms_go_last_named_first_whatever_the_noise() {
        for seed in 0..50u32 {
            let noise = |i: usize| f64::from((seed * 7919 + i as u32 * 104_729) % 997) / 997.0 - 0.5;
            let f = columns(16, &[&|_| 1.0, &|_| 3f64.log2(), &|x| x, &|x| x * 3f64.log2()]);
            let y = DVector::from_fn(16, |i, _| 10.0 + (i as f64) + 1e-3 * noise(i));
            let r = fit(&f, &y, LOOP, 0.95).unwrap();
            assert_eq!((r.rank, r.dependent.clone()), (2, vec![vec![0, 1], vec![2, 3]]));
            assert!((r.coefficients[0] - r.coefficients[1] * 3f64.log2()).abs() < 1e-9);
            // A pure line through the origin: both halves of the constant go, and what is left is as with one.
            let y = DVector::from_fn(16, |i, _| (i as f64 + 1.0) * (1.0 + 1e-3 * noise(i)));
            let (two, one) = (fit(&f, &y, LOOP, 0.95).unwrap(), {
                let f = f.select_columns(&[0, 2]);
                fit(&f, &y, LOOP, 0.95).unwrap()
            });
            assert_eq!(two.relevant[0], two.relevant[1]);
            assert_eq!(two.relevant[0], one.relevant[0]);
            assert!((two.r2 - one.r2).abs() < 1e-12);
        }
    }

    #[test]
    fn too_few_samples_say_how_many_are_needed() {
        let f = columns(2, &[&|_| 1.0, &|x| x, &|x| x * x]);
        let y = DVector::from_vec(vec![1.0, 2.0]);
        assert_eq!(fit(&f, &y, LOOP, 0.95).unwrap_err(), Failure::TooFew { needed: 4 });
        let f = columns(2, &[&|_| 1.0, &|x| x]);
        assert_eq!(fit(&f, &y, LOOP, 0.95).unwrap_err(), Failure::TooFew { needed: 3 });
    }

    #[test]
    fn nothing_relevant_leaves_a_model_of_zero() {
        let f = columns(4, &[&|x| x]);
        let y = DVector::from_vec(vec![1.0, -1.0, 1.0, -1.0]);
        let r = fit(&f, &y, LOOP, 0.95).unwrap();
        assert_eq!((r.coefficients, r.rank), (vec![0.0], 0));
        assert_eq!(r.noise_variance, 1.0);
    }

    #[test]
    fn equal_times_are_a_constant() {
        let f = columns(6, &[&|_| 1.0, &|x| x]);
        let r = fit(&f, &DVector::from_element(6, 0.1), Rule { relative: true, ..LOOP }, 0.95).unwrap();
        assert_eq!((r.relevant, r.r2), (vec![true, false], 1.0));
        assert!((r.coefficients[0] - 0.1).abs() < 1e-16);
    }
}
