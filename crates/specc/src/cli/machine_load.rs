//! The load of the machine by other programs, reported before the budget is spent.

use std::fmt::Write as _;
use std::time::Duration;

use strata_model::count;
use strata_screen::tell;

use crate::drive::{Launcher, On};

/// The time for which the load is observed.
const WATCH: Duration = Duration::from_millis(300);

/// The load by others, in cores, that affects timings.
const NOTABLE: f64 = 0.1;

/// The load by others, as a part of the time of all cores, above which more than single timings are
/// affected. A lower quartile then no longer removes the effect.
const TOO_BUSY: f64 = 0.25;

/// The free cores for each node that could have one. With fewer, samples depend more on other
/// programs than on the task.
const ENOUGH: f64 = 0.25;

/// The remarks before measuring on this number of nodes. `others`: the part of the time of all
/// cores that other programs use.
fn remarks(nodes: usize, cores: usize, others: Option<f64>) -> String {
    let mut text = String::new();
    if nodes > cores {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "note: {nodes} nodes share {}: they wait for each other's time slices, which becomes part of the \
             models, and preempted timings cannot be set aside; without --nodes there are as many nodes as cores",
            count(cores, "core", "cores")
        );
    }
    if let Some(part) = others {
        let busy = part * cores as f64;
        let _ = write!(text, "other programs keep {busy:.1} of {} busy", count(cores, "core", "cores"));
        let free = cores as f64 - busy;
        text.push_str(if busy < NOTABLE * cores as f64 || free >= nodes as f64 {
            "\n"
        } else if free >= ENOUGH * nodes.min(cores) as f64 {
            ": expect wider intervals than on a quiet machine\n"
        } else {
            ": the nodes will wait for their turn most of the time, and choices may be wrong; measure \
             when the others have ended\n"
        });
    }
    text
}

/// The number of this machine's cores.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Prints on stderr what starts the nodes and what disturbs a run on this machine; nothing if time is
/// simulated. `nodes`: those of this host.
pub(super) fn announce(on: &On, nodes: usize, launcher: Option<&Launcher>) {
    if on.is_simulated() {
        return;
    }
    if let Some(launcher) = launcher {
        tell!("nodes are started by {}", launcher.describe());
    }
    let cores = cores();
    let remarks = remarks(nodes, cores, load());
    if !remarks.is_empty() {
        tell!("{}", remarks.trim_end());
    }
}

/// The present load by other programs, as a part of the time of all cores; `None` if the system
/// does not report it.
fn load() -> Option<f64> {
    let stat = || std::fs::read_to_string("/proc/stat").ok();
    let before = stat()?;
    std::thread::sleep(WATCH);
    let (busy, total) = passed(&before, &stat()?)?;
    Some(busy / total)
}

/// Observes the load by other programs during a measurement by this program and its children.
pub struct Watch {
    /// The texts of `/proc/stat` and `/proc/self/stat` at the beginning.
    before: Option<(String, String)>,
}

impl Watch {
    /// Begins the observation.
    #[must_use]
    pub fn start() -> Self {
        Self { before: Self::read() }
    }

    fn read() -> Option<(String, String)> {
        let read = |path: &str| std::fs::read_to_string(path).ok();
        read("/proc/stat").zip(read("/proc/self/stat"))
    }

    /// The mean number of cores kept busy by other programs since the beginning, if so high that
    /// the samples do not show the times of a quiet machine; `None` also if time is simulated.
    /// Programs started by this one must have ended.
    pub(super) fn busy(&self, on: &On, nodes: usize) -> Option<f64> {
        let others = self.others().filter(|others| *others >= TOO_BUSY && !on.is_simulated())?;
        disturbed(nodes, cores(), others).map(|_| others * cores() as f64)
    }

    /// The part of the time of all cores that other programs used since the beginning.
    fn others(&self) -> Option<f64> {
        let (before, after) = (self.before.as_ref()?, Self::read()?);
        let (busy, total) = passed(&before.0, &after.0)?;
        let own = own(&after.1)? - own(&before.1)?;
        Some((busy - own).max(0.0) / total)
    }

    /// If other programs can have slowed the nodes since the beginning: as text, the mean number of
    /// cores that they kept busy, and by what share they reduced the nodes' part of the machine.
    /// Programs started by this one must have ended.
    #[must_use]
    pub fn disturbed(&self, nodes: usize) -> Option<(String, f64)> {
        disturbed(nodes, cores(), self.others()?)
    }
}

/// The same as [`Watch::disturbed`], for this part of the time of all cores.
fn disturbed(nodes: usize, cores: usize, others: f64) -> Option<(String, f64)> {
    let busy = others * cores as f64;
    let free = cores as f64 - busy;
    (others >= NOTABLE && free < nodes as f64).then(|| {
        let cores = count(cores, "core", "cores");
        (format!("other programs kept {busy:.1} of {cores} busy on average"), 1.0 / (1.0 - others).max(0.01))
    })
}

/// The clock ticks of a process and of the children that it has waited for, from its
/// `/proc/self/stat`.
fn own(stat: &str) -> Option<f64> {
    // The second field is the program's name in parentheses, which may contain spaces and
    // parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    // The fields 14 to 17 are utime, stime, cutime and cstime.
    let ticks: Vec<f64> =
        rest.split_whitespace().skip(11).take(4).map_while(|word| word.parse().ok()).collect();
    (ticks.len() == 4).then(|| ticks.iter().sum())
}

/// The busy ticks and all ticks of all cores between two texts of `/proc/stat`. Busy is all but
/// idle and waiting for a disk; it includes the time taken by the host of a virtual machine
/// (steal).
fn passed(before: &str, after: &str) -> Option<(f64, f64)> {
    let times = |text: &str| -> Option<Vec<f64>> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        // The time of guests is already counted in user and nice.
        line.split_whitespace().take(8).map(|word| word.parse().ok()).collect()
    };
    let (before, after) = (times(before)?, times(after)?);
    let passed: Vec<f64> =
        after.iter().zip(&before).map(|(after, before)| (after - before).max(0.0)).collect();
    let total: f64 = passed.iter().sum();
    let idle = passed.get(3)? + passed.get(4).unwrap_or(&0.0);
    (total > 0.0).then_some((total - idle, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busy_part_is_read_from_the_systems_counters() {
        let before = "cpu  100 0 100 1000 50 0 0 10 7 0\ncpu0 1 2 3 4\n";
        let after = "cpu  130 0 110 1030 60 0 0 30 9 0\ncpu0 1 2 3 4\n";
        assert_eq!(passed(before, after), Some((60.0, 100.0)));
        assert_eq!(passed(before, before), None, "no time has passed");
        for torn in ["", "cpu  1 2\n", "cpu  a b c d e\n", "intr 7\n"] {
            assert_eq!(passed(torn, torn), None, "{torn}");
        }
    }

    #[test]
    fn own_time_is_that_of_the_program_and_of_those_it_started() {
        let stat = "77 (a) name) S 1 77 77 0 -1 4194304 9 8 7 6 10 20 300 4000 20 0 1 0 5";
        assert_eq!(own(stat), Some(4330.0));
        for torn in ["", "77 (name", "77 (name) S 1", "77 (name) S 1 77 77 0 -1 4194304 9 8 7 6 x 20 3 4"] {
            assert_eq!(own(torn), None, "{torn}");
        }
    }

    #[test]
    fn others_disturb_where_the_nodes_have_fewer_cores_left() {
        let (reason, slower) = disturbed(2, 2, 0.5).unwrap();
        assert_eq!(reason, "other programs kept 1.0 of 2 cores busy on average");
        assert_eq!(slower, 2.0);
        for (nodes, cores, others) in [(2, 2, 0.05), (2, 8, 0.5), (1, 2, 0.4)] {
            assert_eq!(disturbed(nodes, cores, others), None, "{nodes} {cores} {others}");
        }
        assert!(disturbed(4, 2, 1.0).unwrap().1.is_finite());
    }

    /// The work of this program's own children is not that of others, even if it keeps all cores
    /// busy.
    #[test]
    fn what_is_waited_for_is_ones_own() {
        let Some((before, _)) = Watch::read() else { return };
        let own_before = own(&Watch::read().unwrap().1).unwrap();
        let mut child = std::process::Command::new("sh");
        let status =
            child.args(["-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"]).status().unwrap();
        assert!(status.success());
        let (after, stat) = Watch::read().unwrap();
        let (busy, _) = passed(&before, &after).unwrap();
        let spent = own(&stat).unwrap() - own_before;
        assert!(spent >= 5.0, "{spent} ticks");
        assert!(spent <= busy + 5.0, "{spent} of {busy} ticks");
    }

    #[test]
    fn more_nodes_than_cores_and_the_load_are_explained() {
        let text = remarks(64, 2, Some(0.65));
        assert!(text.contains("64 nodes share 2 cores") && text.contains("without --nodes"), "{text}");
        assert!(text.contains("1.3 of 2 cores busy: expect wider intervals"), "{text}");
        let text = remarks(2, 2, Some(0.8));
        assert!(text.contains("1.6 of 2 cores busy: the nodes will wait"), "{text}");
        assert_eq!(remarks(2, 2, Some(0.01)), "other programs keep 0.0 of 2 cores busy\n");
        assert_eq!(remarks(1, 8, Some(0.2)), "other programs keep 1.6 of 8 cores busy\n");
        assert_eq!(remarks(2, 2, None), "");
    }
}
