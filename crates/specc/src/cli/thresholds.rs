//! `specc thresholds`: the input values at which the choice changes, as constants for programs.

use std::path::Path;

use serde_json::{Value, json};
use strata_interchange::emit::thresholds::{ends, flat_text, short};
use strata_model::set::Library;
use strata_model::{ModelSet, Samples, count, grouped, percent, sha256_hex};
use strata_screen::{Failure, columns_of, print, tell, width, wrapped};

use super::args::{Binding, ThresholdsOf};
use super::choose::{competition, known, no_library, numbers, placed, read, warn_of_failed, warn_of_round};
use super::compare::folded;
use super::measure::DECISIONS;
use super::values::{Layout, json_value, json_values};
use crate::competition::Competition;
use crate::decisions::pin;
use crate::thresholds::intervals::{self, Chain, Crossover, Crossovers, Evidence, Origin, Tuneup};
use crate::thresholds::places::Crossings;
use crate::thresholds::{self, Few, Limits, Taken};

/// `specc thresholds`.
pub(super) fn thresholds(path: &Path, asked: &ThresholdsOf) -> Result<(), Failure> {
    let set = read(path)?;
    let evidence = evidence(path, &set, asked.samples.as_deref())?;
    let libraries = named(&set, path, asked.library.as_deref())?;
    if Limits::from(asked.few).are_set() {
        return few_ways(&set, path, &libraries, asked);
    }
    let mut found = Vec::new();
    for library in &libraries {
        let (competition, at) = competing(&set, path, library, asked)?;
        found.push(of_library(&set, &competition, (&at, asked.by.as_deref()), &evidence)?);
    }
    if asked.json {
        return print(json!({ "libraries": found.iter().map(json_of).collect::<Vec<_>>() }));
    }
    let blocks: Vec<String> = found.iter().map(|found| block(found, width())).collect();
    print(blocks.join("\n\n"))
}

/// The candidates that are asked for, and the inputs that are held.
fn competing(
    set: &ModelSet,
    path: &Path,
    library: &Library,
    asked: &ThresholdsOf,
) -> Result<(Competition, Vec<Binding>), Failure> {
    let all = competition(set, path, Some(&library.name))?.on(asked.nodes.map(Layout::nodes));
    let competition = all.equal_to(asked.equal_to.as_deref()).map_err(Failure::Usage)?;
    let at = placed(set, path, competition.inputs(), &asked.at, asked.nodes)?;
    warn_of_failed(&competition, path);
    warn_of_round(&competition);
    Ok((competition, at))
}

/// The fewest ways of each library that suffice.
fn few_ways(
    set: &ModelSet,
    path: &Path,
    libraries: &[&Library],
    asked: &ThresholdsOf,
) -> Result<(), Failure> {
    let limits = Limits::from(asked.few);
    let (mut blocks, mut values) = (Vec::new(), Vec::new());
    for library in libraries {
        let (competition, at) = competing(set, path, library, asked)?;
        known(&format!("library `{}`", library.name), competition.inputs(), &at)?;
        let fixed = numbers(set, &at)?;
        let few = thresholds::few(&competition, &fixed, limits).map_err(Failure::Usage)?;
        let name =
            |(candidate, parameters): &Taken| pin(competition.candidates()[*candidate].name, parameters);
        values.push(json!({
            "library": library.name,
            "nodes": competition.nodes(),
            "held": json_values(&set.kinds, fixed.iter().map(|(name, value)| (&**name, *value))),
            "ways": few.ways.iter().map(|(way, share)| json!({ "way": name(way), "share": share })).collect::<Vec<_>>(),
            "of": few.of,
            "points": few.points,
            "loss": few.loss,
            "loss_of_one_fewer": few.fewer,
            "loss_of_one_more": few.more,
        }));
        let named: Vec<(String, f64)> = few.ways.iter().map(|(way, share)| (name(way), *share)).collect();
        blocks.push(few_block(&library.name, &few, &named, limits));
    }
    if asked.json { print(json!({ "libraries": values })) } else { print(blocks.join("\n\n")) }
}

/// The text about the fewest ways of a library.
fn few_block(library: &str, few: &Few, ways: &[(String, f64)], limits: Limits) -> String {
    let several = |ways: usize| count(ways, "way", "ways");
    let head = format!("{library}: {} of {} lose {}", ways.len(), several(few.of), few.loss);
    let mut lines = vec![(0, head)];
    let longest = ways.iter().map(|(name, _)| columns_of(name)).max().unwrap_or(0);
    lines.extend(ways.iter().map(|(name, share)| {
        (2, format!("{name:longest$}  best of them at {} of the inputs", percent(*share)))
    }));
    for (ways, loss) in [(ways.len().wrapping_sub(1), few.fewer), (ways.len() + 1, few.more)] {
        lines.extend(loss.map(|loss| (2, format!("with {} {loss}", several(ways)))));
    }
    if let Some(slowdown) = limits.slowdown.filter(|slowdown| few.loss.worst > *slowdown) {
        lines.push((2, format!("more than {} at some inputs: allow more ways", percent(slowdown))));
    }
    let points = grouped(few.points as f64, ',');
    lines.push((2, format!("(against all, by the models, at {points} random inputs of the measured range)")));
    folded(&lines, width())
}

/// The library of this name or, without one, all libraries with a choice to make.
pub(super) fn named<'a>(
    set: &'a ModelSet,
    path: &Path,
    name: Option<&str>,
) -> Result<Vec<&'a Library>, Failure> {
    if name.is_some() {
        // An unknown name is an error here, which lists the libraries.
        competition(set, path, name)?;
    }
    let is_meant = |library: &&Library| match name {
        Some(name) => library.name == name,
        None => !library.candidates.is_empty(),
    };
    let libraries: Vec<&Library> = set.libraries.iter().filter(is_meant).collect();
    if libraries.is_empty() {
        return Err(no_library(path));
    }
    Ok(libraries)
}

/// The crossovers of a library, with the given inputs held.
pub(super) fn of_library(
    set: &ModelSet,
    competition: &Competition,
    (at, by): (&[Binding], Option<&str>),
    evidence: &Evidence,
) -> Result<Crossovers, Failure> {
    let what = format!("library `{}`", competition.name());
    known(&what, competition.inputs(), at)?;
    if let Some(by) = by.filter(|by| !competition.inputs().iter().any(|input| input == by)) {
        let meant = strata_model::did_you_mean(by, competition.inputs().iter().map(String::as_str));
        let all = competition.inputs().join(", ");
        return Err(Failure::Usage(format!("--by: {what} has no input `{by}`{meant}; it has {all}")));
    }
    let fixed = numbers(set, at)?;
    intervals::compute(set, competition, &fixed, by, evidence).map_err(Failure::Usage)
}

/// Reads the samples of the fit and the timed decisions that lie beside a model set.
pub(super) fn evidence(path: &Path, set: &ModelSet, samples: Option<&Path>) -> Result<Evidence, Failure> {
    let file = samples.map_or_else(|| path.with_file_name("samples.txt"), Path::to_owned);
    let mut evidence = Evidence::default();
    match std::fs::read(&file) {
        Ok(bytes) if sha256_hex(&bytes) == set.samples_sha256 => {
            let read = Samples::read(&*bytes, &file.display().to_string());
            evidence.samples = Some(read.map_err(|error| Failure::Fault(error.to_string()))?);
        }
        Ok(_) => {
            let other = format!("{} holds other samples than those of {}", file.display(), path.display());
            if samples.is_some() {
                return Err(Failure::Usage(format!("--samples: {other}")));
            }
            tell!("note: {other}: they are not read");
        }
        Err(error) if samples.is_some() => return Err(Failure::file(&file, error)),
        Err(_) => {}
    }
    let decisions = std::fs::read_to_string(file.with_file_name(DECISIONS)).unwrap_or_default();
    evidence.decisions = Samples::parse(&decisions, DECISIONS)
        .ok()
        .filter(|times| times.spec.is_some() && times.spec == set.spec && times.platform == set.platform);
    Ok(evidence)
}

/// The text about a library's crossovers: each with its facts.
fn block(found: &Crossovers, width: usize) -> String {
    let Crossovers { crossings, lines, origin } = found;
    let held =
        crossings.held.iter().map(|(name, value)| format!(", {name} = {}", crossings.text(name, *value)));
    let held: String = held.collect();
    let nodes = count(crossings.nodes, "node", "nodes");
    let head = format!("{} by {} on {nodes}{held}", crossings.library, crossings.by);
    let mut text = wrapped(&head, width, "    ");
    for (line, chain) in crossings.lines.iter().zip(lines) {
        if let (Some(across), Some(at)) = (&crossings.across, line.at) {
            text += &format!("\n{across} = {}", crossings.text(across, at));
        }
        if chain.crossovers.is_empty() {
            text += &format!("\n{}", wrapped(&format!("  {}", nowhere(crossings, chain)), width, "    "));
        }
        for crossover in &chain.crossovers {
            let [from, to] = crossover.ways.each_ref().map(|way| crossings.name(way));
            let told = format!("  {from} < {} < {to}", number(crossover.at));
            text += &format!("\n{}", wrapped(&told, width, "    "));
            for (name, told) in facts(crossover) {
                text += &format!("\n{}", wrapped(&format!("    {name:11} {told}"), width, &" ".repeat(12)));
            }
        }
    }
    if lines.iter().any(|line| !line.crossovers.is_empty()) {
        let lost = lines.iter().map(|chain| chain.lost).fold(0.0, f64::max);
        let left_out = match lost > 0.0 {
            true => format!("; what is left out would save up to {} where it wins", percent(lost)),
            false => String::new(),
        };
        text += &format!("\n{}", wrapped(&format!("  ({}{left_out})", told(*origin)), width, "  "));
    }
    text
}

/// The reason for having no crossover, as text.
fn nowhere(crossings: &Crossings, chain: &Chain) -> String {
    let [first, .., last] = chain.segments.as_slice() else {
        let only = chain.segments.first();
        return only.map_or("nothing is chosen".to_owned(), |only| {
            let (low, high) = (number(only.from), number(only.to));
            let name = crossings.name(&only.way);
            match &only.way.beyond {
                None => format!("{name} everywhere from {low} to {high}: no crossover was measured"),
                Some(why) => format!("{name} from {low} to {high}: {why}"),
            }
        });
    };
    let names: Vec<String> = chain.segments.iter().map(|segment| crossings.name(&segment.way)).collect();
    format!(
        "{} from {} to {}, but no models cover both sides of a change",
        names.join(", "),
        number(first.from),
        number(last.to)
    )
}

/// The facts about a crossover, each with its label.
fn facts(crossover: &Crossover) -> Vec<(&'static str, String)> {
    let Crossover { at, is_root, interval, off_by_two, flat, tuneup, kept_for, .. } = crossover;
    let interval = match interval {
        Some(interval) => ends(*interval),
        None if !is_root => "no interval: both never take equally long, one alone applies".to_owned(),
        None => "no interval: the models do not say how uncertain they are".to_owned(),
    };
    let mut facts = vec![("95 %", interval)];
    if let Some(flat) = flat {
        facts.push(("flat", flat_text(*flat)));
    }
    let off = |factor: f64, loss: Option<f64>| Some(format!("{} at {}", percent(loss?), short(factor * at)));
    let off: Vec<String> = [(0.5, off_by_two[0]), (2.0, off_by_two[1])]
        .into_iter()
        .filter_map(|(factor, loss)| off(factor, loss))
        .collect();
    if !off.is_empty() {
        facts.push(("off by 2x", format!("loses up to {}", off.join(", "))));
    }
    if let Some(Tuneup { at, points, least, ours }) = tuneup {
        let value = at.map_or("none of them".to_owned(), number);
        let more = percent((ours - least).max(0.0));
        facts.push((
            "GMP's rule",
            format!("{value}, of {points} values timed with both, where ours loses {more} more"),
        ));
    }
    if let Some(gain) = kept_for {
        facts.push(("incumbent", format!("kept unless the other is predicted to save {}", percent(*gain))));
    }
    facts
}

/// The origin of intervals, as text.
pub(super) fn told(origin: Origin) -> String {
    match origin {
        Origin::Samples(points) => format!("intervals by a bootstrap over {points} points of the samples"),
        Origin::Covariance => {
            "intervals by the covariance of the coefficients; with samples.txt beside the models by these"
                .into()
        }
        Origin::Nothing => "no intervals: the models do not say how uncertain they are".into(),
    }
}

/// A number with separators and all digits: `61,000`.
fn number(value: f64) -> String {
    if value.fract() == 0.0 { grouped(value, ',') } else { grouped(strata_model::rounded(value, 5), ',') }
}

fn json_of(found: &Crossovers) -> Value {
    let Crossovers { crossings, lines, origin } = found;
    let held = json_values(&crossings.kinds, crossings.held.iter().map(|(input, value)| (&**input, *value)));
    let lines = crossings.lines.iter().zip(lines).map(|(line, chain)| {
        let one = |crossover: &Crossover| {
            let [from, to] = crossover.ways.each_ref().map(|way| crossings.name(way));
            let tuneup = crossover.tuneup.map(|Tuneup { at, points, least, ours }| {
                json!({ "at": at, "points": points, "mean_loss": least, "mean_loss_of_ours": ours })
            });
            json!({
                "at": crossover.at,
                "from": from,
                "to": to,
                "interval": crossover.interval.map(|(low, high)| [low, high]),
                "flat": crossover.flat.map(|(low, high)| [low, high]),
                "loss_of_half": crossover.off_by_two[0],
                "loss_of_twice": crossover.off_by_two[1],
                "tuneup": tuneup,
                "incumbent_gain": crossover.kept_for,
            })
        };
        json!({
            "at": crossings.across.as_deref().zip(line.at).map(|(input, at)| json_value(&crossings.kinds, input, at)),
            "ways": chain.segments.iter().map(|segment| crossings.name(&segment.way)).collect::<Vec<_>>(),
            "left_out_would_save": chain.lost,
            "crossovers": chain.crossovers.iter().map(one).collect::<Vec<_>>(),
        })
    });
    let origin = match origin {
        Origin::Samples(points) => json!({ "by": "samples", "points": points }),
        Origin::Covariance => json!({ "by": "covariance" }),
        Origin::Nothing => Value::Null,
    };
    json!({
        "library": crossings.library,
        "nodes": crossings.nodes,
        "by": crossings.by,
        "across": crossings.across,
        "held": held,
        "intervals": origin,
        "lines": lines.collect::<Vec<_>>(),
    })
}
