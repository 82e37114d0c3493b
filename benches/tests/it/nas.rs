//! CG and MG end with the published values, on any number of nodes.

use strata_benches::nas::{Class, Kernel};
use strata_runtime::Machine;

#[test]
fn the_smallest_class_has_the_published_values() {
    for kernel in [Kernel::Cg, Kernel::Mg] {
        for nodes in [1, 2, 4] {
            let run = Machine::threads(nodes).unwrap().run(|node| kernel.run(node, Class::S));
            for outcome in run.unwrap() {
                assert!(outcome.is_verified(), "{kernel:?}, {nodes} nodes: {outcome:?}");
            }
        }
    }
}

#[test]
fn nodes_that_do_not_divide_the_problem_are_an_error() {
    for kernel in [Kernel::Cg, Kernel::Mg] {
        let failed = Machine::threads(3).unwrap().run(|node| kernel.run(node, Class::S));
        let error = failed.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("3 nodes"), "{error}");
    }
}
