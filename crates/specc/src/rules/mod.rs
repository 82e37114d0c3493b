//! Rules for Open MPI: the sizes at which an algorithm is surely faster than the
//! library's own choice.
//!
//! A library of a model set is a collective, its candidates are algorithms, and the candidate
//! [`AUTO`] is the library's own choice. [`chosen`] finds the ranges for a rule; [`obeyed`] shows
//! that Open MPI follows a file.

pub mod obeyed;

use strata_interchange::rules::{AUTO, Chosen, Range};
use strata_select::normal::HALF_WIDTH;

use crate::competition::Competition;
use crate::thresholds::places::{self, Scale};

/// The number of sizes over the whole range at which a gain is looked at.
const POINTS: usize = 128;

/// The least gain worth a rule.
pub(crate) const LEAST_GAIN: f64 = 1.02;

/// The gain over the library's own choice: the logarithm of the ratio of times, and its standard
/// deviation.
#[derive(Clone, Copy, Debug)]
struct Gain {
    log: f64,
    deviation: f64,
}

impl Gain {
    /// `None` without a model of both.
    fn of(competition: &Competition, auto: usize, inputs: &[f64], way: (usize, &[i64])) -> Option<Self> {
        let predicted = |candidate: usize, parameters: &[i64]| {
            let prediction = competition.prediction(candidate, inputs, parameters)?;
            let seconds = competition.expected(candidate, inputs, parameters)?;
            (seconds > 0.0).then_some((seconds.ln(), prediction.deviation.get() / prediction.seconds.get()))
        };
        let (own, other) = (predicted(auto, &[])?, predicted(way.0, way.1)?);
        Some(Self { log: own.0 - other.0, deviation: own.1.hypot(other.1) })
    }

    /// Whether the gain lies outside the 95 % interval of no gain.
    fn is_sure(self) -> bool {
        self.log >= LEAST_GAIN.ln().max(HALF_WIDTH * self.deviation)
    }

    /// `: 1.31 times as fast (1.12 to 1.53)`.
    fn text(self) -> String {
        let [mid, low, high] =
            [0.0, -HALF_WIDTH, HALF_WIDTH].map(|by| (self.log + by * self.deviation).exp());
        format!(": {mid:.2} times as fast ({low:.2} to {high:.2})")
    }
}

/// The ranges of sizes for which a library gets rules, on the competition's number of nodes, with
/// the inputs in `fixed` held. A range is given up to a neighbour if the rules then lose no more
/// than `lose`, a share of the time.
///
/// # Errors
/// A message: the library has no candidate [`AUTO`], more than one free input, or no range.
pub fn chosen(competition: &Competition, fixed: &[(String, f64)], lose: f64) -> Result<Chosen, String> {
    let name = competition.name();
    let auto = competition.candidates().iter().position(|row| row.name == AUTO).ok_or_else(|| {
        format!(
            "`{name}` has no candidate `{AUTO}`, the library's own choice, which rules are compared with: add a \
             model of it"
        )
    })?;
    let names = competition.inputs();
    let free: Vec<usize> =
        (0..names.len()).filter(|input| fixed.iter().all(|(held, _)| *held != names[*input])).collect();
    let ranges = match free.as_slice() {
        [] => constant(competition, auto, fixed)?,
        [by] => along(competition, auto, fixed, *by, lose)?,
        _ => {
            let free: Vec<&str> = free.iter().map(|input| names[*input].as_str()).collect();
            return Err(format!(
                "`{name}`: a rule knows sizes alone, but {} are inputs: hold all but the size with `--at`",
                free.join(" and ")
            ));
        }
    };
    Ok(Chosen { collective: name.to_owned(), processes: competition.nodes() as u64, ranges })
}

/// The values of the held inputs, in order.
fn held(competition: &Competition, fixed: &[(String, f64)]) -> Vec<f64> {
    let value = |name: &String| fixed.iter().find(|(held, _)| held == name).map_or(0.0, |(_, value)| *value);
    competition.inputs().iter().map(value).collect()
}

/// The only range of a library without a size, such as a barrier.
fn constant(competition: &Competition, auto: usize, fixed: &[(String, f64)]) -> Result<Vec<Range>, String> {
    let inputs = held(competition, fixed);
    let choice = competition.choose(&inputs, None).map_err(|error| error.to_string())?;
    let way = (choice.index, choice.parameters.to_vec());
    let gain = Gain::of(competition, auto, &inputs, (way.0, &way.1));
    let gain = gain.filter(|gain| way.0 != auto && gain.is_sure());
    Ok(gain.map(|gain| range(competition, &way, (0, u64::MAX), gain)).into_iter().collect())
}

/// The ranges along the only free input.
fn along(
    competition: &Competition,
    auto: usize,
    fixed: &[(String, f64)],
    by: usize,
    lose: f64,
) -> Result<Vec<Range>, String> {
    let scale: Scale = places::scale(competition, by)?;
    if scale.low < 0.0 {
        return Err(format!("`{}`: a size below zero", competition.name()));
    }
    let found = places::compute(competition, fixed, None)?;
    let Some(line) = found.lines.first() else { return Ok(Vec::new()) };
    let (segments, _) = places::important(line, lose);
    let all = scale.spread(POINTS);
    let mut inputs = held(competition, fixed);
    let mut ranges: Vec<Range> = Vec::new();
    for segment in segments.iter().filter(|one| one.way.candidate != auto && one.way.beyond.is_none()) {
        let is_last = segment.to >= scale.high;
        // The last size belongs to the last segment.
        let end = if is_last { scale.high.floor() + 1.0 } else { segment.to.ceil() };
        let inside = all.iter().copied().filter(|value| *value > segment.from && *value < end);
        let values: Vec<f64> = std::iter::once(segment.from).chain(inside).collect();
        let way = (segment.way.candidate, segment.way.taken.clone());
        let gains: Vec<Option<Gain>> = values
            .iter()
            .map(|value| {
                inputs[by] = *value;
                Gain::of(competition, auto, &inputs, (way.0, &way.1)).filter(|gain| gain.is_sure())
            })
            .collect();
        let mut at = 0;
        for run in gains.chunk_by(|a, b| a.is_some() == b.is_some()) {
            let (first, next) = (at, at + run.len());
            at = next;
            let sure: Vec<Gain> = run.iter().flatten().copied().collect();
            if sure.is_empty() {
                continue;
            }
            let count = sure.len() as f64;
            let mean = Gain {
                log: sure.iter().map(|gain| gain.log).sum::<f64>() / count,
                deviation: sure.iter().map(|gain| gain.deviation).sum::<f64>() / count,
            };
            let to = values.get(next).map_or(end, |value| value.ceil());
            let ends = (values[first].ceil() as u64, to as u64);
            if ends.0 < ends.1 {
                ranges.push(range(competition, &way, ends, mean));
            }
        }
    }
    Ok(ranges)
}

fn range(
    competition: &Competition,
    (candidate, parameters): &(usize, Vec<i64>),
    (from, to): (u64, u64),
    gain: Gain,
) -> Range {
    let names = competition.declared(*candidate).map_or(&[][..], |declared| &declared.parameters);
    Range {
        from,
        to,
        algorithm: competition.candidates()[*candidate].name.to_owned(),
        parameters: names.iter().map(|one| one.name.clone()).zip(parameters.iter().copied()).collect(),
        note: gain.text(),
    }
}
