//! The candidates of the library `sort`, each run by itself, without choosing.

use strata_runtime::Node;
use strata_select::Library;
use strata_sort::{Item, Sort, profile};

/// The candidate of this name with these parameters, if there is one.
#[must_use]
pub fn named(name: &str, parameters: &[i64]) -> Option<Sort> {
    let index = Sort::TABLE.entries.iter().position(|entry| entry.name == name)?;
    Sort::candidate(index, parameters)
}

/// Sorts by this candidate. Collective.
pub fn run<T: Item>(sort: Sort, node: &mut Node, items: &mut Vec<T>) {
    match sort {
        Sort::Gather => profile::gather(node, items),
        Sort::Radix { bits } => profile::radix(node, items, bits as u32),
        Sort::Sample { oversample } => profile::sample(node, items, oversample as usize),
        Sort::Batcher => profile::batcher(node, items),
        Sort::Histogram => profile::histogram(node, items),
        Sort::Quick => profile::quick(node, items),
        Sort::Packets { bits } => profile::packets(node, items, bits as u32),
        Sort::Grid { oversample } => profile::grid(node, items, oversample as usize),
    }
}
