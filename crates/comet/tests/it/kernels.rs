//! Every kernel on threads and simulated machines; the laws of the matrix operations.

use crate::common::everything;
use proptest::prelude::*;
use strata_comet::{self as comet, Blocks, Direction, Matrix, Mesh};
use strata_runtime::prelude::*;
use strata_sim::platform::SimulatedMachine;

#[test]
fn every_kernel_verifies_its_data_on_threads() {
    for nodes in [1, 2, 3, 5, 8] {
        Machine::threads(nodes).unwrap().run(everything).unwrap();
    }
}

#[test]
fn every_kernel_verifies_its_data_on_simulated_machines() {
    for (platform, nodes) in [("cm5", 4), ("ipsc860", 8), ("ethernet-25g", 3), ("paragon", 2)] {
        let machine = SimulatedMachine::find(platform).unwrap();
        Machine::sim(&machine, nodes).unwrap().run(everything).unwrap();
    }
}

#[test]
fn nodes_that_are_no_pairs_are_refused() {
    type Kernel = fn(&mut Node) -> f64;
    let all: [(Kernel, &str); 4] = [
        (|node| comet::stream(node, 8, 2), "3 nodes are not 2 pairs"),
        (|node| comet::stream_both(node, 8, 0), "3 nodes are not 0 pairs"),
        (|node| comet::pair(node, 8, 1, 1), "1 and 1 are not two of 3 nodes"),
        (|node| comet::pair(node, 8, 0, 3), "0 and 3 are not two of 3 nodes"),
    ];
    for (kernel, why) in all {
        let error = Machine::threads(3).unwrap().run(|node| Ok(kernel(node))).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let alone = Machine::threads(1).unwrap().run(|node| Ok(comet::bisection(node, 8, 0)));
    assert!(alone.unwrap_err().to_string().contains("1 nodes are not 0 pairs"));
}

/// A vendor's matrix whose guard forgets a side.
struct Forgetful(Blocks);

impl Matrix for Forgetful {
    fn open(node: &mut Node, dim: usize) -> Self {
        Self(Blocks::open(node, dim))
    }

    fn get(&self, row: usize, column: usize) -> f64 {
        if row == 0 { -1.0 } else { self.0.get(row, column) }
    }

    fn update_guard(&mut self, node: &mut Node) {
        self.0.update_guard(node);
    }

    fn close(self, node: &mut Node) {
        self.0.close(node);
    }
}

#[test]
fn a_matrix_of_others_is_checked_and_what_it_lacks_is_named() {
    let guard = Machine::threads(4).unwrap().run(|node| Ok(comet::guard::<Forgetful>(node, 4)));
    assert!(guard.unwrap_err().to_string().contains("guard: wrong data"));
    let lacks = Machine::threads(4).unwrap().run(|node| Ok(comet::transpose::<Forgetful>(node, 4)));
    assert!(lacks.unwrap_err().to_string().contains("does not implement `Matrix::transpose`"));
}

/// Pairs at once have the bandwidth of all of them, where no link is shared.
#[test]
fn bandwidths_add_up_where_nothing_is_shared() {
    let machine = SimulatedMachine::find("ipsc860").unwrap();
    let seconds = |kernel: &(dyn Fn(&mut Node) -> f64 + Sync)| {
        Machine::sim(&machine, 8).unwrap().run(|node| Ok(kernel(node))).unwrap().results[0]
    };
    let one = seconds(&|node| comet::stream(node, 4096, 1));
    let four = seconds(&|node| comet::stream(node, 4096, 4));
    assert!((one / four - 4.0).abs() < 0.1, "{one:e} {four:e}");
    // The far pair's message passes three links.
    let (near, far) =
        (seconds(&|node| comet::pair(node, 4096, 6, 7)), seconds(&|node| comet::pair(node, 4096, 0, 7)));
    let neighbours = seconds(&|node| comet::echo(node, 4096, 1));
    assert!((near / neighbours - 1.0).abs() < 1e-3 && far > near, "{near:e} {neighbours:e} {far:e}");
}

/// A node's block after some operations on a matrix of random numbers, and what belongs there.
fn laws(node: &mut Node, dim: usize, seed: u64) -> Result<(), Error> {
    let mesh = Mesh::new(node.size());
    let place = mesh.place(node.rank());
    let (height, width) = (mesh.rows * dim, mesh.columns * dim);
    let element = |row: usize, column: usize| {
        let mixed = (row * width + column) as u64 ^ seed;
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12) as f64
    };
    let fill = |blocks: &mut Blocks| {
        for row in 0..dim {
            for column in 0..dim {
                let value = element(place.row * dim + row, place.column * dim + column);
                blocks.set(row + 1, column + 1, value);
            }
        }
    };
    let same = |blocks: &Blocks| {
        (0..dim).all(|row| {
            (0..dim).all(|column| {
                blocks.get(row + 1, column + 1) == element(place.row * dim + row, place.column * dim + column)
            })
        })
    };
    let mut blocks = Blocks::open(node, dim);
    fill(&mut blocks);
    blocks.transpose(node);
    blocks.transpose(node);
    assert!(same(&blocks), "transposed twice");
    (0..mesh.rows).for_each(|_| blocks.shift(node, Direction::North));
    assert!(same(&blocks), "shifted all the way north");
    (0..mesh.columns).for_each(|_| blocks.shift(node, Direction::East));
    assert!(same(&blocks), "shifted all the way east");
    blocks.update_guard(node);
    let around = |row: usize, column: usize| {
        element(
            (place.row * dim + row + height - 1) % height,
            (place.column * dim + column + width - 1) % width,
        )
    };
    for at in 1..=dim {
        for (row, column) in [(0, at), (dim + 1, at), (at, 0), (at, dim + 1)] {
            assert_eq!(blocks.get(row, column), around(row, column), "guard {row} {column}");
        }
    }
    let row = seed as usize % height;
    blocks.broadcast_row(node, row);
    for column in 0..dim {
        let right = element(row, place.column * dim + column);
        assert_eq!(blocks.get(row % dim + 1, column + 1), right, "row {row}");
    }
    fill(&mut blocks);
    let column = seed as usize / 7 % width;
    blocks.broadcast_column(node, column);
    for row in 0..dim {
        let right = element(place.row * dim + row, column);
        assert_eq!(blocks.get(row + 1, column % dim + 1), right, "column {column}");
    }
    blocks.close(node);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// On random matrices.
    #[test]
    fn matrix_operations_keep_their_laws(nodes in 1usize..=9, dim in 1usize..=6, seed in any::<u64>()) {
        Machine::threads(nodes).unwrap().run(|node| laws(node, dim, seed)).unwrap();
    }

    #[test]
    fn they_keep_them_on_a_hypercube(bits in 0u32..=4, dim in 1usize..=5, seed in any::<u64>()) {
        let machine = SimulatedMachine::find("ipsc860").unwrap();
        Machine::sim(&machine, 1 << bits).unwrap().run(|node| laws(node, dim, seed)).unwrap();
    }
}

/// Two nodes that both wait for the other's permission before they send, which each would give only
/// when it receives: CoMet's danger of deadlock with sends that are not buffered (§3.3.2).
#[test]
fn an_exchange_without_buffers_is_a_deadlock_that_is_found() {
    use std::cell::Cell;
    use std::rc::Rc;
    let machine = SimulatedMachine::find("ipsc860").unwrap();
    let error = Machine::sim(&machine, 2)
        .unwrap()
        .run(|node| {
            let granted = Rc::new(Cell::new(false));
            let heard = Rc::clone(&granted);
            let mut handlers = node.handlers();
            let grant = handlers.request(move |_, ()| heard.set(true));
            node.install(handlers);
            let other = 1 - node.rank();
            // The send: waits for the other's receive, which comes after its own send.
            node.wait_until(|| granted.get());
            node.send(other, grant, ());
            node.uninstall();
            Ok(())
        })
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("wait"), "{error}");
}
