//! Segments with one choice, found by bisection, and how important each is.

/// A choice that returns within this factor of the input forms a tooth: a segment that may be
/// merged.
const TOOTH: f64 = 1.1;
/// A tooth stays if its neighbour loses at least this share of the time there.
const WORTH: f64 = 0.01;
/// The number of values in a segment at which times are compared.
const COMPARED: usize = 5;

/// A candidate with values of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// Its index among the candidates.
    pub candidate: usize,
    /// For each parameter one value that is used in the whole segment.
    pub taken: Vec<i64>,
    /// For each parameter the least and the greatest value that could be.
    pub values: Vec<(i64, i64)>,
    /// If no model covers the segment: the reason for this choice, as text.
    pub beyond: Option<String>,
}

/// A part of the input's range in which one way is chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// The least value of the input.
    pub from: f64,
    /// The value at which the next segment begins, or the end of the range.
    pub to: f64,
    /// The choice.
    pub way: Way,
    /// The probability, about the middle of the segment, that the choice is the fastest, if known.
    pub fastest: Option<f64>,
}

/// A change from one way to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing<'a> {
    /// The least value at which `to` is chosen.
    pub at: f64,
    /// The way below.
    pub from: &'a Way,
    /// The way above.
    pub to: &'a Way,
}

/// The removal of a segment, whose range goes to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Drop {
    /// Its index among the segments that are left then.
    place: usize,
    /// Whether the left neighbour takes its range, or the right.
    to_the_left: bool,
    /// The relative loss of time, on average over the segment.
    loss: f64,
}

/// The choices along an input, at one value of a second one.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The value of the second input; `None` if there is none.
    pub at: Option<f64>,
    /// All segments, in order.
    pub segments: Vec<Segment>,
    /// The order of removal, the least important segment first.
    drops: Vec<Drop>,
}

impl Line {
    /// Where the choice changes, in order.
    pub fn crossings(&self) -> impl Iterator<Item = Crossing<'_>> {
        crossings(&self.segments)
    }

    /// The most important segments (at least two of several), and the loss from leaving out the
    /// others: the greatest of their mean losses.
    #[must_use]
    pub fn most_important(&self, most: usize) -> (Vec<Segment>, f64) {
        let (mut left, mut loss) = (self.segments.clone(), 0.0_f64);
        for drop in &self.drops {
            if left.len() <= most.max(2) {
                break;
            }
            let mut fewer = left.clone();
            leave_out(&mut fewer, drop);
            if fewer.len() < 2 {
                break;
            }
            (left, loss) = (fewer, loss.max(drop.loss));
        }
        (left, loss)
    }
}

fn crossings(segments: &[Segment]) -> impl Iterator<Item = Crossing<'_>> {
    segments.windows(2).map(|pair| Crossing { at: pair[1].from, from: &pair[0].way, to: &pair[1].way })
}

/// The choice at one value of the input.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct State {
    pub(super) candidate: usize,
    pub(super) taken: Vec<i64>,
    pub(super) tied: Vec<(i64, i64)>,
    pub(super) beyond: Option<String>,
}

/// The functions that following an input needs.
pub(super) trait Choices {
    /// The choice at this value.
    fn state(&self, value: f64) -> Result<State, String>;
    /// The expected time of a candidate there, if it has one.
    fn seconds(&self, value: f64, candidate: usize, parameters: &[i64]) -> Option<f64>;
    /// The probability that the choice there is the fastest.
    fn fastest(&self, value: f64) -> Option<f64>;
    /// The values to try first, rising.
    fn tried(&self) -> Vec<f64>;
    /// A value between two; `None` if they are near enough.
    fn between(&self, low: f64, high: f64) -> Option<f64>;
    /// The share of the range between two values.
    fn share(&self, from: f64, to: f64) -> f64;
}

impl Way {
    fn of(state: State) -> Self {
        Self { candidate: state.candidate, taken: state.taken, values: state.tied, beyond: state.beyond }
    }

    /// The way that covers both: the same candidate, with the parameter values common to both.
    fn shared(&self, other: &Self) -> Option<Self> {
        if self.candidate != other.candidate || self.beyond != other.beyond {
            return None;
        }
        let both = |(a, b): (&(i64, i64), &(i64, i64))| {
            let (low, high) = (a.0.max(b.0), a.1.min(b.1));
            (low <= high).then_some((low, high))
        };
        let values: Vec<(i64, i64)> =
            self.values.iter().zip(&other.values).map(both).collect::<Option<_>>()?;
        // The ends of a range of ties are values of the parameter.
        let taken = self.taken.iter().zip(&values).map(|(value, (low, high))| *value.max(low).min(high));
        Some(Self { taken: taken.collect(), values, ..self.clone() })
    }
}

impl Line {
    /// Finds the segments along the input and their order of removal.
    pub(super) fn of(choices: &dyn Choices, at: Option<f64>) -> Result<Self, String> {
        let mut segments = walk(choices)?;
        without_teeth(choices, &mut segments);
        for segment in &mut segments {
            let mut odds: Vec<f64> =
                inside(choices, segment, 3).into_iter().filter_map(|value| choices.fastest(value)).collect();
            odds.sort_by(f64::total_cmp);
            segment.fastest = odds.get(odds.len() / 2).copied();
        }
        let drops = drops(choices, segments.clone());
        Ok(Self { at, segments, drops })
    }
}

/// The segments from the least value to the greatest.
fn walk(choices: &dyn Choices) -> Result<Vec<Segment>, String> {
    let mut segments: Vec<Segment> = Vec::new();
    let begun = |from, state| Segment { from, to: from, way: Way::of(state), fastest: None };
    for value in choices.tried() {
        let mut state = choices.state(value)?;
        let Some(mut last) = segments.pop() else {
            segments.push(begun(value, state));
            continue;
        };
        // The way may change several times before `value`.
        loop {
            if let Some(way) = last.way.shared(&Way::of(state.clone())) {
                segments.push(Segment { to: value, way, ..last });
                break;
            }
            let (mut low, mut high) = (last.to, value);
            while let Some(middle) = choices.between(low, high) {
                let here = choices.state(middle)?;
                match last.way.shared(&Way::of(here.clone())) {
                    Some(way) => (low, last.way) = (middle, way),
                    None => (high, state) = (middle, here),
                }
            }
            segments.push(Segment { to: high, ..last });
            last = begun(high, state);
            if high >= value {
                segments.push(last);
                break;
            }
            state = choices.state(value)?;
        }
    }
    Ok(segments)
}

/// Merges the teeth: short segments between equal ways that lose hardly anything.
fn without_teeth(choices: &dyn Choices, segments: &mut Vec<Segment>) {
    let mut place = 1;
    while place + 1 < segments.len() {
        let [before, tooth, after] = [place - 1, place, place + 1].map(|place| &segments[place]);
        let is_short = tooth.to <= tooth.from * TOOTH && tooth.from > 0.0;
        match before.way.shared(&after.way) {
            Some(way) if is_short && loss(choices, tooth, &way) < WORTH => {
                let joined = Segment { from: before.from, to: after.to, way, fastest: None };
                segments.splice(place - 1..=place + 1, [joined]);
                place = place.saturating_sub(1).max(1);
            }
            _ => place += 1,
        }
    }
}

/// Evenly spaced values inside a segment.
fn inside(choices: &dyn Choices, segment: &Segment, count: usize) -> Vec<f64> {
    // Repeated bisection; a segment of one value has no values between.
    let mut values = vec![segment.from, segment.to];
    while values.len() < count + 2 {
        let between: Vec<f64> =
            values.windows(2).filter_map(|pair| choices.between(pair[0], pair[1])).collect();
        if between.is_empty() {
            return vec![segment.from];
        }
        values.extend(between);
        values.sort_by(f64::total_cmp);
    }
    values[1..values.len() - 1].to_vec()
}

/// The relative loss of another way in a segment, on average; zero if the segment's own way has no
/// time either.
fn loss(choices: &dyn Choices, segment: &Segment, way: &Way) -> f64 {
    let values = inside(choices, segment, COMPARED);
    let count = values.len() as f64;
    let one = |value: f64| {
        let Some(own) = choices.seconds(value, segment.way.candidate, &segment.way.taken) else { return 0.0 };
        let other = choices.seconds(value, way.candidate, &way.taken);
        other.map_or(f64::INFINITY, |other| (other / own - 1.0).max(0.0))
    };
    values.into_iter().map(one).sum::<f64>() / count
}

/// The order of removal, until two segments are left.
fn drops(choices: &dyn Choices, mut segments: Vec<Segment>) -> Vec<Drop> {
    let mut drops = Vec::new();
    while segments.len() > 2 {
        let one = |place: usize| {
            let segment = &segments[place];
            let by = |neighbour: Option<&Segment>| {
                neighbour.map_or(f64::INFINITY, |neighbour| loss(choices, segment, &neighbour.way))
            };
            let (left, right) = (by(place.checked_sub(1).map(|p| &segments[p])), by(segments.get(place + 1)));
            let drop = Drop { place, to_the_left: left <= right, loss: left.min(right) };
            (drop, drop.loss * choices.share(segment.from, segment.to))
        };
        let all = (0..segments.len()).map(one);
        let Some((least, _)) = all.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|all| all.1.is_finite()) else {
            break;
        };
        leave_out(&mut segments, &least);
        drops.push(least);
    }
    drops
}

/// Gives the range of a segment to its neighbour, then joins neighbours with the same way.
fn leave_out(segments: &mut Vec<Segment>, drop: &Drop) {
    let gone = segments.remove(drop.place);
    let heir = if drop.to_the_left { drop.place - 1 } else { drop.place };
    if drop.to_the_left {
        segments[heir].to = gone.to;
    } else {
        segments[heir].from = gone.from;
    }
    let left = drop.place.saturating_sub(1);
    if let [before, after, ..] = &segments[left.min(segments.len())..]
        && let Some(way) = before.way.shared(&after.way)
    {
        let fastest = before.fastest.zip(after.fastest).map(|(a, b)| a.min(b));
        let joined = Segment { from: before.from, to: after.to, way, fastest };
        segments.splice(left..=left + 1, [joined]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Synthetic times of candidates without parameters. The last candidate has one: its best value
    /// is the octave of the input, and values one octave apart tie.
    struct Made(fn(f64) -> Vec<f64>);

    fn octave(value: f64) -> i64 {
        1 << value.log2().floor() as i64
    }

    impl Choices for Made {
        fn state(&self, value: f64) -> Result<State, String> {
            let times = (self.0)(value);
            let candidate = (0..times.len()).min_by(|a, b| times[*a].total_cmp(&times[*b])).ok_or("none")?;
            let (taken, tied) = if candidate + 1 == times.len() && candidate > 1 {
                let best = octave(value);
                (vec![best], vec![(best / 2, best * 2)])
            } else {
                (Vec::new(), Vec::new())
            };
            Ok(State { candidate, taken, tied, beyond: None })
        }

        fn seconds(&self, value: f64, candidate: usize, _: &[i64]) -> Option<f64> {
            (self.0)(value).get(candidate).copied()
        }

        fn fastest(&self, value: f64) -> Option<f64> {
            Some(if value < 100.0 { 0.9 } else { 1.0 })
        }

        fn tried(&self) -> Vec<f64> {
            (0..=60).map(|place| 1e6_f64.powf(f64::from(place) / 60.0).round()).collect()
        }

        fn between(&self, low: f64, high: f64) -> Option<f64> {
            let middle = (low * high).sqrt().round();
            (low < middle && middle < high).then_some(middle)
        }

        fn share(&self, from: f64, to: f64) -> f64 {
            (to / from).ln() / 1e6_f64.ln()
        }
    }

    fn line(times: fn(f64) -> Vec<f64>) -> Line {
        Line::of(&Made(times), None).expect("a choice everywhere")
    }

    fn places(segments: &[Segment]) -> Vec<(f64, usize)> {
        segments.iter().map(|segment| (segment.from, segment.way.candidate)).collect()
    }

    #[test]
    fn the_choice_changes_at_the_first_value_of_the_next_segment() {
        // The times are equal at 400 and at 40 000, where the first named would win.
        let line = line(|n| vec![n, 200.0 + 0.5 * n - 1e-6, 18_200.0 + 0.05 * n - 2e-6]);
        assert_eq!(places(&line.segments)[..3], [(1.0, 0), (400.0, 1), (40_000.0, 2)]);
        let crossings: Vec<f64> = line.crossings().map(|crossing| crossing.at).collect();
        assert_eq!(crossings[..2], [400.0, 40_000.0]);
        assert_eq!(line.segments[0].fastest, Some(0.9));
        assert_eq!(line.segments[1].fastest, Some(1.0));
        let ends = line.segments.windows(2).all(|pair| pair[0].to == pair[1].from);
        assert!(ends && line.segments.last().is_some_and(|last| last.to == 1e6), "{line:?}");
    }

    #[test]
    fn values_of_a_parameter_are_one_segment_as_long_as_one_of_them_serves_all_of_it() {
        let line = line(|_| vec![9.0, 9.0, 1.0]);
        // The best value changes with each octave and its neighbours tie, so three octaves have one
        // in common.
        let first = &line.segments[0].way;
        assert_eq!((first.values.as_slice(), first.taken.as_slice()), (&[(2, 2)][..], &[2][..]));
        assert_eq!(line.segments[1].from, 8.0);
        assert_eq!(line.segments.len(), 7, "{line:?}");
    }

    #[test]
    fn a_tooth_that_costs_little_is_no_crossing() {
        // From 1000 to 1080 the other candidate is a little faster, or much.
        let flat = line(|n| vec![1.0, if (1000.0..1080.0).contains(&n) { 0.995 } else { 2.0 }]);
        assert_eq!(places(&flat.segments), [(1.0, 0)]);
        let deep = line(|n| vec![1.0, if (1000.0..1080.0).contains(&n) { 0.5 } else { 2.0 }]);
        assert_eq!(places(&deep.segments), [(1.0, 0), (1000.0, 1), (1080.0, 0)]);
        let long = line(|n| vec![1.0, if (1000.0..2000.0).contains(&n) { 0.995 } else { 2.0 }]);
        assert_eq!(long.segments.len(), 3, "it is no tooth");
    }

    #[test]
    fn the_least_important_segments_are_left_out_first() {
        // Candidate 1 saves half from 100 to 1000, candidate 2 a tenth from 10 000 on.
        let times = |n: f64| {
            let second = if (100.0..1000.0).contains(&n) { 0.5 } else { 2.0 };
            vec![1.0, second, if n >= 10_000.0 { 0.9 } else { 2.0 }, 3.0]
        };
        let line = line(times);
        assert_eq!(places(&line.segments), [(1.0, 0), (100.0, 1), (1000.0, 0), (10_000.0, 2)]);
        let (all, nothing) = line.most_important(4);
        assert_eq!((all.len(), nothing), (4, 0.0));
        let (three, loss) = line.most_important(3);
        assert_eq!(places(&three), [(1.0, 0), (100.0, 1), (1000.0, 0)]);
        assert!((loss - 1.0 / 9.0).abs() < 1e-9, "{loss}");
        assert_eq!(three[2].to, 1e6);
        assert_eq!(line.most_important(1).0.len(), 3, "there is something to compare");
    }
}
