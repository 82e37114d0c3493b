//! Models of teams that fit themselves: what is timed, kept, sent and chosen.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use strata_runtime::prelude::*;
use strata_runtime::select::{Options, TimedOnNodes};
use strata_select::{
    Library, Row, Table,
    table::{Domain, Entry, Fitted, Model, Parameter, Variance, Verdict, fill},
};

const fn model(terms: strata_select::table::Compute, coefficients: &'static [f64]) -> Model {
    let (noise, own) = (Variance::Relative(0.0), Variance::Relative(0.0));
    Model::Fitted(Fitted { terms, coefficients, quantile: 1.96, noise, own, factor: &[] })
}
static NEAR: Model = model(|_, x, to| fill(to, &[1.0, x[0]]), &[1e-6, 1e-9]);
static FAR: Model = model(|_, x, to| fill(to, &[1.0, x[0], x[1]]), &[5e-6, 0.8e-9, 1e-8]);
/// Of a machine that nobody has.
static TABLE: Table = Table {
    library: "moving",
    spec: "moving.spec",
    platform: "threads nodes=2 cores=1 cpu=\"Abacus\" cache=\"\" os=linux arch=x86_64",
    digest: "12",
    inputs: &["n"],
    domain: Domain { nodes: (1, 8), inputs: &[(1.0, 1e6)] },
    entries: &[
        Entry::new("near", Verdict::Verified, 1.0, &NEAR),
        Entry::new("far", Verdict::Verified, 1.0, &FAR).with(&[Parameter::new("b", 1, 64).times(4)]),
    ],
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Moving {
    Near,
    Far { b: i64 },
}

impl Library for Moving {
    type Rows = [Row; 2];
    type Input = f64;
    const TABLES: &'static [&'static Table] = &[&TABLE];

    fn candidate(index: usize, parameters: &[i64]) -> Option<Self> {
        match (index, parameters) {
            (0, []) => Some(Self::Near),
            (1, &[b]) => Some(Self::Far { b }),
            _ => None,
        }
    }
}

/// A library that the candidates of the other one use: not timed while those are.
static INNER_TABLE: Table = Table { library: "inner", digest: "13", ..TABLE };

#[derive(Clone, Copy, Debug, PartialEq)]
struct Inner;

impl Library for Inner {
    type Rows = [Row; 2];
    type Input = f64;
    const TABLES: &'static [&'static Table] = &[&INNER_TABLE];

    fn candidate(_: usize, _: &[i64]) -> Option<Self> {
        Some(Self)
    }
}

impl TimedOnNodes for Inner {
    fn seconds(self, _: &mut Node, _: &[f64], _: u64) -> Option<f64> {
        panic!("timed within another timing")
    }
}

/// How often this node timed.
#[derive(Default)]
struct Timed(usize);

/// Here the second one is four times as fast, whatever the size, on all nodes but the last, where it
/// is twice as fast.
impl TimedOnNodes for Moving {
    fn seconds(self, node: &mut Node, inputs: &[f64], seed: u64) -> Option<f64> {
        node.local::<Timed>().0 += 1;
        node.calibrate_as_set::<Inner>();
        let all = node.all_gather(&[seed, inputs[0].to_bits(), matches!(self, Self::Near).into()]);
        assert!(all.as_chunks::<3>().0.windows(2).all(|pair| pair[0] == pair[1]), "all time the same");
        match std::env::var("FAULT").as_deref() {
            Ok("panic") if node.rank() + 1 == node.size() => panic!("this node cannot time"),
            Ok("cannot") if node.rank() + 1 == node.size() => return None,
            Ok("clock") if node.rank() == 0 => return Some(-1.0),
            _ => {}
        }
        let near = 1e-6 + 1e-9 * inputs[0];
        let part = if node.rank() + 1 == node.size() { 0.5 } else { 0.25 };
        Some(if let Self::Far { .. } = self { near * part } else { near })
    }
}

/// What a node chooses, how often it timed, by which models, and their fingerprint.
type Seen = (Moving, usize, bool, u64);

fn chosen(node: &mut Node) -> Result<Seen, Error> {
    node.calibrate_as_set::<Moving>();
    let taken = node.choose::<Moving>(100.0, &Options::default())?.candidate;
    let timed = node.local::<Timed>().0;
    let selector = node.selector::<Moving>(&Options::default())?;
    Ok((taken, timed, selector.models().file.is_some(), selector.word()))
}

/// A part of others: chooses on the nodes of `STRATA_ON`, and prints what it saw.
#[test]
#[ignore = "a part of others"]
fn program() {
    match Machine::from_env().unwrap().run(chosen) {
        Ok(all) => {
            assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
            let (taken, timed, fitted, _) = all[0];
            println!("\n{taken:?} timed={} fitted={fitted}", timed > 0);
        }
        Err(error) => println!("\nfailed: {error}"),
    }
}

fn start(cache: &Path, on: &str, calibrate: &str, fault: &str) -> Output {
    let out = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "calibrate::program", "--ignored", "--nocapture"])
        .env("STRATA_ON", on)
        .env("STRATA_CALIBRATE", calibrate)
        .env("XDG_CACHE_HOME", cache)
        .env("FAULT", fault)
        .output()
        .unwrap();
    assert!(out.status.success(), "{out:?}");
    out
}

/// The line of the program, and what it says on standard error.
fn run(cache: &Path, on: &str, calibrate: &str, fault: &str) -> (String, String) {
    let out = start(cache, on, calibrate, fault);
    let text = String::from_utf8(out.stdout).unwrap();
    let is_its = |line: &&str| line.contains(" timed=") || line.starts_with("failed: ");
    (text.lines().find(is_its).unwrap_or_default().to_owned(), String::from_utf8(out.stderr).unwrap())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => all.extend(files(&entry.path())),
            false => all.push(entry.path()),
        }
    }
    all
}

const SHIPPED: &str = "Near timed=false fitted=false";

#[test]
fn a_team_fits_its_models_once_and_later_jobs_choose_by_them() {
    for nodes in [1, 2, 3, 5, 8] {
        let cache = tempfile::tempdir().unwrap();
        let on = format!("threads:{nodes}");
        assert_eq!(run(cache.path(), &on, "", "").0, SHIPPED);
        assert_eq!(run(cache.path(), &on, "0", "").0, SHIPPED);
        let first = run(cache.path(), &on, "2s", "");
        assert_eq!(first, ("Far { b: 1 } timed=true fitted=true".to_owned(), String::new()));
        assert_eq!(files(cache.path()).len(), 1);
        for calibrate in ["2s", ""] {
            assert_eq!(run(cache.path(), &on, calibrate, "").0, "Far { b: 1 } timed=false fitted=true");
        }
        // Other numbers of nodes have timings of their own.
        assert_eq!(run(cache.path(), "threads:4", "", "").0, SHIPPED);
    }
}

#[test]
fn a_torn_file_and_a_cache_that_cannot_be_written_cost_one_word() {
    let cache = tempfile::tempdir().unwrap();
    run(cache.path(), "threads:3", "2s", "");
    let file = files(cache.path()).remove(0);
    let text = fs::read(&file).unwrap();
    fs::write(&file, &text[..text.len() / 2]).unwrap();
    let (line, error) = run(cache.path(), "threads:3", "", "");
    assert_eq!(line, SHIPPED);
    assert_eq!(error.matches("it is cut short or damaged; its timings are ignored").count(), 1, "{error}");

    let cache = tempfile::tempdir().unwrap();
    fs::write(cache.path().join("strata"), "a file in the way").unwrap();
    let (line, error) = run(cache.path(), "threads:3", "2s", "");
    assert_eq!(line, "Far { b: 1 } timed=true fitted=true");
    assert_eq!(error.matches("for this run alone").count(), 1, "{error}");
    let (line, error) = run(cache.path(), "threads:3", "soon", "");
    assert_eq!(line, SHIPPED);
    assert_eq!(error.matches("STRATA_CALIBRATE: unknown unit `soon`").count(), 1, "{error}");
}

#[test]
fn a_node_that_fails_ends_the_job_and_bad_times_leave_the_models() {
    let cache = tempfile::tempdir().unwrap();
    let (line, _) = run(cache.path(), "threads:3", "200ms", "panic");
    assert!(line.starts_with("failed: node 2") && line.contains("this node cannot time"), "{line}");
    for fault in ["cannot", "clock"] {
        let (line, error) = run(cache.path(), "threads:3", "200ms", fault);
        assert_eq!(line, "Near timed=true fitted=false", "{fault}");
        assert_eq!(error.matches("the models stay as they are").count(), 1, "{error}");
    }
    assert_eq!(run(cache.path(), "threads:9", "200ms", "").0, "Near timed=false fitted=false");
}

#[test]
fn a_simulated_team_fits_itself_alike_in_every_run() {
    for nodes in [1, 2, 3, 5, 8] {
        let simulate = || {
            let machine: Machine = format!("sim:paragon:{nodes}").parse().unwrap();
            let seen = machine.run(|node| {
                let report = node.calibrate::<Moving>(Duration::from_millis(100));
                let kept = report.map(|report| (report.fitted > 0, report.kept.unwrap_err()));
                let keeps = (true, "a simulated machine keeps nothing".to_owned());
                assert_eq!(kept, (node.rank() == 0).then_some(keeps));
                chosen(node)
            });
            seen.unwrap()
        };
        let seen = simulate();
        assert!(seen.iter().all(|one| *one == seen[0]), "{seen:?}");
        assert_eq!((seen[0].0, seen[0].2), (Moving::Far { b: 1 }, true));
        assert_eq!(seen, simulate());
    }
}

#[test]
fn models_that_need_no_fit_are_not_timed() {
    let reports = Machine::threads(9).unwrap().run(|node| {
        let report = node.calibrate::<Moving>(Duration::from_millis(50));
        assert_eq!(node.local::<Timed>().0, 0);
        Ok(report.map(|report| report.to_string()))
    });
    let why = "moving: the models stay as they are: they are of 1 to 8 nodes";
    assert_eq!(reports.unwrap()[0].as_deref(), Some(why));
}
