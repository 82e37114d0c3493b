//! Machines: the number of nodes, the transport, and starting a program there.

use crate::clock::HostClock;
use crate::develop::Development;
use crate::error::Error;
use crate::job::Job;
use crate::node::Node;
use crate::settings::Settings;
#[cfg(feature = "sim")]
use crate::simulation::{SimulatedMachine, Simulation};
use crate::transport::threads;
#[cfg(feature = "mpi")]
use crate::transport::{Action, Call, Endpoint, mpi};
use std::str::FromStr;
use std::sync::Arc;
#[cfg(feature = "mpi")]
use strata_model::Platform;
use strata_model::platform::mpi_processes;
#[cfg(feature = "mpi")]
use strata_model::platform::of_mpi_library;

/// The machine on which a program runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine(Backend);

#[derive(Clone, Debug, PartialEq)]
enum Backend {
    Threads(usize),
    #[cfg(feature = "sim")]
    Sim(Simulation),
    #[cfg(feature = "mpi")]
    Mpi,
}

impl Machine {
    /// `nodes` nodes, each a thread of this process.
    ///
    /// There may be more nodes than cores: waiting nodes then yield.
    ///
    /// # Errors
    /// [`Error::Nodes`] unless `nodes` is 1 to 1024.
    pub fn threads(nodes: usize) -> Result<Self, Error> {
        if nodes == 0 || nodes > threads::MOST {
            return Err(Error::Nodes { asked: nodes, most: threads::MOST });
        }
        Ok(Self(Backend::Threads(nodes)))
    }

    /// `nodes` nodes of a simulated machine; see [`Simulation`].
    ///
    /// # Errors
    /// [`Error::Start`] if the machine cannot have that many nodes.
    #[cfg(feature = "sim")]
    pub fn sim(platform: &SimulatedMachine, nodes: usize) -> Result<Simulation, Error> {
        Simulation::new(platform, nodes)
    }

    /// The MPI job that this process belongs to: one node a process. Without `mpirun` that is a job
    /// of one node.
    #[cfg(feature = "mpi")]
    #[must_use]
    pub fn mpi() -> Self {
        Self(Backend::Mpi)
    }

    /// The processes of a communicator, one node each, for a program that has initialised MPI
    /// itself.
    ///
    /// ```no_run
    /// use strata_runtime::prelude::*;
    /// # fn main() -> Result<(), Error> {
    /// # let universe = mpi::initialize().ok_or_else(|| Error::program("MPI is initialised already"))?;
    /// # let communicator = universe.world();
    /// let nodes = Machine::on_communicator(&communicator)?;
    /// let sum = nodes.run(|node| Ok(node.reduce_add(1u64)))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Participation
    /// Collective over the communicator, which is duplicated: messages of the program do not
    /// interfere with those of the nodes. Dropping the returned value is collective, too, and must
    /// be done before MPI ends.
    ///
    /// # Errors
    /// [`Error::Start`] if MPI is not initialised, this is not the thread that may call it, or the
    /// communicator is an intercommunicator.
    #[cfg(feature = "mpi")]
    pub fn on_communicator(
        communicator: &impl ::mpi::raw::AsRaw<Raw = ::mpi::ffi::MPI_Comm>,
    ) -> Result<MpiNodes, Error> {
        let start = |reason| Error::Start { transport: "mpi", reason };
        Ok(MpiNodes(mpi::Adopted::new(communicator.as_raw()).map_err(start)?))
    }

    /// The machine selected by the command that started this process: MPI under `mpirun` (with the
    /// feature `mpi`), otherwise that of `STRATA_ON`, for example `threads:4` or `sim:cm5:64`,
    /// otherwise one thread for each core. `STRATA_ON=mpi` is MPI also under a launcher that sets
    /// none of the variables by which it is recognised (those of Open MPI, of MPICH and its kin, of
    /// `jsrun`, and of Slurm for several processes).
    ///
    /// `sim:FILE:2x8` is 8 nodes on each of 2 hosts, of a platform with a table `[host]`.
    ///
    /// A simulated machine takes options, as in `sim:cm5:64,seed=2,disturbed=1`:
    ///
    /// | option | what it sets |
    /// |---|---|
    /// | `computing=kernels`, `measured` or `skeleton` | [`Simulation::computing`] |
    /// | `disturbed=1` or `0` | [`Simulation::disturbed`] |
    /// | `kernels=FILE` | [`Simulation::kernels`], from a model set |
    /// | `network=1` or `0` | whether the busiest links are printed at the end, on standard error |
    /// | `seed=N` | [`Simulation::seed`] |
    /// | `steps=N` | [`Simulation::steps`] |
    ///
    /// # Errors
    /// [`Error::On`] if `STRATA_ON` names no machine; [`Error::Start`] under `mpirun` if the
    /// feature is disabled and `STRATA_ON` is not set.
    pub fn from_env() -> Result<Self, Error> {
        let on = std::env::var_os("STRATA_ON");
        // A shell inside a job of Slurm has the job's variables, too, but not those of a library.
        #[cfg(feature = "mpi")]
        if of_mpi_library().is_some() || on.is_none() && mpi_processes().is_some() {
            return Ok(Self::mpi());
        }
        match on {
            Some(value) => value.to_string_lossy().parse(),
            None if mpi_processes().is_some_and(|processes| processes > 1) => Err(Error::Start {
                transport: "mpi",
                reason: "this program was built without it; build it with `--features mpi`".to_owned(),
            }),
            None => {
                let cores = std::thread::available_parallelism().map_or(1, usize::from);
                Self::threads(cores.min(threads::MOST))
            }
        }
    }

    /// Runs `program` on every node; returns the results by rank. On MPI each process gets only the
    /// result of its own node.
    ///
    /// `STRATA_LOG`, `STRATA_TRACE` and `STRATA_WATCHDOG` select the observation of the job (see
    /// [`develop`](crate::develop)).
    ///
    /// # Errors
    /// The first failure of any node, as [`Error::Node`]; it has ended the program on all of them.
    /// On MPI it is not returned: it is printed on standard error, and the job's processes end.
    /// [`Error::Setting`] for an invalid time.
    pub fn run<T: Send>(
        &self,
        program: impl Fn(&mut Node) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        self.run_by(|settings| Development::from_settings(settings), program)
    }

    /// As [`run`](Self::run), with the run-time's own puts, whole collectives and all-to-alls tuned
    /// in this mode, regardless of `STRATA_TUNE`; the program is not changed for it.
    ///
    /// At each place of the program that makes such a call, and for each class of sizes, the
    /// transport may have several ways to do it, all with the same result to the last bit. The loops
    /// of the program are found and timed while it runs, and another way than the usual is adopted
    /// only if it is significantly faster. A put is tuned by its sender, a collective by all nodes
    /// alike: they agree now and then, after a collective, in a hundredth of the time. If nodes make
    /// their collectives at different places, collectives are not tuned, and a line says so.
    ///
    /// Results are kept in files beside that of the mode (`FILE.calls.json`, `FILE.puts-RANK.json`),
    /// or in the user's cache folder. Programs of a simulated machine choose the schedules of their
    /// all-to-alls only.
    ///
    /// # Errors
    /// As [`run`](Self::run), and if an option is outside its range or a file cannot be read.
    #[cfg(feature = "tune")]
    pub fn run_tuned<T: Send>(
        &self,
        options: &strata_tune::Options,
        program: impl Fn(&mut Node) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        let development = |settings: &mut Settings| {
            settings.tuning = Some(options.clone());
            Development::from_settings(settings)
        };
        self.run_by(development, program)
    }

    /// As [`run`](Self::run), with this observation, regardless of the environment.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_with<T: Send>(
        &self,
        development: &Development,
        program: impl Fn(&mut Node) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        self.run_by(|_| Ok(development.clone()), program)
    }

    fn run_by<T: Send>(
        &self,
        development: impl Fn(&mut Settings) -> Result<Development, Error>,
        program: impl Fn(&mut Node) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        match &self.0 {
            #[cfg(feature = "sim")]
            Backend::Sim(simulation) => Ok(simulation.run_by(development, program)?.results),
            &Backend::Threads(nodes) => {
                let mut settings =
                    Settings::of_this_process(strata_model::Platform::detect("threads", nodes));
                let development = development(&mut settings)?;
                let (settings, clock) = (Arc::new(settings), HostClock::start(true));
                let job = Job::new(0, nodes, clock, development, &settings);
                threads::run(nodes, |transport| job.run_node(&program, transport, Arc::clone(&settings)))
            }
            #[cfg(feature = "mpi")]
            Backend::Mpi => {
                let result =
                    mpi::run(|transport, hosts| run_process(&development, &program, transport, hosts))?;
                Ok(vec![result])
            }
        }
    }
}

impl FromStr for Machine {
    type Err = Error;

    /// Reads a value of `STRATA_ON`, such as `threads:4`; see
    /// [`from_env`](Self::from_env).
    fn from_str(value: &str) -> Result<Self, Error> {
        let wrong = |reason: String| Error::On { value: value.to_owned(), reason };
        let (machine, options) =
            value.split_once(',').map_or((value, None), |(machine, options)| (machine, Some(options)));
        let (transport, rest) =
            machine.split_once(':').map_or((machine, None), |(name, rest)| (name, Some(rest)));
        match (transport, rest) {
            ("threads", Some(nodes)) => {
                let nodes =
                    nodes.parse().map_err(|_| wrong(format!("`{nodes}` is not a number of nodes")))?;
                if let Some(options) = options {
                    return Err(wrong(format!("threads take no options, and here is `{options}`")));
                }
                Self::threads(nodes).map_err(|error| wrong(error.to_string()))
            }
            ("threads", None) => Err(wrong("how many threads?".to_owned())),
            #[cfg(feature = "sim")]
            ("sim", rest) => Ok(Self(Backend::Sim(Simulation::named(rest, options).map_err(wrong)?))),
            #[cfg(not(feature = "sim"))]
            ("sim", _) => Err(wrong(
                "build the program with the feature `sim` of strata-runtime, a profiling program with `--features sim`".to_owned(),
            )),
            #[cfg(feature = "mpi")]
            ("mpi", None) if options.is_none() => Ok(Self::mpi()),
            #[cfg(not(feature = "mpi"))]
            ("mpi", None) => Err(wrong("build the program with `--features mpi`".to_owned())),
            ("mpi", _) => Err(wrong("the launcher is told how many processes: set STRATA_ON=mpi".to_owned())),
            _ => Err(wrong(format!("there is no transport `{transport}`: it is `threads`, `sim` or `mpi`"))),
        }
    }
}

/// Nodes of a program that has initialised MPI itself; see [`Machine::on_communicator`].
#[cfg(feature = "mpi")]
#[derive(Debug)]
pub struct MpiNodes(mpi::Adopted);

#[cfg(feature = "mpi")]
impl MpiNodes {
    /// Runs `program` on this process's node; returns when the programs of all nodes have ended. It
    /// may be called repeatedly.
    ///
    /// # Participation
    /// Collective over the communicator.
    ///
    /// # Errors
    /// As [`Machine::run`]: a node's failure is printed on standard error and ends the whole MPI
    /// job.
    pub fn run<T>(&self, program: impl FnOnce(&mut Node) -> Result<T, Error>) -> Result<T, Error> {
        let program = std::cell::Cell::new(Some(program));
        let once = |node: &mut Node| match program.take() {
            Some(program) => program(node),
            None => Err(Error::program("a program began twice")),
        };
        mpi::run_on(&self.0, |transport, hosts| {
            run_process(
                &|settings: &mut Settings| Development::from_settings(settings),
                &once,
                transport,
                hosts,
            )
        })
    }

    /// Begins a program that keeps its node: as a field of a solver, beside its [halos]. Its calls
    /// are those of a node in [`run`](Self::run), but for errors, which return and end nothing: one
    /// that other nodes do not see ends the job by [`MpiNode::fail`].
    ///
    /// # Participation
    /// Collective over the communicator, as is dropping the node before MPI ends, which waits until
    /// the others have dropped theirs. A panic that drops it ends the job.
    ///
    /// # Errors
    /// [`Error::Start`] if a program runs on this process already, and errors in the settings.
    ///
    /// [halos]: https://docs.rs/strata-stencil
    pub fn into_node(self) -> Result<MpiNode, Error> {
        let (mut transport, hosts, begun) = mpi::begin_on(&self.0)?;
        let development = |settings: &mut Settings| Development::from_settings(settings);
        let node = job_of_process(&development, &mut *transport, hosts)
            .and_then(|(job, settings)| Ok((job.begin(transport, settings)?, job)));
        match node {
            Ok((node, job)) => Ok(MpiNode { begun: Some((node, begun)), _job: job, _nodes: self }),
            // Errors in the settings are equal on all nodes, but those of files are not.
            Err(error) => begun.die(error),
        }
    }
}

/// This process's node, which its program keeps, for example as a field of a solver; see
/// [`MpiNodes::into_node`].
#[cfg(feature = "mpi")]
pub struct MpiNode {
    /// Until it is dropped.
    begun: Option<(Node, mpi::Begun)>,
    _job: Job,
    _nodes: MpiNodes,
}

#[cfg(feature = "mpi")]
impl MpiNode {
    /// Ends the job on all nodes, with this message and this node's rank.
    pub fn fail(mut self, error: impl std::fmt::Display) -> ! {
        match self.begun.take() {
            Some((node, begun)) => {
                node.notes().end(strata_develop::log::What::Fail(&error));
                begun.die(error)
            }
            None => unreachable!("only a drop takes it"),
        }
    }
}

#[cfg(feature = "mpi")]
impl std::ops::Deref for MpiNode {
    type Target = Node;

    fn deref(&self) -> &Node {
        self.begun.as_ref().map_or_else(|| unreachable!("only a drop takes it"), |(node, _)| node)
    }
}

#[cfg(feature = "mpi")]
impl std::ops::DerefMut for MpiNode {
    fn deref_mut(&mut self) -> &mut Node {
        self.begun.as_mut().map_or_else(|| unreachable!("only a drop takes it"), |(node, _)| node)
    }
}

#[cfg(feature = "mpi")]
impl Drop for MpiNode {
    fn drop(&mut self) {
        let Some((mut node, begun)) = self.begun.take() else { return };
        if !mpi::is_initialised() {
            strata_select::say!(
                "strata: a node is dropped after the end of MPI; drop it before the universe"
            );
            // What it has belongs to a library that has gone.
            std::mem::forget((node, begun));
            return;
        }
        if std::thread::panicking() {
            // The others would wait for a node that never leaves.
            begun.die("panicked");
        }
        Job::end(&mut node);
        node.notes().finish();
        drop(node);
        begun.end();
    }
}

/// Node 0's settings, the job of this process, and the settings as its node has them.
#[cfg(feature = "mpi")]
fn job_of_process(
    development: &impl Fn(&mut Settings) -> Result<Development, Error>,
    transport: &mut dyn Endpoint,
    hosts: usize,
) -> Result<(Job, Arc<Settings>), Error> {
    let mut settings = settings_of_node_0(transport, hosts);
    let development = development(&mut settings)?;
    let clock = mpi::simulated_clock().map_or_else(|| HostClock::start(false), HostClock::simulated);
    Ok((Job::new(transport.rank(), 1, clock, development, &settings), Arc::new(settings)))
}

/// Runs the program of this process's node.
#[cfg(feature = "mpi")]
fn run_process<T>(
    development: &impl Fn(&mut Settings) -> Result<Development, Error>,
    program: &impl Fn(&mut Node) -> Result<T, Error>,
    mut transport: Box<dyn Endpoint>,
    hosts: usize,
) -> Result<T, Error> {
    let (job, settings) = job_of_process(development, &mut *transport, hosts)?;
    job.run_node(program, transport, settings)
}

/// Node 0's settings, on every node of a job whose nodes have separate environments.
#[cfg(feature = "mpi")]
fn settings_of_node_0(endpoint: &mut dyn Endpoint, hosts: usize) -> Settings {
    let nodes = endpoint.size();
    let platform = match mpi::simulated_clock().and_then(|_| std::env::var_os("SMPI_PLATFORM")) {
        // SMPI has read the file, so it is there.
        Some(file) => Platform::smpi(file.as_ref(), nodes, hosts).ok(),
        None => None,
    };
    let platform = platform.unwrap_or_else(|| Platform {
        hosts: (hosts > 1).then(|| strata_model::Hosts::known(hosts)),
        ..Platform::detect("mpi", nodes)
    });
    let own = Settings::of_this_process(platform);
    // Node 0 alone looks for kept timings.
    let mut text = if endpoint.rank() == 0 { own.to_text().into_bytes() } else { Vec::new() };
    let place = std::panic::Location::caller();
    let mut length = text.len() as u64;
    let call = Call::moving(Action::Broadcast, 8, 0, 1, place);
    endpoint.broadcast(call, 0, bytemuck::bytes_of_mut(&mut length));
    text.resize(usize::try_from(length).unwrap_or(0), 0);
    endpoint.broadcast(Call::moving(Action::Broadcast, 1, 0, text.len(), place), 0, &mut text);
    Settings::from_text(&String::from_utf8_lossy(&text)).unwrap_or(own)
}

/// Runs `program` on the machine selected by the command that started this process (see
/// [`Machine::from_env`]), and returns the result of node 0.
///
/// Under `mpirun` every process calls this and only node 0's receives `Some`, so that its result is
/// printed once.
///
/// ```
/// use strata_runtime::prelude::*;
/// fn main() -> Result<(), Error> {
///     if let Some(nodes) = launch(|node| Ok(node.reduce_add(1u32)))? {
///         println!("{nodes} nodes");
///     }
///     Ok(())
/// }
/// ```
///
/// # Errors
/// As [`Machine::from_env`] and [`Machine::run`].
pub fn launch<T: Send>(program: impl Fn(&mut Node) -> Result<T, Error> + Sync) -> Result<Option<T>, Error> {
    let results = Machine::from_env()?.run(|node| Ok((node.rank(), program(node)?)))?;
    Ok(results.into_iter().find_map(|(rank, result)| (rank == 0).then_some(result)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Computing;

    #[test]
    fn strata_on_is_read_or_explained() {
        assert_eq!("threads:4".parse::<Machine>().unwrap(), Machine(Backend::Threads(4)));
        assert_eq!("sim:cm5:64".parse::<Machine>().unwrap().run(|node| Ok(node.size())).unwrap(), [64; 64]);
        let refused = |value: &str| value.parse::<Machine>().unwrap_err().to_string();
        assert!(refused("sim:cm5:many").contains("`many` is not a number of nodes"));
        assert!(refused("sim:ipsc860:5").contains("5 nodes do not fit a hypercube: take 4 or 8"));
        assert!(refused("sim:cm6:4").contains("cm6") && refused("sim:cm6:4").contains("cm5"));
        assert!(refused("sim:/nowhere/mine.toml:4").contains("/nowhere/mine.toml"));
        let help = "; set for example STRATA_ON=threads:4 or STRATA_ON=sim:cm5:64,seed=2";
        for (value, message) in [
            ("threads:0", "STRATA_ON=threads:0: cannot run on 0 nodes: ask for 1 to 1024"),
            ("threads:99999", "STRATA_ON=threads:99999: cannot run on 99999 nodes: ask for 1 to 1024"),
            ("threads:", "STRATA_ON=threads:: `` is not a number of nodes"),
            ("threads:-1", "STRATA_ON=threads:-1: `-1` is not a number of nodes"),
            ("threads", "STRATA_ON=threads: how many threads?"),
            (
                "thread:4",
                "STRATA_ON=thread:4: there is no transport `thread`: it is `threads`, `sim` or `mpi`",
            ),
            ("sim:cm5", "STRATA_ON=sim:cm5: how many nodes? as in sim:cm5:64"),
            ("sim", "STRATA_ON=sim: which machine? as in sim:cm5:64"),
            ("", "STRATA_ON=: there is no transport ``: it is `threads`, `sim` or `mpi`"),
        ] {
            assert_eq!(value.parse::<Machine>().unwrap_err().to_string(), format!("{message}{help}"));
        }
    }

    #[test]
    fn options_of_simulated_machines_are_read() {
        let of = |value: &str| match value.parse::<Machine>().unwrap().0 {
            Backend::Sim(simulation) => simulation,
            other => panic!("{other:?}"),
        };
        let cm5 = SimulatedMachine::find("cm5").unwrap();
        let plain = Machine::sim(&cm5, 64).unwrap();
        assert_eq!(of("sim:cm5:64"), plain);
        assert_eq!(of("sim:cm5:64,seed=18446744073709551615"), plain.clone().seed(u64::MAX));
        assert_eq!(
            of("sim:cm5:64,steps=7,disturbed=1,seed=3,computing=skeleton"),
            plain.clone().seed(3).steps(7).disturbed(true).computing(Computing::Skeleton)
        );
        assert_eq!(of("sim:cm5:64,disturbed=0,network=0,computing=kernels"), plain);
        assert_eq!(of("sim:cm5:64,computing=measured"), plain.clone().computing(Computing::Measured));
        assert_ne!(of("sim:cm5:64,network=1"), plain);
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/own-library/models/models.toml");
        assert_ne!(of(&format!("sim:cm5:64,kernels={file}")), plain);
    }

    #[test]
    fn wrong_options_are_refused_with_the_possible_ones() {
        let all = "the options are computing, disturbed, kernels, network, seed, steps";
        let unknown = |name: &str, meant: &str| format!("there is no option `{name}`{meant}; {all}");
        for (options, reason) in [
            ("sed=3", unknown("sed", " (did you mean `seed`?)")),
            ("compute=skeleton", unknown("compute", " (did you mean `computing`?)")),
            ("colour=red", unknown("colour", "")),
            ("", unknown("", "")),
            ("seed=3,", unknown("", "")),
            ("seed =3", unknown("seed ", " (did you mean `seed`?)")),
            ("SEED=3", unknown("SEED", " (did you mean `seed`?)")),
            ("seed", "`seed=`: it is a whole number below 2^64".to_owned()),
            ("disturbed", "`disturbed=`: it is 0 or 1".to_owned()),
            ("kernels=", "`kernels=`: No such file".to_owned()),
            ("seed=1,steps=2,seed=1", "`seed` is given twice".to_owned()),
            ("seed=x", "`seed=x`: it is a whole number below 2^64".to_owned()),
            ("seed=-1", "`seed=-1`: it is a whole number below 2^64".to_owned()),
            ("steps=18446744073709551616", "`steps=18446744073709551616`: it is a whole".to_owned()),
            ("disturbed=yes", "`disturbed=yes`: it is 0 or 1".to_owned()),
            ("network=2", "`network=2`: it is 0 or 1".to_owned()),
            ("computing=fast", "`computing=fast`: it is kernels, measured or skeleton".to_owned()),
        ] {
            let error = format!("sim:cm5:64,{options}").parse::<Machine>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("STRATA_ON=sim:cm5:64,{options}: {reason}")), "{error}");
        }
        let refused = |value: &str| value.parse::<Machine>().unwrap_err().to_string();
        let missing = refused("sim:cm5:64,kernels=/nowhere/models.toml");
        assert!(missing.contains("`kernels=/nowhere/models.toml`: No such file"), "{missing}");
        let none = concat!("sim:cm5:64,kernels=", env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert!(refused(none).contains("Cargo.toml`: "), "{}", refused(none));
        assert!(refused("threads:4,seed=3").contains("threads take no options, and here is `seed=3`"));
        assert!(refused("threads:4,").contains("threads take no options, and here is ``"));
        assert!(refused("sim:cm5,seed=3").contains("how many nodes?"));
    }
}
