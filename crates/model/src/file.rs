//! Models of one library from a file: the one that a program names, or what is installed.

use std::path::{Path, PathBuf};

use strata_select::{Domain, Found, Prediction, Source, Table, Verdict, find_models_by, say};

use crate::set::Nodes;
use crate::{LibraryModels, ModelSet, Platform, installed_models};

/// The models of one library from a file, in the order of the program's candidates.
#[derive(Debug)]
pub struct FileModels {
    /// Where they were measured, if the file says so.
    pub platform: Option<Platform>,
    /// The hash of the model set.
    pub digest: String,
    models: LibraryModels,
    /// The index in the file of each of the program's candidates; `None` for one that could not be
    /// fitted.
    places: Vec<Option<usize>>,
}

impl FileModels {
    /// The models of a table's library in a file.
    ///
    /// # Errors
    /// In words that follow the file's name: it cannot be read, has no such library, or one of
    /// another version of the spec, with other inputs, candidates or parameters than the table.
    pub fn read(table: &Table, path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let set = ModelSet::read(&text).map_err(|error| error.to_string())?;
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
            let theirs = theirs.map(|p| (p.name.as_str(), p.min, p.max, p.step, p.root.is_some()));
            let ours = ours.parameters.iter().map(|p| (p.name, p.min, p.max, p.step, p.root.is_some()));
            if !theirs.eq(ours) {
                return Err(format!("its candidate `{}` has other parameters than here", candidate.name));
            }
        }
        let resolved = set.resolve().map_err(|error| error.to_string())?;
        let models = resolved.library(name).ok_or_else(none)?.clone();
        let places = table.entries.iter().map(|entry| models.candidate(entry.name)).collect();
        Ok(Self { models, places, digest: set.digest(), platform: set.platform })
    }

    /// Why they do not hold here: they are of another machine, transport or number of nodes.
    #[must_use]
    pub fn difference(&self, here: &Platform) -> Option<String> {
        let platform = self.platform.as_ref()?;
        let (min, max) = self.models.domain().nodes;
        let covered = Nodes { min, max };
        let there = Platform { nodes: here.nodes, ..platform.clone() };
        let other = || format!("they are for {covered}, and here are {}", here.nodes);
        there.difference(here).or_else(|| (!covered.contains(here.nodes)).then(other))
    }

    fn place(&self, candidate: usize) -> Option<usize> {
        self.places.get(candidate).copied().flatten()
    }
}

impl Source for FileModels {
    fn domain(&self) -> Domain<'_> {
        self.models.domain()
    }

    fn seconds(&self, candidate: usize, nodes: usize, inputs: &[f64], parameters: &[i64]) -> Option<f64> {
        self.models.seconds(self.place(candidate)?, nodes, inputs, parameters)
    }

    fn sign(&self, candidate: usize, nodes: usize, inputs: &[f64], parameters: &[i64]) -> Option<f64> {
        self.models.sign(self.place(candidate)?, nodes, inputs, parameters)
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

    fn verdict(&self, candidate: usize) -> Verdict {
        self.place(candidate).map_or(Verdict::Unverified, |place| self.models.verdict(place))
    }

    fn expected_ratio(&self, candidate: usize) -> f64 {
        self.place(candidate).map_or(1.0, |place| self.models.expected_ratio(place))
    }
}

/// Lets what this process chooses by itself ([`strata_select::choose`]: local sorts, copies, a
/// user's own library) go by models of this machine, where there are some: those of the file in
/// `STRATA_MODELS`, else what `specc calibrate --install` has put into the user's cache folder.
///
/// Such a choice cannot fail by them: a file that cannot be read, or is of another machine, is
/// reported once on standard error, and the models that are compiled in decide. Call it before the
/// first choice; `strata-runtime` does so when a job starts.
pub fn find_installed() {
    // After the first choice it is too late, and models that are found would be a surprise.
    let _ = find_models_by(find);
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
        let models = FileModels::read(table, path)?;
        // A library without nodes holds whatever the transport of the program's nodes.
        let transport = models.platform.as_ref().map_or(&here.transport, |platform| &platform.transport);
        match models.difference(&Platform { transport: transport.clone(), ..here.clone() }) {
            None => Ok(Found { source: Box::new(models), file: path.display().to_string() }),
            Some(difference) => Err(format!("its models do not hold here: {difference}")),
        }
    };
    // A file for other libraries says nothing of this one.
    let others = |path: &Path| {
        let set = std::fs::read_to_string(path).ok().and_then(|text| ModelSet::read(&text).ok());
        set.is_some_and(|set| set.library(table.library).is_none())
    };
    let named = named.filter(|path| !others(path)).map(Path::to_owned);
    let path = named.or_else(installed)?;
    match read(&path) {
        Ok(found) => Some(found),
        Err(reason) => {
            say!(
                "strata: {}: {reason}; `{}` is chosen by the models that are compiled in: calibrate with `specc \
                 calibrate {} --install`",
                path.display(),
                table.library,
                table.spec
            );
            None
        }
    }
}
