//! Values are equal to the bit for every layout, width of halo and number of nodes.

use crate::common::{cases, compare, layouts};
use strata_runtime::{Computing, prelude::*, simulation::SimulatedMachine};
use strata_stencil::profile;

const NODES: [usize; 8] = [1, 2, 3, 4, 5, 6, 8, 16];
const SIZES: [[usize; 2]; 5] = [[24, 18], [7, 40], [1, 9], [13, 1], [17, 16]];

#[test]
fn every_layout_on_threads_is_the_sequential_solver() {
    for nodes in NODES {
        let suited = Machine::threads(nodes).unwrap().run(|node| {
            let mut suited = 0;
            // Many nodes take turns at few cores. Each number of nodes begins elsewhere, so that all
            // cases come.
            let step = if node.size() > 4 { 7 } else { 3 };
            for case in SIZES.into_iter().flat_map(cases).skip(node.size() % step).step_by(step) {
                suited += compare::<f64>(node, &case)?;
            }
            suited += compare::<f32>(node, &cases([24, 18])[0])?;
            Ok(suited)
        });
        // At least node 0 alone, and a strip each.
        assert!(suited.unwrap()[0] > 12, "{nodes}");
    }
}

#[test]
fn every_layout_on_simulated_machines_is_the_sequential_solver() {
    on_simulated_machines(2);
}

#[test]
#[ignore = "takes a quarter of a minute"]
fn long_random_layouts_on_simulated_machines_are_the_sequential_solver() {
    on_simulated_machines(1);
}

/// Every `step`th case, each machine beginning with another one.
fn on_simulated_machines(step: usize) {
    let machines = [("cm5", 1), ("cm5", 4), ("alewife", 6), ("paragon", 8), ("atm", 16)];
    for (number, (platform, nodes)) in machines.into_iter().enumerate() {
        let platform = SimulatedMachine::find(platform).unwrap();
        let run = Machine::sim(&platform, nodes).unwrap().run(|node| {
            cases([17, 16])
                .iter()
                .chain(&cases([24, 18]))
                .skip(number % step)
                .step_by(step)
                .try_fold(0, |sum, case| Ok(sum + compare::<f64>(node, case)?))
        });
        assert!(run.unwrap().results[0] > 20 / step, "{nodes}");
    }
}

#[test]
fn a_skeleton_takes_the_time_of_the_whole() {
    let platform = SimulatedMachine::find("paragon").unwrap();
    let case = &cases([24, 18])[2];
    let program = |node: &mut Node| {
        for layout in layouts(node.size()) {
            profile::solve(&case.grid::<f64>(), node, layout).ok();
        }
        Ok(node.now())
    };
    let run = |computing| Machine::sim(&platform, 6).unwrap().computing(computing).run(program).unwrap();
    let (whole, skeleton) = (run(Computing::Kernels), run(Computing::Skeleton));
    assert_eq!((whole.times, whole.results), (skeleton.times, skeleton.results));
}
