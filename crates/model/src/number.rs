//! The text of a number, shared by expressions and samples.

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

/// A fraction as a percentage with two digits: `0.05` is `5 %`, `0.123` is `12 %`, `0.0123` is `1.2
/// %`.
#[must_use]
pub fn percent(fraction: f64) -> String {
    let value = fraction * 100.0;
    if value.abs() >= 9.95 || value == value.round() {
        format!("{value:.0} %")
    } else {
        format!("{value:.1} %")
    }
}

#[cfg(test)]
mod tests {
    use super::number_text;
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

    proptest! {
        #[test]
        fn reads_back_equal(bits: u64) {
            let value = f64::from_bits(bits);
            let back: f64 = number_text(value).parse().unwrap();
            prop_assert!(back.to_bits() == value.to_bits() || value.is_nan() && back.is_nan());
        }
    }
}
