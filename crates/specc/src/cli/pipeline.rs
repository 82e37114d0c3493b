//! The stages that measure and fit: `emit`, `fit` and `calibrate`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use miette::{Diagnostic, Report};
use strata_model::{Kinds, ModelSet, Points, Samples, Sha256, can_install};
use strata_report::fit_json;
use strata_screen::{self as screen, Failure, print, tell, wrapped};
use strata_select::say;

use super::add_tables::Tables;
use super::args::{Calibrate, Fit, How, Job, Reading, Specs, Target};
use super::import_export;
use super::measure::Decided;
use super::next_steps::Use;
use super::output_lock::Lock;
use super::values::Layout;
use super::{choose, job, measure, model_files, model_text, next_steps, refine, spec_files, summary};
use crate::decisions::Like;
use crate::drive::{DriveError, On};
use crate::fitting::{self, Fitting, Overrides};
use crate::lang::CheckedSpec;
use crate::lang::checked::Library;
use crate::profiling_program::{self, EmitError};
use crate::{call_modes, thresholds};

impl From<DriveError> for Failure {
    fn from(error: DriveError) -> Self {
        Self::Stage(error.exit_status(), render(error))
    }
}

impl From<EmitError> for Failure {
    fn from(error: EmitError) -> Self {
        Self::Stage(error.exit_status(), render(error))
    }
}

fn render(error: impl Diagnostic + Send + Sync + 'static) -> String {
    format!("{:?}", Report::new(error))
}

/// `specc emit`.
pub(super) fn emit(
    specs: &Specs,
    nodes: &[Layout],
    features: &[String],
    job: &Job,
    output: &Path,
) -> Result<(), Failure> {
    let spec = spec_files::load(&specs.specs)?;
    if job.job.is_some() {
        job::check(&spec, nodes, job)?;
    }
    let _lock = Lock::take(output)?;
    let mut numbers: BTreeSet<_> = nodes.iter().map(|layout| (layout.nodes(), layout.hosts())).collect();
    if numbers.is_empty() {
        numbers.insert((measure::nodes_of(&spec), None));
    }
    let alone = numbers.iter().all(|(nodes, _)| *nodes == 1);
    let emitted = profiling_program::emit(&spec, output, features, alone)?;
    let sites = numbers.into_iter().map(|(nodes, hosts)| On::Threads.platform(nodes, hosts).into());
    let plan = measure::plan(&spec, &emitted, sites, 1, (&Points::default(), None))?;
    measure::write(&output.join("plan.txt"), &plan.to_text())?;
    if let Some(scheduler) = job.job {
        job::write(&emitted, (&specs.specs, nodes, features), scheduler, job, output)?;
    }
    print(emitted.folder.display())
}

/// `specc calibrate --only-samples`.
fn profile(spec: &CheckedSpec, target: &Target, output: &Path) -> Result<(), Failure> {
    let (samples, _) =
        measure::on_each(target, output, &|target, output| measure::measure(spec, target, output))?;
    let bytes = fs::read(&samples).map_err(|e| Failure::file(&samples, e))?;
    let measured =
        Samples::read(&*bytes, &samples.display().to_string()).map_err(|e| Failure::Fault(e.to_string()))?;
    call_modes::all(&measured).for_each(|note| say!("note: {note}"));
    print(samples.display())
}

impl From<&How> for Overrides {
    fn from(args: &How) -> Self {
        Self {
            absolute: args.absolute,
            no_constant: args.no_constant,
            keep_all: args.keep_all,
            nonnegative: args.nonnegative,
            elimination: args.eliminate,
            weights: args.weights,
            robust: args.robust,
            search: args.search,
            accept: args.accept,
            upper: args.upper,
            ..Self::default()
        }
    }
}

/// `specc fit`.
pub(super) fn fit(args: &Fit) -> Result<(), Failure> {
    let spec = if args.spec.is_empty() { None } else { Some(spec_files::load(&args.spec)?) };
    let _lock = args.output.as_deref().map(Lock::take).transpose()?;
    let kinds = spec.as_ref().map_or_else(Kinds::new, |spec| spec.kinds.clone());
    let reading = Reading { differences: args.how.absolute, kinds, ..args.reading.clone() };
    let source = (&args.samples[..], &reading);
    let how = Overrides { variance: args.variance.clone(), ..Overrides::from(&args.how) };
    let decide = &mut |set: &mut ModelSet, _| {
        let limited = spec.as_ref().map(|spec| thresholds::limit(set, spec, &Like::default()));
        limited.iter().flatten().for_each(|note| tell!("{note}"));
        match (&spec, &args.samples[..]) {
            (Some(spec), [samples]) => measure::judge_by_earlier(spec, samples, set).map(Decided::of),
            _ => Ok(Decided::default()),
        }
    };
    finish(
        source,
        spec.as_ref(),
        &how,
        decide,
        (args.output.as_deref(), args.residuals, false),
        if args.json { Screen::Json } else { Screen::Models },
    )
    .map(drop)
}

/// `specc calibrate`.
pub(super) fn calibrate(args: &Calibrate) -> Result<(), Failure> {
    let Calibrate { specs, target, refining, how, output, calls, only_samples, keep, install, add, json } =
        args;
    let (output, json) = (&output.output, *json);
    let spec = spec_files::load(&specs.specs)?;
    let like = calls.read(&spec)?;
    let earlier = keep.as_deref().map(|path| earlier(path, &spec)).transpose()?;
    if *install {
        // Errors that installing would meet after the measurement are found here.
        let usage = |why: &str| Err(Failure::Usage(format!("--install: {why}")));
        if target.on.as_deref().and_then(|on| on.parse().ok()).is_some_and(|on: On| on.is_simulated()) {
            return usage("programs on simulated machines read no cache; name the models with STRATA_MODELS");
        }
        if spec.libraries.is_empty() {
            return usage("the spec has no library, so that no program chooses by its models");
        }
        can_install().map_err(|error| Failure::Machine(error.to_string()))?;
    }
    let added = Tables::at(add, &spec)?;
    let _lock = Lock::take(output)?;
    if *only_samples {
        return profile(&spec, target, output);
    }
    let budget = target.budget.as_secs_f64();
    let for_samples = if is_choosing(&spec) { budget * (1.0 - DECIDING) } else { budget };
    let for_samples = Target { budget: Duration::from_secs_f64(for_samples), ..target.clone() };
    let (samples, campaign) =
        measure::on_each(&for_samples, output, &|target, output| match refining.refine {
            true => refine::refine(&spec, target, refining, output),
            false => measure::measure(&spec, target, output),
        })?;
    let code = profiling_program::code_hash(&spec, &target.features.features)?;
    let decide = &mut |set: &mut ModelSet, spent: f64| {
        set.code_sha256.clone_from(&code);
        thresholds::limit(set, &spec, &like).iter().for_each(|note| tell!("{note}"));
        let seconds = (budget - spent).max(DECIDING * budget);
        let decided = match is_choosing(&spec) {
            true => campaign.decide(set, seconds, (&like, earlier.as_ref())),
            false => Ok(Decided::default()),
        };
        let took = spent + decided.as_ref().map_or(0.0, |decided| decided.seconds);
        if target.nodes.len() < 2 && measure::longer(target, output).is_none() {
            measure::ended(took, budget).iter().for_each(|note| tell!("{note}"));
        }
        decided
    };
    let how = Overrides { few: refining.refine, ..Overrides::from(how) };
    let source = (&[samples][..], &Reading::default());
    let screen = if json { Screen::Json } else { Screen::Decision };
    let files = (Some(&**output), false, added.is_some());
    let finished =
        finish(source, Some(&spec), &how, decide, files, screen).map_err(|failure| match failure {
            Failure::Fault(message) => {
                let more = measure::longer(target, output).filter(|_| !refining.refine);
                Failure::Fault(more.map_or(message.clone(), |more| format!("{message}\n{more}")))
            }
            other => other,
        })?;
    let Some(set) = finished else { return Ok(()) };
    if *install {
        for file in strata_model::install(&set).map_err(|error| Failure::Machine(error.to_string()))? {
            tell!("installed {}", file.display());
        }
    }
    added.map_or(Ok(()), |tables| tables.add(&set))
}

/// The part of the budget for timing decisions.
const DECIDING: f64 = 0.3;

/// Whether the spec has a library with a choice to make.
fn is_choosing(spec: &CheckedSpec) -> bool {
    let chosen = |library: &Library| {
        let values = library.candidates.iter().flat_map(|candidate| &candidate.parameters);
        library.candidates.len() > 1 || values.into_iter().any(|parameter| parameter.root.is_none())
    };
    spec.libraries.iter().any(chosen)
}

/// The models of `--keep`.
///
/// # Errors
/// They cannot be read, or are of another version of the spec.
fn earlier(path: &Path, spec: &CheckedSpec) -> Result<ModelSet, Failure> {
    let set = choose::read(path)?;
    match profiling_program::identity(spec)
        .is_ok_and(|id| set.spec.as_ref().is_some_and(|of| of.sha256 == id.sha256))
    {
        true => Ok(set),
        false => Err(Failure::Fault(format!(
            "--keep {}: these models are of another version of the spec",
            path.display()
        ))),
    }
}

/// Measures the loss of choices and writes it into the set, given the seconds spent on measuring so
/// far.
type Decide<'a> = &'a mut dyn FnMut(&mut ModelSet, f64) -> Result<Decided, Failure>;

/// The form in which a fit is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Screen {
    /// The libraries, and one line for each model.
    Models,
    /// The libraries, and one line on all models.
    Decision,
    /// The whole fit as JSON.
    Json,
}

/// Fits the samples, judges the choices, writes the files to `output`, and prints the result;
/// returns the models, unless earlier ones are kept. `added`: they are added to the files of a program
/// afterwards.
fn finish(
    (paths, reading): (&[PathBuf], &Reading),
    spec: Option<&CheckedSpec>,
    overrides: &Overrides,
    decide: Decide<'_>,
    (output, residuals, added): (Option<&Path>, bool, bool),
    screen: Screen,
) -> Result<Option<ModelSet>, Failure> {
    let start = Instant::now();
    let name = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let (mut samples, mut notes, mut digest) = (Samples::default(), Vec::new(), Sha256::default());
    for (number, path) in paths.iter().enumerate() {
        let read = import_export::samples(path, reading, &mut digest)?;
        notes.extend(read.notes);
        if number == 0 {
            samples = read.samples;
        } else {
            samples.join(read.samples).map_err(|why| {
                Failure::Fault(format!("{} cannot be fitted with the others: {why}", path.display()))
            })?;
        }
    }
    let mut fitting = fitting::fit(&samples, digest.hex(), spec, overrides);
    fitting.warnings.splice(0..0, notes);
    if let (Some(spec), Some(measured)) = (spec, &samples.spec)
        && profiling_program::identity(spec).is_ok_and(|given| given.sha256 != measured.sha256)
    {
        fitting.warnings.push(format!(
            "{name} was measured for another version of {}; if more than terms and options has changed, as the names of \
             a kind, measure again",
            measured.path
        ));
    }
    let took = start.elapsed();
    // An error of the judgement is reported later, so that the models are still written.
    let decided = decide(&mut fitting.set, samples.latest());
    // If nothing was fitted, earlier models are kept.
    let output = output.filter(|_| !fitting.set.models.is_empty() || fitting.failures.is_empty());
    let is_kept = decided.as_ref().is_ok_and(|decided| decided.is_kept);
    let output = output.filter(|_| !is_kept);
    let most = if residuals { usize::MAX } else { model_files::MOST_RESIDUALS };
    if let Some(folder) = output {
        let judged = decided.as_ref().map_or(&[][..], |decided| &decided.judged);
        model_files::write_models(folder, &fitting, &samples, (spec, judged), most)?;
    }
    for warning in &fitting.warnings {
        tell!("warning: {warning}");
    }
    for note in fitting.fitted.iter().flat_map(|fitted| &fitted.notes) {
        tell!("note: {note}");
    }
    show(&fitting, output, screen)?;
    if screen != Screen::Decision {
        fitting.untrusted.iter().for_each(|reason| tell!("warning: {reason}"));
    }
    if let Some(advice) = measure::more_time(&samples, &fitting.set) {
        tell!("{advice}");
    }
    // Samples from `specc` include some for verification; imported samples include them only with
    // `--hold-out`.
    let nothing_held_out = samples.models.iter().flat_map(|m| &m.rows).all(|row| !row.verify);
    if samples.spec.is_none() && nothing_held_out && !fitting.set.models.is_empty() {
        tell!("`--hold-out 20%` keeps a fifth of the points apart, to verify the models with");
    }
    if let Some(folder) = output {
        let count = fitting.residuals();
        let (written, left_out) = match count <= most {
            true => (", residuals.txt", String::new()),
            false => ("", format!("; no residuals.txt of {count} samples without `--residuals`")),
        };
        tell!(
            "fitted in {took:.1?}; wrote models.toml, models.rs{written} and report.html to {}{left_out}",
            folder.display()
        );
        if screen != Screen::Json && !fitting.set.models.is_empty() {
            let used = match spec.is_some_and(|spec| spec.uses_nodes() || spec.uses_project()) {
                _ if added => Use::Added,
                true => Use::ReadAtStart,
                false => Use::Copied,
            };
            say!("{}", next_steps::steps(&fitting.set, folder, used, screen::width_of_stderr()));
        }
    }
    if is_kept {
        tell!("nothing but the samples is written, as the earlier models are kept");
    }
    decided?;
    if fitting.failures.is_empty() {
        Ok((!is_kept).then_some(fitting.set))
    } else {
        Err(Failure::Fault(fitting.failures.join("\n")))
    }
}

/// Prints the decisions, then the trust in the models.
fn show(fitting: &Fitting, output: Option<&Path>, screen: Screen) -> Result<(), Failure> {
    let (set, width) = (&fitting.set, screen::width());
    if screen == Screen::Json {
        return print(fit_json(set));
    }
    let libraries = summary::libraries(set, width);
    if !libraries.is_empty() {
        print(&libraries)?;
    }
    if set.models.is_empty() {
        return Ok(());
    }
    if screen == Screen::Decision {
        let file = output.map(|folder| folder.join("models.toml"));
        return print(wrapped(&model_text::summary(set, file.as_deref()), width, "  "));
    }
    let between = if libraries.is_empty() { "" } else { "\n" };
    print(format_args!("{between}{}", model_text::lines(set, width)))
}
