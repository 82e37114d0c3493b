//! Patterns in both forms, and the choice between them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic, its helpers too")]

use strata_runtime::simulation::SimulatedMachine;
use strata_runtime::{Machine, prelude::*};
use strata_tcs::patterns::{Form, Pattern, ReduceBroadcast, phases};
use strata_tcs::{App, Cell, Image, Options, Target, TaskId, link_with, run, simulate};

/// All patterns of a task.
struct All {
    image: Image,
    patterns: Vec<Pattern<u32>>,
    tree: ReduceBroadcast<u32>,
    cells: usize,
    width: usize,
}

fn width(cells: usize) -> usize {
    (1..=cells.isqrt()).rev().find(|height| cells.is_multiple_of(*height)).map_or(1, |height| cells / height)
}

fn describe(app: &mut App, task: TaskId, depth: usize) -> (Vec<Pattern<u32>>, ReduceBroadcast<u32>) {
    let cells = app[task].cells();
    let width = width(cells);
    let patterns = vec![
        Pattern::scatter(app, task, depth),
        Pattern::gather(app, task, depth),
        Pattern::exchange(app, task, &phases::shift(cells), depth),
        Pattern::halo(app, task, width, true, depth),
        Pattern::halo(app, task, width, false, depth),
        Pattern::transpose(app, task, width, depth),
        Pattern::row_broadcast(app, task, width, 1, depth),
        Pattern::column_broadcast(app, task, width, 0, depth),
    ];
    let tree = ReduceBroadcast::new(app, task, depth);
    (patterns, tree)
}

fn all(target: &Target, depth: usize) -> All {
    let mut app = App::new("patterns");
    let root = app.task("root", target.cells);
    let (patterns, tree) = describe(&mut app, root, depth);
    let options = Options { split: true, ..Options::default() };
    let image = link_with(&app, root, target, &options).unwrap();
    All { image, patterns, tree, cells: target.cells, width: width(target.cells) }
}

/// What cell `cell` gives as its block number `block`.
fn value(cell: usize, block: usize) -> u32 {
    (cell * 1000 + block) as u32
}

impl All {
    /// By pattern: what each cell is to get, its blocks' source and number there; `None` where nothing
    /// comes.
    fn expected(&self, pattern: usize, me: usize) -> Vec<Option<(usize, usize)>> {
        let (cells, width) = (self.cells, self.width);
        let height = cells / width;
        let (x, y) = (me % width, me / width);
        match pattern {
            0 => vec![Some((0, me))],
            1 if me == 0 => (0..cells).map(|from| Some((from, 0))).collect(),
            1 => Vec::new(),
            2 => (0..cells).map(|from| Some((from, me))).collect(),
            3 | 4 => {
                let wraps = pattern == 3;
                let neighbour = |dx: isize, dy: isize, way: usize| {
                    let (to_x, to_y) = (x as isize + dx, y as isize + dy);
                    let inside = (0..width as isize).contains(&to_x) && (0..height as isize).contains(&to_y);
                    let at = to_y.rem_euclid(height as isize) as usize * width
                        + to_x.rem_euclid(width as isize) as usize;
                    (wraps || inside).then_some((at, way))
                };
                // The eastern neighbour's western block, and so on.
                vec![neighbour(1, 0, 1), neighbour(-1, 0, 0), neighbour(0, 1, 3), neighbour(0, -1, 2)]
            }
            5 => {
                vec![(0..cells).find(|from| from % width * height + from / width == me).map(|from| (from, 0))]
            }
            6 => vec![Some((y * width + 1.min(width - 1), 0))],
            _ => vec![Some((x, 0))],
        }
    }

    fn check(&self, cell: &mut Cell<'_>, form: Option<Form>, length: usize) -> Result<(), Error> {
        let me = cell.id();
        for (number, pattern) in self.patterns.iter().enumerate() {
            let blocks = pattern.blocks(me)[0];
            let data: Vec<u32> = (0..blocks).flat_map(|block| vec![value(me, block); length]).collect();
            let came = match form {
                Some(form) => pattern.run_by(cell, form, &data, length)?,
                None => pattern.run(cell, &data, length)?,
            };
            let expected = self
                .expected(number, me)
                .into_iter()
                .flat_map(|from| vec![from.map_or(0, |(cell, block)| value(cell, block)); length]);
            assert_eq!(came.to_vec(), expected.collect::<Vec<_>>(), "{} at cell {me}", pattern.kind());
        }
        let mut values = vec![me as u32 + 1; length];
        let sum = |a: u32, b: u32| a.wrapping_mul(3).wrapping_add(b);
        match form {
            Some(form) => self.tree.reduce_by(cell, form, &mut values, sum)?,
            None => self.tree.reduce(cell, &mut values, sum)?,
        }
        // The same as up the tree by hand.
        fn up(at: usize, cells: usize, sum: &impl Fn(u32, u32) -> u32) -> u32 {
            let children = (at + 1..cells).filter(|child| child & (child - 1) == at);
            children.fold(at as u32 + 1, |value, child| sum(value, up(child, cells, sum)))
        }
        assert_eq!(values, vec![up(0, self.cells, &sum); length]);
        Ok(())
    }
}

#[test]
fn both_forms_move_the_same_on_every_machine() {
    for cells in [1, 2, 3, 4, 5, 6, 8] {
        for depth in [8, 4096] {
            let all = all(&Target::crossbar(cells), depth);
            let program = |cell: &mut Cell<'_>| {
                for length in [0, 1, 3, 100] {
                    all.check(cell, Some(Form::Sets), length)?;
                    all.check(cell, Some(Form::Messages), length)?;
                    all.check(cell, None, length)?;
                }
                Ok(())
            };
            Machine::threads(cells).unwrap().run(|node| run(node, &all.image, program)).unwrap();
            let cm5 = SimulatedMachine::find("cm5").unwrap();
            Machine::sim(&cm5, cells).unwrap().run(|node| run(node, &all.image, program)).unwrap();
            // In the time of a target alone there are no messages: sets are chosen.
            simulate(&all.image, |cell| all.check(cell, None, 3)).unwrap();
        }
    }
}

#[test]
fn both_forms_on_simulated_iwarp() {
    for (width, height) in [(1, 1), (2, 1), (2, 2), (4, 2), (4, 4)] {
        let all = all(&Target::iwarp(width, height), 4096);
        let program = |cell: &mut Cell<'_>| {
            all.check(cell, Some(Form::Sets), 10)?;
            all.check(cell, Some(Form::Messages), 10)?;
            all.check(cell, None, 1)?;
            Ok(cell.clocks())
        };
        let first = simulate(&all.image, program).unwrap();
        assert_eq!(first.results, simulate(&all.image, program).unwrap().results);
    }
}

#[test]
fn parts_of_a_machine_have_patterns_of_their_own() {
    let mut app = App::new("halves");
    let root = app.task("root", 6);
    let half = app.task("half", 3);
    let (patterns, tree) = describe(&mut app, half, 4096);
    let children = [app[root].child("odd", half, &[1, 3, 5]), app[root].child("even", half, &[4, 2, 0])];
    for target in [Target::crossbar(6), Target::iwarp(3, 2)] {
        let options = Options { split: true, ..Options::default() };
        let image = link_with(&app, root, &target, &options).unwrap();
        let all = All { image, patterns: patterns.clone(), tree: tree.clone(), cells: 3, width: width(3) };
        let program = |cell: &mut Cell<'_>| {
            let child = children[(cell.id() + 1) % 2];
            cell.start(child, |cell| {
                all.check(cell, Some(Form::Messages), 20)?;
                all.check(cell, Some(Form::Sets), 20)?;
                all.check(cell, None, 20)
            })
        };
        match target.machine {
            Some(_) => drop(simulate(&all.image, program).unwrap()),
            None => drop(Machine::threads(6).unwrap().run(|node| run(node, &all.image, program)).unwrap()),
        }
    }
}

#[test]
fn wrong_data_and_pins_are_refused() {
    let all = all(&Target::crossbar(2), 64);
    let error = Machine::threads(2)
        .unwrap()
        .run(|node| run(node, &all.image, |cell| all.patterns[2].run(cell, &[1, 2, 3], 1).map(drop)));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("exchange: 3 elements, where cell") && error.contains("2 blocks of 1"), "{error}");
}
