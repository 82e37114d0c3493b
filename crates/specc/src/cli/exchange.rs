//! What comes from other programs and goes to them: samples in their formats, models in their
//! languages.

use std::fs;
use std::path::Path;

use strata_interchange::emit;
use strata_interchange::{Imported, Selection, json_lines};
use strata_model::{Samples, write_atomically};
use strata_select::say;

use super::args::{Export, Form, Reading};
use super::choosing;
use super::failure::{Failure, print};

/// Samples in whatever format, with the bytes they were read from.
pub(super) fn samples(path: &Path, reading: &Reading) -> Result<(Imported, Vec<u8>), Failure> {
    let bytes = fs::read(path).map_err(|e| Failure::file(path, e))?;
    let Reading { metric, time, hold_out, model_column, .. } = reading.clone();
    let selection = Selection { metric, time, hold_out, model_column };
    let imported = strata_interchange::read(&bytes, &path.display().to_string(), reading.format, &selection)
        .map_err(|e| Failure::Fault(e.to_string()))?;
    Ok((imported, bytes))
}

/// `specc export`.
pub(super) fn export(args: &Export) -> Result<(), Failure> {
    if args.prefix.is_some() && args.to != Form::C {
        return Err(Failure::Usage("`--prefix` is for `--to c`; modules keep names apart".into()));
    }
    let text = match args.to {
        Form::Samples | Form::JsonLines => samples_text(args)?,
        Form::Rust => models_text(args, emit::rust)?,
        Form::RustNoStd => models_text(args, emit::no_std)?,
        Form::C => {
            let prefix = args.prefix.as_deref().unwrap_or("strata");
            models_text(args, |set| emit::c(set, prefix))?
        }
        Form::Python => models_text(args, emit::python)?,
        Form::Latex => models_text(args, emit::latex)?,
    };
    match &args.output {
        None => print(text.trim_end()),
        Some(path) => write_atomically(path, |out| out.write_all(text.as_bytes()))
            .map_err(|e| Failure::Machine(e.to_string())),
    }
}

fn samples_text(args: &Export) -> Result<String, Failure> {
    let (imported, _) = samples(&args.source, &args.reading).map_err(|failure| {
        let is_set = fs::read_to_string(&args.source).is_ok_and(|text| text.starts_with("strata-models"));
        match failure {
            Failure::Fault(_) if is_set => Failure::Usage(format!(
                "{} is a model set: export it to rust, c, python or latex, or name samples",
                args.source.display()
            )),
            other => other,
        }
    })?;
    for note in &imported.notes {
        say!("warning: {note}");
    }
    let source = args.source.display();
    if args.to == Form::JsonLines {
        return json_lines(&imported.samples, args.model.as_deref())
            .map_err(|e| Failure::Fault(format!("{source}: {e}")));
    }
    let mut samples: Samples = imported.samples;
    if let Some(model) = &args.model {
        if samples.model(model).is_none() {
            let there = samples.models.iter().map(|m| m.name.as_str());
            return Err(choosing::no_such(&args.source, "model", model, there));
        }
        samples.models.retain(|m| m.name == *model);
    }
    Ok(samples.to_text())
}

fn models_text(
    args: &Export,
    emitter: impl Fn(&strata_model::ModelSet) -> Result<String, strata_model::set::SetError>,
) -> Result<String, Failure> {
    let Reading { format, metric, time, hold_out, model_column } = &args.reading;
    let unused = [
        ("--format", format.is_some()),
        ("--metric", metric.is_some()),
        ("--time", time.is_some()),
        ("--hold-out", hold_out.is_some()),
        ("--model-column", model_column.is_some()),
        ("--model", args.model.is_some()),
    ];
    if let Some((option, _)) = unused.iter().find(|(_, given)| *given) {
        return Err(Failure::Usage(format!("`{option}` is for samples; a model set is exported whole")));
    }
    let set = choosing::read(&args.source)?;
    emitter(&set).map_err(|e| Failure::Fault(format!("{}: {e}", args.source.display())))
}
