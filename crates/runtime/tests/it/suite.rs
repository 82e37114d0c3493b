//! The laws of every transport, on threads and on simulated machines; `tests/mpi.rs` has them under
//! MPI.

use crate::oracle::laws::LAWS;
use crate::oracle::messages::Mail;
use crate::oracle::programs::PROGRAMS;
use crate::oracle::{self, stuck};
use crate::simulated::{PLATFORMS, sim};
use proptest::prelude::*;
use std::time::Duration;
use strata_runtime::prelude::*;

/// A kind of machine, with so many nodes or the next number that it can have.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Threads,
    Sim(&'static str),
}

/// What a job ends with: if it fails, its message with the node.
fn run(
    kind: Kind,
    nodes: usize,
    program: impl Fn(&mut Node) -> Result<(), Error> + Sync,
) -> Result<(), String> {
    match kind {
        Kind::Threads => Machine::threads(nodes).unwrap().run(program).map(drop),
        Kind::Sim(platform) => sim(platform, nodes).run(program).map(drop),
    }
    .map_err(|error| error.to_string())
}

/// Fewer nodes than cores, as many, more, odd numbers, and far more than cores.
const THREADS: [usize; 7] = [1, 2, 3, 5, 8, 13, 64];

fn hold(kind: Kind, on: &[usize]) {
    for program in PROGRAMS {
        for nodes in on {
            run(kind, *nodes, program.run)
                .unwrap_or_else(|why| panic!("{} ({kind:?}, {nodes} nodes): {why}", program.name));
        }
    }
}

#[test]
fn programs_that_succeed_on_threads() {
    hold(Kind::Threads, &THREADS);
}

#[test]
fn programs_that_succeed_on_simulated_machines() {
    PLATFORMS.into_iter().for_each(|platform| hold(Kind::Sim(platform), &[1, 2, 3, 5, 8]));
    hold(Kind::Sim("cm5"), &[16, 33]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(72))]
    #[test]
    fn any_sequence_of_operations_agrees_with_the_oracle(
        nodes in 1usize..=9,
        platform in prop::option::of(prop::sample::select(&PLATFORMS[..])),
        steps in prop::collection::vec((any::<u8>(), any::<u64>(), 0usize..600), 1..12),
    ) {
        let (kind, part) = platform.map_or((Kind::Threads, 1), |platform| (Kind::Sim(platform), 3));
        run(kind, nodes, |node| {
            for (what, seed, length) in &steps[..steps.len().div_ceil(part)] {
                oracle::step(node, *what, *seed, *length / part);
            }
            Ok(())
        }).unwrap();
    }
}

/// Programs of mixed sends, collectives, polls and delays.
#[test]
fn no_random_program_deadlocks_or_loses_a_message() {
    let schedules = if cfg!(debug_assertions) { 1000 } else { 10_000 };
    let (nodes, each) = ([2, 3, 1, 5, 2, 8, 4, 13], 50);
    for job in 0..schedules / each {
        let mail = |from: usize, to: usize| {
            move |node: &mut Node| {
                let mail = Mail::new(node);
                (from..to).for_each(|seed| mail.schedule(node, seed as u64));
                Ok(())
            }
        };
        run(Kind::Threads, nodes[job % nodes.len()], mail(job * each, (job + 1) * each)).unwrap();
        let platform = PLATFORMS[job % PLATFORMS.len()];
        run(Kind::Sim(platform), nodes[job / 3 % nodes.len()], mail(job * 4, job * 4 + 4)).unwrap();
    }
}

/// The message of a job must have all these texts.
fn fails(kind: Kind, nodes: usize, says: &[&str], program: impl Fn(&mut Node) -> Result<(), Error> + Sync) {
    let message = run(kind, nodes, program).expect_err("it did not fail");
    let missing = says.iter().find(|text| !message.contains(**text));
    assert_eq!(missing, None, "{kind:?}, {nodes} nodes: {message}");
}

#[test]
fn jobs_that_must_end_say_why() {
    let machines: [(Kind, &[usize]); 3] = [
        (Kind::Threads, &[1, 2, 3, 5, 8, 40]),
        (Kind::Sim("cm5"), &[1, 2, 3, 8]),
        (Kind::Sim("paragon"), &[1, 2, 3, 8]),
    ];
    for (kind, on) in machines {
        for law in LAWS {
            let on = on.iter().copied().filter(|nodes| *nodes >= law.0);
            on.for_each(|nodes| fails(kind, nodes, law.1, |node| law.run(node)));
        }
    }
}

#[test]
fn a_call_that_a_node_does_not_make_is_reported() {
    let threads = [(2, true), (2, false), (3, false), (5, true), (8, false)].map(|on| (Kind::Threads, on));
    let simulated = [("cm5", (2, true)), ("paragon", (3, false)), ("alewife", (8, true))];
    for (says, call) in stuck::CALLS {
        for (kind, (nodes, receives)) in
            threads.into_iter().chain(simulated.map(|(platform, on)| (Kind::Sim(platform), on)))
        {
            fails(kind, nodes, &stuck::reported(says), |node| {
                stuck::in_call(node, call, receives);
                Ok(())
            });
        }
    }
}

/// The machine of a seed, simulated or not.
fn machine_of(seed: u64, simulated: bool) -> (Kind, usize) {
    let platform = PLATFORMS[seed as usize / 4 % PLATFORMS.len()];
    (if simulated { Kind::Sim(platform) } else { Kind::Threads }, [2, 3, 5, 8][seed as usize % 4])
}

fn stuck_programs(few: u64, long: bool, simulated: bool) {
    stuck::for_seeds(few, long, |seed| {
        let (kind, nodes) = machine_of(seed, simulated);
        fails(kind, nodes, &["node "], |node| {
            stuck::program(node, seed);
            Ok(())
        });
    });
}

fn healthy_programs(few: u64, long: bool, simulated: bool) {
    let longest = Duration::from_millis(if long { 3000 } else { 3 });
    stuck::for_seeds(few, long, |seed| {
        let (kind, nodes) = machine_of(seed, simulated);
        let healthy = |node: &mut Node| {
            let mail = Mail::new(node);
            stuck::healthy(node, &mail, seed, longest);
            Ok(())
        };
        run(kind, nodes, healthy).unwrap_or_else(|why| panic!("seed {seed}, {kind:?}, {nodes} nodes: {why}"));
    });
}

#[test]
fn random_stuck_programs_end() {
    stuck_programs(200, false, false);
    stuck_programs(60, false, true);
}

#[test]
fn random_programs_that_wait_go_on() {
    healthy_programs(50, false, false);
}

#[test]
#[ignore = "takes four minutes"]
fn long_random_stuck_programs_end() {
    [false, true].into_iter().for_each(|simulated| stuck_programs(0, true, simulated));
}

#[test]
#[ignore = "takes four minutes"]
fn long_random_programs_that_wait_go_on() {
    [false, true].into_iter().for_each(|simulated| healthy_programs(0, true, simulated));
}
