//! Crossings as text with few digits.

use strata_model::{grouped, rounded};

use super::Segment;

/// The beginnings of all segments but the first, with two digits, or with as many as neighbours
/// need to differ.
pub(crate) fn places(segments: &[Segment]) -> Vec<String> {
    let at: Vec<f64> = segments.iter().skip(1).map(|segment| segment.from).collect();
    let told = |digits: i32| at.iter().map(|value| number(rounded(*value, digits))).collect::<Vec<_>>();
    let differ = |texts: &Vec<String>| texts.windows(2).all(|pair| pair[0] != pair[1]);
    (2..=6).map(told).find(differ).unwrap_or_else(|| told(15))
}

/// A number with separators: `61,000`.
pub(crate) fn number(value: f64) -> String {
    grouped(value, ',')
}
