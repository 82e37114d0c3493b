//! Values that all nodes take from node 0: its settings and its description of the machine.
//!
//! Selection must be equal on every node, so it must not depend on a node's own environment.

use std::collections::BTreeMap;
use strata_model::platform::Platform;
use strata_select::closest;

/// The prefix of every environment variable that Strata reads.
const PREFIX: &str = "STRATA_";
/// The rest of the names of those that running programs, `specc` and `xtask` read.
const NAMES: [&str; 20] = [
    "BROWSER",
    "CHECK",
    "COMPUTE",
    "DISTURBED",
    "EXPLAIN",
    "EXTRAP_PYTHON",
    "GLOBAL",
    "KERNELS",
    "LOG",
    "MODELS",
    "MPIRUN",
    "NETWORK",
    "ON",
    "PACING",
    "PIN",
    "SEED",
    "STEPS",
    "TRACE",
    "TUNE",
    "WATCHDOG",
];

/// Node 0's settings.
pub(crate) struct Settings {
    variables: BTreeMap<String, String>,
    /// The machine.
    pub(crate) platform: Platform,
}

impl Settings {
    /// This process's own settings.
    pub(crate) fn of_this_process(platform: Platform) -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with(PREFIX))
            .collect();
        Self { variables, platform }
    }

    /// The platform, then the variables, separated by zero bytes (which a variable cannot contain).
    #[cfg(feature = "mpi")]
    pub(crate) fn to_text(&self) -> String {
        let variables = self.variables.iter().map(|(name, value)| format!("\0{name}={value}"));
        self.platform.to_string() + &variables.collect::<String>()
    }

    /// Parses the text made by [`Settings::to_text`].
    #[cfg(feature = "mpi")]
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.split('\0');
        let platform = parts.next()?.parse().ok()?;
        let pair = |part: &str| part.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        Some(Self { variables: parts.filter_map(pair).collect(), platform })
    }

    /// The value of a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The variables that nothing reads, but whose names are close to one that is read, with that.
    pub(crate) fn misspelt(&self) -> impl Iterator<Item = (&str, String)> {
        self.variables.keys().filter_map(|variable| {
            let name = variable.strip_prefix(PREFIX).filter(|name| !NAMES.contains(name))?;
            Some((&**variable, format!("{PREFIX}{}", closest(name, NAMES)?)))
        })
    }

    /// Whether a variable is set, and neither to nothing nor to 0.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.variable(name).is_some_and(|value| !matches!(value, "" | "0"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_off_where_it_is_empty_or_zero() {
        let mut own = Settings::of_this_process(strata_model::Platform::detect("threads", 1));
        assert!(!own.is_on("STRATA_SWITCH"));
        for (value, on) in [("", false), ("0", false), ("1", true), ("yes", true)] {
            own.variables.insert("STRATA_SWITCH".to_owned(), value.to_owned());
            assert_eq!(own.is_on("STRATA_SWITCH"), on, "{value}");
        }
    }

    #[test]
    fn variables_close_to_known_ones_are_misspelt() {
        let mut own = Settings::of_this_process(strata_model::Platform::detect("threads", 1));
        own.variables.clear();
        for name in ["STRATA_EXPLAIN", "STRATA_EXPLIAN", "STRATA_WATCHDOGS", "STRATA_MINE_ALONE"] {
            own.variables.insert(name.to_owned(), String::new());
        }
        let misspelt: Vec<_> = own.misspelt().collect();
        assert_eq!(
            misspelt,
            [
                ("STRATA_EXPLIAN", "STRATA_EXPLAIN".to_owned()),
                ("STRATA_WATCHDOGS", "STRATA_WATCHDOG".to_owned())
            ]
        );
    }

    /// Every variable that the pages name is known.
    #[test]
    fn documented_variables_are_known() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut pages = vec![root.join("README.md")];
        let docs = std::fs::read_dir(root.join("docs")).expect("the pages stand in the repository");
        pages.extend(docs.map(|page| page.unwrap().path()).filter(|page| page.is_file()));
        for page in pages {
            let text = std::fs::read_to_string(&page).unwrap();
            for rest in text.split(PREFIX).skip(1) {
                let end = rest.find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap_or(rest.len());
                let name = &rest[..end];
                assert!(name.is_empty() || NAMES.contains(&name), "{}: {PREFIX}{name}", page.display());
            }
        }
    }

    #[cfg(feature = "mpi")]
    #[test]
    fn settings_survive_being_sent() {
        let mut own = Settings::of_this_process(strata_model::Platform::detect("mpi", 3));
        own.variables.insert("STRATA_PIN".to_owned(), "sort=radix:11,\ncopy=x".to_owned());
        own.variables.insert("STRATA_EMPTY".to_owned(), String::new());
        let copy = Settings::from_text(&own.to_text()).unwrap();
        assert_eq!(copy.variables, own.variables);
        assert_eq!(copy.platform, own.platform);
    }
}
