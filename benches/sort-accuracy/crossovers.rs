//! Where one of the thesis's three sorts gives way to the next: its table 4-4.

use crate::judge::{Judge, Way, mean};
use strata_benches::{head, row};

/// The number of nodes of the table.
pub(crate) const NODES: usize = 64;

/// Sets of keys at each number of keys.
const SETS: usize = 3;

/// Where a line is fitted to the difference of two times: around the predicted crossover.
const AROUND: [f64; 5] = [0.8, 0.9, 1.0, 1.1, 1.2];

/// A row of the table: machine, bits of the keys, and up to how many keys a node radix sort with 4
/// and with 10 bits a digit are the fastest, predicted and actual (0 for never, 10,000 for always).
type Row = (&'static str, i64, [[usize; 2]; 2]);

const TABLE: [Row; 12] = [
    ("alewife", 16, [[2584, 2604], [10_000, 10_000]]),
    ("alewife", 24, [[1295, 1288], [0, 0]]),
    ("alewife", 32, [[817, 819], [0, 0]]),
    ("cm5", 16, [[580, 583], [6597, 6551]]),
    ("cm5", 24, [[386, 391], [1551, 1607]]),
    ("cm5", 32, [[290, 291], [879, 875]]),
    ("paragon", 8, [[661, 692], [10_000, 10_000]]),
    ("paragon", 16, [[553, 547], [0, 0]]),
    ("paragon", 32, [[215, 215], [0, 0]]),
    ("atm", 8, [[383, 391], [10_000, 10_000]]),
    ("atm", 16, [[312, 318], [0, 0]]),
    ("atm", 32, [[126, 127], [0, 0]]),
];

/// A crossover of ours beside the thesis's row.
pub(crate) struct Line {
    row: Row,
    /// Which of the three sorts is the fastest up to how many keys, predicted and simulated.
    runs: Vec<(usize, usize, Option<usize>)>,
}

const NAMES: [&str; 3] = ["radix 4", "radix 10", "sample"];

fn ways(width: i64) -> [Way; 3] {
    [Way::radix(4, width), Way::radix(10, width), Way::new("sample", &[64])]
}

/// The crossovers on a machine.
pub(crate) fn lines(judge: &Judge<'_>, platform: &str, most: usize) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for row in TABLE.into_iter().filter(|row| row.0 == platform) {
        let ways = ways(row.1);
        let winner = |keys: usize| {
            let time = |at: &usize| judge.seconds(&ways[*at], keys, row.1).unwrap_or(f64::INFINITY);
            (0..ways.len()).min_by(|a, b| time(a).total_cmp(&time(b))).unwrap_or(0)
        };
        let winners: Vec<usize> = (1..=most).map(winner).collect();
        let mut runs = Vec::new();
        for run in winners.chunk_by(|a, b| a == b) {
            let start = runs.last().map_or(0, |(_, end, _)| *end);
            runs.push((run[0], start + run.len(), None));
        }
        for at in 1..runs.len() {
            let (before, end, _) = runs[at - 1];
            runs[at - 1].2 = actual(judge, [&ways[before], &ways[runs[at].0]], end, row.1)?;
        }
        lines.push(Line { row, runs });
    }
    Ok(lines)
}

/// Where the simulated times of two sorts cross, near `keys`: where a line through their
/// differences does.
fn actual(judge: &Judge<'_>, ways: [&Way; 2], mut keys: usize, width: i64) -> Result<Option<usize>, String> {
    for _ in 0..3 {
        let mut points = Vec::new();
        for share in AROUND {
            let at = ((share * keys as f64).round() as usize).max(1);
            let time = |way| {
                let times = (0..SETS).map(|set| judge.simulate(way, at, width, set));
                Ok::<f64, String>(mean(&times.collect::<Result<Vec<f64>, _>>()?))
            };
            points.push((at as f64, time(ways[0])? - time(ways[1])?));
        }
        let n = points.len() as f64;
        let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / n, y + point.1 / n));
        let slope = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>()
            / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
        let root = x - y / slope;
        if !(root >= 1.0 && root < 2.0 * keys as f64) || slope <= 0.0 {
            return Ok(None);
        }
        if (root / keys as f64 - 1.0).abs() < 0.15 {
            return Ok(Some(root.floor() as usize));
        }
        keys = root.round() as usize;
    }
    Ok(Some(keys))
}

/// Prints the table.
pub(crate) fn report<'l>(lines: impl Iterator<Item = &'l Line>) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    println!(
        "Fastest of three up to so many keys a node, {NODES} nodes: predicted / simulated (Brewer, table 4-4)\n"
    );
    head(&["machine", "bits", "ours", "thesis: radix 4", "radix 10"]);
    for line in lines {
        let ours = line.runs.iter().map(|&(winner, end, actual)| match actual {
            Some(actual) => format!("{} {end} / {actual}", NAMES[winner]),
            None if end >= 10_000 => format!("{} on", NAMES[winner]),
            None => format!("{} {end} / -", NAMES[winner]),
        });
        let thesis = line.row.2.map(|[predicted, actual]| match predicted {
            0 => "-".to_owned(),
            10_000 => "rest".to_owned(),
            _ => format!("{predicted} / {actual}"),
        });
        row(&[
            line.row.0.to_owned(),
            line.row.1.to_string(),
            ours.collect::<Vec<_>>().join(", "),
            thesis[0].clone(),
            thesis[1].clone(),
        ]);
    }
    println!();
}
