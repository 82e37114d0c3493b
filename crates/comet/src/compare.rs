//! Compares two runs: significant changes.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::results::{FIXED, Results};
use crate::series::{Belief, PROMISED, quantile};

/// Smaller changes than this share are not reported, however certain.
const NOTABLE: f64 = 0.03;

/// A point of both runs whose medians differ significantly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The model.
    pub model: String,
    /// The point.
    pub at: Vec<i64>,
    /// Its median before, s.
    pub before: f64,
    /// Its median now, s.
    pub now: f64,
}

/// The differences between two runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// True if the runs are of two machines, or of two MPI libraries on one.
    pub two_machines: bool,
    /// Number of points that both runs have.
    pub points: usize,
    /// Points whose medians differ by more than 3 % and whose intervals do not overlap.
    pub changes: Vec<Change>,
    /// Reasons to doubt the comparison.
    pub doubts: Vec<String>,
}

/// The median ratio of times, now over before, over the points of both runs; `None` if they share
/// no point.
#[must_use]
pub fn level(before: &Results, now: &Results) -> Option<f64> {
    let mut ratios: Vec<f64> = common(before, now).map(|(_, _, a, b)| b.median / a.median).collect();
    ratios.retain(|ratio| ratio.is_finite() && *ratio > 0.0);
    ratios.sort_by(f64::total_cmp);
    (!ratios.is_empty()).then(|| quantile(&ratios, 0.5))
}

/// The points of both runs: model, values of the variables, and the results of each run.
fn common<'a>(
    before: &'a Results,
    now: &'a Results,
) -> impl Iterator<Item = (&'a str, &'a [i64], &'a Belief, &'a Belief)> {
    now.kernels.iter().flat_map(|kernel| {
        let old = before.kernel(&kernel.model);
        kernel.points.iter().filter_map(move |point| {
            let other = old?.points.iter().find(|other| other.at == point.at)?;
            Some((&*kernel.model, &*point.at, &other.belief, &point.belief))
        })
    })
}

/// Compares two runs point by point.
///
/// Medians differ significantly if their 95 % intervals do not overlap, which is stricter than a
/// test at 5 % (Hoefler and Belli, SC'15, rule 7).
#[must_use]
pub fn compare(before: &Results, now: &Results) -> Comparison {
    let mut comparison = Comparison::default();
    for (name, results) in [("the earlier run", before), ("this run", now)] {
        if let Some(contaminated) = &results.contaminated {
            comparison.doubts.push(format!("{name} is contaminated: {}", contaminated.reason));
        }
    }
    if before.platform != now.platform {
        comparison.two_machines = true;
        comparison.doubts.push(format!("the machines differ: {} and {}", before.platform, now.platform));
    }
    let (old, new) = (before.setup.parts(), now.setup.parts());
    if before.setup.fixed != now.setup.fixed {
        comparison.doubts.push(format!(
            "what was fixed differs: {} and {}",
            before.setup.fixed.told(),
            now.setup.fixed.told()
        ));
    }
    for (name, part) in new.iter().filter(|(name, _)| *name != FIXED) {
        let Some((_, other)) = old.iter().find(|(other, part)| other == name && !part.is_empty()) else {
            continue;
        };
        if other != part {
            comparison.two_machines |= name.starts_with("MPI");
            comparison.doubts.push(format!("the {name} differs: {other} and {part}"));
        }
    }
    if let Some(level) = level(before, now).filter(|level| level.max(1.0 / level) > PROMISED) {
        let (times, than) = if level > 1.0 { (level, "slower") } else { (1.0 / level, "faster") };
        comparison.doubts.push(format!(
            "all points together are {times:.2} times {than}: the machine has changed, as where a virtual \
             machine's processors move apart or change their clock"
        ));
    }
    for (model, at, a, b) in common(before, now) {
        comparison.points += 1;
        let apart = a.high < b.low || b.high < a.low;
        if apart && (b.median / a.median - 1.0).abs() > NOTABLE {
            comparison.changes.push(Change {
                model: model.to_owned(),
                at: at.to_vec(),
                before: a.median,
                now: b.median,
            });
        }
    }
    comparison
}

impl Comparison {
    /// The comparison as text for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        let what = if self.two_machines {
            "points differ significantly between two machines"
        } else {
            "points have changed significantly"
        };
        let mut text = format!(
            "{} of {} {what} (intervals apart, and more than 3 %)\n",
            self.changes.len(),
            self.points
        );
        for change in &self.changes {
            let at = change.at.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
            let _ = writeln!(
                text,
                "  {} {at}: {:.3} µs, was {:.3} µs, {:+.1} %",
                change.model,
                1e6 * change.now,
                1e6 * change.before,
                100.0 * (change.now / change.before - 1.0)
            );
        }
        for doubt in &self.doubts {
            let _ = writeln!(text, "  doubtful: {doubt}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Fixed, KernelResult, PointResult, Setup};

    fn results(medians: &[f64]) -> Results {
        let point = |(i, median): (usize, &f64)| PointResult {
            at: vec![i as i64],
            belief: Belief { median: *median, low: 0.99 * median, high: 1.01 * median, ..Belief::default() },
        };
        let points = medians.iter().enumerate().map(point).collect();
        let kernels = vec![KernelResult { model: "Echo".into(), points, ..KernelResult::default() }];
        Results { kernels, ..Results::default() }
    }

    /// Times of two MPI libraries are no change of a machine.
    #[test]
    fn two_mpi_libraries_are_two_machines() {
        let of = |mpi: &str, kernel: &str, median: f64| {
            let setup = Setup { mpi: mpi.into(), kernel: kernel.into(), ..Setup::default() };
            Results { setup, ..results(&[median]) }
        };
        let old = of("mpirun, Open MPI 4.1.4", "6.1", 1.0);
        let text = compare(&old, &of("mpirun, HYDRA 4.0.2", "6.1", 2.0)).to_text();
        assert!(text.contains("1 of 1 points differ significantly between two machines"), "{text}");
        assert!(text.contains("the MPI differs: mpirun, Open MPI 4.1.4 and mpirun, HYDRA 4.0.2"), "{text}");
        let same = compare(&old, &of("mpirun, Open MPI 4.1.4", "6.2", 2.0));
        assert!(!same.two_machines && same.to_text().contains("the kernel differs: 6.1 and 6.2"));
        let in_turn = Fixed { roots_in_turn: true, ..Fixed::default() };
        let fixed = Setup { fixed: in_turn, ..old.setup.clone() };
        let fixed = compare(&old, &Results { setup: fixed, ..results(&[1.0]) });
        assert!(fixed.to_text().contains("what was fixed differs: nothing and roots in turn"));
        // A result of an older version does not tell.
        assert!(!compare(&results(&[1.0]), &old).two_machines);
    }

    #[test]
    fn a_machine_that_changed_as_a_whole_is_said() {
        let before = results(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let one_kernel = compare(&before, &results(&[1.0, 2.0, 3.0, 4.0, 6.0]));
        assert_eq!((one_kernel.points, one_kernel.changes.len()), (5, 1));
        assert!(one_kernel.doubts.is_empty(), "{:?}", one_kernel.doubts);
        let all = compare(&before, &results(&[4.0, 8.0, 12.0, 16.0, 20.0]));
        assert!(all.to_text().contains("all points together are 4.00 times slower: the machine has changed"));
        let faster = compare(&results(&[4.0, 8.0]), &results(&[2.0, 4.0]));
        assert!(faster.to_text().contains("2.00 times faster"), "{}", faster.to_text());
        assert_eq!(level(&before, &Results::default()), None);
        assert!(compare(&before, &Results::default()).doubts.is_empty());
    }
}
