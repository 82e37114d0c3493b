//! `specc choose`: the choice of a library, and the prediction of a model.

use std::path::Path;

use serde_json::{Value, json};
use strata_model::platform::HOSTS;
use strata_model::set::{Kind, Named, Verdict};
use strata_model::{Hosts, ModelSet, Prediction, did_you_mean, number_text};
use strata_screen::{Failure, print, tell, width, wrapped};
use strata_select::{Pin, choice::Outcome};

use super::args::{At, Binding, Choosing};
use super::values::Layout;
use crate::competition::{Choice, Competition};
use crate::lang::CheckedSpec;
use crate::primitives::over;

pub(super) fn read(path: &Path) -> Result<ModelSet, Failure> {
    let bytes = std::fs::read(path).map_err(|e| Failure::file(path, e))?;
    let fault = |message: String| Failure::Fault(format!("{}: {message}", path.display()));
    let text = String::from_utf8(bytes).map_err(|_| fault("this is not UTF-8 text".into()))?;
    if text.starts_with("strata-samples") {
        return Err(fault("these are samples; `specc fit` makes a `models.toml` of them".into()));
    }
    ModelSet::read(&text).map_err(|e| fault(e.to_string()))
}

/// The set with the primitives of its models `roots` from the sets of `--models`, if there are any.
fn on_machines(path: &Path, set: ModelSet, roots: &[&str], at: &At) -> Result<ModelSet, Failure> {
    if at.over.is_empty() {
        return Ok(set);
    }
    let mut machines = Vec::new();
    for machine in &at.over {
        machines.push((machine.display().to_string(), read(machine)?));
    }
    let own = (path.display().to_string(), set);
    let set = over(&own, roots, &machines).map_err(Failure::Fault)?;
    set.resolve().map_err(|error| {
        let all: Vec<&str> = machines.iter().map(|(path, _)| path.as_str()).collect();
        Failure::Fault(format!(
            "{} over {}: {error}; `specc calibrate --nodes` measures both on the same numbers of nodes",
            own.0,
            all.join(", ")
        ))
    })?;
    Ok(set)
}

/// The values of `names`, in order, from `given`; every name needs one.
pub(super) fn values(
    set: &ModelSet,
    what: &str,
    names: &[String],
    given: &[Binding],
) -> Result<Vec<f64>, Failure> {
    known(what, names, given)?;
    names
        .iter()
        .map(|name| match given.iter().find(|b| b.name == *name) {
            Some(binding) => whole(set, name, binding.value(&set.kinds)?),
            None => Err(Failure::Usage(format!("{what} needs `{name}`; give {}", usage(names)))),
        })
        .collect()
}

/// The value of an input; refused where all measured models with such an input take whole numbers
/// from zero on, and this is none.
fn whole(set: &ModelSet, name: &str, value: f64) -> Result<f64, Failure> {
    let measured = set.models.iter().filter(|model| model.kind == Kind::Fitted);
    let mut inputs = measured.flat_map(|model| &model.inputs).filter(|one| one.name == name).peekable();
    let is_count = inputs.peek().is_some() && inputs.all(|one| one.integer && one.min >= 0.0);
    match is_count && (value < 0.0 || value.fract() != 0.0) {
        true => Err(Failure::Usage(format!("`{name}` is a whole number, not {}", number_text(value)))),
        false => Ok(value),
    }
}

/// Refuses models whose kinds have other names than those of a spec: their values would mean others.
pub(super) fn same_kinds(spec: &CheckedSpec, set: &ModelSet, path: &Path) -> Result<(), Failure> {
    let differs =
        |(input, names): &(&String, &Vec<String>)| spec.kinds.get(*input).is_some_and(|own| own != *names);
    set.kinds.iter().find(differs).map_or(Ok(()), |(input, names)| {
        let names = names.join(", ");
        Err(Failure::Fault(format!(
            "{}: `{input}` is one of {names} there, and others in the spec",
            path.display()
        )))
    })
}

/// Inputs as numbers.
///
/// # Errors
/// A value is neither a number nor a name of its kind, or not whole where it must be.
pub(super) fn numbers(set: &ModelSet, given: &[Binding]) -> Result<Vec<(String, f64)>, Failure> {
    let value = |one: &Binding| whole(set, &one.name, one.value(&set.kinds)?);
    given.iter().map(|one| Ok((one.name.clone(), value(one)?))).collect()
}

/// The given inputs with the hosts of `--nodes HOSTSxNODES`, where there is an input for them.
///
/// # Errors
/// The inputs name other hosts; models without the input were measured on other hosts.
pub(super) fn placed(
    set: &ModelSet,
    path: &Path,
    names: &[String],
    given: &[Binding],
    layout: Option<Layout>,
) -> Result<Vec<Binding>, Failure> {
    let mut given = given.to_vec();
    let Some((layout, hosts)) = layout.and_then(|layout| Some((layout, layout.hosts()?))) else {
        return Ok(given);
    };
    if names.iter().any(|name| name == HOSTS) {
        match given.iter().find(|binding| binding.name == HOSTS) {
            Some(other) if other.value(&set.kinds)? != hosts as f64 => {
                let other = number_text(other.value(&set.kinds)?);
                return Err(Failure::Usage(format!("--nodes {layout} contradicts `{HOSTS}={other}`")));
            }
            Some(_) => {}
            None => given.push(Binding::new(HOSTS, hosts as f64)),
        }
        return Ok(given);
    }
    let platform = set.platform.as_ref();
    match platform.filter(|platform| !platform.all_hosts().contains(Hosts::known(hosts))) {
        None => Ok(given),
        Some(platform) => Err(Failure::Fault(format!(
            "{}: outside what was measured: these models have no input `{HOSTS}`, and are of {}, not of {}",
            path.display(),
            hosts_text(platform.all_hosts()),
            hosts_text(Hosts::known(hosts))
        ))),
    }
}

/// `1 host`, `1-4 hosts`.
fn hosts_text(hosts: Hosts) -> String {
    format!("{hosts} host{}", if hosts.max == 1 { "" } else { "s" })
}

/// Refuses unknown names and names given twice.
pub(super) fn known(what: &str, names: &[String], given: &[Binding]) -> Result<(), Failure> {
    for (at, binding) in given.iter().enumerate() {
        if !names.contains(&binding.name) {
            return Err(Failure::Usage(format!(
                "{what} has no input `{}`{}; give {}",
                binding.name,
                did_you_mean(&binding.name, names.iter().map(String::as_str)),
                usage(names)
            )));
        }
        if given[..at].iter().any(|b| b.name == binding.name) {
            return Err(Failure::Usage(format!("`{}` is given twice", binding.name)));
        }
    }
    Ok(())
}

fn usage(names: &[String]) -> String {
    names.iter().map(|n| format!("{n}=VALUE")).collect::<Vec<_>>().join(" ")
}

/// Refuses a name that a model set does not have.
pub(super) fn no_such<'a>(
    path: &Path,
    what: &str,
    name: &str,
    there: impl Iterator<Item = &'a str> + Clone,
) -> Failure {
    let meant = did_you_mean(name, there.clone());
    Failure::Usage(format!("{} has no {what} `{name}`{meant}; it has {}", path.display(), list(there)))
}

/// Refuses a name that is neither a library's nor a model's.
pub(super) fn no_such_name(path: &Path, set: &ModelSet, name: &str) -> Failure {
    let libraries = set.libraries.iter().map(|library| library.name.as_str());
    no_such(
        path,
        "library or model",
        name,
        libraries.chain(set.models.iter().map(|model| model.name.as_str())),
    )
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

fn json_of(prediction: &Prediction) -> Value {
    json!({ "seconds": prediction.seconds.get(), "half_width": prediction.half_width.get() })
}

/// Predicts the time of a model.
fn predict(path: &Path, set: ModelSet, name: &str, at: &At) -> Result<(), Failure> {
    let (layout, as_json) = (at.nodes, at.json);
    let fault = |message: String| Failure::Fault(format!("{}: {message}", path.display()));
    let set = on_machines(path, set, &[name], at)?;
    let Some(model) = set.model(name) else { return Ok(()) };
    if model.kind == Kind::Unmeasured {
        return Err(fault(format!("`{name}` predicts nothing: {}", model.reason)));
    }
    let names: Vec<String> = model.inputs.iter().map(|i| i.name.clone()).collect();
    let given = placed(&set, path, &names, &at.inputs, layout)?;
    let inputs = values(&set, &format!("model `{name}`"), &names, &given)?;
    let resolved = set.resolve().map_err(|e| fault(e.to_string()))?;
    let nodes = layout.map_or_else(|| set.nodes(), Layout::nodes);
    let Some(prediction) = resolved.predict(name, nodes, &inputs) else {
        let within = resolved.formula(name).is_some_and(|formula| {
            let ranges = formula.ranges.iter().zip(&inputs);
            formula.nodes.contains(nodes)
                && ranges.into_iter().all(|((low, high), x)| (low..=high).contains(&x))
        });
        let why = if within { "where a requirement fails or its terms add up to no time" } else { "here" };
        return Err(Failure::Fault(format!(
            "`{name}` predicts nothing {why}; it was measured for {}",
            resolved.validity(model)
        )));
    };
    let amount = prediction.seconds.get();
    match (as_json, &model.bound) {
        (true, bound) => {
            let mut value = match model.unit.is_seconds() {
                true => json_of(&prediction),
                false => json!({
                    "amount": amount, "unit": model.unit.name(), "half_width": prediction.half_width.get()
                }),
            };
            if let Some(bound) = bound {
                value["upper"] = json!({ "share": bound.share, "confidence": bound.confidence });
            }
            print(value)?;
        }
        (false, Some(bound)) => {
            print(format_args!("at most {}: {}", model.unit.amount(amount), bound.promise()))?
        }
        (false, None) if model.unit.is_seconds() => print(prediction)?,
        (false, None) => {
            let half_width = prediction.half_width.get();
            let interval = if half_width > 0.0 {
                format!(" ± {}", model.unit.amount(half_width))
            } else {
                String::new()
            };
            print(format_args!("{}{interval}", model.unit.amount(amount)))?;
        }
    }
    if model.kind == Kind::Fitted && model.verdict != Verdict::Verified {
        tell!("warning: `{name}` is {}: {}", model.verdict, model.reason);
    }
    if resolved.extrapolates(name, nodes, &inputs) == Some(true) {
        tell!("warning: `{name}` extrapolates here: inside the measured ranges, but far from every sample");
    }
    if let Some(Named { name: input, value }) = model.stray(&inputs) {
        tell!(
            "warning: `{name}` knows nothing here: `{input}` was {value} at all samples, so that an effect of \
             its own is not known"
        );
    }
    Ok(())
}

/// The error for a set without a library, with the way to get one.
pub(super) fn no_library(path: &Path) -> Failure {
    Failure::Usage(format!(
        "{} has no library, so that nothing is chosen by it; models become candidates by a spec: `specc fit … --spec \
         FILE`, where FILE holds `model a(n) ~ n`, `model b(n) ~ n` and `library either(n) {{ candidate a = a(n); \
         candidate b = b(n) }}`",
        path.display()
    ))
}

/// The candidates of one library of a set.
pub(super) fn competition(set: &ModelSet, path: &Path, name: Option<&str>) -> Result<Competition, Failure> {
    let all = || set.libraries.iter().map(|l| l.name.as_str());
    let library = match (name, set.libraries.as_slice()) {
        (Some(name), _) => set.library(name).ok_or_else(|| no_such(path, "library", name, all()))?,
        (None, [only]) => only,
        (None, []) => {
            return Err(no_library(path));
        }
        (None, _) => return Err(Failure::Usage(format!("say which library: {}", list(all())))),
    };
    Competition::new(set, &library.name).map_err(|e| Failure::Fault(format!("{}: {e}", path.display())))
}

/// Says which candidates have models that failed, as what is chosen among them may be wrong; returns
/// that.
pub(super) fn warn_of_failed(competition: &Competition, path: &Path) -> Option<String> {
    let failed = competition.failed();
    let first = failed.first().and_then(|name| {
        let place = competition.candidates().iter().position(|row| row.name == *name)?;
        competition.declared(place)
    })?;
    let (models, names) = (if failed.len() == 1 { "the model" } else { "the models" }, failed.join("`, `"));
    let what = format!("`{}`: {models} of `{names}` failed verification", competition.name());
    tell_failed(&format!("{what}, so that these choices may be wrong"), path, &first.model);
    Some(what)
}

/// Says for which inputs the places of crossings, maps and thresholds do not hold.
pub(super) fn warn_of_round(competition: &Competition) {
    for input in competition.round_inputs() {
        tell!(
            "note: in `{}` multiples of 64 of `{input}` have predictions of their own: what is shown holds for other \
             values; `specc choose` answers for both",
            competition.name()
        );
    }
}

/// Says what failed models mean for a command, and the way out by the first of them.
pub(super) fn tell_failed(what: &str, path: &Path, model: &str) {
    tell!(
        "warning: {what}; `specc show {} {model}` says why, `specc fit` with `--search always` looks for other \
         terms",
        path.display()
    );
}

/// `specc choose`.
pub(super) fn choose(path: &Path, library: &str, at: &At, how: &Choosing) -> Result<(), Failure> {
    let (layout, as_json) = (at.nodes, at.json);
    let Choosing { explain, pin, equal_to } = how;
    let set = read(path)?;
    let Some(named) = set.library(library) else {
        return match set.model(library) {
            None => Err(no_such_name(path, &set, library)),
            Some(_) if *explain || pin.is_some() || equal_to.is_some() => Err(Failure::Usage(format!(
                "`{library}` is a model: --explain, --pin and --equal-to go with a library"
            ))),
            Some(_) => predict(path, set, library, at),
        };
    };
    let models: Vec<String> = named.candidates.iter().map(|one| one.model.clone()).collect();
    let models: Vec<&str> = models.iter().map(String::as_str).collect();
    let set = on_machines(path, set, &models, at)?;
    let all = competition(&set, path, Some(library))?.on(layout.map(Layout::nodes));
    let competition = all.equal_to(equal_to.as_deref()).map_err(Failure::Usage)?;
    equal_to.iter().for_each(|one| tell!("note: only candidates with the results of `{one}` are asked"));
    let given = placed(&set, path, competition.inputs(), &at.inputs, layout)?;
    let inputs = values(&set, &format!("library `{library}`"), competition.inputs(), &given)?;
    let pin =
        pin.as_ref().map(|pin| if pin.contains('=') { pin.clone() } else { format!("{library}={pin}") });
    let pin = pin.as_deref().map(Pin::parse).transpose().map_err(|e| Failure::Usage(e.to_string()))?;
    if let Some(pin) = pin.filter(|p| p.library != library) {
        return Err(Failure::Usage(format!(
            "the pin `{pin}` is of library `{}`, not of `{library}`{}",
            pin.library,
            did_you_mean(pin.library, [library])
        )));
    }
    let left_out = competition.left_out();
    if let Some(pin) = pin.filter(|pin| left_out.contains(&pin.candidate)) {
        return Err(Failure::Fault(format!("the spec's `ways` or `slowdown` leave out `{}`", pin.candidate)));
    }
    warn_of_failed(&competition, path);
    let choice = competition.choose(&inputs, pin).map_err(|e| Failure::Fault(e.to_string()))?;
    let odds = competition.odds(&inputs, &choice);
    if as_json {
        let mut value = choice_json(&choice);
        value["probability_fastest"] = json!(odds.map(|odds| odds.fastest));
        value["expected_loss_seconds"] = json!(odds.map(|odds| odds.loss));
        value["tied"] = json!(competition.tied(&inputs, &choice));
        print(value)?;
        return Ok(());
    }
    let mut text = if *explain { choice.to_string() } else { choice.summary().to_string() };
    if *explain {
        let ties = choice.ties_text(&competition.tied(&inputs, &choice));
        let limits = (!left_out.is_empty())
            .then(|| format!("the spec's `ways` or `slowdown` leave out {}", left_out.join(", ")));
        for line in ties.into_iter().chain(odds.map(|odds| odds.to_string())).chain(limits) {
            text += &format!("\n  {line}");
        }
    }
    print(wrapped(&text, width(), "  "))
}

fn choice_json(choice: &Choice) -> Value {
    let outcomes: Vec<Value> = choice
        .outcomes()
        .map(|(name, outcome)| match outcome {
            Outcome::Taken => json!({ "name": name, "outcome": "taken" }),
            Outcome::Slower(seconds, parameters) => {
                json!({ "name": name, "outcome": "slower", "seconds": seconds.get(), "parameters": &parameters[..] })
            }
            Outcome::NotApplicable => json!({ "name": name, "outcome": "not applicable" }),
            Outcome::NeedsProcesses => json!({ "name": name, "outcome": "needs processes" }),
            Outcome::NoValue(parameter) => {
                json!({ "name": name, "outcome": "no value", "parameter": parameter })
            }
            Outcome::OutOfRange => json!({ "name": name, "outcome": "out of range" }),
            Outcome::PinnedAway => json!({ "name": name, "outcome": "another is pinned" }),
        })
        .collect();
    json!({
        "library": choice.library,
        "candidate": choice.name,
        "parameters": &choice.parameters[..],
        "predicted": choice.predicted.as_ref().map(json_of),
        "expected_seconds": choice.expected.map(|seconds| seconds.get()),
        "verdict": choice.verdict.to_string(),
        "corrected_by_samples": choice.corrected_by,
        "pinned": choice.pinned,
        "note": choice.note.map(|note| note.to_string()),
        "outcomes": outcomes,
    })
}
