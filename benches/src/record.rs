//! Results that are kept: a file a run, with the machine and the command that made it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::Value;
use strata_model::write_atomically;

/// What a bench has found, and how.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Record<'a> {
    bench: &'a str,
    /// Of the universal time.
    date: String,
    machine: String,
    cores: usize,
    arguments: Vec<String>,
    /// Variables that affect choices.
    environment: BTreeMap<String, String>,
    /// With `-dirty` where files were changed; absent where git tells none.
    commit: Option<String>,
    summary: &'a Value,
}

impl<'a> Record<'a> {
    pub(crate) fn of(bench: &'a str, summary: &'a Value) -> Self {
        let text = |words: std::ffi::OsString| words.to_string_lossy().into_owned();
        let variables = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self {
            bench,
            date: date(seconds / 86_400),
            machine: crate::machine(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            arguments: crate::words().map(text).collect(),
            environment: variables
                .filter(|(name, _)| name.starts_with("STRATA_") && name != crate::CHILD)
                .collect(),
            commit: commit(),
            summary,
        }
    }

    /// Writes `FOLDER/DATE/BENCH.json`; a later run of the day has a number in its name.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<PathBuf> {
        let folder = folder.join(&self.date);
        std::fs::create_dir_all(&folder)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", folder.display())))?;
        let mut path = folder.join(format!("{}.json", self.bench));
        for number in 2.. {
            if !path.exists() {
                break;
            }
            path.set_file_name(format!("{}-{number}.json", self.bench));
        }
        write_atomically(&path, |out| {
            serde_json::to_writer_pretty(&mut *out, self)?;
            writeln!(out)
        })?;
        Ok(path)
    }
}

fn commit() -> Option<String> {
    let mut git = Command::new("git");
    git.current_dir(env!("CARGO_MANIFEST_DIR")).args(["describe", "--always", "--dirty", "--exclude=*"]);
    let said = git.output().ok().filter(|said| said.status.success())?;
    Some(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

/// The date of a day since the first of 1970.
fn date(day: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut year, mut left) = (1970, day);
    while left >= 365 + u64::from(leap(year)) {
        left -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if left < days {
            break;
        }
        left -= days;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", left + 1)
}

#[cfg(test)]
mod tests {
    use super::{Record, date};

    #[test]
    fn days_have_dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!([20_453, 20_454].map(date), ["2025-12-31", "2026-01-01"]);
    }

    #[test]
    fn a_record_is_a_file_of_its_day() {
        let folder = tempfile::tempdir().unwrap();
        let found = serde_json::json!({ "mean": 1.5 });
        let record = Record::of("made_up", &found);
        for name in ["made_up.json", "made_up-2.json", "made_up-3.json"] {
            assert_eq!(record.write(folder.path()).unwrap(), folder.path().join(&record.date).join(name));
        }
        let path = folder.path().join(&record.date).join("made_up-3.json");
        let read: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(read["summary"], found);
        assert!(read["cores"].as_u64() > Some(0), "{read}");
        assert_eq!(path.parent().unwrap().read_dir().unwrap().count(), 3, "no temporary file is left");
        let refused = record.write(&path).unwrap_err().to_string();
        assert!(refused.contains("made_up-3.json"), "{refused}");
    }
}
