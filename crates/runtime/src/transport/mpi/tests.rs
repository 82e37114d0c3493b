//! Packets, puts and started collectives, as `Node` calls them, under `mpirun`.
//!
//! The one test starts this test program again, once a case; there `node` runs the case. It asserts on the nodes; an
//! assertion that fails ends the job.

#[path = "../../../tests/mpirun/mod.rs"]
mod mpirun;

mod figures;
mod packets;
mod puts;
mod split;

use super::*;
use mpirun::CASE;

/// A case: its name, on how many nodes it makes sense, what it runs, and what has to be said where it has to fail.
struct Case {
    name: &'static str,
    least: usize,
    run: fn(&mut dyn Endpoint),
    fails_with: Option<&'static [&'static str]>,
}

/// A case that has to succeed.
const fn good(name: &'static str, least: usize, run: fn(&mut dyn Endpoint)) -> Case {
    Case { name, least, run, fails_with: None }
}

/// A case that has to fail, and how.
const fn bad(name: &'static str, run: fn(&mut dyn Endpoint), says: &'static [&'static str]) -> Case {
    Case { name, least: 2, run, fails_with: Some(says) }
}

/// All cases.
fn cases() -> impl Iterator<Item = &'static Case> {
    packets::CASES.iter().chain(puts::CASES).chain(split::CASES)
}

/// A call to name in messages.
#[track_caller]
fn call(action: Action) -> Call {
    Call::plain(action, Location::caller())
}

/// Does what `Node` will do for a program that waits: polls both networks and pauses, until `done`.
fn until(node: &mut dyn Endpoint, mut done: impl FnMut(&mut dyn Endpoint, Option<&Packet>) -> bool) {
    let waits = call(Action::WaitUntil);
    let mut packet = Packet::new(0, crate::transport::Part::Whole, 0, &[]);
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

/// In place of a case: all that have to succeed.
const ALL: &str = "all";

/// One node; only under `mpirun`.
#[test]
#[ignore = "the test `under_mpirun` starts it"]
fn node() {
    let Ok(name) = std::env::var(CASE) else { return };
    if name == "figures" {
        return figures::figures();
    }
    // Twice: a second program of one process goes on where the first has ended.
    for case in cases().chain(cases()) {
        let runs = if name == ALL { case.fails_with.is_none() } else { case.name == name };
        let ended = run(|mut node| {
            if runs && node.size() >= case.least {
                if node.rank() == 0 {
                    println!("{}", case.name);
                }
                (case.run)(&mut *node);
            }
            Ok(())
        });
        assert!(ended.is_ok());
    }
    println!("to the end");
}

#[test]
fn under_mpirun() {
    if !mpirun::is_there() {
        println!("skipped: there is no mpirun");
        return;
    }
    let drive = |name: &str, nodes: usize, says: Option<&[&str]>| {
        let checks = if nodes.is_multiple_of(2) { "0" } else { "1" };
        let arguments =
            ["--exact", "transport::mpi::tests::node", "--ignored", "--nocapture", "--test-threads=1"];
        let outcome = mpirun::run(name, nodes, &arguments, &[("STRATA_CHECK", checks)])?;
        match says {
            Some(says) => outcome.failed_with(says),
            None if !outcome.status.success() => outcome.wrong("it failed"),
            None if outcome.out.matches("to the end").count() != nodes => {
                outcome.wrong("not all nodes came to the end")
            }
            None => Ok(()),
        }
    };
    let mut wrong = Vec::new();
    for nodes in mpirun::nodes(&[1, 2, 3, 4, 5, 8]) {
        let failing = cases().filter(|case| case.fails_with.is_some() && (2..=3).contains(&nodes));
        let failing = failing.map(|case| (case.name, case.fails_with));
        for (name, says) in failing.chain([(ALL, None)]) {
            if let Err(what) = drive(name, nodes, says) {
                wrong.push(format!("{name} ({nodes} nodes): {what}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
