//! Crossovers: the places where the choice changes along an input as numbers that a program may
//! hold, each with an interval and with what other numbers would lose.
//!
//! The places are those of [`crossings`]. An interval comes from the samples where
//! they lie beside the models: the coefficients are drawn as a repetition of the measurement would
//! give them. Where both ways were timed at the same values, the number that GMP's
//! `tuneup` would take of these timings stands beside ours.

mod measured;
mod pair;
mod spread;
mod tuneup;

use std::collections::BTreeSet;

use strata_model::set::SetError;
use strata_model::{ModelSet, Samples};

use crate::competition::Competition;
use crate::crossings::{self, Crossings, Line, Segment, Way};

use pair::Pair;
use spread::Spread;

pub use spread::Origin;
pub use tuneup::Tuneup;

/// What lies beside a model set: the samples that it was fitted to, and the timed decisions.
#[derive(Debug, Default)]
pub struct Evidence {
    /// The samples of the fit.
    pub samples: Option<Samples>,
    /// What was timed to judge choices.
    pub decisions: Option<Samples>,
}

impl Evidence {
    fn files(&self) -> impl Iterator<Item = &Samples> {
        self.samples.iter().chain(&self.decisions)
    }
}

/// Where one way gives place to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossover {
    /// The least value at which the second way is taken.
    pub at: f64,
    /// What is taken below, and from there on.
    pub ways: [Way; 2],
    /// Whether both take equally long somewhere; else one of them begins or ends to apply there, or
    /// values of a parameter tie.
    pub is_root: bool,
    /// With 95 % it lies between these; `None` for an end beyond the measured range. Nothing at all
    /// where the models do not say how uncertain they are, or it is no root.
    pub interval: Option<(Option<f64>, Option<f64>)>,
    /// What half of the value and twice the value lose at most; `None` beyond the measured range.
    pub off_by_two: [Option<f64>; 2],
    /// Values between these lose less than [`FLAT`](strata_interchange::emit::thresholds::FLAT).
    pub flat: Option<(f64, f64)>,
    /// What `tuneup` would take.
    pub tuneup: Option<Tuneup>,
    /// The gain for which the incumbent is left, where one of the ways is it.
    pub kept_for: Option<f64>,
}

/// The ways along one line, as few as lose no more than [`LOST`].
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The ways, with the values between which they are taken.
    pub segments: Vec<Segment>,
    /// Where each gives place to the next. Places are missing where no model covers a side.
    pub crossovers: Vec<Crossover>,
    /// What the ways that are left out would save where they win, as a share of the time.
    pub lost: f64,
}

/// What ways may save that are left out, on average where they win.
pub const LOST: f64 = 0.01;

/// The crossovers of a library along an input.
#[derive(Debug)]
pub struct Crossovers {
    /// What is chosen where.
    pub crossings: Crossings,
    /// What is chosen along each of its lines.
    pub lines: Vec<Chain>,
    /// Where the intervals come from.
    pub origin: Origin,
}

/// Finds the crossovers along `by`, or along the input with the widest range that `fixed` leaves
/// free; see [`crossings::compute`].
///
/// # Errors
/// What stands in the way, in words.
pub fn compute(
    set: &ModelSet,
    competition: &Competition,
    fixed: &[(String, f64)],
    by: Option<&str>,
    evidence: &Evidence,
) -> Result<Crossovers, String> {
    let crossings = crossings::compute(competition, fixed, by)?;
    let spread =
        Spread::of(set, competition.nodes(), evidence).map_err(|error: SetError| error.to_string())?;
    let mut involved = BTreeSet::new();
    let walk = Walk { set, competition, crossings: &crossings, spread: &spread, evidence };
    let lines = crossings.lines.iter().map(|line| walk.line(line, &mut involved));
    let lines = lines.collect::<Result<_, _>>()?;
    Ok(Crossovers { origin: spread.origin(&involved), lines, crossings })
}

/// What the crossovers of each line are found with.
struct Walk<'a> {
    set: &'a ModelSet,
    competition: &'a Competition,
    crossings: &'a Crossings,
    spread: &'a Spread,
    evidence: &'a Evidence,
}

impl Walk<'_> {
    /// The crossovers of a line; the places of the fitted models that they come from are added to
    /// those `involved`.
    fn line(&self, line: &Line, involved: &mut BTreeSet<usize>) -> Result<Chain, String> {
        let Self { set, competition, crossings, spread, evidence } = *self;
        let (mut segments, lost) = crossings::important(line, LOST);
        let Some(by) = competition.inputs().iter().position(|input| *input == crossings.by) else {
            return Ok(Chain { segments, crossovers: Vec::new(), lost });
        };
        let scale = crossings::scale(competition, by)?;
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
