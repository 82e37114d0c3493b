//! Compiles a profiling program with cargo.

use std::path::PathBuf;
use std::process::Command;

use super::child::{self, Line, Reach};
use super::compiler::Collector;
use super::progress::Status;
use super::{DriveError, Interrupt, On, smpi};
use crate::cargo::Message;
use crate::lang::checked::MachineKind;
use crate::profiling_program::Emitted;

/// A compiled profiling program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable.
    pub executable: PathBuf,
    /// What it was compiled for.
    pub on: On,
}

/// Compiles the emitted program for a machine, in release mode, where the crates of its package are
/// compiled: what was built there for the same profile and features is not built again.
///
/// # Errors
/// Code of the spec does not compile ([`DriveError::Code`], with its place there), cargo fails, or
/// Ctrl-C.
pub fn build(emitted: &Emitted, on: &On) -> Result<Program, DriveError> {
    let interrupt = Interrupt::listen();
    let mut status = Status::new("building the profiling program");
    let mut offline = true;
    loop {
        let attempt = cargo(emitted, on, offline, interrupt, &mut status)?;
        if attempt.end.interrupted {
            status.done("");
            let help = "nothing was measured yet; run the same command again".to_owned();
            return Err(DriveError::Interrupted { help });
        }
        if attempt.end.status.success()
            && let Some(executable) = attempt.executable
        {
            status.done("built the profiling program");
            return Ok(Program { executable, on: on.clone() });
        }
        // A crate that was never downloaded, for example of a feature never built: then the network
        // has to help.
        if offline && attempt.said.contains("--offline") {
            offline = false;
            continue;
        }
        status.done("");
        return Err(match attempt.collector.finish(emitted) {
            Ok(errors) => DriveError::Code(Box::new(errors)),
            Err(foreign) if foreign.is_empty() => DriveError::Build { output: attempt.said },
            Err(foreign) => DriveError::Build { output: foreign },
        });
    }
}

struct Attempt {
    end: child::End,
    executable: Option<PathBuf>,
    collector: Collector,
    said: String,
}

fn cargo(
    emitted: &Emitted,
    on: &On,
    offline: bool,
    interrupt: Interrupt,
    status: &mut Status,
) -> Result<Attempt, DriveError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&cargo);
    // Called from the package, so that its .cargo/config.toml holds; RUSTFLAGS count as they do
    // there.
    command.current_dir(&emitted.package);
    command.args(["build", "--release", "--message-format=json", "--manifest-path"]);
    command.arg(emitted.folder.join("Cargo.toml"));
    let (mut crates, mut target) = (emitted.build_folder.clone(), emitted.target.clone());
    if matches!(on, On::Smpi { .. }) {
        (crates, target) = (smpi::target(&crates), smpi::target(&target));
        smpi::building(&mut command)?;
    }
    command.env("CARGO_BUILD_BUILD_DIR", crates).arg("--target-dir").arg(target);
    if offline {
        command.arg("--offline");
    }
    match on.kind() {
        MachineKind::Threads => {}
        kind @ (MachineKind::Mpi | MachineKind::Sim) => _ = command.args(["--features", kind.word()]),
    }
    let mut collector = Collector::default();
    let mut executable = None;
    let mut said = String::new();
    let end = child::run(&mut command, Reach::Group, interrupt, |line| match line {
        Line::Out(text) => match serde_json::from_str::<Message>(&text) {
            Ok(Message::Compiler { message }) => collector.take(&message, emitted),
            Ok(Message::Artifact { target, executable: path })
                if target.kind.contains("bin") && target.name == emitted.name =>
            {
                executable = path;
            }
            _ => {}
        },
        Line::Err(text) => {
            if let Some(name) = text.trim_start().strip_prefix("Compiling ") {
                status.detail(name.split(" (").next().unwrap_or(name));
            } else {
                said += &text;
                said.push('\n');
            }
        }
    })
    .map_err(|error| DriveError::Start {
        program: cargo.to_string_lossy().into_owned(),
        reason: error.to_string(),
        help: "profiling compiles a Rust program; install the Rust toolchain from https://rustup.rs"
            .to_owned(),
    })?;
    Ok(Attempt { end, executable, collector, said })
}
