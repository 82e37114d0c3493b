//! Scales of axes: where a value is drawn, and which values are labelled so that labels do not
//! overlap.

/// The width of a digit or letter divided by the height of the font, in wide fonts.
const ASPECT: f64 = 0.65;
/// The most labels of an axis; more would distract.
const MOST: usize = 8;
const MOST_CELLS: usize = 24;
/// An input whose values span this factor gets a logarithmic scale.
const WIDE: f64 = 20.0;

/// The layout of an axis's values, and their labels.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    layout: Layout,
    low: f64,
    high: f64,
    label: fn(f64) -> String,
    /// In place of labels, the names of cells.
    names: Vec<String>,
}

#[derive(Clone, Debug)]
enum Layout {
    Linear,
    Log,
    /// These values side by side, each in the middle of a cell of width one.
    Cells(Vec<f64>),
}

/// The space for labels along an axis, in pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// The length of the axis.
    pub(crate) length: f64,
    /// The size of the font.
    pub(crate) font: f64,
    /// True if labels are side by side; otherwise one above the other.
    pub(crate) across: bool,
}

impl Scale {
    /// A logarithmic scale over positive values, with some padding; `None` if there are none.
    pub(crate) fn log(values: impl Iterator<Item = f64>, label: fn(f64) -> String) -> Option<Self> {
        let (low, high) = extremes(values.filter(|v| *v > 0.0))?;
        // Labels need a range that contains round values.
        let low = (low / 1.5).max(f64::MIN_POSITIVE);
        let high = (high * 1.5).max(2.0 * low).min(f64::MAX);
        Some(Self { layout: Layout::Log, low, high, label, names: Vec::new() })
    }

    /// A linear scale from `low` to `high`, which is widened if it is a point. The length of the
    /// axis must be a number, too, so the greatest values are left out.
    pub(crate) fn linear(low: f64, high: f64, label: fn(f64) -> String) -> Self {
        let [low, high] = [low, high].map(|end| end.clamp(-f64::MAX / 2.0, f64::MAX / 2.0));
        let (low, high) =
            if low < high { (low, high) } else { (low - low.abs().max(1.0), high + high.abs().max(1.0)) };
        Self { layout: Layout::Linear, low, high, label, names: Vec::new() }
    }

    /// The values side by side, regardless of their distances.
    pub(crate) fn cells(values: &[f64], label: fn(f64) -> String) -> Self {
        let high = values.len() as f64 - 0.5;
        Self { layout: Layout::Cells(values.to_vec()), low: -0.5, high, label, names: Vec::new() }
    }

    /// The same cells with names, if there are any.
    pub(crate) fn named(self, names: &[String]) -> Self {
        Self { names: names.to_vec(), ..self }
    }

    /// The scale that suits the values of an input; `None` without finite values.
    pub(crate) fn of_input(
        values: impl Iterator<Item = f64> + Clone,
        label: fn(f64) -> String,
    ) -> Option<Self> {
        let (low, high) = extremes(values.clone())?;
        if low > 0.0 && high / low >= WIDE {
            return Self::log(values, label);
        }
        let air = 0.04 * (high - low);
        Some(Self::linear(low - air, high + air, label))
    }

    /// True if a value can be drawn.
    pub(crate) fn shows(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// The position of a value, in the units of [`range`](Self::range).
    pub(crate) fn place(&self, value: f64) -> f64 {
        if let Layout::Log = self.layout { value.log10() } else { value }
    }

    /// The positions of both ends.
    pub(crate) fn range(&self) -> (f64, f64) {
        (self.place(self.low), self.place(self.high))
    }

    /// The text of a labelled position.
    pub(crate) fn text(&self, place: f64) -> String {
        if let Some(name) = self.names.get(place as usize) {
            return name.clone();
        }
        (self.label)(match &self.layout {
            Layout::Linear => place,
            // Restores a value that was round before the logarithm.
            Layout::Log => round_to(10f64.powf(place), 10),
            Layout::Cells(values) => values.get(place as usize).copied().unwrap_or(f64::NAN),
        })
    }

    /// The labelled positions: as many round values as fit.
    pub(crate) fn ticks(&self, room: Room) -> Vec<f64> {
        let (low, high) = self.range();
        let mut sets: Vec<Vec<f64>> = Vec::new();
        let mut most = MOST;
        match &self.layout {
            Layout::Log => {
                for digits in [&[1, 2, 3, 4, 5, 6, 7, 8, 9][..], &[1, 2, 3, 5, 7], &[1, 2, 5], &[1, 3]] {
                    sets.push(self.decimal(digits, 1));
                }
                sets.extend([1, 2, 3, 5, 10, 20, 50, 100, 200].map(|decades| self.decimal(&[1], decades)));
            }
            Layout::Linear => {
                // Powers of ten beyond these are not representable.
                let least = ((high - low) / MOST as f64).log10().floor().clamp(-330.0, 310.0) as i32;
                for exponent in least..least + 3 {
                    sets.extend([1.0, 2.0, 5.0].map(|digit| self.multiples(digit, exponent)));
                }
            }
            Layout::Cells(values) => {
                most = MOST_CELLS;
                sets.extend(
                    (1..=values.len())
                        .map(|step| (0..values.len()).step_by(step).map(|i| i as f64).collect()),
                );
            }
        }
        let fits = |ticks: &Vec<f64>| {
            let extent = |place: f64| {
                if room.across { text_width(&self.text(place), room.font) } else { room.font }
            };
            let pixels = |by: f64| by / (high - low) * room.length;
            let apart = |a: f64, b: f64| {
                pixels(b - a) >= (extent(a) + extent(b)) / 2.0 + 0.6 * room.font
                    && self.text(a) != self.text(b)
            };
            ticks.len() <= most && ticks.windows(2).all(|w| apart(w[0], w[1]))
        };
        // From dense to sparse; a single value always fits.
        sets.retain(|ticks| !ticks.is_empty());
        let first = sets.last().map(|ticks| vec![ticks[0]]).unwrap_or_default();
        sets.into_iter().find(fits).unwrap_or(first)
    }

    /// These digits times every `decades`-th power of ten, as far as they are inside.
    fn decimal(&self, digits: &[i32], decades: i32) -> Vec<f64> {
        let (low, high) = self.range();
        let (first, last) = (low.floor() as i32, high.ceil() as i32);
        (first..=last)
            .filter(|exponent| exponent.rem_euclid(decades) == 0)
            .flat_map(|exponent| digits.iter().map(move |d| f64::from(exponent) + f64::from(*d).log10()))
            .filter(|place| (low..=high).contains(place))
            .collect()
    }

    /// The multiples of `digit` · 10^`exponent` inside.
    fn multiples(&self, digit: f64, exponent: i32) -> Vec<f64> {
        // Dividing by a whole power of ten gives the double nearest to the decimal number,
        // multiplying does not.
        let unit = 10f64.powi(exponent.abs());
        let value = |k: f64| if exponent < 0 { k * digit / unit } else { k * digit * unit };
        let step = value(1.0);
        if !step.is_finite() {
            return Vec::new();
        }
        let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
        // A step that is too small compared with the values gives no multiples.
        let count = last - first + 1.0;
        if !(1.0..=1000.0).contains(&count) || first.abs() > 1e15 {
            return Vec::new();
        }
        (0..count as u32).map(|k| value(first + f64::from(k)) + 0.0).collect()
    }
}

/// Approximate width of a text, in pixels.
pub(crate) fn text_width(text: &str, font: f64) -> f64 {
    text.chars().count() as f64 * font * ASPECT
}

pub(crate) fn cut(text: &str, font: f64, width: f64) -> String {
    if text_width(text, font) <= width {
        return text.to_owned();
    }
    let most = (width / (font * ASPECT)) as usize;
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// The least and the greatest of the finite values.
fn extremes(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.filter(|v| v.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    (low <= high).then_some((low, high))
}

/// A value rounded to `digits` significant digits.
pub(crate) fn round_to(value: f64, digits: usize) -> f64 {
    format!("{value:.0$e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use strata_model::number_text;

    const ROOM: Room = Room { length: 290.0, font: 13.0, across: true };

    fn labels(scale: &Scale) -> Vec<String> {
        scale.ticks(ROOM).into_iter().map(|place| scale.text(place)).collect()
    }

    #[test]
    fn ticks_are_round_values() {
        let log = |values: [f64; 2]| labels(&Scale::log(values.into_iter(), number_text).unwrap());
        assert_eq!(log([1e-3, 10.0]), ["0.001", "0.01", "0.1", "1", "10"]);
        assert_eq!(log([4.0, 4.0]), ["3", "4", "5", "6"]);
        assert_eq!(log([16.0, 64.0]), ["20", "30", "50", "70"]);
        let linear = |low, high| labels(&Scale::linear(low, high, number_text));
        assert_eq!(linear(0.0, 64.0), ["0", "10", "20", "30", "40", "50", "60"]);
        assert_eq!(linear(-0.25, 0.25), ["-0.2", "-0.1", "0", "0.1", "0.2"]);
        assert_eq!(linear(7.0, 7.0), ["0", "2", "4", "6", "8", "10", "12", "14"]);
    }

    #[test]
    fn every_range_of_numbers_has_an_axis() {
        let ends = [f64::MAX, 1e308, 1.0, 1e-300, f64::MIN_POSITIVE, 5e-324, 0.0, -5e-324, -1.0, f64::MIN];
        for low in ends {
            for high in ends {
                let values = [low, high].into_iter();
                let linear = Scale::linear(low.min(high), low.max(high), number_text);
                let others = [Scale::of_input(values.clone(), number_text), Scale::log(values, number_text)];
                for scale in others.into_iter().flatten().chain([linear]) {
                    let (from, to) = scale.range();
                    assert!(from < to && (to - from).is_finite(), "{scale:?}");
                    let ticks = scale.ticks(ROOM);
                    assert!(ticks.len() <= MOST, "{scale:?}");
                    // Relative to 1e308, an end at 1e-300 is 0.
                    let room = 1e-9 * (to - from);
                    assert!(ticks.iter().all(|t| (from - room..=to + room).contains(t)), "{scale:?}");
                }
            }
        }
    }

    #[test]
    fn cells_are_labelled_as_often_as_there_is_room() {
        let cells = |count: u32| {
            let values: Vec<f64> = (0..count).map(|v| f64::from(100 + v)).collect();
            labels(&Scale::cells(&values, number_text))
        };
        assert_eq!(cells(3), ["100", "101", "102"]);
        assert_eq!(cells(24)[..3], ["100", "103", "106"]);
        assert_eq!(cells(1), ["100"]);
        assert!(cells(0).is_empty());
    }

    proptest! {
        /// For any range of values there is at least one label, all labels are inside, and no two
        /// overlap.
        #[test]
        fn labels_never_meet(a in -18.0..18.0f64, span in 0.0..9.0f64, log: bool, across: bool, negative: bool) {
            let low = 10f64.powf(a);
            let high = low * 10f64.powf(span);
            let room = Room { across, ..ROOM };
            let scale = match (log, negative) {
                (true, _) => Scale::log([low, high].into_iter(), number_text).unwrap(),
                (false, false) => Scale::linear(low, high, number_text),
                (false, true) => Scale::linear(-high, low, number_text),
            };
            let (from, to) = scale.range();
            let ticks = scale.ticks(room);
            prop_assert!(ticks.len() <= MOST);
            prop_assert!(!ticks.is_empty(), "{:?}", scale);
            prop_assert!(ticks.iter().all(|t| *t >= from && *t <= to));
            for pair in ticks.windows(2) {
                let apart = (pair[1] - pair[0]) / (to - from) * room.length;
                let width = |place| text_width(&scale.text(place), room.font);
                let needed = if across { (width(pair[0]) + width(pair[1])) / 2.0 } else { room.font };
                prop_assert!(apart > needed, "{:?}", ticks.iter().map(|t| scale.text(*t)).collect::<Vec<_>>());
            }
        }
    }
}
