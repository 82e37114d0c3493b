//! All ways of sending solve the same system to the bit.

use strata_benches::solver::{Sending, System, solve};
use strata_runtime::{Machine, simulation::SimulatedMachine};

#[test]
fn all_ways_of_sending_give_the_values_of_one_node() {
    let cm5 = SimulatedMachine::find("cm5").unwrap();
    for nodes in [1, 2, 3, 5, 8] {
        let system = System::random(700, nodes, 3);
        let expected: Vec<u64> = system.in_order().into_iter().map(f64::to_bits).collect();
        for sending in Sending::ALL {
            let simulated =
                Machine::sim(&cm5, nodes).unwrap().run(|node| Ok(solve(node, &system, sending).1));
            let on_threads = Machine::threads(nodes).unwrap().run(|node| Ok(solve(node, &system, sending).1));
            for parts in [simulated.unwrap().results, on_threads.unwrap()] {
                let mut rows: Vec<(usize, u64)> =
                    parts.into_iter().flatten().map(|(row, value)| (row, value.to_bits())).collect();
                rows.sort_unstable();
                let values: Vec<u64> = rows.iter().map(|(_, bits)| *bits).collect();
                assert_eq!(values, expected, "{sending:?} on {nodes} nodes");
            }
        }
    }
}
