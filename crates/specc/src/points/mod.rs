//! The points of a spec on a number of nodes of a machine, and the plan of them for the profiling
//! program.
//!
//! The points of a model are those of its loop nest, a little beside the loops' values, or given
//! points in their place, followed by `verify` points drawn over the whole range of every iteration
//! variable (Brewer Fig 3-4). Whole-number inputs have some round values, too (`twins`). All
//! expressions of a spec are evaluated here, once; the generated program holds the spec's Rust code and
//! nothing else. Loops and values may read the machine. Such
//! a plan holds only for machines with the same numbers, which it lists; the spec and the program
//! stay the same.

mod between;
mod competing;
mod site;
mod space;
mod twins;

use std::collections::BTreeMap;

use strata_model::plan::{ModelPlan, PlanPoint, Run};
use strata_model::{Points, count, did_you_mean};

use crate::lang::checked::{CheckedSpec, Measured, ModelKind, Repeated, Timed};

pub(crate) use between::Draws;
use competing::not_measured;
pub use competing::{competing, measurable, not_competing};
pub use site::Site;
pub use space::{Space, evenly, spaces};
pub(crate) use twins::{is_round_draw, rounded};

/// The most draws of a verification point that fails a `require`.
const MAX_DRAWS: usize = 1_000;

/// The number of fit samples of a model without loops. All are at its one place, so their scatter
/// gives the uncertainty of its time.
const SAMPLES_OF_ONE_PLACE: usize = 10;

/// Plans the measurements of a spec at `site`: at the points of its loops or, if `given` has
/// points, of the models named there at those points. Models that do not matter there
/// ([`competing`]) are left out unless `given` names them. Returns the plan and notes about it.
///
/// # Errors
/// One message for each model that cannot be measured: its loops are empty or have more than a
/// million points, its `require`s exclude all of them, a given point is not one of its own, or the
/// machine lacks a number that its loops or values read. One message if no model matters.
pub fn plan(
    spec: &CheckedSpec,
    site: impl Into<Site>,
    seed: u64,
    given: &Points,
) -> Result<(Run, Vec<String>), Vec<String>> {
    plan_besides(spec, site, seed, given, None)
}

/// [`plan`], where `given` points do not replace the round values that an `earlier` plan has.
pub(crate) fn plan_besides(
    spec: &CheckedSpec,
    site: impl Into<Site>,
    seed: u64,
    given: &Points,
    earlier: Option<&Run>,
) -> Result<(Run, Vec<String>), Vec<String>> {
    let (mut models, mut notes, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    let site = site.into();
    let nodes = site.nodes();
    let needed = competing(spec, site.clone());
    let mut machine = BTreeMap::new();
    for model in spec.models.iter().filter(|model| matches!(model.kind, ModelKind::Measured(_))) {
        let name = model.name.as_str();
        if !needed.contains(name) && given.of(name).is_none() {
            notes.push(not_measured(spec, name, &site));
            continue;
        }
        let space = match Space::new(spec, model, site.clone()) {
            Ok(Some(space)) => space,
            Ok(None) => continue,
            Err(fault) => {
                faults.push(fault);
                continue;
            }
        };
        machine.extend(space.machine().iter().map(|(word, value)| ((*word).to_owned(), *value)));
        let known = earlier.and_then(|run| run.models.iter().find(|model| model.name == name));
        let known = known.map_or(&[][..], |model| &model.points);
        match plan_model(&space, nodes, seed, (given.of(name), known)) {
            Ok((plan, said)) => {
                models.push(plan);
                notes.extend(said);
            }
            Err(fault) => faults.push(fault),
        }
    }
    let machine = machine.into_iter().collect();
    let unknown = given.models().iter().filter(|given| models.iter().all(|model| model.name != given.model));
    faults.extend(
        unknown
            .filter(|given| {
                spec.model(&given.model).is_none_or(|m| !matches!(m.kind, ModelKind::Measured(_)))
            })
            .map(|given| {
                let meant = did_you_mean(&given.model, spec.models.iter().map(|model| model.name.as_str()));
                format!("the spec measures no model `{}`{meant}", given.model)
            }),
    );
    if models.is_empty() && faults.is_empty() {
        faults.extend(measurable(spec, site).err());
    }
    if faults.is_empty() { Ok((Run { nodes, seed, machine, models }, notes)) } else { Err(faults) }
}

fn plan_model(
    space: &Space<'_>,
    nodes: usize,
    seed: u64,
    (given, known): (Option<&[Vec<i64>]>, &[PlanPoint]),
) -> Result<(ModelPlan, Vec<String>), String> {
    let (name, measured) = (space.name(), space.measured());
    let on = || count(nodes, "node", "nodes");
    let nest = match given {
        Some(points) => checked(space, nodes, points)?,
        None => space.nest().map_err(|error| format!("model `{name}` on {}: {error}", on()))?,
    };
    if nest.is_empty() {
        let why = space.empty_loop().map_or(String::new(), |why| format!(": {why}"));
        return Err(format!(
            "model `{name}`: its loop nest is empty on {}{why}; begin lower or end higher, or let each candidate that \
             takes the model have the same range, and it is left out",
            on()
        ));
    }
    let copies = if measured.loops.is_empty() { SAMPLES_OF_ONE_PLACE } else { 1 };
    let planned = nest.iter().filter_map(|at| space.planned(at));
    let mut points: Vec<_> = planned.flat_map(|point| std::iter::repeat_n(point, copies)).collect();
    if points.is_empty() {
        let machine = space.machine_text();
        return Err(format!(
            "model `{name}`: its `require` excludes all {} points on {}{machine}; widen the loops or the requirement",
            nest.len(),
            on()
        ));
    }
    let draws = Draws::new(seed);
    let mut twins = twins::twins(space, &draws);
    twins.retain(|twin| given.is_none() || known.contains(twin));
    points.extend(twins.iter().cloned());
    let fitted = points.len();
    let wanted = space.verify() as usize;
    let parameters: Vec<usize> = space.parameters().into_iter().map(|(input, _)| input).collect();
    let alike = |a: &[f64], b: &[f64]| {
        a.iter().zip(b).enumerate().all(|(input, (a, b))| a == b || parameters.contains(&input))
    };
    points.extend((0..wanted).filter_map(|number| {
        let mut tries = (0..MAX_DRAWS).map(|again| (number * MAX_DRAWS + again) as u64);
        let drawn = tries.find_map(|number| space.verifying(&draws.of(space, number)?))?;
        if !is_round_draw(number as u64, space.round()) {
            return Some(drawn);
        }
        // What is fitted verifies nothing. Of that only twins count, which all candidates share.
        let inputs = &drawn.values[..space.inputs_count()];
        let mut others = inputs.to_vec();
        parameters.iter().for_each(|input| others[*input] = 0.0);
        let round = rounded(&others, number as u64, space.round()).find_map(|mut round| {
            parameters.iter().for_each(|input| round[*input] = inputs[*input]);
            let fresh = twins.iter().all(|point| !alike(&point.values[..inputs.len()], &round));
            space.at_inputs(&round).filter(|_| fresh)
        });
        Some(round.unwrap_or(drawn))
    }));
    let undrawn = fitted + wanted - points.len();
    let note = (undrawn > 0).then(|| {
        format!(
            "model {name}: {undrawn} of {wanted} verification points could not be drawn: its `require` leaves too little"
        )
    });
    let notes = note.into_iter().chain(equal_data(name, measured)).collect();
    Ok((model_plan(space, points), notes))
}

/// The part of the plan about one model with these points.
pub(crate) fn model_plan(space: &Space<'_>, points: Vec<PlanPoint>) -> ModelPlan {
    let (model, measured) = (space.model(), space.measured());
    ModelPlan {
        name: model.name.clone(),
        variables: measured.loops.iter().map(|plan| plan.name.clone()).collect(),
        bound: measured.bindings.iter().map(|binding| binding.name.clone()).collect(),
        columns: model.columns(),
        gives: measured.gives().to_vec(),
        fit: model.options.fit.to_text(),
        repeat: model.options.repeat,
        once: matches!(measured.work, Timed::Task { repeated: Repeated::Never, .. }),
        hot: matches!(measured.work, Timed::Task { hot: true, .. }),
        points,
    }
}

/// A note if all repetitions have the same data, as far as the spec's text shows.
fn equal_data(name: &str, measured: &Measured) -> Option<String> {
    let fresh = matches!(measured.work, Timed::Task { repeated: Repeated::OnFreshSetups, .. });
    let reads = |word| measured.codes().any(|code| code.mentions(word));
    (fresh && !reads("seed") && !reads("random_in")).then(|| {
        format!(
            "model {name}: its setup reads neither `seed` nor `random_in`: if it makes the same data each time, a \
             program's data may take longer; where it must, `setup once` says so"
        )
    })
}

/// Returns the given points if all are within the model's loops and requirements. The task need not
/// be correct at others.
fn checked(space: &Space<'_>, nodes: usize, points: &[Vec<i64>]) -> Result<Vec<Vec<i64>>, String> {
    let bad = points.iter().find(|at| !space.contains(at) || space.inputs(at).is_none());
    let Some(at) = bad else { return Ok(points.to_vec()) };
    let values: Vec<String> = at.iter().map(i64::to_string).collect();
    Err(format!(
        "model `{}`: the point {} lies outside its loops ({}) on {}, or its `require` excludes it",
        space.name(),
        values.join(","),
        space.variables().join(","),
        count(nodes, "node", "nodes"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use strata_model::samples::Column;

    fn spec(outer: &str, inner: &str, more: &str) -> CheckedSpec {
        let text = format!(
            "model Nest(area) {{ for i in {outer} for j in {inner} let side = j let area = i*side {more}
                task {{ () }} terms area*logP fit absolute }}"
        );
        crate::lang::load("nest.spec", &text).unwrap_or_else(|errors| panic!("{}", errors.render(false)))
    }

    fn only(spec: &CheckedSpec, nodes: usize, seed: u64) -> Vec<PlanPoint> {
        plan(spec, nodes, seed, &Points::default()).unwrap().0.models.remove(0).points
    }

    fn ats(points: &[PlanPoint], verify: bool) -> Vec<Vec<i64>> {
        points.iter().filter(|point| point.verify == verify).map(|point| point.at.clone()).collect()
    }

    /// Held-out points must be neither fitted points nor on the lattice of the loops.
    #[test]
    fn verification_points_are_drawn_in_the_inputs_and_are_equal_for_all_candidates() {
        let text = "model A(n, b) { for e in 4..=24 for b in 2..=64
                let n = floor(pow(2, e/2)) task { f(n, b) } verify 200 }
            model B(n) { for e in 4..=24 let n = floor(pow(2, e/2)) task { f(n) } verify 200 }
            library l(n) { candidate a = A(n, b) for b in 4..=64 step *2 candidate b = B(n) }";
        let spec = crate::lang::load("m.spec", text).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let (run, _) = plan(&spec, 1, 7, &Points::default()).unwrap();
        let inputs = |model: usize, verify: bool| {
            let points = run.models[model].points.iter().filter(move |point| point.verify == verify);
            points.map(|point| point.values.clone()).collect::<Vec<_>>()
        };
        let firsts = |model, verify| inputs(model, verify).iter().map(|x| x[0] as u64).collect::<Vec<_>>();
        assert_eq!(firsts(0, true), firsts(1, true), "candidates are compared at equal inputs");
        let fitted: BTreeSet<u64> = firsts(1, false).into_iter().collect();
        let known = firsts(1, true).into_iter().filter(|n| *n > 64 && fitted.contains(n)).count();
        assert!(known < 10, "{known} of 200 were fitted");
        let mut below = [0; 5];
        for x in inputs(0, true) {
            let b = x[1] as u64;
            assert!(b.is_power_of_two() && (4..=64).contains(&b), "only what may be chosen: {b}");
            below[(b.ilog2() - 2) as usize] += 1;
        }
        assert!(below.iter().all(|count| *count >= 10), "evenly in the logarithm: {below:?}");
    }

    #[test]
    fn fit_points_come_in_loop_order_with_their_values_then_verification_points() {
        let spec = spec("1..=3", "1..=P", "verify 4");
        let (run, notes) = plan(&spec, 2, 1, &Points::default()).unwrap();
        assert_eq!((run.nodes, run.seed, notes.len()), (2, 1, 0));
        let model = &run.models[0];
        assert_eq!(
            (&model.variables[..], &model.bound[..]),
            (&["i", "j"].map(String::from)[..], &["side", "area"].map(String::from)[..])
        );
        assert_eq!(model.columns, [Column::input("area"), Column::term("area*logP")]);
        assert_eq!((model.fit.as_str(), model.repeat, model.once), ("absolute", 3, false));
        assert!(!model.hot);
        assert_eq!(ats(&model.points, false), [[1, 1], [1, 2], [2, 1], [2, 2], [3, 1], [3, 2]]);
        assert!(model.points[6..].iter().all(|point| point.verify) && model.points.len() == 10);
        let last = &model.points[5];
        assert_eq!((&last.bound[..], &last.values[..]), (&[2.0, 6.0][..], &[6.0, 6.0][..]));
        assert_eq!(ats(&only(&spec, 1, 1), false).len(), 3, "bounds follow the number of nodes");
    }

    #[test]
    fn how_a_task_is_called_is_planned() {
        let of = |marks: &str| {
            let text = format!(
                "model M(n) {{ for n in 1..=4 setup {{ let k = n; }} task {marks} {{ f(k) }} terms n }}"
            );
            let spec = crate::lang::load("m.spec", &text).unwrap_or_else(|e| panic!("{}", e.render(false)));
            let model = plan(&spec, 1, 1, &Points::default()).unwrap().0.models.remove(0);
            (model.once, model.hot)
        };
        assert_eq!([of(""), of("once")], [(false, false), (true, false)]);
        assert_eq!([of("hot"), of("once hot"), of("hot once")], [(false, true), (true, true), (true, true)]);
    }

    #[test]
    fn what_a_require_excludes_is_not_planned() {
        let points = only(&spec("1..=10", "1..=10", "require area <= 20"), 4, 1);
        assert!(points.iter().all(|point| point.values[0] <= 20.0));
        assert_eq!(ats(&points, true).len(), 20);
    }

    #[test]
    fn the_seed_settles_the_verification_points_and_every_value_is_drawn() {
        let wide = spec("1..=1000 step *2", "1..=1000 step *2", "");
        assert_eq!(only(&wide, 4, 7), only(&wide, 4, 7));
        assert_ne!(only(&wide, 4, 7), only(&wide, 4, 8));
        let narrow = only(&spec("1..=4 step *2", "1..=4 step *4", "verify 400"), 4, 3);
        assert_eq!(ats(&narrow, true).into_iter().collect::<BTreeSet<_>>().len(), 16);
    }

    #[test]
    fn given_points_take_the_place_of_the_loops() {
        let spec = spec("1..=9", "1..=9", "require area <= 60 verify 4");
        let mut points = Points::default();
        assert!(points.add("Nest", &[7, 5]) && points.add("Nest", &[2, 2]));
        let given = plan(&spec, 4, 1, &points).unwrap().0.models.remove(0).points;
        assert_eq!(ats(&given, false), [[7, 5], [2, 2]]);
        assert_eq!(ats(&given, true), ats(&only(&spec, 4, 1), true), "what verifies does not depend on it");
        for bad in [&[7][..], &[0, 1], &[9, 9], &[1, 1, 1]] {
            let mut points = Points::default();
            points.add("Nest", bad);
            let faults = plan(&spec, 4, 1, &points).unwrap_err();
            assert!(faults[0].contains("lies outside its loops (i,j)"), "{faults:?}");
        }
        points.add("Other", &[1]);
        assert_eq!(plan(&spec, 4, 1, &points).unwrap_err(), ["the spec measures no model `Other`"]);
    }

    #[test]
    fn nothing_left_to_measure_is_an_error() {
        let fault =
            |spec: &CheckedSpec, nodes| plan(spec, nodes, 1, &Points::default()).unwrap_err().remove(0);
        let none = spec("1..=10", "1..=10", "require area <= P - 2");
        assert!(fault(&none, 1).contains("excludes all 100 points"));
        assert!(fault(&spec("4..=P", "1..=2", ""), 3).contains("is empty"));
        let many = spec("1..=P", "1..=100_000", "");
        assert!(fault(&many, 1000).contains("more than 1000000 points"));
    }

    #[test]
    fn a_model_of_one_place_is_measured_there_ten_times() {
        let spec = crate::lang::load("one.spec", "model One() { sample { 1.0 } verify 2 }").unwrap();
        let points = only(&spec, 3, 1);
        assert_eq!((ats(&points, false).len(), ats(&points, true).len()), (10, 2));
        assert!(points.iter().all(|point| point.at.is_empty() && point.values.is_empty()));
    }
}
