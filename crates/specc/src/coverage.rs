//! Samples that cover less than they should: kinds without samples, and numbers of nodes.
//!
//! Warns where the samples of one number of nodes cover less of an input's range than those of
//! another, because the budget ended early or loop bounds read `P`. A model has one range for all
//! its numbers of nodes.

use std::collections::BTreeMap;

use strata_model::samples::ModelSamples;
use strata_model::{Expr, Kinds, count};

/// A covered part of an input's range smaller than this is reported.
const PART: f64 = 0.25;

/// A note for each input and number of nodes with samples in only a small part of the input's
/// range.
pub(crate) fn partial(samples: &ModelSamples, inputs: &[String]) -> Vec<String> {
    let mut notes = Vec::new();
    for input in inputs {
        let Some(column) = samples.columns.iter().position(|column| column.text == *input) else { continue };
        let mut ranges: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for row in &samples.rows {
            let Some(&value) = row.values.get(column) else { continue };
            let range = ranges.entry(row.notes.nodes).or_insert((value, value));
            *range = (range.0.min(value), range.1.max(value));
        }
        let low = ranges.values().map(|range| range.0).fold(f64::INFINITY, f64::min);
        let high = ranges.values().map(|range| range.1).fold(f64::NEG_INFINITY, f64::max);
        for (&nodes, &(from, to)) in ranges.iter().filter(|(nodes, _)| **nodes > 0) {
            if to - from < PART * (high - low) {
                notes.push(format!(
                    "model `{}`: on {} `{input}` was measured from {from} to {to} only, in all from \
                     {low} to {high}; there, predictions beyond are extrapolated",
                    samples.name,
                    count(nodes, "node", "nodes"),
                ));
            }
        }
    }
    notes
}

/// The names of kinds that no sample has, each by its input and place.
pub(crate) fn unseen_names<'a>(samples: &ModelSamples, kinds: &'a Kinds) -> Vec<(&'a str, usize)> {
    let column = |input: &str| samples.columns.iter().position(|column| column.text == input);
    let all = kinds.iter().filter_map(|(input, names)| Some((input, names.len(), column(input)?)));
    let unseen = all.flat_map(|(input, count, column)| {
        let has = move |place: &usize| {
            samples.rows.iter().any(|row| row.values.get(column) == Some(&(*place as f64)))
        };
        (0..count).filter(move |place| !has(place)).map(|place| (&**input, place))
    });
    unseen.collect()
}

/// Whether a term compares an input with this place of a name.
pub(crate) fn tests(term: &Expr, input: &str, place: usize) -> bool {
    let test = format!("{input}=={place}");
    term.to_string().split(['(', ')', '*', '+']).any(|part| part == test)
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::Samples;

    #[test]
    fn a_number_of_nodes_with_a_small_part_of_the_range_is_named() {
        let sample = |bytes: u32| format!("Copy 1e-6 {bytes} 3\n");
        let on = |nodes: u32| {
            let platform = "cores=8 cpu=\"\" cache=\"\" os=linux arch=x86_64";
            format!("platform threads nodes={nodes} {platform}\n")
        };
        let few = format!(
            "strata-samples 1\n{}model Copy bytes copies\n{}{}{}{}",
            on(2),
            sample(8),
            sample(4096),
            on(4),
            sample(8)
        );
        let notes = |text: &str| {
            let samples = Samples::parse(text, "samples").unwrap();
            partial(&samples.models[0], &["bytes".to_owned(), "copies".to_owned()])
        };
        let said = "model `Copy`: on 4 nodes `bytes` was measured from 8 to 8 only, in all from 8 to 4096; \
                    there, predictions beyond are extrapolated";
        assert_eq!(notes(&few), [said]);
        assert!(notes(&(few + &sample(2048))).is_empty());
        // With one number of nodes, or an unknown one, there is nothing to compare.
        let alone = format!("strata-samples 1\nmodel Copy bytes copies\n{}{}", sample(8), sample(64));
        assert!(notes(&alone).is_empty());
    }
}
