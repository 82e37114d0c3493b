//! The collectives and algorithms of Open MPI's component `coll_tuned`, by release.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use crate::did_you_mean;

/// A series of releases of Open MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    /// 4.1, also 4.0.
    V4_1,
    /// 5.0.
    V5_0,
    /// 6.0.
    V6_0,
}

impl Release {
    /// All of them, the oldest first.
    pub const ALL: [Self; 3] = [Self::V4_1, Self::V5_0, Self::V6_0];

    /// `4.1`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V4_1 => "4.1",
            Self::V5_0 => "5.0",
            Self::V6_0 => "6.0",
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Release {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|release| release.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("`{text}` is no release of Open MPI whose rules are known; there are {names}")
        })
    }
}

/// What Open MPI compares with the sizes of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The bytes that one process passes.
    Own,
    /// These times the number of processes.
    Total,
    /// Nothing: the first rule always acts.
    None,
    /// Another quantity, for which no rules are written.
    Other,
}

/// A collective that rule files know.
#[derive(Debug, PartialEq, Eq)]
pub struct Collective {
    /// Its number in classic files.
    pub number: u64,
    /// Its name in MPI, in JSON, and in the names of parameters.
    pub name: &'static str,
    /// What the sizes of its rules are.
    pub size: Size,
    /// Number, name, and the first release that has it; 0, the library's own choice, is left out.
    pub algorithms: Vec<(u64, &'static str, Release)>,
}

/// All collectives, by number (`COLLTYPE_T` in `coll_base_functions.h`).
pub static COLLECTIVES: LazyLock<Vec<Collective>> = LazyLock::new(|| {
    include_str!("catalogues/openmpi.txt").lines().zip(0..).map(|(line, number)| read(line, number)).collect()
});

/// A line: the name, the kind of sizes, and the algorithms in the order of their numbers; `@5.0` names
/// the first release of one.
fn read(line: &'static str, number: u64) -> Collective {
    let mut words = line.split_ascii_whitespace();
    let mut word = || words.next().unwrap_or_default();
    let name = word();
    let size = match word() {
        "own" => Size::Own,
        "total" => Size::Total,
        "none" => Size::None,
        _ => Size::Other,
    };
    let algorithm = |(word, number): (&'static str, u64)| match word.split_once('@') {
        Some((name, since)) => (number, name, since.parse().unwrap_or(Release::V6_0)),
        None => (number, word, Release::V4_1),
    };
    Collective { number, name, size, algorithms: words.zip(1..).map(algorithm).collect() }
}

impl Collective {
    /// The collective of this name.
    ///
    /// # Errors
    /// A message: there is none, or Open MPI has no rules for it whose sizes are bytes.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        let is_usable = |one: &&Self| one.size != Size::Other;
        COLLECTIVES.iter().filter(is_usable).find(|one| one.name == name).ok_or_else(|| {
            let names: Vec<&str> = COLLECTIVES.iter().filter(is_usable).map(|one| one.name).collect();
            let meant = did_you_mean(name, names.iter().copied());
            format!(
                "`{name}` is no collective for which rules are written{meant}; there are {}",
                names.join(", ")
            )
        })
    }

    /// The number of an algorithm; `-` may be written `_`.
    ///
    /// # Errors
    /// A message: the collective has none of this name, or has it in later releases only.
    pub fn algorithm(&self, name: &str, release: Release) -> Result<u64, String> {
        let found =
            self.algorithms.iter().find(|(_, known, _)| known.replace('-', "_") == name.replace('-', "_"));
        match found {
            Some((number, _, since)) if *since <= release => Ok(*number),
            Some((_, _, since)) => {
                Err(format!("Open MPI {release} has no {} by `{name}`; it came with {since}", self.name))
            }
            None => {
                let names: Vec<&str> = self.known(release).map(|(_, name)| name).collect();
                let meant = did_you_mean(name, names.iter().copied());
                Err(format!(
                    "Open MPI {release} has no {} by `{name}`{meant}; it has {}",
                    self.name,
                    names.join(", ")
                ))
            }
        }
    }

    /// The numbers and names of the algorithms that a release has.
    pub fn known(&self, release: Release) -> impl Iterator<Item = (u64, &'static str)> {
        let has = move |(_, _, since): &&(u64, &str, Release)| *since <= release;
        self.algorithms.iter().filter(has).map(move |(number, name, _)| match *name {
            "bruck" if self.name == "allgather" && release >= Release::V6_0 => (*number, "bruck-k-fanout"),
            name => (*number, name),
        })
    }

    /// The name of an algorithm by its number: `auto` for 0, `None` if the release has no such one.
    #[must_use]
    pub fn name_of(&self, number: u64, release: Release) -> Option<&'static str> {
        if number == 0 {
            return Some("auto");
        }
        self.known(release).find(|(known, _)| *known == number).map(|(_, name)| name)
    }

    /// The bytes that rules compare, where each of so many processes passes `bytes`.
    #[must_use]
    pub fn compared(&self, bytes: u64, processes: u64) -> u64 {
        match self.size {
            Size::Own | Size::Other => bytes,
            Size::Total => bytes.saturating_mul(processes),
            Size::None => 0,
        }
    }
}
