//! Values that all nodes take from node 0: its settings, its description of the machine, and the
//! timings that calibrations have kept there.
//!
//! Selection must be equal on every node, so it must not depend on a node's own environment.

use crate::error::Error;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use strata_model::platform::Platform;
use strata_select::{all_kept, closest, say, team};

/// The prefix of every environment variable that Strata reads.
const PREFIX: &str = "STRATA_";
/// The remaining parts of the names that users set and that running programs and `specc` read.
///
/// `STRATA_CHILD` is not one of them: tests and benches set it for processes that they start.
const NAMES: [&str; 12] = [
    "CALIBRATE",
    "CHECK",
    "EXPLAIN",
    "LEARN",
    "LOG",
    "MODELS",
    "MPIRUN",
    "ON",
    "PIN",
    "TRACE",
    "TUNE",
    "WATCHDOG",
];
/// Retired names of earlier versions, each with its replacement. They are errors, not warnings: a
/// program that ignored one would run with another seed or variant than its user requested.
const RETIRED: [(&str, &str); 17] = [
    ("STRATA_BROWSER", "put a folder that has the browser, as `chromium`, into PATH"),
    ("STRATA_COMPUTE", "write STRATA_ON=sim:cm5:64,computing=skeleton"),
    ("STRATA_DISTURBED", "write STRATA_ON=sim:cm5:64,disturbed=1"),
    ("STRATA_EXTRAP_PYTHON", "put the folder of that `python3` first in PATH"),
    ("STRATA_FUZZ", "run `cargo test -p specc --test fuzz -- --ignored`"),
    ("STRATA_FUZZ_ONLY", "all formats are tried: run `cargo test -p specc --test fuzz -- --ignored`"),
    ("STRATA_FUZZ_SEED", "inputs that fail are kept in `target/fuzz`"),
    ("STRATA_GLOBAL", "write STRATA_PIN=global=messages, or STRATA_PIN=global=shared"),
    ("STRATA_IMB", "run `cargo bench -p strata-benches --bench imb -- FOLDER`"),
    ("STRATA_KERNELS", "write STRATA_ON=sim:cm5:64,kernels=FILE"),
    ("STRATA_NETWORK", "write STRATA_ON=sim:cm5:64,network=1"),
    ("STRATA_PACING", "write STRATA_MODELS=FILE: models of sending and receiving in it pace patterns"),
    ("STRATA_PICTURES", "write INSTA_UPDATE=always"),
    ("STRATA_SEED", "write STRATA_ON=sim:cm5:64,seed=2"),
    ("STRATA_STEPS", "write STRATA_ON=sim:cm5:64,steps=1000000"),
    ("STRATA_TEST_NODES", "tests ask the launcher whether its processes yield"),
    ("STRATA_TEST_SCHEDULES", "the number is fixed"),
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

    /// Rejects retired names. The process of node 0 also reports on standard error unknown names
    /// that are similar to known ones.
    pub(crate) fn check_names(&self, node_0: bool) -> Result<(), Error> {
        if let Some((name, now, value)) =
            RETIRED.iter().find_map(|&(name, now)| Some((name, now, self.variable(name)?)))
        {
            let reason = format!("nothing reads this variable any more; {now}");
            return Err(Error::Setting { name, value: value.to_owned(), reason });
        }
        for (name, meant) in self.misspelt().filter(|_| node_0) {
            say!("strata: nothing reads the variable {name}; did you mean {meant}?");
        }
        Ok(())
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

    #[test]
    fn a_retired_name_is_refused_with_the_way_to_write_it_now() {
        let mut own = Settings::of_this_process(strata_model::Platform::detect("threads", 1));
        own.variables.clear();
        assert!(own.check_names(true).is_ok());
        for (name, now) in RETIRED {
            for value in ["1", ""] {
                own.variables = BTreeMap::from([(name.to_owned(), value.to_owned())]);
                let error = own.check_names(true).unwrap_err().to_string();
                assert_eq!(error, format!("{name}={value}: nothing reads this variable any more; {now}"));
            }
            // The suggested replacement is valid.
            for on in now.split("STRATA_ON=").skip(1).filter(|on| !on.contains("FILE")) {
                on.parse::<crate::Machine>().unwrap();
            }
            for rest in now.split(PREFIX).skip(1) {
                assert!(NAMES.iter().any(|name| rest.starts_with(&format!("{name}="))), "{now}");
            }
            assert!(!NAMES.iter().any(|kept| name.strip_prefix(PREFIX) == Some(*kept)), "{name}");
        }
        assert!(RETIRED.is_sorted());
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
