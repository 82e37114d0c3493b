//! Rules for Intel MPI: variables of the environment that a job reads when it starts, as lines for
//! a shell.
//!
//! Of a variable's conditions 2021.18 obeys less than its manual says, tried with 2 processes. Sizes
//! that follow each other from 0 to the greatest act as written. What they leave out goes to a
//! neighbour. Ranges of processes act alone; of sizes and processes together the first entry takes
//! all. So a file is of one number of processes, and acts on all communicators of its job.

use std::fmt::Write as _;

use strata_model::intel::{COLLECTIVES, LARGEST, RELEASE, preset, presets, variable};
use strata_model::samples::SamplesErrors;

use super::Chosen;
use crate::place::{Problems, offset, utf8};

/// Begins a variable's name.
const PREFIX: &str = "I_MPI_ADJUST_";

/// The rules as lines for a shell; `header` are lines of a comment.
///
/// # Errors
/// A message: a collective or preset that is not known, a collective that comes twice, several
/// numbers of processes, or a parameter.
pub fn intel(chosen: &[Chosen], header: &[String]) -> Result<String, String> {
    let mut text: String = header.iter().map(|line| format!("# {line}\n")).collect();
    _ = writeln!(text, "# For Intel MPI {RELEASE}: other releases have other presets.");
    let mut ruled = chosen.iter().filter(|one| !one.ranges.is_empty());
    let first = ruled.next().map_or(0, |one| one.processes);
    if let Some(other) = ruled.find(|one| one.processes != first) {
        return Err(format!(
            "Intel MPI obeys rules by sizes or by numbers of processes, not by both: calibrate {first} and {} \
             processes into sets of their own, and export each",
            other.processes
        ));
    }
    let mut all: Vec<(String, String)> = Vec::new();
    for one in chosen {
        let name = variable(&one.collective);
        presets(&one.collective)?;
        if all.iter().any(|(known, _)| *known == name) {
            return Err(format!("`{}` comes twice: name each measurement once", one.collective));
        }
        let (mut next, mut entries) = (0, Vec::new());
        for range in one.ranges.iter().filter(|range| range.from <= LARGEST) {
            if let Some((name, _)) = range.parameters.first() {
                return Err(format!("`{}` has a parameter `{name}`, but a preset has none", range.algorithm));
            }
            let number = preset(&one.collective, &range.algorithm)?;
            if range.from > next {
                entries.push(format!("0:{next}-{}", range.from - 1));
            }
            let last = (range.to - 1).min(LARGEST);
            entries.push(format!("{number}:{}-{last}", range.from));
            _ = writeln!(text, "# {} from {}: {}{}", one.collective, range.from, range.algorithm, range.note);
            next = last + 1;
        }
        if next > 0 && next <= LARGEST {
            entries.push(format!("0:{next}-{LARGEST}"));
        }
        all.push((name, entries.join(";")));
    }
    all.retain(|(_, entries)| !entries.is_empty());
    match all.is_empty() {
        true => text += "# Nothing gains beyond the intervals: the library's own choices stay.\n",
        false => _ = writeln!(text, "# For jobs of {first} processes; acts on all their communicators."),
    }
    all.sort();
    all.iter().for_each(|(name, entries)| _ = writeln!(text, "export {name}='{entries}'"));
    Ok(text)
}

/// Reads such lines, and counts the entries of each collective. What the library ignores, or obeys in
/// another way than it reads, is an error.
///
/// # Errors
/// Each with line and column: a line of another kind, an unknown collective or preset, sizes that
/// leave gaps, and conditions that do not act as they read.
pub fn read_intel(bytes: &[u8], file_name: &str) -> Result<Vec<(&'static str, usize)>, SamplesErrors> {
    let text = utf8(bytes, file_name)?;
    let mut problems = Problems::new(file_name, text);
    let mut found: Vec<(&'static str, usize)> = Vec::new();
    if let Some(at) = text.find('\r') {
        problems.push(at, "a shell takes the carriage return for a part of the value".to_owned());
    }
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let at = offset(text, line);
        // What is not exported stays in the shell, and a shell ends a command at `;`.
        let setting = line.strip_prefix("export ").and_then(|setting| setting.split_once('='));
        let Some((name, value)) = setting.and_then(|(name, value)| {
            let quoted = |quote: char| value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
            let plain = (!value.contains(';')).then_some(value);
            let value = quoted('\'').or_else(|| quoted('"')).or(plain)?;
            name.starts_with(PREFIX).then_some((name, value))
        }) else {
            problems.push(at, format!("a line is `export {PREFIX}BCAST='…'`, or a comment behind `#`"));
            continue;
        };
        let collective = name[PREFIX.len()..].to_ascii_lowercase();
        let most = match presets(&collective) {
            Ok(most) => most,
            Err(message) => {
                problems.push(at, message);
                continue;
            }
        };
        let Some((known, _)) = COLLECTIVES.iter().find(|(known, _)| *known == collective) else { continue };
        if name != variable(known) {
            problems.push(at, format!("the library reads `{}`, in capitals", variable(known)));
        }
        if found.iter().any(|(other, _)| other == known) {
            problems.push(at, format!("`{name}` comes twice: only the last acts"));
        }
        let (mut sizes, mut processes) = (Ranges::default(), Ranges::default());
        let entries: Vec<&str> = value.split(';').collect();
        for entry in &entries {
            let at = offset(text, entry);
            if let Err(message) = self::entry(entry, entries.len(), most, &mut sizes, &mut processes) {
                problems.push(at, format!("`{entry}`: {message}"));
                break;
            }
        }
        let gap = [(&sizes, "size"), (&processes, "number of processes")].into_iter().find_map(|(all, what)| {
            all.ends().filter(|end| *end <= LARGEST).map(|end| format!(
                "no entry is for the {what} {end}, and the library takes that before: go on to {LARGEST}, with 0 for \
                 its own choice"
            ))
        });
        if let Some(message) = gap.filter(|_| problems.is_empty()) {
            problems.push(offset(text, value), message);
        }
        found.push((known, entries.len()));
    }
    if found.is_empty() && problems.is_empty() && !text.contains('#') {
        problems.push(0, format!("there is no line `export {PREFIX}…`"));
    }
    if problems.is_empty() { Ok(found) } else { Err(problems.errors()) }
}

/// Ranges that must follow each other from 0 on: the least number above them.
#[derive(Default)]
struct Ranges(Option<u64>);

impl Ranges {
    fn ends(&self) -> Option<u64> {
        self.0
    }

    fn add(&mut self, text: &str, what: &str) -> Result<(), String> {
        let (from, to) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u64>().ok().filter(|number| plain && *number <= LARGEST).ok_or_else(|| {
                format!("`{text}` is no number from 0 to {LARGEST}; the library ignores the whole variable")
            })
        };
        let (from, to, next) = (number(from)?, number(to)?, self.0.unwrap_or(0));
        if from != next || to < from {
            return Err(format!(
                "{what} must rise without gaps, from {next} here, as the library gives what lies between to a neighbour"
            ));
        }
        self.0 = Some(to + 1);
        Ok(())
    }
}

fn entry(
    entry: &str,
    count: usize,
    most: u32,
    sizes: &mut Ranges,
    processes: &mut Ranges,
) -> Result<(), String> {
    let (number, condition) =
        entry.split_once(':').map_or((entry, None), |(number, rest)| (number, Some(rest)));
    if !(0..=most).any(|known| known.to_string() == number) {
        return Err(format!(
            "`{number}` is no preset of Intel MPI {RELEASE}, which has 1 to {most}, and 0 for its own choice"
        ));
    }
    let Some(condition) = condition else {
        return match count {
            1 => Ok(()),
            _ => Err("an entry without a condition stands alone, or takes all calls".to_owned()),
        };
    };
    if condition.contains(',') {
        return Err("write an entry for each condition".to_owned());
    }
    match condition.split_once('@') {
        None if processes.ends().is_none() => sizes.add(condition, "sizes"),
        Some((all, range)) if sizes.ends().is_none() && all == format!("0-{LARGEST}") => {
            processes.add(range, "numbers of processes")
        }
        _ => Err(format!(
            "of sizes and numbers of processes together {RELEASE} takes the first entry for all calls: write \
             sizes alone, or `0-{LARGEST}@` before processes"
        )),
    }
}
