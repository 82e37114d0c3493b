//! Runs a profiling program on its machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use strata_model::{Samples, Seconds, count};

use super::child::{self, Line, Reach};
use super::compiler::in_spec;
use super::progress::Status;
use super::{DriveError, Interrupt, Launcher, On, Program, RunOptions, smpi};
use crate::profiling_program::Emitted;

const RESUME: &str = "run the same command with --resume to go on";
const MEND: &str = "mend that, then go on with the same command and --resume";

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
    let mut status = Status::new(&title(emitted, options));
    let mut message = String::new();
    let launcher = options.launcher()?;
    let mut command = command(program, launcher.as_ref(), options)?;
    // Whether the program itself has spoken, and not only what starts it.
    let mut began = false;
    // What came on standard error until then: of a launcher that fails it is the message.
    let mut before: Vec<String> = Vec::new();
    let length = || std::fs::metadata(partial(&options.output)).map_or(0, |file| file.len());
    let kept_before = length();
    let told = interrupt.count();
    let end = child::run(&mut command, Reach::Child, interrupt, |line| match line {
        Line::Out(text) => {
            if status.machine(&text) {
                began = true;
                before.drain(..).for_each(|line| status.say(&line));
            } else {
                status.say(&in_spec(&text, emitted));
            }
        }
        Line::Err(text) => {
            let text = in_spec(&text, emitted);
            // Text after `error:` becomes part of the returned error, once for all processes.
            if let Some(first) = text.strip_prefix("error: ") {
                began = true;
                before.drain(..).for_each(|line| status.say(&line));
                if message.lines().any(|line| line == first) {
                    return;
                }
                if !message.is_empty() {
                    message.push('\n');
                }
                message += first;
            } else if launcher.is_some() && !began && interrupt.count() == told {
                before.push(text);
            } else if message.is_empty() || interrupt.count() > told {
                status.say(&text);
            } else {
                message.push('\n');
                message += &text;
            }
        }
    });
    status.done("");
    let end = end.map_err(|error| start_error(&command, launcher.as_ref(), &error))?;
    let message = message.trim_end().to_owned();
    if end.status.success() || end.interrupted {
        before.drain(..).for_each(|line| status.say(&line));
    }
    // What is killed may have measured before its launcher has passed on a word.
    began |= length() != kept_before;
    match (end.status.code(), launcher.filter(|_| !began)) {
        (Some(0), _) => Ok(options.output.clone()),
        _ if end.interrupted => Err(DriveError::Interrupted { help: kept(&options.output, RESUME) }),
        (Some(130), _) => Err(DriveError::Interrupted { help: kept(&options.output, RESUME) }),
        (_, Some(launcher)) => {
            Err(launcher.failed((options.nodes, options.hosts), &end.status.to_string(), before.join("\n")))
        }
        (Some(1), None) if !message.is_empty() => Err(DriveError::Fault { message }),
        _ => Err(DriveError::Run {
            status: end.status.to_string(),
            message: if message.is_empty() { "(no further output)".to_owned() } else { message },
            // A run that a signal ended (a time limit, lack of memory) has nothing to mend.
            help: kept(
                &options.output,
                if end.status.code().is_some_and(|code| code < 128) { MEND } else { RESUME },
            ),
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
pub(super) fn job(
    program: &Program,
    launcher: Option<&Launcher>,
    nodes: usize,
    hosts: Option<usize>,
) -> Result<Command, DriveError> {
    let mut command = match (launcher, &program.on) {
        (Some(launcher), _) => {
            let mut command = launcher.job(nodes, hosts)?;
            command.arg(&program.executable);
            command
        }
        (None, On::Smpi { platform }) => smpi::job(platform, nodes, hosts, &program.executable)?,
        (None, _) => Command::new(&program.executable),
    };
    match program.on.variable(nodes, hosts) {
        Some(on) => command.env("STRATA_ON", on),
        None => command.env_remove("STRATA_ON"),
    };
    Ok(command)
}

fn command(
    program: &Program,
    launcher: Option<&Launcher>,
    options: &RunOptions,
) -> Result<Command, DriveError> {
    let mut command = job(program, launcher, options.nodes, options.hosts)?;
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

pub(super) fn start_error(
    command: &Command,
    launcher: Option<&Launcher>,
    error: &std::io::Error,
) -> DriveError {
    if let Some(launcher) = launcher {
        return launcher.missing(&error.to_string());
    }
    let program = command.get_program().to_string_lossy().into_owned();
    let help = "run the same command again, so that the program is built anew".to_owned();
    DriveError::Start { program, reason: error.to_string(), help }
}

/// The message about the files that an unfinished run leaves, and the way on.
fn kept(output: &Path, way_on: &str) -> String {
    let partial = partial(output);
    let text = std::fs::read_to_string(&partial).unwrap_or_default();
    match Samples::parse_partial(&text, "") {
        // A run that ended at its first point leaves the names of the models.
        Ok(read) if read.samples.models.iter().all(|model| model.rows.is_empty()) => {
            "nothing had been measured yet".to_owned()
        }
        _ => format!("what was measured is kept in {}; {way_on}", partial.display()),
    }
}

/// The file of an unfinished run.
pub(crate) fn partial(output: &Path) -> PathBuf {
    let mut partial = output.as_os_str().to_owned();
    partial.push(".partial");
    partial.into()
}
