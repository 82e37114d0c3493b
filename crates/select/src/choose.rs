//! The selection itself: the best parameters of each candidate, then the best candidate.

use crate::{
    Pin, Row, Source,
    choice::{Fault, Outcome, RunnerUp},
    optimise,
    table::{Incumbent, MAX_PARAMETERS, Parameter, Parameters, Prediction, Seconds, octaves},
};

/// Up to this many combinations of parameters are tried exhaustively.
const EXHAUSTIVE: u64 = 64;

/// Rounds of coordinate descent over the parameters before it stops.
const ROUNDS: usize = 8;

/// The candidates that compete for a problem, by index.
pub(crate) struct Contenders<'a, S: ?Sized> {
    pub(crate) source: &'a S,
    pub(crate) nodes: usize,
    pub(crate) cores: usize,
    pub(crate) inputs: &'a [f64],
    pub(crate) applies: &'a dyn Fn(usize) -> bool,
}

/// The parameters of a candidate, each with its range for one problem.
struct Narrowed {
    parameters: [Parameter; MAX_PARAMETERS],
    count: usize,
}

impl Narrowed {
    fn as_slice(&self) -> &[Parameter] {
        &self.parameters[..self.count]
    }
}

/// The range that is searched: the declared one, unless it depends on the problem.
fn searched<'d>(narrowed: &'d Option<Narrowed>, declared: &'d [Parameter]) -> &'d [Parameter] {
    narrowed.as_ref().map_or(declared, Narrowed::as_slice)
}

impl<S: Source + ?Sized> Contenders<'_, S> {
    /// A candidate's parameters with their ranges for this problem; `None` if they are as declared.
    ///
    /// # Errors
    /// The name of a parameter without a value.
    fn narrowed(&self, index: usize, declared: &[Parameter]) -> Result<Option<Narrowed>, &'static str> {
        if declared.iter().all(|parameter| parameter.ends.is_none()) {
            return Ok(None);
        }
        let parameters = [Parameter::new("", 0, 0); MAX_PARAMETERS];
        let mut narrowed = Narrowed { parameters, count: declared.len() };
        for (place, (own, declared)) in narrowed.parameters.iter_mut().zip(declared).enumerate() {
            *own = *declared;
            if let Some((min, max)) = self.source.range(index, place, self.nodes, self.cores, self.inputs) {
                if min > max {
                    return Err(declared.name);
                }
                *own = Parameter { min, max, ..*declared };
            }
        }
        Ok(Some(narrowed))
    }

    /// Each parameter in the middle of its range.
    fn middle(&self, index: usize, declared: &[Parameter]) -> Parameters {
        let narrowed = self.narrowed(index, declared).ok().flatten();
        Parameters::of(searched(&narrowed, declared), |parameter| {
            let (first, last) = parameter.places();
            parameter.at(i64::midpoint(first, last.max(first)))
        })
    }

    #[inline]
    fn seconds(&self, index: usize, parameters: &[i64]) -> Option<f64> {
        self.source.seconds(index, self.nodes, self.inputs, parameters)
    }

    fn sign(&self, index: usize, parameters: &[i64]) -> Option<f64> {
        self.source.sign(index, self.nodes, self.inputs, parameters)
    }

    fn predict(&self, index: usize, parameters: &[i64]) -> Option<Prediction> {
        self.source.predict(index, self.nodes, self.inputs, parameters)
    }
}

/// What [`decide`] found, besides the outcomes in the rows.
pub(crate) struct Decision {
    pub(crate) index: usize,
    pub(crate) parameters: Parameters,
    pub(crate) predicted: Option<Prediction>,
    pub(crate) expected: Option<Seconds>,
    pub(crate) runner_up: Option<RunnerUp>,
    pub(crate) pinned: bool,
    pub(crate) kept: Option<f64>,
}

/// Chooses the fastest of the candidates in `rows`, with its best parameters.
///
/// Candidates that do not apply, or have no prediction (a time that is NaN, infinite or negative is
/// none), are left out. A verdict excludes no candidate: the prediction of a badly verified model
/// is only less certain ([`Prediction::deviation`]). The first named wins a tie. If no candidate
/// has a prediction, the first that applies is taken, with each parameter in the middle of its
/// range, and the choice says so. A pin of this library overrides the models; missing parameters
/// are optimised. A pin of another library is ignored, unless its name resembles this one's.
/// Nothing is allocated.
pub(crate) fn decide<'p, S: Source + ?Sized>(
    library: &'static str,
    rows: &mut [Row],
    contenders: &Contenders<'_, S>,
    pin: Option<Pin<'p>>,
) -> Result<Decision, Fault<'p>> {
    let Ranked { index, parameters, expected, runner_up, pinned, kept } =
        rank(rows, library, contenders, pin)?;
    rows[index].outcome = Outcome::Taken;
    let time = |index, parameters: &[i64]| Prediction::new(contenders.seconds(index, parameters)?, 0.0);
    Ok(Decision {
        index,
        parameters,
        // A time whose interval cannot be computed is still a time.
        predicted: contenders.predict(index, &parameters).or_else(|| time(index, &parameters)),
        expected,
        runner_up: runner_up.map(|(index, best)| RunnerUp {
            index,
            name: rows[index].name,
            parameters: best.parameters,
            seconds: best.seconds,
        }),
        pinned,
        kept,
    })
}

/// The winner.
pub(crate) struct Ranked {
    pub(crate) index: usize,
    pub(crate) parameters: Parameters,
    expected: Option<Seconds>,
    runner_up: Option<(usize, Best)>,
    pinned: bool,
    /// The gain for which the kept incumbent would be left.
    kept: Option<f64>,
}

/// The winner of [`decide`], and in the rows why the others are not.
///
/// # Errors
/// As [`decide`].
pub(crate) fn rank<'p, S: Source + ?Sized>(
    rows: &mut [Row],
    library: &str,
    contenders: &Contenders<'_, S>,
    pin: Option<Pin<'p>>,
) -> Result<Ranked, Fault<'p>> {
    if rows.is_empty() {
        return Err(Fault::NoCandidates);
    }
    if let Some(row) = rows.iter().find(|row| row.declared.len() > MAX_PARAMETERS) {
        return Err(Fault::TooManyParameters(row.name));
    }
    let pinned = match pin {
        Some(pin) if pin.library == library => Some((pinned_index(rows, contenders, pin)?, pin.parameters)),
        Some(pin) if crate::table::closest(pin.library, [library]).is_some() => {
            return Err(Fault::OtherLibrary);
        }
        _ => None,
    };
    let mut best: Option<(usize, Best)> = None;
    let mut second: Option<(usize, Best)> = None;
    let mut first_that_applies = None;
    for (index, row) in rows.iter_mut().enumerate() {
        if row.outcome == Outcome::NeedsProcesses || !(contenders.applies)(index) {
            continue;
        }
        let narrowed = match contenders.narrowed(index, row.declared) {
            Ok(narrowed) => narrowed,
            Err(name) => {
                row.outcome = Outcome::NoValue(name);
                continue;
            }
        };
        first_that_applies.get_or_insert(index);
        let found = match pinned {
            Some((at, fixed)) if at == index && !fixed.is_empty() => {
                cost(&|parameters| contenders.seconds(index, parameters), fixed)
            }
            _ => best_of(contenders, index, searched(&narrowed, row.declared)),
        };
        let Some(found) = found else {
            row.outcome = Outcome::OutOfRange;
            continue;
        };
        let expected = found.seconds.get() * contenders.source.about(index).expected_ratio;
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
            _ => {
                (None, if fixed.is_empty() { contenders.middle(index, rows[index].declared) } else { fixed })
            }
        };
        let competes = |row: &&mut Row| matches!(row.outcome, Outcome::Slower(..) | Outcome::OutOfRange);
        for row in rows.iter_mut().filter(competes) {
            row.outcome = Outcome::PinnedAway;
        }
        let runner_up = if best.as_ref().is_some_and(|(best, _)| *best == index) { second } else { best };
        return Ok(Ranked { index, parameters, expected, runner_up, pinned: true, kept: None });
    }
    let Some((index, found)) = best else {
        let index = first_that_applies.ok_or(Fault::NoneApplies)?;
        let parameters = contenders.middle(index, rows[index].declared);
        return Ok(Ranked { index, parameters, expected: None, runner_up: None, pinned: false, kept: None });
    };
    let (parameters, expected) = (found.parameters, Some(found.seconds));
    let Some((kept, own, gain)) = incumbent(rows, contenders, (index, found)) else {
        return Ok(Ranked { index, parameters, expected, runner_up: second, pinned: false, kept: None });
    };
    let runner_up = if kept == index { second } else { Some((index, found)) };
    let (parameters, expected, kept_for) = (own.parameters, Some(own.seconds), Some(gain));
    Ok(Ranked { index: kept, parameters, expected, runner_up, pinned: false, kept: kept_for })
}

/// The library's incumbent, with the gain for which it is left, if `best` is another candidate that
/// does not promise that gain.
fn incumbent<S: Source + ?Sized>(
    rows: &[Row],
    contenders: &Contenders<'_, S>,
    (index, best): (usize, Best),
) -> Option<(usize, Best, f64)> {
    let Incumbent { candidate, parameters, gain } = contenders.source.info().incumbent?;
    if candidate >= rows.len() || !(contenders.applies)(candidate) {
        return None;
    }
    let narrowed = contenders.narrowed(candidate, rows[candidate].declared).ok()?;
    let ranges = narrowed.as_ref().map_or(&[][..], Narrowed::as_slice);
    if ranges.iter().zip(parameters.iter()).any(|(range, value)| !range.contains(*value)) {
        return None;
    }
    let own = cost(&|parameters: &[i64]| contenders.seconds(candidate, parameters), parameters)?;
    let expected = Seconds::new(own.seconds.get() * contenders.source.about(candidate).expected_ratio)?;
    let other = index != candidate || best.parameters != parameters;
    let stays = other && best.seconds.get() > (1.0 - gain) * expected.get();
    stays.then_some((candidate, Best { seconds: expected, ..own }, gain))
}

/// The index of the pinned candidate, if the pin is valid.
fn pinned_index<'p, S: Source + ?Sized>(
    rows: &[Row],
    contenders: &Contenders<'_, S>,
    pin: Pin<'p>,
) -> Result<usize, Fault<'p>> {
    let index = rows.iter().position(|row| row.name == pin.candidate).ok_or(Fault::UnknownCandidate)?;
    let Ok(narrowed) = contenders.narrowed(index, rows[index].declared) else {
        return Err(Fault::DoesNotApply);
    };
    let declared = searched(&narrowed, rows[index].declared);
    if !pin.parameters.is_empty() && pin.parameters.len() != declared.len() {
        return Err(Fault::ParameterCount(declared.len()));
    }
    for (parameter, value) in declared.iter().zip(pin.parameters.iter()) {
        if !parameter.contains(*value) {
            return Err(Fault::ParameterValue(*parameter, *value));
        }
    }
    match rows[index].outcome {
        Outcome::NeedsProcesses => Err(Fault::NeedsProcesses),
        _ if (contenders.applies)(index) => Ok(index),
        _ => Err(Fault::DoesNotApply),
    }
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

/// The best parameters of one candidate. A parameter that is a root follows from the others.
fn best_of<S: Source + ?Sized>(
    contenders: &Contenders<'_, S>,
    index: usize,
    declared: &[Parameter],
) -> Option<Best> {
    // With a contrast, values were compared by measurement: ties are results, not missing data.
    let middle = contenders.source.about(index).contrast.is_some();
    let Some(at) = declared.iter().position(|parameter| parameter.root.is_some()) else {
        return optimise(&|parameters: &[i64]| contenders.seconds(index, parameters), declared, middle);
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
        let sign = |root: i64| contenders.sign(index, &with(root)?).filter(|sign| !sign.is_nan());
        // Where the function has no value the sign counts as changed.
        let beyond = if sign(rooted.min)? < 0.0 { 1.0 } else { -1.0 };
        let root = optimise::integer_root(rooted.min, rooted.max, |root| sign(root).unwrap_or(beyond));
        with(root.clamp(rooted.min, rooted.max))
    };
    let mut others = [Parameter::new("", 0, 0); MAX_PARAMETERS];
    for (place, parameter) in others.iter_mut().zip(before.iter().chain(after)) {
        *place = *parameter;
    }
    let others = &others[..declared.len() - 1];
    let found = optimise(&|others: &[i64]| contenders.seconds(index, &all(others)?), others, middle)?;
    Some(Best { parameters: all(&found.parameters)?, ..found })
}

/// The best parameters by their time: exhaustive if there are few combinations, otherwise
/// coordinate descent from several starts. `middle`: among neighbouring values of the last
/// parameter with exactly the same time, take the middle one instead of the first.
fn optimise(seconds: &impl Cost, declared: &[Parameter], middle: bool) -> Option<Best> {
    let combinations = declared.iter().map(Parameter::count).fold(1, u64::saturating_mul);
    if combinations == 0 {
        return None;
    }
    if combinations <= EXHAUSTIVE {
        return try_all(seconds, declared, middle);
    }
    let starts: [fn(&Parameter) -> i64; 3] =
        [|p| p.at(i64::midpoint(p.places().0, p.places().1)), |p| p.min, |p| p.at(p.places().1)];
    let mut best: Option<Best> = None;
    for start in starts {
        let found = descend(seconds, declared, Parameters::of(declared, start));
        if let Some(found) =
            found.map(|found| if middle { to_the_middle(seconds, declared, found) } else { found })
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
fn try_all(seconds: &impl Cost, declared: &[Parameter], middle: bool) -> Option<Best> {
    let mut at = Parameters::of(declared, |parameter| parameter.min);
    let Some((last, slower)) = declared.split_last() else { return cost(seconds, at) };
    let (mut least, mut best) = (f64::INFINITY, at);
    loop {
        // The first and the last of consecutive values with the least time.
        let mut tied: Option<(i64, i64)> = None;
        let mut before = None;
        let mut value = last.min;
        loop {
            at.as_mut_slice()[slower.len()] = value;
            // Also false for NaN.
            if let Some(time) = seconds(at.as_slice()) {
                if time < least && time >= 0.0 {
                    (least, tied) = (time, Some((value, value)));
                } else if let Some((_, to)) = &mut tied
                    && time == least
                    && before == Some(*to)
                {
                    *to = value;
                }
            }
            before = Some(value);
            match last.after(value) {
                Some(next) => value = next,
                None => break,
            }
        }
        if let Some((from, to)) = tied {
            best = at;
            best.as_mut_slice()[slower.len()] =
                if from == to || !middle { from } else { middle_of(last, from, to) };
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

/// If neighbours of the last parameter's value take exactly as long, the middle of all of them.
fn to_the_middle(seconds: &impl Cost, declared: &[Parameter], found: Best) -> Best {
    let Some(last) = declared.last() else { return found };
    let which = declared.len() - 1;
    let with = |value: i64| {
        let mut trial = found.parameters;
        trial.as_mut_slice()[which] = value;
        cost(seconds, trial).filter(|trial| trial.seconds == found.seconds)
    };
    let (first, end) = last.places();
    let taken = found.parameters[which];
    let place = match last.step {
        crate::table::Step::ONE => taken,
        _ => last.values().position(|value| value == taken).map_or(first, |place| place as i64),
    };
    // Values that tie are assumed to be consecutive; the returned value ties in any case.
    let edge = |mut tied: i64, mut other: i64| {
        while tied.abs_diff(other) > 1 {
            let middle = i64::midpoint(tied, other);
            if with(last.at(middle)).is_some() { tied = middle } else { other = middle }
        }
        if with(last.at(other)).is_some() { other } else { tied }
    };
    let neighbours = [place.saturating_sub(1).max(first), place.saturating_add(1).min(end)];
    if !neighbours.iter().any(|other| *other != place && with(last.at(*other)).is_some()) {
        return found;
    }
    let (from, to) = (edge(place, first), edge(place, end));
    with(middle_of(last, last.at(from), last.at(to))).unwrap_or(found)
}

/// The value of a parameter between `from` and `to` that is nearest to the middle of their
/// logarithms; of two, the lower one.
fn middle_of(parameter: &Parameter, from: i64, to: i64) -> i64 {
    let octave = |value: i64| octaves(value as f64);
    let middle = 0.5 * (octave(from) + octave(to));
    let (mut best, mut distance) = (from, f64::INFINITY);
    let mut value = Some(from);
    while let Some(here) = value.filter(|value| *value <= to) {
        let away = (octave(here) - middle).abs();
        if away >= distance {
            break;
        }
        (best, distance) = (here, away);
        value = parameter.after(here);
    }
    best
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
        if declared.len() == 1 || best.map(|best| best.seconds) == before {
            break;
        }
    }
    best
}
