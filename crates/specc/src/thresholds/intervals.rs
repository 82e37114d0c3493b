//! Crossovers: the input values at which the choice changes, as constants for programs, each with
//! an interval and with the loss from other constants.
//!
//! The places are those of [`super::places`]. If the samples lie beside the models, an interval comes
//! from a bootstrap: the coefficients are drawn as repeated measurements would give them. If both
//! ways were timed at the same values, the threshold that GMP's `tuneup` would compute from these
//! timings is given too.

mod measured;
mod pair;
mod spread;
mod tuneup;

use std::collections::BTreeSet;

use strata_model::set::SetError;
use strata_model::{ModelSet, Samples};

use crate::competition::Competition;
use crate::thresholds::places::{self, Crossings, Line, Segment, Way};

use pair::Pair;
use spread::Spread;

pub use spread::Origin;
pub use tuneup::Tuneup;

/// The files beside a model set: the samples of its fit, and the timed decisions.
#[derive(Debug, Default)]
pub struct Evidence {
    /// The samples of the fit.
    pub samples: Option<Samples>,
    /// The timings of decisions, by which choices are judged.
    pub decisions: Option<Samples>,
}

impl Evidence {
    fn files(&self) -> impl Iterator<Item = &Samples> {
        self.samples.iter().chain(&self.decisions)
    }
}

/// A change from one way to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossover {
    /// The least value at which the second way is taken.
    pub at: f64,
    /// The ways below and above.
    pub ways: [Way; 2],
    /// Whether the predicted times are equal there. Otherwise one of the ways begins or ceases to
    /// apply, or values of a parameter tie.
    pub is_root: bool,
    /// The 95 % interval; an end is `None` beyond the measured range. The whole is `None` if the
    /// models have no uncertainties or the place is not a root.
    pub interval: Option<(Option<f64>, Option<f64>)>,
    /// The greatest loss from half the value and from twice the value; `None` beyond the measured
    /// range.
    pub off_by_two: [Option<f64>; 2],
    /// The range of constants that lose less than
    /// [`FLAT`](strata_interchange::emit::thresholds::FLAT).
    pub flat: Option<(f64, f64)>,
    /// The threshold that `tuneup` would compute.
    pub tuneup: Option<Tuneup>,
    /// The gain above which the incumbent gives way, if one of the ways is the incumbent.
    pub kept_for: Option<f64>,
}

/// The ways along one line: the fewest that lose no more than [`LOST`].
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The ways with their ranges.
    pub segments: Vec<Segment>,
    /// The changes between them. A change is missing if no model covers one side.
    pub crossovers: Vec<Crossover>,
    /// The relative time that the ways left out would save where they win.
    pub lost: f64,
}

/// The most that ways left out may save, on average where they win, as a share of the time.
pub const LOST: f64 = 0.01;

/// The crossovers of a library along an input.
#[derive(Debug)]
pub struct Crossovers {
    /// The choices along the input.
    pub crossings: Crossings,
    /// The ways and crossovers of each line.
    pub lines: Vec<Chain>,
    /// The origin of the intervals.
    pub origin: Origin,
}

/// Finds the crossovers along `by`, or along the input with the widest range that `fixed` leaves
/// free; see [`places::compute`].
///
/// # Errors
/// A message: see [`places::compute`].
pub fn compute(
    set: &ModelSet,
    competition: &Competition,
    fixed: &[(String, f64)],
    by: Option<&str>,
    evidence: &Evidence,
) -> Result<Crossovers, String> {
    let crossings = places::compute(competition, fixed, by)?;
    let spread =
        Spread::of(set, competition.nodes(), evidence).map_err(|error: SetError| error.to_string())?;
    let mut involved = BTreeSet::new();
    let walk = Walk { set, competition, crossings: &crossings, spread: &spread, evidence };
    let lines = crossings.lines.iter().map(|line| walk.line(line, &mut involved));
    let lines = lines.collect::<Result<_, _>>()?;
    Ok(Crossovers { origin: spread.origin(&involved), lines, crossings })
}

/// The inputs of the search for crossovers.
struct Walk<'a> {
    set: &'a ModelSet,
    competition: &'a Competition,
    crossings: &'a Crossings,
    spread: &'a Spread,
    evidence: &'a Evidence,
}

impl Walk<'_> {
    /// The crossovers of a line. Adds the indices of the fitted models behind them to `involved`.
    fn line(&self, line: &Line, involved: &mut BTreeSet<usize>) -> Result<Chain, String> {
        let Self { set, competition, crossings, spread, evidence } = *self;
        let (mut segments, lost) = places::important(line, LOST);
        let Some(by) = competition.inputs().iter().position(|input| *input == crossings.by) else {
            return Ok(Chain { segments, crossovers: Vec::new(), lost });
        };
        let scale = places::scale(competition, by)?;
        let inputs = crossings.inputs(competition, line, scale.low);
        let mut crossovers = Vec::new();
        for place in 1..segments.len() {
            let [from, to] = [&segments[place - 1], &segments[place]];
            if from.way.beyond.is_some() || to.way.beyond.is_some() {
                continue;
            }
            let pair = Pair::new(competition, (&inputs, by), scale, (from, to));
            involved.extend(pair.models());
            let at = pair.place(from.from, to.to);
            let timed = measured::pairs(set, competition, evidence, (&inputs, by), (from, to));
            crossovers.push(Crossover {
                at,
                ways: [from.way.clone(), to.way.clone()],
                is_root: pair.root().is_some(),
                interval: spread.interval(&pair, at),
                off_by_two: pair.off_by_two(at),
                flat: pair.flat(at),
                tuneup: tuneup::of(&timed, at),
                kept_for: pair.kept_for(),
            });
            (segments[place - 1].to, segments[place].from) = (at, at);
        }
        Ok(Chain { segments, crossovers, lost })
    }
}
