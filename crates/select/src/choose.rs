//! The selection itself: the best parameters of each candidate, then the best candidate.

use crate::{
    Choice, ChooseError, Fault, MAX_PARAMETERS, Outcome, Parameter, Parameters, Pin, Prediction, Row,
    RunnerUp, Seconds, Verdict, optimise,
};

/// Up to this many combinations of parameters are tried exhaustively.
const EXHAUSTIVE: u64 = 64;

/// Rounds of coordinate descent over the parameters before it stops.
const ROUNDS: usize = 8;

/// One implementation of an operation. `P` describes the problem, `C` is the data that it works on.
pub trait Candidate<P: ?Sized, C> {
    /// Stable name, used by logs and pins.
    fn name(&self) -> &'static str;

    /// Whether the candidate is correct for this problem, regardless of speed.
    fn applies(&self, _problem: &P) -> bool {
        true
    }

    /// The candidate's parameters; at most [`MAX_PARAMETERS`].
    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }

    /// The predicted time in seconds with these parameters; `None` outside what was measured or
    /// required. Must be fast and must not allocate: it is called for every value of the
    /// parameters.
    fn seconds(&self, problem: &P, parameters: &[i64]) -> Option<f64>;

    /// The value of the function whose root is one of the parameters, if there is such a
    /// [`Root`](crate::Root).
    fn sign(&self, _problem: &P, _parameters: &[i64]) -> Option<f64> {
        None
    }

    /// The prediction with its interval, called once, for the explanation. By default the time
    /// alone.
    fn predict(&self, problem: &P, parameters: &[i64]) -> Option<Prediction> {
        Prediction::new(self.seconds(problem, parameters)?, 0.0)
    }

    /// The verdict on its model, for the explanation only: it does not affect the choice.
    fn verdict(&self, _problem: &P) -> Verdict {
        Verdict::Unverified
    }

    /// The factor from a predicted to the expected time, see
    /// [`Entry::expected_ratio`](crate::Entry).
    fn expected_ratio(&self, _problem: &P) -> f64 {
        1.0
    }

    /// Runs the implementation.
    fn run(&self, context: C, parameters: &[i64]);
}

/// Chooses the fastest candidate for `problem`, with its best parameters.
///
/// Candidates that do not apply are left out; so are those without a prediction (a time that is
/// NaN, infinite or negative is none). A verdict excludes nothing: the prediction of a model that
/// verified badly is only less certain ([`Prediction::deviation`]). The first named wins a tie. If
/// no candidate has a prediction, the first that applies is taken, with each parameter in the
/// middle of its range, and the choice says so. A pin of this library overrides the models; missing
/// parameters are optimised. A pin of another library is ignored, unless its name resembles this
/// one's. Nothing is allocated.
///
/// # Errors
/// See [`Fault`]: there is nothing to choose from, or the pin is at fault.
pub fn choose<'p, P: ?Sized, C, const N: usize>(
    library: &'static str,
    candidates: &[&dyn Candidate<P, C>; N],
    problem: &P,
    pin: Option<Pin<'p>>,
) -> Result<Choice<[Row; N]>, ChooseError<'p, [Row; N]>> {
    choose_with_rows(library, candidates, problem, pin, [Row::EMPTY; N])
}

/// As [`choose`], for any number of candidates: `rows` has a row for each, in which the choice
/// stores its results.
///
/// # Errors
/// As [`choose`].
pub fn choose_with_rows<'p, P: ?Sized, C, R: AsRef<[Row]> + AsMut<[Row]>>(
    library: &'static str,
    candidates: &[&dyn Candidate<P, C>],
    problem: &P,
    pin: Option<Pin<'p>>,
    mut rows: R,
) -> Result<Choice<R>, ChooseError<'p, R>> {
    for (row, candidate) in rows.as_mut().iter_mut().zip(candidates) {
        *row = Row::new(candidate.name(), candidate.parameters());
    }
    decide(library, rows, &Dynamic { candidates, problem }, pin)
}

/// The competing candidates, by index.
pub(crate) trait Field {
    fn applies(&self, index: usize) -> bool;
    fn seconds(&self, index: usize, parameters: &[i64]) -> Option<f64>;
    fn sign(&self, index: usize, parameters: &[i64]) -> Option<f64>;
    fn predict(&self, index: usize, parameters: &[i64]) -> Option<Prediction>;
    fn verdict(&self, index: usize) -> Verdict;
    fn expected_ratio(&self, index: usize) -> f64;
}

struct Dynamic<'a, P: ?Sized, C> {
    candidates: &'a [&'a dyn Candidate<P, C>],
    problem: &'a P,
}

impl<P: ?Sized, C> Field for Dynamic<'_, P, C> {
    fn applies(&self, index: usize) -> bool {
        self.candidates.get(index).is_some_and(|candidate| candidate.applies(self.problem))
    }

    #[inline]
    fn seconds(&self, index: usize, parameters: &[i64]) -> Option<f64> {
        self.candidates[index].seconds(self.problem, parameters)
    }

    fn sign(&self, index: usize, parameters: &[i64]) -> Option<f64> {
        self.candidates[index].sign(self.problem, parameters)
    }

    fn predict(&self, index: usize, parameters: &[i64]) -> Option<Prediction> {
        self.candidates[index].predict(self.problem, parameters)
    }

    fn verdict(&self, index: usize) -> Verdict {
        self.candidates[index].verdict(self.problem)
    }

    fn expected_ratio(&self, index: usize) -> f64 {
        self.candidates[index].expected_ratio(self.problem)
    }
}

/// Chooses among the candidates in `rows`.
pub(crate) fn decide<'p, R: AsRef<[Row]> + AsMut<[Row]>>(
    library: &'static str,
    mut rows: R,
    field: &impl Field,
    pin: Option<Pin<'p>>,
) -> Result<Choice<R>, ChooseError<'p, R>> {
    match rank(rows.as_mut(), library, field, pin) {
        Err(fault) => Err(ChooseError { library, pin, fault, rows }),
        Ok(Ranked { index, parameters, expected, runner_up, pinned }) => {
            let all = rows.as_mut();
            all[index].outcome = Outcome::Taken;
            let name = all[index].name;
            let time = |index, parameters: &[i64]| Prediction::new(field.seconds(index, parameters)?, 0.0);
            Ok(Choice {
                library,
                index,
                name,
                parameters,
                // A time whose interval cannot be computed is still a time.
                predicted: field.predict(index, &parameters).or_else(|| time(index, &parameters)),
                expected,
                verdict: field.verdict(index),
                runner_up: runner_up.map(|(index, best)| RunnerUp {
                    index,
                    name: all[index].name,
                    parameters: best.parameters,
                    seconds: best.seconds,
                }),
                pinned,
                note: None,
                distance: 0.0,
                rows,
            })
        }
    }
}

/// The winner.
struct Ranked {
    index: usize,
    parameters: Parameters,
    expected: Option<Seconds>,
    runner_up: Option<(usize, Best)>,
    pinned: bool,
}

fn rank<'p>(
    rows: &mut [Row],
    library: &str,
    field: &impl Field,
    pin: Option<Pin<'p>>,
) -> Result<Ranked, Fault<'p>> {
    if rows.is_empty() {
        return Err(Fault::NoCandidates);
    }
    if let Some(row) = rows.iter().find(|row| row.declared.len() > MAX_PARAMETERS) {
        return Err(Fault::TooManyParameters(row.name));
    }
    let pinned = match pin {
        Some(pin) if pin.library == library => Some((pinned_index(rows, field, pin)?, pin.parameters)),
        Some(pin) if crate::closest(pin.library, [library]).is_some() => return Err(Fault::OtherLibrary),
        _ => None,
    };
    let mut best: Option<(usize, Best)> = None;
    let mut second: Option<(usize, Best)> = None;
    let mut first_that_applies = None;
    for (index, row) in rows.iter_mut().enumerate() {
        if !field.applies(index) {
            continue;
        }
        first_that_applies.get_or_insert(index);
        let found = match pinned {
            Some((at, fixed)) if at == index && !fixed.is_empty() => {
                cost(&|parameters| field.seconds(index, parameters), fixed)
            }
            _ => best_of(field, index, row.declared),
        };
        let Some(found) = found else {
            row.outcome = Outcome::OutOfRange;
            continue;
        };
        let expected = found.seconds.get() * field.expected_ratio(index);
        let found = Best { seconds: Seconds::new(expected).unwrap_or(found.seconds), ..found };
        row.outcome = Outcome::Slower(found.seconds, found.parameters);
        let before = |other: &Option<(usize, Best)>| {
            other.as_ref().is_none_or(|(_, there)| found.seconds < there.seconds)
        };
        if before(&best) {
            second = best.replace((index, found));
        } else if before(&second) {
            second = Some((index, found));
        }
    }
    if let Some((index, fixed)) = pinned {
        let (expected, parameters) = match rows[index].outcome {
            Outcome::Slower(seconds, parameters) => (Some(seconds), parameters),
            _ => (None, if fixed.is_empty() { middle(rows[index].declared) } else { fixed }),
        };
        for row in rows.iter_mut().filter(|row| row.outcome != Outcome::NotApplicable) {
            row.outcome = Outcome::PinnedAway;
        }
        let runner_up = if best.as_ref().is_some_and(|(best, _)| *best == index) { second } else { best };
        return Ok(Ranked { index, parameters, expected, runner_up, pinned: true });
    }
    let Some((index, found)) = best else {
        let index = first_that_applies.ok_or(Fault::NoneApplies)?;
        let parameters = middle(rows[index].declared);
        return Ok(Ranked { index, parameters, expected: None, runner_up: None, pinned: false });
    };
    let (parameters, expected) = (found.parameters, Some(found.seconds));
    Ok(Ranked { index, parameters, expected, runner_up: second, pinned: false })
}

/// The index of the pinned candidate, if the pin is valid.
fn pinned_index<'p>(rows: &[Row], field: &impl Field, pin: Pin<'p>) -> Result<usize, Fault<'p>> {
    let index = rows.iter().position(|row| row.name == pin.candidate).ok_or(Fault::UnknownCandidate)?;
    let declared = rows[index].declared;
    if !pin.parameters.is_empty() && pin.parameters.len() != declared.len() {
        return Err(Fault::ParameterCount(declared.len()));
    }
    for (parameter, value) in declared.iter().zip(pin.parameters.iter()) {
        if !parameter.contains(*value) {
            return Err(Fault::ParameterValue(*parameter, *value));
        }
    }
    if field.applies(index) { Ok(index) } else { Err(Fault::DoesNotApply) }
}

/// The least time found, and its parameters.
#[derive(Clone, Copy)]
struct Best {
    seconds: Seconds,
    parameters: Parameters,
}

/// The time with given parameters, of one candidate.
trait Cost: Fn(&[i64]) -> Option<f64> {}

impl<F: Fn(&[i64]) -> Option<f64>> Cost for F {}

fn cost(seconds: &impl Cost, parameters: Parameters) -> Option<Best> {
    Some(Best { seconds: Seconds::new(seconds(&parameters)?)?, parameters })
}

fn middle(declared: &[Parameter]) -> Parameters {
    Parameters::of(declared, |parameter| {
        let (first, last) = parameter.places();
        parameter.at(i64::midpoint(first, last.max(first)))
    })
}

/// The best parameters of one candidate. One that is a root follows from the others.
fn best_of(field: &impl Field, index: usize, declared: &[Parameter]) -> Option<Best> {
    let Some(at) = declared.iter().position(|parameter| parameter.root.is_some()) else {
        return optimise(&|parameters: &[i64]| field.seconds(index, parameters), declared);
    };
    let (before, rooted, after) = (&declared[..at], declared[at], &declared[at + 1..]);
    if rooted.min > rooted.max {
        return None;
    }
    let all = |others: &[i64]| {
        let (before, after) = others.split_at_checked(at)?;
        let with = |root: i64| {
            let mut all = Parameters::NONE;
            for value in before.iter().chain([&root]).chain(after) {
                all.push(*value)?;
            }
            Some(all)
        };
        let sign = |root: i64| field.sign(index, &with(root)?).filter(|sign| !sign.is_nan());
        // Where nothing is known any more the sign counts as changed.
        let beyond = if sign(rooted.min)? < 0.0 { 1.0 } else { -1.0 };
        let root = optimise::integer_root(rooted.min, rooted.max, |root| sign(root).unwrap_or(beyond));
        with(root.clamp(rooted.min, rooted.max))
    };
    let mut others = [Parameter::new("", 0, 0); MAX_PARAMETERS];
    for (place, parameter) in others.iter_mut().zip(before.iter().chain(after)) {
        *place = *parameter;
    }
    let others = &others[..declared.len() - 1];
    let found = optimise(&|others: &[i64]| field.seconds(index, &all(others)?), others)?;
    Some(Best { parameters: all(&found.parameters)?, ..found })
}

/// The best parameters by their time: exhaustive if there are few combinations, otherwise
/// coordinate descent from several starts.
fn optimise(seconds: &impl Cost, declared: &[Parameter]) -> Option<Best> {
    let combinations = declared.iter().map(Parameter::count).fold(1, u64::saturating_mul);
    if combinations == 0 {
        return None;
    }
    if combinations <= EXHAUSTIVE {
        return try_all(seconds, declared);
    }
    let starts: [fn(&Parameter) -> i64; 3] =
        [|p| p.at(i64::midpoint(p.places().0, p.places().1)), |p| p.min, |p| p.at(p.places().1)];
    let mut best: Option<Best> = None;
    for start in starts {
        if let Some(found) = descend(seconds, declared, Parameters::of(declared, start))
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

/// Tries every combination of parameters; the last parameter changes fastest, in its own loop for
/// speed.
fn try_all(seconds: &impl Cost, declared: &[Parameter]) -> Option<Best> {
    let mut at = Parameters::of(declared, |parameter| parameter.min);
    let Some((last, slower)) = declared.split_last() else { return cost(seconds, at) };
    let (mut least, mut best) = (f64::INFINITY, at);
    loop {
        let mut place = None;
        let mut value = last.min;
        loop {
            at.as_mut_slice()[slower.len()] = value;
            // Also false for NaN.
            if let Some(time) = seconds(at.as_slice())
                && time < least
                && time >= 0.0
            {
                (least, place) = (time, Some(value));
            }
            match last.after(value) {
                Some(next) => value = next,
                None => break,
            }
        }
        if let Some(value) = place {
            best = at;
            best.as_mut_slice()[slower.len()] = value;
        }
        let mut turned = true;
        for (value, parameter) in at.as_mut_slice().iter_mut().zip(slower).rev() {
            if let Some(next) = parameter.after(*value) {
                *value = next;
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

/// Optimises one parameter after the other until none improves the time.
fn descend(seconds: &impl Cost, declared: &[Parameter], mut at: Parameters) -> Option<Best> {
    let mut best = cost(seconds, at);
    for _ in 0..ROUNDS {
        let before = best.map(|best| best.seconds);
        for (which, parameter) in declared.iter().enumerate() {
            let with = |place: i64| {
                let mut trial = at;
                trial.as_mut_slice()[which] = parameter.at(place);
                cost(seconds, trial)
            };
            let (first, last) = parameter.places();
            let place = optimise::global_minimum(first, last, |place| {
                with(place).map_or(f64::INFINITY, |found| found.seconds.get())
            });
            if let Some(found) = with(place)
                && best.is_none_or(|best| found.seconds < best.seconds)
            {
                (best, at) = (Some(found), found.parameters);
            }
        }
        if best.map(|best| best.seconds) == before {
            break;
        }
    }
    best
}
