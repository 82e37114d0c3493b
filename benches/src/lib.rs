//! Shared parts of the benchmarks: command lines and results, alternation, medians, spreads, and
//! tables in Markdown.
//!
//! A race times several contestants in one run. In each round every contestant runs once, in random
//! order, so that a drift of the machine's speed affects all alike and no contestant always follows
//! the same other one. It reports the median and the ratio to the peer.

#![forbid(unsafe_code)]

pub mod accuracy;
pub mod calibrated;
pub mod cost;
mod drawn;
pub mod fitted;
mod harness;
pub mod jobs;
pub mod judge;
mod list;
pub mod load;
pub mod nas;
pub mod peer;
mod record;
pub mod solver;
pub mod sorts;
pub mod thesis;
pub mod today;
pub mod tool;
pub mod trust;

use std::ffi::OsString;
use std::fmt;
use std::io::{BufRead as _, BufReader};
use std::ops::Range;
use std::process::{Command, Stdio};

use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use serde_json::Value;
use strata_runtime::Machine;

pub use drawn::drawn;
pub use harness::{NoArguments, arguments, at_least, run, summary};
pub use list::{Bench, benches};

/// The timings of one contestant, in seconds, one a round.
#[derive(Clone, Debug, Default)]
pub struct Timings {
    seconds: Vec<f64>,
}

impl Timings {
    /// Adds the timing of a round.
    pub fn push(&mut self, seconds: f64) {
        self.seconds.push(seconds);
    }

    /// Each of them, by round.
    pub fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        self.seconds.iter().copied()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.seconds.is_empty()
    }

    /// The timing below which the share `q` (0 to 1) of all timings lies; 0 without timings.
    pub fn quantile(&self, q: f64) -> f64 {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        sorted.get((q * last as f64).round() as usize).copied().unwrap_or(0.0)
    }

    /// The ratios to another contestant's timings of the same rounds.
    pub fn over(&self, other: &Self) -> Self {
        self.seconds.iter().zip(&other.seconds).map(|(one, other)| one / other).collect()
    }

    /// The median timing in seconds.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }
}

impl FromIterator<f64> for Timings {
    fn from_iter<I: IntoIterator<Item = f64>>(seconds: I) -> Self {
        Self { seconds: seconds.into_iter().collect() }
    }
}

/// Median with the 10 % and 90 % quantiles, in a suitable unit.
impl fmt::Display for Timings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = match self.median() {
            s if s < 1e-6 => ("ns", 1e9),
            s if s < 1e-3 => ("µs", 1e6),
            s if s < 1.0 => ("ms", 1e3),
            _ => ("s", 1.0),
        };
        let at = |q| self.quantile(q) * scale;
        write!(f, "{:.3} {unit} ({:.3} to {:.3})", at(0.5), at(0.1), at(0.9))
    }
}

/// The order of `contestants` in `round`: random, but equal on every node and in every run.
pub fn turns(round: usize, contestants: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..contestants).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(round as u64));
    order
}

/// Times all contestants in each of these rounds, in [`turns`], by `time` of a round and a contestant.
/// The first rounds, so many, warm up.
///
/// # Errors
/// That of a timing.
pub fn race<E>(
    rounds: Range<usize>,
    warm: usize,
    contestants: usize,
    mut time: impl FnMut(usize, usize) -> Result<f64, E>,
) -> Result<Vec<Timings>, E> {
    let mut timings = vec![Timings::default(); contestants];
    for round in rounds.clone() {
        for who in turns(round, contestants) {
            let seconds = time(round, who)?;
            if round >= rounds.start + warm {
                timings[who].push(seconds);
            }
        }
    }
    Ok(timings)
}

/// The place of the least median; those without timings come last.
pub fn fastest(timings: &[Timings]) -> usize {
    let median = |at: &usize| if timings[*at].is_empty() { f64::INFINITY } else { timings[*at].median() };
    (0..timings.len()).min_by(|a, b| median(a).total_cmp(&median(b))).unwrap_or(0)
}

/// Prints one row of a Markdown table.
pub fn row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

/// Prints the header of a Markdown table.
pub fn head(cells: &[&str]) {
    columns(&cells.join(" | "));
}

/// As [`head`], of titles with ` | ` between them.
pub fn columns(titles: &str) {
    println!("| {titles} |\n|{}", "---|".repeat(titles.split(" | ").count()));
}

/// The lines of a table in a text, of so many columns with ` | ` between them; `#` begins a comment.
///
/// # Panics
/// A line has another number of columns: texts are part of the program.
pub fn rows<const COLUMNS: usize>(text: &'static str) -> impl Iterator<Item = [&'static str; COLUMNS]> {
    let cells = |line: &'static str| line.split(" | ").collect::<Vec<_>>().try_into();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(move |line| cells(line).unwrap_or_else(|_| panic!("{COLUMNS} columns: {line}")))
}

/// The words of the command line, without the one that cargo adds.
fn words() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip(1).filter(|word| word != "--bench")
}

/// Marks a line that a rank prints for the program which started it.
const RESULT: &str = "result ";

/// Hands a result to the program that started this rank by [`mpirun`].
pub fn hand_over(result: &Value) {
    println!("{RESULT}{result}");
}

/// Tells a rank that [`mpirun`] has started from the program that was started by hand. Nothing that
/// users set.
const CHILD: &str = "STRATA_CHILD";

/// Whether this is a rank that [`mpirun`] has started.
pub fn is_rank() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Starts this program again on `ranks` processes, with its arguments, as [ranks](is_rank); returns
/// what they have handed over.
///
/// # Errors
/// There is no `mpirun`, or the job failed.
pub fn mpirun(ranks: usize) -> Result<Vec<Value>, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut job = Command::new("mpirun")
        .args(["-n", &ranks.to_string()])
        .arg(&program)
        .args(words())
        .env(CHILD, "1")
        .envs(MPI_ENVIRONMENT.iter().copied())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start mpirun: {e}"))?;
    let mut results = Vec::new();
    for line in job.stdout.take().into_iter().flat_map(|lines| BufReader::new(lines).lines()) {
        let line = line.map_err(|e| format!("cannot read from mpirun: {e}"))?;
        match line.strip_prefix(RESULT).map(serde_json::from_str) {
            Some(result) => results.push(result.map_err(|e| format!("{line}: {e}"))?),
            None => println!("{line}"),
        }
    }
    let status = job.wait().map_err(|e| e.to_string())?;
    if status.success() { Ok(results) } else { Err(format!("mpirun -n {ranks} ended with {status}")) }
}

/// Options for Open MPI as root and with more ranks than cores, where waiting ranks yield.
pub const MPI_ENVIRONMENT: &[(&str, &str)] = &[
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
];

/// One line on the machine: processor, cores, caches, system.
pub fn machine() -> String {
    let here = Machine::threads(1).and_then(|m| m.run(|node| Ok(node.platform().to_string())));
    here.ok().and_then(|mut lines| lines.pop()).unwrap_or_else(|| "unknown machine".into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Timings, turns};

    #[test]
    fn the_median_is_the_middle_and_chance_gives_the_turns() {
        let mut timings = Timings::default();
        [3.0, 1.0, 2.0].into_iter().for_each(|s| timings.push(s));
        assert_eq!(timings.median(), 2.0);
        assert_eq!(Timings::default().median(), 0.0);
        let firsts: BTreeSet<usize> = (0..50).filter_map(|round| turns(round, 3).first().copied()).collect();
        assert_eq!(firsts.len(), 3, "each goes first at times");
        assert_eq!(turns(7, 5), turns(7, 5));
        assert!(turns(0, 0).is_empty());
    }
}
