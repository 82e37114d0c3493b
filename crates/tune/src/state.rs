//! The state that a tuner keeps between runs: one file in JSON.

use crate::error::TuneError;
use crate::experiment::{Experiment, Phase, SavedExperiment};
use crate::intervals::Interval;
use crate::report::Report;
use crate::settings::{Mode, Options};
use crate::site::Site;
use crate::tuner::Tuner;
use serde::{Deserialize, Serialize};
use std::hash::BuildHasher as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use strata_model::{Platform, cache_folder, count, sha256_hex, write_atomically};

const VERSION: u32 = 1;

/// The most bytes of a file: one site has some kilobytes.
const MOST_BYTES: u64 = 64 << 20;

/// The conditions under which choices are valid: another build changes places in the source,
/// another machine changes times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    build: String,
    machine: String,
    nodes: usize,
}

impl Identity {
    pub(crate) fn here(nodes: usize) -> Self {
        static HERE: OnceLock<(String, String)> = OnceLock::new();
        let (build, machine) = HERE.get_or_init(|| {
            let program = std::env::current_exe().and_then(std::fs::read);
            let build = program.map_or_else(
                |_| "unknown".to_owned(),
                |bytes| format!("{:016x}", rustc_hash::FxBuildHasher.hash_one(&bytes[..])),
            );
            // The transport and the number of nodes are not properties of the machine.
            let platform = Platform { transport: String::new(), ..Platform::detect("", 0) };
            (build, platform.to_string())
        });
        Self { build: build.clone(), machine: machine.clone(), nodes }
    }

    /// The reason why the saved identity `self` is not valid for `here`.
    fn difference(&self, here: &Self) -> Option<&'static str> {
        if self.machine != here.machine {
            Some("it is of another machine")
        } else if self.nodes != here.nodes {
            Some("it is of another number of nodes")
        } else if self.build != here.build {
            Some("it is of another build of the program")
        } else {
            None
        }
    }
}

#[derive(Serialize, Deserialize)]
struct State {
    strata_tune: u32,
    program: String,
    identity: Identity,
    sites: Vec<SavedSite>,
    /// From, to, count; 0 is the start, sites are numbered from 1.
    edges: Vec<(usize, usize, u64)>,
    intervals: Vec<SavedInterval>,
    /// Length of the last idle period after all was tried, and visits left of it.
    #[serde(default)]
    rest: [u64; 2],
}

#[derive(Serialize, Deserialize)]
struct SavedSite {
    site: Site,
    labels: Vec<String>,
}

/// An interval, by its sites' numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedInterval {
    nodes: Vec<usize>,
    experiment: SavedExperiment,
}

/// The default file of a program's tuner.
fn usual_file(program: &str, identity: &Identity, end: &str) -> Result<PathBuf, TuneError> {
    let folder = cache_folder().ok_or(TuneError::NoFolder)?;
    let machine = sha256_hex(identity.machine.as_bytes());
    let name = program.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "-");
    Ok(folder.join("tune").join(&machine[..16]).join(format!("{name}-{}{end}.json", identity.nodes)))
}

fn read(text: &str) -> Result<State, String> {
    let state: State = serde_json::from_str(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Eof => "it is cut short".to_owned(),
        _ => format!("it is not what a tuner writes ({error})"),
    })?;
    match state.strata_tune {
        VERSION => Ok(state),
        other => Err(format!("it is of format {other}, and this is {VERSION}")),
    }
}

impl Tuner {
    /// The file for results: that of the mode, or one in the cache folder; `None` if nothing is
    /// saved.
    ///
    /// # Errors
    /// If the mode names no file and there is no cache folder.
    pub fn file_of(program: &str, mode: &Mode, nodes: usize) -> Result<Option<PathBuf>, TuneError> {
        match mode {
            Mode::Off => Ok(None),
            Mode::Use(file) | Mode::Record(Some(file)) | Mode::Tune(Some(file)) => Ok(Some(file.clone())),
            Mode::Record(None) => usual_file(program, &Identity::here(nodes), "-recorded").map(Some),
            Mode::Tune(None) => usual_file(program, &Identity::here(nodes), "").map(Some),
        }
    }

    /// Reads the mode's file and restores the parts that fit; returns its text.
    pub(crate) fn open(&mut self) -> Result<Option<String>, TuneError> {
        let Some(file) = Self::file_of(&self.program, &self.options.mode, self.identity.nodes)? else {
            return Ok(None);
        };
        let text = match strata_select::files::read_file(&file, MOST_BYTES) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(source) if matches!(self.options.mode, Mode::Use(_)) => {
                return Err(TuneError::Read { file, source });
            }
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => None,
            Err(source) => {
                self.notes.push(format!("{} is ignored: {source}", file.display()));
                None
            }
        };
        if let Some(text) = &text {
            self.take_up(text, &file.display().to_string(), true);
        }
        self.file = (!matches!(self.options.mode, Mode::Use(_))).then_some(file);
        Ok(text)
    }

    /// Reads a file of any program, build and machine, for inspection. The report's note names them
    /// and tells whether runs on this machine would use the file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a tuner's.
    pub fn look(file: &Path) -> Result<Self, TuneError> {
        let bytes = strata_select::files::read_file(file, MOST_BYTES)
            .map_err(|source| TuneError::Read { file: file.to_owned(), source })?;
        let wrong = |reason| TuneError::File { file: file.to_owned(), reason };
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| wrong("it is not what a tuner writes (no UTF-8 text)".to_owned()))?;
        let state = read(text).map_err(wrong)?;
        let Identity { build, machine, nodes } = &state.identity;
        let here = Identity::here(*nodes);
        let fits = if *machine == here.machine { "this one" } else { "another than this one" };
        let whose = format!(
            "of build {build}, {} and this machine: {machine}; it is {fits}",
            count(*nodes, "node", "nodes")
        );
        let mut tuner = Self::blank(&state.program, Options::of(Mode::Tune(None)), *nodes)?;
        tuner.identity = state.identity.clone();
        tuner.take(state).map_err(wrong)?;
        match tuner.notes.pop() {
            Some(note) => Err(wrong(note)),
            None => {
                tuner.notes.push(whose);
                Ok(tuner)
            }
        }
    }

    /// The state saved for `nodes` nodes by an earlier run of this program, if it fits this build
    /// and this machine, for [`for_team`](Self::for_team); and a note about ignored state.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn stored(
        program: &str,
        options: &Options,
        nodes: usize,
    ) -> Result<(Option<String>, Vec<String>), TuneError> {
        let mut tuner = Self::blank(program, options.clone(), nodes)?;
        let text = tuner.open()?;
        Ok((text.filter(|_| tuner.graph.nodes.len() > 1), tuner.notes))
    }

    /// Restores the state of an earlier run; parts that do not fit are ignored with a note.
    /// `judge`: true to ignore also the state of another build or machine.
    pub(crate) fn take_up(&mut self, text: &str, whence: &str, judge: bool) {
        let fits = |state: State| match state.identity.difference(&self.identity).filter(|_| judge) {
            Some(difference) => Err(difference.to_owned()),
            None if state.program != self.program => Err(format!("it is of the program `{}`", state.program)),
            None => Ok(state),
        };
        let taken = read(text).and_then(fits).and_then(|state| self.take(state));
        if let Err(why) = taken {
            self.notes.push(format!("{whence} is ignored: {why}"));
        }
    }

    fn take(&mut self, state: State) -> Result<(), String> {
        let inside = |node: &usize| (1..=state.sites.len()).contains(node);
        let edges = state.edges.iter().all(|(from, to, _)| (*from == 0 || inside(from)) && inside(to));
        if !edges || !state.intervals.iter().all(|interval| interval.nodes.iter().all(inside)) {
            return Err("it names sites that it does not have".to_owned());
        }
        for saved in state.sites {
            let node = self.graph.add(saved.site).ok_or("it has too many sites")?;
            self.graph.nodes[node].labels = saved.labels;
        }
        for (from, to, count) in state.edges {
            self.graph.add_edge(from, to, count);
        }
        if matches!(self.options.mode, Mode::Use(_)) {
            let mut others = 0;
            self.make_room();
            for saved in state.intervals {
                let knobs = self.knobs(&Interval { nodes: saved.nodes, stops: Vec::new() });
                for (node, option) in knobs.zip(saved.experiment.chosen) {
                    let adopted = saved.experiment.phase == Phase::Adopted;
                    let options = self.graph.nodes[node].site.as_ref().map_or(1, |site| site.options);
                    if adopted && option != 0 && option < options {
                        self.force(node, option);
                        others += 1;
                    }
                }
            }
            let choices = count(others, "choice", "choices");
            self.used = Some(format!("{choices} other than the default, as found before"));
            return Ok(());
        }
        self.saved = state.intervals;
        self.find_intervals();
        self.rest_on(state.rest);
        Ok(())
    }

    /// Restores an experiment of an earlier run.
    pub(crate) fn restore_into(&mut self, interval: &Interval, experiment: &mut Experiment) {
        let at = self.saved.iter().position(|saved| saved.nodes == interval.nodes);
        if matches!(self.options.mode, Mode::Record(_)) {
            return;
        }
        let saved = at.map(|at| self.saved.swap_remove(at));
        if saved.is_some_and(|saved| !experiment.restore(saved.experiment)) {
            self.notes.push("an interval's saved search does not fit and begins again".to_owned());
        }
    }

    /// The state for a later run, as [`close`](Self::close) writes it.
    #[must_use]
    pub fn state_text(&self) -> String {
        let sites = self
            .graph
            .nodes
            .iter()
            .filter_map(|node| Some(SavedSite { site: node.site.clone()?, labels: node.labels.clone() }));
        let edges = self
            .graph
            .nodes
            .iter()
            .enumerate()
            .flat_map(|(from, node)| node.out.iter().map(move |edge| (from, edge.to, edge.count)));
        let intervals = self.intervals.iter().zip(&self.experiments);
        let state = State {
            strata_tune: VERSION,
            rest: self.idle.kept(),
            program: self.program.clone(),
            identity: self.identity.clone(),
            sites: sites.collect(),
            edges: edges.collect(),
            intervals: intervals
                .map(|(interval, experiment)| SavedInterval {
                    nodes: interval.nodes.clone(),
                    experiment: experiment.save(),
                })
                .collect(),
        };
        serde_json::to_string(&state).unwrap_or_default() + "\n"
    }

    /// Saves the results for later runs, and returns the report.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn close(self) -> Result<Report, TuneError> {
        if let Some(file) = &self.file {
            self.save(file)?;
        }
        Ok(self.report())
    }

    /// Writes the results to a file: under a temporary name at first, so that no reader sees an
    /// incomplete file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, file: &Path) -> Result<(), TuneError> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let made = folder.map_or(Ok(()), std::fs::create_dir_all);
        let text = self.state_text();
        let written = made
            .map_err(|error| {
                std::io::Error::new(error.kind(), format!("cannot write {}: {error}", file.display()))
            })
            .and_then(|()| write_atomically(file, |to| to.write_all(text.as_bytes())));
        written.map_err(|source| TuneError::Write { source })
    }
}
