//! Models of one library from a file: the file that a program names, or an installed one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use strata_select::{
    Source, Table,
    models::{Found, find_models_by},
    output::say_once,
    table::{About, Incumbent, Info, Prediction},
};

use crate::set::Nodes;
use crate::{LibraryModels, ModelSet, Platform, Resolved, installed_models};

/// The models of one library from a file, in the order of the program's candidates.
#[derive(Debug)]
pub struct FileModels {
    /// Where the models were measured, if the file has the platform.
    pub platform: Option<Platform>,
    /// The hash of the model set.
    pub digest: String,
    /// The file's name in messages.
    pub file: String,
    models: LibraryModels,
    /// The index in the file of each of the program's candidates; `None` for one that could not be
    /// fitted.
    places: Vec<Option<usize>>,
}

impl FileModels {
    /// The models of a table's library in a file.
    ///
    /// # Errors
    ///
    /// A text that follows the file's name: the file cannot be read, has no such library, or has
    /// one of another version of the spec, with other inputs, candidates or parameters.
    pub fn read(table: &Table, path: &Path) -> Result<Self, String> {
        Self::of(table, path, &Set::read(path)?)
    }

    fn of(table: &Table, path: &Path, Set { set, resolved }: &Set) -> Result<Self, String> {
        let name = table.library;
        let none = || format!("it has no library `{name}`");
        let library = set.library(name).ok_or_else(none)?;
        if library.inputs != table.inputs {
            let (theirs, ours) = (library.inputs.join(", "), table.inputs.join(", "));
            return Err(format!("its library `{name}` is over {theirs}, but this program's over {ours}"));
        }
        for candidate in &library.candidates {
            let Some(ours) = table.entries.iter().find(|entry| entry.name == candidate.name) else {
                return Err(format!("its candidate `{}` is not one of this program", candidate.name));
            };
            let theirs = candidate.parameters.iter();
            // Ends hold numbers of the measured machine, so they may differ.
            let range = |min, max, ends| if ends { (0, 0, true) } else { (min, max, false) };
            let theirs = theirs
                .map(|p| (p.name.as_str(), range(p.min, p.max, !p.is_constant()), p.step, p.root.is_some()));
            let ours = ours.parameters.iter();
            let ours =
                ours.map(|p| (p.name, range(p.min, p.max, p.ends.is_some()), p.step, p.root.is_some()));
            if !theirs.eq(ours) {
                return Err(format!("its candidate `{}` has other parameters than here", candidate.name));
            }
        }
        let models = resolved.as_ref().map_err(String::clone)?.library(name).ok_or_else(none)?.clone();
        let places = table.entries.iter().map(|entry| models.candidate(entry.name)).collect();
        Ok(Self {
            models,
            places,
            digest: set.digest(),
            file: path.display().to_string(),
            platform: set.platform.clone(),
        })
    }

    /// Why the models do not hold here: another machine, transport or number of nodes.
    #[must_use]
    pub fn difference(&self, here: &Platform) -> Option<String> {
        let platform = self.platform.as_ref()?;
        let (min, max) = self.models.info().domain.nodes;
        let covered = Nodes { min, max };
        let there = platform.as_used(here);
        let other = || format!("they are for {covered}, and here are {}", here.nodes);
        there.difference(here).or_else(|| (!covered.contains(here.nodes)).then(other))
    }

    fn place(&self, candidate: usize) -> Option<usize> {
        self.places.get(candidate).copied().flatten()
    }
}

/// The most bytes of a file of models: sets of fifty models have less than one percent of it.
const MOST_BYTES: u64 = 64 << 20;

struct Set {
    set: ModelSet,
    /// The resolved set, or the error. A library that differs is reported first.
    resolved: Result<Resolved, String>,
}

impl Set {
    fn read(path: &Path) -> Result<Self, String> {
        let bytes = strata_select::files::read_file(path, MOST_BYTES).map_err(|error| error.to_string())?;
        let text = String::from_utf8(bytes).map_err(|_| "it is no UTF-8 text".to_owned())?;
        let set = ModelSet::read(&text).map_err(|error| error.to_string())?;
        let resolved = set.resolve().map_err(|error| error.to_string());
        Ok(Self { set, resolved })
    }

    /// As `read`, but a process reads each file once: copies alone are ten libraries.
    fn read_once(path: &Path) -> Arc<Result<Self, String>> {
        type Read = BTreeMap<PathBuf, Arc<Result<Set, String>>>;
        static READ: Mutex<Read> = Mutex::new(BTreeMap::new());
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(read.entry(path.to_owned()).or_insert_with(|| Arc::new(Self::read(path))))
    }
}

impl Source for FileModels {
    fn info(&self) -> Info<'_> {
        let all = self.models.info();
        let place = |candidate| self.places.iter().position(|place| *place == Some(candidate));
        let here = |one: Incumbent| Some(Incumbent { candidate: place(one.candidate)?, ..one });
        Info { incumbent: all.incumbent.and_then(here), ..all }
    }

    fn about(&self, candidate: usize) -> About {
        self.place(candidate).map_or_else(About::default, |place| self.models.about(place))
    }

    fn seconds(&self, candidate: usize, nodes: usize, inputs: &[f64], parameters: &[i64]) -> Option<f64> {
        self.models.seconds(self.place(candidate)?, nodes, inputs, parameters)
    }

    fn sign(&self, candidate: usize, nodes: usize, inputs: &[f64], parameters: &[i64]) -> Option<f64> {
        self.models.sign(self.place(candidate)?, nodes, inputs, parameters)
    }

    fn range(
        &self,
        candidate: usize,
        parameter: usize,
        nodes: usize,
        cores: usize,
        inputs: &[f64],
    ) -> Option<(i64, i64)> {
        self.models.range(self.place(candidate)?, parameter, nodes, cores, inputs)
    }

    fn predict(
        &self,
        candidate: usize,
        nodes: usize,
        inputs: &[f64],
        parameters: &[i64],
    ) -> Option<Prediction> {
        self.models.predict(self.place(candidate)?, nodes, inputs, parameters)
    }
}

/// Lets choices on one node (local sorts, copies, a user's own library) use models of this
/// machine, if there are any: those of the file in `STRATA_MODELS`, else those that `specc
/// calibrate --install` has put into the user's cache folder.
///
/// Such a choice cannot fail because of a file: one that cannot be read, or is of another machine,
/// is reported once on standard error, and the compiled-in models decide. Call it before the first
/// choice; `strata-runtime` does so when a job starts.
pub fn find_installed() {
    // After the first choice the models stay as they are.
    let _ = find_models_by(find);
}

/// Whether a file of models is for this library, or cannot be read, which is then reported. Each
/// process reads a file once for this.
#[must_use]
pub fn is_for(path: &Path, library: &str) -> bool {
    Set::read_once(path).as_ref().as_ref().map_or(true, |file| file.set.library(library).is_some())
}

fn find(table: &'static Table, nodes: usize) -> Option<Found> {
    let named = std::env::var_os("STRATA_MODELS").filter(|value| !value.is_empty()).map(PathBuf::from);
    let here = Platform::detect("threads", nodes);
    found(table, &here, named.as_deref(), &|| installed_models(&here, table.library))
}

fn found(
    table: &'static Table,
    here: &Platform,
    named: Option<&Path>,
    installed: &dyn Fn() -> Option<PathBuf>,
) -> Option<Found> {
    let read = |path: &Path| -> Result<Found, String> {
        let set = Set::read_once(path);
        let models = FileModels::of(table, path, set.as_ref().as_ref().map_err(String::clone)?)?;
        // A choice without nodes occurs in programs on any transport.
        let transport = models.platform.as_ref().map_or(&here.transport, |platform| &platform.transport);
        match models.difference(&Platform { transport: transport.clone(), ..here.clone() }) {
            None => Ok(Found { file: models.file.clone(), source: Box::new(models) }),
            Some(difference) => Err(format!("its models do not hold here: {difference}")),
        }
    };
    let named = named.filter(|path| is_for(path, table.library)).map(Path::to_owned);
    let path = named.or_else(installed)?;
    match read(&path) {
        Ok(found) => Some(found),
        Err(reason) => {
            // The same line for all libraries of a file, so that it is printed once.
            say_once(format!(
                "strata: {}: {}; what one node chooses goes by the models that are compiled in: make others \
                 with `specc calibrate SPEC --install`",
                path.display(),
                in_one_line(&reason)
            ));
            None
        }
    }
}

/// The first and the last line of a message, which have the place and the fault, as one line that a
/// terminal can show, with any contents of the file.
#[must_use]
pub fn in_one_line(message: &str) -> String {
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut line = lines.next().unwrap_or_default().to_owned();
    if let Some(last) = lines.next_back() {
        line = format!("{line}: {last}");
    }
    line.chars().take(MOST_OF_A_MESSAGE).map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// In characters: a message may quote its file.
const MOST_OF_A_MESSAGE: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;
    use strata_select::table::{Domain, Entry, Model, Parameter, Verdict};

    const MATMUL: &str = include_str!("../../../examples/own-library/models/models.toml");

    static TABLE: Table = Table {
        library: "matmul",
        spec: "matmul.spec",
        platform: "",
        digest: "",
        inputs: &["n"],
        domain: Domain { nodes: Domain::ANY_NODES, inputs: &[(1.0, 9.0)] },
        entries: &[
            Entry::new("naive", Verdict::Verified, 1.0, &Model::Unknown),
            Entry::new("transposed", Verdict::Verified, 1.0, &Model::Unknown),
            Entry::new("blocked", Verdict::Verified, 1.0, &Model::Unknown)
                .with(&[Parameter::new("b", 8, 128).times(2)]),
        ],
    };

    fn there() -> Platform {
        ModelSet::read(MATMUL).unwrap().platform.unwrap()
    }

    #[test]
    fn a_named_file_goes_before_what_is_installed_and_others_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let good = file("good.toml", MATMUL);
        let none = &|| None;
        let of = |named: &Path, installed: &dyn Fn() -> Option<PathBuf>| {
            found(&TABLE, &there(), Some(named), installed).map(|found| found.file)
        };
        let name = Some(good.display().to_string());
        assert_eq!(of(&good, none), name);
        // A file of other libraries has no effect on this one.
        let other = file("other.toml", "strata-models = 1\n");
        assert_eq!((of(&other, none), of(&other, &|| Some(good.clone()))), (None, name.clone()));
        assert_eq!(found(&TABLE, &there(), None, &|| Some(good.clone())).map(|found| found.file), name);
        // The models also hold on another transport; not on another machine.
        let mpi = Platform { transport: "mpi".to_owned(), ..there() };
        assert!(found(&TABLE, &mpi, Some(&good), none).is_some());
        let elsewhere = Platform { cpu: "Abacus".to_owned(), ..there() };
        assert!(found(&TABLE, &elsewhere, Some(&good), none).is_none());
        let damaged = file("damaged.toml", "no model set");
        assert_eq!(of(&damaged, &|| Some(good.clone())), None, "what is named is meant");
        assert_eq!(of(&folder.path().join("nothing.toml"), none), None);
    }

    /// A file may have the candidates in another order than the program.
    #[test]
    fn the_incumbent_of_a_file_is_that_of_its_library() {
        let inputs = "inputs = [\"n\"]\n";
        let kept = "incumbent = { candidate = \"blocked\", parameters = [16], gain = 0.5 }\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("models.toml");
        std::fs::write(&path, MATMUL.replacen(inputs, &format!("{inputs}{kept}"), 1)).unwrap();
        let models = FileModels::read(&TABLE, &path).unwrap();
        let found = models.info().incumbent.unwrap();
        assert_eq!((found.candidate, &found.parameters[..], found.gain), (2, &[16][..], 0.5));
        let plain = folder.path().join("plain.toml");
        std::fs::write(&plain, MATMUL).unwrap();
        assert_eq!(FileModels::read(&TABLE, &plain).unwrap().info().incumbent, None);
    }

    #[test]
    fn another_version_of_the_spec_is_refused_with_the_difference() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("models.toml");
        let reason = |text: &str| {
            std::fs::write(&path, text).unwrap();
            FileModels::read(&TABLE, &path).map(|_| ()).unwrap_err()
        };
        assert_eq!(reason("strata-models = 1\n"), "it has no library `matmul`");
        let renamed = MATMUL.replace("name = \"naive\"", "name = \"simple\"");
        assert_eq!(reason(&renamed), "its candidate `simple` is not one of this program");
        let longer = MATMUL.replace("max = 128, step", "max = 256, step");
        assert_eq!(reason(&longer), "its candidate `blocked` has other parameters than here");
    }
}
