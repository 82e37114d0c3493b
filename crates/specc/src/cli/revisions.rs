//! `cargo strata compare`: the package at two revisions, raced.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command as Process;

use strata_interchange::Imported;
use strata_model::{Sha256, sha256_hex};
use strata_screen::{Failure, tell};

use super::args::{CompareHow, Reading, Target};
use super::measure::{self, Campaign, write};
use super::output_lock::Lock;
use super::{compare, import_export, package, race, spec_files};
use crate::compare::{Models, Run};
use crate::fitting::{self, Overrides};
use crate::lang::CheckedSpec;
use crate::profiling_program::{self, Workspace};
use crate::race::{Times, judge, schedule};
use crate::thresholds::intervals::Evidence;

/// The number of rounds, in each of which every side is measured once, so that a slow period of the
/// machine affects all of them, and their scatter shows what differs between two runs.
const ROUNDS: usize = 8;

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
    let lock = Lock::take(&folder).map_err(|failure| match failure {
        Failure::Usage(_) => Failure::Usage(format!(
            "another race with --git is at work in {}; wait until it has ended",
            folder.display()
        )),
        other => other,
    })?;
    Ok((Worktree::new(own, named, folder.join("tree"), true)?.0, lock))
}

/// Measures the package in `own` at `before` and `after`, each a folder with the package or a
/// revision of its repository, and compares the times. The side before is built twice, in two
/// folders, so that what differs between two builds of the same code is known.
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
    let side = |named: &str, folder: &str| Side::new(own, named, &output.join(folder));
    // In the order of `Who`.
    let sides = [side(before, "before")?, side(after, "after")?, side(before, "again")?];
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
    let [a, b, again] = sides.each_ref().map(Side::spec);
    let specs = [a?, b?, again?];
    let given = measure::given(target)?;
    let target = Target { budget: target.budget / (3 * ROUNDS as u32), resume: false, ..target.clone() };
    let campaign = |side: usize| sides[side].campaign(&specs[side], &target);
    let mut campaigns = [campaign(0)?, campaign(1)?, campaign(2)?];
    campaigns[0].announce()?;
    let mut read: [Vec<Imported>; 3] = Default::default();
    for (number, slots) in (1..).zip(&schedule(ROUNDS, ROUNDS, target.seed)) {
        tell!("round {number} of {ROUNDS}");
        for slot in slots {
            let campaign = &mut campaigns[slot.who as usize];
            campaign.part(sides[slot.who as usize].name.clone());
            campaign.pad(slot.padding);
            let path = measure::once(campaign, given.clone(), &target)?;
            read[slot.who as usize].push(import_export::samples(
                &path,
                &Reading::default(),
                &mut Sha256::default(),
            )?);
        }
    }
    let times = read.each_ref().map(|rounds| rounds.iter().map(race::times).collect::<Vec<Times>>());
    let pairs = |other: usize| times[0].iter().zip(&times[other]).map(|(a, b)| [a, b]).collect::<Vec<_>>();
    let judged = judge(&pairs(1), &pairs(2));
    let common = judged.common.as_ref().map(compare::change_text);
    let [a, b, _] = read;
    let before = sides[0].run(&specs[0], &target, a)?;
    let after = sides[1].run(&specs[1], &target, b)?;
    // Of points that changed by themselves those that did not are left out.
    let model = |name: &str| specs[0].models.iter().any(|model| model.name == name);
    let changes = judged.changes.into_iter().filter(|one| one.is_changed() || model(&one.model)).collect();
    let models = Models { changes, left_out: judged.left_out };
    compare::report([&before, &after], models, Some(common), how)
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
        spec_files::load(&[package::specs_in(&self.package)?])
    }

    /// The program of this side.
    fn campaign<'a>(&self, spec: &'a CheckedSpec, target: &Target) -> Result<Campaign<'a>, Failure> {
        let target = Target { program: Some(self.output.clone()), ..target.clone() };
        Campaign::new(spec, &target, &self.output.join("round"))
    }

    /// Joins the samples of all rounds, and fits models to them.
    fn run(&self, spec: &CheckedSpec, target: &Target, rounds: Vec<Imported>) -> Result<Run, Failure> {
        let mut rounds = rounds.into_iter().map(|read| read.samples);
        let mut samples = rounds.next().unwrap_or_default();
        rounds.try_for_each(|round| samples.join(round)).map_err(Failure::Fault)?;
        let text = samples.to_text();
        write(&self.output.join("samples.txt"), &text)?;
        let mut set =
            fitting::fit(&samples, sha256_hex(text.as_bytes()), Some(spec), &Overrides::default()).set;
        set.code_sha256 = profiling_program::code_hash(spec, &target.features.features)?;
        let evidence = Evidence { samples: Some(samples.clone()), decisions: None };
        Ok(Run { name: self.name.clone(), samples: Some(samples), set: Some(set), evidence })
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
