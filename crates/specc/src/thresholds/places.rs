//! Where the choice of a library changes along one of its inputs.
//!
//! [`compute`] follows the choice along the input with the widest range, or along a given one, at a
//! few values of a second input, and finds the places at which another candidate, or other values
//! of its parameters, are chosen. Values of parameters that tie belong to one [`Way`] if one value
//! among them is the best, or ties, in the whole [`Segment`].

use strata_model::{Kinds, kind_text};
use strata_report::SURE;

use crate::competition::Competition;
use crate::map;

mod along;
mod numbers;
mod segments;

use along::Along;
pub(crate) use along::{Scale, Takes};
pub(crate) use numbers::{number, places};
pub use segments::{Crossing, Line, Segment, Way};

/// The most values of the second input.
const LINES: usize = 4;
/// The greatest loss from segments that plots leave out.
const LITTLE: f64 = 0.02;

/// The choices along an input, at some values of another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossings {
    /// The library's name.
    pub library: String,
    /// The number of nodes.
    pub nodes: usize,
    /// The input along which the choice is followed.
    pub by: String,
    /// The second input; `None` if there is only one.
    pub across: Option<String>,
    /// The other inputs, held fixed at these values.
    pub held: Vec<(String, f64)>,
    /// The inputs that are one of a few names.
    pub kinds: Kinds,
    /// The names of the candidates.
    pub candidates: Vec<String>,
    /// The choices at each value of the second input.
    pub lines: Vec<Line>,
    /// Where round values have predictions of their own: the choices at powers of two, with the second
    /// input in the middle of its range. The other lines are those of other values.
    pub powers: Option<Line>,
}

impl Crossings {
    /// The name of a way as a pin, `radix:11`; with values that tie, `radix:8..11`.
    #[must_use]
    pub fn name(&self, way: &Way) -> String {
        let name = self.candidates.get(way.candidate).map_or("?", String::as_str);
        let value = |(from, to): &(i64, i64)| {
            if from == to { format!(":{from}") } else { format!(":{from}..{to}") }
        };
        way.values.iter().fold(name.to_owned(), |name, values| name + &value(values))
    }

    /// A value of an input for people: a number, or the name for which it stands.
    #[must_use]
    pub fn text(&self, input: &str, value: f64) -> String {
        if self.kinds.contains_key(input) { kind_text(&self.kinds, input, value) } else { number(value) }
    }

    /// The crossings to mark in a plot: those of the important segments, where `counts` accepts the
    /// ways before and after.
    #[must_use]
    pub fn marks(
        &self,
        competition: &Competition,
        counts: &dyn Fn(&Way, &Way) -> bool,
    ) -> Vec<strata_report::Crossing> {
        let mut marks = Vec::new();
        for line in &self.lines {
            let (segments, _) = important(line, LITTLE);
            let changes = segments.windows(2).zip(places(&segments));
            for (pair, label) in changes.filter(|(pair, _)| counts(&pair[0].way, &pair[1].way)) {
                let at = pair[1].from;
                let inputs = self.inputs(competition, line, at);
                let choice = competition.choose(&inputs, None);
                marks.push(strata_report::Crossing {
                    at,
                    label,
                    across: line.at,
                    seconds: choice.ok().and_then(|choice| Some(choice.predicted?.seconds.get())),
                    from: self.name(&pair[0].way),
                    to: self.name(&pair[1].way),
                });
            }
        }
        marks
    }

    /// The ranges in which choices are the fastest with a probability below [`SURE`], as text, one
    /// for each value of the second input: `width = 8: n = 4 to 9 (naive or transposed)`.
    #[must_use]
    pub fn unsure(&self) -> Vec<String> {
        let in_line = |line: &Line| {
            let (segments, _) = important(line, LITTLE);
            let first = segments.first().map(|segment| number(segment.from));
            let last = segments.last().map(|segment| number(segment.to));
            let ends: Vec<String> = first.into_iter().chain(places(&segments)).chain(last).collect();
            let is_unsure = |segment: &Segment| segment.way.beyond.is_none() && !segment.is_sure();
            let mut ranges = Vec::new();
            let mut at = 0;
            for run in segments.chunk_by(|a, b| is_unsure(a) == is_unsure(b)) {
                let (from, to) = (&ends[at], &ends[at + run.len()]);
                at += run.len();
                if is_unsure(&run[0]) {
                    let mut names: Vec<String> = run.iter().map(|segment| self.name(&segment.way)).collect();
                    names.sort_unstable();
                    names.dedup();
                    ranges.push(format!("{} = {from} to {to} ({})", self.by, names.join(" or ")));
                }
            }
            let at = self.across.as_ref().zip(line.at);
            let at =
                at.map_or(String::new(), |(input, value)| format!("{input} = {}: ", self.text(input, value)));
            (!ranges.is_empty()).then(|| at + &ranges.join(", "))
        };
        self.lines.iter().filter_map(in_line).collect()
    }

    /// All inputs at one place of a line; `value` is that of the input along which it goes.
    pub(crate) fn inputs(&self, competition: &Competition, line: &Line, value: f64) -> Vec<f64> {
        let of = |name: &String| match name {
            name if *name == self.by => Some(value),
            name if Some(name) == self.across.as_ref() => line.at,
            name => self.held.iter().find(|(held, _)| held == name).map(|(_, value)| *value),
        };
        competition.inputs().iter().map(|name| of(name).unwrap_or(0.0)).collect()
    }
}

/// Follows the choice along the input `by` or, without it, along the one with the widest range that
/// `fixed` leaves free. Inputs beyond the second are held in the middle of their range.
///
/// # Errors
/// A message: no input is free, `by` is held fixed, or an input has no range.
pub fn compute(
    competition: &Competition,
    fixed: &[(String, f64)],
    by: Option<&str>,
) -> Result<Crossings, String> {
    let names = competition.inputs();
    let held = |input: usize| fixed.iter().find(|(name, _)| *name == names[input]).map(|(_, value)| *value);
    let mut free: Vec<(usize, Scale)> = Vec::new();
    for input in (0..names.len()).filter(|input| held(*input).is_none()) {
        free.push((input, scale(competition, input)?));
    }
    // Among inputs of equal width the first named is taken; kinds, which have no order, come second.
    let is_kind = |input: usize| competition.kinds().contains_key(&names[input]);
    free.sort_by(|a, b| b.1.width().total_cmp(&a.1.width()));
    if let Some(first) = free.iter().position(|(input, _)| !is_kind(*input)) {
        free[..=first].rotate_right(1);
        free[1..].sort_by_key(|(input, _)| !is_kind(*input));
    }
    if let Some(by) = by {
        let Some(place) = free.iter().position(|(input, _)| names[*input] == by) else {
            return Err(format!("`{by}` is held fixed, so that nothing changes along it"));
        };
        free[..=place].rotate_right(1);
    }
    let Some(((along, scale), others)) = free.split_first() else {
        let library = competition.name();
        return Err(format!("all inputs of `{library}` are held fixed; leave one or two free"));
    };
    if is_kind(*along) {
        return Err(format!("nothing crosses along `{}`, which is one of a few names", names[*along]));
    }
    let mut inputs: Vec<f64> = (0..names.len()).map(|input| held(input).unwrap_or(0.0)).collect();
    for (input, scale) in others {
        inputs[*input] = scale.middle();
    }
    let across = others.first().filter(|(_, scale)| scale.width() > 0.0);
    let lines = |input: usize| competition.kinds().get(&names[input]).map_or(LINES, Vec::len);
    let values = across.map_or(vec![0.0], |(input, scale)| scale.some(lines(*input)));
    let mut lines = Vec::new();
    for value in values {
        if let Some((input, _)) = across {
            inputs[*input] = value;
        }
        let walk = Along::new(competition, inputs.clone(), *along, *scale);
        lines.push(Line::of(&walk, across.map(|_| value))?);
    }
    let middle = across.map_or(0.0, |(_, scale)| scale.middle());
    if let Some((input, _)) = across {
        inputs[*input] = middle;
    }
    let powers = (scale.takes == Takes::Beside).then(|| {
        let scale = Scale { takes: Takes::Powers, ..*scale };
        Line::of(&Along::new(competition, inputs.clone(), *along, scale), across.map(|_| middle))
    });
    let is_held = |input: &usize| input != along && across.is_none_or(|(second, _)| second != input);
    Ok(Crossings {
        library: competition.name().to_owned(),
        nodes: competition.nodes(),
        by: names[*along].clone(),
        across: across.map(|(input, _)| names[*input].clone()),
        held: (0..names.len()).filter(is_held).map(|input| (names[input].clone(), inputs[input])).collect(),
        kinds: competition.kinds().clone(),
        candidates: competition.candidates().iter().map(|row| row.name.to_owned()).collect(),
        lines,
        powers: powers.transpose()?,
    })
}

/// The fewest segments of a line (at least two) whose loss is at most `small`, and that loss.
pub(crate) fn important(line: &Line, small: f64) -> (Vec<Segment>, f64) {
    let mut few = (2..line.segments.len()).map(|most| line.most_important(most));
    few.find(|(_, loss)| *loss <= small).unwrap_or((line.segments.clone(), 0.0))
}

/// The range of an input.
///
/// # Errors
/// The input has no range.
pub(crate) fn scale(competition: &Competition, input: usize) -> Result<Scale, String> {
    let (low, high) = competition.range(input);
    if low.is_finite() && high.is_finite() && low <= high {
        let takes = if competition.is_round(input) { Takes::Beside } else { Takes::All };
        return Ok(Scale { low, high, whole: competition.is_whole(input), takes });
    }
    Err(map::no_range(&competition.inputs()[input]))
}

impl Segment {
    /// Whether the way is the fastest with a probability of at least [`SURE`]; also true if the
    /// probability is not known.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        self.fastest.is_none_or(|fastest| fastest >= SURE)
    }
}
