//! Patterns in both forms, and the choice between them.

use crate::common::{by, fails};
use crate::every::{All, all, describe, width};
use std::process::Command;
use strata_runtime::Machine;
use strata_runtime::simulation::SimulatedMachine;
use strata_tcs::patterns::{Form, Kind};
use strata_tcs::profile::Linked;
use strata_tcs::{App, Cell, Options, RunOptions, Target, link_with, simulate};

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
            for way in ["threads", "cm5"] {
                by(way, &all.image, RunOptions::default(), program).unwrap();
            }
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
        let way = if target.machine.is_some() { "simulated" } else { "threads" };
        by(way, &all.image, RunOptions::default(), program).unwrap();
    }
}

#[test]
fn wrong_data_and_pins_are_refused() {
    let all = all(&Target::crossbar(2), 64);
    let error = fails(&all.image, |cell| all.patterns[2].run(cell, &[1, 2, 3], 1).map(drop));
    assert!(error.contains("exchange: 3 elements, where cell") && error.contains("2 blocks of 1"), "{error}");
}

/// The file of models is read from the environment, so `choices` is a process of its own.
#[test]
fn the_choice_finds_the_crossover() {
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/sim-iwarp-64/tcs/models.toml");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["forms::choices", "--exact", "--ignored"])
        .env("STRATA_MODELS", models)
        .env_remove("STRATA_PIN");
    let output = command.output().unwrap();
    // Without the line, there was no such test.
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

/// Sizes that no model was calibrated with, and numbers of cells of which only 16 was; simulated
/// times are exact.
#[test]
#[ignore = "a part of another"]
fn choices() {
    for cells in [16, 5, 10, 21] {
        let seen = choices_on(cells);
        // Short blocks of an all-to-all favour messages, long ones sets (Fig 6.7).
        assert!(cells < 16 || seen.iter().all(|times| *times > 0), "{cells} cells: {seen:?}");
    }
}

/// Fails if a choice loses much; returns how often an all-to-all went by messages and by sets.
fn choices_on(cells: usize) -> [usize; 2] {
    let iwarp = SimulatedMachine::find("iwarp").unwrap();
    let target = Target::simulated(&iwarp, cells).unwrap();
    let mut exchanges = [0, 0];
    for kind in Kind::ALL {
        let linked = Linked::new(kind, &target).unwrap();
        let run = Machine::sim(&iwarp, cells).unwrap().run(|node| {
            let sizes = [6, 24, 100, 400, 1500, 3000];
            let each = sizes.map(|bytes| {
                let times = Form::ALL.map(|form| linked.clocks(node, form, bytes, 1).unwrap());
                (times, linked.choice(node, bytes).unwrap())
            });
            Ok(each)
        });
        for ([sets, messages], choice) in run.unwrap().results[0] {
            let chosen = if choice == Form::Sets { sets } else { messages };
            let at = format!("{kind} of {cells}");
            assert!(chosen <= 1.1 * sets.min(messages), "{at}: {choice:?} of {sets} and {messages}");
            if kind == Kind::Exchange {
                exchanges[usize::from(choice == Form::Sets)] += 1;
            }
        }
    }
    exchanges
}
