//! Of tables of several machines the one of the nearest: which that is, and how it differs.

use std::string::String;
use std::vec::Vec;

use crate::{Table, machine::Machine};

/// How far another machine is from this one; the first difference counts most. Equal machines have
/// the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    unknown: bool,
    processor: bool,
    /// In thousandths of an octave, over all levels.
    caches: u32,
    cores: u32,
    instructions: bool,
    system: bool,
}

impl Distance {
    fn of(here: &Machine, platform: &str) -> Self {
        let Some(there) = Machine::of_platform(platform) else {
            return Self {
                unknown: true,
                processor: true,
                caches: u32::MAX,
                cores: u32::MAX,
                instructions: true,
                system: true,
            };
        };
        Self {
            unknown: false,
            processor: here.cpu != there.cpu,
            caches: caches_apart(&here.cache, &there.cache),
            cores: octaves(here.cores as f64, there.cores as f64),
            instructions: here.arch != there.arch,
            system: here.os != there.os,
        }
    }
}

/// By how many thousandths of an octave two sizes differ.
fn octaves(one: f64, other: f64) -> u32 {
    let apart = (one.max(1.0) / other.max(1.0)).log2().abs();
    (1000.0 * apart).round() as u32
}

/// The same summed over the levels of caches; a level that one lacks counts as 16 octaves.
fn caches_apart(here: &str, there: &str) -> u32 {
    let size = |text: &str, level: &str| {
        let size = text.split_whitespace().find_map(|entry| entry.strip_prefix(level)?.strip_prefix(':'))?;
        let unit = size.trim_start_matches(|c: char| c.is_ascii_digit());
        let factor = match unit {
            "" => 1.0,
            "K" => 1024.0,
            "M" => 1_048_576.0,
            _ => 1_073_741_824.0,
        };
        Some(factor * size.get(..size.len() - unit.len())?.parse::<f64>().ok()?)
    };
    let mut levels: Vec<&str> = here
        .split_whitespace()
        .chain(there.split_whitespace())
        .filter_map(|entry| entry.split(':').next())
        .collect();
    levels.sort_unstable();
    levels.dedup();
    let apart = |level: &&str| match (size(here, level), size(there, level)) {
        (Some(one), Some(other)) => octaves(one, other),
        _ => 16_000,
    };
    levels.iter().map(apart).sum()
}

impl Table {
    /// As [`fitting`](Table::fitting), but of tables that are as near in their numbers of nodes the
    /// one whose machine is nearest to `here`: the same processor first, then caches and cores that
    /// differ least.
    pub fn nearest<'t>(
        tables: impl IntoIterator<Item = &'t Self>,
        transport: &str,
        nodes: usize,
        here: &Machine,
    ) -> Option<&'t Self> {
        tables.into_iter().min_by_key(|table| {
            let (other, outside, width) = table.apart(transport, nodes);
            (other, outside, Distance::of(here, table.platform), width)
        })
    }
}

impl Machine {
    /// In what a platform, as in a [`Table`], is another machine than this one: what counts most;
    /// `None` if it is this one.
    #[must_use]
    pub fn differs(&self, platform: &str) -> Option<&'static str> {
        if self.is_of(platform) {
            return None;
        }
        let distance = Distance::of(self, platform);
        Some(match distance {
            Distance { unknown: true, .. } => "it is not known which",
            Distance { processor: true, .. } => "another processor",
            Distance { caches: 1.., .. } => "other caches",
            Distance { cores: 1.., .. } => "another number of cores",
            Distance { instructions: true, .. } => "compiled for other instructions",
            _ => "another system",
        })
    }

    /// The machine of a platform as text; `None` if it does not say.
    fn of_platform(platform: &str) -> Option<Self> {
        let fields = fields(platform);
        let value = |key: &str| fields.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
        Some(Self {
            cores: value("cores")?.parse().ok()?,
            cpu: value("cpu")?,
            cache: value("cache")?,
            os: value("os").unwrap_or_default(),
            arch: value("arch").unwrap_or_default(),
        })
    }
}

/// The fields `name=value` of a platform, quotes taken away.
fn fields(platform: &str) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let (mut text, mut name) = (String::new(), None);
    let mut quoted = false;
    let mut characters = platform.chars().chain([' ']);
    while let Some(c) = characters.next() {
        match c {
            '\\' if quoted => match characters.next() {
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                other => text.extend(other),
            },
            '"' => quoted = !quoted,
            '=' if !quoted && name.is_none() => name = Some(std::mem::take(&mut text)),
            ' ' if !quoted => {
                let value = std::mem::take(&mut text);
                fields.extend(name.take().map(|name| (name, value)));
            }
            c => text.push(c),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use std::borrow::ToOwned;
    use std::format;
    use std::string::ToString;

    use super::*;
    use crate::table::Domain;

    fn here() -> Machine {
        Machine {
            cores: 8,
            cpu: "Abacus \"9\"".to_owned(),
            cache: "L1d:32K L2:1M".to_owned(),
            os: "linux".to_owned(),
            arch: "x86_64".to_owned(),
        }
    }

    #[test]
    fn a_machine_reads_back() {
        let here = here();
        let platform = format!("threads nodes=4 {here}");
        assert_eq!(Machine::of_platform(&platform).as_ref(), Some(&here));
        assert_eq!(here.differs(&platform), None);
        assert_eq!(Machine::of_platform("threads nodes=4"), None);
        assert_eq!(Machine::of_platform("").or(Machine::of_platform("cores=\"")), None);
        assert_eq!(here.differs("threads"), Some("it is not known which"));
    }

    #[test]
    fn the_same_processor_is_nearest_then_caches_then_cores() {
        let here = here();
        // From the nearest to the farthest.
        let machines = [
            (here.clone(), None),
            (Machine { os: "other".to_owned(), ..here.clone() }, Some("another system")),
            (
                Machine { arch: "x86_64+avx2".to_owned(), ..here.clone() },
                Some("compiled for other instructions"),
            ),
            (Machine { cores: 16, ..here.clone() }, Some("another number of cores")),
            (Machine { cores: 64, ..here.clone() }, Some("another number of cores")),
            (Machine { cache: "L1d:32K L2:2M".to_owned(), ..here.clone() }, Some("other caches")),
            (Machine { cache: "L1d:32K".to_owned(), ..here.clone() }, Some("other caches")),
            (Machine { cpu: "Soroban".to_owned(), ..here.clone() }, Some("another processor")),
            (
                Machine { cpu: "Soroban".to_owned(), cache: "L1d:8K L2:1M".to_owned(), ..here.clone() },
                Some("another processor"),
            ),
        ];
        let table = |platform: &str, digest: &'static str| Table {
            library: "any",
            spec: "",
            platform: String::leak(platform.to_owned()),
            digest,
            inputs: &[],
            domain: Domain { nodes: (1, 4), inputs: &[] },
            entries: &[],
        };
        let tables: Vec<Table> = machines
            .iter()
            .map(|(machine, _)| table(&format!("threads nodes=4 {machine}"), ""))
            .chain([table("threads nodes=4", "")])
            .rev()
            .collect();
        for (place, (machine, differs)) in machines.iter().enumerate() {
            let rest = &tables[..tables.len() - place];
            let found = Table::nearest(rest, "threads", 2, &here).unwrap();
            assert_eq!(found.platform, format!("threads nodes=4 {machine}"));
            assert_eq!(here.differs(found.platform), *differs);
        }
        // The transport and the number of nodes count more.
        let own = table(&format!("threads nodes=4 {here}"), "own");
        let other = table("threads nodes=8 cores=8 cpu=\"Soroban\" cache=\"\" os=linux arch=x86_64", "other");
        let other = Table { domain: Domain { nodes: (8, 8), inputs: &[] }, ..other };
        let all = [own, other];
        let digest = |nodes| Table::nearest(&all, "threads", nodes, &here).unwrap().digest.to_string();
        assert_eq!((digest(4), digest(5), digest(8)), ("own".into(), "own".into(), "other".into()));
    }
}
