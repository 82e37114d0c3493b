//! Types of times: predicted and measured.

use crate::normal::HALF_WIDTH;
use core::fmt;
#[cfg(feature = "std")]
use std::str::FromStr;

/// A duration in seconds; finite and not negative, by construction.
///
/// ```
/// use strata_select::table::Seconds;
///
/// assert_eq!(Seconds::new(57.83e-6).map(|time| time.to_string()), Some("57.8 µs".to_owned()));
/// assert_eq!(Seconds::new(-1.0), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Seconds(f64);

impl Seconds {
    /// Zero.
    pub const ZERO: Self = Self(0.0);

    /// `None` where `seconds` is negative, infinite or not a number.
    #[must_use]
    pub fn new(seconds: f64) -> Option<Self> {
        (seconds.is_finite() && seconds >= 0.0).then_some(Self(seconds))
    }

    /// The number of seconds.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl From<Seconds> for f64 {
    fn from(seconds: Seconds) -> Self {
        seconds.0
    }
}

impl TryFrom<f64> for Seconds {
    type Error = NotATime;

    fn try_from(seconds: f64) -> Result<Self, NotATime> {
        Self::new(seconds).ok_or(NotATime(seconds))
    }
}

/// A number that is not a time: negative, infinite or NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotATime(pub f64);

impl fmt::Display for NotATime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a time must be finite and not negative, but this is {}", self.0)
    }
}

impl core::error::Error for NotATime {}

#[cfg(feature = "std")]
impl FromStr for Seconds {
    type Err = String;

    /// Parses `60s`, `500ms`, `1.5m` or `2h`; a bare number is in seconds.
    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let scale = match &text[digits.len()..] {
            "ns" => 1e-9,
            "us" => 1e-6,
            "ms" => 1e-3,
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            unit => return Err(format!("unknown unit `{unit}`; use ns, us, ms, s, m or h")),
        };
        let number = digits.trim().parse::<f64>().ok();
        let time = number.and_then(|number| Self::new(number * scale));
        time.ok_or_else(|| format!("`{text}` is not a time such as 60s"))
    }
}

impl fmt::Display for Seconds {
    /// Three significant digits and a unit: `57.8 µs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = scale(self.0);
        let digits = match value {
            v if v == 0.0 || v >= 99.95 => 0,
            v if v >= 9.995 => 1,
            v if v >= 0.0995 => 2,
            _ => return write!(f, "{value:.2e} {unit}"),
        };
        write!(f, "{value:.digits$} {unit}")
    }
}

/// The value in the largest unit in which it is at least one after rounding.
fn scale(seconds: f64) -> (f64, &'static str) {
    const UNITS: [(f64, &str); 4] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
    for (size, unit) in UNITS {
        if seconds >= size * 0.9995 {
            return (seconds / size, unit);
        }
    }
    if seconds == 0.0 { (0.0, "s") } else { (seconds / 1e-9, "ns") }
}

/// The predicted time of an operation: its mean, the uncertainty of the mean, and the 95 % interval
/// of a new measurement, which includes the noise of measuring.
///
/// ```
/// use strata_select::table::Prediction;
///
/// let predicted = Prediction::new(57.8e-6, 1.2e-6).unwrap();
/// assert_eq!(predicted.to_string(), "57.8 µs ± 1.20 µs");
/// assert_eq!(predicted.high().to_string(), "59.0 µs");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prediction {
    /// The expected time of the model.
    pub seconds: Seconds,
    /// Half the width of the interval; zero where the spread is unknown.
    pub half_width: Seconds,
    /// The standard deviation of the true mean: from the coefficients, and from the model's own
    /// error. Choices are rated by it.
    pub deviation: Seconds,
}

impl Prediction {
    /// `None` unless both numbers are finite and not negative. The deviation is derived from the
    /// interval as if measuring added no noise: see [`Prediction::with_deviation`].
    #[must_use]
    pub fn new(seconds: f64, half_width: f64) -> Option<Self> {
        let deviation = Seconds::new(half_width / HALF_WIDTH)?;
        Some(Self { seconds: Seconds::new(seconds)?, half_width: Seconds::new(half_width)?, deviation })
    }

    /// The same with the standard deviation of the true mean, in seconds; `None` unless it is
    /// finite and not negative.
    #[must_use]
    pub fn with_deviation(self, deviation: f64) -> Option<Self> {
        Some(Self { deviation: Seconds::new(deviation)?, ..self })
    }

    /// The prediction times a factor, with its uncertainty; `None` if the result is not a time.
    #[must_use]
    pub fn times(self, ratio: f64) -> Option<Self> {
        let longer = Self::new(self.seconds.0 * ratio, self.half_width.0 * ratio)?;
        longer.with_deviation(self.deviation.0 * ratio)
    }

    /// The lower end of the interval, at least zero.
    #[must_use]
    pub fn low(&self) -> Seconds {
        Seconds((self.seconds.0 - self.half_width.0).max(0.0))
    }

    /// The upper end of the interval.
    #[must_use]
    pub fn high(&self) -> Seconds {
        Seconds((self.seconds.0 + self.half_width.0).min(f64::MAX))
    }
}

impl fmt::Display for Prediction {
    /// `57.8 µs ± 1.20 µs`, or the time alone where the spread is unknown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.half_width.0 == 0.0 {
            self.seconds.fmt(f)
        } else {
            write!(f, "{} ± {}", self.seconds, self.half_width)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_are_times() {
        for bad in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e-300] {
            assert_eq!(Seconds::new(bad), None);
        }
        assert_eq!(Seconds::new(0.0), Some(Seconds::ZERO));
        assert_eq!(Seconds::new(-0.0), Some(Seconds::ZERO));
    }

    #[test]
    fn people_read_three_digits() {
        let texts = [
            (57.84e-6, "57.8 µs"),
            (0.0, "0 s"),
            (1.0, "1.00 s"),
            (999.6e-6, "1.00 ms"),
            (123.4, "123 s"),
            (12345.0, "12345 s"),
            (9.996e-9, "10.0 ns"),
            (0.25e-9, "0.25 ns"),
            (1e-15, "1.00e-6 ns"),
        ];
        for (seconds, text) in texts {
            assert_eq!(Seconds::new(seconds).unwrap().to_string(), text);
        }
    }

    #[test]
    fn an_interval_stays_a_time() {
        let p = Prediction::new(1e-6, 3e-6).unwrap();
        assert_eq!((p.low().get(), p.high().get()), (0.0, 4e-6));
        assert_eq!(p.to_string(), "1.00 µs ± 3.00 µs");
        assert_eq!(Prediction::new(1.0, f64::NAN), None);
        assert!(Prediction::new(f64::MAX, f64::MAX).unwrap().high().get().is_finite());
    }
}
