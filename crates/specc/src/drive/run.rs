//! Runs a profiling program on its machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use strata_model::{Seconds, count};

use super::child::{self, Line};
use super::compiler::in_spec;
use super::progress::Status;
use super::{DriveError, Interrupt, On, Program, RunOptions};
use crate::emit::Emitted;

/// What Open MPI needs to run as root, on fewer cores than nodes, with yielding waits. Other MPIs
/// ignore it.
const OPEN_MPI: [(&str, &str); 6] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ("OMPI_MCA_osc", "sm"),
];

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
    let mut command = command(program, options);
    let told = interrupt.count();
    let end = child::run(&mut command, interrupt, |line| match line {
        Line::Out(text) => {
            if !status.machine(&text) {
                status.say(&in_spec(&text, emitted));
            }
        }
        Line::Err(text) => {
            let text = in_spec(&text, emitted);
            // What follows `error:` becomes part of our own error.
            if let Some(first) = text.strip_prefix("error: ") {
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
            help: kept(&options.output),
        }),
    }
}

/// What is done, and for how long at most.
fn title(emitted: &Emitted, options: &RunOptions) -> String {
    let most = options.budget.and_then(Seconds::new);
    let most = most.map_or(String::new(), |most| format!(", for {most} at most"));
    format!("profiling {} on {}{most}", emitted.spec.path, count(options.nodes, "node", "nodes"))
}

fn command(program: &Program, options: &RunOptions) -> Command {
    let mut command = match program.on {
        On::Mpi => {
            let mut command = Command::new("mpirun");
            command.arg("-n").arg(options.nodes.to_string()).arg(&program.executable);
            command.envs(OPEN_MPI.iter().filter(|(name, _)| std::env::var_os(name).is_none()).copied());
            command.env_remove("STRATA_ON");
            command
        }
        On::Threads | On::Sim(_) => {
            let mut command = Command::new(&program.executable);
            command.env("STRATA_ON", format!("{}:{}", program.on, options.nodes));
            command
        }
    };
    command
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
    command
}

fn start_error(command: &Command, error: &std::io::Error) -> DriveError {
    let program = command.get_program().to_string_lossy().into_owned();
    let help = if program == "mpirun" {
        "install an MPI, for example `apt-get install openmpi-bin libopenmpi-dev`, or use --on threads"
    } else {
        "run the same command again, so that the program is built anew"
    };
    DriveError::Start { program, reason: error.to_string(), help: help.to_owned() }
}

/// What is left of an unfinished run.
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
