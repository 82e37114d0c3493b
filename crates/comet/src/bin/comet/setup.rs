//! What else times depend on, for the result: the MPI library, the compiler, the system, and where
//! the nodes run.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use specc::drive::{Launcher, On};
use strata_comet::Setup;

/// What is known of the machine and of the program that was measured on it. Nothing of it matters
/// to simulated times.
pub(crate) fn setup(on: &On, nodes: usize, launcher: Option<&Launcher>, program: &Path) -> Setup {
    if on.is_simulated() {
        return Setup::default();
    }
    let places = launcher.map_or(Vec::new(), |launcher| launcher.places(nodes));
    let places = if places.is_empty() { vec![here()] } else { places };
    Setup {
        mpi: launcher.map_or(String::new(), Launcher::describe),
        library: launcher.map_or(String::new(), |_| linked(program)),
        compiler: first_line(Command::new("rustc").arg("--version")),
        kernel: read("/proc/sys/kernel/osrelease"),
        governor: governors(),
        places,
        ..Setup::default()
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// What a command says first; empty if it cannot be started.
fn first_line(command: &mut Command) -> String {
    let said = command.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&said).lines().next().unwrap_or_default().trim().to_owned()
}

/// The file of the MPI library with which a program is linked, without links to it.
fn linked(program: &Path) -> String {
    let said = Command::new("ldd").arg(program).output().map(|output| output.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let file = said.lines().find_map(|line| {
        let (name, rest) = line.trim().split_once(" => ")?;
        name.starts_with("libmpi").then(|| rest.split(" (").next().unwrap_or(rest).to_owned())
    });
    let file = file.unwrap_or_default();
    std::fs::canonicalize(&file).map_or(file, |file| file.display().to_string())
}

/// The policies by which the clocks of this machine's cores are governed.
fn governors() -> String {
    let cores = std::fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    let of = |core: std::fs::DirEntry| read(&core.path().join("cpufreq/scaling_governor").to_string_lossy());
    let all: BTreeSet<String> = cores.map(of).filter(|governor| !governor.is_empty()).collect();
    all.into_iter().collect::<Vec<_>>().join(", ")
}

/// This host, and the processors that this process may use.
fn here() -> String {
    let status = read("/proc/self/status");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let host = read("/proc/sys/kernel/hostname");
    allowed.map_or(host.clone(), |allowed| format!("{host} CPUs {}", allowed.trim()))
}
