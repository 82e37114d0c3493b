//! The selection itself: best parameters of each candidate, then the best candidate.

use super::choice::{Choice, Outcome, RunnerUp};
use super::{Candidate, MAX_CANDIDATES, MAX_PARAMETERS, Parameter, Parameters, Pin};
use crate::{Prediction, Seconds, optimise};

/// Up to so many combinations of parameters are all tried.
const EXHAUSTIVE: u64 = 64;

/// How often coordinate descent goes round the parameters before it gives up improving.
const ROUNDS: usize = 8;

/// Why nothing could be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChooseError {
    /// There are no candidates.
    #[error("the library `{library}` has no candidates to choose from")]
    NoCandidates {
        /// The library.
        library: &'static str,
    },
    /// There are too many candidates, or one has too many parameters.
    #[error(
        "the library `{library}` has {candidates} candidates; at most {MAX_CANDIDATES}, each with at most {MAX_PARAMETERS} parameters, can compete"
    )]
    TooMany {
        /// The library.
        library: &'static str,
        /// How many candidates there are.
        candidates: usize,
    },
    /// No candidate is correct for this problem.
    #[error("no candidate of `{library}` applies to this problem: {}", names.join(", "))]
    NoneApplies {
        /// The library.
        library: &'static str,
        /// The candidates.
        names: Vec<&'static str>,
    },
    /// The pin names a candidate that does not exist.
    #[error("`{pin}` pins a candidate that `{library}` does not have; it has {}", names.join(", "))]
    UnknownCandidate {
        /// The library.
        library: &'static str,
        /// The pin.
        pin: String,
        /// The candidates.
        names: Vec<&'static str>,
    },
    /// The pin's parameters do not suit the candidate.
    #[error("`{pin}` does not suit the candidate: {message}")]
    PinnedParameters {
        /// The pin.
        pin: String,
        /// What is wrong.
        message: String,
    },
    /// The pinned candidate is not correct for this problem.
    #[error("`{pin}` pins a candidate that does not apply to this problem: unpin it, or pin another")]
    PinnedDoesNotApply {
        /// The pin.
        pin: String,
    },
}

/// Chooses the fastest candidate for `problem`, with its best parameters.
///
/// Candidates that do not apply are left out; so are those without a prediction (a time that is NaN, infinite or negative is
/// none). A candidate whose model failed comes after all others, however fast it claims to be. The first named wins a tie. If no candidate has a prediction the first that applies is taken, with each parameter in
/// the middle of its range, and the choice says so. A pin of this library decides instead of the models, its missing parameters are
/// optimised; a pin of another library is ignored. Without an error nothing is allocated.
///
/// # Errors
/// See [`ChooseError`]: there is nothing to choose from, or the pin is at fault.
pub fn choose<P: ?Sized, C>(
    library: &'static str,
    candidates: &[&dyn Candidate<P, C>],
    problem: &P,
    pin: Option<&Pin>,
) -> Result<Choice, ChooseError> {
    if candidates.is_empty() {
        return Err(ChooseError::NoCandidates { library });
    }
    if candidates.len() > MAX_CANDIDATES || candidates.iter().any(|c| c.parameters().len() > MAX_PARAMETERS) {
        return Err(ChooseError::TooMany { library, candidates: candidates.len() });
    }
    let pinned = match pin.filter(|pin| pin.library == library) {
        Some(pin) => Some((pinned_index(library, candidates, problem, pin)?, pin)),
        None => None,
    };
    let mut all = [Outcome::NotApplicable; MAX_CANDIDATES];
    let mut best: Option<(usize, Best)> = None;
    let mut second: Option<(usize, Best)> = None;
    let mut first_that_applies = None;
    for (index, candidate) in candidates.iter().enumerate() {
        if !candidate.applies(problem) {
            continue;
        }
        first_that_applies.get_or_insert(index);
        let fixed =
            pinned.filter(|(at, _)| *at == index).and_then(|(_, pin)| Parameters::new(&pin.parameters));
        let found = match fixed {
            Some(fixed) if !fixed.is_empty() => cost(*candidate, problem, fixed),
            _ => optimise(*candidate, problem),
        };
        let Some(found) = found else {
            all[index] = Outcome::OutOfRange;
            continue;
        };
        all[index] = if candidate.verdict(problem).trusted() {
            Outcome::Slower(found.seconds, found.parameters)
        } else {
            Outcome::Failed(found.seconds, found.parameters)
        };
        let before = |other: &Option<(usize, Best)>| {
            other.as_ref().is_none_or(|(other, found_there)| {
                let failed = |index: usize| matches!(all[index], Outcome::Failed(..));
                match (failed(index), failed(*other)) {
                    (false, true) => true,
                    (true, false) => false,
                    _ => found.seconds < found_there.seconds,
                }
            })
        };
        if before(&best) {
            second = best.replace((index, found));
        } else if before(&second) {
            second = Some((index, found));
        }
    }
    // Where nothing is trusted the least time is still the best guess there is.
    if let (None, Some((first, _))) = (pinned, &best)
        && matches!(all[*first], Outcome::Failed(..))
    {
        all = all.map(|outcome| match outcome {
            Outcome::Failed(seconds, parameters) => Outcome::Slower(seconds, parameters),
            other => other,
        });
    }
    let (index, parameters, runner_up) = match (pinned, best) {
        (Some((index, pin)), best) => {
            let parameters = match (all[index], Parameters::new(&pin.parameters)) {
                (_, Some(fixed)) if !fixed.is_empty() => fixed,
                (Outcome::Slower(_, parameters) | Outcome::Failed(_, parameters), _) => parameters,
                _ => middle(candidates[index].parameters()),
            };
            let other = if best.as_ref().is_some_and(|(best, _)| *best == index) { second } else { best };
            all = all.map(|outcome| {
                if let Outcome::OutOfRange | Outcome::Slower(..) | Outcome::Failed(..) = outcome {
                    Outcome::PinnedAway
                } else {
                    outcome
                }
            });
            (index, parameters, other)
        }
        (None, Some((index, best))) => (index, best.parameters, second),
        (None, None) => match first_that_applies {
            Some(index) => (index, middle(candidates[index].parameters()), None),
            None => return Err(ChooseError::NoneApplies { library, names: names(candidates) }),
        },
    };
    all[index] = Outcome::Taken;
    let chosen = candidates[index];
    let mut choice = Choice {
        library,
        index,
        name: chosen.name(),
        parameters,
        predicted: chosen
            .predict(problem, &parameters)
            .or_else(|| without_spread(chosen, problem, &parameters)),
        verdict: chosen.verdict(problem),
        runner_up: runner_up.map(|(index, best)| RunnerUp {
            index,
            name: candidates[index].name(),
            parameters: best.parameters,
            seconds: best.seconds,
        }),
        pinned: pinned.is_some(),
        note: None,
        count: candidates.len(),
        names: [""; MAX_CANDIDATES],
        declared: [&[]; MAX_CANDIDATES],
        all,
    };
    for (index, candidate) in candidates.iter().enumerate() {
        choice.names[index] = candidate.name();
        choice.declared[index] = candidate.parameters();
    }
    Ok(choice)
}

/// The least time found, and where.
#[derive(Clone, Copy)]
struct Best {
    seconds: Seconds,
    parameters: Parameters,
}

fn names<P: ?Sized, C>(candidates: &[&dyn Candidate<P, C>]) -> Vec<&'static str> {
    candidates.iter().map(|candidate| candidate.name()).collect()
}

/// The place of the pinned candidate, if the pin is in order.
fn pinned_index<P: ?Sized, C>(
    library: &'static str,
    candidates: &[&dyn Candidate<P, C>],
    problem: &P,
    pin: &Pin,
) -> Result<usize, ChooseError> {
    let Some(index) = candidates.iter().position(|candidate| candidate.name() == pin.candidate) else {
        return Err(ChooseError::UnknownCandidate {
            library,
            pin: pin.to_string(),
            names: names(candidates),
        });
    };
    let declared = candidates[index].parameters();
    let fail = |message: String| Err(ChooseError::PinnedParameters { pin: pin.to_string(), message });
    if !pin.parameters.is_empty() && pin.parameters.len() != declared.len() {
        return fail(format!(
            "`{}` has {} parameters, {} are given",
            pin.candidate,
            declared.len(),
            pin.parameters.len()
        ));
    }
    for (Parameter { name, min, max }, value) in declared.iter().zip(&pin.parameters) {
        if !(min..=max).contains(&value) {
            return fail(format!("`{name}` must lie in {min}..={max}, but it is {value}"));
        }
    }
    if !candidates[index].applies(problem) {
        return Err(ChooseError::PinnedDoesNotApply { pin: pin.to_string() });
    }
    Ok(index)
}

fn cost<P: ?Sized, C>(candidate: &dyn Candidate<P, C>, problem: &P, parameters: Parameters) -> Option<Best> {
    let seconds = candidate.seconds(problem, &parameters).and_then(Seconds::new)?;
    Some(Best { seconds, parameters })
}

/// A time whose interval could not be computed is still a time.
fn without_spread<P: ?Sized, C>(
    candidate: &dyn Candidate<P, C>,
    problem: &P,
    parameters: &[i64],
) -> Option<Prediction> {
    Prediction::new(candidate.seconds(problem, parameters)?, 0.0)
}

fn middle(declared: &[Parameter]) -> Parameters {
    let mut parameters = Parameters { values: [0; MAX_PARAMETERS], count: declared.len() as u8 };
    for (value, parameter) in parameters.as_mut_slice().iter_mut().zip(declared) {
        *value = i64::midpoint(parameter.min, parameter.max);
    }
    parameters
}

/// The best parameters of one candidate: all are tried if they are few; else each in turn, from several starts.
fn optimise<P: ?Sized, C>(candidate: &dyn Candidate<P, C>, problem: &P) -> Option<Best> {
    let declared = candidate.parameters();
    if declared.iter().any(|parameter| parameter.min > parameter.max) {
        return None;
    }
    let combinations =
        declared.iter().map(|p| p.max.abs_diff(p.min).saturating_add(1)).fold(1, u64::saturating_mul);
    if combinations <= EXHAUSTIVE {
        return try_all(candidate, problem, declared);
    }
    let mut best: Option<Best> = None;
    for start in 0..3_i64 {
        let mut at = middle(declared);
        for (value, parameter) in at.as_mut_slice().iter_mut().zip(declared) {
            *value = [*value, parameter.min, parameter.max][start as usize];
        }
        if let Some(found) = descend(candidate, problem, declared, at)
            && best.is_none_or(|best| found.seconds < best.seconds)
        {
            best = Some(found);
        }
        if declared.len() == 1 {
            break; // One parameter is searched over its whole range: the start plays no part.
        }
    }
    best
}

/// Tries every combination of parameters: the last one runs fastest, like a milometer, in a loop of its own for speed.
fn try_all<P: ?Sized, C>(
    candidate: &dyn Candidate<P, C>,
    problem: &P,
    declared: &[Parameter],
) -> Option<Best> {
    let mut at = middle(declared);
    for (value, parameter) in at.as_mut_slice().iter_mut().zip(declared) {
        *value = parameter.min;
    }
    let Some((last, slower)) = declared.split_last() else { return cost(candidate, problem, at) };
    let (mut least, mut best) = (f64::INFINITY, at);
    loop {
        let mut place = None;
        for value in last.min..=last.max {
            at.values[slower.len()] = value;
            // Also false for NaN.
            if let Some(seconds) = candidate.seconds(problem, at.as_slice())
                && seconds < least
                && seconds >= 0.0
            {
                (least, place) = (seconds, Some(value));
            }
        }
        if let Some(value) = place {
            best = at;
            best.values[slower.len()] = value;
        }
        let mut turned = true;
        for (value, parameter) in at.values.iter_mut().zip(slower).rev() {
            if *value < parameter.max {
                *value += 1;
                turned = false;
                break;
            }
            *value = parameter.min;
        }
        if turned {
            return Some(Best { seconds: Seconds::new(least)?, parameters: best });
        }
    }
}

/// Optimises one parameter after the other until none improves.
fn descend<P: ?Sized, C>(
    candidate: &dyn Candidate<P, C>,
    problem: &P,
    declared: &[Parameter],
    mut at: Parameters,
) -> Option<Best> {
    let mut best = cost(candidate, problem, at);
    for _ in 0..ROUNDS {
        let before = best.map(|best| best.seconds);
        for (index, parameter) in declared.iter().enumerate() {
            let mut trial = at;
            trial.as_mut_slice()[index] = optimise::global_minimum(parameter.min, parameter.max, |value| {
                let mut here = at;
                here.as_mut_slice()[index] = value;
                cost(candidate, problem, here).map_or(f64::INFINITY, |found| found.seconds.get())
            });
            if let Some(found) = cost(candidate, problem, trial)
                && best.is_none_or(|best| found.seconds < best.seconds)
            {
                (best, at) = (Some(found), trial);
            }
        }
        if best.map(|best| best.seconds) == before {
            break;
        }
    }
    best
}
