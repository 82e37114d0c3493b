//! The profiling harness that programs generated from a spec call to measure its models.
//!
//! The plan, a text computed by `specc`, states *what* is measured: the points of each model and
//! the columns of its samples. The generated code implements one timing of each model
//! ([`Profiled`]). This crate implements *how*: in which order (`order`), how often and until when
//! (`schedule`), with which clock (`timer`), after what other work (`between`), and where results
//! are written so that an interrupted run keeps them (`journal`). The split is Brewer's between the
//! generated code (Figs 3-2, 3-4) and the profile template (Fig 3-5), and repeats are from his
//! §3.4. Timings of all points alternate, so that slow periods of the machine affect all of them
//! and can be corrected (`speed`).
//!
//! Node 0 alone decides which point is timed next and broadcasts it: clocks differ between nodes,
//! and nodes with different decisions would deadlock.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(not(feature = "nodes"))]
mod alone;
mod between;
mod compare;
mod draws;
mod journal;
pub mod kernels;
mod order;
mod panics;
mod progress;
pub mod returned;
mod run;
mod schedule;
mod settings;
mod signals;
mod speed;
mod stats;
mod support;
mod taking;
mod timer;

#[cfg(test)]
mod noise;
#[cfg(test)]
#[cfg(feature = "nodes")]
mod tests;

use std::io::Write as _;
use std::process::ExitCode;

#[cfg(not(feature = "nodes"))]
use alone as nodes;
use nodes::{Error, launch};
use run::{Job, Outcome};
use settings::Request;
use signals::Interrupt;
#[cfg(feature = "nodes")]
use strata_runtime as nodes;
use strata_select::say;

pub use nodes::Node;
pub use strata_model::plan::PlanPoint as Point;

pub use stats::{median, relative_half_width};
pub use support::{ClearMemory, Random, Scratch, clear_memory};
pub use timer::{Clock, NodeClock, Timer};

/// Any error of code in a spec, for use with `?`.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Names that code in a spec has in scope without a `use` line.
pub mod prelude {
    pub use super::{ClearMemory, clear_memory};
    #[cfg(feature = "nodes")]
    pub use strata_runtime::prelude::*;
}

/// How generated code times one model. The plan states at which points.
pub trait Profiled: Sync {
    /// The model's name.
    fn name(&self) -> &'static str;

    /// One timing: setup, START, task, STOP, cleanup.
    ///
    /// # Participation
    /// Collective: every node times the same point.
    ///
    /// # Errors
    /// Any error of the spec's code; it ends the job.
    fn measure(&self, node: &mut Node, point: &Point, bench: &mut Bench) -> Result<(), Failure>;
}

/// The instruments of one node.
pub struct Bench {
    /// START and STOP.
    pub timer: Timer,
    /// Scratch memory.
    pub scratch: Scratch,
    /// Random numbers, different on every node and in every timing.
    pub random: Random,
    /// The `seed` of each setup, different on every node and in every repetition; equal if a call
    /// is timed on the same data again.
    pub seeds: Random,
}

/// The `main` of a profiling program: measures `models`, of the spec file `spec` with that hash,
/// according to the command line.
///
/// Exit status: 0 done; 1 the spec or the journal to resume is at fault; 2 wrong usage; 3 the
/// machine failed or the spec's code did; 130 interrupted.
#[must_use]
pub fn main(spec: &str, sha256: &str, models: &[&dyn Profiled]) -> ExitCode {
    let settings = match settings::parse(std::env::args_os().skip(1)) {
        Ok(Request::Run(settings)) => settings,
        Ok(Request::Help) => {
            // The reader may have closed the pipe, as with `--help | head -1`.
            let _unread = writeln!(std::io::stdout(), "{}", settings::HELP);
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            say!("error: {message}\n\n{}", settings::HELP);
            return ExitCode::from(2);
        }
    };
    let interrupt = Interrupt::default();
    interrupt.watch();
    panics::listen();
    let job = Job::new(spec, sha256, models, settings, interrupt);
    match launch(|node| run::run(node, &job).map_err(Error::program)) {
        // Other nodes may be separate processes, which report nothing.
        Ok(Some(Outcome::Done) | None) => ExitCode::SUCCESS,
        Ok(Some(Outcome::Fault)) => ExitCode::from(1),
        Ok(Some(Outcome::Interrupted)) => ExitCode::from(signals::INTERRUPTED),
        Err(error) => {
            say!("error: {error}");
            ExitCode::from(3)
        }
    }
}
