//! Values that all nodes take from node 0: its settings, its description of the machine, and the
//! timings that calibrations have kept there.
//!
//! Selection must be equal on every node, so it must not depend on a node's own environment.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use strata_model::platform::Platform;
use strata_select::{
    say,
    table::closest,
    transfer::{all_kept, team},
};

/// The prefix of every environment variable that Strata reads.
const PREFIX: &str = "STRATA_";
/// The remaining parts of the names that users set and that running programs and `specc` read.
///
/// `STRATA_CHILD` is not one of them: tests and benches set it for processes that they start.
const NAMES: [&str; 13] = [
    "CALIBRATE", "CHECK", "EXPLAIN", "LEARN", "LOG", "LOG_INPUTS", "MODELS", "MPIRUN", "ON", "PIN", "TRACE",
    "TUNE", "WATCHDOG",
];

/// Node 0's settings.
pub(crate) struct Settings {
    variables: BTreeMap<String, String>,
    /// The machine.
    pub(crate) platform: Platform,
    /// The timings that were kept for such a team, of all libraries; read when first asked for.
    timings: OnceLock<String>,
    /// How the program wants its calls tuned, regardless of `STRATA_TUNE`.
    #[cfg(feature = "tune")]
    pub(crate) tuning: Option<strata_tune::Options>,
}

impl Settings {
    /// This process's own settings.
    pub(crate) fn of_this_process(platform: Platform) -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with(PREFIX))
            .collect();
        Self {
            variables,
            platform,
            timings: OnceLock::new(),
            #[cfg(feature = "tune")]
            tuning: None,
        }
    }

    /// The platform, the kept timings, then the variables, separated by zero bytes (which a variable
    /// cannot contain).
    #[cfg(feature = "mpi")]
    pub(crate) fn to_text(&self) -> String {
        let variables = self.variables.iter().map(|(name, value)| format!("\0{name}={value}"));
        let timings = self.timings().replace('\0', "");
        format!("{}\0{timings}{}", self.platform, variables.collect::<String>())
    }

    /// Parses the text made by [`Settings::to_text`].
    #[cfg(feature = "mpi")]
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.split('\0');
        let platform = parts.next()?.parse().ok()?;
        let timings = parts.next()?.to_owned();
        let pair = |part: &str| part.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        Some(Self {
            variables: parts.filter_map(pair).collect(),
            platform,
            timings: OnceLock::from(timings),
            #[cfg(feature = "tune")]
            tuning: None,
        })
    }

    /// The timings that node 0 has kept for a team of this transport and number of nodes, of all
    /// libraries. None on a simulated machine: its results depend only on the program's inputs.
    pub(crate) fn timings(&self) -> &str {
        self.timings.get_or_init(|| match self.platform.is_simulated() {
            true => String::new(),
            false => all_kept(&team(&self.platform.transport, self.platform.nodes)),
        })
    }

    /// The value of a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Reports on standard error unknown names that are similar to known ones.
    pub(crate) fn report_misspelt(&self) {
        for (name, meant) in self.misspelt() {
            say!("strata: nothing reads the variable {name}; did you mean {meant}?");
        }
    }

    /// The unknown variables with names similar to a known one, and that name.
    fn misspelt(&self) -> impl Iterator<Item = (&str, String)> {
        self.variables.keys().filter_map(|variable| {
            let name = variable.strip_prefix(PREFIX).filter(|name| !NAMES.contains(name))?;
            Some((&**variable, format!("{PREFIX}{}", closest(name, NAMES)?)))
        })
    }

    /// True if a variable is set, and neither empty nor 0.
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

    /// All variables named in the documentation are known. The change log is exempt: it has the
    /// names of its time.
    #[test]
    fn documented_variables_are_known() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let in_folder = |folder: &str| {
            let entries = std::fs::read_dir(root.join(folder)).expect("it stands in the repository");
            entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
        };
        let mut pages: Vec<_> = ["", "docs", "benches", "models"].map(in_folder).concat();
        let packages = ["crates", "examples"].map(in_folder).concat();
        pages.extend(packages.iter().map(|folder| folder.join("README.md")));
        pages.retain(|page| page.extension().is_some_and(|end| end == "md") && page.is_file());
        pages.retain(|page| !page.ends_with("CHANGELOG.md"));
        assert!(pages.len() > 30, "{pages:?}");
        for page in pages {
            let text = std::fs::read_to_string(&page).unwrap();
            for rest in text.split(PREFIX).skip(1) {
                let end = rest.find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap_or(rest.len());
                let name = &rest[..end];
                let known = NAMES.contains(&name) || ["", "CHILD"].contains(&name);
                assert!(known, "{}: {PREFIX}{name}", page.display());
            }
        }
    }

    #[cfg(feature = "mpi")]
    #[test]
    fn mpi_processes_get_equal_settings() {
        let mut own = Settings::of_this_process(strata_model::Platform::detect("mpi", 3));
        own.variables.insert("STRATA_PIN".to_owned(), "sort=radix:11,\ncopy=x".to_owned());
        own.variables.insert("STRATA_EMPTY".to_owned(), String::new());
        own.timings = OnceLock::from("strata-timings 1\nmachine x\n".to_owned());
        let copy = Settings::from_text(&own.to_text()).unwrap();
        assert_eq!(copy.timings(), own.timings());
        assert_eq!(copy.variables, own.variables);
        assert_eq!(copy.platform, own.platform);
    }
}
