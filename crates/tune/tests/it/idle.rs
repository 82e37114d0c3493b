//! A tuner rests where nothing is gained, with a clock that takes time to read.

use std::hint::black_box;
use strata_tune::{Knob, Mode, Options, Phase, Tuner};

/// A loop of some microseconds whose default is the fastest by far.
fn iteration(tuner: &mut Tuner, knob: &Knob<u64>) {
    let times = *tuner.pick(knob);
    black_box((0..500 * times).fold(0u64, |sum, value| black_box(sum ^ value)));
}

fn tuner(file: &std::path::Path, mode: fn(Option<std::path::PathBuf>) -> Mode) -> Tuner {
    let mut options = Options::of(mode(Some(file.to_owned())));
    // Not the share of its time but the end of the search is looked at.
    options.loss = 1.0;
    Tuner::new("rest", options).unwrap()
}

/// A tuner that has found the default best and rests.
fn resting(file: &std::path::Path, knob: &Knob<u64>) -> Tuner {
    let mut tuner = tuner(file, Mode::Tune);
    let rests = (0..100_000).any(|_| {
        iteration(&mut tuner, knob);
        tuner.is_resting() && tuner.report().intervals[0].phase == Phase::Default
    });
    assert!(rests, "{}", tuner.report());
    tuner
}

#[test]
fn where_the_default_is_best_the_tuner_rests_and_looks_now_and_then() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("found.json");
    let knob = Knob::new("times", 1, [3, 4]);
    let mut first = resting(&file, &knob);
    // It wakes, and every visit counts.
    let before = first.report().visits;
    let woke = (0..10_000).position(|_| {
        iteration(&mut first, &knob);
        !first.is_resting()
    });
    let after = first.report();
    assert_eq!(after.visits - before, woke.expect("a rest ends") as u64 + 1, "{after}");
    first.close().unwrap();
    // The next run rests from its first visit on, longer than this one, and looks then.
    let mut next = tuner(&file, Mode::Tune);
    assert!(next.is_resting() && next.notes().is_empty(), "{}", next.report());
    let woke = (0..100_000).position(|_| {
        iteration(&mut next, &knob);
        !next.is_resting()
    });
    assert!(woke.is_some_and(|visits| visits > 200), "{woke:?}");
}

#[test]
fn visits_pass_where_the_tuner_is_off_or_rests_and_count() {
    let mut off = Tuner::new("off", Options::default()).unwrap();
    assert!((0..1000).all(|_| off.passes()));

    let folder = tempfile::tempdir().unwrap();
    let knob = Knob::new("times", 1, [3, 4]);
    let mut resting = resting(&folder.path().join("found.json"), &knob);
    let before = resting.report().visits;
    let passed = (0..1_000_000).take_while(|_| resting.passes()).count();
    // The visit that ends a rest has to say where it is.
    assert!(passed > 0 && resting.is_resting() && !resting.passes());
    assert_eq!(resting.report().visits - before, passed as u64);
    iteration(&mut resting, &knob);
    assert!(!resting.is_resting() && !resting.passes());
}

#[test]
fn recording_never_rests() {
    let folder = tempfile::tempdir().unwrap();
    let knob = Knob::new("times", 1, [3, 4]);
    let mut tuner = tuner(&folder.path().join("recorded.json"), Mode::Record);
    for _ in 0..3000 {
        iteration(&mut tuner, &knob);
        assert!(!tuner.is_resting());
    }
}

#[test]
fn runs_that_are_shorter_than_a_rest_look_now_and_then() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("found.json");
    let knob = Knob::new("times", 1, [3, 4]);
    resting(&file, &knob).close().unwrap();
    // Rests last 200 visits and more, these runs 50.
    let looks = |runs: usize| {
        let look = |_: &usize| {
            let mut short = tuner(&file, Mode::Tune);
            let awake = (0..50).any(|_| {
                iteration(&mut short, &knob);
                !short.is_resting()
            });
            short.close().unwrap();
            awake
        };
        (0..runs).filter(look).count()
    };
    let found = looks(40);
    assert!((1..20).contains(&found), "{found} runs of 40 looked");
}
