//! Pins: an implementation taken by order instead of by prediction, as `STRATA_PIN=sort=radix:11` gives it.

use std::fmt;
use std::str::FromStr;

use super::{MAX_PARAMETERS, Parameters};
use crate::expr::is_name;

/// One library's candidate, fixed; its parameters too if any are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The library.
    pub library: String,
    /// The candidate.
    pub candidate: String,
    /// The candidate's parameters; none if they are still to be chosen.
    pub parameters: Vec<i64>,
}

/// What is wrong with the text of a pin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the pin `{text}` is not understood: {message}; a pin is LIBRARY=CANDIDATE or LIBRARY=CANDIDATE:PARAMETER:…, as in `sort=radix:11`"
)]
pub struct PinError {
    /// The pin.
    pub text: String,
    /// What is wrong with it.
    pub message: String,
}

impl FromStr for Pin {
    type Err = PinError;

    fn from_str(text: &str) -> Result<Self, PinError> {
        let text = text.trim();
        let fail = |message: String| PinError { text: text.to_owned(), message };
        let (library, rest) = text.split_once('=').ok_or_else(|| fail("there is no `=`".into()))?;
        let mut parts = rest.split(':').map(str::trim);
        let (library, candidate) = (library.trim(), parts.next().unwrap_or_default());
        for (what, name) in [("library", library), ("candidate", candidate)] {
            if !is_name(name) {
                return Err(fail(format!("`{name}` is not the name of a {what}")));
            }
        }
        let number = |part: &str| {
            part.parse().map_err(|_| fail(format!("the parameter `{part}` is not a whole number")))
        };
        let parameters = parts.map(number).collect::<Result<Vec<i64>, _>>()?;
        if Parameters::new(&parameters).is_none() {
            return Err(fail(format!("no candidate has more than {MAX_PARAMETERS} parameters")));
        }
        Ok(Self { library: library.to_owned(), candidate: candidate.to_owned(), parameters })
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.library, self.candidate)?;
        self.parameters.iter().try_for_each(|parameter| write!(f, ":{parameter}"))
    }
}

/// The pins of several libraries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins(Vec<Pin>);

impl Pins {
    /// Reads pins joined by `,` or `;`. An empty text is no pins.
    ///
    /// # Errors
    /// The first pin that is not understood, or a library that is pinned twice.
    pub fn parse(text: &str) -> Result<Self, PinError> {
        let mut pins: Vec<Pin> = Vec::new();
        for part in text.split([',', ';']).filter(|part| !part.trim().is_empty()) {
            let pin: Pin = part.parse()?;
            if pins.iter().any(|other| other.library == pin.library) {
                let message = format!("`{}` is pinned twice", pin.library);
                return Err(PinError { text: part.trim().to_owned(), message });
            }
            pins.push(pin);
        }
        Ok(Self(pins))
    }

    /// The pin of this library.
    #[must_use]
    pub fn get(&self, library: &str) -> Option<&Pin> {
        self.0.iter().find(|pin| pin.library == library)
    }

    /// All of them, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &Pin> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pins_of_several_libraries() {
        let pins = Pins::parse("sort=radix:11, stencil = strips;").unwrap();
        assert_eq!(pins.get("sort").unwrap().parameters, [11]);
        assert_eq!(pins.get("stencil").unwrap().to_string(), "stencil=strips");
        assert_eq!(pins.get("copy"), None);
        assert_eq!(Pins::parse(" ").unwrap(), Pins::default());
    }

    #[test]
    fn errors_say_how_a_pin_looks() {
        let bad =
            ["radix", "=radix", "sort=", "sort=radix:x", "sort=radix:", "sort=a:1:2:3:4:5", "sort=a,sort=b"];
        let messages: Vec<_> = bad.iter().map(|text| Pins::parse(text).unwrap_err().to_string()).collect();
        insta::assert_snapshot!(messages.join("\n"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = Pins::parse(&text);
        }

        #[test]
        fn a_pin_reads_back(library in "[a-z_]{1,8}", candidate in "[A-Za-z_]{1,8}", parameters in prop::collection::vec(any::<i64>(), 0..5)) {
            let pin = Pin { library, candidate, parameters };
            prop_assert_eq!(pin.to_string().parse(), Ok(pin));
        }
    }
}
