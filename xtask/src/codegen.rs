//! `cargo xtask codegen`: sources and pictures that are generated from committed samples, so that
//! they can be checked.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::pictures::{PICTURES, picture};
use crate::sets::{self, Set, Source};
use crate::steps::built;

/// Fits the committed samples again and writes the results, or with `check` compares them. The model
/// set of a folder of samples is kept there only where one was kept before.
///
/// # Errors
/// A file that is out of date (with the command that repairs it), or a failure of `specc` or the
/// disk.
pub(crate) fn run(check: bool) -> Result<(), String> {
    let (sets, sources) = sets::find(Path::new("."))?;
    let specc = Specc::build()?;
    on_all_cores(&sets, &|set| fit(&specc, set))?;
    let mut stale = Vec::new();
    for set in &sets {
        let kept = set.folder.join("models.toml");
        if kept.exists() {
            stale.extend(renew(&kept, &read(&made(&set.folder).join("models.toml"))?, check)?);
        }
    }
    for source in &sources {
        stale.extend(renew(&source.path, &source.named(&text_of(&specc, source)?), check)?);
    }
    for (folder, title, kept) in PICTURES {
        let report = made(Path::new(folder)).join("report.html");
        let picture = picture(&read(&report)?, title)
            .ok_or_else(|| format!("{} has no figure `{title}`", report.display()))?;
        stale.extend(renew(Path::new(kept), &picture, check)?);
    }
    if stale.is_empty() {
        Ok(())
    } else {
        Err(format!("out of date: {}; run `cargo xtask codegen`", stale.join(", ")))
    }
}

/// Where what is fitted to the samples of a folder is put.
fn made(folder: &Path) -> PathBuf {
    Path::new("target/codegen").join(folder)
}

fn fit(specc: &Specc, set: &Set) -> Result<(), String> {
    let scratch = made(&set.folder);
    fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    let samples = set.folder.join("samples.txt");
    specc.run([
        OsStr::new("fit"),
        samples.as_os_str(),
        OsStr::new("--spec"),
        set.spec.as_os_str(),
        OsStr::new("-o"),
        scratch.as_os_str(),
    ])
}

/// The text of a source: the tables of its sets, one after the other.
fn text_of(specc: &Specc, source: &Source) -> Result<String, String> {
    let sets: Vec<PathBuf> = source.sets.iter().map(|set| made(set).join("models.toml")).collect();
    let rust = source.path.extension().is_some_and(|extension| extension == "rs");
    match &sets[..] {
        [set] if rust => read(&set.with_extension("rs")),
        [set] => read(set),
        sets => {
            let fresh = Path::new("target/codegen/models.rs");
            let to = ["export", "--to", "models", "-o"].map(OsStr::new);
            specc.run(
                to.into_iter().chain([fresh.as_os_str()]).chain(sets.iter().map(|set| set.as_os_str())),
            )?;
            read(fresh)
        }
    }
}

/// Calls `work` with each item, so many at once as there are cores; the first error.
fn on_all_cores<T: Sync>(
    items: &[T],
    work: &(dyn Fn(&T) -> Result<(), String> + Sync),
) -> Result<(), String> {
    let left = Mutex::new(items.iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let one_after_the_other = || -> Result<(), String> {
        while let Some(item) = next() {
            work(item)?;
        }
        Ok(())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(one_after_the_other)).collect();
        let ended =
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?);
        ended.collect()
    })
}

/// The program, built as the tests build it: with a test, so that cargo takes the features of
/// dependencies of tests as well, without which it would build many crates again.
struct Specc(PathBuf);

impl Specc {
    fn build() -> Result<Self, String> {
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--bin", "specc", "--test", "node_files"])
            .args(built().split_whitespace())
            .status()
            .map_err(|e| format!("cannot start cargo: {e}"))?;
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
        let program = target.join("debug").join("specc");
        if status.success() { Ok(Self(program)) } else { Err(format!("cargo build ended with {status}")) }
    }

    /// What it says of a fit is shown only if it fails.
    fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a OsStr>) -> Result<(), String> {
        let mut command = Command::new(&self.0);
        command.args(arguments);
        let output = command.output().map_err(|e| format!("cannot start {}: {e}", self.0.display()))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("{command:?} ended with {}:\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Writes a file that is to have this text; with `check` it only names it if it has another.
fn renew(kept: &Path, text: &str, check: bool) -> Result<Option<String>, String> {
    if fs::read_to_string(kept).is_ok_and(|old| old == text) {
        return Ok(None);
    }
    if check {
        return Ok(Some(kept.display().to_string()));
    }
    let temporary = kept.with_extension("new");
    fs::write(&temporary, text)
        .and_then(|()| fs::rename(&temporary, kept))
        .map_err(|e| format!("{}: {e}", kept.display()))?;
    println!("wrote {}", kept.display());
    Ok(None)
}
