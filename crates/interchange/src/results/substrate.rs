//! Substrate's `--json-file`: repeats of each benchmark of a pallet, in ns.
//!
//! Source: `frame_benchmarking::utils`. Only one component varies at a time, the others have their
//! maximum: a fit cannot find products of components.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Results;
use crate::place::Problems;

#[derive(Deserialize)]
struct Batch<'a> {
    pallet: String,
    benchmark: String,
    #[serde(borrow)]
    time_results: Vec<Outcome<'a>>,
}

#[derive(Deserialize)]
struct Outcome<'a> {
    components: Vec<(String, f64)>,
    #[serde(borrow)]
    extrinsic_time: &'a RawValue,
}

pub(super) fn read(text: &str, results: &mut Results<'_>, problems: &mut Problems<'_>) {
    let Some(batches) = results.json::<Vec<Batch<'_>>>(text, problems) else { return };
    for Batch { pallet, benchmark, time_results } in &batches {
        let path = format!("{pallet}::{benchmark}");
        for outcome in time_results {
            let time = outcome.extrinsic_time.get();
            if let Some(seconds) = results.time(time, "ns", problems) {
                results.sample(time, &path, &outcome.components, seconds);
            }
        }
        if time_results.first().is_some_and(|first| first.components.len() > 1) {
            results.note(format!(
                "`{path}`: where only one component varies at a time, products of components cannot be told"
            ));
        }
    }
}
