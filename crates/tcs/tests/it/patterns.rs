//! The all-to-all without shared links on a torus, and what the linker predicts of it.

use crate::common::everywhere;
use strata_tcs::patterns::{Form, Pattern, ReduceBroadcast, phases};
use strata_tcs::switch::Mode;
use strata_tcs::{App, Cell, Cost, Image, Options, Shape, Target, TaskId, link_with, simulate};

fn described(cells: usize, phases: &[phases::Phase], depth: usize) -> (App, TaskId, Pattern<u16>) {
    let mut app = App::new("exchange");
    let root = app.task("root", cells);
    let pattern = Pattern::exchange(&mut app, root, phases, depth);
    (app, root, pattern)
}

fn check(pattern: &Pattern<u16>, cell: &mut Cell<'_>) -> Result<bool, strata_runtime::Error> {
    let (me, cells) = (cell.id(), cell.cells());
    let of = |from: usize, to: usize| [(100 * from + to) as u16; 9];
    let given: Vec<u16> = (0..cells).flat_map(|to| of(me, to)).collect();
    let came = pattern.run_by(cell, Form::Sets, &given, 9)?;
    Ok(came.to_vec() == (0..cells).flat_map(|from| of(from, me)).collect::<Vec<_>>())
}

fn linked(app: &App, root: TaskId, target: &Target, switch: Mode) -> Image {
    link_with(app, root, target, &Options { switch, ..Options::default() }).unwrap()
}

/// The two ways to predict: the algebra of parts, and the program in simulated time.
#[test]
fn composition_and_simulation_agree() {
    for bytes in [2, 256, 4096] {
        let cells = 16;
        let schedule = phases::best(Shape::Torus { width: 4, height: 4 }, cells);
        let (app, root, pattern) = described(cells, &schedule, bytes);
        let image = linked(&app, root, &Target::iwarp(4, 4), Mode::Triple);
        let given = vec![1u16; cells * bytes / 2];
        let exchange = |cell: &mut Cell<'_>| pattern.run_by(cell, Form::Sets, &given, bytes / 2).map(drop);
        let run = simulate(&image, exchange).unwrap();
        let report = image.report();
        let switch = report.task("root").unwrap().switch;
        // In each phase the longest of all transfers; a cell sends its block and then takes one word by word,
        // each at the full rate.
        let phase = |part: &strata_tcs::report::SetReport| {
            let longest = part.connections.iter().map(|c| c.latency).fold(0.0, f64::max);
            Cost::Sequence(vec![switch.into(), (longest + 2.0 * (bytes as f64 / 1.998).floor()).into()])
        };
        let parts = report.task("root").unwrap().sets.iter().map(phase).collect();
        let composed = Cost::Sequence(parts).estimate().mean;
        // Cells that have nothing far to send wait less: the bound is from above.
        let ratio = composed / run.time();
        assert!(
            (0.99..1.04).contains(&ratio),
            "{bytes} bytes: composed {composed}, simulated {}",
            run.time()
        );
    }
}

/// Warfel 1996, §6.4.2: without throttling on 2x2 cells, to a third in all phases of 8x8; his 4x4 cells
/// had half of the phases at two, ours none. What shares no link is not enough to see it.
#[test]
fn the_linker_finds_what_is_to_be_throttled() {
    for (width, expected) in [(2, 1), (4, 1), (8, 3)] {
        let cells = width * width;
        let schedule = phases::best(Shape::Torus { width, height: width }, cells);
        let (app, root, pattern) = described(cells, &schedule, 1 << 16);
        let image = linked(&app, root, &Target::iwarp(width, width), Mode::Triple);
        assert_eq!(simulate(&image, |cell| check(&pattern, cell)).unwrap().results, vec![true; cells]);
        let report = image.report();
        let sets = &report.task("root").unwrap().sets;
        assert!(sets.iter().all(|set| (set.congestion, set.throttle) == (1, expected)), "{width}");
        let full =
            sets.iter().flat_map(|set| &set.connections).filter_map(|c| c.rate).fold(f64::MAX, f64::min);
        assert!((full - 39.96e6 / expected as f64).abs() < 1e3, "{width}: {full}");
        assert_eq!(report.to_string().contains("feed each at 1/3 of a link"), expected == 3);
        let plain = Target { shared_turns: false, ..Target::iwarp(width, width) };
        let plain = linked(&app, root, &plain, Mode::Triple);
        assert!(plain.report().task("root").unwrap().sets.iter().all(|set| set.throttle == 1));
    }
}

#[test]
fn a_tree_reduces_on_any_number_of_cells() {
    for cells in [1, 2, 3, 5, 8] {
        let mut app = App::new("rooted");
        let root = app.task("root", cells);
        let tree = ReduceBroadcast::<u64>::new(&mut app, root, 64);
        let image = linked(&app, root, &Target::crossbar(cells), Mode::Triple);
        let program = |cell: &mut Cell<'_>| {
            let mut values = [cell.id() as u64, 1];
            tree.reduce(cell, &mut values, |a, b| a + b)?;
            Ok(values)
        };
        let sum = (cells * (cells - 1) / 2) as u64;
        assert_eq!(everywhere(&image, program), vec![[sum, cells as u64]; cells]);
    }
}

/// A block as long as the buffers, after one whose receipt is not reported yet.
#[test]
fn blocks_as_long_as_the_buffers_are_exchanged() {
    let mut app = App::new("pairs");
    let root = app.task("root", 4);
    let halo = Pattern::<u8>::halo(&mut app, root, 2, true, 16_384);
    let image = link_with(&app, root, &Target::iwarp(2, 2), &Options::default()).unwrap();
    let run = simulate(&image, |cell| {
        for length in [4000, 16_384, 16_000, 16_384] {
            let blocks = halo.blocks(cell.id())[0];
            halo.run_by(cell, Form::Sets, &vec![1; blocks * length], length)?;
        }
        Ok(())
    });
    assert!(run.is_ok(), "{run:?}");
}
