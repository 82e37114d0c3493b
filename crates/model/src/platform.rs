//! The measured machine: models hold only there.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use strata_select::machine::Machine;
use strata_select::machine::word;

use crate::hash::sha256_hex;

/// Names in a spec that stand for properties of the machine: in terms of the machine of the
/// samples, in loops and values of the measuring machine. They are the bytes of the caches that one
/// core sees, the number of hardware threads, and the number of hosts, which only loops and values
/// read.
pub const MACHINE: [&str; 5] = ["cache1", "cache2", "cache3", "cores", HOSTS];

/// The name in [`MACHINE`] for the number of hardware threads.
pub const CORES: &str = "cores";

/// The name in [`MACHINE`] for the number of hosts on which the nodes run. As the name of an input
/// that nothing else gives it is that number where it is measured.
pub const HOSTS: &str = "hosts";

/// A requirement of a library's candidate in a spec: that nodes are processes with memories of their
/// own ([`Platform::has_processes`]).
pub const PROCESSES: &str = "processes";

/// Numbers of hosts, `min` to `max`. As text `2` or `1-4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The least, at least 1.
    pub min: usize,
    /// The greatest, at least `min`.
    pub max: usize,
}

impl Hosts {
    /// One host.
    pub const ONE: Self = Self { min: 1, max: 1 };

    /// So many hosts.
    #[must_use]
    pub fn known(hosts: usize) -> Self {
        Self { min: hosts, max: hosts }
    }

    /// Whether all of the other numbers are among these.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.min <= other.min && other.max <= self.max
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { min, max } if min == max => write!(f, "{min}"),
            Self { min, max } => write!(f, "{min}-{max}"),
        }
    }
}

impl FromStr for Hosts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (min, max) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text.parse().ok(),
            false => None,
        };
        match (number(min), number(max)) {
            (Some(min), Some(max)) if 1 <= min && min <= max => Ok(Self { min, max }),
            _ => Err(format!("`hosts` must be a number from 1 or a range like `1-4`, but it is `{text}`")),
        }
    }
}

/// The identity of a machine and the way it is used. Two sets of models with equal platforms are
/// interchangeable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Platform {
    /// How the nodes communicate: `threads`, `mpi`, `sim:` and the name of a simulated machine, or
    /// `smpi:` and the name of a platform of SimGrid, on which an MPI job is simulated.
    pub transport: String,
    /// The number of nodes of the run.
    pub nodes: usize,
    /// The number of hosts on which the nodes ran, or of several runs together the range of these
    /// numbers. `None` on one host, and on simulated machines whose platform names no hosts, where
    /// each node is a host of its own.
    pub hosts: Option<Hosts>,
    /// The processor's name as the system gives it.
    pub cpu: String,
    /// The number of hardware threads of one machine; of threads and simulations those that their
    /// process may use.
    pub cores: usize,
    /// The caches, smallest first.
    pub cache: String,
    /// The operating system.
    pub os: String,
    /// The instruction set.
    pub arch: String,
}

/// The number of processes that the launcher of an MPI library started, if it started this one: the
/// variables of Open MPI, MPICH and its kin, and SMPI.
#[must_use]
pub fn of_mpi_library() -> Option<usize> {
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SMPI_GLOBAL_SIZE"].into_iter().find_map(number_in)
}

/// The number of processes started by `mpirun`, Slurm or `jsrun`, if it started this one. A shell of
/// Slurm is one process, and no job of MPI.
#[must_use]
pub fn mpi_processes() -> Option<usize> {
    let several = |name: &str| number_in(name).filter(|processes| *processes > 1);
    let of_scheduler = || ["SLURM_STEP_NUM_TASKS", "JSM_NAMESPACE_SIZE"].into_iter().find_map(several);
    of_mpi_library().or_else(of_scheduler)
}

fn number_in(variable: &str) -> Option<usize> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Number of empty timings, whose median is the cost of one.
const TIMINGS: usize = 1001;

/// The median difference between two consecutive readings of a clock: the cost of a timing. `empty`
/// returns one such difference.
pub fn usual_cost(mut empty: impl FnMut() -> f64) -> f64 {
    let mut differences: Vec<f64> = (0..TIMINGS).map(|_| empty()).collect();
    differences.sort_by(f64::total_cmp);
    differences[TIMINGS / 2]
}

impl Platform {
    /// Describes this machine as the host of `nodes` nodes on `transport`.
    #[must_use]
    pub fn detect(transport: &str, nodes: usize) -> Self {
        let Machine { cores, cpu, cache, os, arch } = Machine::hosting(transport).clone();
        Self { transport: transport.to_owned(), nodes, hosts: None, cpu, cores, cache, os, arch }
    }

    /// The hosts on which nodes ran.
    #[must_use]
    pub fn all_hosts(&self) -> Hosts {
        self.hosts.unwrap_or(Hosts::known(if self.is_simulated() { self.nodes.max(1) } else { 1 }))
    }

    /// This platform with the number of nodes of `here`, and with its number of hosts if it is among
    /// those of this one: models of this platform are of that machine if the result equals `here`.
    #[must_use]
    pub fn as_used(&self, here: &Self) -> Self {
        let there = Self { nodes: here.nodes, ..self.clone() };
        // Without a statement of hosts neither of two simulated machines has any.
        match there.all_hosts().contains(here.all_hosts()) {
            true => Self { hosts: here.hosts, ..there },
            false => there,
        }
    }

    /// An MPI job simulated by SimGrid's SMPI on so many hosts of the platform that this file
    /// describes; the name in place of the processor has the file's hash.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn smpi(file: &Path, nodes: usize, hosts: usize) -> std::io::Result<Self> {
        let hash = sha256_hex(&std::fs::read(file)?);
        let name = file.file_stem().map_or_else(Default::default, |name| name.to_string_lossy());
        Ok(Self {
            transport: format!("smpi:{name}"),
            cpu: format!("SimGrid platform {}", &hash[..12]),
            cores: 1,
            cache: String::new(),
            os: "simulated".to_owned(),
            arch: "simulated".to_owned(),
            hosts: Some(Hosts::known(hosts)),
            nodes,
        })
    }

    /// The machine without transport and nodes.
    #[must_use]
    pub fn host(&self) -> Machine {
        let Self { cpu, cores, cache, os, arch, .. } = self.clone();
        Machine { cores, cpu, cache, os, arch }
    }

    /// Whether times measured here are simulated.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        ["sim:", "smpi:"].iter().any(|kind| self.transport.starts_with(kind))
    }

    /// Whether nodes are processes of an MPI job, with memories of their own.
    #[must_use]
    pub fn has_processes(&self) -> bool {
        self.transport == "mpi" || self.transport.starts_with("smpi:")
    }

    /// The value of a name of [`MACHINE`]: bytes of a cache that one core sees (of the last one if
    /// the machine has fewer), or the number of cores; `None` if unknown, as on a simulated
    /// machine.
    #[must_use]
    pub fn machine(&self, name: &str) -> Option<f64> {
        if name == HOSTS {
            return None;
        }
        if self.is_simulated() || name == "cores" {
            return (!self.is_simulated()).then_some(self.cores as f64);
        }
        let level: u32 = name.strip_prefix("cache").filter(|_| MACHINE.contains(&name))?.parse().ok()?;
        let size = |level: u32, entry: &str| {
            let (of, size) = entry.strip_prefix('L')?.split_once(':')?;
            let unit = size.trim_start_matches(|c: char| c.is_ascii_digit());
            let bytes = match unit {
                "" => 1.0,
                "K" => 1024.0,
                "M" => 1_048_576.0,
                "G" => 1_073_741_824.0,
                _ => return None,
            };
            let count: f64 = size[..size.len() - unit.len()].parse().ok()?;
            (of.trim_end_matches('d') == level.to_string()).then_some(count * bytes)
        };
        (1..=level).rev().find_map(|level| self.cache.split_whitespace().find_map(|entry| size(level, entry)))
    }

    /// The value of a name of [`MACHINE`] when measuring on this platform: as
    /// [`Platform::machine`], except that each node of a simulated machine has a processor of its
    /// own, and that the number of hosts is known if it is one number.
    #[must_use]
    pub fn machine_number(&self, name: &str) -> Option<f64> {
        if name == HOSTS {
            let Hosts { min, max } = self.all_hosts();
            return (min == max).then_some(min as f64);
        }
        if self.is_simulated() && name == "cores" { Some(self.nodes as f64) } else { self.machine(name) }
    }

    /// The first property in which `other` differs, for a message; `None` if the platforms are
    /// equal.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<String> {
        let pairs: [(&str, String, String); 8] = [
            ("transport", self.transport.clone(), other.transport.clone()),
            ("number of nodes", self.nodes.to_string(), other.nodes.to_string()),
            ("number of hosts", self.all_hosts().to_string(), other.all_hosts().to_string()),
            ("processor", self.cpu.clone(), other.cpu.clone()),
            ("number of cores", self.cores.to_string(), other.cores.to_string()),
            ("cache", self.cache.clone(), other.cache.clone()),
            ("operating system", self.os.clone(), other.os.clone()),
            ("architecture", self.arch.clone(), other.arch.clone()),
        ];
        let (what, ours, theirs) = pairs.into_iter().find(|(_, ours, theirs)| ours != theirs)?;
        Some(format!("the {what} differs: `{ours}` against `{theirs}`"))
    }
}

impl fmt::Display for Platform {
    /// One line: `threads nodes=4 cores=2 cpu="AMD EPYC" cache="L1d:32K" os=linux arch=x86_64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} nodes={} ", word(&self.transport), self.nodes)?;
        if let Some(hosts) = self.hosts {
            write!(f, "hosts={hosts} ")?;
        }
        write!(f, "{}", self.host())
    }
}

/// An error in the text of a platform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{message} (at character {column} of the platform; it looks like `threads nodes=4 cores=2 cpu=\"AMD EPYC\" cache=\"L1d:32K\" os=linux arch=x86_64`)"
)]
pub struct PlatformError {
    /// The error.
    pub message: String,
    /// The place, in characters from one.
    pub column: usize,
}

impl FromStr for Platform {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, PlatformError> {
        let mut transport = None;
        let mut fields: [Option<String>; 7] = Default::default();
        let mut rest = Rest { text, chars: 0 };
        while let Some((key, value, column)) = rest.next()? {
            let fail = |message| Err(PlatformError { message, column });
            match (key, &transport) {
                (None, None) => transport = Some(value),
                (None, Some(_)) => return fail(format!("`{value}` is not of the form name=value")),
                (Some(key), _) => {
                    let Some(slot) = KEYS.iter().position(|known| *known == key) else {
                        return fail(format!("`{key}` is not one of {}", KEYS.join(", ")));
                    };
                    if fields[slot].replace(value).is_some() {
                        return fail(format!("`{key}` is given twice"));
                    }
                }
            }
        }
        let end = rest.chars + 1;
        let missing = |what: &str| PlatformError { message: format!("{what} is missing"), column: end };
        let mut take = |key: &str| {
            let slot = KEYS.iter().position(|known| *known == key).and_then(|at| fields[at].take());
            slot.ok_or_else(|| missing(&format!("`{key}`")))
        };
        let count = |key: &str, text: String| {
            // Files of models hold numbers below 2^63, as TOML does.
            let number = text.parse::<i64>().ok().and_then(|number| usize::try_from(number).ok());
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let what = if digits { "a number below 2^63" } else { "a whole number" };
            let message = format!("`{key}` must be {what}, but it is `{text}`");
            number.ok_or(PlatformError { message, column: end })
        };
        let hosts = take("hosts")
            .ok()
            .map(|hosts| hosts.parse().map_err(|message| PlatformError { message, column: end }));
        Ok(Self {
            hosts: hosts.transpose()?,
            transport: transport.ok_or_else(|| missing("the transport (threads, mpi, …)"))?,
            nodes: count("nodes", take("nodes")?)?,
            cores: count("cores", take("cores")?)?,
            cpu: take("cpu")?,
            cache: take("cache")?,
            os: take("os")?,
            arch: take("arch")?,
        })
    }
}

const KEYS: [&str; 7] = ["nodes", "cores", "cpu", "cache", "os", "arch", HOSTS];

/// The text that is still to be read, and the number of characters read.
struct Rest<'a> {
    text: &'a str,
    chars: usize,
}

impl<'a> Rest<'a> {
    /// The next `value` or `key=value`, and the character at which it begins.
    #[allow(clippy::type_complexity, reason = "key, value, place: named where they are used")]
    fn next(&mut self) -> Result<Option<(Option<&'a str>, String, usize)>, PlatformError> {
        let trimmed = self.text.trim_start();
        self.advance(self.text.len() - trimmed.len());
        if self.text.is_empty() {
            return Ok(None);
        }
        let column = self.chars + 1;
        let key_end =
            self.text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(self.text.len());
        let key = self.text.get(..key_end).filter(|k| !k.is_empty() && self.text[key_end..].starts_with('='));
        if key.is_some() {
            self.advance(key_end + 1);
        }
        let value = if self.text.starts_with('"') { self.quoted(column)? } else { self.word() };
        Ok(Some((key, value, column)))
    }

    fn word(&mut self) -> String {
        let end = self.text.find(char::is_whitespace).unwrap_or(self.text.len());
        let word = self.text[..end].to_owned();
        self.advance(end);
        word
    }

    fn quoted(&mut self, column: usize) -> Result<String, PlatformError> {
        let mut value = String::new();
        let mut chars = self.text.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.advance(at + 1);
                    return Ok(value);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, 'r')) => value.push('\r'),
                    Some((_, c)) => value.push(c),
                    None => break,
                },
                c => value.push(c),
            }
        }
        Err(PlatformError { message: "the text in quotes has no end".into(), column })
    }

    fn advance(&mut self, bytes: usize) {
        let (passed, rest) = self.text.split_at(bytes);
        self.chars += passed.chars().count();
        self.text = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_read_from_the_caches() {
        let mut platform: Platform =
            r#"threads nodes=4 cores=2 cpu="" cache="L1d:48K L1i:32K L2:2M L3:105M" os=linux arch=x86_64"#
                .parse()
                .unwrap();
        let all = |platform: &Platform| MACHINE.map(|name| platform.machine(name));
        assert_eq!(all(&platform), [Some(49_152.0), Some(2_097_152.0), Some(110_100_480.0), Some(2.0), None]);
        assert_eq!((platform.machine("cache4"), platform.machine("P")), (None, None));
        platform.cache = "L1d:64K L2:16M".into();
        assert_eq!(all(&platform)[1..3], [Some(16_777_216.0); 2], "the last one counts for those above");
        for unknown in ["", "L1d:", "L1d:K", "L1d:48Q L2", "L:1", "L1i:32K"] {
            platform.cache = unknown.into();
            assert_eq!(all(&platform), [None, None, None, Some(2.0), None], "{unknown}");
        }
        platform.transport = "sim:cm5".into();
        assert_eq!(all(&platform), [None; 5]);
        let numbers = MACHINE.map(|name| platform.machine_number(name));
        assert_eq!(numbers, [None, None, None, Some(4.0), Some(4.0)], "each node has a processor");
    }
    use proptest::prelude::*;

    fn sample() -> Platform {
        Platform {
            transport: "threads".into(),
            nodes: 4,
            hosts: None,
            cpu: "AMD EPYC \"Rome\" \\ 7".into(),
            cores: 2,
            cache: "L1d:32K L2:512K L3:32M".into(),
            os: "linux".into(),
            arch: "x86_64".into(),
        }
    }

    #[test]
    fn one_line_there_and_back() {
        let text = sample().to_string();
        assert_eq!(
            text,
            r#"threads nodes=4 cores=2 cpu="AMD EPYC \"Rome\" \\ 7" cache="L1d:32K L2:512K L3:32M" os=linux arch=x86_64"#
        );
        assert_eq!(text.parse(), Ok(sample()));
    }

    #[test]
    fn hosts_stand_in_the_line_where_they_are_stated() {
        let apart = Platform { hosts: Some(Hosts { min: 1, max: 4 }), ..sample() };
        assert!(apart.to_string().starts_with("threads nodes=4 hosts=1-4 cores=2 "), "{apart}");
        assert_eq!(apart.to_string().parse(), Ok(apart));
        for wrong in ["0", "", "2-1", "-", "1-", "+2", "1-2-3", "two"] {
            let text = format!("mpi nodes=4 hosts=\"{wrong}\" cores=1 cpu=a cache=b os=c arch=d");
            assert!(text.parse::<Platform>().unwrap_err().message.contains("`hosts` must be"), "{wrong}");
        }
    }

    #[test]
    fn models_hold_on_the_hosts_that_were_measured() {
        let on = |hosts: Option<Hosts>| Platform { transport: "mpi".into(), hosts, ..sample() };
        let (one, two, up_to_4) = (on(None), on(Some(Hosts::known(2))), on(Some(Hosts { min: 1, max: 4 })));
        let holds = |there: &Platform, here: &Platform| there.as_used(here) == *here;
        assert!(holds(&one, &one) && holds(&two, &two) && holds(&up_to_4, &one) && holds(&up_to_4, &two));
        assert!(!holds(&one, &two) && !holds(&two, &one) && !holds(&up_to_4, &on(Some(Hosts::known(5)))));
        let why = one.as_used(&two).difference(&two).unwrap();
        assert_eq!(why, "the number of hosts differs: `1` against `2`");
        let numbers = [&one, &two, &up_to_4].map(|platform| platform.machine_number(HOSTS));
        assert_eq!(numbers, [Some(1.0), Some(2.0), None]);
        // Each node of a simulated machine without hosts is one.
        let sim = |nodes| Platform { transport: "sim:cm5".into(), nodes, ..sample() };
        assert!(holds(&sim(4), &sim(16)) && sim(4).machine_number(HOSTS) == Some(4.0));
    }

    #[test]
    fn names_what_differs() {
        assert_eq!(sample().difference(&sample()), None);
        let other = Platform { nodes: 8, arch: "arm".into(), ..sample() };
        assert_eq!(sample().difference(&other).unwrap(), "the number of nodes differs: `4` against `8`");
    }

    #[test]
    fn errors_name_the_place() {
        let message = |text: &str| text.parse::<Platform>().unwrap_err().to_string();
        insta::assert_snapshot!(
            [
                message(""),
                message("threads nodes=4"),
                message("threads nodes=x cores=1 cpu=a cache=b os=c arch=d"),
                message("threads nodes=1 cores=18446744073709551615 cpu=a cache=b os=c arch=d"),
                message("threads nodes=1 nodes=2"),
                message("threads colour=red"),
                message("threads mpi"),
                message("threads cpu=\"never ends"),
            ]
            .join("\n")
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,80}") {
            let _ = text.parse::<Platform>();
        }

        #[test]
        fn any_platform_survives(transport in ".{0,12}", cpu in ".{0,20}", cache in "\\PC{0,20}", nodes in 0..=i64::MAX as usize) {
            let platform = Platform { transport, cpu, cache, nodes, ..sample() };
            prop_assert_eq!(platform.to_string().parse(), Ok(platform));
        }
    }
}
