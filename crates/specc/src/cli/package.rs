//! `cargo strata`: the commands of `specc` for the cargo package of the current folder, with its
//! specs, and with `target/strata` as the output folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command as Process;

use clap::{Args, Parser, Subcommand};

use strata_model::codegen::toml_string;
use strata_screen::{Failure, print, tell};

use super::args::{self, CompareHow, Holding, How, Output, Refining, ShowOf, Specs, Target, ThresholdsOf};
use super::{check, pipeline, revisions, show, thresholds};
use crate::profiling_program::Workspace;

/// The command line as cargo passes it on: `cargo-strata strata …`.
#[derive(Debug, Parser)]
#[command(name = "cargo", bin_name = "cargo", help_expected = true, max_term_width = 80)]
pub(super) enum Cargo {
    /// Measure the implementations that a package has of an operation, and see which wins where.
    ///
    /// `new` makes a package that can be measured at once. The other commands take the specs of the
    /// package in whose folder they are called (`*.spec` there, else in `specs/`), and keep what
    /// comes of them in `target/strata`; `specc` has more. Exit status: as of `specc`.
    #[command(subcommand, version, arg_required_else_help = true)]
    Strata(Command),
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make a library package with three implementations of an operation and the spec that measures
    /// them.
    New(New),
    /// Measure the specs of this package, fit and verify models, and say who wins where.
    Calibrate(Box<Calibrate>),
    /// Check whether committed models, thresholds or a constant still hold, see `specc check
    /// --help`.
    Check(Box<Check>),
    /// Race this package at two revisions, and say what got slower or faster, see `specc
    /// compare --help`.
    Compare(Box<Compare>),
    /// Say at which values the choice changes by the last calibration.
    Thresholds(ThresholdsOf),
    /// Show who wins where by the last calibration, and its models: all, a library, or a model.
    Show(ShowOf),
    /// Say where the report of the last calibration is.
    Report {
        /// Show it in the browser.
        #[arg(long)]
        open: bool,
    },
}

/// What `new` takes.
#[derive(Debug, Args)]
pub(super) struct New {
    /// The package's folder, made here; its last part is the package's name.
    #[arg(value_name = "NAME")]
    path: PathBuf,
    /// Depend on the crates of Strata in this folder, a clone; where neither this nor `--git` is
    /// given, on those that this program was built from: a clone that still lies there, or the
    /// registry.
    #[arg(long = "path", value_name = "DIR", conflicts_with = "git")]
    strata: Option<PathBuf>,
    /// Depend on the crates of Strata in this repository.
    #[arg(long, value_name = "URL")]
    git: Option<String>,
    /// The implementations are functions in C, compiled by `build.rs`.
    #[arg(long, conflicts_with = "fortran")]
    c: bool,
    /// The implementations are functions in Fortran, compiled by `build.rs` with gfortran.
    #[arg(long)]
    fortran: bool,
}

const BUILD_C: &str = include_str!("new/build.rs.txt");
const BUILD_FORTRAN: &str = include_str!("new/fortran.rs.txt");

/// What `calibrate` takes.
#[derive(Debug, Args)]
pub(super) struct Calibrate {
    /// Spec files, or folders of `.spec` files, instead of those of the package.
    #[arg(value_name = "SPEC")]
    specs: Vec<PathBuf>,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    refining: Refining,
    #[command(flatten)]
    how: How,
    /// The folder to write to, instead of `target/strata`.
    #[arg(short, long = "output", value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    calls: args::Calls,
    /// Leave everything as it is unless the new models' choices save time over those of this model
    /// set.
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    /// Also put the models into this user's cache folder, see `specc calibrate --help`.
    #[arg(long)]
    install: bool,
    #[command(flatten)]
    add: args::Add,
    /// Print the fit as JSON instead of tables.
    #[arg(long)]
    json: bool,
}

/// What `check` takes.
#[derive(Debug, Args)]
pub(super) struct Check {
    /// Spec files, or folders of `.spec` files, instead of those of the package.
    #[arg(value_name = "SPEC")]
    specs: Vec<PathBuf>,
    /// A model set, instead of that of the last calibration.
    #[arg(long, value_name = "FILE")]
    models: Option<PathBuf>,
    #[command(flatten)]
    holding: Holding,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// The folder for what is measured, instead of one in `target/strata`.
    #[arg(short, long = "output", value_name = "DIR")]
    output: Option<PathBuf>,
}

/// What `compare` takes.
#[derive(Debug, Args)]
pub(super) struct Compare {
    /// The side before: a revision of git, or a folder with the package. What a revision depends on
    /// by a relative path lies in the repository.
    before: String,
    /// The side after: another revision or folder.
    #[arg(default_value = ".")]
    after: String,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    how: CompareHow,
    /// The folder for what is measured, instead of one in `target/strata`.
    #[arg(short, long = "output", value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(super) fn run(Cargo::Strata(command): Cargo) -> Result<(), Failure> {
    match command {
        Command::New(new) => make(&new),
        Command::Calibrate(given) => {
            let Calibrate { specs, target, refining, how, output, calls, keep, install, add, json } = *given;
            let specs = Specs { specs: if specs.is_empty() { vec![own_specs()?] } else { specs } };
            let output = Output { output: output.map_or_else(folder, Ok)? };
            let all = args::Calibrate {
                specs,
                target,
                refining,
                how,
                output,
                calls,
                only_samples: false,
                keep,
                install,
                add,
                json,
            };
            pipeline::calibrate(&all)
        }
        Command::Check(given) => {
            let Check { specs, models, holding, json, output } = *given;
            let specs = Specs { specs: if specs.is_empty() { vec![own_specs()?] } else { specs } };
            let models = models.map_or_else(|| last("models.toml"), Ok)?;
            let output = output.map_or_else(|| folder().map(|folder| folder.join("check")), Ok)?;
            check::verify(&specs, &models, &holding, json, &output)
        }
        Command::Compare(given) => {
            let Compare { before, after, target, how, output } = *given;
            let output = output.map_or_else(|| folder().map(|folder| folder.join("compare")), Ok)?;
            let own = package()?.folder().to_owned();
            revisions::compare(&own, [&before, &after], (&target, &how), &output)
        }
        Command::Thresholds(asked) => thresholds::thresholds(&last("models.toml")?, &asked),
        Command::Show(asked) => show::show(&last("models.toml")?, &asked),
        Command::Report { open } => {
            let page = last("report.html")?;
            if open {
                show(&page)?;
            }
            print(page.display())
        }
    }
}

/// `cargo strata new`.
fn make(new: &New) -> Result<(), Failure> {
    let source = source(new, Path::new(env!("CARGO_MANIFEST_DIR")))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ended = Process::new(cargo)
        .args(["new", "--quiet", "--lib"])
        .arg(&new.path)
        .status()
        .map_err(|error| Failure::Machine(format!("cannot start cargo: {error}")))?;
    if !ended.success() {
        // Cargo has printed the error.
        return Err(Failure::Stage(2, String::new()));
    }
    let name = new.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let fill = |text: &str| text.replace("{package}", &name).replace("{crate}", &name.replace('-', "_"));
    let manifest = new.path.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(|error| Failure::file(&manifest, error))?;
    let dependency = format!("[dependencies]\nstrata-select = {{ {source} }}\n");
    let bench = "\n[[bench]]\nname = \"calibrate\"\nharness = false\n";
    // The language, and the files in it with what compiles them.
    let (language, source, others): (_, _, &[(&str, &str)]) = match (new.c, new.fortran) {
        (true, _) => {
            ("C", "c/ways.c", &[("build.rs", BUILD_C), ("c/ways.c", include_str!("new/ways.c.txt"))])
        }
        (_, true) => (
            "Fortran",
            "fortran/ways.f90",
            &[("build.rs", BUILD_FORTRAN), ("fortran/ways.f90", include_str!("new/ways.f90.txt"))],
        ),
        _ => ("", "", &[]),
    };
    let compiler = if others.is_empty() { "" } else { "\n[build-dependencies]\ncc = \"1\"\n" };
    let mut library = fill(include_str!("new/lib.rs.txt"));
    if !others.is_empty() {
        // Declarations take the place of what is before the numbers to try it on.
        let rest = library.find("/// `n` numbers").map_or("", |at| &library[at..]);
        let declared = fill(include_str!("new/extern.rs.txt"));
        library = declared.replace("{language}", language).replace("{source}", source) + rest;
    }
    let others = others.iter().map(|(path, text)| (*path, (*text).to_owned()));
    for (path, text) in [
        ("Cargo.toml", text.replacen("[dependencies]\n", &dependency, 1) + compiler + bench),
        ("src/lib.rs", library),
        ("distinct.spec", fill(include_str!("new/distinct.spec.txt"))),
        ("benches/calibrate.rs", fill(include_str!("new/calibrate.rs.txt"))),
        ("tests/choices.rs", fill(include_str!("new/choices.rs.txt"))),
        // Cargo writes one only where it also makes a repository.
        (".gitignore", "/target\n".into()),
    ]
    .into_iter()
    .chain(others)
    {
        let path = new.path.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
        }
        fs::write(&path, text).map_err(|error| Failure::file(&path, error))?;
    }
    tell!(
        "made {0}: three ways to count, and distinct.spec, which measures them; next\n\n    cd {0}\n    \
         cargo strata calibrate\n    cargo strata show\n    cargo strata report --open\n\nthen see \
         src/lib.rs for how to choose",
        new.path.display()
    );
    Ok(())
}

/// The dependency of the new package on Strata: the one requested, else the sources in
/// `built_from`, from which this program was built, else the registry.
fn source(new: &New, built_from: &Path) -> Result<String, Failure> {
    if let Some(url) = &new.git {
        return Ok(format!("git = {}", toml_string(url)));
    }
    let asked = new.strata.as_ref().map(|strata| strata.join("crates/select"));
    let folder = asked.as_deref().map_or_else(|| built_from.with_file_name("select"), Path::to_owned);
    if folder.join("Cargo.toml").is_file() {
        let folder = folder.canonicalize().map_err(|error| Failure::file(&folder, error))?;
        return Ok(format!("path = {}", toml_string(&folder.to_string_lossy())));
    }
    if asked.is_some() {
        let why = format!("{} is not there; name the folder of a clone of Strata", folder.display());
        return Err(Failure::Usage(why));
    }
    // Sources from a registry are in a folder whose name has their version.
    if built_from.file_name().is_some_and(|name| name == env!("CARGO_PKG_NAME")) {
        return Err(Failure::Usage(format!(
            "this program was built from {}, which is no longer there; say where Strata is now: \
             `cargo strata new {2} --path CLONE`, or `cargo strata new {2} --git URL`, or build {1} again",
            built_from.display(),
            env!("CARGO_PKG_NAME"),
            new.path.display()
        )));
    }
    Ok(format!("version = {}", toml_string(env!("CARGO_PKG_VERSION"))))
}

/// The package of the current folder.
fn package() -> Result<Workspace, Failure> {
    Ok(Workspace::containing(Path::new("any.spec"), &[])?)
}

/// The folder of this package's specs.
fn own_specs() -> Result<PathBuf, Failure> {
    specs_in(package()?.folder())
}

/// The folder of the specs of the package in `package`.
pub(super) fn specs_in(package: &Path) -> Result<PathBuf, Failure> {
    let holds = |folder: &Path| {
        let mut files = fs::read_dir(folder).into_iter().flatten().flatten();
        files.any(|file| file.path().extension().is_some_and(|extension| extension == "spec"))
    };
    let folders = [package.to_owned(), package.join("specs")];
    let named = format!("neither {} nor {}", folders[0].display(), folders[1].display());
    let here = std::env::current_dir().unwrap_or_default();
    folders
        .into_iter()
        .find(|folder| holds(folder))
        .map(|folder| {
            pathdiff::diff_paths(&folder, here).filter(|path| path != Path::new("")).unwrap_or(".".into())
        })
        .ok_or_else(|| {
            Failure::Usage(format!("{named} has a file *.spec; name one, or begin with `cargo strata new`"))
        })
}

/// The output folder of the package's calibrations.
fn folder() -> Result<PathBuf, Failure> {
    let package = package()?;
    let name = package.folder().file_name().unwrap_or_default().to_owned();
    Ok(package.target().join("strata").join(name))
}

/// A file of the last calibration.
fn last(name: &str) -> Result<PathBuf, Failure> {
    let path = folder()?.join(name);
    if path.is_file() {
        return Ok(path);
    }
    Err(Failure::Usage(format!("{} is not there yet; `cargo strata calibrate` writes it", path.display())))
}

/// Opens a page in the browser.
fn show(page: &Path) -> Result<(), Failure> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    match Process::new(program).arg(page).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::Machine(format!("{program} {} ended with {status}", page.display()))),
        Err(error) => {
            Err(Failure::Machine(format!("cannot start {program}: {error}; open {}", page.display())))
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Cargo::command().debug_assert();
    }

    #[test]
    fn a_new_package_has_strata_from_where_it_is() {
        let new = |strata: Option<&str>| New {
            path: "count".into(),
            strata: strata.map(Into::into),
            git: None,
            c: false,
            fortran: false,
        };
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(source(&new(None), here).is_ok_and(|source| source.starts_with("path = ")));
        let clone = here.join("../..");
        let moved = Path::new("/moved/crates/specc");
        assert!(source(&new(clone.to_str()), moved).is_ok_and(|source| source.starts_with("path = ")));
        let registry = source(&new(None), Path::new("/registry/specc-0.1.0"));
        assert_eq!(registry.ok(), Some(format!("version = \"{}\"", env!("CARGO_PKG_VERSION"))));
        let Err(Failure::Usage(why)) = source(&new(None), moved) else { panic!("it is not there") };
        assert!(why.contains(&moved.display().to_string()), "{why}");
        assert!(why.contains("`cargo strata new count --path CLONE`"), "{why}");
    }
}
