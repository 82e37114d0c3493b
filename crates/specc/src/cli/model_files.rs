//! The files of a fit: the models, their residuals, and the report.

use std::fs;
use std::path::Path;

use strata_fit::emit as emit_models;
use strata_model::{Samples, write_atomically};
use strata_report::{Help, Judged, Map, Report, write_residuals};
use strata_screen::Failure;

use super::measure;
use crate::advise::{self, Advised, Limits, Target};
use crate::cargo;
use crate::competition::Competition;
use crate::fitting::Fitting;
use crate::lang::CheckedSpec;
use crate::points::{self, Site};
use crate::thresholds::places;
use crate::{curves, map};

/// The most samples that the report advises.
const NAMED: usize = 3;

/// The most samples whose residuals are written if nobody asks for them: more than anyone reads,
/// and a file of megabytes.
pub const MOST_RESIDUALS: usize = 100_000;

/// How emitted Rust imports the crate that chooses.
pub(super) const SELECT: &str = "use strata_select::";

/// The same for the package that contains a spec: one that depends on Strata as a whole
/// (`strata-hpc`), but not on `strata-select`, has the latter as a module.
pub(super) fn select_path(spec: &Path) -> String {
    let spec = std::env::current_dir().unwrap_or_default().join(spec);
    let manifests = spec.ancestors().skip(1).map(|folder| folder.join("Cargo.toml"));
    let whole = manifests.into_iter().find(|manifest| manifest.is_file()).and_then(|manifest| {
        fs::read_to_string(&manifest).ok().filter(|text| text.contains("strata-hpc"))?;
        let manifest = fs::canonicalize(manifest).ok()?;
        let arguments = ["--no-deps", "--offline"].map(str::to_owned);
        let packages = cargo::metadata(Some(&manifest), &arguments).ok()?.packages;
        let package = packages.into_iter().find(|package| package.manifest_path == manifest)?;
        let used =
            |name: &str| package.dependencies.iter().find(|one| one.name == name && one.kind.is_none());
        let whole = used("strata-hpc").filter(|_| used("strata-select").is_none())?;
        Some(whole.rename.as_deref().unwrap_or("strata").replace('-', "_"))
    });
    whole.map_or(SELECT.to_owned(), |name| format!("use {name}::select::"))
}

/// Writes the files of a fit: the models as TOML and as Rust, the report, and the residuals of at
/// most so many samples. The report includes the losses of choices, and the parts that need the
/// spec if there is one.
///
/// # Errors
/// A file cannot be written, or the models cannot be emitted.
pub fn write_models(
    folder: &Path,
    fitting: &Fitting,
    samples: &Samples,
    (spec, judged): (Option<&CheckedSpec>, &[Judged]),
    most_residuals: usize,
) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|e| Failure::file(folder, e))?;
    let save = |name: &str, text: String| {
        let path = folder.join(name);
        write_atomically(&path, |out| out.write_all(text.as_bytes()))
            .map_err(|e| Failure::Machine(e.to_string()))
    };
    save("models.toml", fitting.set.to_text())?;
    let emitted = emit_models::rust(std::slice::from_ref(&fitting.set));
    let emitted = emitted.map_err(|e| Failure::Fault(e.to_string()))?;
    let path = select_path(
        spec.and_then(|spec| spec.files.first()).map_or(Path::new(""), |file| Path::new(&file.name)),
    );
    save("models.rs", emitted.replace(SELECT, &path))?;
    let libraries = fitting.set.libraries.iter().filter(|library| !library.candidates.is_empty());
    let competitions: Vec<Competition> =
        libraries.filter_map(|library| Competition::new(&fitting.set, &library.name).ok()).collect();
    let maps: Vec<Map> = competitions.iter().filter_map(marked).collect();
    let curves: Vec<_> = competitions.iter().flat_map(|c| curves::compute(c, &fitting.fitted)).collect();
    let help: Vec<Help> = competitions.iter().filter_map(|c| help(c, fitting, samples, spec)).collect();
    let Fitting { set, fitted, failures, .. } = fitting;
    let report = Report { set, samples, fitted, failures, maps: &maps, curves: &curves, judged, help: &help };
    save("report.html", report.html())?;
    let path = folder.join("residuals.txt");
    if fitting.residuals() > most_residuals {
        // Those of an earlier fit would be of other models.
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Failure::file(&path, error)),
            _ => Ok(()),
        };
    }
    write_residuals(&path, &fitting.fitted).map_err(|e| Failure::Machine(e.to_string()))
}

/// The map of a library with its crossings; `None` for a library of more than two inputs, for which
/// `specc show` can hold the others fixed.
fn marked(competition: &Competition) -> Option<Map> {
    let mut map = map::compute(competition, &[]).ok()?;
    if let Ok(crossings) = places::compute(competition, &[], Some(&map.x.name)) {
        map.crossings = crossings.marks(competition, &|_, _| true);
    }
    Some(map)
}

/// The ranges in which the choices of a library are unsure and, with the spec, the samples that
/// would help.
fn help(
    competition: &Competition,
    fitting: &Fitting,
    samples: &Samples,
    spec: Option<&CheckedSpec>,
) -> Option<Help> {
    let library = competition.name().to_owned();
    let unsure = places::compute(competition, &[], None).ok()?.unsure();
    let advice = spec.and_then(|spec| {
        let site = fitting.set.platform.clone().map_or_else(|| Site::from(fitting.set.nodes()), Site::from);
        let spaces = points::spaces(spec, site).ok()?;
        let limits = Limits { count: NAMED, budget: f64::INFINITY, goals: Vec::new() };
        let target = [Target::Library(library.clone())];
        advise::advise(&fitting.set, None, &spaces, &target, &measure::measured(samples), &limits).ok()
    });
    let advice = advice.unwrap_or_default();
    let named = |one: &Advised| {
        let at = one.at.iter().map(|(name, value)| format!("{name} = {value}"));
        format!("{} at {}", one.model, at.collect::<Vec<_>>().join(", "))
    };
    Some(Help {
        library,
        unsure,
        samples: advice.samples.iter().map(named).collect(),
        loss: advice.targets.first().map(|target| (target.before, target.after)),
    })
}
