//! Sorts of a team that fit themselves to the machine: as programs of their own.

use std::path::Path;
use std::time::Duration;

use crate::itself;
use strata_runtime::prelude::*;
use strata_runtime::select::TimedOnNodes as _;
use strata_select::Library as _;
use strata_sort::{Options, Sort, profile, sort_with};

/// Keys of a node, and their width.
fn problem(call: usize) -> (usize, u32) {
    (16 << (call % 6), [8, 20, 48][call % 3])
}

/// A part of others: sorts on the nodes of `STRATA_ON`, and prints what was chosen.
#[test]
#[ignore = "a part of others"]
fn program() {
    let sorts = |node: &mut Node| {
        let mut taken = Vec::new();
        for call in 0..60 {
            let (keys, width) = problem(call);
            let mut keys = profile::keys(node, keys, width, call as u64);
            let choice = sort_with(node, &mut keys, &Options::default())?;
            assert!(keys.is_sorted());
            taken.push((choice.name, choice.note.is_some()));
        }
        Ok(taken)
    };
    let all = Machine::from_env().unwrap().run(sorts).unwrap();
    assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
    println!("\nsorted, ranked={}", all[0][0].1);
}

fn run(cache: &Path, on: &str, settings: &[(&str, &str)]) -> (String, String) {
    itself::run(("fitting::program", "sorted"), cache, on, settings)
}

/// Teams whose models are of another machine fit them, and keep that where a machine keeps anything;
/// those whose models are of their own never do.
#[test]
fn sorts_fit_themselves_to_the_machine_once() {
    let set = [("STRATA_CALIBRATE", "100ms"), ("STRATA_EXPLAIN", "1")];
    for on in ["threads:2", "threads:3", "sim:alewife:4"] {
        let cache = tempfile::tempdir().unwrap();
        let foreign = run(cache.path(), on, &[]).0.ends_with("ranked=true");
        let fits = || run(cache.path(), on, &set).1.contains("strata: sort: ");
        let simulated = on.starts_with("sim");
        assert!(foreign || !simulated, "models of a simulated machine");
        assert_eq!((fits(), fits()), (foreign, foreign && simulated), "{on}");
    }
}

#[test]
fn each_candidate_is_timed_alike_on_all_nodes_or_cannot_run() {
    let times = Machine::threads(3).unwrap().run(|node| {
        let mut all = Vec::new();
        for index in 0..Sort::TABLE.entries.len() {
            let least = strata_select::table::Parameters::least(Sort::TABLE.entries[index].parameters);
            let candidate = Sort::candidate(index, &least).unwrap();
            all.push(candidate.seconds(node, &[64.0, 16.0], 7 + index as u64));
        }
        assert_eq!(Sort::Gather.seconds(node, &[1.0], 1), None, "not its inputs");
        Ok(all)
    });
    let times = times.unwrap();
    assert!(times.iter().all(|one| *one == times[0]) && times[0].iter().flatten().count() > 3, "{times:?}");
}

/// Simulated, so that nothing but a worse fit changes it.
#[test]
fn choices_of_a_fitted_team_are_faster_on_a_machine_of_another_kind() {
    let machine: Machine = "sim:alewife:4".parse().unwrap();
    let run = machine.run(|node| {
        let problems: Vec<(usize, u32)> = (0..12).map(problem).collect();
        let total = |node: &mut Node| {
            problems.iter().try_fold(0.0, |sum, &(keys, width)| {
                let mut some = profile::keys(node, keys, width, 1);
                let choice = sort_with(node, &mut some, &Options::default())?;
                let sort = Sort::candidate(choice.index, choice.parameters.as_slice()).unwrap();
                Ok::<_, Error>(sum + sort.seconds(node, &[keys as f64, f64::from(width)], 99).unwrap())
            })
        };
        let before = total(node)?;
        let report = node.calibrate::<Sort>(Duration::from_millis(300));
        assert_eq!(report.is_some(), node.rank() == 0);
        Ok((before, total(node)?))
    });
    let (before, after) = run.unwrap()[0];
    assert!(after < 0.9 * before, "{before} s, then {after} s");
}
