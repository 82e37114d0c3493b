//! Simulated machines.

use crate::clock::HostClock;
use crate::develop::Development;
use crate::error::Error;
use crate::job::Job;
use crate::node::Node;
use crate::settings::Settings;
use crate::transport::sim;
use crate::work::Computing;
use std::collections::BTreeSet;
use std::sync::Arc;
use strata_model::{Hosts, ModelSet};
use strata_select::{say, table::closest};

pub use crate::node::Circuits;
pub use strata_sim::Time;
pub use strata_sim::network::{LinkUse, NodeUse, Statistics};
pub use strata_sim::platform::{SimulatedMachine, Topology};

/// Steps after which a simulation is stopped by default: hours of simulating.
const STEPS: u64 = 100_000_000_000;

/// The most hosts, and the most nodes on each, that a value of `STRATA_ON` may name.
const MOST_NODES: usize = 1 << 20;

/// The options of `STRATA_ON=sim:MACHINE:NODES,OPTION=VALUE,…`.
const OPTIONS: [&str; 6] = ["computing", "disturbed", "kernels", "network", "seed", "steps"];

/// A program's nodes on a simulated machine.
///
/// Repeated simulations are identical to the bit: results, times, and the hash over all events;
/// except where computing is [measured](Computing::Measured).
///
/// ```
/// use strata_runtime::{prelude::*, simulation::SimulatedMachine};
/// let cm5 = SimulatedMachine::find("cm5")?;
/// let run = Machine::sim(&cm5, 64)?.run(|node| Ok(node.reduce_add(1u32)))?;
/// assert_eq!(run.results, [64; 64]);
/// println!("{} on the slowest node", run.time());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    setup: sim::Setup,
    /// True if the busiest links are printed at the end.
    prints_network: bool,
}

/// The result of a simulation.
///
/// ```
/// use strata_runtime::{prelude::*, simulation::SimulatedMachine};
///
/// let alewife = SimulatedMachine::find("alewife")?;
/// let run = || Machine::sim(&alewife, 16)?.run(|node| Ok(node.reduce_add(node.rank() as u32)));
/// let (first, second) = (run()?, run()?);
/// assert_eq!((first.hash, first.times), (second.hash, second.times));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Simulated<T> {
    /// The program's results, by rank.
    pub results: Vec<T>,
    /// The time at which each node's program ended.
    pub times: Vec<Time>,
    /// Statistics of the network.
    pub network: Statistics,
    /// A hash over all events and their times: two simulations with the same hash had the same
    /// events.
    pub hash: u64,
    /// Number of events in the network.
    pub steps: u64,
    /// The factor by which the operating system's time slices lengthen all times of this
    /// simulation; the stated times do not include it. 1 unless [disturbed](Simulation::disturbed).
    pub dilation: f64,
}

impl<T> Simulated<T> {
    /// The time at which the last node's program ended.
    #[must_use]
    pub fn time(&self) -> Time {
        self.times.iter().copied().max().unwrap_or_default()
    }
}

impl Simulation {
    /// `nodes` nodes of `platform`.
    ///
    /// # Errors
    /// [`Error::Start`] if the machine cannot have that many nodes.
    pub fn new(platform: &SimulatedMachine, nodes: usize) -> Result<Self, Error> {
        strata_sim::topology::Graph::new(platform, nodes)
            .map_err(|error| Error::Start { transport: "sim", reason: error.to_string() })?;
        let platform = Arc::new(platform.clone());
        let setup = sim::Setup {
            platform,
            nodes,
            seed: 1,
            steps: STEPS,
            kernels: sim::Kernels::built_in(),
            computing: Computing::Kernels,
            disturbed: false,
        };
        Ok(Self { setup, prints_network: false })
    }

    /// What `STRATA_ON=sim:MACHINE:NODES,OPTION=VALUE,…` names, by what follows `sim:`.
    ///
    /// # Errors
    /// A sentence that names the fault.
    pub(crate) fn named(machine: Option<&str>, options: Option<&str>) -> Result<Self, String> {
        let machine = machine.ok_or("which machine? as in sim:cm5:64")?;
        let (name, nodes) = machine.rsplit_once(':').ok_or("how many nodes? as in sim:cm5:64")?;
        let number = |text: &str| match text.parse() {
            Ok(number @ 1..=MOST_NODES) => Ok(number),
            _ => Err(format!("`{text}` is not a number of nodes")),
        };
        let mut platform = SimulatedMachine::find(name).map_err(|error| error.to_string())?;
        let nodes = match nodes.split_once('x') {
            Some((hosts, each)) => {
                let (hosts, each): (usize, usize) = (number(hosts)?, number(each)?);
                platform =
                    platform.with_hosts_of(each).ok_or_else(|| format!("`{name}` has no table `[host]`"))?;
                hosts * each
            }
            None => number(nodes)?,
        };
        let simulation = Self::new(&platform, nodes).map_err(|error| error.to_string())?;
        match options {
            Some(options) => simulation.with_options(options),
            None => Ok(simulation),
        }
    }

    #[cfg(test)]
    pub(crate) fn setup(&self) -> sim::Setup {
        self.setup.clone()
    }

    /// Sets the seed of the network's random choices, such as the paths up a fat tree; initially 1.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.setup.seed = seed;
        self
    }

    /// Sets the steps, of nodes and of the network, after which the simulation is stopped: for
    /// programs that may never end.
    #[must_use]
    pub fn steps(mut self, steps: u64) -> Self {
        self.setup.steps = steps;
        self
    }

    /// Replaces the built-in kernels (see [`Work::Kernel`](crate::Work::Kernel)).
    ///
    /// # Errors
    /// [`Error::Start`] if a model of the set cannot be evaluated.
    pub fn kernels(mut self, set: &ModelSet) -> Result<Self, Error> {
        let kernels = sim::Kernels::new(set)
            .map_err(|error| Error::Start { transport: "sim", reason: format!("kernels: {error}") })?;
        self.setup.kernels = Arc::new(kernels);
        Ok(self)
    }

    /// Sets the source of the time of local work, and whether the work is executed.
    #[must_use]
    pub fn computing(mut self, computing: Computing) -> Self {
        self.setup.computing = computing;
        self
    }

    /// Simulates the interruptions of the machine's operating system as its platform defines them:
    /// timer interrupts at random phases, which depend on the seed, and time slices, which lengthen
    /// all times by [`Simulated::dilation`]. Without it times are those of undisturbed
    /// measurements.
    ///
    /// ```
    /// use strata_runtime::{prelude::*, simulation::SimulatedMachine};
    ///
    /// let cm5 = SimulatedMachine::find("cm5")?;
    /// let run = Machine::sim(&cm5, 1)?.disturbed(true).run(|node| {
    ///     node.compute(33e6, || ());                          // a second
    ///     Ok(node.now())
    /// })?;
    /// // 60 interrupts of 30 µs.
    /// assert!((run.results[0].get() - 1.0018).abs() < 1e-4);
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn disturbed(mut self, disturbed: bool) -> Self {
        self.setup.disturbed = disturbed;
        self
    }

    /// Applies the options of `STRATA_ON`, such as `seed=2,disturbed=1`. The error describes the
    /// fault.
    pub(crate) fn with_options(mut self, options: &str) -> Result<Self, String> {
        let mut given = BTreeSet::new();
        for option in options.split(',') {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            if !given.insert(name) {
                return Err(format!("`{name}` is given twice"));
            }
            self.apply(name, value)?;
        }
        Ok(self)
    }

    fn apply(&mut self, name: &str, value: &str) -> Result<(), String> {
        let wrong = |what: &str| format!("`{name}={value}`: {what}");
        let number = || value.parse().map_err(|_| wrong("it is a whole number below 2^64"));
        let switch = || match value {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(wrong("it is 0 or 1")),
        };
        let setup = &mut self.setup;
        match name {
            "computing" => {
                setup.computing = match value {
                    "kernels" => Computing::Kernels,
                    "measured" => Computing::Measured,
                    "skeleton" => Computing::Skeleton,
                    _ => return Err(wrong("it is kernels, measured or skeleton")),
                };
            }
            "disturbed" => setup.disturbed = switch()?,
            "kernels" => {
                let text = std::fs::read_to_string(value).map_err(|error| wrong(&error.to_string()))?;
                let set = ModelSet::read(&text).map_err(|error| wrong(&error.to_string()))?;
                setup.kernels = Arc::new(sim::Kernels::new(&set).map_err(|error| wrong(&error.to_string()))?);
            }
            "network" => self.prints_network = switch()?,
            "seed" => setup.seed = number()?,
            "steps" => setup.steps = number()?,
            _ => {
                let meant = closest(name, OPTIONS).map(|meant| format!(" (did you mean `{meant}`?)"));
                let (meant, all) = (meant.unwrap_or_default(), OPTIONS.join(", "));
                return Err(format!("there is no option `{name}`{meant}; the options are {all}"));
            }
        }
        Ok(())
    }

    /// Runs `program` on every node.
    ///
    /// `STRATA_LOG` and `STRATA_TRACE` select the observation (see [`develop`](crate::develop));
    /// logs and traces show simulated time.
    ///
    /// # Errors
    /// The first failure of any node, as [`Error::Node`]; a deadlock is one, and so is exceeding
    /// the allowed [steps](Self::steps).
    pub fn run<T: Send>(
        &self,
        program: impl Fn(&mut Node) -> Result<T, Error> + Sync,
    ) -> Result<Simulated<T>, Error> {
        self.run_by(|settings| Development::from_settings(settings), program)
    }

    /// As [`run`](Self::run), with this observation, regardless of the environment.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_with<T: Send>(
        &self,
        development: &Development,
        program: impl Fn(&mut Node) -> Result<T, Error> + Sync,
    ) -> Result<Simulated<T>, Error> {
        self.run_by(|_| Ok(development.clone()), program)
    }

    /// As [`run`](Self::run), with all-to-alls tuned in this mode, as
    /// [`Machine::run_tuned`](crate::Machine::run_tuned) tunes them.
    ///
    /// # Errors
    /// As [`Machine::run_tuned`](crate::Machine::run_tuned).
    #[cfg(feature = "tune")]
    pub fn run_tuned<T: Send>(
        &self,
        options: &strata_tune::Options,
        program: impl Fn(&mut Node) -> Result<T, Error> + Sync,
    ) -> Result<Simulated<T>, Error> {
        let development = |settings: &mut Settings| {
            settings.tuning = Some(options.clone());
            Development::from_settings(settings)
        };
        self.run_by(development, program)
    }

    pub(crate) fn run_by<T: Send>(
        &self,
        development: impl Fn(&mut Settings) -> Result<Development, Error>,
        program: impl Fn(&mut Node) -> Result<T, Error> + Sync,
    ) -> Result<Simulated<T>, Error> {
        let nodes = self.setup.nodes;
        let mut settings = Settings::of_this_process(self.platform());
        let mut development = development(&mut settings)?;
        let settings = Arc::new(settings);
        // No watchdog: deadlocks are detected without one, and its limit is in seconds of this
        // host.
        development.watchdog = None;
        let job = Job::new(0, nodes, HostClock::start(true), development, &settings);
        let found =
            sim::run(&self.setup, |transport| job.run_node(&program, transport, Arc::clone(&settings)))?;
        let sim::Outcome { results, times, network, hash, steps, dilation } = found;
        if self.prints_network {
            say!("{}", network.to_string().trim_end());
        }
        Ok(Simulated { results, times, network, hash, steps, dilation })
    }

    /// The platform for which models are valid: the simulated machine, not the host.
    fn platform(&self) -> strata_model::platform::Platform {
        let sim::Setup { platform, nodes, seed, .. } = &self.setup;
        strata_model::platform::Platform {
            transport: format!("sim:{}", platform.name),
            nodes: *nodes,
            hosts: platform.host.map(|_| Hosts::known(platform.hosts(*nodes))),
            cpu: format!("{} sha256={} seed={seed}", platform.name, &platform.sha256),
            cores: 1,
            cache: String::new(),
            os: "simulated".to_owned(),
            arch: "simulated".to_owned(),
        }
    }
}
