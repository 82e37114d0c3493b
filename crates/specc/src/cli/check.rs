//! `specc check`: specs, and whether committed models, thresholds or a constant still hold.

use std::path::Path;

use serde_json::{Value, json};
use strata_interchange::emit::thresholds::{self, LibraryThresholds, Thresholds};
use strata_interchange::rules::{Release, RuleFile};
use strata_model::{ModelSet, Platform, count, percent};
use strata_screen::{Failure, print, tell, width, wrapped};
use strata_select::Pin;

use super::args::{Check, Holding, Specs, Target};
use super::measure::Campaign;
use super::output_lock::Lock;
use super::{choose, guidelines, rules, spec_files};
use crate::competition::Competition;
use crate::decisions::{Compared, Held, Moved};
use crate::lang::CheckedSpec;
use crate::profiling_program;

/// A model has moved if its times, relative to the other models', are off by more than this factor
/// times one plus its verification error.
const MOVED: f64 = 1.25;

/// The exit status if whether it holds cannot be told.
const UNDECIDED: u8 = 4;

/// Added to the seed to draw other inputs.
const FRESH: u64 = 1 << 32;

/// `specc check`.
pub(super) fn check(asked: &Check) -> Result<(), Failure> {
    let Check { specs, json, fmt, formatted, rules, guidelines, models, output, .. } = asked;
    let nodes = &asked.holding.target.nodes;
    if !nodes.is_empty() && models.is_none() && rules.is_none() {
        return Err(Failure::Usage("--nodes goes with --models and --rules".into()));
    }
    match (rules, models, output) {
        (_, Some(models), Some(output)) => verify(specs, models, &asked.holding, *json, output),
        (Some(kind), ..) => {
            rules::check(&specs.specs, *kind, &nodes.iter().map(|layout| layout.nodes()).collect::<Vec<_>>())
        }
        _ if *guidelines => guidelines::check(&specs.specs),
        _ if *fmt || *formatted => spec_files::format(&specs.specs, *formatted),
        _ => spec_files::check(&specs.specs, *json),
    }
}

/// Whether the choices by models, or by what stands in their place, hold.
pub(super) fn verify(
    specs: &Specs,
    models: &Path,
    holding: &Holding,
    json: bool,
    output: &Path,
) -> Result<(), Failure> {
    let Holding { calls, target, .. } = holding;
    let spec = spec_files::load(&specs.specs)?;
    let like = calls.read(&spec)?;
    let set = choose::read(models)?;
    choose::same_kinds(&spec, &set, models)?;
    if target.nodes.len() > 1 {
        return Err(Failure::Usage("--nodes: one number of nodes at a time".into()));
    }
    if set.libraries.is_empty() {
        return Err(choose::no_library(models));
    }
    let subject = Subject::of(holding, &set, models)?;
    for library in set.libraries.iter().filter(|library| subject.is_about(&library.name)) {
        choose::warn_of_failed(&choose::competition(&set, models, Some(&library.name))?, models);
    }
    let _lock = Lock::take(output)?;
    // The inputs differ from those of the calibration's decisions.
    let target = target.like(&set, &spec);
    let fresh = Target { seed: target.seed.wrapping_add(FRESH), ..target.clone() };
    let campaign = Campaign::new(&spec, &fresh, output)?;
    let taken = |competition: &Competition, inputs: &[f64]| subject.held(competition, inputs);
    let at = |library: &str| subject.at(library);
    let by = (matches!(subject, Subject::Models), matches!(subject, Subject::Rules(..)));
    let held = match subject {
        Subject::Models => None,
        _ => Some(Held { taken: &taken, at: &at }),
    };
    let seconds = target.budget.as_secs_f64();
    like.outside(&set).iter().for_each(|note| tell!("warning: {note}"));
    let timed = campaign.time_decisions(&set, seconds, (holding.decisions as usize, &like), held)?;
    let mut judged = timed.map_or(Vec::new(), |(decisions, times)| decisions.compare(&set, &times, held));
    judged.retain(|one| one.regret.is_some() && subject.is_about(&one.library));
    if judged.is_empty() {
        return Err(Failure::Fault(format!(
            "{}: no choice could be timed: there is one way alone, the spec measures none, or the budget is short",
            models.display()
        )));
    }
    let results: Vec<Outcome> =
        judged.into_iter().map(|one| Outcome::of(one, &set, holding.accept, by)).collect();
    let changes = changes(&spec, &set, &target.features.features, &campaign);
    if json {
        let all: Option<Vec<bool>> = results.iter().map(Outcome::holds).collect();
        let broken = results.iter().any(|one| one.holds() == Some(false));
        let holds = if broken { Some(false) } else { all.map(|_| true) };
        let libraries: Vec<Value> = results.iter().map(Outcome::json).collect();
        print(json!({ "holds": holds, "changes": changes, "libraries": libraries }))?;
    } else {
        let mut lines: Vec<String> = results.iter().flat_map(Outcome::lines).collect();
        lines.extend(changes.iter().map(|change| format!("  {change}")));
        print(lines.iter().map(|line| wrapped(line, width(), "    ")).collect::<Vec<_>>().join("\n"))?;
    }
    let those = |holds: Option<bool>| {
        let those = results.iter().filter(|one| one.holds() == holds);
        those.map(|one| &*one.compared.library).collect::<Vec<_>>().join("`, `")
    };
    match [those(Some(false)), those(None)] {
        [broken, _] if !broken.is_empty() => Err(Failure::Fault(subject.broken(&broken))),
        [_, open] if !open.is_empty() => Err(Failure::Stage(
            UNDECIDED,
            format!("not decided for `{open}`: a longer --budget or a quieter machine tells"),
        )),
        _ => Ok(()),
    }
}

/// The subject of the verification.
enum Subject {
    Models,
    Thresholds(Vec<LibraryThresholds>),
    Constant(String),
    Rules(RuleFile, Release),
}

impl Subject {
    fn of(holding: &Holding, set: &ModelSet, models: &Path) -> Result<Self, Failure> {
        if let Some(path) = &holding.thresholds {
            let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, error))?;
            let fault = |why: String| Failure::Fault(format!("{}: {why}", path.display()));
            let sets = match thresholds::read(&text) {
                Ok(sets) => sets,
                // Numbers of algorithms are the same in all releases that have them.
                Err(why) => {
                    let is_json = text.trim_start().starts_with('{');
                    let release = if is_json { Release::V6_0 } else { Release::V5_0 };
                    let Ok(file) = rules::read(path, release) else { return Err(fault(why)) };
                    if !file.collectives.iter().any(|own| set.library(own.collective.name).is_some()) {
                        return Err(fault(format!("it is about no library of {}", models.display())));
                    }
                    return Ok(Self::Rules(file, release));
                }
            };
            // Among the thresholds of several machines, those of the models' machine are used.
            let is_ours = |one: &&Thresholds| one.platform == set.platform;
            let ours = sets.iter().find(is_ours).or(sets.first());
            let libraries = ours.map_or(Vec::new(), |one| one.libraries.clone());
            if !libraries.iter().any(|one| set.library(&one.library).is_some()) {
                return Err(fault(format!("it is about no library of {}", models.display())));
            }
            return Ok(Self::Thresholds(libraries));
        }
        let Some(text) = &holding.constant else { return Ok(Self::Models) };
        let pin = Pin::parse(text).map_err(|error| Failure::Usage(format!("--constant: {error}")))?;
        let competition = choose::competition(set, models, Some(pin.library))?;
        if constant(&competition, &pin).is_none() {
            let names: Vec<&str> = competition.candidates().iter().map(|row| row.name).collect();
            return Err(Failure::Usage(format!(
                "--constant: `{text}` is no candidate with all its parameters; `{}` has {}",
                pin.library,
                names.join(", ")
            )));
        }
        Ok(Self::Constant(text.clone()))
    }

    /// The message if it fails for these libraries.
    fn broken(&self, libraries: &str) -> String {
        match self {
            Self::Models => {
                format!("the choices by the models no longer hold for `{libraries}`: calibrate again")
            }
            Self::Thresholds(_) | Self::Rules(..) => {
                format!("the numbers no longer hold for `{libraries}`: calibrate and export again")
            }
            Self::Constant(pin) => {
                format!("`{pin}` everywhere does not hold: `specc calibrate` says what is faster where")
            }
        }
    }

    fn is_about(&self, library: &str) -> bool {
        match self {
            Self::Models => true,
            Self::Thresholds(libraries) => libraries.iter().any(|one| one.library == library),
            Self::Constant(pin) => Pin::parse(pin).is_ok_and(|pin| pin.library == library),
            Self::Rules(file, _) => file.collectives.iter().any(|own| own.collective.name == library),
        }
    }

    /// The inputs of a library that it holds fixed, with their values.
    fn at(&self, library: &str) -> Vec<(String, f64)> {
        match self {
            Self::Models | Self::Constant(_) | Self::Rules(..) => Vec::new(),
            Self::Thresholds(libraries) => {
                let one = libraries.iter().find(|one| one.library == library);
                one.map_or(Vec::new(), |one| one.held.clone())
            }
        }
    }

    /// The choice of the thresholds or of the constant at inputs of a library.
    fn held(&self, competition: &Competition, inputs: &[f64]) -> Option<(usize, Vec<i64>)> {
        match self {
            Self::Models => None,
            Self::Constant(pin) => constant(competition, &Pin::parse(pin).ok()?),
            Self::Rules(file, release) => rules::taken(file, *release, competition, inputs),
            Self::Thresholds(libraries) => {
                let one = libraries.iter().find(|one| one.library == competition.name())?;
                let value = |input: &thresholds::ThresholdInput| {
                    let place = competition.inputs().iter().position(|name| *name == input.name)?;
                    inputs.get(place).copied()
                };
                let values: Vec<f64> = one.inputs.iter().map(value).collect::<Option<_>>()?;
                let way = one.ways.get(one.choose(&values))?;
                let candidate = competition.candidates().iter().position(|row| row.name == way.candidate)?;
                Some((candidate, way.parameters.iter().map(|(_, value)| *value).collect()))
            }
        }
    }
}

/// The candidate and parameters of a pin, if it is of this library and has all parameters.
fn constant(competition: &Competition, pin: &Pin<'_>) -> Option<(usize, Vec<i64>)> {
    (pin.library == competition.name()).then_some(())?;
    let place = competition.candidates().iter().position(|row| row.name == pin.candidate)?;
    let parameters = pin.parameters.to_vec();
    (competition.declared(place)?.parameters.len() == parameters.len()).then_some((place, parameters))
}

/// The result for one library.
struct Outcome {
    compared: Compared,
    /// The accepted loss.
    accepted: f64,
    /// The models that have moved, with their ratio relative to the other models.
    moved: Vec<(Moved, f64)>,
    /// The common factor of all models.
    common: f64,
}

impl Outcome {
    fn of(compared: Compared, set: &ModelSet, accept: f64, (by_models, is_rules): (bool, bool)) -> Self {
        let before = set.library(&compared.library).and_then(|library| library.regret.as_ref());
        let before = before.filter(|_| by_models).map_or(0.0, |regret| regret.interval.1);
        let mut ratios: Vec<f64> = compared.moved.iter().map(|one| one.ratio).collect();
        ratios.sort_by(f64::total_cmp);
        // A slower machine affects all models, so their common factor is removed. With one model
        // alone, a slower machine and a change of the model look the same.
        let middle = [ratios.len().saturating_sub(1) / 2, ratios.len() / 2].map(|place| ratios.get(place));
        let nearer = middle.into_iter().flatten().min_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()));
        let common = nearer.copied().unwrap_or(1.0);
        let beside = |one: &Moved| {
            let off = set.model(&one.model).and_then(|model| model.mre_verify).unwrap_or(0.0);
            let most = MOVED * (1.0 + off);
            let (low, high) = (one.interval.0 / common, one.interval.1 / common);
            (low > most || high < 1.0 / most).then(|| (one.clone(), one.ratio / common))
        };
        let moved = if by_models { compared.moved.iter().filter_map(beside).collect() } else { Vec::new() };
        // Rules leave to the library what is not surely faster, so that its own loss is theirs.
        let own = compared.regret.as_ref().and_then(|regret| regret.before.as_ref());
        let own = own.filter(|_| is_rules).map_or(0.0, |own| own.mean.max(0.0));
        Self { accepted: (accept + own).max(before), moved, common, compared }
    }

    /// Whether the loss is within the accepted one and no model has moved; `None` where the mean
    /// loss is not and noise may be why.
    fn holds(&self) -> Option<bool> {
        let lost = self.compared.regret.as_ref().map_or([0.0; 2], |regret| [regret.interval.0, regret.mean]);
        let [least, mean] = lost.map(|lost| lost <= self.accepted);
        if least && self.moved.is_empty() { mean.then_some(true) } else { Some(false) }
    }

    fn lines(&self) -> Vec<String> {
        let Self { compared, accepted, moved, common } = self;
        let mut lines = vec![compared.library.clone()];
        if let Some(regret) = &compared.regret {
            lines.push(format!("  {regret}"));
            let most = percent(*accepted);
            let told = match [regret.interval.0, regret.mean].map(|lost| lost <= *accepted) {
                [_, true] => format!("that holds: up to {most} is accepted"),
                [true, false] => format!("whether that holds cannot be told: up to {most} is accepted"),
                [false, false] => format!("that is more than the accepted {most}"),
            };
            lines.push(format!("  {told}"));
        }
        if (common.ln()).abs() > MOVED.ln() {
            lines.push(format!(
                "  all models are off by a factor of {common:.2}: another machine, or a busy one"
            ));
        }
        for (Moved { model, points, .. }, ratio) in moved {
            let points = count(*points, "point", "points");
            lines.push(format!(
                "  {model} takes {ratio:.2} times what it predicts beside the others ({points})"
            ));
        }
        lines
    }

    fn json(&self) -> Value {
        let moved = self
            .moved
            .iter()
            .map(|(one, ratio)| json!({ "model": one.model, "ratio": ratio, "points": one.points }));
        let regret = self.compared.regret.as_ref().map(|regret| {
            json!({
                "inputs": regret.inputs,
                "mean": regret.mean,
                "interval": [regret.interval.0, regret.interval.1],
                "worst": regret.worst,
                "worst_at": regret.worst_at,
            })
        });
        json!({
            "library": self.compared.library,
            "holds": self.holds(),
            "regret": regret,
            "accepted": self.accepted,
            "common_ratio": self.common,
            "moved": moved.collect::<Vec<_>>(),
        })
    }
}

/// The changes since the models were measured, as text.
fn changes(spec: &CheckedSpec, set: &ModelSet, features: &[String], campaign: &Campaign<'_>) -> Vec<String> {
    let mut changes = Vec::new();
    if set.spec.as_ref().is_some_and(|known| known.sha256 != campaign.spec().sha256) {
        changes.push("measured before this change of the spec: the text of it was another".to_owned());
    }
    match profiling_program::code_hash(spec, features) {
        Ok(_) if set.code_sha256.is_empty() => {
            changes.push("the models do not say of which sources they were measured".to_owned());
        }
        Ok(now) if now != set.code_sha256 => changes.push(format!(
            "measured before this change of the code: its sources were {}, now {}",
            &set.code_sha256.get(..8).unwrap_or(&set.code_sha256),
            &now[..8]
        )),
        _ => {}
    }
    let here = campaign.site();
    if let (Some(known), Some(here)) = (&set.platform, here.platform())
        && let used = (Platform { nodes: known.nodes, ..known.as_used(here) })
        && let Some(difference) = used.difference(here)
    {
        changes.push(format!("measured elsewhere: {difference}"));
    }
    changes
}

#[cfg(test)]
mod tests {
    use strata_model::set::Regret;

    use super::*;

    #[test]
    fn a_loss_that_noise_may_have_made_neither_holds_nor_fails() {
        let outcome = |mean: f64, low: f64, moved: bool| {
            let regret = Regret {
                inputs: 20,
                like: None,
                mean,
                interval: (low, 0.32),
                worst: 0.4,
                worst_at: "n=1".into(),
                constant: None,
                before: None,
            };
            let one = Moved { model: "Few".into(), ratio: 3.0, interval: (2.9, 3.1), points: 20 };
            let moved = if moved { vec![(one, 3.0)] } else { Vec::new() };
            let compared = Compared { library: "ways".into(), regret: Some(regret), moved: Vec::new() };
            Outcome { compared, accepted: 0.05, moved, common: 1.0 }
        };
        let table = [
            (0.04, 0.0, false, Some(true), "that holds: up to 5 % is accepted"),
            (0.17, 0.036, false, None, "whether that holds cannot be told: up to 5 % is accepted"),
            (0.17, 0.06, false, Some(false), "that is more than the accepted 5 %"),
            (0.04, 0.0, true, Some(false), "that holds"),
            (0.17, 0.036, true, Some(false), "cannot be told"),
        ];
        for (mean, low, moved, holds, told) in table {
            let outcome = outcome(mean, low, moved);
            assert_eq!(outcome.holds(), holds, "{mean} {low} {moved}");
            let lines = outcome.lines().join("\n");
            assert!(lines.contains(told), "{lines}");
            assert!(told.starts_with("that holds") || !lines.contains("that holds:"), "{lines}");
        }
    }
}
