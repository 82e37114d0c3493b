//! Twins: a round value of an input and the one beside it, at equal values of all else.
//!
//! At powers of two and at multiples of 64 rows of memory collide in a cache, and vectors are whole.
//! Programs call with them far more often than chance does, and points a little beside the loops'
//! values tell nothing of them. So each whole-number input has some twins, and of the held-out
//! points and decisions a share is round.

use strata_model::plan::PlanPoint;

use super::between::Draws;
use super::space::Space;

/// Smaller values are near round ones anyway.
const LEAST: f64 = 48.0;

/// The twins of an input, and the most values of a parameter at which each is measured.
const TWINS: usize = 8;
const SETTINGS: usize = 8;

/// The draws from which the twins' places follow; the first of them is no other draw's.
const DRAWN: u64 = 32;
const FIRST: u64 = 1 << 40;

/// The round values of a whole number, by turns the nearest power of two or the nearest multiple of 64
/// first, then the multiples beside that, as those near by may be taken.
fn round(value: f64, number: u64, place: usize) -> f64 {
    let beside = [0.0, 64.0, -64.0, 128.0, -128.0, 192.0, -192.0];
    let multiple = |place: usize| (64.0 * (value / 64.0).round() + beside[place]).max(64.0);
    match (place, number % 2) {
        _ if value < LEAST || value.fract() != 0.0 => value,
        (0, 0) => value.log2().round().exp2(),
        (0, _) => multiple(0),
        (place, _) => multiple(place - 1),
    }
}

/// How many round values are tried near one.
const TRIED: usize = 8;

/// Whether the draw of this number is to be round, so that this share of all are.
pub(crate) fn is_round_draw(number: u64, share: f64) -> bool {
    turn(number, share) < turn(number + 1, share)
}

/// How many of the draws before this one are round.
fn turn(number: u64, share: f64) -> u64 {
    (number as f64 * share + 1e-9).floor() as u64
}

/// The inputs with their whole numbers rounded, in several ways. Where all are too small, as most are
/// that are drawn by their logarithms, multiples of 64 stand for them.
pub(crate) fn rounded(inputs: &[f64], number: u64, share: f64) -> impl Iterator<Item = Vec<f64>> {
    let small = inputs.iter().all(|value| *value < LEAST && value.fract() == 0.0);
    let of = move |value: f64| if small { 64.0 * (1.0 + value.abs()) } else { value };
    let by = move |place| inputs.iter().map(|value| round(of(*value), turn(number, share), place)).collect();
    (0..TRIED).map(by)
}

/// The twins of a model, as points to fit.
pub(super) fn twins(space: &Space<'_>, draws: &Draws) -> Vec<PlanPoint> {
    if space.round() == 0.0 {
        return Vec::new();
    }
    let drawn = (FIRST..FIRST + DRAWN).filter_map(|number| space.verifying(&draws.of(space, number)?));
    let drawn: Vec<PlanPoint> = drawn.collect();
    let (inputs, parameters) = (space.inputs_count(), space.parameters());
    let mut twins: Vec<PlanPoint> = Vec::new();
    for input in 0..inputs {
        let is_parameter = parameters.iter().any(|(of, _)| *of == input);
        if is_parameter || drawn.is_empty() || drawn.iter().any(|point| point.values[input].fract() != 0.0) {
            continue;
        }
        let places = || drawn.iter().map(|point| &point.values[..inputs]);
        let most = places().map(|place| place[input]).fold(0.0, f64::max).log2().round().exp2();
        let least = places().map(|place| place[input]).fold(f64::INFINITY, f64::min);
        // 64, 128, 192, 256, 384, …: between powers of two half as much again.
        let all = (6..63).flat_map(|power| [f64::from(power).exp2(), 1.5 * f64::from(power).exp2()]);
        let all: Vec<f64> =
            all.filter(|value| value % 64.0 == 0.0 && (least..=most).contains(value)).collect();
        for value in some(&all, TWINS) {
            let apart = |place: &&[f64]| (place[input].max(1.0) / value).ln().abs();
            let nearest = places().min_by(|a, b| apart(a).total_cmp(&apart(b)));
            for setting in nearest.map_or(Vec::new(), |place| settings(place, &parameters)) {
                let at = |value: f64| {
                    let mut at = setting.clone();
                    at[input] = value;
                    space.at_inputs(&at).map(|point| PlanPoint { verify: false, ..point })
                };
                let beside = || at(value + 1.0).or_else(|| at(value - 1.0));
                let both = at(value).and_then(|round| Some([round, beside()?]));
                for point in both.into_iter().flatten() {
                    if twins.iter().all(|known| known.values != point.values) {
                        twins.push(point);
                    }
                }
            }
        }
    }
    twins
}

/// So many of these at most, evenly spread, with both ends.
fn some<T: Copy>(all: &[T], most: usize) -> impl Iterator<Item = T> {
    let count = all.len().min(most);
    (0..count).map(move |at| all[at * (all.len() - 1) / (count - 1).max(1)])
}

/// A place with each of some values of the parameters.
fn settings(place: &[f64], parameters: &[(usize, Vec<i64>)]) -> Vec<Vec<f64>> {
    if parameters.is_empty() {
        return vec![place.to_vec()];
    }
    let with = |(input, value): (usize, i64)| {
        let mut setting = place.to_vec();
        setting[input] = value as f64;
        setting
    };
    let each = parameters.iter().flat_map(|(input, values)| some(values, SETTINGS).map(|v| (*input, v)));
    each.map(with).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::{plan, plan_besides};
    use strata_model::Points;

    const SPEC: &str = "model A(n, b) { for e in 8..=32 for b in 4..=128 step *2
            let n = floor(pow(2, e/2)) task { f(n, b) } verify 90 }
        model B(x) { for i in 1..=9 let x = i/10 task { g(x) } verify 9 }
        library l(n) { candidate a = A(n, b) for b in 4..=128 step *2 }";

    #[test]
    fn whole_inputs_have_twins_and_a_third_of_what_verifies_is_round() {
        let spec = crate::lang::load("m.spec", SPEC).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let models = plan(&spec, 1, 7, &Points::default()).unwrap().0.models;
        let is_round = |n: f64| n.log2().fract() == 0.0 || n % 64.0 == 0.0;
        let (held_out, fitted): (Vec<_>, Vec<_>) = models[0].points.iter().partition(|point| point.verify);
        let round = held_out.iter().filter(|point| point.values[0] >= LEAST && is_round(point.values[0]));
        assert!((27..=34).contains(&round.count()), "a third of 90, and what is drawn anyway");
        let twins = &fitted[150..];
        assert!(twins.len() >= 16 && twins.len().is_multiple_of(2), "{}", twins.len());
        for pair in twins.chunks_exact(2) {
            let [round, beside] = [&pair[0].values, &pair[1].values];
            assert!(is_round(round[0]) && !is_round(beside[0]) && round[1] == beside[1], "{pair:?}");
            assert_eq!((round[0] - beside[0]).abs(), 1.0);
        }
        assert_eq!(models[1].points.len(), 18, "nothing of a real input is round");
        let mut given = Points::default();
        assert!(given.add("A", &[9, 4]));
        let earlier = plan(&spec, 1, 7, &Points::default()).unwrap().0;
        let fitted = |earlier| {
            let points = plan_besides(&spec, 1, 7, &given, earlier).unwrap().0.models.remove(0).points;
            points.into_iter().filter(|point| !point.verify).skip(1).collect::<Vec<_>>()
        };
        assert_eq!(fitted(None), [], "points that are given take the place of all others");
        assert_eq!(fitted(Some(&earlier)), twins.iter().copied().cloned().collect::<Vec<_>>());
    }
}
