//! Call sites: the identity of a place in a program.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::panic::Location;

/// A class of sizes that share a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SizeClass {
    /// No size, or one class for all sizes.
    #[default]
    Any,
    /// Sizes of this many binary digits; 0 has none.
    Bits(u8),
    /// This size only.
    Exactly(u64),
}

impl SizeClass {
    /// The class of all sizes from a power of two to the next.
    ///
    /// ```
    /// use strata_tune::SizeClass;
    /// assert_eq!(SizeClass::of(64), SizeClass::of(127));
    /// assert_ne!(SizeClass::of(127), SizeClass::of(128));
    /// ```
    #[must_use]
    #[inline]
    pub fn of(size: usize) -> Self {
        Self::Bits((usize::BITS - size.leading_zeros()) as u8)
    }
}

impl fmt::Display for SizeClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => write!(f, "any size"),
            Self::Bits(0) => write!(f, "0"),
            Self::Bits(bits) => {
                let low = 1u128 << (bits - 1).min(64);
                write!(f, "{low} to {}", 2 * low - 1)
            }
            Self::Exactly(size) => write!(f, "{size}"),
        }
    }
}

/// A visit of a call site: the place in the source, the operation, and the class of its size.
///
/// The place is that of the caller of a `#[track_caller]` function. It survives inlining and
/// address randomisation; return addresses, which Borg used (2006, §4.1), do not. It does not pass
/// through a function pointer or a `dyn` call.
#[derive(Clone, Copy, Debug)]
pub struct Sig {
    place: &'static Location<'static>,
    op: &'static str,
    class: SizeClass,
    options: u16,
}

impl Sig {
    /// The caller's place, at which `op` is done; `options` is the number of options of the knob
    /// chosen there, or 1 without a knob.
    #[track_caller]
    #[must_use]
    #[inline]
    pub fn here(op: &'static str, class: SizeClass, options: u16) -> Self {
        Self::at(Location::caller(), op, class, options)
    }

    /// As [`here`](Self::here), at the place of the caller's own caller.
    #[must_use]
    #[inline]
    pub fn at(place: &'static Location<'static>, op: &'static str, class: SizeClass, options: u16) -> Self {
        Self { place, op, class, options: if options == 0 { 1 } else { options } }
    }

    /// True if both are certainly equal. Equal sites in different parts of a program may differ in
    /// their addresses; they are then found by their contents.
    #[inline]
    pub(crate) fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.place, other.place)
            && self.class == other.class
            && self.options == other.options
            && std::ptr::eq(self.op, other.op)
    }

    pub(crate) fn address(&self) -> (usize, usize, SizeClass, u16) {
        (std::ptr::from_ref(self.place).addr(), self.op.as_ptr().addr(), self.class, self.options)
    }

    pub(crate) fn site(&self) -> Site {
        Site {
            file: self.place.file().to_owned(),
            line: self.place.line(),
            column: self.place.column(),
            op: self.op.to_owned(),
            class: self.class,
            options: self.options,
        }
    }
}

/// A call site by name: the same in every run of a build.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Site {
    /// The source file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The operation: the knob's name, or the call's.
    pub op: String,
    /// The class of sizes.
    pub class: SizeClass,
    /// The number of options, 1 without a knob.
    pub options: u16,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}:{}:{}", self.op, self.file, self.line, self.column)?;
        match self.class {
            SizeClass::Any => Ok(()),
            class => write!(f, " ({class})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_powers_of_two() {
        let text = |size| SizeClass::of(size).to_string();
        assert_eq!([text(0), text(1), text(7), text(8)], ["0", "1 to 1", "4 to 7", "8 to 15"]);
        assert_eq!(text(usize::MAX), "9223372036854775808 to 18446744073709551615");
        // A file may contain nonsense, which must still be printable.
        assert!(!SizeClass::Bits(255).to_string().is_empty());
    }

    #[track_caller]
    fn wrapped() -> Sig {
        Sig::here("copy", SizeClass::Any, 3)
    }

    #[test]
    fn a_wrapper_that_tracks_its_caller_is_no_site_of_its_own() {
        let (one, other) = (wrapped(), wrapped());
        assert!(!one.is(&other) && one.is(&one));
        assert_eq!(one.site().line, other.site().line);
        assert_ne!(one.site().column, other.site().column);
        assert!(one.site().to_string().starts_with("copy at "), "{}", one.site());
    }
}
