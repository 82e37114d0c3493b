//! The first few points: enough to tell every term, spread as far as the loops reach.
//!
//! Nothing is known of the times yet, so each term is taken to cost alike on average; the points
//! are then those that a fit of relative errors would tell the coefficients from best, one after
//! the other (D-optimal, Fedorov 1972).

use strata_model::Points;

use crate::points::Space;

/// Points of a pilot for each term: as many again are left to tell the noise from.
const EACH: usize = 2;
/// Points of a loop nest that are weighed up.
const FROM_LOOPS: usize = 600;
/// All corners are taken where there are so few of them.
const CORNERS: usize = 8;
/// What is known of a term before its first point, as a share of what one point tells.
const PRIOR: f64 = 1e-6;

/// The points to begin with, of each model.
#[must_use]
pub fn pilot(spaces: &[Space<'_>]) -> Points {
    let mut points = Points::default();
    for space in spaces {
        let mut chosen = one(space);
        chosen.sort();
        for at in chosen {
            points.add(space.name(), &at);
        }
    }
    points
}

fn one(space: &Space<'_>) -> Vec<Vec<i64>> {
    let loops = space.loops();
    let step = loops.len().div_ceil(FROM_LOOPS).max(1);
    let total = loops.len();
    let corners = space.corners();
    let mut sites: Vec<Vec<i64>> = corners.iter().cloned().chain(loops.into_iter().step_by(step)).collect();
    sites.sort();
    sites.dedup();
    let rows = rows(space, &sites);
    let terms = rows.first().map_or(1, Vec::len);
    let mut precision = Precision::new(terms);
    let mut chosen: Vec<usize> = Vec::new();
    if corners.len() <= CORNERS {
        for at in &corners {
            if let Ok(site) = sites.binary_search(at)
                && !chosen.contains(&site)
            {
                precision.add(&rows[site]);
                chosen.push(site);
            }
        }
    }
    let count = (EACH * terms).max(chosen.len()).min(total.max(chosen.len())).min(sites.len());
    while chosen.len() < count {
        let free = (0..sites.len()).filter(|site| !chosen.contains(site));
        let Some(best) = free
            .map(|site| (precision.gain(&rows[site]), site))
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
        else {
            break;
        };
        precision.add(&rows[best.1]);
        chosen.push(best.1);
    }
    chosen.into_iter().map(|site| sites[site].clone()).collect()
}

/// The terms at each site over the time that they would take if each cost alike on average.
fn rows(space: &Space<'_>, sites: &[Vec<i64>]) -> Vec<Vec<f64>> {
    let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
    let terms: Vec<Vec<f64>> = sites
        .iter()
        .map(|at| space.terms(at).unwrap_or_default().into_iter().map(finite).collect())
        .collect();
    let width = terms.first().map_or(0, Vec::len);
    let mean = |j: usize| terms.iter().map(|row| row[j].abs()).sum::<f64>() / terms.len().max(1) as f64;
    let means: Vec<f64> = (0..width).map(mean).map(|mean| if mean > 0.0 { mean } else { 1.0 }).collect();
    terms
        .iter()
        .map(|row| {
            let row: Vec<f64> = row.iter().zip(&means).map(|(value, mean)| value / mean).collect();
            let time: f64 = row.iter().map(|value| value.abs()).sum();
            row.iter().map(|value| value / time.max(f64::MIN_POSITIVE)).collect()
        })
        .collect()
}

/// (X'X + prior)⁻¹ of the rows so far.
struct Precision {
    inverse: Vec<f64>,
    width: usize,
}

impl Precision {
    fn new(width: usize) -> Self {
        let mut inverse = vec![0.0; width * width];
        (0..width).for_each(|i| inverse[i * width + i] = 1.0 / PRIOR);
        Self { inverse, width }
    }

    fn times(&self, row: &[f64]) -> Vec<f64> {
        let dot = |line: &[f64]| line.iter().zip(row).map(|(a, b)| a * b).sum();
        self.inverse.chunks_exact(self.width.max(1)).map(dot).collect()
    }

    /// By what factor, less one, the determinant of X'X would grow.
    fn gain(&self, row: &[f64]) -> f64 {
        self.times(row).iter().zip(row).map(|(a, b)| a * b).sum()
    }

    fn add(&mut self, row: &[f64]) {
        let along = self.times(row);
        let scale = 1.0 + along.iter().zip(row).map(|(a, b)| a * b).sum::<f64>();
        for (line, left) in self.inverse.chunks_exact_mut(self.width.max(1)).zip(&along) {
            line.iter_mut().zip(&along).for_each(|(value, right)| *value -= left * right / scale);
        }
    }
}
