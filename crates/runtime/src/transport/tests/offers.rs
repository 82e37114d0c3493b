//! Observation removes nothing: an endpoint that is logged and traced offers the same operations as
//! without observation.

use crate::clock::{Clock, HostClock};
use crate::develop::{Development, Notes, observe};
use crate::transport::{Endpoint, Repeated, RepeatedPieces, sim, threads};

/// The names of the optional operations that an endpoint offers. Collective.
fn offers(node: &mut dyn Endpoint) -> Vec<&'static str> {
    let (rank, size) = (node.rank(), node.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    let end = |node| [Repeated { node, number: 0, len: 8 }];
    // Each node sends its first words to the next one, and receives the others from the previous.
    let pieces = |node, at| [RepeatedPieces { node, number: 0, pieces: vec![at..at + 8, at + 16..at + 24] }];
    let extras = node.extras();
    let (process, words, messages) = (extras.process, extras.words, extras.messages);
    let all = [
        ("abort_handle", process.is_some()),
        ("doorbell", process.is_some_and(|process| process.doorbell().is_some())),
        ("shelf", process.is_some()),
        ("simulated", extras.simulated.is_some()),
        ("shared_words", words.and_then(|all| all.shared_words(8)).is_some_and(|all| all.len() == size)),
        ("exposed_words", words.is_some_and(|all| all.exposed_words(8).is_some())),
        ("library", extras.library.is_some()),
        ("prepared", messages.map(|all| all.prepared(&end(next), &end(previous))).is_some()),
        (
            "prepared_pieces",
            messages.map(|all| all.prepared_pieces(&pieces(next, 0), &pieces(previous, 8))).is_some(),
        ),
    ];
    all.into_iter().filter(|(_, is_offered)| *is_offered).map(|(name, _)| name).collect()
}

/// The operations that an endpoint offers; fails if it offers others while it is observed.
pub(in super::super) fn alone_and_observed(mut node: Box<dyn Endpoint>) -> Vec<&'static str> {
    let alone = offers(&mut *node);
    let clock = match node.simulated() {
        Some(simulated) => Clock::Simulated(simulated.clock()),
        None => Clock::Host(HostClock::start(false)),
    };
    let folder = tempfile::tempdir().unwrap();
    let development = Development::default().log(folder.path()).trace(folder.path());
    let notes = Notes::new(node.rank(), node.size(), clock, &development).unwrap();
    let mut node = observe(node, &notes, None);
    assert_eq!(offers(&mut *node), alone, "observed, and alone");
    alone
}

#[test]
fn observed_threads_offer_what_threads_do() {
    for nodes in [1, 2, 3] {
        for offers in threads::run(nodes, |node| Ok(alone_and_observed(node))).unwrap() {
            // A doorbell is offered only if each node has a core.
            let bell = offers.contains(&"doorbell");
            assert!(bell || nodes > 1, "{offers:?}");
            let wanted: &[_] =
                if bell { &["abort_handle", "doorbell", "shelf"] } else { &["abort_handle", "shelf"] };
            assert_eq!(offers, wanted);
        }
    }
}

#[test]
fn observed_simulated_nodes_offer_what_simulated_nodes_do() {
    let machine = strata_sim::platform::SimulatedMachine::find("cm5").unwrap();
    for nodes in [1, 3] {
        let setup = crate::simulation::Simulation::new(&machine, nodes).unwrap().setup();
        let all = sim::run(&setup, |node| Ok(alone_and_observed(node))).unwrap().results;
        assert_eq!(all, vec![["simulated"]; nodes]);
    }
}
