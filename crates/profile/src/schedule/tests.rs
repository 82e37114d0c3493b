//! The schedule, run with synthetic timings.

use super::*;
use crate::order::spread;
use proptest::prelude::*;

/// Models with the given numbers of points; point i has size i + 1.
fn outlines(models: &[(usize, u32)]) -> Vec<Outline> {
    let outline = |&(count, repeat): &(usize, u32)| Outline {
        order: spread(count, 0.3),
        sizes: (1..=count).map(|size| size as f64).collect(),
        repeat,
    };
    models.iter().map(outline).collect()
}

const STEADY: Rules = Rules { goal: 0.05, least: 0, most: 40, discard: true, seed: 1 };

struct Played {
    schedule: Schedule,
    /// Seconds used.
    elapsed: f64,
    /// The timed points, in order.
    places: Vec<PointIndex>,
}

impl Played {
    fn counts(&self, model: usize) -> Vec<usize> {
        let count = |summary: &Option<Summary>| summary.as_ref().map_or(0, |s| s.timings.len());
        self.schedule.summaries()[model].iter().map(count).collect()
    }
}

/// Runs a schedule against the cost and outcome of each timing.
fn play(
    models: &[(usize, u32)],
    rules: Rules,
    budget: f64,
    cost: impl Fn(PointIndex) -> f64,
    outcome: impl Fn(PointIndex, usize) -> (f64, bool),
) -> Played {
    let mut schedule = Schedule::new(outlines(models), rules);
    let (mut elapsed, mut places) = (0.0, Vec::new());
    while let Some(place) = schedule.next(budget - elapsed) {
        let (seconds, preempted) = outcome(place, places.len());
        let cost = cost(place);
        schedule.record(place, Timing { seconds, moment: elapsed }, preempted, cost, cost);
        elapsed += cost;
        places.push(place);
    }
    Played { schedule, elapsed, places }
}

fn noisy(_: PointIndex, step: usize) -> (f64, bool) {
    (1.0 + (step % 7) as f64, false)
}

#[test]
fn every_point_gets_its_repeats_and_steady_ones_no_more() {
    let cost = |place: PointIndex| if place.model == 0 { 0.01 } else { 0.02 };
    let played = play(&[(12, 3), (20, 5)], STEADY, 60.0, cost, |_, _| (1.0, false));
    // All models end together, so the one with three repeats may have more.
    assert!(played.counts(0).iter().all(|count| (3..=6).contains(count)), "{:?}", played.counts(0));
    assert!(played.counts(1).iter().all(|count| *count == 5), "{:?}", played.counts(1));
    assert!(played.schedule.summaries()[1].iter().flatten().all(|s| s.seconds == 1.0 && s.spread == 0.0));
}

#[test]
fn time_that_was_asked_for_is_used_even_if_timings_agree() {
    let played = play(&[(4, 3)], Rules { least: 7, ..STEADY }, 60.0, |_| 0.1, |_, _| (1.0, false));
    assert!(played.counts(0).iter().all(|count| *count == 7), "{:?}", played.counts(0));
}

#[test]
fn the_timings_of_a_point_are_spread_over_the_run() {
    // Costs over three decades.
    let cost = |place: PointIndex| 1e-3 * f64::from(10 + place.point as i32).powi(2) / 100.0;
    let played = play(&[(30, 3), (30, 3)], STEADY, 20.0, cost, noisy);
    assert!(played.elapsed > 10.0 || played.counts(0).iter().all(|count| *count == 40), "{}", played.elapsed);
    let steps = played.places.len();
    for point in 0..30 {
        let place = PointIndex { model: 1, point };
        let at: Vec<usize> = (0..steps).filter(|step| played.places[*step] == place).collect();
        assert!(*at.last().unwrap() > steps * 3 / 4, "point {point}: {at:?} of {steps}");
        let gap = at.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!(gap <= 3 * steps / at.len() + 60, "point {point}: {gap} of {steps} in {at:?}");
        assert!(at.windows(2).all(|pair| pair[1] > pair[0] + 1), "point {point} twice in a row");
    }
}

#[test]
fn cheap_points_get_more_timings_but_costly_ones_their_share() {
    let cost = |place: PointIndex| if place.point < 10 { 0.001 } else { 0.1 };
    let played = play(&[(20, 3)], STEADY, 8.0, cost, noisy);
    let counts = played.counts(0);
    assert!(counts[..10].iter().all(|count| *count >= 20), "{counts:?}");
    assert!(counts[10..].iter().all(|count| (5..=9).contains(count)), "{counts:?}");
    assert!(played.elapsed > 7.0, "{}", played.elapsed);
}

#[test]
fn no_point_is_timed_without_end() {
    let played = play(&[(2, 3)], STEADY, f64::INFINITY, |_| 0.1, noisy);
    assert_eq!(played.counts(0), [40, 40]);
    // Only so many repeats were requested, so there are no more.
    let played = play(&[(2, 90)], STEADY, f64::INFINITY, |_| 0.0, noisy);
    assert_eq!(played.counts(0), [40, 40]);
}

#[test]
fn where_time_is_simulated_every_point_is_timed_once() {
    let rules = Rules { goal: f64::INFINITY, most: 1, ..STEADY };
    let played = play(&[(9, 3), (4, 5)], rules, 60.0, |_| 0.1, noisy);
    assert_eq!((played.counts(0), played.counts(1)), (vec![1; 9], vec![1; 4]));
    assert_eq!(played.places.len(), 13);
    assert!(played.schedule.summaries().iter().flatten().flatten().all(|summary| summary.spread == 0.0));
}

#[test]
fn preempted_timings_are_set_aside_while_others_can_be_had() {
    let disturbed = |_, step| if step == 1 { (13.0, true) } else { (1.0, false) };
    let played = play(&[(1, 3)], STEADY, 60.0, |_| 0.1, disturbed);
    let summary = played.schedule.summaries()[0][0].clone().unwrap();
    assert_eq!((summary.seconds, summary.timings.len(), summary.preempted), (1.0, 3, 1));
}

#[test]
fn where_every_timing_is_preempted_they_count() {
    let played = play(&[(1, 3)], STEADY, 60.0, |_| 0.1, |_, _| (2.0, true));
    let summary = played.schedule.summaries()[0][0].clone().unwrap();
    assert_eq!((summary.seconds, summary.timings.len(), summary.preempted), (2.0, 6, 6));
}

#[test]
fn a_short_budget_gives_fewer_points_with_their_repeats() {
    let played = play(&[(100, 3)], STEADY, 6.0, |_| 0.1, |_, _| (1.0, false));
    let repeats: Vec<usize> = played.counts(0).into_iter().filter(|count| *count > 0).collect();
    assert!((18..=20).contains(&repeats.len()), "{repeats:?}");
    assert!(repeats.iter().all(|count| *count >= 3), "{repeats:?}");
}

#[test]
fn a_costly_model_does_not_starve_a_cheap_one() {
    let cost = |place: PointIndex| if place.model == 0 { 1.0 } else { 0.01 };
    let played = play(&[(500, 3), (40, 3)], STEADY, 20.0, cost, |_, _| (1.0, false));
    let begun: Vec<_> = played.schedule.begun_by_model().collect();
    assert!(begun[1] == (40, 40) && begun[0].0 >= 4, "{begun:?}");
    // The first points of the costly one take most of the budget, and their repeats more than all.
    let cost = |place: PointIndex| if place.model == 0 { 3.0 } else { 0.01 };
    let played = play(&[(500, 3), (40, 3)], STEADY, 12.0, cost, |_, _| (1.0, false));
    assert!(played.counts(1).iter().all(|count| *count >= 3), "{:?}", played.counts(1));
}

#[test]
fn what_cannot_be_paid_is_not_begun() {
    // Each point takes ten times as long as the one before: the fifth would take a thousand
    // seconds.
    let cost = |place: PointIndex| 10f64.powi(place.point as i32 - 2);
    let outline = Outline {
        order: vec![0, 7, 4, 2, 5, 1, 3, 6],
        sizes: (0..8).map(|point| 10f64.powi(point)).collect(),
        repeat: 3,
    };
    let mut schedule = Schedule::new(vec![outline], STEADY);
    let mut elapsed = 0.0;
    while let Some(place) = schedule.next(60.0 - elapsed) {
        elapsed += cost(place);
        assert!(elapsed <= 60.0, "{place:?}");
        schedule.record(place, Timing { seconds: 1.0, moment: elapsed }, false, cost(place), cost(place));
    }
    assert_eq!(schedule.begun(), (4, 8));
}

#[test]
fn what_an_earlier_run_measured_is_not_measured_again() {
    let mut schedule = Schedule::new(outlines(&[(4, 3)]), STEADY);
    let timing = Timing { seconds: 1.0, moment: 7.0 };
    for point in 0..3 {
        (0..3).for_each(|_| schedule.restore(PointIndex { model: 0, point }, timing, false));
    }
    schedule.restore(PointIndex { model: 0, point: 3 }, timing, false);
    assert_eq!(schedule.latest(), 7.0);
    let mut timed = 0;
    while let Some(place) = schedule.next(60.0) {
        assert_eq!(place.point, 3);
        schedule.record(place, timing, false, 0.1, 0.1);
        timed += 1;
    }
    assert_eq!(timed, 2);
}

#[test]
fn timings_that_are_no_numbers_end_too() {
    let played = play(&[(3, 3)], STEADY, 60.0, |_| 0.1, |_, _| (f64::NAN, false));
    assert!(played.schedule.summaries()[0][0].as_ref().unwrap().seconds.is_nan());
}

#[test]
fn how_long_it_takes_at_most_is_known_after_a_few() {
    let mut schedule = Schedule::new(outlines(&[(50, 3)]), STEADY);
    while schedule.begun().0 < PROBES {
        let place = schedule.next(60.0).unwrap();
        schedule.record(place, Timing { seconds: 1.0, moment: 0.0 }, false, 0.1, 0.1);
    }
    // A larger point is never assumed to cost less than in proportion to its size.
    assert!(schedule.remaining() >= 0.1 * (50.0 * 40.0 - 3.0) - 1e-9, "{}", schedule.remaining());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_budget_is_exceeded_by_one_timing_at_most(
        sizes in prop::collection::vec(1usize..60, 1..5),
        costs in prop::collection::vec(0.001..5.0f64, 5),
        budget in 0.0..30.0f64,
    ) {
        let models: Vec<_> = sizes.iter().map(|size| (*size, 3)).collect();
        let outcome = |place: PointIndex, step| (1.0 + ((place.point * 7 + step) % 5) as f64, step % 3 == 0);
        let played = play(&models, STEADY, budget, |place| costs[place.model], outcome);
        let most = costs[..sizes.len()].iter().copied().fold(0.0, f64::max);
        prop_assert!(played.elapsed <= budget + most);
    }
}
