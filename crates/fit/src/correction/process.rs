//! A Gaussian process for the residuals of the terms: an effect of each block, which all its values
//! share, a smooth function of the inputs and parameters, and noise.
//!
//! The smooth function has Matérn's covariance of order 3/2 over the logarithms of inputs and
//! parameters, with one length for the parameters and one for the other inputs. Lengths and
//! one length for [roundness](strata_select::table::roundness). Lengths and variances maximise the
//! likelihood on a coarse grid, with the overall scale in closed form.
//!
//! Source: Rasmussen and Williams, *Gaussian Processes for Machine Learning* (2006), §2.2, §4.2
//! (Matérn), §5.4.1 (likelihood), §5.4.2 (leaving out, here whole blocks).

/// Ratios of a variance to that of the noise.
const RATIOS: [f64; 8] = [0.0, 0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0];
/// Lengths as shares of the measured range.
const LENGTHS: [f64; 6] = [0.15, 0.3, 0.6, 1.2, 2.4, 4.8];
/// Rounds of the search over the grid, one coordinate after the other.
const ROUNDS: usize = 4;
/// Smaller relative squares are rounding.
const EXACT: f64 = 1e-10;

/// The data of one sample.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// Samples of one block share an effect.
    pub(super) block: usize,
    /// The place on each axis, 0 to 1 over the measured range.
    pub(super) place: Vec<f64>,
    /// The logarithm of the measured time over the predicted one.
    pub(super) residual: f64,
}

/// What an axis is: axes of one kind share a length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Parameter,
    Input,
    Round,
}

/// A fitted process.
pub(super) struct Process<'a> {
    points: &'a [Point],
    axes: &'a [Kind],
    shape: Shape,
    /// K⁻¹ of the covariance K over that of the noise.
    inverse: Vec<f64>,
    /// K⁻¹ times the residuals.
    weights: Vec<f64>,
}

/// Indices in the grid: ratio of the smooth part and of the blocks, lengths of each kind of axis.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape([usize; 5]);

impl Shape {
    const SIZES: [usize; 5] = [RATIOS.len(), RATIOS.len(), LENGTHS.len(), LENGTHS.len(), LENGTHS.len()];

    fn smooth(self) -> f64 {
        RATIOS[self.0[0]]
    }

    fn blocks(self) -> f64 {
        RATIOS[self.0[1]]
    }

    fn covariance(self, a: &[f64], b: &[f64], axes: &[Kind]) -> f64 {
        let square = |((a, b), kind): ((&f64, &f64), &Kind)| {
            let length = LENGTHS[self.0[2 + *kind as usize]];
            ((a - b) / length).powi(2)
        };
        let far = (3.0 * a.iter().zip(b).zip(axes).map(square).sum::<f64>()).sqrt();
        self.smooth() * (1.0 + far) * (-far).exp()
    }
}

impl<'a> Process<'a> {
    /// Fits a process to points; `None` if no covariance can be inverted.
    pub(super) fn fit(points: &'a [Point], axes: &'a [Kind]) -> Option<Self> {
        let mut best = (Shape([3, 3, 2, 2, 2]), f64::NEG_INFINITY);
        best.1 = likelihood(points, axes, best.0).unwrap_or(f64::NEG_INFINITY);
        for _ in 0..ROUNDS {
            let before = best.0;
            let used = Shape::SIZES.len() - usize::from(!axes.contains(&Kind::Round));
            for number in 0..used {
                for step in [-1_isize, 1] {
                    // Uphill as long as the likelihood rises.
                    while let Some(next) = best.0.0[number].checked_add_signed(step) {
                        let mut shape = best.0;
                        shape.0[number] = next;
                        if next >= Shape::SIZES[number] {
                            break;
                        }
                        match likelihood(points, axes, shape) {
                            Some(value) if value > best.1 + 1e-6 => best = (shape, value),
                            _ => break,
                        }
                    }
                }
            }
            if best.0 == before {
                break;
            }
        }
        let shape = best.0;
        let size = points.len();
        let factor = cholesky(covariance(points, axes, shape), size)?;
        let mut inverse = vec![0.0; size * size];
        let mut column = vec![0.0; size];
        for j in 0..size {
            column.fill(0.0);
            column[j] = 1.0;
            solve(&factor, size, &mut column);
            inverse[j * size..(j + 1) * size].copy_from_slice(&column);
        }
        let mut weights: Vec<f64> = points.iter().map(|point| point.residual).collect();
        solve(&factor, size, &mut weights);
        Some(Self { points, axes, shape, inverse, weights })
    }

    /// The smooth part at a place.
    pub(super) fn at(&self, place: &[f64]) -> f64 {
        let one =
            |(point, weight): (&Point, &f64)| weight * self.shape.covariance(&point.place, place, self.axes);
        self.points.iter().zip(&self.weights).map(one).sum()
    }

    /// The smooth part at each point, from a fit without the points of its block.
    pub(super) fn left_out(&self) -> Vec<f64> {
        let size = self.points.len();
        let mut found = vec![0.0; size];
        let blocks = self.points.iter().map(|point| point.block).max().map_or(0, |most| most + 1);
        for block in 0..blocks {
            let rows: Vec<usize> = (0..size).filter(|row| self.points[*row].block == block).collect();
            let part = rows.iter().flat_map(|i| rows.iter().map(|j| self.inverse[*i * size + *j])).collect();
            let mut errors: Vec<f64> = rows.iter().map(|row| self.weights[*row]).collect();
            let Some(factor) = cholesky(part, rows.len()) else { continue };
            solve(&factor, rows.len(), &mut errors);
            for (row, error) in rows.iter().zip(errors) {
                found[*row] = self.points[*row].residual - error;
            }
        }
        found
    }
}

/// The covariance over that of the noise, row by row.
fn covariance(points: &[Point], axes: &[Kind], shape: Shape) -> Vec<f64> {
    let size = points.len();
    let mut all = vec![0.0; size * size];
    for (i, a) in points.iter().enumerate() {
        for (j, b) in points.iter().enumerate().take(i + 1) {
            let smooth = if shape.0[0] == 0 { 0.0 } else { shape.covariance(&a.place, &b.place, axes) };
            let shared = if a.block == b.block { shape.blocks() } else { 0.0 };
            let value = smooth + shared + f64::from(u8::from(i == j));
            all[i * size + j] = value;
            all[j * size + i] = value;
        }
    }
    all
}

/// The logarithm of the likelihood up to a constant, at the scale for which it is greatest.
fn likelihood(points: &[Point], axes: &[Kind], shape: Shape) -> Option<f64> {
    let size = points.len();
    let factor = cholesky(covariance(points, axes, shape), size)?;
    let mut scaled: Vec<f64> = points.iter().map(|point| point.residual).collect();
    forward(&factor, size, &mut scaled);
    let square: f64 = scaled.iter().map(|value| value * value).sum();
    let determinant: f64 = (0..size).map(|i| factor[i * size + i].ln()).sum();
    let n = size as f64;
    Some(-0.5 * n * (square / n + EXACT).ln() - determinant)
}

/// The lower factor L of a positive matrix LLᵀ, in place.
fn cholesky(mut a: Vec<f64>, size: usize) -> Option<Vec<f64>> {
    for j in 0..size {
        for i in j..size {
            let (row, other) = (&a[i * size..i * size + j], &a[j * size..j * size + j]);
            let rest = a[i * size + j] - row.iter().zip(other).map(|(x, y)| x * y).sum::<f64>();
            if i == j {
                if rest.is_nan() || rest <= 0.0 {
                    return None;
                }
                a[j * size + j] = rest.sqrt();
            } else {
                a[i * size + j] = rest / a[j * size + j];
            }
        }
    }
    Some(a)
}

/// Solves Lx = b in place of b.
fn forward(l: &[f64], size: usize, b: &mut [f64]) {
    for i in 0..size {
        let row = &l[i * size..i * size + i];
        let rest = b[i] - row.iter().zip(&*b).map(|(x, y)| x * y).sum::<f64>();
        b[i] = rest / l[i * size + i];
    }
}

/// Solves LLᵀx = b in place of b.
fn solve(l: &[f64], size: usize, b: &mut [f64]) {
    forward(l, size, b);
    for i in (0..size).rev() {
        b[i] /= l[i * size + i];
        let value = b[i];
        for (before, x) in b[..i].iter_mut().zip(&l[i * size..i * size + i]) {
            *before -= value * x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Residuals of a wave in the second of two axes, blocks with effects, and some noise.
    fn points() -> Vec<Point> {
        let mut points = Vec::new();
        for block in 0..12 {
            for value in 0..7 {
                let (x, p) = (block as f64 / 11.0, f64::from(value) / 6.0);
                let effect = if block % 3 == 0 { 0.4 } else { -0.1 };
                let noise = 0.01 * (f64::from((block * 7 + value) * 37 % 11) - 5.0) / 5.0;
                let residual = effect + 0.3 * (3.0 * p).sin() + 0.1 * x + noise;
                points.push(Point { block: block as usize, place: vec![x, p], residual });
            }
        }
        points
    }

    #[test]
    fn the_smooth_part_is_found_beneath_the_effects_of_blocks() {
        let points = points();
        let process = Process::fit(&points, &[Kind::Input, Kind::Parameter]).unwrap();
        assert!(process.shape.blocks() >= 16.0, "{:?}", process.shape);
        let left = process.left_out();
        for block in 0..12 {
            let rows: Vec<usize> = (0..points.len()).filter(|i| points[*i].block == block).collect();
            // The other blocks determine differences within the block.
            for row in &rows[1..] {
                let truth = points[*row].residual - points[rows[0]].residual;
                assert!((left[*row] - left[rows[0]] - truth).abs() < 0.05, "{block} {row}");
            }
        }
        let rise = process.at(&[0.5, 0.5]) - process.at(&[0.5, 0.0]);
        assert!((rise - 0.3 * 1.5_f64.sin()).abs() < 0.03, "{rise}");
    }

    #[test]
    fn what_is_left_out_is_what_a_fit_without_it_predicts() {
        let points = points();
        let process = Process::fit(&points, &[Kind::Input, Kind::Parameter]).unwrap();
        let others: Vec<Point> = points.iter().filter(|point| point.block != 4).cloned().collect();
        let factor =
            cholesky(covariance(&others, &[Kind::Input, Kind::Parameter], process.shape), others.len())
                .unwrap();
        let mut weights: Vec<f64> = others.iter().map(|point| point.residual).collect();
        solve(&factor, others.len(), &mut weights);
        let left = process.left_out();
        for (row, point) in points.iter().enumerate().filter(|(_, point)| point.block == 4) {
            let one = |(other, weight): (&Point, &f64)| {
                weight * process.shape.covariance(&other.place, &point.place, &[Kind::Input, Kind::Parameter])
            };
            let direct: f64 = others.iter().zip(&weights).map(one).sum();
            assert!((left[row] - direct).abs() < 1e-9);
        }
    }

    #[test]
    fn the_solver_solves() {
        let a = vec![4.0, 2.0, 0.0, 2.0, 5.0, 1.0, 0.0, 1.0, 3.0];
        let mut x = [2.0, 3.0, 4.0];
        solve(&cholesky(a.clone(), 3).unwrap(), 3, &mut x);
        for i in 0..3 {
            let row: f64 = (0..3).map(|j| a[3 * i + j] * x[j]).sum();
            assert!((row - [2.0, 3.0, 4.0][i]).abs() < 1e-12);
        }
        assert_eq!(cholesky(vec![1.0, 2.0, 2.0, 1.0], 2), None);
    }
}
