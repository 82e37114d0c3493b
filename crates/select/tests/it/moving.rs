//! A library that fits itself, end to end: as a program of its own, with a cache folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use strata_select::{
    Library, Row, Table,
    models::Models,
    table::{Domain, Entry, Fitted, Model, Variance, Verdict, fill},
    transfer::{Timed, calibrate_as_set},
};

const fn model(coefficients: &'static [f64]) -> Model {
    Model::Fitted(Fitted {
        terms: |_, x, to| fill(to, &[1.0, x[0]]),
        coefficients,
        quantile: 1.96,
        noise: Variance::Relative(0.0),
        own: Variance::Relative(0.0),
        factor: &[],
    })
}
static NEAR: Model = model(&[1e-6, 1e-9]);
static FAR: Model = model(&[5e-6, 0.8e-9]);
static TABLE: Table = Table {
    library: "moving",
    spec: "moving.spec",
    platform: "threads nodes=1 cores=2 cpu=\"Abacus\" cache=\"\" os=linux arch=x86_64",
    digest: "12",
    inputs: &["n"],
    domain: Domain { nodes: (1, 1), inputs: &[(1.0, 1e6)] },
    entries: &[
        Entry::new("near", Verdict::Verified, 1.0, &NEAR),
        Entry::new("far", Verdict::Verified, 1.0, &FAR),
    ],
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Moving {
    Near,
    Far,
}

impl Library for Moving {
    type Rows = [Row; 2];
    type Input = f64;
    const TABLES: &'static [&'static Table] = &[&TABLE];

    fn candidate(index: usize, _: &[i64]) -> Option<Self> {
        [Self::Near, Self::Far].get(index).copied()
    }
}

static TIMED: AtomicUsize = AtomicUsize::new(0);

/// Here the second one is four times as fast, whatever the size.
impl Timed for Moving {
    fn seconds(self, inputs: &[f64], _: u64) -> Option<f64> {
        TIMED.fetch_add(1, Relaxed);
        let near = 1e-6 + 1e-9 * inputs[0];
        Some(if self == Self::Near { near } else { near / 4.0 })
    }
}

/// A library whose candidates use another one, in this thread and in a further one, and themselves.
static NESTING_TABLE: Table = Table { library: "nesting", digest: "13", ..TABLE };

#[derive(Clone, Copy, Debug, PartialEq)]
enum Nesting {
    Near,
    Far,
}

impl Library for Nesting {
    type Rows = [Row; 2];
    type Input = f64;
    const TABLES: &'static [&'static Table] = &[&NESTING_TABLE];

    fn candidate(index: usize, _: &[i64]) -> Option<Self> {
        [Self::Near, Self::Far].get(index).copied()
    }
}

impl Timed for Nesting {
    fn seconds(self, inputs: &[f64], _: u64) -> Option<f64> {
        chosen::<Moving>();
        if inputs[0] > 1e4 {
            std::thread::spawn(chosen::<Moving>).join().unwrap();
            std::thread::spawn(chosen::<Self>).join().unwrap();
        }
        Moving::seconds(if self == Self::Near { Moving::Near } else { Moving::Far }, inputs, 0)
    }
}

/// What a program chooses, and whether by models that are not as shipped.
fn chosen<L: Timed + Library<Input = f64> + std::fmt::Debug>() -> (String, bool) {
    calibrate_as_set::<L>();
    let taken = L::on(1).choose(100.0);
    (format!("{taken:?}"), Models::of::<L>(1).file.is_some())
}

/// Runs as a child: chooses, and prints what, how often it timed, and by which models.
#[test]
fn child() {
    let (taken, fitted) = match std::env::var("STRATA_CHILD") {
        Ok(case) if case == "nesting" => chosen::<Nesting>(),
        Ok(_) => chosen::<Moving>(),
        Err(_) => return,
    };
    println!("\n{taken} timed={} by={fitted}", TIMED.load(Relaxed) > 0);
}

fn command(case: &str, cache: &Path, calibrate: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["moving::child", "--exact", "--nocapture"])
        .env("STRATA_CHILD", case)
        .env("STRATA_CALIBRATE", calibrate)
        .env("XDG_CACHE_HOME", cache)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn start(case: &str, cache: &Path, calibrate: &str) -> Child {
    command(case, cache, calibrate).spawn().unwrap()
}

/// A relative path says nothing (XDG Base Directory Specification): no folder is made in that where
/// the program happens to work.
#[test]
fn a_relative_cache_folder_is_ignored() {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut command = command("1", Path::new("here"), "100ms");
    let child = command.current_dir(folder.path()).env("HOME", home.path()).spawn().unwrap();
    assert_eq!(end(child).0, "Far timed=true by=true");
    assert_eq!((fs::read_dir(folder.path()).unwrap().count(), files(home.path()).len()), (0, 1));
}

/// The child's line, and what it says on standard error. One that hangs is ended.
fn end(mut child: Child) -> (String, String) {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{out:?}");
    let text = String::from_utf8(out.stdout).unwrap();
    let line = text.lines().find(|line| line.contains(" timed=")).unwrap_or_default().to_owned();
    (line, String::from_utf8(out.stderr).unwrap())
}

fn run(cache: &Path, calibrate: &str) -> (String, String) {
    end(start("1", cache, calibrate))
}

#[test]
fn candidates_that_choose_from_libraries_are_timed() {
    let cache = tempfile::tempdir().unwrap();
    let (line, error) = end(start("nesting", cache.path(), "300ms"));
    assert_eq!(line, "Far timed=true by=true", "{error}");
}

#[test]
fn of_many_processes_at_once_one_times_and_all_choose_by_it() {
    let cache = tempfile::tempdir().unwrap();
    // It ends long before, when no timing promises more.
    let children: Vec<Child> = (0..16).map(|_| start("1", cache.path(), "20s")).collect();
    let lines: Vec<String> = children.into_iter().map(|child| end(child).0).collect();
    let timed = lines.iter().filter(|line| *line == "Far timed=true by=true").count();
    let others = lines.iter().filter(|line| *line == "Far timed=false by=true").count();
    assert_eq!((timed, others), (1, 15), "{lines:?}");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => all.extend(files(&entry.path())),
            false if entry.path().extension().is_some_and(|end| end == "txt") => all.push(entry.path()),
            false => {}
        }
    }
    all
}

#[test]
fn a_program_fits_its_models_once_and_later_ones_choose_by_them() {
    let cache = tempfile::tempdir().unwrap();
    assert_eq!(run(cache.path(), "").0, "Near timed=false by=false", "as shipped");
    assert_eq!(run(cache.path(), "200ms").0, "Far timed=true by=true");
    assert_eq!(files(cache.path()).len(), 1);
    assert_eq!(run(cache.path(), "200ms").0, "Far timed=false by=true", "once is enough");
    assert_eq!(run(cache.path(), "").0, "Far timed=false by=true");
    // A torn file: the shipped models, and a word.
    let file = files(cache.path()).remove(0);
    let text = fs::read(&file).unwrap();
    fs::write(&file, &text[..text.len() / 2]).unwrap();
    let (line, error) = run(cache.path(), "");
    assert_eq!(line, "Near timed=false by=false");
    assert!(error.contains("it is cut short or damaged; its timings are ignored"), "{error}");
}

#[test]
fn a_cache_that_cannot_be_written_costs_no_more_than_a_word() {
    let cache = tempfile::tempdir().unwrap();
    let way = cache.path().join("strata");
    fs::write(&way, "a file in the way").unwrap();
    let (line, error) = run(cache.path(), "100ms");
    assert_eq!(line, "Far timed=true by=true");
    assert!(error.contains("for this run alone"), "{error}");
    let (line, error) = run(cache.path(), "soon");
    assert_eq!(line, "Near timed=false by=false");
    assert!(error.contains("STRATA_CALIBRATE: unknown unit `soon`"), "{error}");
}
