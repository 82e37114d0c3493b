//! MPI jobs simulated by SimGrid's SMPI: the same program, in simulated time, on one host.
//!
//! SMPI loads a program as a library, once for each process. The files in `smpi/` are what rsmpi
//! and rustc need for that; no program is changed. They are written to the user's cache folder,
//! under a name that has their hash, so that cargo builds anew where they change.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use strata_model::{cache_folder, count, sha256_hex, write_atomically};

use super::DriveError;

/// Each of the processes takes one of the system's 1024 keys for variables of a thread.
const MOST: usize = 1000;

/// The tools, and whether the system is to execute them.
const TOOLS: [(&str, &str, bool); 5] = [
    ("entry.rs", include_str!("smpi/entry.rs"), false),
    ("hosts.c", include_str!("smpi/hosts.c"), false),
    ("mpi.h", include_str!("smpi/mpi.h"), false),
    ("mpicc", include_str!("smpi/mpicc"), true),
    ("rustc", include_str!("smpi/rustc"), true),
];

/// How simulated jobs run: computing takes no time, so that results do not depend on this host; a
/// poll takes 100 ns, and not more each time. Collectives take the algorithms that Open MPI's rules
/// name: SMPI's own take a time with the cube of the number of processes.
const SETTINGS: [&str; 12] = [
    "--cfg=network/model:SMPI",
    "--cfg=smpi/coll-selector:ompi",
    "--cfg=smpi/grow-injected-times:no",
    "--cfg=smpi/iprobe:1e-7",
    "--cfg=smpi/privatization:dlopen",
    "--cfg=smpi/simulate-computation:no",
    "--cfg=smpi/test:1e-7",
    "--cfg=surf/precision:1e-9",
    "--log=root.thresh:error",
    "--log=smpi_coll.thresh:critical",
    "--log=smpi_config.thresh:critical",
    "--log=xbt_cfg.thresh:critical",
];

/// Without SimGrid.
const INSTALL: &str = "install SimGrid, as `cargo xtask setup --smpi` does in Strata's workspace, or \
                       `apt-get install libsimgrid-dev`";

/// Refuses what SMPI cannot run, before anything is built.
///
/// # Errors
/// [`DriveError::Usage`]: there is no such file, SimGrid refuses it, or it has fewer hosts.
/// [`DriveError::Start`] without SimGrid.
pub(super) fn check(platform: &Path, nodes: usize, hosts: Option<usize>) -> Result<(), DriveError> {
    places(platform, nodes, hosts).map(drop)
}

/// Lets cargo build programs for SMPI, with the feature that they have for MPI.
///
/// # Errors
/// The tools cannot be written.
pub(super) fn building(cargo: &mut Command) -> Result<(), DriveError> {
    let tools = tools()?;
    cargo.env("MPICC", tools.join("mpicc")).env("RUSTC_WORKSPACE_WRAPPER", tools.join("rustc"));
    Ok(())
}

/// The command that runs a program so built with this many nodes, evenly on so many hosts of the
/// platform, or one on each; the program's arguments follow.
///
/// # Errors
/// As for [`RunOptions::check`](super::RunOptions::check).
pub(super) fn job(
    platform: &Path,
    nodes: usize,
    hosts: Option<usize>,
    program: &Path,
) -> Result<Command, DriveError> {
    let places = places(platform, nodes, hosts)?;
    let text: String = places.iter().map(|host| format!("{host}\n")).collect();
    let file = tools()?.join(format!("hosts-{}", &sha256_hex(text.as_bytes())[..12]));
    write(&file, &text)?;
    let mut command = Command::new(simulator()?);
    command.arg(program).args(SETTINGS).arg(format!("--cfg=smpi/np:{nodes}"));
    let mut option = OsString::from("--cfg=smpi/hostfile:");
    option.push(&file);
    // What follows is not SimGrid's, `--help` among it.
    command.arg(option).arg("--").arg(platform);
    // As SMPI's own script does.
    command.env("SMPI_GLOBAL_SIZE", nodes.to_string());
    Ok(command)
}

/// The host of each node, in the order of the numbers in the hosts' names.
fn places(platform: &Path, nodes: usize, on: Option<usize>) -> Result<Vec<String>, DriveError> {
    let shown = platform.display();
    let usage = |why: String| DriveError::Usage { message: format!("--on smpi:{shown}: {why}") };
    std::fs::File::open(platform).map_err(|error| usage(error.to_string()))?;
    simulator()?;
    let tools = tools()?;
    let program = tools.join("hosts");
    if !program.is_file() {
        // Under a name of this process until it is complete: others may need it, too.
        let own = tools.join(format!("hosts-{}.new", std::process::id()));
        let mut cc = Command::new("cc");
        cc.arg(tools.join("hosts.c")).arg("-o").arg(&own).arg("-lsimgrid");
        let said = output(&mut cc, "cc", "install a C compiler, such as `apt-get install gcc`")?;
        if let Err(why) = said {
            let help = format!("{INSTALL}; the compiler said:\n{why}");
            return Err(DriveError::Start { program: "SimGrid".to_owned(), reason: no_header(), help });
        }
        std::fs::rename(&own, &program).map_err(|source| DriveError::File {
            what: "cannot write",
            path: program.clone(),
            source,
        })?;
    }
    let mut ask = Command::new(&program);
    ask.arg(platform).args(SETTINGS.iter().filter(|setting| setting.starts_with("--log")));
    let mut hosts: Vec<String> = match output(&mut ask, "SimGrid", INSTALL)? {
        Ok(text) => text.lines().map(str::to_owned).collect(),
        Err(why) => return Err(usage(format!("SimGrid refuses it: {}", reason(&why)))),
    };
    hosts.sort_by_key(|host| numbered(host));
    let (on, has) = (on.unwrap_or(nodes), hosts.len());
    if has < on {
        let least = nodes.div_ceil(has.max(1));
        return Err(usage(format!(
            "it has {}, and {on} are asked for: `--nodes {has}` takes one node on each, `--nodes {has}x{least}` more",
            count(has, "host", "hosts"),
        )));
    }
    if nodes > MOST {
        return Err(usage(format!("--nodes {nodes}: the most on SMPI is {MOST}")));
    }
    let each = nodes / on.max(1);
    Ok(hosts.into_iter().take(on).flat_map(|host| std::iter::repeat_n(host, each)).collect())
}

fn no_header() -> String {
    "its header or its library is missing".to_owned()
}

/// What a command writes, or says if it fails.
fn output(command: &mut Command, name: &str, help: &str) -> Result<Result<String, String>, DriveError> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| DriveError::Start {
        program: name.to_owned(),
        reason: error.to_string(),
        help: help.to_owned(),
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Ok(if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) })
}

/// The reason in what SimGrid says: `[0.0] ./src/…: [xbt_exception/ERROR] Parse error at …`.
fn reason(said: &str) -> &str {
    let line = said.lines().find(|line| line.contains('[')).unwrap_or(said);
    line.rsplit_once("/ERROR] ")
        .or_else(|| line.rsplit_once("/CRITICAL] "))
        .map_or(line, |(_, reason)| reason)
}

/// A name, its numbers by their values: `n2` is before `n10`.
fn numbered(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, number) = rest.split_at(digits);
        let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        parts.push((text.to_owned(), number[..end].parse().unwrap_or(0)));
        rest = &number[end..];
    }
    parts
}

/// SMPI's script `smpirun`.
fn script() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).map(|folder| folder.join("smpirun")).find(|path| path.is_file())
}

/// The program that simulates, which SMPI's script names.
fn simulator() -> Result<PathBuf, DriveError> {
    let missing = |reason: &str| DriveError::Start {
        program: "smpirun".to_owned(),
        reason: reason.to_owned(),
        help: INSTALL.to_owned(),
    };
    let script = script().ok_or_else(|| missing("it is not on the PATH"))?;
    let text = std::fs::read_to_string(&script).unwrap_or_default();
    let named = text.split(['"', '\'', ' ', '\n']).find(|word| word.ends_with("/smpimain"));
    named.map(PathBuf::from).filter(|path| path.is_file()).ok_or_else(|| missing("it names no `smpimain`"))
}

fn tools() -> Result<PathBuf, DriveError> {
    // With the text of SMPI's script, which has its version.
    let all: String = TOOLS.iter().map(|(name, text, _)| format!("{name}\n{text}")).collect();
    let all = script().and_then(|script| std::fs::read_to_string(script).ok()).unwrap_or_default() + &all;
    let usage = |message: String| DriveError::Usage { message };
    let folder = cache_folder().ok_or_else(|| {
        usage("SMPI's tools need a cache folder, and neither XDG_CACHE_HOME nor HOME is set".to_owned())
    })?;
    if folder.to_string_lossy().contains(|c: char| c.is_whitespace() || c == ',') {
        let shown = folder.display();
        return Err(usage(format!(
            "{shown}: SMPI takes no files from a folder with blanks or commas in its name; name another in \
             XDG_CACHE_HOME"
        )));
    }
    let folder = folder.join("smpi").join(&sha256_hex(all.as_bytes())[..12]);
    let file = |path: &Path, source| DriveError::File { what: "cannot write", path: path.to_owned(), source };
    std::fs::create_dir_all(&folder).map_err(|source| file(&folder, source))?;
    for (name, text, executed) in TOOLS {
        let path = folder.join(name);
        write(&path, text)?;
        #[cfg(unix)]
        if executed {
            let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&path, all).map_err(|source| file(&path, source))?;
        }
    }
    Ok(folder)
}

fn write(path: &Path, text: &str) -> Result<(), DriveError> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    write_atomically(path, |file| file.write_all(text.as_bytes())).map_err(|source| DriveError::File {
        what: "cannot write",
        path: path.to_owned(),
        source,
    })
}

/// Whether SimGrid is installed, for tests that need it.
#[must_use]
pub fn is_installed() -> bool {
    simulator().is_ok() && Path::new("/usr/include/smpi/mpi.h").is_file()
}

/// The folder below `target` for what is built for SMPI: cargo does not notice another MPI library.
pub(super) fn target(target: &Path) -> PathBuf {
    target.join(OsStr::new("smpi"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_in_the_order_of_their_numbers() {
        let mut hosts = ["n10", "n2", "rack-1-node-3", "n1", "rack-1-node-12", "a"];
        hosts.sort_by_key(|host| numbered(host));
        assert_eq!(hosts, ["a", "n1", "n2", "n10", "rack-1-node-3", "rack-1-node-12"]);
    }

    #[test]
    fn the_reason_is_found_in_what_simgrid_says() {
        let said = "[0.000000] ./src/xbt/exception.cpp:95: [xbt_exception/ERROR] Parse error at p.xml:4: unknown unit: B\n\
                    [0.000000] ./src/xbt/exception.cpp:96: [xbt_exception/ERROR] Exiting now.";
        assert_eq!(reason(said), "Parse error at p.xml:4: unknown unit: B");
        assert_eq!(reason("cannot open"), "cannot open");
    }
}
