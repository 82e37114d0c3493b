//! The requirements of a transport, as cases that run on an endpoint of it: on threads, on simulated
//! machines and under `mpirun`.
//!
//! A case asserts on the nodes; a failed assertion ends the job.

mod collectives;
pub(super) mod offers;
mod packets;
mod puts;

use super::{Action, Awaited, Call, Endpoint, Network, Networks, Packet, Part};
use crate::error::Error;
use std::panic::Location;

/// A case: its name, the numbers of nodes for which it is meaningful, its program, and the expected
/// message if it must fail.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) least: usize,
    pub(super) run: fn(&mut dyn Endpoint),
    pub(super) fails_with: Option<&'static [&'static str]>,
}

/// A case that must succeed.
pub(super) const fn good(name: &'static str, least: usize, run: fn(&mut dyn Endpoint)) -> Case {
    Case { name, least, run, fails_with: None }
}

/// A case that must fail with this message.
pub(super) const fn bad(
    name: &'static str,
    run: fn(&mut dyn Endpoint),
    says: &'static [&'static str],
) -> Case {
    Case { name, least: 2, run, fails_with: Some(says) }
}

pub(super) fn cases() -> impl Iterator<Item = &'static Case> {
    packets::CASES.iter().chain(puts::CASES).chain(collectives::CASES)
}

/// A call that names `action` in messages.
#[track_caller]
pub(super) fn call(action: Action) -> Call {
    Call::plain(action, Location::caller())
}

/// Polls both networks and pauses until `done`, as `Node` does for a waiting program.
pub(super) fn until(
    node: &mut dyn Endpoint,
    mut done: impl FnMut(&mut dyn Endpoint, Option<&Packet>) -> bool,
) {
    let waits = call(Action::WaitUntil);
    let mut packet = Packet::new(0, Part::Whole, 0, &[]);
    loop {
        let mut any = false;
        for network in Network::BOTH {
            if node.try_receive(network, &mut packet) {
                any = true;
                if done(node, Some(&packet)) {
                    return;
                }
            }
        }
        if !any {
            if done(node, None) {
                return;
            }
            node.pause(&waits, Networks::Both, Awaited::Packet);
        }
    }
}

/// Waits until the collective in flight is complete, as `Node` does for a program without handlers.
pub(super) fn complete(node: &mut dyn Endpoint) {
    complete_with(node, &mut |_| ());
}

/// As [`complete`], with an action meanwhile.
fn complete_with(node: &mut dyn Endpoint, look: &mut dyn FnMut(&mut dyn Endpoint)) {
    loop {
        look(node);
        if node.test() {
            return;
        }
        node.pause(&call(Action::Barrier), Networks::Both, Awaited::Operation);
    }
}

/// Ends a case as `Node` ends a program that has installed handlers.
fn leave(node: &mut dyn Endpoint) {
    node.leave();
    let mut packet = Packet::new(0, Part::Whole, 0, &[]);
    while !node.all_left() {
        let mut received = |network| node.try_receive(network, &mut packet);
        if !Network::BOTH.into_iter().any(&mut received) {
            node.pause(&call(Action::Leave), Networks::Both, Awaited::AllLeft);
        }
    }
}

/// Runs a program on this many nodes of a transport.
type Run<'a> = &'a dyn Fn(usize, &(dyn Fn(&mut dyn Endpoint) + Sync)) -> Result<(), Error>;

/// All cases on 1, 2, 3, 5 and 8 nodes.
fn all_cases(run: Run<'_>) {
    for nodes in [1, 2, 3, 5, 8] {
        for case in cases().filter(|case| nodes >= case.least) {
            println!("{} ({nodes} nodes)", case.name);
            let outcome = run(nodes, &|node| {
                (case.run)(node);
                leave(node);
            });
            let what = format!("{} ({nodes} nodes)", case.name);
            match (case.fails_with, outcome) {
                (None, outcome) => outcome.unwrap_or_else(|error| panic!("{what}: {error}")),
                (Some(_), Ok(())) => panic!("{what}: it does not fail"),
                (Some(says), Err(error)) => {
                    let text = error.to_string();
                    // A simulation reports the waiting nodes and their peers.
                    assert!(
                        text.contains("deadlock") || says.iter().all(|part| text.contains(part)),
                        "{what}: {text}"
                    );
                }
            }
        }
    }
}

#[test]
fn threads() {
    all_cases(&|nodes, program| {
        let run = super::threads::run(nodes, |mut endpoint| {
            program(&mut *endpoint);
            Ok(())
        });
        run.map(drop)
    });
}

#[test]
fn a_simulated_machine() {
    let machine = strata_sim::platform::SimulatedMachine::find("ethernet-25g").unwrap();
    all_cases(&|nodes, program| {
        let setup = crate::simulation::Simulation::new(&machine, nodes).unwrap().setup();
        let run = super::sim::run(&setup, |mut endpoint| {
            program(&mut *endpoint);
            Ok(())
        });
        run.map(drop)
    });
}
