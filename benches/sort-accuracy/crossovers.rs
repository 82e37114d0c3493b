//! Where one of the thesis's three sorts gives way to the next: its table 4-4.
//!
//! They are radix sort by 4 and by 10 bits a digit, and sample sort. Which of them is the fastest is
//! simulated at some numbers of keys, and between these on lines; where two lines cross,
//! lines through close points tell the place. A choice is wrong at the numbers of keys between a
//! predicted place and that one.

use crate::MOST_KEYS;
use crate::judge::{Judge, Way, predicted};
use chacha20::ChaCha8Rng;
use rand::SeedableRng as _;
use strata_benches::accuracy::{Cell, Summary, per_cent};
use strata_benches::thesis::{SORTS, Sorts, erring};
use strata_benches::{columns, row};
use strata_model::LibraryModels;

/// Where times are simulated: they are "always linear in the number of keys" (§4.5.4), beyond these, too.
const POINTS: [usize; 4] = [1, 64, 512, 4096];

/// Sets of keys at each of them.
const SETS: u64 = 1;

/// Sets of keys where two sorts cross, and where a choice is wrong.
const SETS_CLOSE: u64 = 2;

/// Where a line is fitted to the difference of two times: around the crossover.
const AROUND: [f64; 3] = [0.85, 1.0, 1.15];

/// Crossovers that are sought so often are left as they are.
const ROUNDS: usize = 3;

/// The three sorts, and their names.
pub(crate) const WAYS: [Way; 3] = [Some(4), Some(10), None];
pub(crate) const NAMES: [&str; 3] = ["radix 4", "radix 10", "sample"];

/// A row of the table: machine, bits of the keys, and up to how many keys a node radix sort with 4
/// and with 10 bits a digit are the fastest, predicted and actual; 0 where it never is.
type Row = (&'static str, u32, [[usize; 2]; 2]);

const ALWAYS: usize = MOST_KEYS;

const TABLE: [Row; 12] = [
    ("alewife", 16, [[2584, 2604], [ALWAYS, ALWAYS]]),
    ("alewife", 24, [[1295, 1288], [0, 0]]),
    ("alewife", 32, [[817, 819], [0, 0]]),
    ("cm5", 16, [[580, 583], [6597, 6551]]),
    ("cm5", 24, [[386, 391], [1551, 1607]]),
    ("cm5", 32, [[290, 291], [879, 875]]),
    ("paragon", 8, [[661, 692], [ALWAYS, ALWAYS]]),
    ("paragon", 16, [[553, 547], [0, 0]]),
    ("paragon", 32, [[215, 215], [0, 0]]),
    ("atm", 8, [[383, 391], [ALWAYS, ALWAYS]]),
    ("atm", 16, [[312, 318], [0, 0]]),
    ("atm", 32, [[126, 127], [0, 0]]),
];

/// Which of the three sorts is the fastest, up to how many keys.
type Regions = Vec<(usize, usize)>;

/// Regions of ours beside the thesis's row.
pub(crate) struct Line {
    row: Row,
    simulated: Regions,
    predicted: Regions,
    /// The outcomes of the choices.
    pub(crate) cells: Vec<Cell>,
    /// Of each of the three alone the share of problems on which it is the fastest.
    pub(crate) alone: [f64; 3],
    /// The share on which the thesis's printed models would be right, were they the truth but for their
    /// printed errors.
    pub(crate) control: f64,
}

/// The mean share of right choices of a machine in the thesis.
pub(crate) fn of_thesis(platform: &str) -> Option<f64> {
    let rows: Vec<f64> = TABLE
        .iter()
        .filter(|row| row.0 == platform)
        .map(|row| row.2.iter().map(|[predicted, actual]| predicted.abs_diff(*actual) as f64).sum())
        .collect();
    let wrong = rows.iter().sum::<f64>() / (rows.len() * MOST_KEYS) as f64;
    (!rows.is_empty()).then_some(1.0 - wrong)
}

pub(crate) fn lines(judge: &Judge, models: &LibraryModels, machine: &str) -> Result<Vec<Line>, String> {
    TABLE.into_iter().filter(|row| row.0 == machine).map(|row| line(judge, models, row)).collect()
}

fn line(judge: &Judge, models: &LibraryModels, row: Row) -> Result<Line, String> {
    let width = row.1;
    let curves = WAYS.map(|way| Curve::of(judge, way, width));
    let curves = curves.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut simulated = regions(|keys| least(curves.iter().map(|curve| curve.at(keys))));
    for at in 1..simulated.len() {
        let pair = [simulated[at - 1].0, simulated[at].0];
        let found = cross(judge, pair.map(|way| WAYS[way]), simulated[at - 1].1, width)?;
        // Not past the regions beside.
        let first = if at < 2 { 1 } else { simulated[at - 2].1 + 1 };
        simulated[at - 1].1 = found.clamp(first, simulated[at].1.saturating_sub(1).max(first));
    }
    let time = |way, keys| predicted(models, way, keys, width).unwrap_or(f64::INFINITY);
    let predicted = regions(|keys| least(WAYS.iter().map(|way| time(*way, keys))));
    let cells = cells(judge, [&predicted, &simulated], width)?;
    let mut alone = [0.0; 3];
    let mut from = 0;
    for (way, end) in &simulated {
        alone[*way] += (end - from) as f64 / MOST_KEYS as f64;
        from = *end;
    }
    let control =
        SORTS.iter().find(|sorts| sorts.machine == row.0).map_or(f64::NAN, |sorts| control(sorts, width));
    Ok(Line { row, simulated, predicted, cells, alone, control })
}

/// As the control of layouts: each time with its own normal error, whose mean magnitude is printed.
fn control(sorts: &Sorts, width: u32) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(u64::from(width));
    let mut right = 0;
    for keys in 1..=MOST_KEYS {
        let modelled = WAYS.map(|way| sorts.microseconds(way, keys, width));
        let actual = [0, 1, 2].map(|at| erring(modelled[at], sorts.errors[at / 2], &mut random));
        right += usize::from(least(modelled.into_iter()) == least(actual.into_iter()));
    }
    right as f64 / MOST_KEYS as f64
}

/// Simulated times by the number of keys, with lines between them.
struct Curve(Vec<(usize, f64)>);

impl Curve {
    fn of(judge: &Judge, way: Way, width: u32) -> Result<Self, String> {
        let points = POINTS.map(|keys| Ok((keys, judge.mean(way, keys, width, SETS)?)));
        points.into_iter().collect::<Result<_, String>>().map(Self)
    }

    fn at(&self, keys: usize) -> f64 {
        let last = self.0.partition_point(|point| point.0 < keys).clamp(1, self.0.len() - 1);
        let ((from, a), (to, b)) = (self.0[last - 1], self.0[last]);
        a + (b - a) * (keys as f64 - from as f64) / (to as f64 - from as f64)
    }
}

fn least(times: impl Iterator<Item = f64>) -> usize {
    times.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(at, _)| at)
}

fn regions(winner: impl Fn(usize) -> usize) -> Regions {
    let winners: Vec<usize> = (1..=MOST_KEYS).map(winner).collect();
    let mut end = 0;
    let ends = winners.chunk_by(|a, b| a == b).map(|run| {
        end += run.len();
        (run[0], end)
    });
    ends.collect()
}

fn winner(regions: &Regions, keys: usize) -> usize {
    regions.iter().find(|(_, end)| keys <= *end).map_or(0, |(way, _)| *way)
}

/// Where the times of two sorts cross, near `keys`: where a line through their differences does.
fn cross(judge: &Judge, ways: [Way; 2], keys: usize, width: u32) -> Result<usize, String> {
    let mut near = keys;
    for _ in 0..ROUNDS {
        let mut points = Vec::new();
        for share in AROUND {
            let at = ((share * near as f64).round() as usize).max(1);
            let [a, b] = ways.map(|way| judge.mean(way, at, width, SETS_CLOSE));
            points.push((at as f64, a? - b?));
        }
        let n = points.len() as f64;
        let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / n, y + point.1 / n));
        let slope = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>()
            / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
        let root = x - y / slope;
        // With so few keys that times have steps, there may be no such line.
        if !(root >= 1.0 && root < 2.0 * keys as f64) || slope <= 0.0 {
            return Ok(keys);
        }
        let close = (root / near as f64 - 1.0).abs() < 0.15;
        near = root.floor() as usize;
        if close {
            break;
        }
    }
    Ok(near)
}

/// The outcome of choices, each for as many numbers of keys as it stands for: where a choice is
/// wrong, it is simulated at the ends and in the middle.
fn cells(judge: &Judge, [predicted, simulated]: [&Regions; 2], width: u32) -> Result<Vec<Cell>, String> {
    let pair = |keys| (winner(predicted, keys), winner(simulated, keys));
    let pairs: Vec<(usize, usize)> = (1..=MOST_KEYS).map(pair).collect();
    let (mut cells, mut before) = (Vec::new(), 0);
    for run in pairs.chunk_by(|a, b| a == b) {
        let ((chosen, best), len) = (run[0], run.len());
        if chosen == best {
            cells.push(Cell { ratio: 1.0, fixed: None, weight: len as f64 });
        } else {
            for keys in [before + 1, before + len.div_ceil(2), before + len] {
                let time = |way: usize| judge.mean(WAYS[way], keys, width, SETS_CLOSE);
                // Wrong also where these sets of keys say otherwise.
                let ratio = (time(chosen)? / time(best)?).max(1.0 + f64::EPSILON);
                cells.push(Cell { ratio, fixed: None, weight: len as f64 / 3.0 });
            }
        }
        before += len;
    }
    Ok(cells)
}

pub(crate) fn report(lines: &[&Line]) {
    println!("\nThe fastest of three by keys a node (table 4-4):\n");
    columns("machine | bits | thesis: predicted | actual | predicted | simulated | right");
    for line in lines {
        let (machine, bits, ends) = line.row;
        let thesis = [0, 1].map(|at| {
            let ends = ends.map(|end| end[at]);
            let first = (0, ends[0]);
            tell(&match ends[1] {
                0 => vec![first, (2, MOST_KEYS)],
                ALWAYS => vec![first, (1, MOST_KEYS)],
                end => vec![first, (1, end), (2, MOST_KEYS)],
            })
        });
        let right = per_cent(Summary::of(&line.cells).right);
        let mut all = vec![machine.to_owned(), bits.to_string()];
        all.extend(thesis.into_iter().chain([tell(&line.predicted), tell(&line.simulated), right]));
        row(&all);
    }
}

fn tell(regions: &Regions) -> String {
    let mut words = Vec::new();
    for (way, end) in regions {
        words.push(match *end {
            MOST_KEYS.. => NAMES[*way].to_owned(),
            end => format!("{} to {end}", NAMES[*way]),
        });
    }
    words.join(", ")
}
