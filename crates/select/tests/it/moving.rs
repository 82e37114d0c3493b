//! A library that fits itself, end to end: as a program of its own, with a cache folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use strata_select::{
    Domain, Entry, Fitted, Library, Model, Models, Question, Row, Table, Timed, Variance, Verdict,
    calibrate_as_set, choose, fill,
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

/// Runs as a child: chooses, and prints what, how often it timed, and by which models.
#[test]
fn child() {
    if std::env::var_os("STRATA_CHILD").is_none() {
        return;
    }
    calibrate_as_set::<Moving>();
    let (taken, _) = choose::<Moving>(Question::new(1, &[100.0]), &|_| true).unwrap();
    let file = Models::of::<Moving>(1).file;
    println!("\n{taken:?} timed={} by={}", TIMED.load(Relaxed) > 0, file.is_some());
}

/// The child's line, and what it says on standard error.
fn run(cache: &Path, calibrate: &str) -> (String, String) {
    let out = Command::new(std::env::current_exe().unwrap())
        .args(["moving::child", "--exact", "--nocapture"])
        .env("STRATA_CHILD", "1")
        .env("STRATA_CALIBRATE", calibrate)
        .env("XDG_CACHE_HOME", cache)
        .output()
        .unwrap();
    assert!(out.status.success(), "{out:?}");
    let text = String::from_utf8(out.stdout).unwrap();
    let line = text.lines().find(|line| line.contains(" timed=")).unwrap_or_default().to_owned();
    (line, String::from_utf8(out.stderr).unwrap())
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
