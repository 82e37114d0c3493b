//! Why a platform's topology cannot be built for a number of nodes.

use thiserror::Error;

/// Why a network is impossible: the number of nodes or the platform is at fault.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant's text says what its fields are")]
pub enum TopologyError {
    /// A machine without nodes.
    #[error("a machine has at least 1 node, not 0")]
    NoNodes,
    /// More nodes than the topology has places for.
    #[error("{nodes} nodes do not fit a {topology}: it has room for 1 to {most}")]
    TooMany {
        /// The kind of topology, and its limit.
        topology: String,
        nodes: usize,
        most: usize,
    },
    /// The topology has places only for some numbers of nodes.
    #[error("{nodes} nodes do not fit a {topology}: take {below} or {above}")]
    Count {
        topology: String,
        nodes: usize,
        /// The next smaller number of nodes that fits.
        below: usize,
        /// The next larger number of nodes that fits.
        above: usize,
    },
    /// A number of the platform is not possible.
    #[error("`{name}` is {value}: it has to be {needs}")]
    Parameter {
        /// Its name, as in the platform's file.
        name: &'static str,
        value: String,
        needs: &'static str,
    },
    /// The network has more links or buffers than can be numbered.
    #[error(
        "{nodes} nodes make a {topology} with more than {most} {what}: take fewer nodes, or fewer parents of a switch"
    )]
    TooLarge {
        topology: String,
        nodes: usize,
        /// The kind of thing of which there are too many.
        what: &'static str,
        most: usize,
    },
}

/// Rejects a parameter of the platform.
pub(super) fn refuse<T>(
    name: &'static str,
    value: impl ToString,
    needs: &'static str,
) -> Result<T, TopologyError> {
    Err(TopologyError::Parameter { name, value: value.to_string(), needs })
}

/// Checks that `value` is a bandwidth.
///
/// # Errors
/// [`TopologyError::Parameter`] if it is less than 1 byte a second.
pub(super) fn bandwidth(name: &'static str, value: f64) -> Result<f64, TopologyError> {
    if value >= 1.0 { Ok(value) } else { refuse(name, value, "at least 1 byte a second") }
}

/// Checks that `value` is a count of at least `least`.
///
/// # Errors
/// [`TopologyError::Parameter`] if it is less.
pub(super) fn at_least(
    least: usize,
    name: &'static str,
    value: usize,
    needs: &'static str,
) -> Result<usize, TopologyError> {
    if value >= least { Ok(value) } else { refuse(name, value, needs) }
}

/// Checks that `count` things can be numbered; `None` is more than any number.
///
/// # Errors
/// [`TopologyError::TooLarge`] if they cannot.
pub(super) fn within(
    topology: &str,
    nodes: usize,
    what: &'static str,
    most: usize,
    count: Option<usize>,
) -> Result<usize, TopologyError> {
    let large = || TopologyError::TooLarge { topology: topology.to_owned(), nodes, what, most };
    count.filter(|&count| count <= most).ok_or_else(large)
}
