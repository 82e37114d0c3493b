//! The first few points: enough to determine every term, spread over the range of the loops.
//!
//! The times are not known yet, so each term is assumed to cost the same on average. The points are
//! then those from which a fit of relative errors would best determine the coefficients, chosen one
//! after the other (D-optimal, Fedorov 1972).

use strata_model::Points;

use crate::points::Space;

/// The points of a pilot for each term; half of them are left to estimate the noise.
const EACH: usize = 2;
/// The most points of a loop nest that are rated.
const FROM_LOOPS: usize = 600;
/// If there are at most this many corners, all are taken.
const CORNERS: usize = 8;
/// The prior information on a term, as a share of that from one point.
const PRIOR: f64 = 1e-6;

/// The pilot points of each model.
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

/// The terms at each site, over the total time if each term costs the same on average.
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

    /// The relative growth of the determinant of X'X.
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
