//! Parameters of candidates: whole numbers from ranges with steps.

use core::fmt;
use core::ops::Deref;
use core::str::FromStr;

/// The most parameters of a candidate.
pub const MAX_PARAMETERS: usize = 4;

/// A parameter of a candidate: a whole number from a range.
///
/// ```
/// use strata_select::table::Parameter;
///
/// let side = Parameter::new("side", 8, 64).times(2);
/// assert_eq!(side.values().collect::<Vec<_>>(), [8, 16, 32, 64]);
/// assert!(!side.contains(24));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// The least value.
    pub min: i64,
    /// Upper bound of the values; a range with `max < min` is empty.
    pub max: i64,
    /// The step from one value to the next.
    pub step: Step,
    /// If given, the value is the root of this function instead of the value with the least time.
    pub root: Option<Root>,
    /// If given, the range for one problem; `min` and `max` bound it.
    pub ends: Option<Ends>,
}

/// The ends of a parameter's range for one problem, before rounding: a function of the number of
/// nodes, the usable cores, and the library's inputs. `None` for other inputs.
///
/// All ends compare equal: they hold numbers of the measured machine, in which two calibrations of
/// one library differ.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::type_complexity, reason = "the arguments are named here")]
pub struct Ends(pub fn(nodes: usize, cores: f64, x: &[f64]) -> Option<(f64, f64)>);

impl PartialEq for Ends {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Ends {}

/// A function of one parameter of a candidate; the parameter is best at its root (Brewer 1994,
/// section 5.2). Its arguments are the number of nodes and `x`: the library's inputs and all
/// parameters of the candidate. The value taken is the last in the parameter's range before the
/// sign changes or the function is `None`, otherwise the greatest. If the function is `None` at the
/// least value, the candidate has no prediction.
///
/// All roots compare equal: they come from models, in which two calibrations of one library differ.
#[derive(Clone, Copy, Debug)]
pub struct Root(pub fn(nodes: usize, x: &[f64]) -> Option<f64>);

impl PartialEq for Root {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Root {}

/// The step from one value of a parameter to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Addition; at least 1, otherwise the first value is the only one.
    Add(i64),
    /// Multiplication; at least 2 from a value of at least 1, otherwise the first value is the only
    /// one.
    Multiply(i64),
}

impl Step {
    /// Every whole number.
    pub const ONE: Self = Self::Add(1);

    fn next(self, value: i64, max: i64) -> Option<i64> {
        let next = match self {
            Self::Add(by) => value.checked_add(by),
            Self::Multiply(by) => value.checked_mul(by),
        }?;
        (value < next && next <= max).then_some(next)
    }
}

impl Parameter {
    /// Every whole number from `min` to `max`.
    #[must_use]
    pub const fn new(name: &'static str, min: i64, max: i64) -> Self {
        Self { name, min, max, step: Step::ONE, root: None, ends: None }
    }

    /// The value is the root of a function; see [`Root`].
    #[must_use]
    pub const fn root(self, of: Root) -> Self {
        Self { root: Some(of), ..self }
    }

    /// The range for one problem is this one, within `min` and `max`; see [`Ends`].
    #[must_use]
    pub const fn ends(self, ends: Ends) -> Self {
        Self { ends: Some(ends), ..self }
    }

    /// The least and the greatest whole number between two ends, within `min` and `max`; the range
    /// is empty if the greatest is less. Values begin at the least.
    #[must_use]
    pub fn within(&self, (first, last): (f64, f64)) -> (i64, i64) {
        if first.is_nan() || last.is_nan() {
            return (self.min, self.min.saturating_sub(1));
        }
        // Casts truncate and saturate.
        let (up, down) = (first as i64, last as i64);
        let up = if (up as f64) < first { up.saturating_add(1) } else { up };
        let down = if down as f64 > last { down.saturating_sub(1) } else { down };
        (self.min.max(up), self.max.min(down))
    }

    /// Only `min`, `min + by`, `min + 2 by`, …
    #[must_use]
    pub const fn plus(self, by: i64) -> Self {
        Self { step: Step::Add(by), ..self }
    }

    /// Only `min`, `min · by`, `min · by²`, …
    #[must_use]
    pub const fn times(self, by: i64) -> Self {
        Self { step: Step::Multiply(by), ..self }
    }

    /// Its values, ascending.
    pub fn values(&self) -> impl Iterator<Item = i64> + use<> {
        let Self { min, max, step, .. } = *self;
        core::iter::successors((min <= max).then_some(min), move |value| step.next(*value, max))
    }

    /// Whether this is one of its values.
    #[must_use]
    pub fn contains(&self, value: i64) -> bool {
        match self.step {
            _ if value < self.min || value > self.max => false,
            Step::Add(by) => {
                value == self.min || by > 0 && value.abs_diff(self.min).is_multiple_of(by.unsigned_abs())
            }
            Step::Multiply(_) => self.values().any(|other| other == value),
        }
    }

    /// The number of its values.
    pub(crate) fn count(&self) -> u64 {
        match self.step {
            _ if self.min > self.max => 0,
            Step::Add(by) => (self.max.abs_diff(self.min) / by.max(1).unsigned_abs()).saturating_add(1),
            Step::Multiply(_) => self.values().count() as u64,
        }
    }

    /// The indices of its values, from the first to the last; consecutive numbers are their own
    /// indices.
    pub(crate) fn places(&self) -> (i64, i64) {
        match self.step {
            Step::ONE => (self.min, self.max),
            _ => (0, i64::try_from(self.count()).unwrap_or(i64::MAX) - 1),
        }
    }

    /// The value at an index.
    pub(crate) fn at(&self, place: i64) -> i64 {
        match self.step {
            Step::ONE => place,
            Step::Add(by) => (i128::from(self.min) + i128::from(place) * i128::from(by)) as i64,
            Step::Multiply(_) => self.values().nth(usize::try_from(place).unwrap_or(0)).unwrap_or(self.min),
        }
    }

    /// The value after this one.
    #[inline]
    pub(crate) fn after(&self, value: i64) -> Option<i64> {
        self.step.next(value, self.max)
    }
}

impl fmt::Display for Parameter {
    /// Its values in the notation of specs: `8..=64 step *2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..={}", self.min, self.max)?;
        if self.step == Step::ONE { Ok(()) } else { write!(f, " step {}", self.step) }
    }
}

impl fmt::Display for Step {
    /// `+1` or `*2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add(by) => write!(f, "+{by}"),
            Self::Multiply(by) => write!(f, "*{by}"),
        }
    }
}

/// The text of a step is not `+` or `*` and a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepError;

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a step is + and a number of at least 1, as in +4, or * and one of at least 2, as in *2")
    }
}

impl core::error::Error for StepError {}

impl FromStr for Step {
    type Err = StepError;

    fn from_str(text: &str) -> Result<Self, StepError> {
        let number =
            |digits: &str, least: i64| digits.parse().ok().filter(|number| *number >= least).ok_or(StepError);
        match (text.strip_prefix('+'), text.strip_prefix('*')) {
            (Some(by), _) => number(by, 1).map(Self::Add),
            (_, Some(by)) => number(by, 2).map(Self::Multiply),
            _ => Err(StepError),
        }
    }
}

/// The values of a candidate's parameters, in order; derefs to a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    values: [i64; MAX_PARAMETERS],
    count: u8,
}

impl Parameters {
    /// No parameters.
    pub const NONE: Self = Self { values: [0; MAX_PARAMETERS], count: 0 };

    /// The given values; `None` if there are more than [`MAX_PARAMETERS`].
    #[must_use]
    pub fn new(values: &[i64]) -> Option<Self> {
        let mut all = Self::NONE;
        values.iter().try_for_each(|value| all.push(*value))?;
        Some(all)
    }

    /// The least value of each of at most [`MAX_PARAMETERS`] parameters.
    #[must_use]
    pub fn least(declared: &[Parameter]) -> Self {
        Self::of(declared, |parameter| parameter.min)
    }

    /// One value for each of at most [`MAX_PARAMETERS`] parameters.
    pub(crate) fn of(declared: &[Parameter], value: impl Fn(&Parameter) -> i64) -> Self {
        let mut all = Self::NONE;
        for parameter in declared {
            let _ = all.push(value(parameter));
        }
        all
    }

    pub(crate) fn push(&mut self, value: i64) -> Option<()> {
        *self.values.get_mut(usize::from(self.count))? = value;
        self.count += 1;
        Some(())
    }

    /// The values.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[i64] {
        &self.values[..usize::from(self.count).min(MAX_PARAMETERS)]
    }

    #[inline]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [i64] {
        &mut self.values[..usize::from(self.count).min(MAX_PARAMETERS)]
    }
}

impl Deref for Parameters {
    type Target = [i64];

    fn deref(&self) -> &[i64] {
        self.as_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_values_of_a_range() {
        let values = |parameter: Parameter| parameter.values().collect::<Vec<_>>();
        assert_eq!(values(Parameter::new("a", 2, 5)), [2, 3, 4, 5]);
        assert_eq!(values(Parameter::new("a", 8, 64).times(2)), [8, 16, 32, 64]);
        assert_eq!(values(Parameter::new("a", 3, 20).plus(7)), [3, 10, 17]);
        assert_eq!(values(Parameter::new("a", 3, 2)), []);
        assert_eq!(values(Parameter::new("a", 0, 9).times(2)), [0]);
        assert_eq!(values(Parameter::new("a", i64::MAX - 1, i64::MAX).times(2)), [i64::MAX - 1]);
    }

    #[test]
    fn steps_are_read_as_they_are_written() {
        assert_eq!(
            ["+1", "*2", "+40"].map(|text| text.parse::<Step>().unwrap().to_string()),
            ["+1", "*2", "+40"]
        );
        for bad in ["", "2", "+0", "*1", "*", "<<1", "+-3", "*99999999999999999999"] {
            assert_eq!(bad.parse::<Step>(), Err(StepError), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn places_lead_to_the_values(min in -20_i64..20, length in -2_i64..200, by in 1_i64..9, times: bool) {
            let range = Parameter::new("a", min, min + length);
            let range = if times { range.times(by + 1) } else { range.plus(by) };
            let (first, last) = range.places();
            let by_place: Vec<i64> = (first..=last).map(|place| range.at(place)).collect();
            prop_assert_eq!(&by_place, &range.values().collect::<Vec<_>>());
            prop_assert_eq!(range.count(), by_place.len() as u64);
            for value in min - 2..min + length + 2 {
                prop_assert_eq!(range.contains(value), by_place.contains(&value));
            }
        }
    }
}
