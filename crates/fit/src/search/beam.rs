//! The few of many terms that explain the times: a beam of the best sets, one term longer each
//! turn.
//!
//! The best set of two terms need not contain the best single one, so many sets are kept at each
//! length. Adding a term needs only its part that is orthogonal to the terms of the set, as in
//! orthogonal least squares: Chen, Billings and Luo, *Orthogonal least squares methods and their
//! application to non-linear system identification* (1989).

use nalgebra::{DMatrix, DVector};

/// Sets that are kept at each length.
const BEAM: usize = 40;
/// Single terms that pairs begin with.
const FIRST: usize = 160;
/// Sets of each length whose terms are exchanged one by one for better ones.
const EXCHANGED: usize = 6;
/// The most rounds of exchanges.
const ROUNDS: usize = 4;
/// A term with a smaller part left beside the chosen ones depends on them.
pub(super) const LEAST_LEFT: f64 = 1e-9;

/// A set of terms during the search.
pub(super) struct Set {
    terms: Vec<usize>,
    /// The residual of the times.
    residual: DVector<f64>,
    pub(super) error: f64,
    basis: Vec<DVector<f64>>,
}

/// The best sets of each length up to `longest`, by squared error; simpler terms first if the error
/// is only rounding.
///
/// `columns` have length one and one `rank` each, lower for simpler terms; `allowed` refuses sets.
pub(super) fn best_sets(
    columns: &DMatrix<f64>,
    times: &DVector<f64>,
    ranks: &[u8],
    longest: usize,
    allowed: &dyn Fn(&[usize]) -> bool,
) -> Vec<Vec<usize>> {
    let start =
        Set { terms: Vec::new(), error: times.norm_squared(), residual: times.clone(), basis: Vec::new() };
    let mut sets = vec![start];
    let mut found = Vec::new();
    for length in 1..=longest {
        let mut children: Vec<(f64, usize, usize)> = Vec::new();
        for (parent, set) in sets.iter().enumerate() {
            let errors = with_each(set, columns, times);
            children.extend(errors.into_iter().map(|(term, error)| (error, parent, term)));
        }
        children.sort_by(|a, b| a.0.total_cmp(&b.0).then(ranks[a.2].cmp(&ranks[b.2])).then(a.2.cmp(&b.2)));
        let keep = if length == 1 { FIRST } else { BEAM };
        let mut next: Vec<Set> = Vec::new();
        let mut seen: Vec<Vec<usize>> = Vec::new();
        for (_, parent, term) in children {
            if next.len() == keep {
                break;
            }
            let parent = &sets[parent];
            let mut sorted = parent.terms.clone();
            sorted.push(term);
            sorted.sort_unstable();
            if seen.contains(&sorted) || !allowed(&sorted) {
                continue;
            }
            seen.push(sorted.clone());
            next.push(extend(parent, columns, term, sorted));
        }
        if next.is_empty() {
            break;
        }
        next.sort_by(|a, b| a.error.total_cmp(&b.error));
        for place in 0..next.len().min(EXCHANGED) {
            let terms = exchange(&next[place], columns, times, ranks, allowed);
            if !next.iter().any(|set| set.terms == terms) {
                next.push(build(&terms, columns, times));
            }
        }
        found.extend(next.iter().take(BEAM).map(|set| set.terms.clone()));
        found.extend(next.iter().skip(keep).map(|set| set.terms.clone()));
        sets = next;
    }
    found
}

/// A set with one more term; orthogonalised twice, since terms are often alike.
fn extend(parent: &Set, columns: &DMatrix<f64>, term: usize, terms: Vec<usize>) -> Set {
    let mut q = columns.column(term).into_owned();
    for _ in 0..2 {
        for other in &parent.basis {
            let along = other.dot(&q);
            q.axpy(-along, other, 1.0);
        }
    }
    let length = q.norm();
    q /= length;
    let mut residual = parent.residual.clone();
    residual.axpy(-q.dot(&parent.residual), &q, 1.0);
    let mut basis = parent.basis.clone();
    basis.push(q);
    Set { terms, error: residual.norm_squared(), residual, basis }
}

/// The squared error of a set with each further independent term.
pub(super) fn with_each(set: &Set, columns: &DMatrix<f64>, times: &DVector<f64>) -> Vec<(usize, f64)> {
    let gains = columns.tr_mul(&set.residual);
    let mut left = DVector::from_element(columns.ncols(), 1.0);
    for q in &set.basis {
        left -= columns.tr_mul(q).map(|p| p * p);
    }
    // Smaller values are the rounding of the subtraction.
    let floor = (1e-14 * set.error).max(1e-26 * times.norm_squared());
    let with = |term: usize| (set.error - gains[term] * gains[term] / left[term]).max(floor);
    (0..columns.ncols()).filter(|term| left[*term] > LEAST_LEFT).map(|term| (term, with(term))).collect()
}

/// A set of given terms.
pub(super) fn build(terms: &[usize], columns: &DMatrix<f64>, times: &DVector<f64>) -> Set {
    let empty =
        Set { terms: Vec::new(), error: times.norm_squared(), residual: times.clone(), basis: Vec::new() };
    let mut set = empty;
    for (count, term) in terms.iter().enumerate() {
        set = extend(&set, columns, *term, terms[..=count].to_vec());
    }
    set
}

/// Exchanges one term after the other for the one that fits best beside the rest, until none is
/// better.
fn exchange(
    set: &Set,
    columns: &DMatrix<f64>,
    times: &DVector<f64>,
    ranks: &[u8],
    allowed: &dyn Fn(&[usize]) -> bool,
) -> Vec<usize> {
    let (mut terms, mut error) = (set.terms.clone(), set.error);
    for _ in 0..ROUNDS {
        let before = error;
        for place in 0..terms.len() {
            let mut rest = terms.clone();
            let old = rest.remove(place);
            let part = build(&rest, columns, times);
            let mut others = with_each(&part, columns, times);
            others.sort_by(|a, b| a.1.total_cmp(&b.1).then(ranks[a.0].cmp(&ranks[b.0])).then(a.0.cmp(&b.0)));
            let better = others.into_iter().take_while(|(_, e)| *e < error * (1.0 - 1e-6));
            let taken =
                better.filter(|(term, _)| *term != old && !rest.contains(term)).find_map(|(term, e)| {
                    let mut whole = rest.clone();
                    whole.push(term);
                    whole.sort_unstable();
                    allowed(&whole).then_some((whole, e))
                });
            if let Some((whole, e)) = taken {
                (terms, error) = (whole, e);
            }
        }
        if error >= before * (1.0 - 1e-6) {
            break;
        }
    }
    terms
}
