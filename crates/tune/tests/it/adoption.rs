//! U8: what is adopted, what is not, and what it costs.

use crate::common::{Program, tune};
use strata_tune::policy::Generator;
use strata_tune::{Knob, Mode, Options, Phase, Report, Search, Tuner};

/// A loop with a knob of which each option takes so long, in ns.
fn run(options: Options, costs: &[f64], iterations: u32) -> (Report, u64) {
    let mut program = Program::new(options);
    for _ in 0..iterations {
        let option = program.call(1, costs.len() as u16);
        program.work(costs[usize::from(option)]);
    }
    (program.tuner.report(), program.now)
}

fn searches() -> [Search; 4] {
    [Search::Auto, Search::Quench(Generator::Rated), Search::Quench(Generator::Uniform), Search::Exhaustive]
}

#[test]
fn where_the_default_is_best_it_stays() {
    let mut costs = [6e4; 35];
    costs.iter_mut().enumerate().for_each(|(option, cost)| *cost *= 1.0 + 0.02 * option as f64);
    for search in searches() {
        for seed in 0..24 {
            let (report, _) = run(Options { search, ..tune(seed) }, &costs, 8000);
            assert_eq!(report.intervals[0].phase, Phase::Default, "{search:?}, seed {seed}: {report}");
        }
    }
}

/// Of equal options one is adopted by no more than chance allows, and without harm.
#[test]
fn of_equal_options_the_default_stays_mostly() {
    let adopted = |seed| run(tune(seed), &[5e4; 35], 8000).0.intervals[0].phase == Phase::Adopted;
    let count = (0..100).filter(|seed| adopted(*seed)).count();
    assert!(count <= 4, "{count} of 100");
}

#[test]
fn what_is_better_is_adopted() {
    let costs = [5e4, 6e4, 4.5e4, 9e4, 5.2e4, 30e4];
    for search in searches() {
        for seed in 0..8 {
            let (report, _) = run(Options { search, ..tune(seed) }, &costs, 8000);
            let interval = &report.intervals[0];
            assert_eq!(interval.phase, Phase::Adopted, "{search:?}, seed {seed}: {report}");
            assert_eq!(interval.knobs[0].chosen, "option 2");
            let gain = interval.gain.unwrap();
            assert!((gain.mean - 0.1).abs() < 2.0 * gain.half_width.max(0.01), "{gain:?}");
        }
    }
}

/// A slow option, 37 times as slow as streaming stores of 128 bytes are: what searching loses is
/// bounded.
#[test]
fn a_search_loses_no_more_than_its_share() {
    let mut costs = [5e4; 35];
    costs[1..].iter_mut().for_each(|cost| *cost *= 37.0);
    for seed in 0..8 {
        let (report, took) = run(tune(seed), &costs, 20_000);
        let interval = &report.intervals[0];
        let lost = interval.cost * 1e9 / took as f64;
        assert!(lost < 0.06 + 50.0 * 37.0 / 20_000.0, "{lost}: {report}");
        assert_ne!(interval.phase, Phase::Adopted);
    }
}

#[test]
fn what_becomes_slow_is_given_up() {
    for seed in 0..8 {
        let mut program = Program::new(Options { watch: 20, ..tune(seed) });
        let run = |program: &mut Program, costs: [f64; 2], iterations| {
            for _ in 0..iterations {
                let option = program.call(1, 2);
                program.work(costs[usize::from(option)]);
            }
            program.tuner.report().intervals[0].clone()
        };
        assert_eq!(run(&mut program, [5e4, 4e4], 4000).phase, Phase::Adopted, "seed {seed}");
        let after = run(&mut program, [5e4, 8e4], 8000);
        assert_eq!((after.phase, after.reopened), (Phase::Default, 1), "seed {seed}");
        // And the default's time has changed by more than half: the search begins again.
        let again = run(&mut program, [9e4, 4e4], 8000);
        assert_eq!((again.phase, again.reopened), (Phase::Adopted, 2), "seed {seed}");
    }
}

#[test]
fn models_say_where_to_begin() {
    let knob = Knob::new("size", 1u32, 2..=200).predicted(|size| (f64::from(*size) - 150.0).abs() + 10.0);
    let mut options = Options::of(Mode::Off);
    options.search = Search::Predicted;
    let mut off = Tuner::new("off", options).unwrap();
    assert_eq!(*off.pick(&knob), 1);
    let space = {
        let mut space = strata_tune::policy::Space::new([200]);
        space.prior = vec![(0..200).map(|at| (f64::from(at) - 149.0).abs() + 10.0).collect()];
        space
    };
    assert_eq!(space.predicted(), [149]);
    let policy = Search::Predicted.policy(&space, 10);
    assert!(policy.is_done() && policy.best() == [149]);
}

#[test]
fn equal_times_and_seeds_give_equal_runs() {
    let costs: Vec<f64> = (0..35).map(|option| 5e4 - 500.0 * f64::from(option % 7)).collect();
    let run = |seed| serde_json::to_string(&run(tune(seed), &costs, 5000).0).unwrap();
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}
