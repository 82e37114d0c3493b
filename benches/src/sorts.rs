//! The candidates of the library `sort` by their names.

use strata_select::Library;
use strata_sort::Sort;

/// The candidate of this name with these parameters, if there is one.
pub fn named(name: &str, parameters: &[i64]) -> Option<Sort> {
    let index = Sort::TABLE.entries.iter().position(|entry| entry.name == name)?;
    Sort::candidate(index, parameters)
}
