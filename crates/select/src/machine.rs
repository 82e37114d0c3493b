//! Which machine this is.
//!
//! Linux reports processor and caches in `/proc` and `/sys`. Elsewhere, or if those are missing,
//! fields are `unknown` or empty, except what the standard library reports.

use std::borrow::ToOwned;
use std::path::Path;
use std::string::{String, ToString};
use std::sync::OnceLock;
use std::vec::Vec;
use std::{fmt, format, fs};

/// The identity of a machine: models hold only there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The number of hardware threads: those that this process may use, or of a host of MPI all
    /// ([`Machine::hosting`]).
    pub cores: usize,
    /// The processor's name as the system gives it; `unknown` where it gives none.
    pub cpu: String,
    /// The caches of one core, smallest first; empty where the system does not report them.
    pub cache: String,
    /// The operating system.
    pub os: String,
    /// The instruction set that this program is compiled for.
    pub arch: String,
}

impl Machine {
    /// This machine; the system is asked once.
    pub fn here() -> &'static Self {
        static HERE: OnceLock<Machine> = OnceLock::new();
        HERE.get_or_init(|| Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            cpu: processor().unwrap_or_else(|| "unknown".to_owned()),
            cache: caches(Path::new("/sys/devices/system/cpu/cpu0/cache")),
            os: std::env::consts::OS.to_owned(),
            arch: instruction_set(),
        })
    }

    /// This machine as the host of nodes of a transport (`threads`, `mpi nodes=4`). Launchers of MPI
    /// bind processes to cores, to one or another number of them from job to job; for `mpi` all
    /// hardware threads of the machine count, so that it stays the same one.
    #[must_use]
    pub fn hosting(transport: &str) -> &'static Self {
        static HOST: OnceLock<Machine> = OnceLock::new();
        match transport.split([' ', ':']).next() {
            Some("mpi") => HOST.get_or_init(|| {
                let here = Self::here().clone();
                let online = fs::read_to_string("/sys/devices/system/cpu/online").ok();
                let cores = online.and_then(|list| listed(&list)).unwrap_or(here.cores);
                Self { cores, ..here }
            }),
            _ => Self::here(),
        }
    }

    /// Whether a platform, as in a [`Table`](crate::Table), is this machine, with any transport and
    /// number of nodes.
    #[must_use]
    pub fn is_of(&self, platform: &str) -> bool {
        platform
            .split_once(" cores=")
            .is_some_and(|(_, machine)| self.to_string() == format!("cores={machine}"))
    }
}

impl fmt::Display for Machine {
    /// As in platforms: `cores=2 cpu="AMD EPYC" cache="L1d:32K" os=linux arch=x86_64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cores={} cpu={} cache={} ", self.cores, quoted(&self.cpu), quoted(&self.cache))?;
        write!(f, "os={} arch={}", word(&self.os), word(&self.arch))
    }
}

/// A word unchanged, any other text in quotes.
#[must_use]
pub fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.:+/".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text.to_owned() } else { quoted(text) }
}

/// A text in quotes, on one line.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The instruction set that this program is compiled for: the architecture, and the features
/// enabled beyond its baseline, as in `x86_64+avx2+fma`. A build with other features needs other
/// models.
fn instruction_set() -> String {
    macro_rules! enabled {
        ($($name:literal)*) => { [$(cfg!(target_feature = $name).then_some($name)),*] };
    }
    let extensions = enabled!(
        "sse4.2" "popcnt" "avx" "avx2" "fma" "bmi2" "avx512f" "avx512bw"
        "dotprod" "lse" "i8mm" "bf16" "sve" "sve2" "v" "zbb"
    );
    let extensions = extensions.into_iter().flatten().map(|name| format!("+{name}"));
    std::iter::once(std::env::consts::ARCH.to_owned()).chain(extensions).collect()
}

/// How many numbers a list such as `0-3,8-11` has.
fn listed(list: &str) -> Option<usize> {
    list.trim().split(',').try_fold(0, |all: usize, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        all.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

/// The processor's name.
fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':')).map(str::trim)
    };
    // The keys of x86, then those of some ARM and POWER kernels.
    ["model name", "Model", "cpu", "Hardware"]
        .iter()
        .find_map(|name| field(name))
        .map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The caches of one core, as `L1d:32K L1i:32K L2:512K L3:32M`; empty if the system does not report
/// them.
fn caches(folder: &Path) -> String {
    let mut found = Vec::new();
    for index in 0.. {
        let read = |file: &str| fs::read_to_string(folder.join(format!("index{index}")).join(file));
        let (Ok(level), Ok(kind), Ok(size)) = (read("level"), read("type"), read("size")) else { break };
        let letter = match kind.trim() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        found.push(format!("L{}{letter}:{}", level.trim(), short_size(size.trim())));
    }
    found.sort();
    found.join(" ")
}

/// `32768K` as `32M`.
fn short_size(size: &str) -> String {
    match size.strip_suffix('K').and_then(|kilobytes| kilobytes.parse::<u64>().ok()) {
        Some(kilobytes) if kilobytes >= 1024 && kilobytes.is_multiple_of(1024) => {
            format!("{}M", kilobytes / 1024)
        }
        _ => size.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short_and_a_missing_folder_is_no_error() {
        assert_eq!(short_size("32768K"), "32M");
        assert_eq!(short_size("1536K"), "1536K");
        assert_eq!(short_size("512K"), "512K");
        assert_eq!(caches(Path::new("/nowhere")), "");
    }

    #[test]
    fn caches_are_read_from_the_systems_files() {
        let folder = tempfile::tempdir().unwrap();
        for (index, level, kind, size) in
            [(0, "1", "Data", "32K"), (1, "1", "Instruction", "32K"), (2, "2", "Unified", "1024K")]
        {
            let index = folder.path().join(format!("index{index}"));
            fs::create_dir(&index).unwrap();
            for (file, text) in [("level", level), ("type", kind), ("size", size)] {
                fs::write(index.join(file), format!("{text}\n")).unwrap();
            }
        }
        assert_eq!(caches(folder.path()), "L1d:32K L1i:32K L2:1M");
    }

    #[test]
    fn a_platform_is_of_one_machine() {
        let here = Machine::here();
        assert!(here.cores > 0);
        assert_eq!(Machine::hosting("threads"), here);
        assert!(Machine::hosting("mpi nodes=4").cores >= here.cores);
        assert!(here.is_of(&format!("threads nodes=4 {here}")) && here.is_of(&format!("mpi nodes=2 {here}")));
        let other = Machine { cpu: "Abacus".to_owned(), ..here.clone() };
        assert!(
            !here.is_of(&format!("threads nodes=4 {other}")) && !here.is_of("") && !here.is_of("threads")
        );
    }

    #[test]
    fn lists_of_cores_are_counted() {
        assert_eq!((listed("0-1\n"), listed("0"), listed("0-3,8-11,16")), (Some(2), Some(1), Some(9)));
        for torn in ["", "a", "3-1", "0-", "0,,1"] {
            assert_eq!(listed(torn), None, "{torn}");
        }
    }
}
