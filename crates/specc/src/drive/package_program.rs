//! A package's own program, built and run on a machine: the same program on threads, processes, or
//! a simulated cluster.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::{DriveError, Interrupt, Launcher, On, Program, run, smpi};
use crate::cargo::{self, Message};

/// Which program of which package.
#[derive(Clone, Debug, Default)]
pub struct OwnProgram {
    /// The package's `Cargo.toml`; that of this folder if `None`.
    pub manifest: Option<PathBuf>,
    /// The name of the binary or example; the only binary if `None`.
    pub name: Option<String>,
    /// Whether the name is an example's.
    pub example: bool,
    /// Features of the package, besides the default ones.
    pub features: Vec<String>,
}

impl OwnProgram {
    /// Compiles the program for a machine, in release mode. The compiler's messages go to standard
    /// error.
    ///
    /// # Errors
    /// There is no such program, or several and none is named; it does not compile; no cargo.
    pub fn build(&self, on: &On) -> Result<Program, DriveError> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(&cargo);
        command.args(["build", "--release", "--message-format=json-render-diagnostics"]);
        if let Some(manifest) = &self.manifest {
            command.arg("--manifest-path").arg(manifest);
        }
        match &self.name {
            None => command.arg("--bins"),
            Some(name) => command.args([if self.example { "--example" } else { "--bin" }, name]),
        };
        if !self.features.is_empty() {
            command.arg("--features").arg(self.features.join(","));
        }
        if matches!(on, On::Smpi { .. }) {
            smpi::building(&mut command)?;
            command.arg("--target-dir").arg(smpi::target(&self.target()?));
        }
        let start = |error: std::io::Error| DriveError::Start {
            program: cargo.to_string_lossy().into_owned(),
            reason: error.to_string(),
            help: "install the Rust toolchain from https://rustup.rs".to_owned(),
        };
        let output = command.stderr(Stdio::inherit()).stdin(Stdio::null()).output().map_err(start)?;
        if !output.status.success() {
            // The reason is on the screen.
            let message = format!("the program does not compile ({})", output.status);
            return Err(DriveError::Fault { message });
        }
        let lines = String::from_utf8_lossy(&output.stdout);
        let mut programs = lines.lines().filter_map(|line| match serde_json::from_str(line) {
            Ok(Message::Artifact { executable: Some(path), target }) => Some((target.name, path)),
            _ => None,
        });
        let usage = |message| DriveError::Usage { message };
        let Some((first, executable)) = programs.next() else {
            return Err(usage("the package has no binary: name an example, `--example NAME`".to_owned()));
        };
        let others: Vec<String> = programs.map(|(name, _)| name).collect();
        if !others.is_empty() {
            return Err(usage(format!(
                "the package has several binaries: say `--bin NAME` with {first} or {}",
                others.join(" or ")
            )));
        }
        Ok(Program { executable, on: on.clone() })
    }

    /// The folder in which cargo builds.
    fn target(&self) -> Result<PathBuf, DriveError> {
        match cargo::metadata(self.manifest.as_deref(), &["--no-deps".to_owned()]) {
            Ok(metadata) => Ok(metadata.target_directory),
            Err(message) => Err(DriveError::Fault { message }),
        }
    }
}

/// The time between an interruption and the signals that end the program.
const PATIENCE: Duration = Duration::from_secs(2);

fn terminate(child: &Child) {
    #[cfg(unix)]
    if let Ok(id) = i32::try_from(child.id()) {
        // It may have ended by itself.
        let _ended =
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::Signal::SIGTERM);
    }
}

impl Program {
    /// Runs the program with these arguments; its input and its output are those of this process.
    ///
    /// # Errors
    /// The machine cannot run so many nodes, or the program, its launcher or SimGrid cannot be
    /// started.
    pub fn run(
        &self,
        launcher: Option<&Launcher>,
        nodes: usize,
        hosts: Option<usize>,
        arguments: &[OsString],
    ) -> Result<ExitStatus, DriveError> {
        let launcher = self.on.launcher(launcher)?;
        let mut command = run::job(self, launcher.as_ref(), nodes, hosts)?;
        command.args(arguments);
        let interrupt = Interrupt::listen();
        let before = interrupt.count();
        let spawned = command.spawn();
        let failed = |error: std::io::Error| run::start_error(&command, launcher.as_ref(), &error);
        let mut child = spawned.map_err(failed)?;
        let mut asked = None;
        loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                return Ok(status);
            }
            // A Ctrl-C at the terminal has reached the program, too. Some launchers keep it to
            // themselves, and other signals reach this process alone.
            let now = Instant::now();
            if interrupt.count() > before && now > *asked.get_or_insert(now + PATIENCE) {
                asked = Some(now + PATIENCE);
                terminate(&child);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
