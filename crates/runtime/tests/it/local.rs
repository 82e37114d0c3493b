//! Node-local storage: a node's own, whatever thread it runs on.

use strata_runtime::prelude::*;
use strata_runtime::simulation::SimulatedMachine;

#[derive(Default)]
struct Count(usize);

#[derive(Default)]
struct Names(Vec<String>);

/// Each node counts to its own number, with waits in between so that nodes take turns.
fn count(node: &mut Node) -> Result<(usize, usize), Error> {
    for _ in 0..=node.rank() {
        node.local::<Count>().0 += 1;
        node.barrier();
    }
    for _ in node.rank() + 1..node.size() {
        node.barrier();
    }
    let name = format!("node {}", node.rank());
    node.local::<Names>().0.push(name);
    Ok((node.local::<Count>().0, node.local::<Names>().0.len()))
}

#[test]
fn each_node_has_its_own_and_starts_with_the_default() {
    let cm5 = SimulatedMachine::find("cm5").unwrap();
    for nodes in [1, 2, 3, 5, 8] {
        let expected: Vec<_> = (1..=nodes).map(|own| (own, 1)).collect();
        // Twice: nothing is left over from an earlier program.
        for _ in 0..2 {
            assert_eq!(Machine::threads(nodes).unwrap().run(count).unwrap(), expected);
            assert_eq!(Machine::sim(&cm5, nodes).unwrap().run(count).unwrap().results, expected);
        }
    }
}

#[test]
fn values_are_dropped_when_the_program_ends() {
    use std::sync::Arc;
    let shared = Arc::new(());
    let held = shared.clone();
    let run = Machine::threads(3).unwrap().run(move |node| {
        *node.local::<Option<Arc<()>>>() = Some(held.clone());
        Ok(Arc::strong_count(&held) > 1)
    });
    assert_eq!(run.unwrap(), [true; 3]);
    assert_eq!(Arc::strong_count(&shared), 1);
}
