//! The models compiled in: none yet.
//!
//! `specc calibrate specs/sort` writes a file that takes this one's place. While there are no entries, selection
//! goes by rule of thumb and says so, unless `STRATA_MODELS` names a model set.

use strata_model::table::Table;

/// The models of the library `sort`.
pub static SORT: Table = Table {
    library: "sort",
    platform: "",
    digest: "",
    inputs: &["keys", "width"],
    ranges: &[(0.0, 0.0), (0.0, 0.0)],
    nodes: 0,
    entries: &[],
};
