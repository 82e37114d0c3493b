//! Where the choices of libraries change, as numbers that programs compile in: constants along one
//! input, a decision table over several.
//!
//! Unlike a model set in another language, the text needs no arithmetic beyond comparisons, and
//! none of floating point where the inputs are whole numbers. [`rust`], [`c`] and [`json`] write
//! the same [`Thresholds`]; the first two carry the JSON in a comment, by which [`read`] gets them
//! back from any of the three.

mod body;
mod c;
mod json;
mod rust;

use std::fmt;

use strata_model::{Kinds, Platform, SpecId, count, grouped, number_text, percent, rounded, sha256_hex};

pub use c::c;
pub use json::{json, read};
pub use rust::rust;

/// Begins the comment that holds the JSON.
const MARK: &str = "// strata-thresholds ";

/// What is written of one model set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thresholds {
    /// The hash of the model set.
    pub models_sha256: String,
    /// The spec that the models come from.
    pub spec: Option<SpecId>,
    /// Where they were measured.
    pub platform: Option<Platform>,
    /// The inputs that are one of a few names.
    pub kinds: Kinds,
    /// The libraries, in the order of the set.
    pub libraries: Vec<LibraryThresholds>,
}

/// The choice of one library.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryThresholds {
    /// The library's name.
    pub library: String,
    /// On how many nodes.
    pub nodes: usize,
    /// The inputs that the choice depends on, in the order of the library.
    pub inputs: Vec<ThresholdInput>,
    /// The other inputs, held at these values.
    pub held: Vec<(String, f64)>,
    /// The candidates whose models failed verification, so that the rule may be wrong.
    pub failed: Vec<String>,
    /// The inputs whose multiples of 64 have predictions of their own: the rule holds for other values.
    pub beside: Vec<String>,
    /// What can be chosen.
    pub ways: Vec<ThresholdWay>,
    /// How.
    pub rule: Rule,
}

/// An input, and the range in which the rule holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdInput {
    /// Its name.
    pub name: String,
    /// Whether it takes whole numbers only.
    pub whole: bool,
    /// Its least value.
    pub low: f64,
    /// Its greatest value.
    pub high: f64,
}

/// A candidate with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThresholdWay {
    /// The candidate's name.
    pub candidate: String,
    /// The names and values of its parameters.
    pub parameters: Vec<(String, i64)>,
}

/// As it is pinned: `radix:8`.
impl fmt::Display for ThresholdWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.candidate)?;
        self.parameters.iter().try_for_each(|(_, value)| write!(f, ":{value}"))
    }
}

/// How a way is chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// By the value of the only input.
    Line {
        /// The way below the first threshold.
        first: usize,
        /// Where other ways begin, rising.
        steps: Vec<Threshold>,
    },
    /// By a decision table.
    Table(Table),
}

/// Where one way gives place to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The least value at which [`to`](Self::to) is taken.
    pub at: f64,
    /// The way from there on.
    pub to: usize,
    /// With 95 % it lies between these; `None` for an end that lies beyond the measured range.
    pub interval: Option<(Option<f64>, Option<f64>)>,
    /// Thresholds between these lose less than [`FLAT`].
    pub flat: Option<(f64, f64)>,
    /// What half of the value and twice the value lose at most, where they lie in the range.
    pub off_by_two: [Option<f64>; 2],
}

/// What thresholds of a flat range lose at most, as a share of the time.
pub const FLAT: f64 = 0.02;

/// Splits of the inputs' ranges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The way where there are no splits.
    pub only: usize,
    /// The first is asked first.
    pub splits: Vec<Split>,
    /// What the table loses on average against the models, as a share of the time.
    pub loss: f64,
    /// The greatest loss.
    pub worst: f64,
    /// At how many random points that was computed.
    pub points: usize,
}

/// A question of a decision table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Which input is asked for.
    pub input: usize,
    /// Whether its value is below this.
    pub below: f64,
    /// What follows if it is, and if not.
    pub then: [Branch; 2],
}

/// A decision table as a grid: where cells begin along each input, and the way of each cell. It is
/// looked up without a branch, while questions that follow each other wait for each other.
struct Grid {
    cuts: Vec<Vec<f64>>,
    /// The last input changes first.
    cells: Vec<usize>,
}

/// Beyond as many cells the questions are written instead.
const MOST_CELLS: usize = 4096;

/// What follows a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    /// Another question.
    Split(usize),
    /// A way.
    Way(usize),
}

impl LibraryThresholds {
    /// The place among the ways of the one to take; a rule that names no way of its own takes the
    /// first.
    #[must_use]
    pub fn choose(&self, inputs: &[f64]) -> usize {
        match &self.rule {
            Rule::Line { first, steps } => {
                let value = inputs.first().copied().unwrap_or_default();
                steps.iter().rev().find(|step| value >= step.at).map_or(*first, |step| step.to)
            }
            Rule::Table(table) => table.choose(inputs),
        }
    }

    /// Whether all inputs take whole numbers only.
    fn is_whole(&self) -> bool {
        self.inputs.iter().all(|input| input.whole)
    }

    /// `` Library `sort` by `keys`, width = 32 ``.
    fn title(&self) -> String {
        let names: Vec<String> = self.inputs.iter().map(|input| format!("`{}`", input.name)).collect();
        let held = self.held.iter().map(|(name, value)| format!(", {name} = {}", number_text(*value)));
        let held: String = held.collect();
        let by = if names.is_empty() { String::new() } else { format!(" by {}", names.join(", ")) };
        let failed = match self.failed.as_slice() {
            [] => String::new(),
            names => format!("; it may be wrong, as verification failed for `{}`", names.join("`, `")),
        };
        let beside = match self.beside.as_slice() {
            [] => String::new(),
            names => format!("; it holds for all but the multiples of 64 of `{}`", names.join("`, `")),
        };
        format!("Library `{}`{by}{held}{failed}{beside}", self.library)
    }

    fn ranges(&self) -> String {
        let range = |input: &ThresholdInput| {
            format!("{} from {} to {}", input.name, number_text(input.low), number_text(input.high))
        };
        self.inputs.iter().map(range).collect::<Vec<_>>().join(", ")
    }

    /// The ways from the first threshold to the last, each with what is known of the threshold at
    /// which it ends.
    fn chain(&self) -> Vec<(usize, &Threshold)> {
        let Rule::Line { first, steps } = &self.rule else { return Vec::new() };
        let ways = std::iter::once(*first).chain(steps.iter().map(|step| step.to));
        ways.zip(steps).collect()
    }
}

impl Table {
    fn choose(&self, inputs: &[f64]) -> usize {
        let mut at = 0;
        // Each question is asked once at most.
        for _ in 0..self.splits.len() {
            let Some(split) = self.splits.get(at) else { break };
            let is_below = inputs.get(split.input).is_some_and(|value| *value < split.below);
            match split.then[usize::from(!is_below)] {
                Branch::Split(next) => at = next,
                Branch::Way(way) => return way,
            }
        }
        self.only
    }

    /// The table as a grid over so many inputs, if that has few cells.
    fn grid(&self, inputs: usize) -> Option<Grid> {
        let mut cuts: Vec<Vec<f64>> = vec![Vec::new(); inputs];
        for split in &self.splits {
            cuts.get_mut(split.input)?.push(split.below);
        }
        for own in &mut cuts {
            own.sort_by(f64::total_cmp);
            own.dedup();
        }
        let sizes: Vec<usize> = cuts.iter().map(|own| own.len() + 1).collect();
        let count = sizes.iter().try_fold(1_usize, |count, size| count.checked_mul(*size))?;
        (count <= MOST_CELLS).then_some(())?;
        let cell = |mut number: usize| {
            let mut least = vec![f64::NEG_INFINITY; inputs];
            for ((least, own), size) in least.iter_mut().zip(&cuts).zip(&sizes).rev() {
                if let Some(before) = (number % size).checked_sub(1) {
                    *least = own[before];
                }
                number /= size;
            }
            self.choose(&least)
        };
        let cells = (0..count).map(cell).collect();
        Some(Grid { cuts, cells })
    }

    /// What it loses, in words.
    fn told(&self) -> String {
        format!(
            "{}; against the models it loses {} on average, {} at most, at {} random points",
            count(self.splits.len(), "question", "questions"),
            percent(self.loss),
            percent(self.worst),
            number_text(self.points as f64)
        )
    }
}

impl Threshold {
    /// `95 %: 1,020 to 1,390`; `None` where no interval is known.
    fn interval_text(&self) -> Option<String> {
        Some(format!("95 %: {}", ends(self.interval?)))
    }

    fn loss_text(&self) -> String {
        let flat = self.flat.map(|flat| format!("flat: {}", flat_text(flat)));
        let off =
            |loss: Option<f64>, what: &str| Some(format!("{what} of it loses up to {}", percent(loss?)));
        let [half, twice] = self.off_by_two;
        let parts = [flat, off(half, "half"), off(twice, "twice").map(|text| text.replace(" of it", " it"))];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// `1,020 to 1,390`: both ends with three digits, outwards.
#[must_use]
pub fn ends((low, high): (Option<f64>, Option<f64>)) -> String {
    if (low, high) == (None, None) {
        return "not known within the measured range".to_owned();
    }
    let end = |value: Option<f64>, sign: f64| {
        value.map_or("beyond the range".to_owned(), |value| grouped(rounded_to(value, sign), ','))
    };
    format!("{} to {}", end(low, -1.0), end(high, 1.0))
}

/// `anything from 710 to 2,600 loses less than 2 %`: both ends with three digits, inwards.
#[must_use]
pub fn flat_text((low, high): (f64, f64)) -> String {
    let (up, down) = (rounded_to(low, 1.0), rounded_to(high, -1.0));
    // Ends that are so near each other stand as they are.
    let (low, high) = if up < down { (up, down) } else { (low, high) };
    format!("anything from {} to {} loses less than {}", grouped(low, ','), grouped(high, ','), percent(FLAT))
}

/// A value with three digits, not below it (`sign` 1), or not above it (-1).
fn rounded_to(value: f64, sign: f64) -> f64 {
    let near = rounded(value, DIGITS);
    let step = 10_f64.powi(value.abs().max(f64::MIN_POSITIVE).log10().floor() as i32 + 1 - DIGITS);
    if sign * (near - value) < 0.0 { rounded(near + sign * step, DIGITS) } else { near }
}

/// The digits of a number that nobody computes with.
const DIGITS: i32 = 3;

/// A number with three digits and commas: `1,180`.
#[must_use]
pub fn short(value: f64) -> String {
    grouped(rounded(value, DIGITS), ',')
}

/// The hash of a text without its blanks and the comment that holds the JSON: formatting changes
/// nothing, a number that is edited by hand does.
fn text_hash(text: &str) -> String {
    let kept = text.lines().filter(|line| !line.trim_start().starts_with(MARK));
    let kept: String = kept.flat_map(|line| line.chars().filter(|c| !c.is_whitespace())).collect();
    sha256_hex(kept.as_bytes())
}

/// The text with the comment that holds the JSON at its end.
fn with_json(text: &str, sets: &[Thresholds]) -> String {
    format!("{text}\n{MARK}{}\n", json::document(sets, Some(text_hash(text))))
}

/// Where the numbers come from, lines of a comment.
fn origin(sets: &[Thresholds]) -> Vec<String> {
    let mut lines =
        vec!["@generated by `specc export`; do not edit: measure and export again, or check".to_owned()];
    lines.push("with `specc check`.".to_owned());
    for set in sets {
        lines.extend(set.spec.iter().map(|spec| format!("spec     {} sha256 {}", spec.path, spec.sha256)));
        lines.push(format!("models   sha256 {}", set.models_sha256));
        lines.extend(set.platform.iter().map(|platform| format!("platform {platform}")));
        lines.extend(super::plain::kinds(&set.kinds));
    }
    lines.iter().map(|line| strata_model::codegen::one_line(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_grouped() {
        for (value, text) in [(1184.0, "1,180"), (-61_234.0, "-61,200"), (7.0, "7"), (0.012_345, "0.0123")] {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn an_interval_holds_what_it_is_rounded_from() {
        assert_eq!(ends((Some(1536.0), Some(1536.0))), "1,530 to 1,540");
        assert_eq!(ends((Some(513.0), None)), "513 to beyond the range");
        assert_eq!(ends((Some(0.012_345), Some(0.012_345))), "0.0123 to 0.0124");
        assert_eq!(ends((Some(-1.0), Some(0.0))), "-1 to 0");
        assert_eq!(flat_text((704.6, 2604.0)), "anything from 705 to 2,600 loses less than 2 %");
        assert_eq!(flat_text((1536.0, 1538.0)), "anything from 1,536 to 1,538 loses less than 2 %");
    }

    #[test]
    fn a_table_ends_also_where_its_splits_are_a_circle() {
        let split = Split { input: 0, below: 1.0, then: [Branch::Split(0), Branch::Way(1)] };
        let table = Table { only: 7, splits: vec![split], ..Table::default() };
        assert_eq!((table.choose(&[0.0]), table.choose(&[1.0])), (7, 1));
    }

    #[test]
    fn a_grid_has_the_way_of_each_cell() {
        let split = |input, below, then| Split { input, below, then };
        let splits = vec![
            split(0, 5.0, [Branch::Way(0), Branch::Split(1)]),
            split(1, 2.0, [Branch::Split(2), Branch::Way(2)]),
            split(0, 9.0, [Branch::Way(1), Branch::Way(3)]),
        ];
        let table = Table { splits, ..Table::default() };
        let grid = table.grid(2).unwrap();
        assert_eq!((&grid.cuts[0][..], &grid.cuts[1][..]), (&[5.0, 9.0][..], &[2.0][..]));
        assert_eq!(grid.cells, [0, 0, 1, 2, 3, 2]);
        assert!(table.grid(1).is_none(), "a split asks for another input");
    }
}
