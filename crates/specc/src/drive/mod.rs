//! Builds and runs profiling programs: cargo, the target machine, progress, Ctrl-C, and errors
//! shown in the spec.
//!
//! [`build`] compiles what [`crate::profiling_program`] wrote; a compiler error inside code of the
//! spec is shown at its place there. [`profile`] runs the program on threads or by a [`Launcher`] of
//! MPI jobs and returns the samples file. Nothing measured is ever lost: the program keeps a journal
//! beside its output, and [`RunOptions::resume`] goes on with it.

mod build;
mod child;
mod compiler;
mod error;
mod interrupt;
mod launcher;
mod package_program;
mod progress;
mod run;
mod shell;
pub mod smpi;

use std::path::PathBuf;
use std::str::FromStr;

use strata_model::{Hosts, Platform, did_you_mean};
use strata_sim::platform::SimulatedMachine;
use strata_sim::topology::Graph;

use crate::lang::checked::MachineKind;

pub use build::{Program, build};
pub use compiler::{CodeError, CodeErrors};
pub use error::DriveError;
pub use interrupt::Interrupt;
pub use launcher::Launcher;
pub use package_program::OwnProgram;
pub(crate) use run::partial;
pub use run::profile;
pub(crate) use shell::{PADDING, shell};

/// The most nodes a run may have; the runtime's own limit may be lower.
pub const MAX_NODES: usize = 4096;

/// Where to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum On {
    /// Nodes are threads of one process.
    #[default]
    Threads,
    /// Nodes are processes that a [`Launcher`] starts.
    Mpi,
    /// Nodes are processes of an MPI job that SimGrid's SMPI simulates.
    Smpi {
        /// The platform file of SimGrid.
        platform: PathBuf,
    },
    /// A simulated machine.
    Sim {
        /// Its name or file.
        machine: String,
        /// Options of `STRATA_ON`, such as `seed=2,computing=skeleton`; empty where there are none.
        options: String,
    },
}

impl FromStr for On {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "threads" => Ok(Self::Threads),
            "mpi" => Ok(Self::Mpi),
            _ if text.strip_prefix("smpi:").is_some_and(|file| !file.is_empty()) => {
                Ok(Self::Smpi { platform: text["smpi:".len()..].into() })
            }
            _ => match text.strip_prefix("sim:") {
                Some(rest) if !rest.is_empty() => {
                    let (machine, options) = rest.split_once(',').unwrap_or((rest, ""));
                    Ok(Self::Sim { machine: machine.to_owned(), options: options.to_owned() })
                }
                _ => Err(format!(
                    "`{text}` is not a machine{}: say threads, mpi, sim:<platform>, or smpi:<file>",
                    did_you_mean(text, ["threads", "mpi"])
                )),
            },
        }
    }
}

impl On {
    /// What it is called in specs.
    #[must_use]
    pub fn kind(&self) -> MachineKind {
        match self {
            Self::Threads => MachineKind::Threads,
            Self::Mpi | Self::Smpi { .. } => MachineKind::Mpi,
            Self::Sim { .. } => MachineKind::Sim,
        }
    }

    /// The value of `STRATA_ON` for programs on so many nodes, evenly on so many hosts. The number of
    /// MPI's processes is that of its launcher.
    #[must_use]
    pub fn variable(&self, nodes: usize, hosts: Option<usize>) -> Option<String> {
        match self {
            Self::Mpi => Some("mpi".to_owned()),
            Self::Smpi { .. } => None,
            Self::Threads => Some(format!("threads:{nodes}")),
            Self::Sim { machine, options } => {
                let comma = if options.is_empty() { "" } else { "," };
                let nodes = match hosts {
                    Some(hosts) => format!("{hosts}x{}", nodes / hosts.max(1)),
                    None => nodes.to_string(),
                };
                Some(format!("sim:{machine}:{nodes}{comma}{options}"))
            }
        }
    }

    /// Refuses what cannot be run there, before anything is built.
    ///
    /// # Errors
    /// [`DriveError::Usage`], also for a simulated machine that there is not or that cannot have so
    /// many nodes; [`DriveError::Start`] where there is no such launcher, or no SimGrid for its
    /// platforms.
    pub fn check(
        &self,
        nodes: usize,
        hosts: Option<usize>,
        launcher: Option<&Launcher>,
    ) -> Result<(), DriveError> {
        let usage = |message| Err(DriveError::Usage { message });
        if nodes == 0 {
            return usage("--nodes 0: a run needs at least one node".to_owned());
        }
        if nodes > MAX_NODES {
            return usage(format!("--nodes {}: the most is {MAX_NODES}", nodes));
        }
        if let On::Sim { machine, .. } = self {
            let checked = SimulatedMachine::find(machine).map_err(|error| error.to_string());
            let checked = checked.and_then(|platform| {
                let platform = match hosts {
                    None => platform,
                    Some(hosts) => platform.with_hosts_of(nodes / hosts.max(1)).ok_or(
                        "its file has no table `[host]`, so that each node is a host of its own; \
                         give the number of nodes alone",
                    )?,
                };
                Graph::new(&platform, nodes).map(drop).map_err(|error| error.to_string())
            });
            if let Err(reason) = checked {
                let nodes = match hosts {
                    Some(hosts) => format!("{hosts}x{}", nodes / hosts.max(1)),
                    None => nodes.to_string(),
                };
                return usage(format!("--on sim:{machine} --nodes {nodes}: {reason}"));
            }
        }
        if let (On::Threads, Some(hosts @ 2..)) = (self, hosts) {
            return usage(format!(
                "--nodes {hosts}x{}: threads run on one host; several hosts take `--on mpi`, or a simulated \
                 machine with a table `[host]`",
                nodes / hosts
            ));
        }
        match self.launcher(launcher)? {
            Some(launcher) => launcher.check(hosts)?,
            None if launcher.is_some() => {
                return usage(format!("--launcher starts jobs of MPI, not --on {self}; say --on mpi"));
            }
            None => {}
        }
        if let On::Smpi { platform } = self {
            smpi::check(platform, nodes, hosts)?;
        }
        Ok(())
    }

    /// What starts jobs of MPI: what is given, else what the environment names; nothing else needs
    /// one.
    ///
    /// # Errors
    /// As [`Launcher::of_environment`].
    pub fn launcher(&self, given: Option<&Launcher>) -> Result<Option<Launcher>, DriveError> {
        match (self, given) {
            (Self::Mpi, Some(given)) => Ok(Some(given.clone())),
            (Self::Mpi, None) => Launcher::of_environment().map(Some),
            _ => Ok(None),
        }
    }

    /// Whether time is simulated there.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        matches!(self, Self::Sim { .. } | Self::Smpi { .. })
    }

    /// What is known of the platform before anything runs there: of a real machine, that it is this
    /// one.
    #[must_use]
    pub fn platform(&self, nodes: usize, hosts: Option<usize>) -> Platform {
        let here = Platform::detect(&self.to_string(), nodes);
        match self {
            Self::Threads | Self::Mpi => {
                Platform { hosts: hosts.filter(|hosts| *hosts > 1).map(Hosts::known), ..here }
            }
            // A file that cannot be read is refused by `RunOptions::check`.
            Self::Smpi { platform } => {
                Platform::smpi(platform, nodes, hosts.unwrap_or(nodes)).unwrap_or(here)
            }
            Self::Sim { machine, .. } => Platform {
                transport: format!("sim:{machine}"),
                hosts: SimulatedMachine::find(machine)
                    .ok()
                    .filter(|platform| platform.host.is_some())
                    .map(|platform| Hosts::known(hosts.unwrap_or_else(|| platform.hosts(nodes)))),
                cpu: machine.clone(),
                cores: 1,
                cache: String::new(),
                os: "simulated".to_owned(),
                arch: "simulated".to_owned(),
                ..here
            },
        }
    }
}

impl std::fmt::Display for On {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Threads => f.write_str("threads"),
            Self::Mpi => f.write_str("mpi"),
            Self::Smpi { platform } => write!(f, "smpi:{}", platform.display()),
            Self::Sim { machine, options } if options.is_empty() => write!(f, "sim:{machine}"),
            Self::Sim { machine, options } => write!(f, "sim:{machine},{options}"),
        }
    }
}

/// How to profile.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOptions {
    /// The machine.
    pub on: On,
    /// The number of nodes.
    pub nodes: usize,
    /// The number of hosts, each with as many of the nodes; if `None`, the machine places them.
    pub hosts: Option<usize>,
    /// What starts jobs of MPI; if `None`, [`Launcher::of_environment`].
    pub launcher: Option<Launcher>,
    /// Seconds for all measurements; if `None`, up to 60 s, ending earlier once the medians are
    /// certain.
    pub budget: Option<f64>,
    /// Relative half width of a median at which measuring ends; the program's default if `None`.
    pub precision: Option<f64>,
    /// The most timings of a point; the program's default if `None`.
    pub most: Option<usize>,
    /// The plan: what to measure.
    pub plan: PathBuf,
    /// Go on with the journal of an interrupted run.
    pub resume: bool,
    /// The samples file.
    pub output: PathBuf,
    /// The part of a measurement of several runs that this run is, such as `launch 2 of 6`; its
    /// messages are then short.
    pub part: Option<String>,
    /// Environment variables of the program, with their values.
    pub settings: Vec<(&'static str, String)>,
}

impl RunOptions {
    /// Refuses what cannot be run, before anything is built.
    ///
    /// # Errors
    /// [`DriveError::Usage`], also for a simulated machine that there is not or that cannot have so
    /// many nodes; [`DriveError::Start`] where there is no such launcher, or no SimGrid for its
    /// platforms.
    pub fn check(&self) -> Result<(), DriveError> {
        self.on.check(self.nodes, self.hosts, self.launcher.as_ref())?;
        match self.budget {
            Some(budget) if !(budget.is_finite() && budget > 0.0) => Err(DriveError::Usage {
                message: format!("--budget {budget}: it must be a time greater than zero"),
            }),
            _ => Ok(()),
        }
    }

    /// What starts the job, if it is one of MPI.
    ///
    /// # Errors
    /// As [`Launcher::of_environment`].
    pub fn launcher(&self) -> Result<Option<Launcher>, DriveError> {
        self.on.launcher(self.launcher.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> RunOptions {
        RunOptions {
            on: On::Threads,
            nodes: 4,
            hosts: None,
            launcher: None,
            budget: None,
            precision: None,
            most: None,
            plan: "plan.txt".into(),
            resume: false,
            output: "samples.txt".into(),
            part: None,
            settings: Vec::new(),
        }
    }

    fn sim(machine: &str, options: &str) -> On {
        On::Sim { machine: machine.to_owned(), options: options.to_owned() }
    }

    #[test]
    fn machines_have_names() {
        for (on, variable) in [
            (On::Threads, Some("threads:4")),
            (On::Mpi, Some("mpi")),
            (On::Smpi { platform: "a/b.xml".into() }, None),
            (sim("cm5", ""), Some("sim:cm5:4")),
            (sim("cm5", "seed=2,steps=9"), Some("sim:cm5:4,seed=2,steps=9")),
        ] {
            assert_eq!(on.variable(4, None).as_deref(), variable);
            assert_eq!(on.to_string().parse(), Ok(on));
        }
        assert_eq!(sim("cm5", "seed=2").platform(4, None), sim("cm5", "").platform(4, None));
        for bad in ["", "thread", "sim", "sim:", "smpi", "smpi:"] {
            assert!(bad.parse::<On>().unwrap_err().contains("say threads, mpi"), "{bad}");
        }
    }

    #[test]
    fn what_cannot_run_is_refused_with_status_2() {
        assert!(options().check().is_ok());
        assert!(RunOptions { nodes: 300, ..options() }.check().is_ok());
        assert!(RunOptions { on: sim("cm5", "seed=2"), nodes: 64, ..options() }.check().is_ok());
        let refused = [
            RunOptions { nodes: 0, ..options() },
            RunOptions { nodes: usize::MAX, ..options() },
            RunOptions { budget: Some(0.0), ..options() },
            RunOptions { budget: Some(f64::NAN), ..options() },
            RunOptions { on: sim("cm6", ""), ..options() },
        ];
        for options in refused {
            assert_eq!(options.check().unwrap_err().exit_status(), 2, "{options:?}");
        }
    }
}
