//! Exchange with other programs: samples in their formats, models in their languages.

use std::fs;
use std::path::{Path, PathBuf};

use strata_fit::emit as rust;
use strata_interchange::emit;
use strata_interchange::emit::prices::{self, Prices, Pricing};
use strata_interchange::{Imported, Selection, json_lines};
use strata_model::set::{SetError, Verdict};
use strata_model::{ModelSet, Platform, Samples, Sha256, write_atomically};
use strata_screen::{Failure, print, tell};

use super::args::{Export, Form, Reading, Round};
use super::thresholds::{evidence, named};
use super::values::PriceUnit;
use super::{choose, rules};
use crate::thresholds::{self, Limits};

/// Reads samples in any of the formats; adds the bytes of the file to `digest`.
pub(super) fn samples(path: &Path, reading: &Reading, digest: &mut Sha256) -> Result<Imported, Failure> {
    // A folder of `calibrate`, or criterion's.
    let own = path.join("samples.txt");
    let path = if own.is_file() { &own } else { path };
    let mut imported = if path.is_dir() {
        let imported =
            strata_interchange::read_criterion(path, &selection(reading)?).map_err(Failure::Fault)?;
        digest.add(imported.samples.to_text().as_bytes());
        imported
    } else {
        let bytes = fs::read(path).map_err(|e| Failure::file(path, e))?;
        digest.add(&bytes);
        samples_in(&bytes, &path.display().to_string(), reading)?
    };
    if let Some(machine) = &reading.machine {
        if let Some(platform) = &imported.samples.platform {
            let own = format!("{} says itself that its machine is {platform}", path.display());
            return Err(Failure::Usage(format!("--machine: {own}")));
        }
        imported.samples.platform = Some(Platform {
            transport: "threads".into(),
            nodes: 1,
            cpu: machine.clone(),
            ..Platform::default()
        });
    }
    Ok(imported)
}

/// Reads samples in any of the formats from the bytes of a file of this name.
pub(super) fn samples_in(bytes: &[u8], name: &str, reading: &Reading) -> Result<Imported, Failure> {
    strata_interchange::read(bytes, name, reading.format, &selection(reading)?)
        .map_err(|e| Failure::Fault(e.to_string()))
}

fn selection(reading: &Reading) -> Result<Selection, Failure> {
    let Reading { metric, time, hold_out, model_column, inputs, differences, kinds, set, .. } =
        reading.clone();
    let set = choose::numbers(&ModelSet::default(), &set)?;
    let mut measures = time.into_iter();
    let (time, also) = (measures.next(), measures.collect());
    let model_columns = model_column;
    Ok(Selection { metric, time, also, hold_out, model_columns, inputs, differences, kinds, set })
}

/// A function that writes a model set in a language.
type Emitter<'a> = &'a dyn Fn(&ModelSet) -> Result<String, SetError>;

/// A function that writes model sets of several platforms.
type SetsEmitter<'a> = &'a dyn Fn(&[ModelSet]) -> Result<String, SetError>;

/// `specc export`.
pub(super) fn export(args: &Export) -> Result<(), Failure> {
    use Form::{
        C, Csv, IntelAdjust, Json, MpichJson, OpenmpiRules, Rust, Thresholds, ThresholdsC, ThresholdsJson,
    };
    let rules = [OpenmpiRules, MpichJson, IntelAdjust];
    let (is_thresholds, is_rules) =
        (matches!(args.to, Thresholds | ThresholdsC | ThresholdsJson), rules.contains(&args.to));
    let is_priced = matches!(args.to, Csv | Json) || matches!(args.to, Rust | C) && args.round.is_some();
    let refused = [
        (
            args.prefix.is_some() && !matches!(args.to, C | ThresholdsC),
            "`--prefix` is for `--to c` and `thresholds-c`; modules keep names apart",
        ),
        (
            (args.release.is_some() || args.lose.is_some()) && !is_rules,
            "`--release` is for `--to openmpi-rules`, and `--lose` for `openmpi-rules`, `mpich-json` and \
             `intel-adjust`",
        ),
        (
            args.release.is_some() && args.to != OpenmpiRules,
            "`--release` is for `--to openmpi-rules`; the release of MPICH is that of `--base`, and of Intel MPI \
             there is one",
        ),
        (args.base.is_some() && args.to != MpichJson, "`--base` is for `--to mpich-json`"),
        (
            Limits::from(args.few).are_set() && !is_thresholds,
            "`--ways` and `--slowdown` are for `--to thresholds`",
        ),
        (
            (args.library.is_some() || !args.at.is_empty()) && !is_thresholds && !is_rules,
            "`--library` and `--at` are for `--to thresholds`, `openmpi-rules`, `mpich-json` and `intel-adjust`",
        ),
        (
            (args.round.is_some() || args.unit.is_some()) && !is_priced,
            "`--round` and `--unit` are for `--to csv` and `json`, and for whole numbers in `rust` and `c` \
             (`--round up`)",
        ),
    ];
    if let Some((_, why)) = refused.into_iter().find(|(given, _)| *given) {
        return Err(Failure::Usage(why.into()));
    }
    if is_thresholds || is_rules || is_priced {
        only_whole(args)?;
    }
    let source = match (&args.sources[..], args.to) {
        ([source], _) => source,
        ([source, ..], Form::Models | Form::Rust | Form::RustNoStd) if !is_priced => source,
        ([source, ..], Form::Thresholds | Form::ThresholdsJson) => source,
        ([source, ..], _) if is_rules => source,
        _ => {
            return Err(Failure::Usage(
                "several model sets are exported together only to models, rust, rust-no-std, thresholds, \
                 thresholds-json, openmpi-rules, mpich-json or intel-adjust"
                    .into(),
            ));
        }
    };
    let one = |emitter: Emitter<'_>| {
        models_text(args, std::slice::from_ref(source), &|sets| sets.iter().map(emitter).collect())
    };
    let all = |emitter: SetsEmitter<'_>| models_text(args, &args.sources, emitter);
    let prefix = args.prefix.as_deref().unwrap_or("strata");
    let text = match args.to {
        _ if is_priced => prices_text(args, source)?,
        Form::Models => all(&rust::rust)?,
        Form::Rust => all(&|sets| rust::standalone(sets, true))?,
        Form::RustNoStd => all(&|sets| rust::standalone(sets, false))?,
        Form::Samples | Form::JsonLines => samples_text(args, source)?,
        Form::C => one(&|set| emit::c(set, prefix))?,
        Form::Thresholds | Form::ThresholdsC | Form::ThresholdsJson => thresholds_text(args)?,
        Form::OpenmpiRules => {
            let Some(release) = args.release else {
                return Err(Failure::Usage(
                    "`--to openmpi-rules` takes `--release 4.1`, `5.0` or `6.0`".into(),
                ));
            };
            rules::openmpi(args, release)?
        }
        Form::MpichJson => rules::mpich(args)?,
        Form::IntelAdjust => rules::intel(args)?,
        Form::Python => one(&emit::python)?,
        // These forms are handled above, as prices.
        Form::Csv | Form::Json => String::new(),
    };
    match &args.output {
        None => print(text.trim_end()),
        Some(path) => write_atomically(path, |out| out.write_all(text.as_bytes()))
            .map_err(|e| Failure::Machine(e.to_string())),
    }
}

/// The models as prices.
fn prices_text(args: &Export, source: &Path) -> Result<String, Failure> {
    let fault = |why: String| Failure::Fault(format!("{}: {why}", source.display()));
    let unit = args.unit.clone().map(|PriceUnit { unit, factor }| (unit, factor));
    let pricing = Pricing { unit, round_up: args.round == Some(Round::Up) };
    let set = choose::read(source)?;
    warn_of_exported(&set, source);
    let prices = Prices::new(&set, &pricing).map_err(fault)?;
    for warning in prices.left_out.iter().chain(&prices.warnings) {
        tell!("warning: {warning}");
    }
    match args.to {
        Form::Csv => prices::csv(&prices).map_err(fault),
        Form::Rust => prices::rust(&prices).map_err(fault),
        Form::C => prices::c(&prices, args.prefix.as_deref().unwrap_or("strata")).map_err(fault),
        _ => Ok(prices::json(&prices)),
    }
}

fn samples_text(args: &Export, source: &Path) -> Result<String, Failure> {
    let imported = samples(source, &args.reading, &mut Sha256::default()).map_err(|failure| {
        let is_set = fs::read_to_string(source).is_ok_and(|text| text.starts_with("strata-models"));
        match failure {
            Failure::Fault(_) if is_set => Failure::Usage(format!(
                "{} is a model set: export it to rust, c or python, or name samples",
                source.display()
            )),
            other => other,
        }
    })?;
    for note in &imported.notes {
        tell!("warning: {note}");
    }
    let shown = source.display();
    if args.to == Form::JsonLines {
        return json_lines(&imported.samples, args.model.as_deref())
            .map_err(|e| Failure::Fault(format!("{shown}: {e}")));
    }
    let mut samples: Samples = imported.samples;
    if let Some(model) = &args.model {
        if samples.model(model).is_none() {
            let there = samples.models.iter().map(|m| m.name.as_str());
            return Err(choose::no_such(source, "model", model, there));
        }
        samples.models.retain(|m| m.name == *model);
    }
    Ok(samples.to_text())
}

/// The choices of the sets' libraries, as constants or tables.
fn thresholds_text(args: &Export) -> Result<String, Failure> {
    let mut sets = Vec::new();
    let mut fitting = vec![false; args.at.len()];
    for source in &args.sources {
        let set = choose::read(source)?;
        let evidence = evidence(source, &set, None)?;
        let mut libraries = Vec::new();
        for library in named(&set, source, args.library.as_deref())? {
            let competition = choose::competition(&set, source, Some(&library.name))?;
            let mut fixed = Vec::new();
            for (binding, fits) in args.at.iter().zip(&mut fitting) {
                if library.inputs.contains(&binding.name) {
                    fixed.push((binding.name.clone(), binding.value(&set.kinds)?));
                    *fits = true;
                }
            }
            choose::warn_of_failed(&competition, source);
            choose::warn_of_round(&competition);
            let (one, warnings) = thresholds::of(&set, &competition, &fixed, args.few.into(), &evidence)
                .map_err(Failure::Usage)?;
            warnings.iter().for_each(|warning| tell!("warning: {warning}"));
            libraries.push(one);
        }
        sets.push(emit::thresholds::Thresholds {
            models_sha256: set.digest(),
            spec: set.spec,
            platform: set.platform,
            kinds: set.kinds,
            libraries,
        });
    }
    if let Some((binding, _)) = args.at.iter().zip(fitting).find(|(_, fits)| !fits) {
        return Err(Failure::Usage(format!("--at: no library has an input `{}`", binding.name)));
    }
    Ok(match (args.to, sets.as_slice()) {
        (Form::ThresholdsC, [set]) => emit::thresholds::c(set, args.prefix.as_deref().unwrap_or("strata")),
        (Form::Thresholds, sets) => emit::thresholds::rust(sets),
        (_, sets) => emit::thresholds::json(sets),
    })
}

fn models_text(args: &Export, sources: &[PathBuf], emitter: SetsEmitter<'_>) -> Result<String, Failure> {
    only_whole(args)?;
    let sets: Vec<_> = sources.iter().map(|source| choose::read(source)).collect::<Result<_, _>>()?;
    sets.iter().zip(sources).for_each(|(set, source)| warn_of_exported(set, source));
    let names: Vec<String> = sources.iter().map(|source| source.display().to_string()).collect();
    emitter(&sets).map_err(|e| Failure::Fault(format!("{}: {e}", names.join(", "))))
}

/// Says which models failed, as they are exported all the same, with their verdict.
fn warn_of_exported(set: &ModelSet, source: &Path) {
    let failed = set.models.iter().filter(|model| model.verdict == Verdict::Failed);
    let failed: Vec<&str> = failed.map(|model| model.name.as_str()).collect();
    if let Some(first) = failed.first() {
        let what = format!("`{}` failed verification and may predict anything", failed.join("`, `"));
        choose::tell_failed(&what, source, first);
    }
}

/// Refuses options that only apply to samples.
fn only_whole(args: &Export) -> Result<(), Failure> {
    let Reading {
        format,
        metric,
        time,
        hold_out,
        model_column,
        inputs,
        set,
        machine,
        differences: _,
        kinds: _,
    } = &args.reading;
    let unused = [
        ("--inputs", inputs.is_some()),
        ("--set", !set.is_empty()),
        ("--from", format.is_some()),
        ("--metric", metric.is_some()),
        ("--time", !time.is_empty()),
        ("--hold-out", hold_out.is_some()),
        ("--model-column", !model_column.is_empty()),
        ("--machine", machine.is_some()),
        ("--model", args.model.is_some()),
    ];
    if let Some((option, _)) = unused.iter().find(|(_, given)| *given) {
        return Err(Failure::Usage(format!("`{option}` is for samples; a model set is exported whole")));
    }
    Ok(())
}
