//! Pins: a candidate chosen by hand instead of by prediction, for example
//! `STRATA_PIN=sort=radix:11`.

use core::fmt;

use crate::table::{MAX_PARAMETERS, Parameters, closest};

/// One library's candidate, optionally with its parameters. Borrows the names from its text.
///
/// ```
/// let pin = strata_select::Pin::parse("sort=radix:11")?;
/// assert_eq!((pin.library, pin.candidate, &pin.parameters[..]), ("sort", "radix", &[11][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin<'a> {
    /// The library.
    pub library: &'a str,
    /// The candidate's name.
    pub candidate: &'a str,
    /// The candidate's parameters; empty if they are still to be chosen.
    pub parameters: Parameters,
}

/// A fault in the text of a pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinError<'a> {
    /// The pin.
    pub text: &'a str,
    /// The fault.
    pub fault: PinFault<'a>,
}

/// The faults that the text of a pin can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinFault<'a> {
    /// There is no `=`.
    NoEquals,
    /// This is not a valid library name.
    Library(&'a str),
    /// This is not a valid candidate name.
    Candidate(&'a str),
    /// This parameter is not a whole number.
    Parameter(&'a str),
    /// There are more than [`MAX_PARAMETERS`] parameters.
    TooMany,
    /// This library is pinned twice.
    Twice(&'a str),
}

impl<'a> Pin<'a> {
    /// Reads `LIBRARY=CANDIDATE` or `LIBRARY=CANDIDATE:PARAMETER:…`.
    ///
    /// # Errors
    /// The first fault of the text.
    pub fn parse(text: &'a str) -> Result<Self, PinError<'a>> {
        let text = text.trim();
        let fail = |fault| PinError { text, fault };
        let (library, rest) = text.split_once('=').ok_or(fail(PinFault::NoEquals))?;
        let mut parts = rest.split(':').map(str::trim);
        let (library, candidate) = (library.trim(), parts.next().unwrap_or_default());
        if !is_name(library) {
            return Err(fail(PinFault::Library(library)));
        }
        if !is_name(candidate) {
            return Err(fail(PinFault::Candidate(candidate)));
        }
        let mut parameters = Parameters::NONE;
        for part in parts {
            let value = part.parse().map_err(|_| fail(PinFault::Parameter(part)))?;
            parameters.push(value).ok_or(fail(PinFault::TooMany))?;
        }
        Ok(Self { library, candidate, parameters })
    }
}

/// A letter, then letters, digits and `_`, as in specs.
fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl fmt::Display for Pin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.library, self.candidate)?;
        self.parameters.iter().try_for_each(|parameter| write!(f, ":{parameter}"))
    }
}

impl fmt::Display for PinError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the pin `{}` is not understood: ", self.text)?;
        match self.fault {
            PinFault::NoEquals => f.write_str("there is no `=`"),
            PinFault::Library(name) => write!(f, "`{name}` is not the name of a library"),
            PinFault::Candidate(name) => write!(f, "`{name}` is not the name of a candidate"),
            PinFault::Parameter(text) => write!(f, "the parameter `{text}` is not a whole number"),
            PinFault::TooMany => write!(f, "no candidate has more than {MAX_PARAMETERS} parameters"),
            PinFault::Twice(name) => write!(f, "`{name}` is pinned twice"),
        }?;
        f.write_str("; a pin is LIBRARY=CANDIDATE or LIBRARY=CANDIDATE:PARAMETER:…, as in `sort=radix:11`")
    }
}

impl core::error::Error for PinError<'_> {}

/// The pins of several libraries, as one text.
///
/// No part of a program knows all libraries that it will use, so a pin's library is checked in two
/// places. A library refuses a pin whose library name resembles its own
/// ([`meant_for`](Self::meant_for)). The run-time system reports unused pins when the program ends.
///
/// ```
/// use strata_select::choice::Pins;
///
/// let pins = Pins::parse("sort=radix:11, stencil=strips")?;
/// assert_eq!(pins.get("stencil").map(|pin| pin.candidate), Some("strips"));
/// assert!(pins.meant_for("sorts").is_some(), "misspelt: to be refused, not ignored");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pins<'a>(&'a str);

impl<'a> Pins<'a> {
    /// Parses pins joined by `,` or `;`. An empty text has no pins.
    ///
    /// # Errors
    /// The first pin that cannot be parsed, or a library that is pinned twice.
    pub fn parse(text: &'a str) -> Result<Self, PinError<'a>> {
        let all = Self(text);
        for (place, part) in all.parts().enumerate() {
            let pin = Pin::parse(part)?;
            if all.iter().take(place).any(|other| other.library == pin.library) {
                return Err(PinError { text: part.trim(), fault: PinFault::Twice(pin.library) });
            }
        }
        Ok(all)
    }

    fn parts(self) -> impl Iterator<Item = &'a str> {
        self.0.split([',', ';']).filter(|part| !part.trim().is_empty())
    }

    /// All pins, in the given order.
    pub fn iter(self) -> impl Iterator<Item = Pin<'a>> {
        self.parts().filter_map(|part| Pin::parse(part).ok())
    }

    /// The pin of this library.
    #[must_use]
    pub fn get(self, library: &str) -> Option<Pin<'a>> {
        self.iter().find(|pin| pin.library == library)
    }

    /// The pin of this library, or else one whose library name is so similar that a typing error is
    /// likely; choosing then refuses it.
    #[must_use]
    pub fn meant_for(self, library: &str) -> Option<Pin<'a>> {
        self.get(library).or_else(|| self.iter().find(|pin| closest(pin.library, [library]).is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pins_of_several_libraries() {
        let pins = Pins::parse("sort=radix:11, stencil = strips;").unwrap();
        assert_eq!(*pins.get("sort").unwrap().parameters, [11]);
        assert_eq!(pins.get("stencil").unwrap().to_string(), "stencil=strips");
        assert_eq!((pins.get("copy"), pins.meant_for("copy")), (None, None));
        assert_eq!(pins.meant_for("stencils").unwrap().library, "stencil");
        assert_eq!(Pins::parse(" ").unwrap().iter().count(), 0);
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
        fn a_pin_reads_back(
            library in "[a-z_]{1,8}",
            candidate in "[A-Za-z_]{1,8}",
            parameters in prop::collection::vec(any::<i64>(), 0..5),
        ) {
            let parameters = Parameters::new(&parameters).unwrap();
            let pin = Pin { library: &library, candidate: &candidate, parameters };
            let text = pin.to_string();
            prop_assert_eq!(Pin::parse(&text), Ok(pin));
        }
    }
}
