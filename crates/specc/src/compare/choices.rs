//! Which choices of a library have changed between two runs.

use strata_interchange::emit::thresholds::FLAT;
use strata_model::ModelSet;

use super::Run;
use super::change::NORMAL;
use crate::bootstrap::mean;
use crate::competition::Competition;
use crate::crossings::{self, Way};
use crate::crossovers::{self, Chain, Crossover, Crossovers};

/// How many values of the input tell what the choices before lose.
const TRIED: usize = 65;

/// What became of a library's choices along an input.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryChange {
    /// The library.
    pub library: String,
    /// The input along which the choices are followed.
    pub by: String,
    /// On how many nodes.
    pub nodes: usize,
    /// Along lines at some values of a second input.
    pub lines: Vec<LineChange>,
}

/// What became of the choices along a line.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChange {
    /// The inputs that are held there.
    pub at: Vec<(String, f64)>,
    /// The ways in order, with the values at which they give place to each other.
    pub before: (Vec<String>, Vec<Crossover>),
    /// The same of the run after.
    pub after: (Vec<String>, Vec<Crossover>),
    /// The crossovers that both have.
    pub crossovers: Vec<Moved>,
    /// What the choices before lose by the models after: on average, at most, and where.
    pub kept: Option<(f64, f64, f64)>,
}

/// A crossover of both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// The candidates below and above.
    pub between: [String; 2],
    /// Where it was and where it is.
    pub at: [f64; 2],
    /// Whether it lies farther away than the intervals explain.
    pub moved: bool,
}

impl LineChange {
    /// Whether what is chosen has changed by more than uncertainty explains, and it matters: the
    /// choices before lose more than [`FLAT`].
    #[must_use]
    pub fn is_changed(&self) -> bool {
        let others = candidates(&self.before.0) != candidates(&self.after.0);
        let matters = self.kept.is_none_or(|(_, most, _)| most > FLAT);
        matters && (others || self.crossovers.iter().any(|one| one.moved))
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
/// A library has other inputs, or its choices cannot be followed, in words.
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
            true => crossovers::compute(old, &was, fixed, by, &before.evidence),
            false => crossovers::compute(new, &is, fixed, by, &after.evidence),
        };
        // Inputs that do not vary leave nothing to follow.
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
        changes.push(LibraryChange { library, by, nodes, lines: all });
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
        // The nearest of those between the same candidates.
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

/// Whether two crossovers are farther apart than their intervals explain. An end beyond the
/// measured range leaves any place possible.
fn is_moved(old: &Crossover, new: &Crossover) -> bool {
    if old.at <= 0.0 || new.at <= 0.0 {
        return false;
    }
    let deviation = |one: &Crossover| match one.interval {
        Some((Some(low), Some(high))) if low > 0.0 => (high / low).ln() / (2.0 * NORMAL),
        Some(_) => f64::INFINITY,
        None => 0.0,
    };
    let apart = (new.at / old.at).ln().abs();
    apart > NORMAL * deviation(old).hypot(deviation(new)).max(1e-3)
}

/// What the choices before lose by the models after, along a line: on average, at most, and where.
fn kept((was, one): (&Competition, &Crossovers), is: &Competition) -> Option<(f64, f64, f64)> {
    let by = was.inputs().iter().position(|input| *input == one.crossings.by)?;
    let scale = crossings::scale(was, by).ok()?;
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
