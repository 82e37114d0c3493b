//! Which points are to be measured, and in which order.
//!
//! A model's points are those of its loop nest, or those that a points file names in their place, then `verify` points drawn uniformly over the whole integer range of
//! every iteration variable (Brewer Fig 3-4). They are *visited* in another order: first the ends of the loop nest, then
//! steps of the golden ratio around it, so that wherever a budget stops the run, what has been measured covers the
//! space; verification points take their turns in between. The plan follows from the models, the number of nodes and
//! the seed alone, so all nodes compute the same one.

use std::collections::BTreeSet;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::{Profiled, Random, Scope};

/// Most points of a loop nest; `specc check` refuses longer ones where it can see them.
pub(crate) const MAX_POINTS: usize = 1_000_000;

/// How often a verification point that fails a `require` is drawn again before it is given up.
const MAX_DRAWS: usize = 1_000;

/// Fit samples of a model without loops: all are of its one place, so that their scatter tells how certain its time is.
const SAMPLES_OF_ONE_PLACE: usize = 10;

/// One place of a model's iteration space.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Point {
    /// Drawn for verification; otherwise from the loop nest.
    pub(crate) verify: bool,
    /// The iteration variables.
    pub(crate) at: Vec<i64>,
    /// What the sample's columns hold.
    pub(crate) values: Vec<f64>,
}

/// Everything to be measured of one model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ModelPlan {
    /// Fit points in loop order, then verification points in the order drawn.
    pub(crate) points: Vec<Point>,
    /// Indices into `points` in the order of their visit.
    pub(crate) order: Vec<usize>,
    /// Fit points that a `require` excludes.
    pub(crate) excluded: usize,
    /// Verification points for which no allowed place was found.
    pub(crate) undrawn: usize,
}

/// Plans the measurement of `model` on `nodes` nodes, at the points of its loop nest or at those that are `given`.
///
/// # Errors
/// The loop nest has more than a million points; it has none that its `require`s allow; a given point is none of the model's.
pub(crate) fn plan(
    model: &dyn Profiled,
    nodes: usize,
    seed: u64,
    given: Option<&[Vec<i64>]>,
) -> Result<ModelPlan, String> {
    let name = model.name();
    let mut plan = ModelPlan::default();
    let fit = Scope::new(name, false, nodes);
    let nest = match given {
        Some(points) => checked(model, &fit, points)?,
        None => nest(model, &fit)?,
    };
    let total = nest.len();
    for at in nest {
        match model.values(&fit, &at) {
            Some(values) => plan.points.push(Point { verify: false, at, values }),
            None => plan.excluded += 1,
        }
    }
    if plan.points.is_empty() {
        return Err(if total == 0 {
            format!("model `{name}`: its loop nest is empty on {nodes} nodes")
        } else {
            format!("model `{name}`: its `require` excludes all {total} points on {nodes} nodes")
        });
    }
    let fitted = plan.points.len();
    draw(model, nodes, seed, &mut plan);
    let mut start = ChaCha8Rng::seed_from_u64(seed);
    let offset = start.random::<f64>();
    let verifying = spread(plan.points.len() - fitted, offset);
    plan.order =
        interleave(&spread(fitted, offset), &verifying.iter().map(|i| i + fitted).collect::<Vec<_>>());
    Ok(plan)
}

/// The points of the loop nest, in its order.
fn nest(model: &dyn Profiled, scope: &Scope) -> Result<Vec<Vec<i64>>, String> {
    let mut nest = Vec::new();
    let mut complete = true;
    model.points(scope, &mut |at| {
        complete = nest.len() < MAX_POINTS;
        if complete {
            nest.push(at.to_vec());
        }
        complete
    });
    if !complete {
        return Err(format!(
            "model `{}`: its loop nest has more than {MAX_POINTS} points on {} nodes; use a larger step",
            model.name(),
            scope.nodes()
        ));
    }
    if nest.len() == 1 && nest[0].is_empty() {
        nest.resize(SAMPLES_OF_ONE_PLACE, Vec::new());
    }
    Ok(nest)
}

/// Given points, if they are the model's: what lies outside its loops was never meant to be run.
fn checked(model: &dyn Profiled, scope: &Scope, points: &[Vec<i64>]) -> Result<Vec<Vec<i64>>, String> {
    let bad = points.iter().find(|at| !model.contains(scope, at) || model.values(scope, at).is_none());
    let Some(at) = bad else { return Ok(points.to_vec()) };
    let values: Vec<String> = at.iter().map(i64::to_string).collect();
    Err(format!(
        "model `{}`: the point {} of the points file lies outside its loops ({}) on {} nodes, or its `require` excludes it",
        model.name(),
        values.join(","),
        model.variables().join(","),
        scope.nodes()
    ))
}

/// Adds the verification points. A model without iteration variables has only one place to verify at, again and again.
fn draw(model: &dyn Profiled, nodes: usize, seed: u64, plan: &mut ModelPlan) {
    let scope = Scope::new(model.name(), true, nodes);
    let mut random = Random::new(seed, model.name(), 0);
    for _ in 0..model.options().verify {
        let drawn = (0..MAX_DRAWS).find_map(|_| {
            let at = model.draw(&scope, &mut random)?;
            let values = model.values(&scope, &at)?;
            Some(Point { verify: true, at, values })
        });
        match drawn {
            Some(point) => plan.points.push(point),
            None => plan.undrawn += 1,
        }
    }
}

/// The numbers below `count`, each once, such that every beginning of the list is spread evenly over them: first both
/// ends, then steps of the golden ratio from `offset`, each to the nearest number not yet taken.
pub(crate) fn spread(count: usize, offset: f64) -> Vec<usize> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let mut free: BTreeSet<usize> = (0..count).collect();
    let mut order = Vec::with_capacity(count);
    let mut take = |index: usize, free: &mut BTreeSet<usize>| {
        if free.remove(&index) {
            order.push(index);
        }
    };
    if count > 0 {
        take(0, &mut free);
        take(count - 1, &mut free);
    }
    let mut step = 0.0;
    while !free.is_empty() {
        let aim = ((offset + step * GOLDEN).fract() * count as f64) as usize;
        step += 1.0;
        let above = free.range(aim..).next().copied();
        let below = free.range(..aim).next_back().copied();
        let nearest = match (below, above) {
            (Some(b), Some(a)) => {
                if aim - b < a - aim {
                    b
                } else {
                    a
                }
            }
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => break,
        };
        take(nearest, &mut free);
    }
    order
}

/// Merges two lists such that every beginning of the result holds of each about its share. `first` begins.
fn interleave(first: &[usize], second: &[usize]) -> Vec<usize> {
    let mut order = Vec::with_capacity(first.len() + second.len());
    let (mut a, mut b) = (0, 0);
    while a < first.len() || b < second.len() {
        // Compare a/len(first) with b/len(second) without dividing.
        if b == second.len() || (a < first.len() && a * second.len() <= b * first.len()) {
            order.push(first[a]);
            a += 1;
        } else {
            order.push(second[b]);
            b += 1;
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bench, Failure, Options};
    use proptest::prelude::*;
    use strata_runtime::Node;

    /// Two loops; the product of their variables may not exceed `limit`.
    struct Nest {
        outer: i64,
        inner: i64,
        limit: f64,
        verify: u32,
    }

    impl Profiled for Nest {
        fn name(&self) -> &'static str {
            "Nest"
        }
        fn columns(&self) -> &'static [&'static str] {
            &["area"]
        }
        fn options(&self) -> Options {
            Options { verify: self.verify, ..Options::default() }
        }
        fn points(&self, _: &Scope, visit: &mut dyn FnMut(&[i64]) -> bool) {
            for i in 1..=self.outer {
                for j in 1..=self.inner {
                    if !visit(&[i, j]) {
                        return;
                    }
                }
            }
        }
        fn draw(&self, _: &Scope, random: &mut Random) -> Option<Vec<i64>> {
            Some(vec![random.between(1, self.outer)?, random.between(1, self.inner)?])
        }
        fn contains(&self, _: &Scope, at: &[i64]) -> bool {
            matches!(at, [i, j] if (1..=self.outer).contains(i) && (1..=self.inner).contains(j))
        }
        fn values(&self, _: &Scope, at: &[i64]) -> Option<Vec<f64>> {
            let area = (at[0] * at[1]) as f64;
            (area <= self.limit).then(|| vec![area])
        }
        fn measure(&self, _: &mut Node, _: &Scope, _: &[i64], _: &mut Bench) -> Result<(), Failure> {
            Ok(())
        }
    }

    #[test]
    fn fit_points_come_in_loop_order_then_verification_points() {
        let nest = Nest { outer: 3, inner: 2, limit: f64::INFINITY, verify: 4 };
        let plan = plan(&nest, 4, 1, None).unwrap();
        let fit: Vec<_> = plan.points.iter().filter(|p| !p.verify).map(|p| p.at.clone()).collect();
        assert_eq!(fit, [[1, 1], [1, 2], [2, 1], [2, 2], [3, 1], [3, 2]]);
        assert_eq!(plan.points.len(), 10);
        assert!(plan.points[6..].iter().all(|p| p.verify));
    }

    #[test]
    fn what_a_require_excludes_is_not_measured() {
        let nest = Nest { outer: 10, inner: 10, limit: 20.0, verify: 20 };
        let plan = plan(&nest, 4, 1, None).unwrap();
        assert!(plan.points.iter().all(|p| p.values[0] <= 20.0));
        assert_eq!(plan.points.iter().filter(|p| p.verify).count(), 20);
        assert_eq!(plan.excluded + plan.points.len(), 120);
        assert_eq!(plan.undrawn, 0);
    }

    #[test]
    fn given_points_take_the_place_of_the_loops() {
        let nest = Nest { outer: 9, inner: 9, limit: 60.0, verify: 4 };
        let given = [vec![7, 5], vec![2, 2]];
        let given = plan(&nest, 4, 1, Some(&given)).unwrap();
        let loops = plan(&nest, 4, 1, None).unwrap();
        let fit: Vec<_> = given.points.iter().filter(|p| !p.verify).map(|p| p.at.clone()).collect();
        assert_eq!(fit, [[7, 5], [2, 2]]);
        let verify = |plan: &ModelPlan| plan.points.iter().filter(|p| p.verify).cloned().collect::<Vec<_>>();
        assert_eq!(verify(&given), verify(&loops), "what verifies does not depend on what is fitted");
        for bad in [vec![7], vec![0, 1], vec![9, 9]] {
            let values: Vec<String> = bad.iter().map(i64::to_string).collect();
            let error = plan(&nest, 4, 1, Some(&[bad])).unwrap_err();
            assert!(error.contains(&format!("the point {} of", values.join(","))), "{error}");
        }
    }

    #[test]
    fn nothing_left_to_measure_is_an_error() {
        let nest = Nest { outer: 10, inner: 10, limit: 0.0, verify: 20 };
        assert!(plan(&nest, 4, 1, None).unwrap_err().contains("excludes all 100 points"));
        let nest = Nest { outer: 0, inner: 10, limit: 0.0, verify: 20 };
        assert!(plan(&nest, 4, 1, None).unwrap_err().contains("is empty"));
        let nest = Nest { outer: i64::MAX, inner: 10, limit: 0.0, verify: 20 };
        assert!(plan(&nest, 4, 1, None).unwrap_err().contains("more than 1000000 points"));
    }

    #[test]
    fn the_seed_settles_the_verification_points() {
        let nest = Nest { outer: 1000, inner: 1000, limit: f64::INFINITY, verify: 20 };
        let drawn = |seed| plan(&Nest { outer: 2, inner: 1, ..nest }, 4, seed, None).map(|p| p.points);
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(plan(&nest, 4, 7, None).unwrap().points, plan(&nest, 4, 8, None).unwrap().points);
    }

    #[test]
    fn every_value_of_a_range_is_drawn() {
        let nest = Nest { outer: 4, inner: 4, limit: f64::INFINITY, verify: 400 };
        let plan = plan(&nest, 4, 3, None).unwrap();
        let seen: BTreeSet<_> = plan.points.iter().filter(|p| p.verify).map(|p| p.at.clone()).collect();
        assert_eq!(seen.len(), 16);
    }

    #[test]
    fn a_short_run_has_verification_points_too() {
        assert_eq!(interleave(&[0, 1, 2, 3], &[4, 5]), [0, 4, 1, 2, 5, 3]);
    }

    proptest! {
        #[test]
        fn spread_is_a_permutation_that_covers_early(count in 1usize..400, offset in 0.0..1.0f64) {
            let order = spread(count, offset);
            let mut all = order.clone();
            all.sort_unstable();
            prop_assert_eq!(all, (0..count).collect::<Vec<_>>());
            // After a third of the points, no gap is wider than a fifth of the range (small counts aside).
            if count >= 30 {
                let mut early: Vec<_> = order[..count / 3].to_vec();
                early.sort_unstable();
                prop_assert!(early.windows(2).all(|w| w[1] - w[0] <= count / 5));
            }
        }
    }
}
