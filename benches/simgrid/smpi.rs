//! The same patterns with MPI on SimGrid.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use strata_benches::tool::write;
use tempfile::TempDir;

use super::Job;
use super::machine::Machine;

/// The compiled program, in a directory that is deleted with it.
pub(crate) struct Smpi {
    directory: TempDir,
    program: PathBuf,
}

impl Smpi {
    /// Compiles `exchange.c`; `None` where SimGrid is not installed.
    ///
    /// # Errors
    /// It is installed, but does not compile.
    pub(crate) fn new() -> Result<Option<Self>, String> {
        let directory = TempDir::new().map_err(|error| format!("no temporary directory: {error}"))?;
        let source = directory.path().join("exchange.c");
        let program = directory.path().join("exchange");
        write(&source, include_str!("exchange.c"))?;
        let version = Command::new("smpirun").arg("-version").output();
        let mut compiler = Command::new("smpicc");
        let output = match version.and(compiler.args(["-O1", "-o"]).arg(&program).arg(&source).output()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("cannot start SimGrid's smpicc or smpirun: {error}")),
            Ok(output) => output,
        };
        if output.status.success() {
            return Ok(Some(Self { directory, program }));
        }
        Err(format!("smpicc ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr)))
    }

    /// The version as printed by `smpirun`.
    pub(crate) fn version() -> String {
        let output = Command::new("smpirun").arg("-version").output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        text.unwrap_or_default().lines().next().unwrap_or("SimGrid of unknown version").trim().to_owned()
    }

    /// Seconds from the start of the ranks until the last one ends.
    ///
    /// # Errors
    /// `smpirun` failed, with its output.
    pub(crate) fn time(&self, machine: &Machine, job: &Job) -> Result<f64, String> {
        let platform = self.directory.path().join("platform.xml");
        let hosts = self.directory.path().join("hosts");
        write(&platform, &machine.xml())?;
        write(&hosts, &(0..machine.nodes).map(|node| format!("n{node}\n")).collect::<String>())?;
        let mut command = Command::new("smpirun");
        command.args(["-np", &machine.nodes.to_string(), "-platform"]).arg(platform);
        command.arg("-hostfile").arg(hosts).args(machine.options()).arg(&self.program);
        command.args([job.pattern.name(), &job.bytes.to_string(), &job.rounds.to_string()]);
        let output = command.output().map_err(|error| format!("cannot start smpirun: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let seconds = text.trim().parse().ok().filter(|seconds| output.status.success() && *seconds > 0.0);
        seconds.ok_or_else(|| {
            let errors = String::from_utf8_lossy(&output.stderr);
            format!("smpirun {} ended with {}: {text}{errors}", job.pattern.name(), output.status)
        })
    }
}
