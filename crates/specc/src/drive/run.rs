//! Runs a profiling program on its machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use strata_model::{Seconds, count};

use super::child::{self, Line, Reach};
use super::compiler::in_spec;
use super::progress::Status;
use super::{DriveError, Interrupt, On, Program, RunOptions, smpi};
use crate::emit::Emitted;

/// What Open MPI needs to run as root and on fewer cores than nodes. Other MPIs ignore it.
const OPEN_MPI: [(&str, &str); 6] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ("OMPI_MCA_osc", "sm"),
    // Lets a program name algorithms of collectives; without that nothing changes.
    ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"),
];

/// Whether processes of Open MPI that wait yield their core: otherwise nodes that share a core wait
/// out each other's time slices, and where each has its own, a yield makes a message several times
/// as long.
const YIELD: &str = "OMPI_MCA_mpi_yield_when_idle";

/// Runs the program and returns the samples file it has written.
///
/// # Errors
/// Wrong options, a program that failed ([`DriveError::Run`], with its message, places given in the
/// spec), Ctrl-C. What was measured until then lies beside the samples file under the name with
/// `.partial`.
pub fn profile(program: &Program, emitted: &Emitted, options: &RunOptions) -> Result<PathBuf, DriveError> {
    options.check()?;
    if options.on != program.on {
        let message = format!("the program was built for --on {}, not --on {}", program.on, options.on);
        return Err(DriveError::Usage { message });
    }
    if let Some(folder) = options.output.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|source| DriveError::File {
            what: "cannot make the folder",
            path: folder.to_owned(),
            source,
        })?;
    }
    let interrupt = Interrupt::listen();
    let mut status = Status::spinner(&title(emitted, options));
    let mut message = String::new();
    let mut command = command(program, options)?;
    let told = interrupt.count();
    let end = child::run(&mut command, Reach::Child, interrupt, |line| match line {
        Line::Out(text) => {
            if !status.machine(&text) {
                status.say(&in_spec(&text, emitted));
            }
        }
        Line::Err(text) => {
            let text = in_spec(&text, emitted);
            // Text after `error:` becomes part of the returned error, once for all processes.
            if let Some(first) = text.strip_prefix("error: ") {
                if message.lines().any(|line| line == first) {
                    return;
                }
                if !message.is_empty() {
                    message.push('\n');
                }
                message += first;
            } else if message.is_empty() || interrupt.count() > told {
                status.say(&text);
            } else {
                message.push('\n');
                message += &text;
            }
        }
    });
    status.done("");
    let end = end.map_err(|error| start_error(&command, &error))?;
    let message = message.trim_end().to_owned();
    match end.status.code() {
        Some(0) => Ok(options.output.clone()),
        _ if end.interrupted => Err(DriveError::Interrupted { help: kept(&options.output) }),
        Some(130) => Err(DriveError::Interrupted { help: kept(&options.output) }),
        Some(1) if !message.is_empty() => Err(DriveError::Fault { message }),
        _ => Err(DriveError::Run {
            status: end.status.to_string(),
            message: if message.is_empty() { "it said nothing more".to_owned() } else { message },
            help: match (&options.on, options.hosts) {
                (On::Mpi, Some(hosts)) => format!(
                    "{} was asked for {} on each of {hosts} hosts, which an allocation or its host file must \
                     name; {}",
                    launcher().display(),
                    count(options.nodes / hosts.max(1), "node", "nodes"),
                    kept(&options.output)
                ),
                _ => kept(&options.output),
            },
        }),
    }
}

/// What is done, and for how long at most.
fn title(emitted: &Emitted, options: &RunOptions) -> String {
    let most = options.budget.and_then(Seconds::new);
    let most = most.map_or(String::new(), |most| format!(", for {most} at most"));
    match &options.part {
        Some(part) => format!("{part}{most}"),
        None => format!("profiling {} on {}{most}", emitted.spec.path, count(options.nodes, "node", "nodes")),
    }
}

/// The command that runs a program with so many nodes, evenly on so many hosts if they are given;
/// its arguments follow.
pub(super) fn job(program: &Program, nodes: usize, hosts: Option<usize>) -> Result<Command, DriveError> {
    let mut command = match &program.on {
        On::Mpi => {
            let mut command = mpi_job(nodes);
            if let Some(hosts) = hosts {
                command.args(placing(nodes / hosts.max(1)));
            }
            command.arg(&program.executable);
            command
        }
        On::Smpi { platform } => smpi::job(platform, nodes, hosts, &program.executable)?,
        On::Threads | On::Sim { .. } => Command::new(&program.executable),
    };
    match program.on.variable(nodes, hosts) {
        Some(on) => command.env("STRATA_ON", on),
        None => command.env_remove("STRATA_ON"),
    };
    Ok(command)
}

fn command(program: &Program, options: &RunOptions) -> Result<Command, DriveError> {
    let mut command = job(program, options.nodes, options.hosts)?;
    command
        .envs(options.settings.iter().map(|(name, value)| (name, value)))
        .args(["--progress", "--end-with-stdin"])
        .arg("--output")
        .arg(&options.output)
        .arg("--plan")
        .arg(&options.plan);
    if let Some(budget) = options.budget {
        command.arg("--budget").arg(format!("{budget}s"));
    }
    if let Some(precision) = options.precision {
        command.arg("--precision").arg(format!("{}%", 100.0 * precision));
    }
    if let Some(most) = options.most {
        command.arg("--most").arg(most.to_string());
    }
    if options.resume {
        command.arg("--resume");
    }
    if options.part.is_some() {
        command.arg("--part");
    }
    Ok(command)
}

/// The command of a job with so many processes, with what Open MPI needs in its environment; the
/// program and its arguments follow.
#[must_use]
pub fn mpi_job(processes: usize) -> Command {
    let mut command = Command::new(launcher());
    command.arg("-n").arg(processes.to_string());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let yields = if processes > cores { "1" } else { "0" };
    let settings = OPEN_MPI.iter().copied().chain([(YIELD, yields)]);
    command.envs(settings.filter(|(name, _)| std::env::var_os(name).is_none()));
    command
}

/// The arguments by which the launcher places so many processes on each host.
fn placing(each: usize) -> Vec<String> {
    if mpi_launcher().contains("Open MPI") || mpi_launcher().contains("OpenRTE") {
        vec!["--map-by".to_owned(), format!("ppr:{each}:node")]
    } else {
        vec!["-ppn".to_owned(), each.to_string()]
    }
}

/// The command that starts MPI jobs: `STRATA_MPIRUN`, else `mpirun`.
fn launcher() -> OsString {
    std::env::var_os("STRATA_MPIRUN").filter(|name| !name.is_empty()).unwrap_or_else(|| "mpirun".into())
}

/// How processes of MPI jobs are started, in words: of several libraries the first on the path may
/// not be the one that programs are linked with.
#[must_use]
pub fn mpi_launcher() -> String {
    let name = launcher();
    let name = Path::new(&name);
    let found = name.components().count() > 1;
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let place = std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| path.is_file());
    let place = if found { Some(name.to_owned()) } else { place };
    let place = place.map_or_else(|| name.display().to_string(), |place| place.display().to_string());
    let said = Command::new(name).arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    // MPICH's first line has no version, its second one has.
    let of = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = said.lines().take(2).map(of).filter(|line| !line.is_empty()).collect();
    let version = match &lines[..] {
        [first, second] if second.starts_with("Version:") => format!("{first} {second}"),
        [first, ..] => first.clone(),
        [] => "which does not tell its version".to_owned(),
    };
    format!("{place}, {version}")
}

/// Where a job of MPI has its processes, by rank: the host, and the processors to which the process
/// is bound. Empty if that cannot be found out.
#[must_use]
pub fn mpi_places(nodes: usize) -> Vec<String> {
    let mut command = Command::new(launcher());
    let settings = OPEN_MPI.iter().filter(|(name, _)| std::env::var_os(name).is_none());
    command.envs(settings.copied()).arg("-n").arg(nodes.to_string()).args(["sh", "-c", PLACE]);
    let Ok(output) = command.stdin(std::process::Stdio::null()).output() else { return Vec::new() };
    let said = String::from_utf8_lossy(&output.stdout);
    let mut places: Vec<(usize, String)> = said
        .lines()
        .filter_map(|line| {
            let (rank, place) = line.split_once(' ')?;
            Some((rank.parse().ok()?, place.split_whitespace().collect::<Vec<_>>().join(" ")))
        })
        .collect();
    places.sort();
    if !output.status.success() || places.len() != nodes {
        return Vec::new();
    }
    places.into_iter().map(|(_, place)| place).collect()
}

/// Prints the rank of a process of Open MPI, of MPICH and its kin, or of Slurm, and its place.
const PLACE: &str = "echo \"${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}} $(hostname) CPUs \
                     $(sed -n 's/^Cpus_allowed_list://p' /proc/self/status)\"";

pub(super) fn start_error(command: &Command, error: &std::io::Error) -> DriveError {
    let program = command.get_program().to_string_lossy().into_owned();
    let help = if Path::new(&program) == Path::new(&launcher()) {
        "install an MPI, for example `apt-get install openmpi-bin libopenmpi-dev`, name its \
         launcher in STRATA_MPIRUN, or use --on threads"
    } else {
        "run the same command again, so that the program is built anew"
    };
    DriveError::Start { program, reason: error.to_string(), help: help.to_owned() }
}

/// The message about the files that an unfinished run leaves.
fn kept(output: &Path) -> String {
    let mut partial = output.as_os_str().to_owned();
    partial.push(".partial");
    let partial = Path::new(&partial);
    if partial.is_file() {
        format!(
            "what was measured is kept in {}; run the same command with --resume to go on",
            partial.display()
        )
    } else {
        "nothing had been measured yet".to_owned()
    }
}
