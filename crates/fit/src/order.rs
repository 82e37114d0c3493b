//! Whether flagged samples follow an order, such as that of an input: by runs along it, or by all
//! of them lying at few of its values.
//!
//! Samples of one value have no order, so they count as one. The orders are those of the inputs,
//! and of products and quotients of two of them, which are those of the usual terms.
//!
//! Source: Wald and Wolfowitz (1940) for runs; Good, *Permutation Tests* (2000), §3.7, for shares.

use nalgebra::DMatrix;

/// Permutations of the flags.
const SHUFFLED: usize = 99;
/// More samples than these are thinned for permutations.
const ENOUGH: usize = 1000;

/// A count of runs beside the one that chance gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Runs {
    pub(crate) count: usize,
    pub(crate) expected: f64,
    /// How far the count lies above the expected one, in standard deviations.
    pub(crate) deviation: f64,
    /// The number of flags of the rarer kind.
    pub(crate) rarer: usize,
}

/// The runs of equal flags; `None` if all are equal.
pub(crate) fn runs(flags: &[bool]) -> Option<Runs> {
    let n = flags.len() as f64;
    let above = flags.iter().filter(|flag| **flag).count();
    let below = flags.len() - above;
    let count = 1 + flags.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let expected = 1.0 + 2.0 * above as f64 * below as f64 / n;
    let variance = (expected - 1.0) * (expected - 2.0) / (n - 1.0);
    let deviation = (count as f64 - expected) / variance.sqrt();
    (variance > 0.0).then_some(Runs { count, expected, deviation, rarer: above.min(below) })
}

/// The samples in the order of a column, those of one value together.
pub(crate) fn groups(column: &[f64]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..column.len()).collect();
    order.sort_by(|a, b| column[*a].total_cmp(&column[*b]));
    order.chunk_by(|a, b| column[*a] == column[*b]).map(<[usize]>::to_vec).collect()
}

/// Columns by whose orders samples may differ: the variables that vary, a row each, and products
/// and quotients of two.
pub(crate) fn columns(variables: &DMatrix<f64>) -> DMatrix<f64> {
    let varies = |i: &usize| variables.row(*i).iter().any(|v| *v != variables[(*i, 0)]);
    let varying: Vec<usize> = (0..variables.nrows()).filter(|i| !variables.is_empty() && varies(i)).collect();
    let mut columns: Vec<Vec<f64>> =
        varying.iter().map(|i| variables.row(*i).iter().copied().collect()).collect();
    for b in 0..varying.len() {
        for a in 0..b {
            let pair = |f: fn(f64, f64) -> f64| {
                columns[a].iter().zip(&columns[b]).map(|(x, y)| f(*x, *y)).collect::<Vec<f64>>()
            };
            columns.extend([pair(|x, y| x * y), pair(|x, y| x / y)]);
        }
    }
    columns.retain(|column| column.iter().all(|v| v.is_finite()));
    DMatrix::from_fn(variables.ncols(), columns.len(), |i, j| columns[j][i])
}

/// Whether the flagged samples follow a column: if there are fewer runs than by chance, by so many
/// deviations, or if more of them share values than in every permutation.
pub(crate) fn follows(flags: &[bool], column: &[f64], deviations: f64) -> bool {
    let groups = groups(column);
    let majority: Vec<bool> =
        groups.iter().map(|g| 2 * g.iter().filter(|i| flags[**i]).count() > g.len()).collect();
    runs(&majority).is_some_and(|runs| runs.rarer >= 3 && runs.deviation < -deviations)
        || shares(flags, &groups)
}

fn shares(flags: &[bool], groups: &[Vec<usize>]) -> bool {
    if groups.len() < 2 || groups.len() == flags.len() {
        return false;
    }
    // A number for the group of each sample, and the flags in the same order.
    let step = flags.len().div_ceil(ENOUGH);
    let (group, mut flags): (Vec<usize>, Vec<bool>) = (groups.iter().enumerate())
        .flat_map(|(number, group)| group.iter().map(move |i| (number, flags[*i])))
        .step_by(step)
        .unzip();
    let mut sizes = vec![0.0; groups.len()];
    group.iter().for_each(|number| sizes[*number] += 1.0);
    let together = |flags: &[bool]| -> f64 {
        let mut counts = vec![0.0; sizes.len()];
        group.iter().zip(flags).filter(|(_, flag)| **flag).for_each(|(number, _)| counts[*number] += 1.0);
        counts
            .iter()
            .zip(&sizes)
            .filter(|(_, size)| **size > 0.0)
            .map(|(k, size): (&f64, _)| k * k / size)
            .sum()
    };
    let observed = together(&flags);
    // A fixed generator, so that the same samples have the same model: Marsaglia (2003).
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..SHUFFLED).all(|_| {
        for last in (1..flags.len()).rev() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            flags.swap(last, (state % (last as u64 + 1)) as usize);
        }
        together(&flags) < observed - 1e-9
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_follow_a_value_are_told_from_random_ones() {
        let column: Vec<f64> = (0..60).map(|i| f64::from(i / 3)).collect();
        let by = |flag: &dyn Fn(usize) -> bool| follows(&(0..60).map(flag).collect::<Vec<_>>(), &column, 2.5);
        assert!(by(&|i| i >= 30), "a step");
        assert!(by(&|i| (18..24).contains(&i)), "all samples of two neighbours");
        assert!(by(&|i| i / 3 % 7 == 2), "all samples of some values");
        assert!(!by(&|i| i % 3 == 1), "one sample of each value");
        assert!(!by(&|i| i * 37 % 11 < 3));
        assert!(!by(&|_| false));
    }

    #[test]
    fn orders_are_those_of_inputs_and_pairs() {
        let variables =
            DMatrix::from_row_slice(3, 4, &[1.0, 2.0, 3.0, 4.0, 7.0, 7.0, 7.0, 7.0, 2.0, 1.0, 2.0, 1.0]);
        let columns = columns(&variables);
        assert_eq!(columns.ncols(), 4);
        assert_eq!(columns.column(2).as_slice(), [2.0, 2.0, 6.0, 4.0]);
        assert_eq!(columns.column(3).as_slice(), [0.5, 2.0, 1.5, 4.0]);
    }
}
