//! Two runs beside each other: what has changed significantly.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::results::Results;

/// Changes below this share are nobody's concern, however sure.
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

/// What differs between two runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Points that both have.
    pub points: usize,
    /// Those whose medians differ by more than 3 %, and whose intervals do not overlap.
    pub changes: Vec<Change>,
    /// What makes the comparison doubtful.
    pub doubts: Vec<String>,
}

/// Compares two runs point by point.
///
/// Medians differ significantly where their 95 % intervals do not overlap, which is stricter than a
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
        comparison.doubts.push(format!("the machines differ: {} and {}", before.platform, now.platform));
    }
    for kernel in &now.kernels {
        let Some(old) = before.kernel(&kernel.model) else { continue };
        for point in &kernel.points {
            let Some(other) = old.points.iter().find(|other| other.at == point.at) else { continue };
            comparison.points += 1;
            let (a, b) = (&other.belief, &point.belief);
            let apart = a.high < b.low || b.high < a.low;
            if apart && (b.median / a.median - 1.0).abs() > NOTABLE {
                comparison.changes.push(Change {
                    model: kernel.model.clone(),
                    at: point.at.clone(),
                    before: a.median,
                    now: b.median,
                });
            }
        }
    }
    comparison
}

impl Comparison {
    /// For people.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "{} of {} points have changed significantly (intervals apart, and more than 3 %)\n",
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
