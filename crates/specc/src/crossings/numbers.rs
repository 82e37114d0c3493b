//! Places as text, in few digits.

use strata_model::number_text;

use super::Segment;

/// Where segments begin but the first, with two digits, or as many as it takes to tell neighbours
/// apart.
pub(crate) fn places(segments: &[Segment]) -> Vec<String> {
    let at: Vec<f64> = segments.iter().skip(1).map(|segment| segment.from).collect();
    let told = |digits: i32| at.iter().map(|value| number(rounded(*value, digits))).collect::<Vec<_>>();
    let differ = |texts: &Vec<String>| texts.windows(2).all(|pair| pair[0] != pair[1]);
    (2..=6).map(told).find(differ).unwrap_or_else(|| told(15))
}

/// A value with this number of digits.
fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 {
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

/// `61,000`.
pub(crate) fn number(value: f64) -> String {
    let text = number_text(value);
    let (whole, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    if whole.len() < 4 || rest.contains('e') {
        return text;
    }
    let mut grouped = String::new();
    for (place, digit) in whole.char_indices() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_digits_and_commas() {
        for (value, text) in [
            (187.0, "190"),
            (3_112.0, "3,100"),
            (61_234.0, "61,000"),
            (1_048_576.0, "1,000,000"),
            (65.0, "65"),
            (7.0, "7"),
            (0.0123, "0.012"),
            (0.5, "0.5"),
        ] {
            assert_eq!(number(rounded(value, 2)), text);
        }
        assert_eq!(number(1e300), "1e300");
    }
}
