//! Corrections of a model's terms by a table of factors; see [`strata_select::table::Correction`].

use super::check::content;
use super::{Kind, Model, SetError};
use strata_select::table::{MAX_AXES, ROUND, interpolate};

/// The most factors of a table.
const MOST: usize = 1 << 12;

/// A factor of a model's time, interpolated in the logarithms of some of its inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Correction {
    /// How many samples it was fitted to.
    pub samples: usize,
    /// The inputs that it depends on.
    pub axes: Vec<Axis>,
    /// A factor for each combination of knots; the last axis changes fastest.
    pub factors: Vec<f64>,
}

/// An input that a correction depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The name of the input.
    pub input: String,
    /// Whether it is the input's [roundness](strata_select::table::roundness) that counts.
    pub round: bool,
    /// The values for which there are factors, rising.
    pub knots: Vec<f64>,
}

impl Axis {
    /// What is looked up among the knots.
    pub(super) fn value(&self) -> String {
        let Self { input, round, .. } = self;
        if *round { ROUND.map(|step| multiple(input, step)).join(" + ") } else { input.clone() }
    }
}

/// The expression that is 1 at multiples of a whole number, and 0 at all other whole numbers.
#[must_use]
pub fn multiple(input: &str, of: f64) -> String {
    format!("max(0, 1-{input}%{of})")
}

/// Whether a text reads [`multiple`] of this input and one of [`ROUND`].
#[must_use]
pub fn reads_round(text: &str, input: &str) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let text = plain(text);
    ROUND.iter().any(|step| text.contains(&plain(&multiple(input, *step))))
}

impl Correction {
    /// The factor for values of the axes, in order; NaN if one is NaN.
    #[must_use]
    pub fn factor(&self, values: &[f64]) -> f64 {
        let axes = self.axes.iter().enumerate();
        interpolate(axes.map(|(place, axis)| (values.get(place).copied(), &axis.knots[..])), &self.factors)
    }
}

/// Refuses a correction that cannot be evaluated, and a contrast that is not finite.
pub(super) fn check(place: &str, model: &Model) -> Result<(), SetError> {
    let wrong = |message: String| content(place, format!("the correction {message}"));
    if let Some(contrast) = &model.contrast
        && ![contrast.deviation, contrast.reach].iter().all(|number| number.is_finite() && *number >= 0.0)
    {
        return content(place, "the contrast must be of two numbers, none below zero".to_owned());
    }
    let Some(correction) = &model.correction else { return Ok(()) };
    if model.kind != Kind::Fitted {
        return wrong("needs a model with terms".to_owned());
    }
    if correction.axes.is_empty() || correction.axes.len() > MAX_AXES {
        return wrong(format!("has {} axes, but 1 to {MAX_AXES} are possible", correction.axes.len()));
    }
    let mut size = 1_usize;
    for (place, Axis { input, round, knots }) in correction.axes.iter().enumerate() {
        if model.inputs.iter().all(|known| known.name != *input) {
            return wrong(format!("depends on `{input}`, which is no input of the model"));
        }
        if correction.axes[..place].iter().any(|before| (&before.input, before.round) == (input, *round)) {
            return wrong(format!("depends on `{input}` twice"));
        }
        let rising = knots.windows(2).all(|pair| pair[0] < pair[1]);
        if knots.is_empty() || !rising || knots.iter().any(|knot| !knot.is_finite()) {
            return wrong(format!("needs rising knots of `{input}`"));
        }
        size = size.saturating_mul(knots.len());
    }
    if size > MOST || correction.factors.len() != size {
        let count = correction.factors.len();
        return wrong(format!(
            "has {count} factors, but its knots need {size}, and at most {MOST} are possible"
        ));
    }
    if !correction.factors.iter().all(|factor| factor.is_finite() && *factor > 0.0) {
        return wrong("has a factor that is not a number above zero".to_owned());
    }
    Ok(())
}
