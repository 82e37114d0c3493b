//! Products of whole numbers, which are exact in any order, on 1, 2, 3, 5 and 8 nodes.

use strata_global::Space;
use strata_matmul::{MatmulError, Matrix, Plan, Schedule};
use strata_runtime::{prelude::*, simulation::SimulatedMachine};

fn left(i: usize, k: usize) -> f64 {
    ((i * 7 + k * 3) % 11) as f64 - 5.0
}

fn right(k: usize, j: usize) -> f64 {
    ((k * 5 + j * 2) % 13) as f64 - 6.0
}

fn check(node: &mut Node, n: usize, plan: Plan) -> Result<(), Error> {
    let bytes = 3 * Matrix::bytes(n, plan.block, node.size());
    let mut space = Space::open(node, bytes)?;
    let a = Matrix::new(&mut space, n, plan.block)?;
    let b = Matrix::new(&mut space, n, plan.block)?;
    let c = Matrix::new(&mut space, n, plan.block)?;
    a.fill(&mut space, left);
    b.fill(&mut space, right);
    c.fill(&mut space, |_, _| f64::NAN);
    space.barrier();
    plan.schedule.multiply(&mut space, [&a, &b, &c])?;
    for at in (space.rank()..n * n).step_by(space.size()) {
        let (i, j) = (at / n, at % n);
        let expected: f64 = (0..n).map(|k| left(i, k) * right(k, j)).sum();
        assert_eq!(c.read(&mut space, i, j), expected, "({i}, {j}) of {n} by {plan:?}");
    }
    space.barrier();
    drop(space);
    node.uninstall();
    Ok(())
}

fn all(node: &mut Node) -> Result<(), Error> {
    for (n, block) in [(0, 3), (1, 4), (7, 2), (12, 4), (37, 8), (20, 64)] {
        for schedule in [Schedule::Blocks, Schedule::Panels] {
            check(node, n, Plan { block, schedule })?;
        }
    }
    let plan = Plan::choose(node, 50)?;
    check(node, 50, plan)
}

#[test]
fn products_are_right_on_threads() {
    for nodes in [1, 2, 3, 5, 8] {
        Machine::threads(nodes).unwrap().run(all).unwrap();
    }
}

#[test]
fn products_are_right_by_messages() {
    let paragon = SimulatedMachine::find("paragon").unwrap();
    for nodes in [1, 2, 3, 5, 8] {
        Machine::sim(&paragon, nodes).unwrap().run(all).unwrap();
    }
}

#[test]
fn what_does_not_fit_is_told_on_every_node() {
    Machine::threads(3)
        .unwrap()
        .run(|node| {
            let mut space = Space::open(node, 3 * Matrix::bytes(8, 4, 3))?;
            assert_eq!(
                Matrix::new(&mut space, 8, 0).err().map(|e| e.to_string().contains("one row")),
                Some(true)
            );
            let full = Matrix::new(&mut space, 100, 4).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(full.contains("heap"), "{full}");
            let four = Matrix::new(&mut space, 8, 4)?;
            let two = Matrix::new(&mut space, 8, 2)?;
            let told = Schedule::Panels.multiply(&mut space, [&four, &four, &two]);
            assert_eq!(told, Err(MatmulError::Differ((8, 4), (8, 2))));
            Ok(())
        })
        .unwrap();
    let outside = Machine::threads(2).unwrap().run(|node| {
        let mut space = Space::open(node, Matrix::bytes(8, 4, 2))?;
        let matrix = Matrix::new(&mut space, 8, 4)?;
        Ok(matrix.read(&mut space, 2, 8))
    });
    let message = outside.unwrap_err().to_string();
    assert!(message.contains("element (2, 8) of a matrix of 8 rows"), "{message}");
}
