//! `ways` and `slowdown` of a spec's library: its models choose among few ways alone.
//!
//! The ways become requirements of the candidates, so that every form of the models, and whatever
//! chooses by them, keeps to them.

use strata_model::set::{Incumbent, LibraryCandidate};
use strata_model::{ModelSet, count, percent};

use super::{Few, Taken, grow};
use crate::competition::{Competition, NEVER, is_left_out};
use crate::decisions::{Like, pin};
use crate::lang::checked::CheckedSpec;

/// Limits the libraries of `set` as the spec says, by the losses at `like` or at inputs drawn evenly;
/// says which ways remain.
pub fn limit(set: &mut ModelSet, spec: &CheckedSpec, like: &Like) -> Vec<String> {
    let mut notes = Vec::new();
    for library in spec.libraries.iter().filter(|library| library.limits.are_set()) {
        let Ok(competition) = Competition::new(set, &library.name) else { continue };
        let calls = like.of(&library.name);
        let free: Vec<usize> = (0..library.inputs.len()).collect();
        let Few { ways, of, loss, .. } = match grow::few(&competition, &[], &free, library.limits, calls) {
            Ok(few) => few,
            Err(why) => {
                notes.push(format!("warning: the ways of `{}` are not limited: {why}", library.name));
                continue;
            }
        };
        let Some(limited) = set.libraries.iter_mut().find(|one| one.name == library.name) else { continue };
        for (place, candidate) in limited.candidates.iter_mut().enumerate() {
            let own = ways.iter().filter(|(way, _)| way.0 == place);
            keep(candidate, &own.map(|(way, _)| &way.1).collect::<Vec<_>>());
        }
        let name = |(place, values): &Taken| pin(&limited.candidates[*place].name, values);
        let names: Vec<String> = ways.iter().map(|(way, _)| name(way)).collect();
        let is_left = |one: &Incumbent| names.contains(&pin(&one.candidate, &one.parameters));
        if let Some(one) = limited.incumbent.take_if(|one| !is_left(one)) {
            notes.push(format!(
                "warning: {}: `{}` is not left and cannot be kept",
                library.name, one.candidate
            ));
        }
        for group in &library.equal {
            if !group.iter().any(|one| limited.candidates.iter().any(|c| c.name == *one && !is_left_out(c))) {
                notes.push(format!(
                    "warning: {}: of {}, whose results are equal, none is left; allow more ways",
                    library.name,
                    group.join(", ")
                ));
            }
        }
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

/// Requires the parameters of a candidate to have one of these combinations of values.
fn keep(candidate: &mut LibraryCandidate, ways: &[&Vec<i64>]) {
    let names = candidate.parameters.iter().map(|parameter| &parameter.name);
    let all = |way: &&Vec<i64>| {
        let equal = names.clone().zip(way.iter()).map(|(name, value)| format!("{name} == {value}"));
        equal.collect::<Vec<_>>().join(" && ")
    };
    let one_of: Vec<String> = ways.iter().map(all).collect();
    match ways {
        [] => candidate.requires.push(NEVER.to_owned()),
        _ if candidate.parameters.is_empty() => {}
        _ => candidate.requires.push(one_of.join(" || ")),
    }
}
