//! Checks whether this machine can build and run the MPI part, and installs what is missing.
//!
//! rsmpi needs an MPI library with `mpicc` and `mpirun`, and libclang for its bindings; simulated
//! MPI jobs need SimGrid with its headers.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A package manager and its names of the packages that are needed.
struct Manager {
    program: &'static str,
    refresh: Option<&'static [&'static str]>,
    install: &'static [&'static str],
    /// The package of SimGrid, if there is one.
    simgrid: Option<&'static str>,
}

const MANAGERS: &[Manager] = &[
    Manager {
        program: "apt-get",
        refresh: Some(&["update"]),
        install: &[
            "install",
            "-y",
            "--no-install-recommends",
            "libclang-dev",
            "libopenmpi-dev",
            "openmpi-bin",
        ],
        simgrid: Some("libsimgrid-dev"),
    },
    Manager {
        program: "dnf",
        refresh: None,
        install: &["install", "-y", "clang-devel", "openmpi-devel"],
        simgrid: Some("simgrid-devel"),
    },
    Manager {
        program: "pacman",
        refresh: None,
        install: &["-S", "--noconfirm", "clang", "openmpi"],
        simgrid: None,
    },
    Manager {
        program: "zypper",
        refresh: None,
        install: &["install", "-y", "clang-devel", "openmpi-devel"],
        simgrid: None,
    },
    Manager {
        program: "brew",
        refresh: None,
        install: &["install", "llvm", "open-mpi"],
        simgrid: Some("simgrid"),
    },
];

/// What the MPI part lacks on this machine; empty where it can be built and run.
pub(crate) fn missing() -> Vec<&'static str> {
    let mut missing = Vec::new();
    if !runs("mpicc", &["--version"]) {
        missing.push("mpicc");
    }
    if !runs("mpirun", &["--version"]) {
        missing.push("mpirun");
    }
    if !has_libclang() {
        missing.push("libclang");
    }
    missing
}

/// The compiler and the launcher of MPICH, where it is beside another MPI.
pub(crate) const MPICH: [&str; 2] = ["mpicc.mpich", "mpirun.mpich"];

/// Whether this machine can build and run the MPI part with MPICH.
///
/// # Errors
/// What is missing, and how to install it.
pub(crate) fn mpich_ready() -> Result<(), String> {
    let mut missing: Vec<&str> = MPICH.into_iter().filter(|program| !on_path(program)).collect();
    if !has_libclang() {
        missing.push("libclang");
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "missing: {}; on Debian\n    apt-get install --no-install-recommends mpich libmpich-dev libclang-dev\nafter Open \
         MPI, which stays `mpicc` and `mpirun` (`update-alternatives --display mpi` and `mpirun`)",
        missing.join(", ")
    ))
}

/// What simulated MPI jobs lack; empty where they can be built and run.
fn missing_simgrid() -> Vec<&'static str> {
    let mut missing = Vec::new();
    if !on_path("smpirun") {
        missing.push("smpirun");
    }
    if !["/usr/include", "/usr/local/include", "/opt/homebrew/include"]
        .iter()
        .any(|folder| Path::new(folder).join("smpi/mpi.h").is_file())
    {
        missing.push("smpi/mpi.h");
    }
    missing
}

/// Installs what is missing where we may (as root, or by `sudo` without a password); `smpi`: also
/// SimGrid.
///
/// # Errors
/// The exact command for the user to run, where we may not or it failed.
pub(crate) fn setup(smpi: bool) -> Result<(), String> {
    let all_missing = || {
        let simgrid = if smpi { missing_simgrid() } else { Vec::new() };
        [missing(), simgrid].concat()
    };
    let missing = all_missing();
    if missing.is_empty() {
        println!("MPI and libclang{} are installed; nothing to do", if smpi { ", SimGrid" } else { "" });
        return Ok(());
    }
    println!("missing: {}", missing.join(", "));
    let Some(manager) = MANAGERS.iter().find(|m| on_path(m.program)) else {
        return Err(
            "no known package manager; install Open MPI (with mpicc and mpirun) and libclang by hand".into(),
        );
    };
    if smpi && manager.simgrid.is_none() {
        println!("{} has no SimGrid: see https://simgrid.org", manager.program);
    }
    let install = [manager.install, manager.simgrid.filter(|_| smpi).as_slice()].concat();
    let by_hand = advice(manager, &install);
    // Homebrew refuses to run as root and needs no privilege.
    let prefix: &[&str] = if manager.program == "brew" || is_root() {
        &[]
    } else if runs("sudo", &["-n", "true"]) {
        &["sudo", "-n"]
    } else {
        return Err(format!("may not install packages here; run\n    {by_hand}"));
    };
    for arguments in manager.refresh.iter().copied().chain([&install[..]]) {
        let mut line: Vec<&str> = prefix.to_vec();
        line.push(manager.program);
        line.extend_from_slice(arguments);
        println!("$ {}", line.join(" "));
        let status = Command::new(line[0])
            .args(&line[1..])
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .map_err(|e| format!("cannot start {}: {e}", line[0]))?;
        if !status.success() {
            return Err(format!("{} ended with {status}; run\n    {by_hand}", line.join(" ")));
        }
    }
    match all_missing() {
        still if still.is_empty() => Ok(()),
        still => Err(format!("{} still missing after installing; is it on the PATH?", still.join(", "))),
    }
}

fn advice(manager: &Manager, install: &[&str]) -> String {
    let sudo = if manager.program == "brew" { "" } else { "sudo " };
    let refresh =
        manager.refresh.map(|r| format!("{sudo}{} {} && ", manager.program, r.join(" "))).unwrap_or_default();
    format!("{refresh}{sudo}{} {}", manager.program, install.join(" "))
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.trim_ascii() == b"0")
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

fn on_path(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|p| std::env::split_paths(&p).any(|d| d.join(program).is_file()))
}

/// Searches the places that the clang-sys crate searches: `LIBCLANG_PATH`, then the usual library
/// folders.
fn has_libclang() -> bool {
    if std::env::var_os("LIBCLANG_PATH").is_some() {
        return true;
    }
    let mut folders: Vec<PathBuf> =
        ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/opt/homebrew/opt/llvm/lib"]
            .iter()
            .map(PathBuf::from)
            .collect();
    for (parent, inner) in [("/usr/lib", "lib"), ("/usr/lib", "")] {
        let Ok(entries) = std::fs::read_dir(parent) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("llvm") || name.ends_with("-linux-gnu") {
                folders.push(entry.path().join(inner));
            }
        }
    }
    folders.iter().any(|f| holds_libclang(f))
}

fn holds_libclang(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|entries| {
        entries.flatten().any(|e| {
            let name = e.file_name();
            let name = name.to_string_lossy();
            (name.starts_with("libclang.") || name.starts_with("libclang-"))
                && !name.starts_with("libclang-cpp")
        })
    })
}
