//! A command of the user, run by the shell.

use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use super::child::{self, Line, Reach};
use super::interrupt::Interrupt;

/// How a command ended, and what it printed.
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) interrupted: bool,
    pub(crate) time: Duration,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The variable that makes an environment longer.
pub(crate) const PADDING: &str = "STRATA_PADDING";

/// Runs a command in a folder, without input, its environment longer by so many bytes.
pub(crate) fn shell(
    command: &str,
    folder: &Path,
    padding: usize,
    interrupt: Interrupt,
) -> std::io::Result<Ran> {
    let mut process = Command::new("sh");
    process.args(["-c", &format!("exec </dev/null\n{command}")]).current_dir(folder);
    process.env(PADDING, "x".repeat(padding));
    let (mut out, mut err) = (String::new(), String::new());
    let end = child::run(&mut process, Reach::Group, interrupt, |line| {
        let (text, line) = match line {
            Line::Out(line) => (&mut out, line),
            Line::Err(line) => (&mut err, line),
        };
        *text += &line;
        text.push('\n');
    })?;
    Ok(Ran { status: end.status, interrupted: end.interrupted, time: end.time, out, err })
}
