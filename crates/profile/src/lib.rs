//! The profiling harness: what a program generated from a spec calls to measure its models.
//!
//! The generated part knows *what* is measured: for each model its points, its columns and one timing ([`Profiled`]).
//! This part knows *how*: which points in which order (`plan`), how often and until when (`schedule`), with which
//! clock (`timer`), and where it is written so that an interrupted run keeps what it has (`journal`). The split is
//! Brewer's between the generated code (Figs 3-2, 3-4) and the profile template (Fig 3-5); the repeats and their median
//! are his §3.4. What errors there are in timings is dealt with here, so that the fit may trust its samples.
//!
//! Node 0 alone decides what is timed next and broadcasts it: clocks differ between nodes, and nodes that disagreed
//! would wait for each other for ever.

mod journal;
mod panics;
mod plan;
mod progress;
mod run;
mod schedule;
mod settings;
mod signals;
mod stats;
mod support;
mod timer;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

use strata_runtime::{Error, Node, launch};

use run::{Job, Outcome};
use settings::Request;
use signals::Interrupt;

pub use stats::{median, relative_half_width};
pub use support::{Random, Scratch, clear_memory};
pub use timer::{Clock, NodeClock, Timer};

/// Whatever code in a spec may fail with; `?` makes one of any error.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What code in a spec finds in scope without a `use` line.
pub mod prelude {
    pub use super::clear_memory;
    pub use strata_runtime::prelude::*;
}

/// One model as generated code describes it.
///
/// Everything but [`Profiled::measure`] must give the same answers on every node.
pub trait Profiled: Sync {
    /// The model's name.
    fn name(&self) -> &'static str;

    /// The sample file's columns; one in parentheses is an input that is no candidate term.
    fn columns(&self) -> &'static [&'static str];

    /// How the samples are to be fitted, in the words of the spec; empty for the usual way.
    fn fit(&self) -> &'static str {
        ""
    }

    /// The iteration variables, for messages.
    fn variables(&self) -> &'static [&'static str] {
        &[]
    }

    /// How often to measure.
    fn options(&self) -> Options {
        Options::default()
    }

    /// Walks the loop nest in its order until `visit` returns false.
    fn points(&self, scope: &Scope, visit: &mut dyn FnMut(&[i64]) -> bool);

    /// A point with every iteration variable uniform over its whole integer range (Brewer §3.2.1: the step does not
    /// matter); `None` if a range is empty.
    fn draw(&self, scope: &Scope, random: &mut Random) -> Option<Vec<i64>>;

    /// Whether a point has a value for every iteration variable, each within its loop's range, whatever the step.
    fn contains(&self, scope: &Scope, at: &[i64]) -> bool;

    /// The values of the columns at a point; `None` if a `require` fails there.
    fn values(&self, scope: &Scope, at: &[i64]) -> Option<Vec<f64>>;

    /// One timing: setup, START, task, STOP, cleanup.
    ///
    /// # Participation
    /// Collective: every node times the same point.
    ///
    /// # Errors
    /// Whatever the spec's code fails with; it ends the job.
    fn measure(&self, node: &mut Node, scope: &Scope, at: &[i64], bench: &mut Bench) -> Result<(), Failure>;
}

/// How often a model is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Verification points.
    pub verify: u32,
    /// Least number of timings of a point; their median is its sample.
    pub repeat: u32,
    /// The task may be executed only once after each setup, however short it is.
    pub once: bool,
}

impl Default for Options {
    /// Brewer's: 20 verification points (Fig 3-5), the median of three (§3.4.1).
    fn default() -> Self {
        Self { verify: 20, repeat: 3, once: false }
    }
}

/// What is fixed while one point is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    name: &'static str,
    verify: bool,
    nodes: usize,
}

impl Scope {
    pub(crate) fn new(name: &'static str, verify: bool, nodes: usize) -> Self {
        Self { name, verify, nodes }
    }

    /// The model's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether this sample is for verification.
    #[must_use]
    pub fn verify(&self) -> bool {
        self.verify
    }

    /// `P`, the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The reserved names of expressions: `P`, `logP` (to base 2) and `sqrtP`.
    #[must_use]
    pub fn constants(&self) -> [f64; 3] {
        let nodes = self.nodes as f64;
        [nodes, nodes.log2(), nodes.sqrt()]
    }
}

/// The instruments of one node.
pub struct Bench {
    /// START and STOP.
    pub timer: Timer,
    /// Scratch memory.
    pub scratch: Scratch,
    /// Random numbers, others on every node and in every timing.
    pub random: Random,
}

/// The whole of a profiling program: measures `models`, of the spec file `spec` with that hash, as the command line asks.
///
/// Exit status: 0 done; 1 the spec or the journal to resume is at fault; 2 wrong usage; 3 the machine failed or the
/// spec's code did; 130 interrupted.
#[must_use]
pub fn main(spec: &str, sha256: &str, models: &[&dyn Profiled]) -> ExitCode {
    let settings = match settings::parse(std::env::args_os().skip(1)) {
        Ok(Request::Run(settings)) => settings,
        Ok(Request::Help) => {
            println!("{}", settings::HELP);
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("error: {message}\n\n{}", settings::HELP);
            return ExitCode::from(2);
        }
    };
    let interrupt = Interrupt::default();
    interrupt.watch();
    panics::listen();
    let job = Job::new(spec, sha256, models, settings, interrupt);
    match launch(|node| run::run(node, &job).map_err(Error::program)) {
        // Nodes other than 0 that are processes of their own have nothing to add.
        Ok(Some(Outcome::Done) | None) => ExitCode::SUCCESS,
        Ok(Some(Outcome::Fault)) => ExitCode::from(1),
        Ok(Some(Outcome::Interrupted)) => ExitCode::from(signals::INTERRUPTED),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(3)
        }
    }
}
