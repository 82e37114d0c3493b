//! What a library's choices lose, by `specc`'s own decisions: at fresh inputs the choice is timed in
//! turns with others, and the fastest of one half of the timings is timed by the other half.

use std::path::Path;

use specc::competition::Competition;
use specc::decisions::{Compared, Decisions, Drawn, Held, Like, Taken, plan};
use specc::drive::{On, RunOptions, build, profile};
use specc::lang::load_paths;
use specc::profiling_program::emit;
use strata_model::{ModelSet, Plan, Samples};

use crate::tool::{text, write};

/// How choices are timed.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Threads of this machine.
    pub nodes: usize,
    /// Of the inputs.
    pub seed: u64,
    /// At how many inputs.
    pub inputs: usize,
    /// The share of round inputs, in place of the spec's.
    pub round: Option<f64>,
    /// For how long.
    pub seconds: f64,
}

/// The timed choices of a spec's library by some models.
pub struct Judge {
    set: ModelSet,
    decisions: Decisions,
    times: Samples,
}

impl Judge {
    /// Times what models in a file choose, and what is `held` beside it. The profiling program of a
    /// calibration into the folder is used again.
    ///
    /// # Errors
    /// The spec or the models are at fault, or the program fails.
    pub fn time(
        spec: &Path,
        models: &Path,
        folder: &Path,
        timing: &Timing,
        held: Option<Taken<'_>>,
    ) -> Result<Self, String> {
        let &Timing { nodes, seed, inputs, round, seconds } = timing;
        let spec = load_paths(&[spec.to_owned()]).map_err(|errors| errors.render_for_terminal())?;
        let set = read(models)?;
        let anywhere = |_: &str| Vec::new();
        let held = held.map(|taken| Held { taken, at: &anywhere });
        let drawn = Drawn { seed, count: inputs, round, like: &Like::default() };
        let on = On::Threads;
        let (decisions, run) = plan(&spec, &on.platform(nodes, None).into(), &set, drawn, held)?;
        let emitted = emit(&spec, folder, &[], nodes == 1).map_err(|error| error.to_string())?;
        let program = build(&emitted, &on).map_err(|error| error.to_string())?;
        let options = RunOptions {
            on,
            nodes,
            hosts: None,
            launcher: None,
            budget: Some(seconds),
            precision: None,
            most: None,
            plan: folder.join("judged-plan.txt"),
            resume: false,
            output: folder.join("judged.txt"),
            part: Some("timing what choices lose".to_owned()),
            settings: Vec::new(),
        };
        write(&options.plan, &Plan { spec: emitted.spec.clone(), runs: vec![run] }.to_text())?;
        let path = profile(&program, &emitted, &options).map_err(|error| error.to_string())?;
        let times = Samples::parse(&text(&path)?, "judged.txt").map_err(|error| error.to_string())?;
        Ok(Self { set, decisions, times })
    }

    /// The models.
    pub fn set(&self) -> &ModelSet {
        &self.set
    }

    /// The loss of each choice by the models, with its inputs.
    pub fn losses(&self) -> Vec<(Vec<f64>, f64)> {
        let judged = self.decisions.judge(&mut self.set.clone(), &self.times, false);
        let inputs = |all: Vec<(String, f64)>| all.into_iter().map(|(_, value)| value).collect();
        judged.into_iter().map(|one| (inputs(one.inputs), one.loss)).collect()
    }

    /// What the models' choices lose, or those of what is held.
    ///
    /// # Errors
    /// Nothing could be judged.
    pub fn compare(&self, held: Option<Taken<'_>>) -> Result<Compared, String> {
        let anywhere = |_: &str| Vec::new();
        let held = held.map(|taken| Held { taken, at: &anywhere });
        let compared = self.decisions.compare(&self.set, &self.times, held).pop();
        compared.ok_or_else(|| "nothing was timed".to_owned())
    }
}

/// A candidate of a library and its parameters by their names, as a pin has them.
pub fn named(competition: &Competition, name: &str, parameters: &[i64]) -> Option<(usize, Vec<i64>)> {
    let place = competition.candidates().iter().position(|row| row.name == name)?;
    Some((place, parameters.to_vec()))
}

/// The models in a file.
///
/// # Errors
/// It cannot be read.
pub fn read(models: &Path) -> Result<ModelSet, String> {
    ModelSet::read(&text(models)?).map_err(|error| format!("{}: {error}", models.display()))
}
