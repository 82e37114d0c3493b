//! Times over numbers of nodes: several runs of the benchmark beside each other (Ganapati 1993,
//! Figs 5.3, 5.6 and 5.7).

use std::fmt::Write as _;

use crate::curve::LEAST;
use crate::results::Results;
use crate::suite::model_named;

/// A point of several runs, and its times by their numbers of nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct OverNodes {
    /// The model.
    pub model: String,
    /// The values of its variables.
    pub at: Vec<i64>,
    /// Numbers of nodes in ascending order, with the medians in s.
    pub times: Vec<(usize, f64)>,
}

impl OverNodes {
    /// The line start + each·log₂ P by least squares, and its R²; `None` for fewer than five
    /// numbers of nodes.
    #[must_use]
    pub fn line(&self) -> Option<(f64, f64, f64)> {
        let n = self.times.len();
        if n < LEAST {
            return None;
        }
        let points: Vec<(f64, f64)> =
            self.times.iter().map(|(nodes, t)| ((*nodes as f64).log2(), *t)).collect();
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n as f64;
        let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
        let (xx, yy) = (mean(&|p| (p.0 - x).powi(2)), mean(&|p| (p.1 - y).powi(2)));
        let xy = mean(&|p| (p.0 - x) * (p.1 - y));
        let each = xy / xx;
        (xx > 0.0 && yy > 0.0).then_some((y - each * x, each, xy * xy / (xx * yy)))
    }
}

/// The points that all of two or more runs have, of kernels in which all nodes take part.
#[must_use]
pub fn over_nodes(runs: &[Results]) -> Vec<OverNodes> {
    let Some((first, others)) = runs.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Vec::new();
    };
    let is_of_all = |model: &str| model_named(model).is_some_and(|(_, measured)| measured.of_all);
    let mut all = Vec::new();
    for kernel in first.kernels.iter().filter(|kernel| is_of_all(&kernel.model)) {
        for point in &kernel.points {
            let in_other = |run: &Results| {
                let points = &run.kernel(&kernel.model)?.points;
                let same = points.iter().find(|other| other.at == point.at)?;
                Some((run.nodes, same.belief.median))
            };
            let times: Option<Vec<_>> = others.iter().map(in_other).collect();
            let Some(times) = times else { continue };
            let mut times: Vec<_> =
                std::iter::once((first.nodes, point.belief.median)).chain(times).collect();
            times.sort_by_key(|(nodes, _)| *nodes);
            all.push(OverNodes { model: kernel.model.clone(), at: point.at.clone(), times });
        }
    }
    all
}

/// The table for people: times in µs, one column a number of nodes.
#[must_use]
pub fn table(all: &[OverNodes]) -> String {
    let Some(first) = all.first() else {
        return "no kernel in which all nodes take part has a point on all numbers of nodes\n".to_owned();
    };
    let mut text = format!("{:<24}", "µs on nodes");
    first.times.iter().for_each(|(nodes, _)| _ = write!(text, "{nodes:>10}"));
    text.push('\n');
    for one in all {
        let at = one.at.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
        let _ = write!(text, "{:<24}", format!("{} {at}", one.model));
        one.times.iter().for_each(|(_, seconds)| _ = write!(text, "{:>10.2}", 1e6 * seconds));
        text.push('\n');
        if let Some((start, each, r2)) = one.line() {
            let _ = writeln!(text, "  {:.2} µs + {:.2} µs·log₂ P, R² {r2:.5}", 1e6 * start, 1e6 * each);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{KernelResult, PointResult};
    use crate::series::Belief;

    #[test]
    fn times_over_nodes_are_a_line_of_their_logarithm() {
        let run = |nodes: usize| {
            let seconds = 1e-6 + 2e-6 * (nodes as f64).log2();
            let point = PointResult { at: vec![8], belief: Belief { median: seconds, ..Belief::default() } };
            let kernel = |model: &str| KernelResult {
                model: model.into(),
                points: vec![point.clone()],
                ..KernelResult::default()
            };
            Results { nodes, kernels: vec![kernel("Echo"), kernel("Broadcast")], ..Results::default() }
        };
        let all = over_nodes(&[2, 8, 4, 16, 32].map(run));
        assert_eq!(all.len(), 1, "an echo has two nodes on all of them");
        assert_eq!(all[0].times.iter().map(|(nodes, _)| *nodes).collect::<Vec<_>>(), [2, 4, 8, 16, 32]);
        let (start, each, r2) = all[0].line().unwrap();
        assert!((start - 1e-6).abs() < 1e-12 && (each - 2e-6).abs() < 1e-12 && r2 > 0.9999);
        assert!(table(&all).contains("1.00 µs + 2.00 µs·log₂ P"), "{}", table(&all));
        assert_eq!(over_nodes(&[2, 4].map(run))[0].line(), None, "no line through two points");
        assert!(over_nodes(&[run(2)]).is_empty());
    }
}
