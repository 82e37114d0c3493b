//! The primitives that `specs/tcs/primitives` measures, where the truth is known: on simulated
//! iWarp (Figs 4.22, 5.1, 5.3 and 5.4).

use strata_runtime::Machine;
use strata_runtime::simulation::SimulatedMachine;
use strata_tcs::Target;
use strata_tcs::profile::Primitive::{End, Message, Ring, Start, Switch};
use strata_tcs::profile::{primitive, stream};

#[test]
fn primitives_of_iwarp_are_found_again() {
    let iwarp = SimulatedMachine::find("iwarp").unwrap();
    for (cells, barrier) in [(4, 97.0), (8, 146.0), (16, 242.0)] {
        let run = Machine::sim(&iwarp, cells).unwrap().run(|node| {
            let all = [Ring, Switch, Start, End, Message(4), Message(4000)];
            Ok(all.map(|which| primitive(node, which) * 20e6))
        });
        let [ring, switch, start, end, short, long] = run.unwrap().results[0];
        assert!((ring / barrier - 1.0).abs() < 0.03, "{cells} cells: {ring}");
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1.0, "{found}, {wanted}");
        // Switches by one barrier.
        near(switch - ring, 152.0);
        near(start - switch, 130.0);
        near(end - ring, 69.0);
        // Cell 1 comes out of the barrier within its skew.
        assert!((short - 43.0).abs() < 12.0 && (long - short - 2000.0).abs() < 2.0, "{short}, {long}");
    }
}

/// `specs/tcs/bandwidth`: every cell sends a block and receives one. On iwarp each link has its own, and
/// a cell does one after the other: at 1.998 bytes a clock, and 18 clocks at each end of a message.
#[test]
fn a_block_from_every_cell_is_timed() {
    let iwarp = SimulatedMachine::find("iwarp").unwrap();
    for (bytes, messages, lanes) in [(4096, 1, 1), (1024, 2, 2)] {
        let run =
            Machine::sim(&iwarp, 4).unwrap().run(|node| Ok(stream(node, bytes, messages, lanes) * 20e6));
        let clocks = run.unwrap().results[0];
        let once = 4096.0 / 1.998 + 18.0 * (messages * lanes) as f64;
        assert!((once..2.2 * once + 200.0).contains(&clocks), "{clocks}, {once}");
    }
    for cells in [1, 2, 3] {
        let found = Machine::threads(cells).unwrap().run(|node| Ok(stream(node, 5000, 2, 2)));
        for seconds in found.unwrap() {
            assert!(if cells == 1 { seconds.is_nan() } else { seconds > 0.0 }, "{cells}: {seconds}");
        }
    }
}

#[test]
fn primitives_run_on_threads() {
    for cells in [1, 2, 3] {
        let found = Machine::threads(cells).unwrap().run(|node| {
            let target = Target::here(node);
            assert_eq!(target.cells, cells);
            Ok([Ring, Switch, Start, End, Message(100)].map(|which| primitive(node, which)))
        });
        for [ring, switch, start, end, message] in found.unwrap() {
            assert!([ring, switch, start, end].iter().all(|seconds| *seconds >= 0.0));
            assert_eq!(message.is_nan(), cells == 1);
        }
    }
}
