//! `ways` and `slowdown` of a spec's library: its models choose among few ways alone.
//!
//! The ways become requirements of the candidates, so that every form of the models, and whatever
//! chooses by them, keeps to them.

use strata_model::set::{LibraryCandidate, ParameterRange};
use strata_model::{ModelSet, count, percent};
use strata_select::table::Step;

use super::{Few, Taken, grow};
use crate::competition::Competition;
use crate::decisions::{Like, pin};
use crate::lang::plan::CheckedSpec;

/// A choice finds the best values of parameters for sure if they have so many combinations.
const SEARCHED: usize = 64;

/// Limits the libraries of `set` as the spec says, by the losses at `like` or at inputs drawn evenly;
/// says which ways remain.
pub fn limit(set: &mut ModelSet, spec: &CheckedSpec, like: &Like) -> Vec<String> {
    let mut notes = Vec::new();
    for library in spec.libraries.iter().filter(|library| library.limits.are_set()) {
        let Ok(competition) = Competition::new(set, &library.name) else { continue };
        let calls = like.of(&library.name);
        let free: Vec<usize> = (0..library.inputs.len()).collect();
        let Few { mut ways, of, loss, .. } = match grow::few(&competition, &[], &free, library.limits, calls)
        {
            Ok(few) => few,
            Err(why) => {
                notes.push(format!("warning: the ways of `{}` are not limited: {why}", library.name));
                continue;
            }
        };
        let Some(limited) = set.libraries.iter_mut().find(|one| one.name == library.name) else { continue };
        for (place, candidate) in limited.candidates.iter_mut().enumerate() {
            let own = ways.iter_mut().map(|(way, _)| way).filter(|way| way.0 == place);
            keep(candidate, &mut own.map(|way| &mut way.1).collect::<Vec<_>>());
        }
        let name = |(place, values): &Taken| pin(&limited.candidates[*place].name, values);
        let names: Vec<String> = ways.iter().map(|(way, _)| name(way)).collect();
        let is_left =
            |one: &strata_model::set::Incumbent| names.contains(&pin(&one.candidate, &one.parameters));
        limited.incumbent = limited.incumbent.take().filter(is_left);
        let at = calls.map_or("inputs drawn evenly".to_owned(), |calls| format!("calls of {}", calls.file));
        let beyond = library.limits.slowdown.filter(|slowdown| loss.worst > *slowdown);
        let beyond = beyond
            .map_or(String::new(), |slowdown| format!("; more than {}: allow more ways", percent(slowdown)));
        notes.push(format!(
            "{}: {} of {}, {}, which lose {loss} against all, by the models at {at}{beyond}",
            library.name,
            names.len(),
            count(of, "way", "ways"),
            names.join(", ")
        ));
    }
    notes
}

/// Requires the parameters of a candidate to have one of these combinations of values. Where a choice
/// might not find them among many, the range becomes a lattice, onto which they move.
fn keep(candidate: &mut LibraryCandidate, ways: &mut [&mut Vec<i64>]) {
    if ways.is_empty() {
        candidate.requires.push("0".to_owned());
        return;
    }
    let counts = candidate.parameters.iter().map(|one| one.declared("").values().take(SEARCHED + 1).count());
    let several = candidate.parameters.len();
    if counts.product::<usize>() > SEARCHED {
        let most = (SEARCHED as f64).powf(1.0 / several as f64) as i64;
        for (place, range) in candidate.parameters.iter_mut().enumerate() {
            narrow(range, &mut ways.iter_mut().map(|way| &mut way[place]).collect::<Vec<_>>(), most);
        }
    }
    let names = candidate.parameters.iter().map(|parameter| &parameter.name);
    let all = |way: &&mut Vec<i64>| {
        let equal = names.clone().zip(way.iter()).map(|(name, value)| format!("{name} == {value}"));
        equal.collect::<Vec<_>>().join(" && ")
    };
    if several > 0 {
        candidate.requires.push(ways.iter().map(all).collect::<Vec<_>>().join(" || "));
    }
}

/// Narrows a range to at most `most` values, the nearest of which replace `values`.
fn narrow(range: &mut ParameterRange, values: &mut [&mut i64], most: i64) {
    let (least, greatest) =
        values.iter().fold((i64::MAX, i64::MIN), |(a, b), value| (a.min(**value), b.max(**value)));
    (range.min, range.max) = (least, greatest);
    if let Step::Add(by) = range.step {
        let apart = (greatest - least) / by;
        let by = by * (apart + most - 2).div_euclid((most - 1).max(1)).max(1);
        range.step = Step::Add(by);
        values.iter_mut().for_each(|value| **value = least + (**value - least + by / 2) / by * by);
        values.iter_mut().filter(|value| ***value > greatest).for_each(|value| **value -= by);
    }
}
