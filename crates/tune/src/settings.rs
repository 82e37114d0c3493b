//! The mode and options of a tuner: from `STRATA_TUNE`, or from the program.

use crate::error::TuneError;
use crate::policy::Search;
use std::path::PathBuf;

/// The environment variable that sets the tuner's mode.
pub const VARIABLE: &str = "STRATA_TUNE";

/// The mode of a tuner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Every choice is the default; nothing is recorded. This is also the mode if the variable is
    /// unset.
    #[default]
    Off,
    /// Every choice is the default; call sites and times are recorded.
    Record(Option<PathBuf>),
    /// Searches, adopts, and saves the results: in the file, or in the user's cache folder.
    Tune(Option<PathBuf>),
    /// Uses the file's adopted configurations, and tries no others.
    Use(PathBuf),
}

impl Mode {
    /// Reads the value of `STRATA_TUNE`: `off`, `record`, `tune`, `record:FILE`, `tune:FILE` or
    /// `use:FILE`; empty is `off`.
    ///
    /// # Errors
    /// If the value is none of these.
    pub fn parse(value: &str) -> Result<Self, TuneError> {
        let wrong = |reason: String| TuneError::Setting { value: value.to_owned(), reason };
        let (word, file) = match value.split_once(':') {
            Some((word, file)) => (word, Some(PathBuf::from(file))),
            None => (value, None),
        };
        if file.as_ref().is_some_and(|file| file.as_os_str().is_empty()) {
            return Err(wrong(format!("a file is missing after `{word}:`")));
        }
        match (word, file) {
            ("" | "off", None) => Ok(Self::Off),
            ("record", file) => Ok(Self::Record(file)),
            ("tune", file) => Ok(Self::Tune(file)),
            ("use", Some(file)) => Ok(Self::Use(file)),
            ("use", None) => Err(wrong("which file? A run with `tune` writes one".to_owned())),
            ("off", Some(_)) => Err(wrong("`off` takes no file".to_owned())),
            _ => {
                let meant = strata_model::did_you_mean(word, ["off", "record", "tune", "use"]);
                Err(wrong(format!("there is no `{word}`{meant}")))
            }
        }
    }

    /// The variable's mode.
    ///
    /// # Errors
    /// If its value is invalid.
    pub fn from_env() -> Result<Self, TuneError> {
        match std::env::var(VARIABLE) {
            Ok(value) => Self::parse(&value),
            Err(std::env::VarError::NotPresent) => Ok(Self::Off),
            Err(std::env::VarError::NotUnicode(value)) => Self::parse(&value.to_string_lossy()),
        }
    }
}

/// Options of a tuner; the defaults suit most programs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The mode.
    pub mode: Mode,
    /// The search policy.
    pub search: Search,
    /// Evaluations of each interval's search; by default 40 a knob times the root of its options.
    pub budget: Option<u32>,
    /// The share of an interval's time that tuning may lose, 0.02 by default. When trying
    /// alternatives and reading the clock have cost more, the search idles with the default.
    pub loss: f64,
    /// The confidence at which a configuration must be faster to be adopted, 0.99 by default.
    pub confidence: f64,
    /// Seed of all random choices: equal seeds and equal times give equal choices.
    pub seed: u64,
    /// Visits without a new site or edge after which intervals are found, 64 by default; at least
    /// twice the number of edges.
    pub settle: u32,
    /// Mean number of executions between two of an adopted configuration that are compared with the
    /// default; 200 by default.
    pub watch: u32,
    /// An evaluation spans enough executions to take this many nanoseconds, 5000 by default, so
    /// that the clock's resolution does not matter.
    pub span: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: Mode::Off,
            search: Search::Auto,
            budget: None,
            loss: 0.02,
            confidence: 0.99,
            seed: 1,
            settle: 64,
            watch: 200,
            span: 5000,
        }
    }
}

impl Options {
    /// The defaults, with the mode of `STRATA_TUNE`.
    ///
    /// # Errors
    /// If its value is invalid.
    pub fn from_env() -> Result<Self, TuneError> {
        Ok(Self { mode: Mode::from_env()?, ..Self::default() })
    }

    /// The defaults, with this mode.
    #[must_use]
    pub fn of(mode: Mode) -> Self {
        Self { mode, ..Self::default() }
    }

    pub(crate) fn check(&self) -> Result<(), TuneError> {
        let wrong = |name, value: f64, reason| Err(TuneError::Option { name, value, reason });
        if !(self.loss > 0.0 && self.loss.is_finite()) {
            return wrong("loss", self.loss, "it is a share of the time above 0, such as 0.02");
        }
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return wrong("confidence", self.confidence, "it is between 0 and 1, such as 0.99");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_read_or_refused_with_the_way_out() {
        let parse = |value: &str| Mode::parse(value).map_err(|error| error.to_string());
        assert_eq!((parse("off"), parse("")), (Ok(Mode::Off), Ok(Mode::Off)));
        assert_eq!(parse("tune"), Ok(Mode::Tune(None)));
        assert_eq!(parse("tune:a:b.json"), Ok(Mode::Tune(Some("a:b.json".into()))));
        assert_eq!(parse("use:x"), Ok(Mode::Use("x".into())));
        for (value, says) in [
            ("tine", "STRATA_TUNE=tine: there is no `tine` (did you mean `tune`?)"),
            ("use", "STRATA_TUNE=use: which file? A run with `tune` writes one"),
            ("tune:", "STRATA_TUNE=tune:: a file is missing after `tune:`"),
            ("off:x", "STRATA_TUNE=off:x: `off` takes no file"),
        ] {
            let error = parse(value).unwrap_err();
            assert!(error.starts_with(says), "{error}");
            assert!(error.ends_with("set off, record, tune, record:FILE, tune:FILE or use:FILE"), "{error}");
        }
    }
}
