//! U1 and U3: what is timed, and how often, in programs of nested loops.

use crate::common::{Program, tune};
use strata_tune::{IntervalReport, Mode, Options};

/// The program of Borg's algorithm 5: send is 1, receive 2, all-reduce 3.
fn nested(program: &mut Program) {
    for _ in 0..10 {
        for _ in 0..4 {
            program.call(1, 3);
            program.work(1e4);
            program.call(2, 3);
            program.work(2e4);
        }
        program.call(3, 1);
        program.work(4e4);
    }
}

fn endings(interval: &IntervalReport) -> Vec<(&str, u64)> {
    interval.stops.iter().map(|stop| (stop.site.rsplit(' ').next().unwrap(), stop.endings)).collect()
}

#[test]
fn executions_are_counted_by_where_they_end() {
    let mut first = Program::new(tune(1));
    nested(&mut first);
    let text = first.tuner.state_text();
    // The graph is known from the begin.
    let mut program = Program::with(tune(1), Some(&text)).unwrap();
    assert_eq!(program.tuner.notes(), [""; 0]);
    nested(&mut program);
    let report = program.tuner.report();
    let [inner, outer] = &report.intervals[..] else { panic!("{report:?}") };
    assert_eq!((inner.sites.len(), outer.sites.len()), (2, 1));
    assert_eq!(endings(inner), [("(1)", 30), ("(3)", 10)]);
    assert_eq!(endings(outer), [("(1)", 9)]);
    // Timed separately: from send to send 30 µs, also where the all-reduce follows; that 40 µs.
    let near = |seconds: f64, expected: f64| (0.9..2.0).contains(&(seconds / expected));
    assert!(near(inner.stops[0].seconds, 3e-5), "{inner:?}");
    assert_eq!(outer.stops[0].seconds, 0.0, "nothing to choose, nothing timed");
}

#[test]
fn recording_times_everything_and_changes_nothing() {
    let mut program = Program::new(Options::of(Mode::Record(None)));
    for _ in 0..20 {
        for _ in 0..10 {
            for _ in 0..4 {
                assert_eq!((program.call(1, 3), program.call(2, 3)), (0, 0));
                program.work(1e4);
            }
            program.call(3, 1);
            program.work(4e4);
        }
    }
    let report = program.tuner.report();
    assert!(
        report.intervals.iter().flat_map(|each| &each.stops).all(|stop| stop.seconds > 0.0),
        "{report:?}"
    );
    assert!(
        report
            .intervals
            .iter()
            .all(|each| each.cost == 0.0 && each.knobs.iter().all(|k| k.chosen == "option 0"))
    );
}

/// A choice is bound to its request: two are under way, and complete in the other order.
#[test]
fn choices_are_bound_to_requests() {
    let mut program = Program::new(tune(5));
    let cost = [[5e4, 9e4, 9e4], [9e4, 9e4, 5e4]];
    for _ in 0..4000 {
        let requests = [program.call(1, 3), program.call(2, 3)];
        for request in [1, 0] {
            program.work(cost[request][usize::from(requests[request])]);
        }
        program.call(9, 1);
    }
    let report = program.tuner.report();
    let chosen: Vec<&str> = report.intervals[0].knobs.iter().map(|knob| &*knob.chosen).collect();
    assert_eq!(chosen, ["option 0", "option 2"], "{report}");
}

#[test]
fn a_clock_that_steps_back_tells_no_time() {
    let mut program = Program::new(tune(1));
    for call in 0..4000 {
        program.call(1, 3);
        program.work(1e5);
        if call % 10 == 9 {
            program.now -= 150_000;
        }
    }
    let report = program.tuner.report();
    let [interval] = &report.intervals[..] else { panic!("{report:?}") };
    // One execution in a hundred takes ten times as long, and none takes no time.
    assert!(interval.stops[0].seconds > 0.9e-4, "{report:?}");
    let tried = interval.knobs[0].options.iter().map(|option| option.tried);
    assert!(tried.filter(|tried| tried.evaluations > 0).all(|tried| tried.least > 0.8), "{report:?}");
}
