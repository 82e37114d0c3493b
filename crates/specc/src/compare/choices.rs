//! The changes of a library's choices between two runs.

use strata_interchange::emit::thresholds::FLAT;
use strata_model::{Kinds, ModelSet};
use strata_select::normal::HALF_WIDTH;

use super::Run;
use crate::competition::Competition;
use crate::thresholds::intervals::{self, Chain, Crossover, Crossovers};
use crate::thresholds::places::{self, Way};
use strata_fit::bootstrap::mean;

/// The number of input values at which the loss of the earlier choices is computed.
const TRIED: usize = 65;

/// The changes of a library's choices along an input.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryChange {
    /// The library's name.
    pub library: String,
    /// The input along which the choices are followed.
    pub by: String,
    /// The number of nodes.
    pub nodes: usize,
    /// The changes at each value of a second input.
    pub lines: Vec<LineChange>,
    /// The inputs that are one of a few names.
    pub kinds: Kinds,
}

/// The changes of the choices along a line.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChange {
    /// The inputs held on this line.
    pub at: Vec<(String, f64)>,
    /// The ways in order, and the crossovers between them.
    pub before: (Vec<String>, Vec<Crossover>),
    /// The same of the later run.
    pub after: (Vec<String>, Vec<Crossover>),
    /// The crossovers of both runs.
    pub crossovers: Vec<Moved>,
    /// The loss of the earlier choices by the later models: the mean, the greatest, and the place
    /// of that.
    pub kept: Option<(f64, f64, f64)>,
}

/// A crossover found in both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// The candidates below and above.
    pub between: [String; 2],
    /// The place before and after.
    pub at: [f64; 2],
    /// Whether the distance exceeds what the intervals explain; `None` if an interval has no end.
    pub moved: Option<bool>,
}

impl LineChange {
    /// Whether the choice has changed by more than uncertainty explains, and the change matters:
    /// the earlier choices lose more than [`FLAT`].
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.matters() && (self.has_others() || self.crossovers.iter().any(|one| one.moved == Some(true)))
    }

    /// How an unchanged line differs, if it does.
    pub(crate) fn differs(&self) -> Option<&'static str> {
        let is_unknown = self.crossovers.iter().any(|one| one.moved.is_none());
        match self.matters() {
            true => is_unknown.then_some("perhaps changed"),
            false => self.has_others().then_some("hardly changed"),
        }
    }

    fn matters(&self) -> bool {
        self.kept.is_none_or(|(_, most, _)| most > FLAT)
    }

    fn has_others(&self) -> bool {
        candidates(&self.before.0) != candidates(&self.after.0)
    }
}

/// Names of ways without their parameters; equal neighbours count once.
fn candidates(ways: &[String]) -> Vec<&str> {
    let mut names: Vec<&str> = ways.iter().map(|way| way.split(':').next().unwrap_or(way)).collect();
    names.dedup();
    names
}

/// Compares the choices of the libraries that both runs have.
///
/// # Errors
/// A message: a library has other inputs, or its choices cannot be followed.
pub fn libraries(before: &Run, after: &Run) -> Result<Vec<LibraryChange>, String> {
    let (Some(old), Some(new)) = (&before.set, &after.set) else { return Ok(Vec::new()) };
    let mut changes = Vec::new();
    for library in old.libraries.iter().filter(|library| !library.candidates.is_empty()) {
        let Some(other) = new.library(&library.name).filter(|other| !other.candidates.is_empty()) else {
            continue;
        };
        if library.inputs != other.inputs {
            return Err(format!(
                "library `{}` depends on other inputs: {} in {}, {} in {}; runs of one spec can be compared",
                library.name,
                library.inputs.join(", "),
                before.name,
                other.inputs.join(", "),
                after.name
            ));
        }
        let competing = |set: &ModelSet| Competition::new(set, &library.name).map_err(|e| e.to_string());
        let (was, is) = (competing(old)?, competing(new)?);
        let is = is.on(Some(was.nodes()));
        let of = |first: bool, fixed: &[(String, f64)], by: Option<&str>| match first {
            true => intervals::compute(old, &was, fixed, by, &before.evidence),
            false => intervals::compute(new, &is, fixed, by, &after.evidence),
        };
        // A library whose inputs do not vary is skipped.
        let Ok(lines) = of(true, &[], None) else { continue };
        let by = lines.crossings.by.clone();
        let mut all = Vec::new();
        for line in &lines.crossings.lines {
            let across = lines.crossings.across.iter().cloned().zip(line.at);
            let at: Vec<(String, f64)> = across.chain(lines.crossings.held.iter().cloned()).collect();
            let (one, two) = (of(true, &at, Some(&by))?, of(false, &at, Some(&by))?);
            all.extend(line_of((&was, &one), (&is, &two), at));
        }
        let (library, nodes) = (library.name.clone(), was.nodes());
        changes.push(LibraryChange { library, by, nodes, lines: all, kinds: new.kinds.clone() });
    }
    Ok(changes)
}

fn line_of(
    (was, one): (&Competition, &Crossovers),
    (is, two): (&Competition, &Crossovers),
    at: Vec<(String, f64)>,
) -> Option<LineChange> {
    let (before, after) = (one.lines.first()?, two.lines.first()?);
    let names = |found: &Crossovers, chain: &Chain| -> Vec<String> {
        chain.segments.iter().map(|segment| found.crossings.name(&segment.way)).collect()
    };
    let between = |found: &Crossovers, crossover: &Crossover| {
        let name = |way: &Way| found.crossings.candidates.get(way.candidate).cloned().unwrap_or_default();
        crossover.ways.each_ref().map(name)
    };
    let pair = |new: &Crossover| {
        let names = between(two, new);
        // The nearest crossover between the same candidates.
        let same = before.crossovers.iter().filter(|old| between(one, old) == names);
        let apart = |old: &&Crossover| (old.at - new.at).abs();
        let old = same.min_by(|a, b| apart(a).total_cmp(&apart(b)))?;
        Some(Moved { between: names, at: [old.at, new.at], moved: is_moved(old, new) })
    };
    Some(LineChange {
        before: (names(one, before), before.crossovers.clone()),
        after: (names(two, after), after.crossovers.clone()),
        crossovers: after.crossovers.iter().filter_map(pair).collect(),
        kept: kept((was, one), is),
        at,
    })
}

/// Whether two crossovers are farther apart than their intervals explain; `None` if they are apart
/// and the end of an interval is beyond the measured range.
fn is_moved(old: &Crossover, new: &Crossover) -> Option<bool> {
    /// Places that differ by less are the same.
    const SAME: f64 = 2e-3;
    let apart = (new.at / old.at).ln().abs();
    if old.at == new.at || apart <= SAME {
        return Some(false);
    }
    let deviation = |one: &Crossover| match one.interval {
        Some((Some(low), Some(high))) if low > 0.0 => Some((high / low).ln() / (2.0 * HALF_WIDTH)),
        Some(_) => None,
        None => Some(0.0),
    };
    let explained = HALF_WIDTH * deviation(old)?.hypot(deviation(new)?);
    apart.is_finite().then_some(apart > explained)
}

/// The loss of the earlier choices by the later models along a line: mean, greatest, and the place
/// of that.
fn kept((was, one): (&Competition, &Crossovers), is: &Competition) -> Option<(f64, f64, f64)> {
    let by = was.inputs().iter().position(|input| *input == one.crossings.by)?;
    let scale = places::scale(was, by).ok()?;
    let line = one.crossings.lines.first()?;
    let loss = |value: f64| {
        let inputs = one.crossings.inputs(was, line, value);
        let old = was.choose(&inputs, None).ok()?;
        let new = is.choose(&inputs, None).ok()?;
        let place = is.candidates().iter().position(|row| row.name == old.name)?;
        let kept = is.expected(place, &inputs, &old.parameters)?;
        let best = is.expected(new.index, &inputs, &new.parameters)?;
        Some((value, (kept / best - 1.0).max(0.0)))
    };
    let losses: Vec<(f64, f64)> = scale.spread(TRIED).into_iter().filter_map(loss).collect();
    let worst = losses.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let all: Vec<f64> = losses.iter().map(|(_, loss)| *loss).collect();
    Some((mean(&all), worst.1, worst.0))
}
