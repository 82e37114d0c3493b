//! What the machine is doing besides, told before the budget is spent.

use std::fmt::Write as _;
use std::time::Duration;

use strata_model::count;

use crate::drive::On;

/// For how long others are watched.
const WATCH: Duration = Duration::from_millis(300);

/// Cores' worth of work of others that shows in timings.
const NOTABLE: f64 = 0.1;

/// Free cores for each node that could have one; with fewer, samples tell more of other programs than
/// of the task.
const ENOUGH: f64 = 0.25;

/// What is to be said before measuring on so many nodes, of which others use this part of the
/// machine's time.
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
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Says on stderr what disturbs a run on this machine; nothing where time is simulated.
pub(super) fn announce(on: &On, nodes: usize) {
    if matches!(on, On::Sim(_)) {
        return;
    }
    let cores = cores();
    eprint!("{}", remarks(nodes, cores, load()));
}

/// The part of the time of all cores that went to other programs just now; `None` where the system
/// does not say.
fn load() -> Option<f64> {
    let stat = || std::fs::read_to_string("/proc/stat").ok();
    let before = stat()?;
    std::thread::sleep(WATCH);
    busy(&before, &stat()?)
}

/// The busy part of the time between two texts of `/proc/stat`: all but idle and waiting for a
/// disk. What the host of a virtual machine has taken (steal) is busy.
fn busy(before: &str, after: &str) -> Option<f64> {
    let times = |text: &str| -> Option<Vec<f64>> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        // What guests use is counted among user and nice already.
        line.split_whitespace().take(8).map(|word| word.parse().ok()).collect()
    };
    let (before, after) = (times(before)?, times(after)?);
    let passed: Vec<f64> =
        after.iter().zip(&before).map(|(after, before)| (after - before).max(0.0)).collect();
    let total: f64 = passed.iter().sum();
    let idle = passed.get(3)? + passed.get(4).unwrap_or(&0.0);
    (total > 0.0).then(|| 1.0 - idle / total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busy_part_is_read_from_the_systems_counters() {
        let before = "cpu  100 0 100 1000 50 0 0 10 7 0\ncpu0 1 2 3 4\n";
        let after = "cpu  130 0 110 1030 60 0 0 30 9 0\ncpu0 1 2 3 4\n";
        assert!((busy(before, after).unwrap() - 0.6).abs() < 1e-9);
        assert_eq!(busy(before, before), None, "no time has passed");
        for torn in ["", "cpu  1 2\n", "cpu  a b c d e\n", "intr 7\n"] {
            assert_eq!(busy(torn, torn), None, "{torn}");
        }
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
