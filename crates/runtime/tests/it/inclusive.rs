//! Inclusive scans: what the nodes up to each one have, combined in their order.

use strata_runtime::prelude::*;
use strata_runtime::simulation::SimulatedMachine;

const OPS: [Op; 7] = [Op::Add, Op::Multiply, Op::Min, Op::Max, Op::And, Op::Or, Op::Xor];

fn by_hand(op: Op, values: &[u64]) -> u64 {
    let combine = |a: u64, b: u64| match op {
        Op::Add => a.wrapping_add(b),
        Op::Multiply => a.wrapping_mul(b),
        Op::Min => a.min(b),
        Op::Max => a.max(b),
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
    };
    values.iter().copied().reduce(combine).unwrap()
}

fn value(rank: usize, at: usize) -> u64 {
    (rank as u64 + 3).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(at as u32)
}

fn program(node: &mut Node) -> Result<(), Error> {
    let me = node.rank();
    for op in OPS {
        for length in [0, 1, 3, 100] {
            let mut values: Vec<u64> = (0..length).map(|at| value(me, at)).collect();
            node.inclusive_scan(op, &mut values);
            let expected =
                (0..length).map(|at| by_hand(op, &(0..=me).map(|rank| value(rank, at)).collect::<Vec<_>>()));
            assert_eq!(values, expected.collect::<Vec<_>>(), "{op} on node {me}");
        }
        assert_eq!(node.inclusive_scan(op, value(me, 7)), {
            by_hand(op, &(0..=me).map(|rank| value(rank, 7)).collect::<Vec<_>>())
        });
    }
    // The first node's own value comes back to the bit; a NaN stays one.
    let zero = node.inclusive_scan(Op::Add, -0.0f64);
    assert!(zero.is_sign_negative() == (me == 0) || zero == 0.0);
    assert!(me > 0 || zero.is_sign_negative());
    assert!(node.inclusive_scan(Op::Max, if me == 0 { f64::NAN } else { 1.0 }).is_nan());
    Ok(())
}

#[test]
fn every_operation_on_every_number_of_nodes() {
    let cm5 = SimulatedMachine::find("cm5").unwrap();
    for nodes in [1, 2, 3, 5, 8] {
        Machine::threads(nodes).unwrap().run(program).unwrap();
        Machine::sim(&cm5, nodes).unwrap().run(program).unwrap();
    }
}
