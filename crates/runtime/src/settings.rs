//! What all nodes take from node 0: its settings and its idea of the machine.
//!
//! Selection must go the same way on every node, so nothing that it looks at may come from a node's own environment.

use std::collections::BTreeMap;
use strata_model::platform::Platform;

/// The prefix of every environment variable that Strata reads.
const PREFIX: &str = "STRATA_";

/// Node 0's settings.
pub(crate) struct Settings {
    variables: BTreeMap<String, String>,
    /// The machine.
    pub(crate) platform: Platform,
}

impl Settings {
    /// This process's own.
    pub(crate) fn of_this_process(transport: &str, nodes: usize) -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with(PREFIX))
            .collect();
        Self { variables, platform: crate::platform::detect(transport, nodes) }
    }

    /// The value of a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}
