//! The unit of what was measured: seconds, or any other that a user names.

use std::fmt;
use std::str::FromStr;

use crate::{Seconds, number_text, rounded};

/// The unit of measured and predicted values.
///
/// ```
/// use strata_model::Unit;
///
/// assert_eq!(Unit::SECONDS.amount(2.5e-6), "2.50 µs");
/// let gas: Unit = "gas".parse()?;
/// assert_eq!(gas.amount(123456.7), "123457 gas");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit(String);

impl Unit {
    /// Seconds, the unit where none is named.
    pub const SECONDS: Self = Self(String::new());

    /// Whether it is seconds.
    #[must_use]
    pub fn is_seconds(&self) -> bool {
        self.0.is_empty()
    }

    /// Its name; `s` for seconds.
    #[must_use]
    pub fn name(&self) -> &str {
        if self.is_seconds() { "s" } else { &self.0 }
    }

    /// An amount for people: a time with three digits and the prefix that suits it, other units in
    /// whole numbers if these have six digits.
    #[must_use]
    pub fn amount(&self, value: f64) -> String {
        match Seconds::new(value) {
            Some(seconds) if self.is_seconds() => seconds.to_string(),
            _ if value.abs() >= 1e5 && value.abs() < 1e15 => format!("{value:.0} {}", self.name()),
            _ => format!("{} {}", number_text(rounded(value, 6)), self.name()),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_word = |c: char| !c.is_whitespace() && !c.is_control() && !";#\"'\\=`*".contains(c);
        match text {
            "s" => Ok(Self::SECONDS),
            _ if text.is_empty() || !text.chars().all(is_word) => {
                Err(format!("a unit is one word without quotes or `;`, but this is `{text}`"))
            }
            _ if text.parse::<f64>().is_ok() => Err(format!("`{text}` is a number, not a unit")),
            _ => Ok(Self(text.to_owned())),
        }
    }
}
