//! Whether Open MPI follows a rule file, by the messages that it sends.
//!
//! For each rule a job with the file and one with the algorithm forced count the messages and bytes
//! from each process to each (`pml_monitoring`). Equal counts show that the rule is followed; a third
//! job, with neither, shows whether they can tell the algorithm from the library's own choice.
//! Nothing is timed. Every job is one launch, since the counters are written when a job ends.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use strata_interchange::rules::{Collective, Release, Rule, RuleFile, Size};

use crate::drive::Launcher;

/// The program that calls the collectives.
const PROGRAM: &str = include_str!("count.c");

/// Calls of the first and the last size of a rule: sums of both are told apart.
const CALLS: [u64; 2] = [10, 37];

/// The most bytes of a call that is tried where a rule has no end.
const MOST: u64 = 1 << 20;

/// Bytes of the type that is sent.
const UNIT: u64 = 4;

/// Messages and bytes from each process to each.
type Counts = BTreeMap<(usize, usize), (u64, u64)>;

/// What was found of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The messages are those of the algorithm, and no others' would be.
    Obeyed,
    /// They are, but the library's own choice sends the same ones.
    Same,
    /// They are others: `messages` with the file, and forced, from process 0.
    Disobeyed {
        /// Messages of process 0 to each other one with the file.
        file: Vec<u64>,
        /// The same with the algorithm forced.
        forced: Vec<u64>,
    },
    /// No call has a size of this rule.
    Unreachable,
}

/// A rule, and what was found of it.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The collective.
    pub collective: &'static str,
    /// The number of processes.
    pub processes: usize,
    /// The rule.
    pub rule: Rule,
    /// What was found.
    pub found: Found,
}

/// Runs jobs of these numbers of processes under the rules of `file` at `path`.
///
/// # Errors
/// A message: there is no `mpicc` (or `MPICC`), a job cannot be started or fails, or the library
/// counts no messages.
pub fn check(path: &Path, file: &RuleFile, processes: &[usize]) -> Result<Vec<Checked>, String> {
    let folder = Folder::new()?;
    let path = fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let program = compile(&folder.0)?;
    let launcher = Launcher::of_environment().map_err(|error| error.to_string())?;
    let jobs = Jobs { folder: &folder.0, program: &program, file: &path, launcher };
    let mut all = Vec::new();
    for own in &file.collectives {
        for count in processes {
            let covers = |block: &&strata_interchange::rules::Block| {
                (block.from..=block.to).contains(&(*count as u64))
            };
            let Some(block) = own.blocks.iter().find(covers) else { continue };
            for rule in &block.rules {
                all.push(jobs.check(own.collective, *count, rule)?);
            }
        }
    }
    Ok(all)
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("specc-rules-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn compile(folder: &Path) -> Result<PathBuf, String> {
    let source = folder.join("count.c");
    fs::write(&source, PROGRAM).map_err(|error| format!("{}: {error}", source.display()))?;
    let compiler =
        std::env::var_os("MPICC").filter(|name| !name.is_empty()).unwrap_or_else(|| "mpicc".into());
    let program = folder.join("count");
    let shown = compiler.to_string_lossy().into_owned();
    let output = Command::new(&compiler).arg("-O1").arg("-o").arg(&program).arg(&source).output();
    match output {
        Err(error) => {
            Err(format!("cannot start `{shown}`: {error}; install MPI's compiler, or name it in MPICC"))
        }
        Ok(output) if !output.status.success() => {
            Err(format!("`{shown}` failed: {}", String::from_utf8_lossy(&output.stderr).trim_end()))
        }
        Ok(_) => Ok(program),
    }
}

/// How jobs are run.
struct Jobs<'a> {
    folder: &'a Path,
    program: &'a Path,
    file: &'a Path,
    launcher: Launcher,
}

impl Jobs<'_> {
    fn check(&self, of: &'static Collective, processes: usize, rule: &Rule) -> Result<Checked, String> {
        let done = |found| Ok(Checked { collective: of.name, processes, rule: *rule, found });
        let sizes = sizes(of, processes as u64, rule);
        if sizes.is_empty() {
            return done(Found::Unreachable);
        }
        let count = |settings: &[(String, String)]| self.count(of, processes, &sizes, settings);
        let text = |name: &str, value: &dyn ToString| (format!("OMPI_MCA_{name}"), value.to_string());
        let dynamic = text("coll_tuned_use_dynamic_rules", &1);
        let path = self.file.display();
        let by_file = count(&[dynamic.clone(), text("coll_tuned_dynamic_rules_filename", &path)])?;
        let own = count(&[])?;
        if rule.algorithm == 0 {
            return done(if by_file == own { Found::Same } else { disobeyed(&by_file, &own, processes) });
        }
        let mut forced = vec![dynamic, text(&format!("coll_tuned_{}_algorithm", of.name), &rule.algorithm)];
        if rule.segment > 0 {
            forced.push(text(&format!("coll_tuned_{}_algorithm_segmentsize", of.name), &rule.segment));
        }
        if rule.fanout > 0 {
            for kind in ["tree", "chain"] {
                forced.push(text(&format!("coll_tuned_{}_algorithm_{kind}_fanout", of.name), &rule.fanout));
            }
        }
        let forced = count(&forced)?;
        done(match by_file == forced {
            false => disobeyed(&by_file, &forced, processes),
            true if forced == own => Found::Same,
            true => Found::Obeyed,
        })
    }

    /// The counts of one job.
    fn count(
        &self,
        of: &Collective,
        processes: usize,
        sizes: &[u64],
        settings: &[(String, String)],
    ) -> Result<Counts, String> {
        let name = self.folder.join("sent");
        let mut command = self.launcher.job(processes, None).map_err(|error| error.to_string())?;
        let monitoring = [
            ("pml_monitoring_enable", "1".to_owned()),
            ("pml_monitoring_enable_output", "3".to_owned()),
            ("pml_monitoring_filename", name.display().to_string()),
        ];
        // A file that the caller's environment names would act as well.
        for variable in ["use_dynamic_rules", "dynamic_rules_filename"] {
            command.env_remove(format!("OMPI_MCA_coll_tuned_{variable}"));
        }
        command.envs(monitoring.map(|(name, value)| (format!("OMPI_MCA_{name}"), value)));
        command.envs(settings.iter().cloned()).arg(self.program);
        for (size, calls) in sizes.iter().zip(CALLS) {
            command.arg(of.name).arg(size.to_string()).arg(calls.to_string());
        }
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("cannot start a job of MPI: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).take(6).collect();
            return Err(format!(
                "a job of {processes} processes that calls {} failed ({}): {}",
                of.name,
                output.status,
                said.join("; ")
            ));
        }
        let mut counts = Counts::new();
        for rank in 0..processes {
            let file = self.folder.join(format!("sent.{rank}.prof"));
            let text = fs::read_to_string(&file).map_err(|_| {
                "the MPI library wrote no counts: it takes Open MPI with `pml_monitoring` (`ompi_info` lists it)"
                    .to_owned()
            })?;
            // Counts of an earlier job must not be read again.
            let _ = fs::remove_file(&file);
            counts.extend(text.lines().filter_map(sent));
        }
        Ok(counts)
    }
}

/// A line of counts: `E 0 1 409600 bytes 100 msgs sent …`, of point-to-point messages inside and
/// outside of collectives.
fn sent(line: &str) -> Option<((usize, usize), (u64, u64))> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["E" | "I", from, to, bytes, "bytes", messages, ..] => {
            Some(((from.parse().ok()?, to.parse().ok()?), (messages.parse().ok()?, bytes.parse().ok()?)))
        }
        _ => None,
    }
}

fn disobeyed(file: &Counts, forced: &Counts, processes: usize) -> Found {
    // The first process that sends others.
    let row = |counts: &Counts, from: usize| -> Vec<u64> {
        (0..processes).map(|to| counts.get(&(from, to)).map_or(0, |(messages, _)| *messages)).collect()
    };
    let from = (0..processes).find(|from| row(file, *from) != row(forced, *from)).unwrap_or(0);
    Found::Disobeyed { file: row(file, from), forced: row(forced, from) }
}

/// What a process passes in calls of the first and the last size of a rule.
fn sizes(of: &Collective, processes: u64, rule: &Rule) -> Vec<u64> {
    let unit = match of.size {
        Size::Own => 1,
        Size::Total => processes,
        Size::None => return vec![UNIT],
        Size::Other => return Vec::new(),
    };
    let first = rule.from.div_ceil(unit).div_ceil(UNIT).max(1) * UNIT;
    let last = (rule.to / unit).min((4 * first).max(MOST)) / UNIT * UNIT;
    let mut sizes = vec![first, last];
    sizes.retain(|size| *size > 0 && (rule.from..=rule.to).contains(&(size * unit)));
    sizes.dedup();
    sizes
}

/// Whether the first MPI on the path is Open MPI, and of which release.
#[must_use]
pub fn release_here() -> Option<Release> {
    let said = Launcher::of_environment().ok()?.describe();
    let (_, version) = said.split_once("Open MPI) ")?;
    let mut parts = version.split('.');
    let (major, minor) = (parts.next()?, parts.next()?);
    format!("{major}.{minor}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_counts_are_read() {
        let line = "E\t0\t1\t409600 bytes\t100 msgs sent\t0,0,1";
        assert_eq!(sent(line), Some(((0, 1), (100, 409_600))));
        assert_eq!(sent("C\t0\t1\t409600 bytes\t100 msgs sent"), None);
        assert_eq!(sent("# POINT TO POINT"), None);
    }

    #[test]
    fn sizes_are_within_the_rule() {
        let rule = |from, to| Rule { from, to, algorithm: 1, fanout: 0, segment: 0 };
        let of = |name| Collective::named(name).unwrap();
        assert_eq!(sizes(of("allreduce"), 4, &rule(0, 4095)), [4, 4092]);
        assert_eq!(sizes(of("alltoall"), 4, &rule(4096, 8191)), [1024, 2044]);
        assert_eq!(sizes(of("alltoall"), 4, &rule(0, 7)), [0_u64; 0], "4 bytes to each of 4 are 16");
        assert_eq!(sizes(of("barrier"), 4, &rule(0, 9)), [4]);
        assert_eq!(sizes(of("bcast"), 2, &rule(1 << 22, 1 << 30)), [1 << 22, 1 << 24]);
    }
}
