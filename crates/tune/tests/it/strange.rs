//! Programs that are strange: very many call sites, jumps into loops, recursion, very short ones.

use crate::common::{Program, tune};
use proptest::prelude::*;
use strata_tune::intervals::intervals;
use strata_tune::loops::find;
use strata_tune::{Mode, Options, Phase, Tuner};

#[test]
fn a_thousand_call_sites() {
    let mut program = Program::new(tune(1));
    for _ in 0..60 {
        for site in 0..1000 {
            let option = program.call(site, 3);
            program.work(if option == 1 { 8e3 } else { 1e4 });
        }
    }
    let report = program.tuner.report();
    assert_eq!((report.sites, report.intervals.len()), (1000, 1));
    assert_eq!(report.intervals[0].knobs.len(), 1000);
    assert_eq!(report.intervals[0].phase, Phase::Search, "60 executions are few for 3^1000 configurations");
}

#[test]
fn more_sites_than_are_tracked() {
    let mut program = Program::new(tune(1));
    for _ in 0..2 {
        for site in 0..6000 {
            assert_eq!(program.call(site, 2), 0);
        }
    }
    let report = program.tuner.report();
    assert_eq!(report.sites, 4096);
    assert!(report.notes[0].contains("more call sites than are tracked"), "{:?}", report.notes);
}

#[test]
fn a_loop_that_is_entered_in_the_middle() {
    let mut program = Program::new(tune(1));
    for step in 0..20_000u32 {
        // From 1 to 2 or to 3, which follow each other: irreducible; and back to 1.
        if step % 7 == 0 {
            program.call(1, 1);
        }
        let site = 2 + u64::from((step / 7 + step) % 2);
        let option = program.call(site, 3);
        program.work(if site == 3 && option == 2 { 1e4 } else { 3e4 });
    }
    let report = program.tuner.report();
    let chosen = report.intervals.iter().flat_map(|each| &each.knobs).map(|knob| &*knob.chosen);
    // What is chosen at the first one makes no difference.
    assert_eq!(chosen.skip(1).collect::<Vec<_>>(), ["option 2"], "{report}");
}

fn recurse(program: &mut Program, depth: u32) {
    let before = program.call(1, 3);
    program.work(if before == 1 { 5e3 } else { 1e4 });
    if depth > 0 {
        recurse(program, depth - 1);
        recurse(program, depth - 1);
    }
    program.call(2, 1);
    program.work(1e3);
}

#[test]
fn recursion() {
    let mut program = Program::new(tune(1));
    for _ in 0..100 {
        recurse(&mut program, 6);
    }
    let report = program.tuner.report();
    let knob = report.intervals.iter().find_map(|each| each.knobs.first()).unwrap();
    assert_eq!(knob.chosen, "option 1", "{report}");
}

#[test]
fn a_program_that_ends_at_once() {
    for iterations in 0..4 {
        let mut program = Program::new(tune(1));
        for _ in 0..iterations {
            assert_eq!(program.call(1, 5), 0);
            program.work(1e9);
        }
        let report = program.tuner.close().unwrap();
        assert_eq!(report.intervals.len(), 0);
        assert!(report.to_string().starts_with("made-up: "), "{report}");
    }
}

#[test]
fn off_does_nothing() {
    let mut program = Program::new(Options::of(Mode::Off));
    (0..1000).for_each(|_| assert_eq!(program.call(1, 5), 0));
    let report = program.tuner.close().unwrap();
    assert_eq!((report.visits, report.sites), (1000, 0));
    assert!(Tuner::new("off", Options::default()).unwrap().graph_svg().ends_with("</svg>\n"));
}

/// Calls in any order, with times of any length.
#[test]
fn calls_at_random() {
    proptest!(|(calls in prop::collection::vec((0u64..6, prop_oneof![1u16..4, Just(40u16)], 0u64..1 << 40), 0..2000))| {
        let mut program = Program::new(Options { settle: 1, span: 1, watch: 2, ..tune(1) });
        for (site, options, time) in calls {
            // The last call may be long ago, and clocks may go back.
            program.now = program.now.wrapping_add(time) >> (time % 3);
            prop_assert!(program.call(site, options) < options);
        }
        let text = program.tuner.state_text();
        let again = Program::with(tune(1), Some(&text)).unwrap();
        prop_assert_eq!(again.tuner.notes(), [""; 0]);
        prop_assert!(program.tuner.graph_svg().ends_with("</svg>\n"));
    });
}

/// Laws of loops and intervals, on graphs at random.
#[test]
fn intervals_are_disjoint_and_entered_at_their_begin() {
    let graph = (2usize..20)
        .prop_flat_map(|nodes| prop::collection::vec(prop::collection::btree_set(0..nodes, 0..4), nodes));
    proptest!(ProptestConfig::with_cases(2000), |(graph in graph)| {
        let successors: Vec<Vec<usize>> = graph.iter().map(|to| to.iter().copied().collect()).collect();
        let loops = find(&successors, 0);
        let mut owner = vec![None; successors.len()];
        let found = intervals(&successors, 0, &loops);
        for (number, interval) in found.iter().enumerate() {
            for node in &interval.nodes {
                prop_assert_eq!(owner[*node].replace(number), None);
            }
            for pair in interval.nodes.windows(2) {
                prop_assert!(successors[pair[0]].contains(&pair[1]));
            }
        }
        // Every node of a loop is in an interval, and all of one are in the same loops.
        for each in &loops.loops {
            prop_assert!(each.nodes.iter().all(|node| owner[*node].is_some()));
            prop_assert!(successors[each.branch].contains(&each.target));
            for interval in &found {
                let inside = interval.nodes.iter().filter(|node| each.nodes.contains(node)).count();
                prop_assert!(inside == 0 || inside == interval.nodes.len());
            }
        }
        // Who goes on from one node to another that is in a loop with it comes to a begin, or to
        // the next.
        for (from, to) in successors.iter().enumerate().flat_map(|(from, to)| to.iter().map(move |to| (from, *to))) {
            let Some(number) = owner[to] else { continue };
            let at = found[number].nodes.iter().position(|node| *node == to).unwrap();
            prop_assert!(at == 0 || found[number].nodes[at - 1] == from || !reached(&successors)[from]);
        }
        // What runs twice is in a loop or in an irreducible part.
        let again = reached_twice(&successors);
        for node in 0..successors.len() {
            prop_assert_eq!(again[node], owner[node].is_some(), "{}", node);
        }
    });
}

fn reached(successors: &[Vec<usize>]) -> Vec<bool> {
    let mut seen = vec![false; successors.len()];
    let mut open = vec![0];
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut seen[node], true) {
            open.extend(&successors[node]);
        }
    }
    seen
}

/// Nodes that are reached, and that reach themselves.
fn reached_twice(successors: &[Vec<usize>]) -> Vec<bool> {
    let first = reached(successors);
    let cycles = |node: usize| {
        let mut seen = vec![false; successors.len()];
        let mut open = successors[node].clone();
        while let Some(next) = open.pop() {
            if !std::mem::replace(&mut seen[next], true) {
                open.extend(&successors[next]);
            }
        }
        seen[node]
    };
    (0..successors.len()).map(|node| first[node] && cycles(node)).collect()
}
