//! The form in which models are compiled into a library: plain functions and constants, no text to read at start.
//!
//! `specc emit` writes one `pub static` [`Table`] for each library of a spec; a library crate's candidates look their times up
//! in it. The same questions are answered from a model-set file by [`LibraryModels`](crate::LibraryModels).

use crate::set::Verdict;
use crate::{Parameter, Prediction};

/// The models of one library, compiled in.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The library's name.
    pub library: &'static str,
    /// The platform that was measured, as [`Platform`](crate::Platform) prints it.
    pub platform: &'static str,
    /// The digest of the model set that this was emitted from.
    pub digest: &'static str,
    /// The names of the inputs.
    pub inputs: &'static [&'static str],
    /// For each input the range in which at least one candidate predicts.
    pub ranges: &'static [(f64, f64)],
    /// The number of nodes of the run; the models are valid there only. Zero: any.
    pub nodes: usize,
    /// The candidates, in order.
    pub entries: &'static [Entry],
}

/// One candidate of a [`Table`].
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The candidate's name.
    pub name: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Whether its model may be trusted.
    pub verdict: Verdict,
    /// The time in seconds for a number of nodes, inputs and parameters; `None` outside what was measured or required.
    pub seconds: fn(nodes: usize, inputs: &[f64], parameters: &[i64]) -> Option<f64>,
    /// The same with the interval of a new measurement.
    pub predict: fn(nodes: usize, inputs: &[f64], parameters: &[i64]) -> Option<Prediction>,
}

impl Table {
    /// The entry of this name.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<&'static Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }
}
