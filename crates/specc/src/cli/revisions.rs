//! `cargo strata compare`: the package at two revisions, measured in turns.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command as Process;

use strata_model::{Samples, Sha256, sha256_hex};
use strata_screen::{Failure, tell};

use super::args::{CompareHow, Reading, Target};
use super::folder::Lock;
use super::measuring::{self, write};
use super::{comparing, exchange, package, specs};
use crate::compare::Run;
use crate::crossovers::Evidence;
use crate::emit::{self, Workspace};
use crate::fitting::{self, Overrides};
use crate::lang::CheckedSpec;

/// The number of measurements of each side in turns, so that a slow period of the machine affects
/// both sides, and their scatter shows what differs between two runs.
const TURNS: u32 = 5;

/// One side: a folder with the package at a revision.
struct Side {
    /// Its name in messages.
    name: String,
    /// The folder of the package.
    package: PathBuf,
    /// The folder of its measurements.
    output: PathBuf,
    /// The checkout, removed on drop.
    _tree: Option<Worktree>,
}

/// A checkout of a revision outside the repository's working folder, removed on drop unless it is
/// kept.
pub(super) struct Worktree {
    repository: PathBuf,
    folder: PathBuf,
    kept: bool,
}

impl Drop for Worktree {
    fn drop(&mut self) {
        // If this fails, the folder is removed before the next checkout.
        if !self.kept {
            let _removed = git(&self.repository, &["worktree", "remove", "--force"], &[&self.folder]);
        }
    }
}

impl Worktree {
    /// Checks out a revision of the repository around `own` in `folder`; returns what lies there in
    /// the place of `own`. In a checkout that is kept, what was built stays.
    fn new(own: &Path, named: &str, folder: PathBuf, kept: bool) -> Result<(PathBuf, Self), Failure> {
        let repository = PathBuf::from(git(own, &["rev-parse", "--show-toplevel"], &[])?);
        let commit =
            git(own, &["rev-parse", "--verify", "--quiet"], &[Path::new(&format!("{named}^{{commit}}"))])
                .map_err(|_| {
                    Failure::Usage(format!(
                        "`{named}` is neither a folder nor a revision of {}",
                        repository.display()
                    ))
                })?;
        let commit = Path::new(&commit);
        let within = own.strip_prefix(&repository).unwrap_or(Path::new(""));
        let package = folder.join(within);
        let is_there = kept && folder.join(".git").is_file();
        if !is_there || git(&folder, &["checkout", "--quiet", "--force", "--detach"], &[commit]).is_err() {
            // A killed run may have left one.
            let _removed = git(&repository, &["worktree", "remove", "--force"], &[&folder]);
            git(&repository, &["worktree", "add", "--quiet", "--force", "--detach"], &[&folder, commit])?;
        }
        Ok((package, Self { repository, folder, kept }))
    }
}

/// The folder `own` at a revision, in a checkout of its repository that is kept, and a lock on it.
pub(super) fn kept(own: &Path, named: &str) -> Result<(PathBuf, Lock), Failure> {
    let folder = git(own, &["rev-parse", "--path-format=absolute", "--git-common-dir"], &[])?;
    let folder = Path::new(&folder).join("strata-race");
    let lock = Lock::take(&folder)?;
    Ok((Worktree::new(own, named, folder.join("tree"), true)?.0, lock))
}

/// Measures the package in `own` at `before` and `after`, each a folder with the package or a
/// revision of its repository, and compares the times.
pub(super) fn compare(
    own: &Path,
    [before, after]: [&str; 2],
    (target, how): (&Target, &CompareHow),
    output: &Path,
) -> Result<(), Failure> {
    if target.nodes.len() > 1 {
        return Err(Failure::Usage("--nodes: one number of nodes at a time".into()));
    }
    let _lock = Lock::take(output)?;
    let sides =
        [Side::new(own, before, &output.join("before"))?, Side::new(own, after, &output.join("after"))?];
    let folders = [&sides[0], &sides[1]].map(|side| target_of(&side.package));
    if let [Ok(one), Ok(other)] = &folders
        && one == other
    {
        // Cargo would take two packages of one name and version in this folder as the same.
        return Err(Failure::Usage(format!(
            "both sides would be built in {}: leave CARGO_TARGET_DIR and `build.target-dir` unset, and name \
             different folders",
            one.display()
        )));
    }
    let [old, new] = [&sides[0], &sides[1]].map(Side::spec);
    let specs = [old?, new?];
    for turn in 1..=TURNS {
        tell!("turn {turn} of {TURNS}");
        // The sides take turns at going first.
        let order = if turn % 2 == 1 { [0, 1] } else { [1, 0] };
        for side in order {
            sides[side].measure(&specs[side], target, turn)?;
        }
    }
    let before = sides[0].run(&specs[0], target)?;
    let after = sides[1].run(&specs[1], target)?;
    comparing::runs(&before, &after, how)
}

impl Side {
    fn new(own: &Path, named: &str, output: &Path) -> Result<Self, Failure> {
        if Path::new(named).is_dir() {
            let package = Path::new(named).canonicalize().map_err(|e| Failure::file(Path::new(named), e))?;
            let name = if named == "." { "the package here" } else { named };
            return Ok(Self { name: name.to_owned(), package, output: output.to_owned(), _tree: None });
        }
        fs::create_dir_all(output).map_err(|error| Failure::file(output, error))?;
        let output = output.canonicalize().map_err(|error| Failure::file(output, error))?;
        let (package, tree) = Worktree::new(own, named, output.join("tree"), false)?;
        Ok(Self { name: named.to_owned(), package, output, _tree: Some(tree) })
    }

    fn spec(&self) -> Result<CheckedSpec, Failure> {
        specs::load(&[package::specs_in(&self.package)?])
    }

    /// The folder of a turn.
    fn turn(&self, turn: u32) -> PathBuf {
        self.output.join(format!("turn-{turn}"))
    }

    fn measure(&self, spec: &CheckedSpec, target: &Target, turn: u32) -> Result<(), Failure> {
        let target = Target {
            budget: target.budget / (2 * TURNS),
            program: Some(self.output.clone()),
            ..target.clone()
        };
        measuring::measure(spec, &target, &self.turn(turn)).map(drop)
    }

    /// Joins the samples of all turns, and fits models to them.
    fn run(&self, spec: &CheckedSpec, target: &Target) -> Result<Run, Failure> {
        let (mut samples, mut turns) = (Samples::default(), Vec::new());
        for turn in 1..=TURNS {
            let path = self.turn(turn).join("samples.txt");
            let read = exchange::samples(&path, &Reading::default(), &mut Sha256::default())?;
            turns.push(read.samples.clone());
            match turn {
                1 => samples = read.samples,
                _ => samples.join(read.samples).map_err(Failure::Fault)?,
            }
        }
        let text = samples.to_text();
        write(&self.output.join("samples.txt"), &text)?;
        let mut set =
            fitting::fit(&samples, sha256_hex(text.as_bytes()), Some(spec), &Overrides::default()).set;
        set.code_sha256 = emit::code_hash(spec, &target.features.features)?;
        let evidence = Evidence { samples: Some(samples.clone()), decisions: None };
        Ok(Run { name: self.name.clone(), samples: Some(samples), turns, set: Some(set), evidence })
    }
}

/// The target folder of a package's build.
fn target_of(package: &Path) -> Result<PathBuf, Failure> {
    Ok(Workspace::containing(&package.join("any.spec"), &[])?.target().to_owned())
}

/// Runs git in `folder`; returns its output.
fn git(folder: &Path, words: &[&str], paths: &[&Path]) -> Result<String, Failure> {
    let output = Process::new("git")
        .current_dir(folder)
        .args(words)
        .args(paths)
        .output()
        .map_err(|error| Failure::Machine(format!("cannot start git: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(Failure::Machine(format!("git {}: {}", words.join(" "), why.trim())))
}
