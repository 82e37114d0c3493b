//! Identification of this machine, for which models are valid.
//!
//! Linux reports processor and caches in `/proc` and `/sys`. Elsewhere, or if those are missing,
//! fields are `unknown` or empty, except what the standard library reports.

use crate::Platform;
use std::fs;
use std::path::Path;

impl Platform {
    /// Describes this machine as the host of `nodes` nodes on `transport`.
    #[must_use]
    pub fn detect(transport: &str, nodes: usize) -> Self {
        Self {
            transport: transport.to_owned(),
            nodes,
            cpu: processor().unwrap_or_else(|| "unknown".to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            cache: caches(Path::new("/sys/devices/system/cpu/cpu0/cache")),
            os: std::env::consts::OS.to_owned(),
            arch: instruction_set(),
        }
    }
}

/// The instruction set that this program is compiled for: the architecture, and what was enabled
/// beyond its baseline, as in `x86_64+avx2+fma`. Models of such a build would mislead another.
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
    fn this_machine_has_cores() {
        let here = Platform::detect("threads", 4);
        assert!(here.cores > 0);
        assert_eq!((here.transport.as_str(), here.nodes), ("threads", 4));
    }
}
