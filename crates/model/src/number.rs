//! Ways to write a number: exactly, as expressions and samples need it, and for people.

use std::collections::BTreeMap;

/// The inputs that are one of a few names, with these; their values are the names' places.
pub type Kinds = BTreeMap<String, Vec<String>>;

/// The shortest text that reads back as exactly `value`: `4`, `0.5`, `1e-7`, `1e16`, `-2.5`, `inf`,
/// `NaN`.
///
/// Unlike `{:?}` a whole number has no `.0`; unlike `{}` a huge or tiny one has an exponent.
#[must_use]
pub fn number_text(value: f64) -> String {
    let mut text = format!("{value:?}");
    if text.ends_with(".0") {
        text.truncate(text.len() - 2);
    }
    text
}

/// A value of an input as text: the name for which it stands, or a number.
#[must_use]
pub fn kind_text(kinds: &Kinds, input: &str, value: f64) -> String {
    let names = kinds.get(input).filter(|_| value >= 0.0 && value.fract() == 0.0);
    names.and_then(|names| names.get(value as usize)).cloned().unwrap_or_else(|| number_text(value))
}

/// A fraction as a percentage with two digits: `0.05` is `5 %`, `0.123` is `12 %`, `0.0123` is `1.2
/// %`.
#[must_use]
pub fn percent(fraction: f64) -> String {
    let value = fraction * 100.0;
    // What rounds to zero has no sign.
    let value = if value.abs() < 0.05 { value.abs() } else { value };
    if value.abs() >= 9.95 || value == value.round() {
        format!("{value:.0} %")
    } else {
        format!("{value:.1} %")
    }
}

/// A value with this number of digits.
#[must_use]
pub fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let unit = 10_f64.powi(value.abs().log10().floor() as i32 + 1 - digits);
    // A power of ten below one is not exact, its inverse is.
    if unit < 1.0 {
        (value * (1.0 / unit).round()).round() / (1.0 / unit).round()
    } else {
        (value / unit).round() * unit
    }
}

/// The shortest text of a number, with a sign between groups of three digits: `61,000`.
#[must_use]
pub fn grouped(value: f64, between: char) -> String {
    let text = number_text(value);
    let (sign, text) = text.strip_prefix('-').map_or(("", &*text), |text| ("-", text));
    let (whole, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    if whole.len() < 4 || rest.contains('e') {
        return format!("{sign}{text}");
    }
    let mut grouped = String::from(sign);
    for (place, digit) in whole.char_indices() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(between);
        }
        grouped.push(digit);
    }
    grouped + rest
}

#[cfg(test)]
mod tests {
    use super::{grouped, number_text, rounded};
    use proptest::prelude::*;

    #[test]
    fn reads_well() {
        for (value, text) in
            [(4.0, "4"), (0.5, "0.5"), (1e-7, "1e-7"), (1e16, "1e16"), (-2.0, "-2"), (0.0, "0")]
        {
            assert_eq!(number_text(value), text);
        }
        assert_eq!(number_text(f64::INFINITY), "inf");
        assert_eq!(number_text(f64::NAN), "NaN");
    }

    #[test]
    fn numbers_are_rounded_and_grouped() {
        for (value, digits, text) in [
            (187.0, 2, "190"),
            (61_234.0, 2, "61,000"),
            (1_048_576.0, 7, "1,048,576"),
            (-1184.0, 4, "-1,184"),
            (0.0123, 2, "0.012"),
            (0.5, 2, "0.5"),
        ] {
            assert_eq!(grouped(rounded(value, digits), ','), text);
        }
        assert_eq!(grouped(1e300, ','), "1e300");
    }

    proptest! {
        #[test]
        fn reads_back_equal(bits: u64) {
            let value = f64::from_bits(bits);
            let back: f64 = number_text(value).parse().unwrap();
            prop_assert!(back.to_bits() == value.to_bits() || value.is_nan() && back.is_nan());
        }
    }
}
