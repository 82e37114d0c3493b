//! From samples to a model set: all models of the spec in the order of their dependencies, then the
//! libraries.

mod launches;
mod machine_words;
mod overrides;
mod warnings;

use std::borrow::Cow;
use std::collections::BTreeSet;

use strata_fit::{
    Callee, FitOptions, Fitted, Lookup, Search, Structure, fit_columns, fit_model, round_sensitive,
    round_terms,
};
use strata_model::samples::ModelSamples;
use strata_model::set::{
    Incumbent, Kind, Library, LibraryCandidate, Model, ModelSet, ParameterRange, Verdict,
};
use strata_model::{Expr, Kinds, Platform, Samples, Unit, did_you_mean, kind_text};

use crate::call_modes;
use crate::coverage;
use crate::lang::checked::{CheckedSpec, Input, Model as SpecModel, ModelKind};
use crate::parameters;
use crate::points::{self, Site, Space, competing, not_competing};
use machine_words::{names_here, requires_here, requires_of, terms_here};
use warnings::{of_several, unseen};

pub use overrides::Overrides;

/// The gain that another way must promise to replace the spec's `default`, until the gain is
/// measured.
const UNMEASURED_GAIN: f64 = 0.1;

/// A model set with the messages about its fit.
#[derive(Debug, Default)]
pub struct Fitting {
    /// The models that could be fitted, and the libraries over them.
    pub set: ModelSet,
    /// Residuals and warnings of the fitted models.
    pub fitted: Vec<Fitted>,
    /// One message for each model that could not be fitted.
    pub failures: Vec<String>,
    /// Warnings about a fit that succeeded.
    pub warnings: Vec<String>,
    /// One message for each model that is not verified: the reason.
    pub untrusted: Vec<String>,
}

/// Fits every model of `samples`: by the spec if there is one, else by the columns. The digest is
/// that of their text, see [`sha256_hex`](strata_model::sha256_hex).
#[must_use]
pub fn fit(
    samples: &Samples,
    samples_sha256: String,
    spec: Option<&CheckedSpec>,
    overrides: &Overrides,
) -> Fitting {
    let mut fitting = Fitting {
        set: ModelSet {
            platform: samples.platform.clone(),
            spec: samples.spec.clone(),
            samples_sha256,
            busy: samples.busy,
            kinds: spec.map_or_else(Kinds::new, |spec| spec.kinds.clone()),
            ..ModelSet::default()
        },
        ..Fitting::default()
    };
    let (samples, timeless) = fitting.without_timeless(samples);
    match spec {
        Some(spec) => fitting.by_spec(&samples, &timeless, spec, overrides),
        None => fitting.by_columns(&samples, overrides),
    }
    fitting.tell_launches_apart(&samples);
    if samples.busy > 0.0 {
        fitting.believe_less(&samples);
    }
    for (model, doubt) in &samples.doubts {
        fitting.doubt(|of| of.name == *model, doubt, 0.0);
    }
    for fitted in &mut fitting.fitted {
        let model = samples.model(&fitted.model.name);
        fitted.notes.extend(model.into_iter().flat_map(call_modes::notes));
    }
    let untrusted =
        fitting.set.models.iter().filter(|m| m.kind == Kind::Fitted && m.verdict != Verdict::Verified);
    fitting.untrusted =
        untrusted.map(|m| format!("model `{}` is {}: {}", m.name, m.verdict, m.reason)).collect();
    let of_models = of_several(
        fitting.fitted.iter().flat_map(|f| f.warnings.iter().map(|warning| (&*f.model.name, &**warning))),
    );
    fitting.warnings.extend(of_models);
    fitting
}

impl Fitting {
    /// The number of residuals of all models.
    #[must_use]
    pub fn residuals(&self) -> usize {
        self.fitted.iter().map(|fitted| fitted.residuals.len()).sum()
    }

    /// The samples without the models that take no simulated time, and the names of these. On a
    /// simulated machine only messages take time, and the work that `node.compute` declares, so
    /// other models have nothing to fit. Adds a warning about them.
    fn without_timeless<'a>(&mut self, samples: &'a Samples) -> (Cow<'a, Samples>, Vec<String>) {
        /// Simulated times are whole picoseconds, but differences of seconds are rounded.
        const HALF_A_PICOSECOND: f64 = 0.5e-12;
        if !samples.platform.as_ref().is_some_and(Platform::is_simulated) {
            return (Cow::Borrowed(samples), Vec::new());
        }
        let takes_time = |model: &ModelSamples| {
            model.rows.is_empty() || model.rows.iter().any(|row| row.seconds.abs() >= HALF_A_PICOSECOND)
        };
        if samples.models.iter().all(takes_time) {
            return (Cow::Borrowed(samples), Vec::new());
        }
        let (models, timeless): (Vec<_>, Vec<_>) = samples.models.iter().cloned().partition(takes_time);
        let timeless: Vec<String> = timeless.into_iter().map(|model| model.name).collect();
        self.warnings.extend(timeless.iter().map(|name| {
            format!("model `{name}` is not fitted: it takes no simulated time, which only messages and `node.compute` do")
        }));
        (Cow::Owned(Samples { models, ..samples.clone() }), timeless)
    }

    fn by_columns(&mut self, samples: &Samples, overrides: &Overrides) {
        let options = |model: &ModelSamples| Ok(overrides.apply(FitOptions::read(&model.fit)?));
        for outcome in fit_columns(samples, &options, overrides.variance.as_deref()) {
            self.keep(outcome);
        }
        self.warnings.extend(samples.models.iter().flat_map(unseen));
    }

    fn by_spec(&mut self, samples: &Samples, timeless: &[String], spec: &CheckedSpec, overrides: &Overrides) {
        if let Some(strangers) = no_match(samples, spec) {
            self.failures.push(strangers);
            return;
        }
        let numbers = samples.node_counts();
        let site = |nodes: usize| match samples.platform.clone() {
            Some(platform) => Site::from(Platform { nodes, ..platform }),
            None => Site::from(nodes),
        };
        let matters = |name: &str| {
            numbers.is_empty() || numbers.iter().any(|nodes| competing(spec, site(*nodes)).contains(name))
        };
        let excluded = |name: &str| {
            numbers.first().map_or(String::new(), |nodes| not_competing(spec, name, site(*nodes)))
        };
        for &index in &spec.order {
            let model = &spec.models[index];
            if let ModelKind::Factored(expression) = &model.kind {
                match expression.calls().iter().find(|name| self.set.model(name).is_none()) {
                    None => match self.unit_of(&expression.calls()) {
                        Ok(unit) => self.set.models.push(Model { unit, ..factored(model, expression) }),
                        Err(why) => self.failures.push(format!("model `{}`: {why}", model.name)),
                    },
                    Some(_) if !matters(&model.name) => {}
                    Some(missing) => self.warnings.push(format!(
                        "model `{}` is left out: it calls `{missing}`, which has no fit",
                        model.name
                    )),
                }
                continue;
            }
            let Some(measured) = samples.models.iter().find(|m| m.name == model.name) else {
                if let ModelKind::Unmeasured = model.kind {
                    self.warnings.push(format!(
                        "model `{}` is not fitted: nothing measures it and these samples do not hold it",
                        model.name
                    ));
                    continue;
                }
                if !timeless.contains(&model.name) && matters(&model.name) {
                    self.failures.push(format!(
                        "model `{}` has no samples; profile it, or remove it from the spec",
                        model.name
                    ));
                }
                continue;
            };
            let Some(requires) = requires_here(model, samples.platform.as_ref(), &mut self.failures) else {
                continue;
            };
            let mut terms = terms_here(model, samples.platform.as_ref(), &mut self.warnings);
            let unseen = coverage::unseen_names(measured, &spec.kinds);
            terms.retain(|term| !unseen.iter().any(|(input, place)| coverage::tests(term, input, *place)));
            for (input, place) in unseen {
                let spaces = points::spaces(spec, site(samples.platform.as_ref().map_or(1, |p| p.nodes)));
                // What a `require` leaves out lacks no samples.
                let is_possible = |space: &Space| {
                    measured.rows.iter().any(|row| {
                        let with = |(value, one): (&f64, &Input)| {
                            if one.name == input { place as f64 } else { *value }
                        };
                        space
                            .at_inputs(&row.values.iter().zip(&model.inputs).map(with).collect::<Vec<_>>())
                            .is_some()
                    })
                };
                let space = spaces.iter().flatten().find(|space| space.name() == model.name);
                if space.is_none_or(is_possible) {
                    let name = kind_text(&spec.kinds, input, place as f64);
                    self.warnings.push(format!(
                        "model `{}`: no sample has {input} = {name}, so nothing is known of it",
                        model.name
                    ));
                }
            }
            let structure = Structure {
                inputs: model.inputs.iter().map(|i| i.name.clone()).collect(),
                terms,
                requires,
                nodes: samples.platform.as_ref().map_or(0, |p| p.nodes),
                variance: overrides.variance.clone(),
                parameters: parameters::of(spec, index),
                several_nodes: true,
            };
            let mut own = model.options.fit;
            // Terms for the samples of another tool are often a guess; those of a profiling program
            // come from whoever knows the code.
            if samples.spec.is_none() && !model.options.says_search {
                own.search = Search::WhenNeeded;
            }
            let options = overrides.apply(own);
            let so_far = &self.set;
            let lookup: &Lookup<'_> = &|name| callee(so_far, name);
            let mut outcome = fit_model(measured, &structure, &options, lookup);
            let round = round_sensitive(measured, &structure.inputs);
            if !round.is_empty()
                && let Ok(named) = &mut outcome
            {
                let mut terms = structure.terms.clone();
                terms.extend(round_terms(&structure.terms, &structure.parameters, &round));
                let with = Structure { terms, ..structure.clone() };
                // Of round values what verifies has only those that no pair has, so all samples count.
                let error = |fitted: &Fitted| {
                    let all =
                        fitted.residuals.iter().map(|r| (r.observed / r.predicted - 1.0).abs().min(1.0));
                    all.sum::<f64>()
                };
                if let Ok(with) = fit_model(measured, &with, &options, lookup)
                    && error(&with) < error(named)
                {
                    *named = with;
                }
                named.notes.extend(round.iter().map(|round| format!("model `{}`: {round}", model.name)));
            }
            if let Ok(fitted) = &mut outcome {
                fitted.model.names = names_here(model, samples.platform.as_ref());
                fitted.notes.extend(coverage::partial(measured, &structure.inputs));
            }
            self.keep(outcome);
        }
        // A candidate keeps its place without a model, so that generated code names all candidates.
        for candidate in spec.libraries.iter().flat_map(|library| &library.candidates) {
            for model in spec.models_of(candidate).into_iter().map(|model| &spec.models[model]) {
                if self.set.model(&model.name).is_some() {
                    continue;
                }
                let reason = match matters(&model.name) {
                    true => "it could not be fitted".to_owned(),
                    false => excluded(&model.name),
                };
                self.set.models.push(Model { kind: Kind::Unmeasured, ..without_fit(model, reason) });
            }
        }
        // The set lists the models in the order of the spec, not of their fits.
        self.set.models.sort_by_key(|m| spec.models.iter().position(|s| s.name == m.name));
        // Measured models keep the order of the samples, in which the members of a family may come
        // from several files.
        let of_samples = |m: &Model| samples.models.iter().position(|s| s.name == m.name);
        let mut measured: Vec<Model> =
            self.set.models.iter().filter(|m| of_samples(m).is_some()).cloned().collect();
        measured.sort_by_key(of_samples);
        let places = self.set.models.iter_mut().filter(|m| of_samples(m).is_some());
        places.zip(measured).for_each(|(place, model)| *place = model);
        for stray in samples.models.iter().filter(|m| spec.model(&m.name).is_none()) {
            let meant = did_you_mean(&stray.name, spec.models.iter().map(|model| model.name.as_str()));
            self.warnings.push(format!(
                "the samples of `{}` are not used: the spec has no such model{meant}",
                stray.name
            ));
        }
        for library in &spec.libraries {
            let mut candidates = Vec::new();
            for candidate in &library.candidates {
                for model in spec.models_of(candidate).into_iter().map(|model| &spec.models[model].name) {
                    if self.set.known(model).is_none() && matters(model) {
                        self.warnings.push(format!(
                            "`{}` of library `{}` cannot be chosen: its model `{model}` could not be fitted",
                            candidate.name, library.name
                        ));
                    }
                }
                let model = &spec.models[candidate.model].name;
                let platform = samples.platform.as_ref();
                let requires = requires_of(candidate, &library.name, platform, &mut self.warnings);
                candidates.push(LibraryCandidate {
                    name: candidate.name.clone(),
                    model: model.clone(),
                    arguments: candidate.arguments.iter().map(Expr::to_string).collect(),
                    parameters: (candidate.parameters.iter())
                        .map(|p| (p, p.bounds_on(&candidate.numbers(&|name| platform?.machine_number(name)))))
                        .map(|(p, (min, max))| ParameterRange {
                            name: p.name.clone(),
                            min,
                            max,
                            first: p.first.as_ref().map(Expr::to_string),
                            last: p.last.as_ref().map(Expr::to_string),
                            step: p.step,
                            root: p.root.as_ref().map(Expr::to_string),
                        })
                        .collect(),
                    requires: requires.iter().map(Expr::to_string).collect(),
                });
            }
            let models: BTreeSet<String> =
                candidates.iter().map(|candidate| candidate.model.clone()).collect();
            match self.unit_of(&models) {
                Ok(unit) if unit.is_seconds() => {}
                Ok(unit) => self.warnings.push(format!(
                    "library `{}` chooses by {unit}: where a choice is shown, amounts of it stand as if they were s",
                    library.name
                )),
                Err(why) => self.failures.push(format!("library `{}` compares what cannot be: {why}", library.name)),
            }
            let inputs = library.inputs.clone();
            let incumbent = library.incumbent.as_ref().and_then(|(candidate, parameters)| {
                let candidate = library.candidates[*candidate].name.clone();
                let known = candidates.iter().any(|one| one.name == candidate);
                known.then(|| Incumbent { candidate, parameters: parameters.clone(), gain: UNMEASURED_GAIN })
            });
            let (name, equal) = (library.name.clone(), library.equal.clone());
            self.set.libraries.push(Library { name, inputs, candidates, incumbent, equal, regret: None });
        }
    }

    /// The unit of a value computed from these models; an unknown model has no unit.
    fn unit_of(&self, models: &BTreeSet<String>) -> Result<Unit, String> {
        let mut units = models.iter().filter_map(|name| Some((name, &self.set.known(name)?.unit)));
        let Some((first, unit)) = units.next() else { return Ok(Unit::SECONDS) };
        match units.find(|(_, other)| *other != unit) {
            None => Ok(unit.clone()),
            Some((second, other)) => Err(format!("`{first}` is in {unit}, and `{second}` in {other}")),
        }
    }

    fn keep(&mut self, outcome: Result<Fitted, strata_fit::FitError>) {
        match outcome {
            Ok(fitted) => {
                self.set.models.push(fitted.model.clone());
                self.fitted.push(fitted);
            }
            Err(error) => self.failures.push(error.to_string()),
        }
    }
}

/// The message for samples and a spec that have no model name in common; `None` if they have one.
fn no_match(samples: &Samples, spec: &CheckedSpec) -> Option<String> {
    let names = || spec.models.iter().map(|model| model.name.as_str());
    if samples.models.is_empty() || samples.models.iter().any(|model| names().any(|name| name == model.name))
    {
        return None;
    }
    let list = |names: &mut dyn Iterator<Item = String>| names.collect::<Vec<_>>().join(", ");
    let measured = list(
        &mut samples
            .models
            .iter()
            .map(|model| format!("`{}`{}", model.name, did_you_mean(&model.name, names()))),
    );
    Some(format!(
        "the spec has none of the models of these samples: they are of {measured}, the spec has {}; samples and spec go \
         together by the names of models, which in CSV are the texts of a column, or the name of the file",
        list(&mut names().map(|name| format!("`{name}`")))
    ))
}

/// A factored model: it is never fitted, so there is nothing to verify. The models that it calls
/// bound its inputs.
fn factored(model: &SpecModel, expression: &Expr) -> Model {
    let kind = Kind::Factored { expression: expression.to_string() };
    Model { kind, ..without_fit(model, "an expression over other models".into()) }
}

/// A model without samples.
fn without_fit(model: &SpecModel, reason: String) -> Model {
    let input = |i: &crate::lang::checked::Input| strata_model::set::Input {
        name: i.name.clone(),
        min: f64::NEG_INFINITY,
        max: f64::INFINITY,
        integer: i.integral,
    };
    let reads_machine = |require: &Expr| require.names().iter().any(|name| model.is_machine(name));
    Model {
        name: model.name.clone(),
        inputs: model.inputs.iter().map(input).collect(),
        // A model without predictions keeps no requirement that reads the machine.
        requires: model.requires.iter().filter(|r| !reads_machine(r)).map(Expr::to_string).collect(),
        reason,
        ..Model::default()
    }
}

/// An earlier model as a function of its inputs, with all that it calls inlined.
fn callee(set: &ModelSet, name: &str) -> Option<Callee> {
    let resolved = set.resolve().ok()?;
    let formula = resolved.formula(name)?;
    Some(Callee { inputs: formula.inputs.clone(), body: formula.mean.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &str = "model Copy(bytes, copies) {
    for bytes in 1..=9 step +1
    for copies in 1..=2 step +1
    task { }
    terms bytes, knee(bytes)*copies, max(0, bytes-cache1/8192)*copies
}
";

    /// The times are 1 ns a byte, and 5 ns more for each copy of the bytes beyond the sixth.
    fn fitted(transport: &str, cache: &str, spec: &str) -> Fitting {
        let mut text = format!(
            "strata-samples 1\nplatform {transport} nodes=1 cores=8 cpu=\"\" cache=\"{cache}\" os=linux arch=x86_64\n\
             model Copy bytes copies\n"
        );
        for (bytes, copies) in (1..=9).flat_map(|bytes| [1, 2].map(|copies| (bytes, copies))) {
            text += &format!("Copy {}e-9 {bytes} {copies}\n", bytes + 5 * copies * (bytes - 6).max(0));
        }
        let samples = Samples::parse(&text, "samples").unwrap();
        let spec = crate::lang::load("spec", spec).unwrap();
        fit(&samples, String::new(), Some(&spec), &Overrides::default())
    }

    fn terms(fitting: &Fitting) -> Vec<&str> {
        let terms = fitting.set.models[0].terms.iter().filter(|t| t.coefficient != 0.0);
        terms.map(|t| t.term.as_str()).collect()
    }

    #[test]
    fn terms_read_the_machine_of_the_samples() {
        let only_machine = SPEC.replace("knee(bytes)*copies, ", "");
        let fitting = fitted("threads", "L1d:48K L1i:32K L2:2M", &only_machine);
        assert_eq!(terms(&fitting), ["bytes", "max(0,bytes-49152/8192)*copies"], "{:?}", fitting.failures);
        // A machine without that cache: `knee` fits the place.
        let only_knee = SPEC.replace(", max(0, bytes-cache1/8192)*copies", "");
        assert_eq!(terms(&fitted("sim:cm5", "", &only_knee)), ["bytes", "max(0,bytes-6)*copies"]);
        for (transport, cache) in [("sim:cm5", "L1d:48K"), ("threads", ""), ("threads", "L2:2M")] {
            let fitting = fitted(transport, cache, SPEC);
            assert_eq!(terms(&fitting), ["bytes", "max(0,bytes-6)*copies"], "{:?}", fitting.failures);
            let said = "model `Copy`: its terms that read `cache1` are left out";
            assert!(fitting.warnings.iter().any(|w| w.starts_with(said)), "{:?}", fitting.warnings);
        }
        // Each simulated node has its own core.
        let cores = only_machine.replace("cache1/8192", "6*cores");
        assert_eq!(terms(&fitted("sim:cm5", "", &cores)), ["bytes", "max(0,bytes-6*P)*copies"]);
        let shared = only_machine.replace("max(0, bytes-cache1/8192)", "max(0, P-cores)");
        assert!(fitted("sim:cm5", "", &shared).warnings.iter().all(|w| !w.contains("P-")));
        // A name that the model defines is not a machine name.
        let own = only_machine.replace("copies", "cores").replace("cache1/8192", "6");
        assert!(fitted("sim:cm5", "", &own).warnings.iter().all(|w| !w.contains("left out")));
    }

    #[test]
    fn a_root_whose_model_has_no_fit_leaves_the_others_to_choose_from() {
        let more = "model Lost(bytes) { for bytes in 1..=9 task { } }
            model Spare(bytes, part) = Copy(bytes, 1)-Lost(part)
            library copy(bytes) {
                candidate copy = Copy(bytes, 1)
                candidate part = Copy(bytes-part, 1) for part = root(0..=8, Spare(bytes, part))
            }";
        let plain = SPEC.replace("knee(bytes)*copies, max(0, bytes-cache1/8192)*copies", "copies");
        let fitting = fitted("threads", "", &format!("{plain}{more}"));
        let said = "`part` of library `copy` cannot be chosen: its model `Spare` could not be fitted";
        assert!(fitting.warnings.iter().any(|warning| warning == said), "{:?}", fitting.warnings);
        assert!(fitting.failures[0].contains("`Lost` has no samples"), "{:?}", fitting.failures);
        assert_eq!(fitting.set.model("Spare").unwrap().kind, Kind::Unmeasured);
        strata_fit::emit::rust(std::slice::from_ref(&fitting.set)).unwrap();
        let competition = crate::competition::Competition::new(&fitting.set, "copy").unwrap();
        let predictions = competition.predictions(&[4.0]);
        assert!(predictions[0].is_some() && predictions[1].is_none(), "{predictions:?}");
    }

    #[test]
    fn requirements_and_ranges_have_the_numbers_of_the_machine() {
        let plain = SPEC.replace("knee(bytes)*copies, max(0, bytes-cache1/8192)*copies", "copies");
        let library = "library copy(bytes) { candidate copy = Copy(bytes, copies)
            for copies in 1..=min(cores/4, bytes/2) require cores > 2 require bytes < cache1 }";
        let spec =
            format!("{}{library}", plain.replace("    task", "    require bytes <= 2*cores\n    task"));
        let fitting = fitted("threads", "L1d:48K", &spec);
        let [candidate] = &fitting.set.libraries[0].candidates[..] else { panic!("one") };
        assert_eq!(candidate.requires, ["bytes<49152"], "{:?}", fitting.warnings);
        let range = &candidate.parameters[0];
        assert_eq!((range.min, range.max, range.last.as_deref()), (1, 2, Some("min(cores/4,bytes/2)")));
        assert_eq!(fitting.set.model("Copy").unwrap().requires, ["bytes<=16"]);
        let competition = crate::competition::Competition::new(&fitting.set, "copy").unwrap();
        let best = |bytes: f64| competition.choose(&[bytes], None).unwrap();
        assert_eq!((best(3.0).parameters[..].len(), best(3.0).predicted.is_some()), (1, true));
        let none = competition.choose(&[1.0], None).unwrap_err().to_string();
        assert!(none.contains("no candidate of `copy` applies"), "{none}");
        // Numbers that the machine lacks.
        let fitting = fitted("threads", "", &spec);
        let said = "`copy` of library `copy` cannot be chosen: it reads `cache1`";
        assert!(fitting.warnings.iter().any(|w| w.starts_with(said)), "{:?}", fitting.warnings);
        let candidate = &fitting.set.libraries[0].candidates[0];
        assert_eq!(candidate.requires, ["0"]);
        assert!(fitting.set.resolve().is_ok());
        let fitting = fitted("threads", "", &spec.replace("2*cores", "2*cache1"));
        assert!(fitting.set.resolve().is_ok());
        assert!(fitting.failures[0].contains("`require` reads `cache1`"), "{:?}", fitting.failures);
    }

    #[test]
    fn a_candidate_that_cannot_be_chosen_where_it_was_measured_keeps_its_place() {
        let many = "model Many(bytes) { for bytes in 1..=9 task { } }
            library copy(bytes) { candidate copy = Copy(bytes, 1) candidate many = Many(bytes) require P >= 8 }";
        let plain = SPEC.replace("knee(bytes)*copies, max(0, bytes-cache1/8192)*copies", "copies");
        let fitting = fitted("threads", "", &format!("{plain}{many}"));
        assert!(fitting.failures.is_empty() && fitting.set.libraries[0].candidates.len() == 2);
        let model = fitting.set.model("Many").unwrap();
        assert_eq!(model.kind, Kind::Unmeasured);
        assert_eq!(model.reason, "`many` of library `copy` requires P>=8");
        assert!(fitting.warnings.iter().all(|warning| !warning.contains("Many")), "{:?}", fitting.warnings);
        let emitted = strata_fit::emit::rust(std::slice::from_ref(&fitting.set)).unwrap();
        assert!(emitted.contains("    Many,\n"), "the enum names it");
        // If it could be chosen, the missing samples are reported.
        let fitting = fitted("threads", "", &format!("{plain}{}", many.replace("P >= 8", "P >= 1")));
        assert!(fitting.failures[0].contains("`Many` has no samples"), "{:?}", fitting.failures);
        assert!(fitting.warnings.iter().any(|w| w.contains("`many` of library `copy` cannot be chosen")));
        assert_eq!(fitting.set.model("Many").unwrap().reason, "it could not be fitted");
    }

    #[test]
    fn what_several_models_are_warned_of_is_said_once() {
        let said = |warnings: &[(&str, &str)]| {
            let texts: Vec<_> =
                warnings.iter().map(|(name, text)| (*name, text.replace("NAME", name))).collect();
            of_several(texts.iter().map(|(name, text)| (*name, &**text)))
        };
        let [one, two, other] = ["model `NAME`: one", "model `NAME`: two", "another thing"];
        assert_eq!(
            said(&[("A", one), ("A", two), ("A", one), ("B", one), ("B", other)]),
            ["models `A` and `B`: one", "model `A`: two", "model `A`: one", "another thing"]
        );
        let four = [("A", one), ("B", one), ("C", one), ("D", one)];
        assert_eq!(said(&four), ["models `A`, `B` and 2 others: one"]);
        assert_eq!(said(&four[..3]), ["models `A`, `B` and 1 other: one"]);
    }
}
